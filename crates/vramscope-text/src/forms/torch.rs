//! Out-of-memory errors of PyTorch: its own allocator's on all devices, in all wordings since 0.4, those of
//! cudaMallocAsync, and those of Apple's devices.

use memchr::memmem;

use super::Found;
use crate::cursor::Cursor;
use crate::record::{Api, Failure, Form, Process, Wording};

/// Most sentences about processes in one error.
const MOST_PROCESSES: usize = 128;

const HEAD: &str = "outofmemory.";
const ASKED: &str = "Triedtoallocate";

/// Intel's extension, before a request that its driver does not allocate however much is free.
const ONE_PIECE: &str = "CurrentplatformcanNOTallocatememoryblockwithsizelargerthan4GB!";
pub(crate) const TOO_LARGE_FOR_XPU: &str = "XPU: a block larger than one allocation may be";

/// Whether these words belong to this error: people omit its first words, and other errors contain the rest.
fn is_asked(text: &[u8], at: usize) -> bool {
    let has_head =
        text[..at].ends_with(HEAD.as_bytes()) && !text[..at].ends_with(b"backendoutofmemory.");
    let mut cursor = Cursor::new(text);
    cursor.at = at + ASKED.len();
    // Such a request is not even printed: see `driver`.
    if cursor.eat("morethan1EBmemory").is_some() {
        return false;
    }
    let goes_on =
        cursor.figure().is_some() && cursor.any(&["(GPU", "(NPU", ".GPU", ".NPU"]).is_some();
    has_head || goes_on
}

pub(crate) fn find(text: &[u8]) -> Option<Found> {
    let at = memmem::find_iter(text, ASKED.as_bytes()).find(|&at| is_asked(text, at))?;
    let head = match text[..at].ends_with(HEAD.as_bytes()) {
        true => at - HEAD.len(),
        false => at,
    };
    let is_one_piece = text[..head].ends_with(ONE_PIECE.as_bytes());
    let (api, word) = match is_one_piece {
        true => (Api::Xpu, ONE_PIECE.len()),
        false => api(&text[..head]),
    };
    let mut cursor = Cursor::new(text);
    cursor.at = at + ASKED.len();
    let mut failure = Failure::new(api, Form::Torch);
    if is_one_piece {
        TOO_LARGE_FOR_XPU.clone_into(&mut failure.words);
    }
    failure.requested = cursor.figure();
    // Figures that are cut off are just missing.
    if failure.requested.is_some() {
        let _cut = match cursor.rest().starts_with(b"(") {
            true => before_2_1(&mut cursor, &mut failure),
            false => since_2_1(&mut cursor, &mut failure),
        };
    }
    Some(Found::up_to(&cursor, head - word, failure))
}

/// The interface, from the word before `out of memory`, and that word's length.
fn api(before: &[u8]) -> (Api, usize) {
    const APIS: [(&str, Api); 4] = [
        ("CUDA", Api::Cuda),
        ("HIP", Api::Hip),
        ("XPU", Api::Xpu),
        ("NPU", Api::Npu),
    ];
    let api = APIS
        .iter()
        .find(|(word, _)| before.ends_with(word.as_bytes()));
    api.map_or((Api::Other, 0), |&(word, api)| (api, word.len()))
}

/// `(GPU 0; X total capacity; X already allocated; X free; X reserved in total by PyTorch)`
fn before_2_1(cursor: &mut Cursor<'_>, failure: &mut Failure) -> Option<()> {
    cursor.any(&["(GPU", "(NPU", "(XPU", "(HIP"])?;
    failure.device = Some(cursor.number()?);
    cursor.eat(";")?;
    for _ in 0..6 {
        let figure = cursor.figure()?;
        if cursor.any(&["totalcapacity;", "totalcapacty;"]).is_some() {
            failure.total = Some(figure);
        } else if cursor.eat("alreadyallocated;").is_some() {
            failure.allocated = Some(figure);
        } else if cursor.eat("currentactive;").is_some() {
            // Allocated, and freed but still in use by other streams.
        } else if cursor.eat("free;").is_some() {
            failure.free = Some(figure);
        } else if cursor.eat("allowed;").is_some() {
            failure.allowed = Some(figure);
        } else if cursor.eat("reservedintotal").is_some() {
            // People shorten and retype the rest.
            let _rest = (cursor.any(&["byPyTorch", "byPytorch"]), cursor.eat(")"));
            failure.wording = Some(Wording::ReservedInTotal);
            let mut unallocated = figure;
            let allocated = failure.allocated.as_ref()?;
            unallocated.bytes = unallocated.bytes.saturating_sub(allocated.bytes);
            unallocated.off_bytes += allocated.off_bytes;
            unallocated.text = format!("{} - {}", unallocated.text, allocated.text);
            failure.unallocated = Some(unallocated);
            return Some(());
        } else {
            // Before torch 1.5: what is cached beside what is allocated.
            cursor.eat("cached)")?;
            failure.wording = Some(Wording::Cached);
            failure.unallocated = Some(figure);
            return Some(());
        }
    }
    None
}

/// `. GPU 0 has a total capacity of X of which X is free. … Of the allocated memory X is allocated by PyTorch, and X is
/// reserved by PyTorch but unallocated.`
fn since_2_1(cursor: &mut Cursor<'_>, failure: &mut Failure) -> Option<()> {
    cursor.any(&[".GPU", ".NPU", ".XPU"])?;
    failure.device = Some(cursor.number()?);
    cursor.any(&["hasatotalcapacityof", "hasatotalcapactyof"])?;
    failure.wording = Some(Wording::Sentences);
    failure.total = Some(cursor.figure()?);
    // XPUs did not report it at first.
    if cursor.eat("ofwhich").is_some() {
        let free = cursor.figure()?;
        cursor.eat("isfree.")?;
        failure.free = Some(free);
    } else {
        cursor.eat(".")?;
    }
    for _ in 0..MOST_PROCESSES {
        if cursor.eat("Process").is_some() {
            let pid = cursor.number()?;
            cursor.eat("has")?;
            let held = cursor.figure()?;
            cursor.eat("memoryinuse.")?;
            let name = String::new();
            failure.processes.push(Process { pid, held, name });
        } else if cursor
            .eat("Includingnon-PyTorchmemory,thisprocesshas")
            .is_some()
        {
            let held = cursor.figure()?;
            cursor.eat("memoryinuse.")?;
            failure.in_use = Some(held);
        } else if cursor.eat("Oftheallocatedmemory").is_some() {
            break;
        } else {
            let allowed = cursor.figure()?;
            cursor.any(&["allowed;", "allowed."])?;
            failure.allowed = Some(allowed);
        }
    }
    // No other figure comes here, even if the next words are cut off.
    failure.allocated = Some(cursor.figure()?);
    cursor.eat("isallocatedbyPyTorch,")?;
    if cursor.eat("with").is_some() {
        let pools = cursor.figure()?;
        cursor.eat("allocatedinprivatepools(e.g.,")?;
        cursor.seek("Graphs),", 8)?;
        failure.in_pools = Some(pools);
    }
    cursor.eat("and")?;
    failure.unallocated = Some(cursor.figure()?);
    cursor.eat("isreservedbyPyTorchbutunallocated.")
}

/// A failure with cudaMallocAsync; newer versions print only the first line.
pub(crate) fn find_async(text: &[u8]) -> Option<Found> {
    const HEAD: &str = "wouldexceedallowedmemory.(outofmemory)";
    let mut cursor = Cursor::behind(text, HEAD)?;
    let before = &text[..cursor.at - HEAD.len()];
    let head = memmem::rfind(before, b"Allocationondevice")?;
    let mut failure = Failure::new(Api::Cuda, Form::TorchAsync);
    let device = &before[head + "Allocationondevice".len()..];
    failure.device = str::from_utf8(device).ok().and_then(|it| it.parse().ok());
    let _cut = async_lines(&mut cursor, &mut failure);
    Some(Found::up_to(&cursor, head, failure))
}

fn async_lines(cursor: &mut Cursor<'_>, failure: &mut Failure) -> Option<()> {
    cursor.eat("Currentlyallocated:")?;
    failure.allocated = Some(cursor.figure()?);
    cursor.eat("Requested:")?;
    failure.requested = Some(cursor.figure()?);
    cursor.eat("Devicelimit:")?;
    failure.total = Some(cursor.figure()?);
    cursor.eat("Free(accordingtoCUDA):")?;
    failure.free = Some(cursor.figure()?);
    cursor.eat("PyTorchlimit(setbyuser-suppliedmemoryfraction):")?;
    let limit = cursor.figure()?;
    // Without a limit it prints 2^64 bytes.
    failure.allowed = Some(limit).filter(|limit| limit.bytes < 1 << 60);
    Some(())
}

pub(crate) fn find_mps(text: &[u8]) -> Option<Found> {
    const HEAD: &str = "MPSbackendoutofmemory(MPSallocated:";
    let mut cursor = Cursor::behind(text, HEAD)?;
    let start = cursor.at - HEAD.len();
    let mut failure = Failure::new(Api::Mps, Form::TorchMps);
    let _cut = mps_figures(&mut cursor, &mut failure);
    Some(Found::up_to(&cursor, start, failure))
}

fn mps_figures(cursor: &mut Cursor<'_>, failure: &mut Failure) -> Option<()> {
    let allocated = cursor.figure()?;
    cursor.eat(",otherallocations:")?;
    failure.allocated = Some(allocated);
    let elsewhere = cursor.figure()?;
    cursor.eat(",maxallowed:")?;
    failure.elsewhere = Some(elsewhere);
    failure.allowed = Some(cursor.figure()?);
    cursor.eat(").Triedtoallocate")?;
    failure.requested = Some(cursor.figure()?);
    Some(())
}
