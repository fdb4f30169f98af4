//! Ranges on the host's time, and points in it.

use std::fmt::Display;
use std::marker::PhantomData;

use crate::Domain;
use crate::symbols::capture;

/// Begins a range that ends when the value is dropped. Ranges of a thread nest, so it must be dropped where it was
/// made, before those around it: give it a name beginning with `_`, not `_` itself. [`range!`](crate::range!) formats.
///
/// ```
/// let _load = vramscope_api::range("load weights");
/// ```
/// It cannot be sent to another thread; [`range_start`] is for that:
/// ```compile_fail
/// let load = vramscope_api::range("load weights");
/// std::thread::spawn(move || drop(load));
/// ```
pub fn range(name: impl Display) -> Range {
    Domain::DEFAULT.range(name)
}

/// Begins a range within those of its thread, which [`range_pop`] ends; [`range`] ends by itself. Returns how many are
/// around it, or a negative number if nothing is captured.
pub fn range_push(name: impl Display) -> i32 {
    Domain::DEFAULT.range_push(name)
}

/// Ends the innermost range of its thread. Returns how many are around it, or a negative number if there is none.
pub fn range_pop() -> i32 {
    Domain::DEFAULT.range_pop()
}

/// Begins a range that may overlap others, and may end on another thread: when the value is dropped, or by
/// [`range_end`].
///
/// ```
/// let copy = vramscope_api::range_start("copy");
/// std::thread::spawn(move || vramscope_api::range_end(copy));
/// ```
pub fn range_start(name: impl Display) -> StartedRange {
    Domain::DEFAULT.range_start(name)
}

/// Ends it, as dropping it does.
pub fn range_end(range: StartedRange) {
    drop(range);
}

/// Notes that something happened now.
///
/// ```
/// vramscope_api::mark("first batch is there");
/// ```
pub fn mark(name: impl Display) {
    Domain::DEFAULT.mark(name);
}

/// A range of this thread, by [`range`]; dropping it ends it.
#[derive(Debug)]
#[must_use = "the range ends when this is dropped"]
pub struct Range {
    /// `None` if nothing was begun.
    domain: Option<Domain>,
    /// Pushes and pops are of a thread, so this must stay on it.
    of_thread: PhantomData<*const ()>,
}

impl Range {
    pub(crate) fn new(domain: Domain, name: impl Display) -> Self {
        let is_pushed = domain.range_push(name) >= 0;
        Self {
            domain: is_pushed.then_some(domain),
            of_thread: PhantomData,
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if let Some(domain) = self.domain {
            domain.range_pop();
        }
    }
}

/// A range by [`range_start`]; dropping it ends it, on whichever thread.
#[derive(Debug)]
#[must_use = "the range ends when this is dropped"]
pub struct StartedRange {
    /// 0 if nothing was begun.
    number: u64,
}

impl StartedRange {
    pub(crate) fn new(domain: Domain, name: impl Display) -> Self {
        let number = capture().map_or(0, |capture| capture.range_start(domain.0, name));
        Self { number }
    }
}

impl Drop for StartedRange {
    fn drop(&mut self) {
        if self.number != 0
            && let Some(capture) = capture()
        {
            capture.range_end(self.number);
        }
    }
}
