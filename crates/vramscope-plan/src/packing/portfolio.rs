//! Runs greedy packers one after another, and stores the lowest result: all 16, or three if there are many buffers.

use super::greedy::{Fit, Greedy};
use super::orders::Order;
use super::{Method, Packed, Problem, Sections};

/// From this many buffers on, only [`LARGE`] run.
const LARGE_BUFFERS: usize = 1 << 17;

/// Packers that are fast and usually good. Best fit is not among them because it has to examine every gap.
const LARGE: [(Order, Fit); 3] = [
    (Order::Program, Fit::First),
    (Order::Size, Fit::First),
    (Order::ContentionDuration, Fit::First),
];

/// The greedy packers still to run.
pub(super) struct Portfolio {
    pub(super) bound: u64,
    /// The last one is the next to run.
    left: Vec<(Order, Fit)>,
    current: Option<(Greedy, Method)>,
}

impl Portfolio {
    /// The packers for a problem of so many buffers.
    pub(super) fn new(bound: u64, buffers: usize) -> Self {
        let fits = |order| [(order, Fit::First), (order, Fit::Best)];
        let mut left: Vec<_> = match buffers {
            0..LARGE_BUFFERS => Order::ALL.into_iter().flat_map(fits).collect(),
            _ => LARGE.to_vec(),
        };
        left.reverse();
        Self {
            bound,
            left,
            current: None,
        }
    }

    /// Works until `is_over` returns true, until all have run, or until the bound is reached. Returns whether it is done. A
    /// packer that gets as high as the best result so far is given up.
    pub(super) fn run(
        &mut self,
        problem: &Problem,
        sections: &Sections,
        best: &mut Option<Packed>,
        is_over: &mut dyn FnMut() -> bool,
    ) -> bool {
        let height = |best: &Option<Packed>| best.as_ref().map(|best| best.packing.height);
        while height(best) != Some(self.bound) {
            let (mut greedy, method) = match self.current.take() {
                Some(current) => current,
                None => match self.left.pop() {
                    Some((order, fit)) => {
                        let greedy = Greedy::new(problem, sections, order, fit);
                        (greedy, Method::Greedy { order, fit })
                    }
                    None => return true,
                },
            };
            let is_lower = |greedy: &Greedy| height(best).is_none_or(|best| greedy.height() < best);
            while !greedy.is_done() && is_lower(&greedy) {
                // Every call makes some progress, however short its time.
                greedy.advance(problem, sections);
                if is_over() {
                    self.current = Some((greedy, method));
                    return false;
                }
            }
            if is_lower(&greedy) {
                *best = Some(Packed {
                    packing: greedy.into_packing(),
                    bound: self.bound,
                    method,
                });
            }
        }
        true
    }
}
