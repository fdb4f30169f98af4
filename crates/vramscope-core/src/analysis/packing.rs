//! Offline placement: buffers with known lifetimes into one range of addresses, as low as can be.
//!
//! No allocator that does not move memory can need less than the most bytes that are live at once
//! ([`lower_bound`]); how near a placement comes to it is what [`Packer`] finds out: greedy
//! packers first, then [`search`] for as long as there is time.

mod bound;
pub mod search;

use std::sync::Arc;

pub use self::bound::lower_bound;

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

/// Where each buffer of a [`Problem`] lies.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Packing {
    /// First byte of each.
    pub offset: Vec<u64>,
    /// Bytes that all need together: the highest `offset + size`.
    pub height: u64,
}

/// How a packing came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// By a greedy packer.
    Greedy,
    /// By search.
    Search,
}

/// The best packing that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packed {
    /// The packing.
    pub packing: Packing,
    /// No packing can be lower than this.
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
    best: Option<Packed>,
}

impl Packer {
    /// Nothing is done yet.
    #[must_use]
    pub fn new(problem: Arc<Problem>) -> Self {
        Self {
            problem,
            best: None,
        }
    }

    /// Goes on until `is_over` or until nothing lower can be found; whether it is done. The first packing is
    /// found whatever `is_over` says.
    pub fn run(&mut self, _is_over: &mut dyn FnMut() -> bool) -> bool {
        let mut packing = Packing::default();
        for &size in &self.problem.size {
            packing.offset.push(packing.height);
            packing.height = packing.height.saturating_add(size);
        }
        self.best = Some(Packed {
            bound: lower_bound(&self.problem),
            packing,
            method: Method::Greedy,
        });
        true
    }

    /// The lowest packing so far; `None` before the first [`run`](Self::run).
    #[must_use]
    pub fn best(&self) -> Option<&Packed> {
        self.best.as_ref()
    }
}
