//! Shared code for the tests of packing, and the greedy packers compared with slow, obvious ones.

use proptest::prelude::*;

use super::orders::Ordered;
use super::*;

/// Up to `most` buffers within a short time, some never live, some of size 0, half of them aligned.
pub(super) fn problems(most: usize) -> impl Strategy<Value = Problem> {
    let alignment = prop_oneof![Just(1_u64), Just(4), Just(6), Just(8)];
    let buffer = (0_u64..12, 0_u64..8, 0_u64..20, alignment);
    let buffers = prop::collection::vec(buffer, 0..=most);
    (buffers, any::<bool>()).prop_map(|(buffers, is_aligned)| {
        let mut problem = Problem::default();
        for (lower, length, size, alignment) in buffers {
            problem.lower.push(lower);
            problem.upper.push(lower + length);
            problem.size.push(size);
            if is_aligned {
                problem.alignment.push(alignment);
            }
        }
        problem
    })
}

/// All on top of each other, as if all were live at once.
pub(super) fn stacked(problem: &Problem) -> Packing {
    let mut packing = Packing::default();
    for (buffer, &size) in problem.size.iter().enumerate() {
        let offset = packing
            .height
            .next_multiple_of(problem.alignment_of(buffer));
        packing.offset.push(offset);
        packing.height = packing.height.max(offset + size);
    }
    // An empty buffer does not raise the height, so one on top of it may be below the height.
    let ends = packing
        .offset
        .iter()
        .zip(&problem.size)
        .map(|(offset, size)| offset + size);
    packing.height = ends.max().unwrap_or(0);
    packing
}

/// A greedy packer in its most obvious form.
fn obvious(problem: &Problem, order: &[usize], fit: Fit) -> Packing {
    let mut offsets = vec![0; problem.size.len()];
    let mut placed: Vec<usize> = Vec::new();
    let overlap = |i: usize, j: usize| {
        problem.lower[i].max(problem.lower[j]) < problem.upper[i].min(problem.upper[j])
    };
    for &i in order {
        let size = problem.size[i];
        if size == 0 || problem.lower[i] >= problem.upper[i] {
            continue;
        }
        let mut taken: Vec<(u64, u64)> = placed
            .iter()
            .filter(|&&j| overlap(i, j))
            .map(|&j| (offsets[j], offsets[j] + problem.padded_sizes()[j]))
            .collect();
        taken.sort_unstable();
        let (mut top, mut best): (u64, Option<(u64, u64)>) = (0, None);
        for (start, end) in taken {
            let offset = top.next_multiple_of(problem.alignment_of(i));
            let fits = offset + problem.padded_sizes()[i] <= start;
            if fits && best.is_none_or(|(gap, _)| fit == Fit::Best && start - top < gap) {
                best = Some((start - top, offset));
            }
            top = top.max(end);
        }
        let above = top.next_multiple_of(problem.alignment_of(i));
        offsets[i] = best.map_or(above, |(_, offset)| offset);
        placed.push(i);
    }
    let ends = offsets
        .iter()
        .zip(&problem.size)
        .map(|(offset, size)| offset + size);
    let height = ends.max().unwrap_or(0);
    Packing {
        offset: offsets,
        height,
    }
}

/// The orders as in packers.py.
fn obvious_order(problem: &Problem, order: Order) -> Vec<usize> {
    use std::cmp::Reverse;
    let all = 0..problem.size.len();
    let is_live = |i: usize, at: u64| problem.lower[i] <= at && at < problem.upper[i];
    let total = |at: u64| -> u64 {
        (all.clone())
            .filter(|&i| is_live(i, at))
            .map(|i| problem.size[i])
            .sum()
    };
    let contention = |i: usize| {
        let points = problem.lower.iter().filter(|&&at| is_live(i, at));
        points.map(|&at| total(at)).max().unwrap_or(0)
    };
    let overlaps = |i: usize, j: usize| {
        problem.lower[i].max(problem.lower[j]) < problem.upper[i].min(problem.upper[j])
    };
    let conflicts = |i: usize| all.clone().filter(|&j| j != i && overlaps(i, j)).count();
    let size = |i: usize| Reverse(problem.size[i]);
    let duration = |i: usize| Reverse(problem.upper[i] - problem.lower[i]);
    let area = |i: usize| Reverse(problem.size[i] * duration(i).0);
    let mut buffers: Vec<usize> = all.clone().collect();
    match order {
        Order::Program => buffers.sort_by_key(|&i| problem.lower[i]),
        Order::Size => buffers.sort_by_key(|&i| (size(i), duration(i))),
        Order::Area => buffers.sort_by_key(|&i| area(i)),
        Order::Duration => buffers.sort_by_key(|&i| (duration(i), size(i))),
        Order::Conflicts => buffers.sort_by_key(|&i| (Reverse(conflicts(i)), size(i))),
        Order::ContentionArea => buffers.sort_by_key(|&i| (Reverse(contention(i)), area(i))),
        Order::ContentionDuration => {
            buffers.sort_by_key(|&i| (Reverse(contention(i)), duration(i), size(i)));
        }
        Order::Breadth => {
            let mut points = problem.lower.clone();
            points.sort_unstable();
            points.dedup();
            points.sort_by_key(|&at| Reverse(total(at)));
            let mut seen = Vec::new();
            for at in points {
                let mut live: Vec<usize> = all.clone().filter(|&i| is_live(i, at)).collect();
                live.sort_by_key(|&i| size(i));
                seen.extend(
                    live.into_iter()
                        .filter(|i| !seen.contains(i))
                        .collect::<Vec<_>>(),
                );
            }
            buffers = seen;
        }
    }
    buffers
}

/// Whether a buffer takes any room. If not, the positions of the others do not matter to it.
fn matters(problem: &Problem, buffer: usize) -> bool {
    problem.size[buffer] > 0 && problem.lower[buffer] < problem.upper[buffer]
}

proptest! {
    #[test]
    fn orders_are_those_of_the_specification(problem in problems(25)) {
        let sections = Sections::of(&problem);
        for order in Order::ALL {
            let matters = |&i: &usize| matters(&problem, i);
            let mut ours = Ordered::new(&problem, &sections, order);
            let ours = (0..ours.len()).filter_map(|place| ours.get(&problem, &sections, place));
            let ours: Vec<usize> = ours.filter(matters).collect();
            let theirs = obvious_order(&problem, order).into_iter();
            let theirs: Vec<usize> = theirs.filter(matters).collect();
            prop_assert_eq!(ours, theirs, "{}", order);
        }
    }

    #[test]
    fn greedy_packers_place_as_the_obvious_ones(problem in problems(40)) {
        for order in Order::ALL {
            for fit in [Fit::First, Fit::Best] {
                let ours = greedy(&problem, order, fit);
                let theirs = obvious(&problem, &obvious_order(&problem, order), fit);
                prop_assert_eq!(&ours.offset, &theirs.offset, "{} {}", order, fit);
                prop_assert_eq!(verify(&problem, &ours), Ok(()));
                prop_assert!(ours.height >= lower_bound(&problem));
            }
        }
    }

    #[test]
    fn a_packer_ends_with_the_best_however_often_it_is_stopped(
        problem in problems(12), patience in 0_usize..4
    ) {
        let problem = Arc::new(problem);
        let mut whole = Packer::new(problem.clone());
        prop_assert!(whole.run(&mut || false));
        let best = whole.best().unwrap();
        prop_assert_eq!(verify(&problem, &best.packing), Ok(()));
        let mut in_slices = Packer::new(problem.clone());
        loop {
            let mut left = patience + 1;
            if in_slices.run(&mut || { left -= 1; left == 0 }) {
                break;
            }
        }
        prop_assert_eq!(in_slices.best().unwrap(), best);
    }
}

#[test]
fn hostile_sizes_do_not_overflow() {
    let problem = Arc::new(Problem {
        lower: vec![0, 0, 0, 1],
        upper: vec![u64::MAX; 4],
        size: vec![u64::MAX, u64::MAX - 1, 7, 9],
        alignment: vec![1 << 63, 3, 0, 5],
    });
    let mut packer = Packer::new(problem.clone());
    assert!(packer.run(&mut || false));
    let best = packer.best().unwrap();
    assert!(verify(&problem, &best.packing).is_err());
}
