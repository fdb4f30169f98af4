//! Offline placement: buffers with known lifetimes into one range of addresses, as low as can be.
//!
//! No allocator that does not move memory can need less than the most bytes that are live at once
//! ([`lower_bound`]); how near a placement comes to it is what [`Packer`] finds out: greedy
//! packers first, then [`search`] for as long as there is time. [`verify`] checks what they say.

mod bound;
pub mod csv;
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
use self::search::{Descent, Found, Search};
pub use self::sections::Sections;
pub use self::verify::{Fault, verify};

/// Buffers to place, as columns of equal length. The words are those of minimalloc's CSV files.
///
/// Two buffers may share bytes if and only if their lives do not overlap. A life is half-open: what
/// ends at 5 and what begins at 5 do not overlap, and a life that ends where it begins overlaps
/// nothing.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Problem {
    /// First time at which each is live.
    pub lower: Vec<u64>,
    /// First time at which it is gone; at least `lower`.
    pub upper: Vec<u64>,
    /// Bytes.
    pub size: Vec<u64>,
    /// What its offset must be a multiple of; empty = 1 for all.
    pub alignment: Vec<u64>,
}

impl Problem {
    /// What the offset of a buffer must be a multiple of.
    #[must_use]
    pub fn alignment_of(&self, buffer: usize) -> u64 {
        self.alignment
            .get(buffer)
            .map_or(1, |&alignment| alignment.max(1))
    }

    /// The sizes, each with what no other buffer can use behind it: all offsets are multiples of what the
    /// alignments have in common.
    fn padded_sizes(&self) -> Cow<'_, [u64]> {
        let common =
            (self.alignment.iter()).fold(0, |common, &alignment| gcd(common, alignment.max(1)));
        if common <= 1 {
            return Cow::Borrowed(&self.size);
        }
        let padded = self
            .size
            .iter()
            .map(|size| size.checked_next_multiple_of(common).unwrap_or(u64::MAX));
        Cow::Owned(padded.collect())
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Where each buffer of a [`Problem`] lies.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Packing {
    /// First byte of each.
    pub offset: Vec<u64>,
    /// Bytes that all need together: the highest `offset + size`.
    pub height: u64,
}

impl Packing {
    /// These offsets and the height that they come to, which saturates. Whether it is a packing is for
    /// [`verify`] to say.
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

/// How a packing came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By a greedy packer: buffers in this order, each into such a gap.
    Greedy {
        /// The order.
        order: Order,
        /// The gap.
        fit: Fit,
    },
    /// By search.
    Search,
    /// Not at all: somebody had it already ([`Packer::offer`]).
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

/// The best packing that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The packing.
    pub packing: Packing,
    /// No packing can be lower than this: [`lower_bound`], or what a search has proved.
    pub bound: u64,
    /// How it was found.
    pub method: Method,
}

impl Packed {
    /// Whether nothing lower can exist.
    #[must_use]
    pub fn is_optimal(&self) -> bool {
        self.packing.height == self.bound
    }
}

/// Looks for ever lower packings of one problem; can be stopped and asked to go on. It shares the problem, so
/// that both can be kept side by side between two slices of work.
pub struct Packer {
    problem: Arc<Problem>,
    sections: Sections,
    portfolio: Portfolio,
    descent: Option<Descent>,
    /// Whether there is a packing within a capacity, if that is asked; and whether it is this question's turn.
    within: Option<(Search, u64)>,
    is_asking: bool,
    best: Option<Packed>,
}

impl Packer {
    /// Only the lower bound is worked out yet.
    #[must_use]
    pub fn new(problem: Arc<Problem>) -> Self {
        let sections = Sections::of(&problem);
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

    /// Asks first of all whether there is a packing of at most `capacity` bytes, and is done once that is known.
    #[must_use]
    pub fn within(problem: Arc<Problem>, capacity: u64) -> Self {
        Self {
            within: Some((Search::new(problem.clone(), capacity), capacity)),
            ..Self::new(problem)
        }
    }

    /// Begins with a packing that is known already, if it is lower than the best so far.
    ///
    /// # Errors
    /// Why it is no packing of the problem.
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

    /// Goes on until `is_over` or until nothing lower can be found; whether it is done. Some problems it is never
    /// done with: give it a time.
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
        // The question and the way down take turns: either may be the quicker.
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

    /// Whether it is known if there is a packing within the capacity that is asked about.
    fn is_answered(&self) -> bool {
        let asked = self.within.as_ref().zip(self.best.as_ref());
        asked.is_some_and(|(&(_, capacity), best)| {
            best.packing.height <= capacity || best.bound > capacity
        })
    }

    /// Gives back the memory of what is being searched, to go on later: at most a round of it is lost.
    pub fn rest(&mut self) {
        if let Some(descent) = &mut self.descent {
            descent.rest();
        }
    }

    /// The lowest packing so far; `None` before the first is found.
    #[must_use]
    pub fn best(&self) -> Option<&Packed> {
        self.best.as_ref()
    }
}

/// Searches on; what is left to ask.
fn ask(
    within: Option<(Search, u64)>,
    best: &mut Packed,
    is_over: &mut dyn FnMut() -> bool,
) -> Option<(Search, u64)> {
    let (mut search, capacity) = within?;
    match search.run(is_over) {
        Found::Packing(packing) if packing.height < best.packing.height => {
            best.packing = packing;
            best.method = Method::Search;
        }
        Found::Impossible => best.bound = best.bound.max(capacity.saturating_add(1)),
        Found::TooLarge => return None,
        Found::Packing(_) | Found::NotYet => {}
    }
    Some((search, capacity))
}

#[cfg(test)]
mod tests;
