//! Errors of XLA (JAX, TensorFlow), with the largest buffers of the program.

use memchr::memmem;

use super::Found;
use crate::cursor::Cursor;
use crate::record::{Api, Buffer, Failure, Form};

/// Most buffers stored: XLA lists fifteen.
const MOST_BUFFERS: usize = 64;

/// The memories of a TPU. All but the first are small ones on the chip, for the work of one kernel.
const SPACES: [&str; 4] = ["hbm", "vmem", "smem", "cmem"];

/// `Ran out of memory in memory space hbm. Used 21.95G of 15.48G hbm.`
pub(crate) fn find_tpu(text: &[u8]) -> Option<Found> {
    const HEAD: &str = "Ranoutofmemoryinmemoryspace";
    let mut cursor = Cursor::behind(text, HEAD)?;
    let start = cursor.at - HEAD.len();
    let space = SPACES.iter().find(|space| cursor.eat(space).is_some())?;
    cursor.eat(".")?;
    let mut failure = Failure::new(Api::Tpu, Form::Xla);
    let _cut = tpu_figures(&mut cursor, &mut failure, space);
    let mut end = cursor.at;
    // `1. Size: 124.00M Shape: … Unpadded size: …`
    failure.buffers = buffers(&text[end..], "Size:", &mut end);
    Some(Found {
        start,
        end,
        failure,
    })
}

fn tpu_figures(cursor: &mut Cursor<'_>, failure: &mut Failure, space: &str) -> Option<()> {
    cursor.eat("Used")?;
    let needed = cursor.short_figure()?;
    cursor.eat("of")?;
    let total = cursor.short_figure()?;
    cursor.eat(space)?;
    cursor.eat(".")?;
    failure.requested = Some(needed);
    if space == SPACES[0] {
        failure.total = Some(total);
    } else {
        failure.allowed = Some(total);
        space.clone_into(&mut failure.words);
    }
    Some(())
}

/// `Aborting compilation early because it's unlikely to have enough memory. Requires 3.47E, has 14.49G available.`
pub(crate) fn find_early(text: &[u8]) -> Option<Found> {
    const HEAD: &str = "Abortingcompilationearlybecauseit'sunlikelytohaveenough";
    let mut cursor = Cursor::behind(text, HEAD)?;
    let start = cursor.at - HEAD.len();
    cursor.any(&["memory.Requires", "devicememory.Requires"])?;
    let mut failure = Failure::new(Api::Tpu, Form::Xla);
    failure.words = WHOLE_PROGRAM.to_owned();
    failure.requested = Some(cursor.short_figure()?);
    cursor.eat(",has")?;
    failure.free = Some(cursor.short_figure()?);
    cursor.eat("available")?;
    Some(Found::up_to(&cursor, start, failure))
}

/// The words of an error about all that a program needs.
pub(crate) const WHOLE_PROGRAM: &str = "XLA: the program needs more than there is";

/// The words of an error about one request, not about all that a program needs.
pub(crate) const ONE_REQUEST: &str = "one request";

/// `RESOURCE_EXHAUSTED: Out of memory while trying to allocate 6291456 bytes.`
pub(crate) fn find_gpu(text: &[u8]) -> Option<Found> {
    let heads = [
        "Outofmemorywhiletryingtoallocate",
        "RESOURCE_EXHAUSTED:Failedtoallocaterequestfor",
    ];
    let (mut cursor, head) = heads
        .iter()
        .find_map(|head| Some((Cursor::behind(text, head)?, head)))?;
    let start = cursor.at - head.len();
    // After a list that is cut off, the text may belong to the next error.
    cursor.end_before(&["RESOURCE_EXHAUSTED", heads[0]]);
    let mut failure = Failure::new(Api::Other, Form::Xla);
    failure.requested = cursor.figure();
    // `Failed to allocate request for 2.99GiB (3206250496B)`
    if head == &heads[1] {
        ONE_REQUEST.clone_into(&mut failure.words);
        if cursor.eat("(").is_some() {
            failure.requested = cursor.figure().or(failure.requested);
        }
    }
    if cursor.seek("BufferAssignmentstats:", 200).is_some() {
        let _cut = stats(&mut cursor, &mut failure);
    }
    let mut end = cursor.at;
    if cursor.seek("Peakbuffers:", 200).is_some() {
        end = cursor.at;
        failure.buffers = buffers(cursor.rest(), "Size:", &mut end);
    }
    Some(Found {
        start,
        end,
        failure,
    })
}

/// On TPUs: `Attempting to reserve 3.49G at the bottom of memory. That was not possible. There are 2.82G free, …` and
/// `Attempting to allocate 4.39G. That was not possible. There are 2.30G free.`
pub(crate) fn find_reserve(text: &[u8]) -> Option<Found> {
    let heads = ["Attemptingtoreserve", "Attemptingtoallocate"];
    let found = heads.iter().filter_map(|head| reserve(text, head));
    found.min_by_key(|found| found.start)
}

fn reserve(text: &[u8], head: &str) -> Option<Found> {
    let mut cursor = Cursor::behind(text, head)?;
    let start = cursor.at - head.len();
    let mut failure = Failure::new(Api::Tpu, Form::Xla);
    if head.ends_with("allocate") {
        ONE_REQUEST.clone_into(&mut failure.words);
    }
    failure.requested = Some(cursor.short_figure()?);
    let _where = cursor.eat("atthebottomofmemory");
    cursor.eat(".Thatwasnotpossible.Thereare")?;
    failure.free = Some(cursor.short_figure()?);
    cursor.eat("free")?;
    Some(Found::up_to(&cursor, start, failure))
}

fn stats(cursor: &mut Cursor<'_>, failure: &mut Failure) -> Option<()> {
    cursor.seek("totalallocation:", 400)?;
    // The total that the program needs.
    failure.allocated = Some(cursor.figure()?);
    cursor.eat("totalfragmentation:")?;
    cursor.figure()?;
    Some(())
}

/// The buffers of a list, and its end.
fn buffers(text: &[u8], head: &str, end: &mut usize) -> Vec<Buffer> {
    let mut buffers = Vec::new();
    let base = *end;
    let mut cursor = Cursor::new(text);
    while buffers.len() < MOST_BUFFERS {
        // The next one is close, or the list is over.
        if cursor.seek(head, 120).is_none() {
            break;
        }
        let Some(size) = cursor.short_figure() else {
            break;
        };
        let Some(length) = memmem::find(cursor.rest(), b"==========") else {
            break;
        };
        let body = &cursor.rest()[..length];
        if body.len() > 4000 {
            break;
        }
        buffers.push(buffer(size, body));
        cursor.at += length;
        while cursor.eat("=").is_some() {}
        *end = base + cursor.at;
    }
    buffers
}

fn buffer(size: crate::figure::Figure, body: &[u8]) -> Buffer {
    let between = |head: &str, ends: &[&str]| {
        let rest = Cursor::behind(body, head)?.rest();
        let end = ends
            .iter()
            .filter_map(|end| memmem::find(rest, end.as_bytes()))
            .min();
        let text = &rest[..end.unwrap_or(rest.len())];
        Some(String::from_utf8_lossy(text).into_owned())
    };
    let shape = between("Shape:", &["Unpadded", "XLA", "=="])
        .or_else(|| between("Subshape:", &["=="]))
        .unwrap_or_default();
    let file = between("source_file=\"", &["\""]).unwrap_or_default();
    let line = between("source_line=", &["XLA", "Shape", "Unpadded", "=="]).unwrap_or_default();
    let place = match file.rsplit(['/', '\\']).next() {
        Some(name) if !name.is_empty() => format!("{name}:{line}"),
        _ => String::new(),
    };
    let operator = between("op_name=\"", &["\"", "["]).unwrap_or_default();
    let operator = operator.rsplit('/').next().unwrap_or_default().to_owned();
    Buffer {
        size,
        place,
        shape,
        operator,
    }
}
