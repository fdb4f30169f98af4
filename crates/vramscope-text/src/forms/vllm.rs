//! Errors of vLLM and SGLang that result from their own calculations.

use vramscope_core::units::Count;

use super::Found;
use crate::cursor::Cursor;
use crate::figure::Figure;
use crate::record::{Api, Failure, Form};

pub(crate) fn find(text: &[u8]) -> Option<Found> {
    [
        find_start(text),
        find_length(text),
        find_tokens(text),
        find_cache(text),
        find_profile(text),
        find_sglang(text),
        find_sglang_tokens(text),
    ]
    .into_iter()
    .flatten()
    .min_by_key(|found| found.start)
}

/// `The model's max seq len (4096) is larger than the maximum number of tokens that can be stored in KV cache (3664).`
fn find_tokens(text: &[u8]) -> Option<Found> {
    const HEAD: &str = "maxseqlen(";
    let mut cursor = Cursor::behind(text, HEAD)?;
    let start = cursor.at - HEAD.len();
    let wanted = cursor.number()?;
    cursor.eat(")islargerthanthemaximumnumberoftokensthatcanbestoredinKVcache(")?;
    let room = cursor.number()?;
    cursor.eat(")")?;
    let mut failure = Failure::new(Api::Other, Form::VllmLength);
    failure.words = format!(
        "One request of full length has {} tokens, and the KV cache has room for {}",
        Count(wanted),
        Count(room)
    );
    Some(Found::up_to(&cursor, start, failure))
}

/// SGLang: `Not enough memory. Please try to increase --mem-fraction-static.`, and while it serves `alloc_req_slots runs out of
/// memory. Please set a smaller number for --max-running-requests.`
fn find_sglang(text: &[u8]) -> Option<Found> {
    [
        (
            "Notenoughmemory.Pleasetrytoincrease--mem-fraction-static",
            Form::SglangCache,
            "no memory is left for the KV cache",
        ),
        (
            "alloc_req_slotsrunsoutofmemory.Please",
            Form::SglangSlots,
            "SGLang had too few slots for the requests of a batch",
        ),
    ]
    .into_iter()
    .filter_map(|(head, form, words)| {
        let cursor = Cursor::behind(text, head)?;
        let mut failure = Failure::new(Api::Other, form);
        failure.words = words.to_owned();
        Some(Found::up_to(&cursor, cursor.at - head.len(), failure))
    })
    .min_by_key(|found| found.start)
}

/// SGLang while it serves: `Decode out of memory. Try to lower your batch size. Try to allocate 168 tokens. Available tokens:
/// 32 (available_size=32 + evictable_size=0)`. Earlier versions have other text behind the figure, which may begin with a digit.
fn find_sglang_tokens(text: &[u8]) -> Option<Found> {
    const HEAD: &str = "Trytoloweryourbatchsize.Trytoallocate";
    let mut cursor = Cursor::behind(text, HEAD)?;
    let start = cursor.at - HEAD.len();
    let wanted = cursor.number()?;
    cursor.eat("tokens.")?;
    let mut failure = Failure::new(Api::Other, Form::SglangPages);
    failure.words = format!("No room in the KV cache for {} tokens", Count(wanted));
    let end = cursor;
    if cursor.eat("Availabletokens:").is_some()
        && let Some(room) = cursor.number()
        && cursor.eat("(").is_some()
    {
        if room < wanted {
            failure.form = Form::SglangPool;
        }
        failure.words += &format!(": it counts {} free", Count(room));
    }
    Some(Found::up_to(&end, start, failure))
}

/// `Free memory on device cuda:0 (59.32/79.15 GiB) on startup is less than desired GPU memory utilization (0.9, 71.24 GiB).`
fn find_start(text: &[u8]) -> Option<Found> {
    // Titles of issues begin with a small letter.
    const HEAD: &str = "reememoryondevice";
    let mut cursor = Cursor::behind(text, HEAD)?;
    let start = cursor.at - HEAD.len();
    let mut failure = Failure::new(Api::Other, Form::VllmStart);
    for (word, api) in [("cuda:", Api::Cuda), ("xpu:", Api::Xpu), ("npu:", Api::Npu)] {
        if cursor.eat(word).is_some() {
            failure.api = api;
            failure.device = cursor.number();
        }
    }
    cursor.eat("(")?;
    failure.free = Some(cursor.figure_in("GiB")?);
    cursor.eat("/")?;
    failure.total = Some(cursor.figure()?);
    cursor.eat(")onstartupislessthandesiredGPUmemoryutilization(")?;
    cursor.figure_in("GiB")?;
    cursor.eat(",")?;
    failure.requested = Some(cursor.figure()?);
    failure.words = "less is free than vLLM is set to take".to_owned();
    Some(Found::up_to(&cursor, start, failure))
}

/// `(24.0 GiB KV cache is needed, which is larger than the available KV cache memory (3.18 GiB)`
fn find_length(text: &[u8]) -> Option<Found> {
    const HEAD: &str = "GiBKVcacheisneeded,whichislargerthantheavailableKVcachememory(";
    let mut cursor = Cursor::behind(text, HEAD)?;
    let head = cursor.at - HEAD.len();
    let digits = text[..head]
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
    let start = head - digits.count();
    let mut failure = Failure::new(Api::Other, Form::VllmLength);
    failure.requested = Some(Cursor::new(&text[start..]).figure()?);
    failure.allowed = Some(cursor.figure()?);
    failure.words = "the KV cache has no room for one request of full length".to_owned();
    Some(Found::up_to(&cursor, start, failure))
}

/// `No available memory for the cache blocks.`
fn find_cache(text: &[u8]) -> Option<Found> {
    const HEAD: &str = "Noavailablememoryforthecacheblocks.";
    let mut cursor = Cursor::behind(text, HEAD)?;
    // In a traceback's source line, the string ends here.
    while cursor.rest().starts_with(b"\"") {
        cursor.seek(HEAD, text.len())?;
    }
    let mut failure = Failure::new(Api::Other, Form::VllmCache);
    failure.words = "no memory is left for the KV cache".to_owned();
    Some(Found::up_to(&cursor, cursor.at - HEAD.len(), failure))
}

/// `Error in memory profiling. Initial free memory 82.94 GiB, current free memory 90.17 GiB.`, at first in bytes without a unit.
fn find_profile(text: &[u8]) -> Option<Found> {
    const HEAD: &str = "Errorinmemoryprofiling.Initialfreememory";
    let mut cursor = Cursor::behind(text, HEAD)?;
    let start = cursor.at - HEAD.len();
    let before = free_memory(&mut cursor)?;
    cursor.eat(",currentfreememory")?;
    let after = free_memory(&mut cursor)?;
    cursor.eat(".")?;
    let mut failure = Failure::new(Api::Other, Form::VllmProfile);
    failure.words = format!(
        "Free memory grew from {} to {} while vLLM measured what it needs",
        before.text, after.text
    );
    Some(Found::up_to(&cursor, start, failure))
}

fn free_memory(cursor: &mut Cursor<'_>) -> Option<Figure> {
    cursor
        .figure()
        .or_else(|| cursor.number().map(Figure::of_bytes))
}
