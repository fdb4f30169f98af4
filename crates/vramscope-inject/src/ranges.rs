//! What the program says it is doing, whoever it tells: NVTX's functions and `vramscope-api`'s end here.
//!
//! Pushes and pops nest per thread and domain; started ranges are named by a number and may end anywhere.
//!
//! No log is made for them. What is open while nothing is recorded (before the first call of CUDA, or before
//! `vramscope_start`) waits in a small buffer and is written when recording begins, with the times at which it began;
//! what begins and ends before that is forgotten, for no memory was touched in it. A process that is not to have a log
//! (the child of a fork) does nothing here, so that it waits for no lock whose holder it lost.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vramscope_record::layout::{Annotation, AnnotationOp, Kind, NO_DEVICE};

use crate::{driver, log};

mod names;
mod stream;

pub(crate) use names::{Domain, register, registered, thread_name};
pub(crate) use stream::{end_on_stream, start_on_stream};

/// What NVTX has push and pop return when nobody keeps count.
pub(crate) const NO_PUSH_POP_TRACKING: i32 = -2;
/// What pop returns where nothing was pushed.
const NOTHING_PUSHED: i32 = -1;

/// Domains in which a thread may have pushed ranges at a time; those of further ones are not recorded.
const MOST_DOMAINS: usize = 16;
/// Ranges that may wait for recording to begin; further ones are not recorded.
const MOST_WAITING: usize = 1024;

thread_local! {
    /// How many ranges are pushed, by domain. An entry of depth 0 is free.
    static DEPTHS: Cell<[(Domain, u32); MOST_DOMAINS]> = const { Cell::new(NOTHING) };
    /// The thread's id; 0 until it is asked for.
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

/// No ranges are pushed.
const NOTHING: [(Domain, u32); MOST_DOMAINS] = [(Domain::DEFAULT, 0); MOST_DOMAINS];

/// A range that began while nothing was recorded.
struct Waiting {
    /// As it is to be written, but for the numbers of texts.
    annotation: Annotation,
    domain: Domain,
    /// Of a pushed range: how many were around it.
    depth: u32,
    name: Box<[u8]>,
}

static WAITING: Mutex<Vec<Waiting>> = Mutex::new(Vec::new());
/// Whether any may be waiting: changed while [`WAITING`] is held, and only cleared when all are written.
static IS_WAITING: AtomicBool = AtomicBool::new(false);

fn waiting() -> MutexGuard<'static, Vec<Waiting>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins a range within those of its thread and domain. Returns how many are around it, or
/// [`NO_PUSH_POP_TRACKING`].
pub(crate) fn push(domain: Domain, name: &[u8]) -> i32 {
    if !log::is_wanted() {
        return NO_PUSH_POP_TRACKING;
    }
    let mut depths = DEPTHS.get();
    let own = |&(of, depth): &(Domain, u32)| depth > 0 && of == domain;
    let free = |&(_, depth): &(Domain, u32)| depth == 0;
    let place = depths.iter().position(own);
    let Some(place) = place.or_else(|| depths.iter().position(free)) else {
        return NO_PUSH_POP_TRACKING;
    };
    let depth = depths[place].1;
    depths[place] = (domain, depth + 1);
    DEPTHS.set(depths);
    begin(AnnotationOp::Push, 0, depth, domain, name);
    i32::try_from(depth).unwrap_or(i32::MAX)
}

/// Ends the innermost of them. Returns how many are around it, or a negative number if there is none.
pub(crate) fn pop(domain: Domain) -> i32 {
    if !log::is_wanted() {
        return NO_PUSH_POP_TRACKING;
    }
    let mut depths = DEPTHS.get();
    let own = |&&mut (of, depth): &&mut (Domain, u32)| depth > 0 && of == domain;
    let Some(entry) = depths.iter_mut().find(own) else {
        return NOTHING_PUSHED;
    };
    entry.1 -= 1;
    let depth = entry.1;
    DEPTHS.set(depths);
    let thread = this_thread();
    let is_it = |one: &Waiting| {
        one.annotation.op == AnnotationOp::Push as u8
            && (one.annotation.thread, one.domain, one.depth) == (thread, domain, depth)
    };
    finish(AnnotationOp::Pop, 0, domain, is_it);
    i32::try_from(depth).unwrap_or(i32::MAX)
}

/// Begins a range that may end on another thread. Returns its number, or 0 where nobody listens.
pub(crate) fn start(domain: Domain, name: &[u8]) -> u64 {
    if !log::is_wanted() {
        return 0;
    }
    let range = new_number();
    begin(AnnotationOp::Start, range, 0, domain, name);
    range
}

/// Ends a range that was started. 0 is none.
pub(crate) fn end(range: u64) {
    if range == 0 || !log::is_wanted() {
        return;
    }
    let is_it = |one: &Waiting| one.annotation.range == range;
    finish(AnnotationOp::End, range, Domain::DEFAULT, is_it);
}

/// A point in time.
pub(crate) fn mark(domain: Domain, name: &[u8]) {
    if is_recording() {
        write(annotation(AnnotationOp::Mark, 0), domain, name);
    }
}

/// The number of a range that is started.
fn new_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Gives a thread another name than the system's.
pub(crate) fn name_thread(thread: u32, name: &[u8]) {
    if !log::is_wanted() {
        return;
    }
    names::keep_thread(thread, name);
    if log::is_made() {
        log::put(Kind::Thread, &[&thread.to_le_bytes(), name]);
    }
}

/// Whether annotations are written. Makes no log.
fn is_recording() -> bool {
    log::is_made() && log::is_recording()
}

/// Whether any ranges may be waiting for recording to begin.
pub(crate) fn are_waiting() -> bool {
    IS_WAITING.load(Ordering::Acquire)
}

/// Writes what waited, if recording has begun. `device` is the calling thread's.
pub(crate) fn recording_begins(device: Option<i16>) {
    if !log::is_recording() {
        return;
    }
    // Held until all of it stands in the log, for who finds nothing waiting writes what comes after it.
    let mut waiting = waiting();
    for mut one in waiting.drain(..) {
        if one.annotation.device == NO_DEVICE {
            // None was current when it began: it is the one that the program now begins to use.
            one.annotation.device = device.unwrap_or(NO_DEVICE);
        }
        write(one.annotation, one.domain, &one.name);
    }
    IS_WAITING.store(false, Ordering::Release);
}

/// In the child of a fork, which has one thread: forgets the parent's ranges. Returns false if another thread of the
/// parent was in here, so that nothing here may be used any more. Allocates and frees nothing.
pub(crate) fn forked() -> bool {
    DEPTHS.set(NOTHING);
    THREAD.set(0);
    let Ok(mut waiting) = WAITING.try_lock() else {
        return false;
    };
    std::mem::forget(std::mem::take(&mut *waiting));
    IS_WAITING.store(false, Ordering::Release);
    names::are_free()
}

fn begin(op: AnnotationOp, range: u64, depth: u32, domain: Domain, name: &[u8]) {
    let annotation = annotation(op, range);
    if is_recording() {
        if are_waiting() {
            recording_begins(driver::current_device());
        }
        write(annotation, domain, name);
        return;
    }
    let mut waiting = waiting();
    if waiting.len() < MOST_WAITING {
        IS_WAITING.store(true, Ordering::Release);
        waiting.push(Waiting {
            annotation,
            domain,
            depth,
            name: name.into(),
        });
    }
    drop(waiting);
    // It may have begun meanwhile, and have looked before this range was there.
    if is_recording() {
        recording_begins(driver::current_device());
    }
}

/// Ends a range: in the log, unless its beginning is not there either.
fn finish(op: AnnotationOp, range: u64, domain: Domain, is_it: impl FnMut(&Waiting) -> bool) {
    if are_waiting() {
        let mut waiting = waiting();
        if let Some(place) = waiting.iter().rposition(is_it) {
            waiting.remove(place);
            return;
        }
    }
    if log::is_made() {
        write(annotation(op, range), domain, b"");
    }
}

fn annotation(op: AnnotationOp, range: u64) -> Annotation {
    let is_made = log::is_made();
    Annotation {
        time_ns: log::now_ns(),
        range,
        stream: 0,
        name: 0,
        domain: 0,
        thread: if is_made {
            log::thread()
        } else {
            this_thread()
        },
        // Before there is a log the driver may not be there either.
        device: is_made
            .then(driver::current_device)
            .flatten()
            .unwrap_or(NO_DEVICE),
        op: op as u8,
        reserved: 0,
    }
}

/// Writes an annotation with its texts.
fn write(mut annotation: Annotation, domain: Domain, name: &[u8]) {
    annotation.domain = domain.text();
    if !name.is_empty() {
        annotation.name = log::text(name);
    }
    log::put(Kind::Annotation, &[&annotation.to_bytes()]);
}

/// The calling thread's id. Other than [`log::thread`] it makes no log.
fn this_thread() -> u32 {
    if THREAD.get() == 0 {
        // SAFETY: takes nothing and cannot fail.
        THREAD.set(unsafe { libc::gettid() } as u32);
    }
    THREAD.get()
}
