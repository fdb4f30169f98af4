//! Ranges and marks of the program, from NVTX and from `vramscope-api`.
//!
//! Pushed ranges nest per thread and domain. Started ranges have a number and may end on any thread.
//!
//! Ranges create no log. Ranges that are open while nothing is recorded (before the first CUDA call, or before
//! `vramscope_start`) wait in a small buffer and are written with their original times when recording begins. Ranges
//! that end earlier are forgotten, as no memory changed in them. In a process that must not have a log (the child of a
//! fork), nothing here does anything, so that it never waits for a lock whose holder does not exist there.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use vramscope_record::layout::{Annotation, AnnotationOp, Loss, NO_DEVICE, ON_STREAM};

use crate::driver;
use crate::log::{self, Domain, Label, PendingRange};

mod stream;

pub(crate) use stream::{Point, end_on_stream, is_capturing, run_at, start_on_stream};

/// Result of push and pop if depths are not tracked, as defined by NVTX.
pub(crate) const NO_PUSH_POP_TRACKING: i32 = -2;
/// Result of pop if no range was pushed.
const NOTHING_PUSHED: i32 = -1;

/// Maximum number of domains in which a thread may have pushed ranges at the same time. Ranges of further domains are
/// not recorded.
const MAX_DOMAINS: usize = 16;

thread_local! {
    /// Number of pushed ranges by domain. An entry with depth 0 is free.
    static DEPTHS: Cell<[(Domain, u32); MAX_DOMAINS]> = const { Cell::new(NO_DEPTHS) };
    /// The thread's id; 0 until it was queried.
    static THREAD: Cell<u32> = const { Cell::new(0) };
}

/// No pushed ranges.
const NO_DEPTHS: [(Domain, u32); MAX_DOMAINS] = [(Domain::DEFAULT, 0); MAX_DOMAINS];

/// Begins a range nested in the open ranges of its thread and domain. Returns the number of ranges around it, or
/// [`NO_PUSH_POP_TRACKING`].
pub(crate) fn push(label: Label<'_>) -> i32 {
    if !log::is_enabled() {
        return NO_PUSH_POP_TRACKING;
    }
    let domain = label.domain;
    let mut depths = DEPTHS.get();
    let own = |&(of, depth): &(Domain, u32)| depth > 0 && of == domain;
    let free = |&(_, depth): &(Domain, u32)| depth == 0;
    let place = depths.iter().position(own);
    let Some(place) = place.or_else(|| depths.iter().position(free)) else {
        log::lost(Loss::TooManyDomains);
        return NO_PUSH_POP_TRACKING;
    };
    let depth = depths[place].1;
    depths[place] = (domain, depth + 1);
    DEPTHS.set(depths);
    begin(AnnotationOp::Push, 0, depth, label);
    i32::try_from(depth).unwrap_or(i32::MAX)
}

/// Ends the innermost pushed range of the thread and domain. Returns the number of ranges around it, or a negative
/// number if no range was pushed.
pub(crate) fn pop(domain: Domain) -> i32 {
    if !log::is_enabled() {
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
    let is_match = |one: &PendingRange| {
        one.annotation.op == AnnotationOp::Push as u8
            && (one.annotation.thread, one.label.domain, one.depth) == (thread, domain, depth)
    };
    finish(AnnotationOp::Pop, 0, domain, is_match);
    i32::try_from(depth).unwrap_or(i32::MAX)
}

/// Begins a range that may end on another thread. Returns its number, or 0 if recording is disabled.
pub(crate) fn start(label: Label<'_>) -> u64 {
    if !log::is_enabled() {
        return 0;
    }
    let range = new_number();
    begin(AnnotationOp::Start, range, 0, label);
    range
}

/// Ends a started range; 0 is ignored.
pub(crate) fn end(range: u64) {
    if range == 0 || !log::is_enabled() {
        return;
    }
    let is_match = |one: &PendingRange| one.annotation.range == range;
    finish(AnnotationOp::End, range, Domain::DEFAULT, is_match);
}

/// Marks a point in time.
pub(crate) fn mark(label: &Label<'_>) {
    if is_recording() {
        log::annotate(annotation(AnnotationOp::Mark, 0), label);
    }
}

/// A new number for a started range.
fn new_number() -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    LAST.fetch_add(1, Ordering::Relaxed) + 1
}

/// Whether annotations are written. Creates no log.
pub(crate) fn is_recording() -> bool {
    log::exists() && log::is_recording()
}

/// Runs in the child of a fork, which has one thread, and forgets the parent's ranges.
pub(crate) fn after_fork() {
    DEPTHS.set(NO_DEPTHS);
    THREAD.set(0);
}

fn begin(op: AnnotationOp, range: u64, depth: u32, label: Label<'_>) {
    let annotation = annotation(op, range);
    if is_recording() {
        if log::has_pending() {
            log::flush_pending(current_device());
        }
        log::annotate(annotation, &label);
        return;
    }
    log::add_pending(annotation, depth, label.into_owned());
    // Recording may have begun meanwhile, before this range was pending.
    if is_recording() {
        log::flush_pending(current_device());
    }
}

/// Ends a range. Writes its end, unless its beginning is still pending.
fn finish(
    op: AnnotationOp,
    range: u64,
    domain: Domain,
    is_match: impl FnMut(&PendingRange) -> bool,
) {
    if !log::remove_pending(is_match) && log::exists() {
        log::annotate(annotation(op, range), &Label::end(domain));
    }
}

fn annotation(op: AnnotationOp, range: u64) -> Annotation {
    let log_exists = log::exists();
    Annotation {
        time_ns: log::now_ns(),
        range,
        stream: stream::reached().map_or(0, |point| point.stream),
        name: 0,
        domain: 0,
        thread: if log_exists {
            log::thread()
        } else {
            this_thread()
        },
        // Without a log, the driver may not be loaded either.
        device: log_exists
            .then(current_device)
            .flatten()
            .unwrap_or(NO_DEVICE),
        op: op as u8,
        flags: if stream::reached().is_some() {
            ON_STREAM
        } else {
            0
        },
    }
}

/// The device that the calling thread works on. In a stream's host function it is the stream's, since the driver must
/// not be called there.
pub(crate) fn current_device() -> Option<i16> {
    match stream::reached() {
        Some(point) => Some(point.device),
        None => driver::current_device_between_calls(),
    }
}

/// The calling thread's id. Unlike [`log::thread`] it creates no log.
fn this_thread() -> u32 {
    if THREAD.get() == 0 {
        // SAFETY: takes no arguments and cannot fail.
        THREAD.set(unsafe { libc::gettid() } as u32);
    }
    THREAD.get()
}
