//! A lower bound on the height of any packing.

use std::collections::BTreeMap;

use super::{Problem, Sections};

/// No packing can be lower than this: the most bytes that are live at once, including the padding that alignment
/// forces between them, or the largest buffer if that is larger (it may never be live). Saturates.
#[must_use]
pub fn lower_bound(problem: &Problem) -> u64 {
    bound(problem, &Sections::of(problem))
}

/// Like [`lower_bound`], with sections that are already known.
pub(super) fn bound(problem: &Problem, sections: &Sections) -> u64 {
    let padded = problem.padded_sizes();
    let totals = sections.totals(&padded);
    let most = match slack(problem, &padded, sections) {
        Some(slack) => (totals.iter().zip(slack))
            .map(|(total, slack)| total.saturating_sub(slack.into()))
            .max(),
        None => totals.into_iter().max(),
    };
    let largest = problem.size.iter().copied().max().unwrap_or(0);
    largest.max(u64::try_from(most.unwrap_or(0)).unwrap_or(u64::MAX))
}

/// For each section, the largest padding of a buffer that is live in it. The topmost buffer needs no padding, so
/// this much may be subtracted. `None` if no size is padded.
fn slack(problem: &Problem, padded: &[u64], sections: &Sections) -> Option<Vec<u64>> {
    if padded == problem.size {
        return None;
    }
    let mut changes: Vec<(usize, bool, u64)> = Vec::new();
    for (buffer, (&size, &padded)) in problem.size.iter().zip(padded).enumerate() {
        let (begin, end) = (sections.begin[buffer], sections.end[buffer]);
        if begin < end && padded > size {
            changes.push((begin, true, padded - size));
            changes.push((end, false, padded - size));
        }
    }
    changes.sort_unstable();
    let mut changes = changes.into_iter().peekable();
    let mut live: BTreeMap<u64, usize> = BTreeMap::new();
    let most = (0..sections.count).map(|section| {
        while let Some((_, begins, slack)) = changes.next_if(|&(at, ..)| at == section) {
            let count = live.entry(slack).or_default();
            if begins {
                *count += 1;
            } else {
                *count -= 1;
                if *count == 0 {
                    live.remove(&slack);
                }
            }
        }
        live.last_key_value().map_or(0, |(&slack, _)| slack)
    });
    Some(most.collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{problems, stacked};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_lies_on_top_needs_no_padding() {
        let problem = Problem {
            lower: vec![0, 0, 5],
            upper: vec![5, 5, 9],
            size: vec![1, 10, 70],
            alignment: vec![64, 128, 64],
        };
        // 1 takes 64, and 10 takes 10 above it or 64 below: 64 + 1.
        assert_eq!(lower_bound(&problem), 70);
        let shorter = Problem {
            size: vec![1, 10, 0],
            ..problem
        };
        assert_eq!(lower_bound(&shorter), 65);
    }

    #[test]
    fn of_nothing_is_nothing() {
        assert_eq!(lower_bound(&Problem::default()), 0);
    }

    #[test]
    fn saturates() {
        let problem = Problem {
            lower: vec![0; 3],
            upper: vec![1; 3],
            size: vec![u64::MAX; 3],
            alignment: Vec::new(),
        };
        assert_eq!(lower_bound(&problem), u64::MAX);
    }

    proptest! {
        #[test]
        fn is_at_least_what_is_live_and_at_most_what_a_packing_needs(problem in problems(12)) {
            let plain = Problem { alignment: Vec::new(), ..problem.clone() };
            let live = (0..20_u64).map(|at| {
                let is_live = |&i: &usize| problem.lower[i] <= at && at < problem.upper[i];
                (0..problem.size.len()).filter(is_live).map(|i| problem.size[i]).sum::<u64>()
            });
            let largest = problem.size.iter().copied();
            prop_assert_eq!(lower_bound(&plain), live.chain(largest).max().unwrap_or(0));
            prop_assert!(lower_bound(&problem) >= lower_bound(&plain));
            prop_assert!(lower_bound(&problem) <= stacked(&problem).height);
        }
    }
}
