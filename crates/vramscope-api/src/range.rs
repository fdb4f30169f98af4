//! Ranges of host time, and marks.

use std::fmt::Display;
use std::marker::PhantomData;

use crate::Domain;
use crate::symbols::capture;

/// Begins a range that ends when the value is dropped. Ranges of a thread nest, so drop it on the same thread and
/// before the ranges around it. Bind it to a name that begins with `_`, not to `_` itself, which drops it at once.
/// [`range!`](crate::range!) formats the name.
///
/// ```
/// let _load = vramscope_api::range("load weights");
/// ```
/// It cannot be sent to another thread; use [`range_start`] for that:
/// ```compile_fail
/// let load = vramscope_api::range("load weights");
/// std::thread::spawn(move || drop(load));
/// ```
pub fn range(name: impl Display) -> Range {
    Domain::DEFAULT.range(name)
}

/// Begins a range nested in the open ranges of its thread, to be ended by [`range_pop`]. [`range`] ends by itself.
/// Returns the number of ranges around it, or a negative number if the program is not captured.
pub fn range_push(name: impl Display) -> i32 {
    Domain::DEFAULT.range_push(name)
}

/// Ends the innermost range of its thread. Returns the number of ranges around it, or a negative number if there is
/// no range.
pub fn range_pop() -> i32 {
    Domain::DEFAULT.range_pop()
}

/// Begins a range that may overlap others and may end on another thread: when the value is dropped, or by
/// [`range_end`].
///
/// ```
/// let copy = vramscope_api::range_start("copy");
/// std::thread::spawn(move || vramscope_api::range_end(copy));
/// ```
pub fn range_start(name: impl Display) -> StartedRange {
    Domain::DEFAULT.range_start(name)
}

/// Ends the range, as dropping the value does.
pub fn range_end(range: StartedRange) {
    drop(range);
}

/// Marks a point in time.
///
/// ```
/// vramscope_api::mark("first batch is there");
/// ```
pub fn mark(name: impl Display) {
    Domain::DEFAULT.mark(name);
}

/// A range of this thread, from [`range`]. Dropping it ends the range.
#[derive(Debug)]
#[must_use = "the range ends when this is dropped"]
pub struct Range {
    /// `None` if no range was begun.
    domain: Option<Domain>,
    /// Not `Send`: pushes and pops belong to a thread.
    not_send: PhantomData<*const ()>,
}

impl Range {
    pub(crate) fn new(domain: Domain, name: impl Display) -> Self {
        let is_pushed = domain.range_push(name) >= 0;
        Self {
            domain: is_pushed.then_some(domain),
            not_send: PhantomData,
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

/// A range from [`range_start`]. Dropping it on any thread ends the range.
#[derive(Debug)]
#[must_use = "the range ends when this is dropped"]
pub struct StartedRange {
    /// 0 if no range was begun.
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
