//! Greedy packers one after another, the lowest result kept: all 16, or three of them where there are many buffers.

use super::greedy::{Fit, Greedy};
use super::orders::Order;
use super::{Method, Packed, Problem, Sections};

/// From so many buffers on only [`LARGE`] are asked: for a million, each takes a second or two, and ten if a thousand are
/// live at once.
const LARGE_BUFFERS: usize = 1 << 17;

/// The fast, mostly good ones. Best fit must look at all gaps.
const LARGE: [(Order, Fit); 3] = [
    (Order::Program, Fit::First),
    (Order::Size, Fit::First),
    (Order::ContentionDuration, Fit::First),
];

/// The greedy packers that are still to be asked.
pub(super) struct Portfolio {
    pub(super) bound: u64,
    /// The next one last.
    left: Vec<(Order, Fit)>,
    current: Option<(Greedy, Method)>,
}

impl Portfolio {
    /// None was asked yet.
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

    /// Goes on until `is_over`, until all were asked or until the bound is reached; whether it is done. One that
    /// gets higher than the best so far is given up.
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
                // Some of it is done in every run, however short.
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
