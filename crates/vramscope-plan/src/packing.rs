//! Offline placement: buffers with known lifetimes are placed in one range of addresses, as low as possible.
//!
//! No allocator that leaves memory where it is can need less than the most bytes that are live at once
//! ([`lower_bound`]). [`Packer`] looks for a placement close to that bound, in two stages:
//!
//! 1. Greedy packers place one buffer after another, in eight orders and by two rules of fit (`orders`, `greedy`,
//!    `portfolio`). With fewer than 131,072 buffers all 16 run; with more only three by first fit. Of 3.3 million buffers
//!    of a repeated training run, the first takes a second (`free`), the second 14 (`occupied`), as WebAssembly.
//! 2. If none reaches the bound and there are at most 131,072 buffers, [`search`] looks for lower packings, for as
//!    long as it is allowed to.
//!
//! Both work on [`Sections`] of time and not on moments. [`verify`] checks every result and shares no code with the
//! packers. [`csv`] reads and writes minimalloc's files.

mod bound;
pub mod csv;
mod free;
mod greedy;
mod occupied;
mod orders;
mod portfolio;
pub mod search;
mod sections;
mod verify;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

pub use self::bound::lower_bound;
pub use self::greedy::{Fit, greedy};
pub use self::orders::Order;
use self::portfolio::Portfolio;
use self::search::{Descent, Search, SearchResult};
pub use self::sections::Sections;
pub use self::verify::{Fault, verify};

/// Buffers to place, as columns of equal length. The column names are those of minimalloc's CSV files.
///
/// Two buffers may share bytes if and only if their lives do not overlap. A life is half-open: a life that ends
/// at 5 does not overlap one that begins at 5, and an empty life overlaps nothing.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Problem {
    /// First time at which each buffer is live.
    pub lower: Vec<u64>,
    /// First time at which it is no longer live; at least `lower`.
    pub upper: Vec<u64>,
    /// Size of each buffer in bytes.
    pub size: Vec<u64>,
    /// Its offset must be a multiple of this. An empty column means 1 for all.
    pub alignment: Vec<u64>,
}

impl Problem {
    /// The alignment of a buffer's offset, at least 1.
    #[must_use]
    pub fn alignment_of(&self, buffer: usize) -> u64 {
        self.alignment
            .get(buffer)
            .map_or(1, |&alignment| alignment.max(1))
    }

    /// The greatest common divisor of all alignments. All offsets are multiples of it, so no buffer can use the bytes
    /// between the end of another and the next multiple.
    fn padding(&self) -> u64 {
        (self.alignment.iter()).fold(0, |common, &alignment| gcd(common, alignment.max(1)))
    }

    /// The sizes, rounded up to [`padding`](Self::padding).
    fn padded_sizes(&self) -> Cow<'_, [u64]> {
        match self.padding() {
            0 | 1 => Cow::Borrowed(&self.size),
            padding => Cow::Owned(
                self.size
                    .iter()
                    .map(|&size| padded(size, padding))
                    .collect(),
            ),
        }
    }
}

/// A size rounded up to the padding.
fn padded(size: u64, padding: u64) -> u64 {
    if padding <= 1 {
        return size;
    }
    size.checked_next_multiple_of(padding).unwrap_or(u64::MAX)
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// An offset for each buffer of a [`Problem`].
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Packing {
    /// First byte of each buffer.
    pub offset: Vec<u64>,
    /// Bytes needed in all: the highest `offset + size`.
    pub height: u64,
}

impl Packing {
    /// Takes these offsets and computes their height, saturating. The offsets may overlap; [`verify`] checks that.
    #[must_use]
    pub fn of(problem: &Problem, offset: Vec<u64>) -> Self {
        let ends =
            (offset.iter().zip(&problem.size)).map(|(offset, size)| offset.saturating_add(*size));
        Self {
            height: ends.max().unwrap_or(0),
            offset,
        }
    }
}

/// How a packing was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By a greedy packer: buffers placed in this order, each in the gap that `fit` chooses.
    Greedy {
        /// The order of placement.
        order: Order,
        /// The choice of a gap.
        fit: Fit,
    },
    /// By [`search`].
    Search,
    /// It was known beforehand ([`Packer::offer`]).
    Given,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Greedy { order, fit } => write!(f, "greedy, {order}, {fit}"),
            Self::Search => f.write_str("search"),
            Self::Given => f.write_str("the file's own offsets"),
        }
    }
}

/// The best known packing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The offsets.
    pub packing: Packing,
    /// No packing can be lower than this: [`lower_bound`], or a higher bound that a search has proved.
    pub bound: u64,
    /// How it was found.
    pub method: Method,
}

impl Packed {
    /// Whether no lower packing can exist.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.packing.height == self.bound
    }
}

/// Searches for ever lower packings of one problem, in slices of work. The problem is shared, so its owner can use it
/// between slices.
pub struct Packer {
    problem: Arc<Problem>,
    sections: Sections,
    portfolio: Portfolio,
    descent: Option<Descent>,
    /// The search for a packing within a given capacity, and that capacity.
    within: Option<(Search, u64)>,
    is_asking: bool,
    best: Option<Packed>,
}

impl Packer {
    /// Computes only the lower bound.
    #[must_use]
    pub fn new(problem: Arc<Problem>) -> Self {
        let sections = Sections::of(&problem);
        Self::with_sections(problem, sections)
    }

    /// [`new`](Self::new) with the problem's sections.
    pub(crate) fn with_sections(problem: Arc<Problem>, sections: Sections) -> Self {
        let bound = bound::bound(&problem, &sections);
        Self {
            portfolio: Portfolio::new(bound, problem.size.len()),
            problem,
            sections,
            descent: None,
            within: None,
            is_asking: false,
            best: None,
        }
    }

    /// Looks for a packing of at most `capacity` bytes, and stops once one is found or ruled out.
    #[must_use]
    pub fn within(problem: Arc<Problem>, capacity: u64) -> Self {
        Self {
            within: Some((Search::new(problem.clone(), capacity), capacity)),
            ..Self::new(problem)
        }
    }

    /// Offers a known packing. It becomes the best one if it is lower than that.
    ///
    /// # Errors
    /// If it is not a packing of the problem.
    pub fn offer(&mut self, packing: Packing) -> Result<(), Fault> {
        verify(&self.problem, &packing)?;
        let best = self.best.as_ref();
        if best.is_none_or(|best| packing.height < best.packing.height) {
            self.best = Some(Packed {
                bound: best.map_or(self.portfolio.bound, |best| best.bound),
                packing,
                method: Method::Given,
            });
        }
        Ok(())
    }

    /// Works until `is_over` returns true, or until no lower packing can be found. Returns whether it is done. Some problems
    /// are never done, so `is_over` must return true eventually.
    pub fn run(&mut self, is_over: &mut dyn FnMut() -> bool) -> bool {
        let (problem, sections) = (&self.problem, &self.sections);
        if self.descent.is_none() {
            if !(self.portfolio).run(problem, sections, &mut self.best, is_over) {
                return false;
            }
            if self.is_answered() {
                return true;
            }
            let greedy = self.best.as_ref().filter(|best| !best.is_optimal());
            self.descent = greedy.and_then(|best| Descent::new(problem, sections, best));
        }
        // The search within the capacity and the descent alternate, because either may be faster.
        self.is_asking = self.within.is_some() && !self.is_asking;
        let is_done = match (&mut self.descent, &mut self.best) {
            (Some(_), Some(best)) if self.is_asking => {
                self.within = ask(self.within.take(), best, is_over);
                false
            }
            (Some(descent), Some(best)) => descent.run(problem, sections, best, is_over),
            _ => true,
        };
        is_done || self.is_answered()
    }

    /// Whether a packing within the capacity has been found or ruled out.
    fn is_answered(&self) -> bool {
        let asked = self.within.as_ref().zip(self.best.as_ref());
        asked.is_some_and(|(&(_, capacity), best)| {
            best.packing.height <= capacity || best.bound > capacity
        })
    }

    /// Frees the memory of the current search. [`run`](Self::run) can still continue; at most one round of search is
    /// lost.
    pub fn rest(&mut self) {
        if let Some(descent) = &mut self.descent {
            descent.rest();
        }
    }

    /// The lowest packing so far; `None` until there is one.
    #[must_use]
    pub fn best(&self) -> Option<&Packed> {
        self.best.as_ref()
    }
}

/// Continues the search within a capacity. Returns the search while it can still find or prove something.
fn ask(
    within: Option<(Search, u64)>,
    best: &mut Packed,
    is_over: &mut dyn FnMut() -> bool,
) -> Option<(Search, u64)> {
    let (mut search, capacity) = within?;
    match search.run(is_over) {
        SearchResult::Packing(packing) if packing.height < best.packing.height => {
            best.packing = packing;
            best.method = Method::Search;
        }
        SearchResult::Impossible => best.bound = best.bound.max(capacity.saturating_add(1)),
        SearchResult::TooLarge => return None,
        SearchResult::Packing(_) | SearchResult::NotYet => {}
    }
    Some((search, capacity))
}

#[cfg(test)]
mod tests;
