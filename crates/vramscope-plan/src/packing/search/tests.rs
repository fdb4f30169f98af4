//! The search compared with trying everything, on small problems.

use proptest::prelude::*;

use super::super::tests::problems;
use super::super::{Packer, verify};
use super::*;

/// The lowest height of all packings, which is reached by some order of the buffers with each placed just above those that
/// overlap it.
fn lowest(problem: &Problem) -> u64 {
    let matters = |&i: &usize| problem.size[i] > 0 && problem.lower[i] < problem.upper[i];
    let mut order: Vec<usize> = (0..problem.size.len()).filter(matters).collect();
    let unplaced = problem.size.iter().copied().max().unwrap_or(0);
    let mut best = u64::MAX;
    permute(&mut order, 0, &mut |order| {
        let mut ends: Vec<u64> = Vec::new();
        for (position, &i) in order.iter().enumerate() {
            let below = order[..position].iter().zip(&ends);
            let overlapping = below.filter(|&(&j, _)| {
                problem.lower[i] < problem.upper[j] && problem.lower[j] < problem.upper[i]
            });
            let end = overlapping.map(|(_, &end)| end).max().unwrap_or(0);
            ends.push(end.next_multiple_of(problem.alignment_of(i)) + problem.size[i]);
        }
        best = best.min(ends.into_iter().fold(unplaced, u64::max));
    });
    best
}

fn permute(order: &mut [usize], fixed: usize, visit: &mut dyn FnMut(&[usize])) {
    if fixed == order.len() {
        visit(order);
    }
    for i in fixed..order.len() {
        order.swap(fixed, i);
        permute(order, fixed + 1, visit);
        order.swap(fixed, i);
    }
}

/// The result of a search that stops at every `patience`-th check of the time.
fn found(problem: &Arc<Problem>, capacity: u64, patience: usize) -> SearchResult {
    let mut search = Search::new(problem.clone(), capacity);
    loop {
        let mut left = patience;
        let found = search.run(&mut || {
            left = left.saturating_sub(1);
            left == 0
        });
        if found != SearchResult::NotYet {
            return found;
        }
    }
}

proptest! {
    #[test]
    fn the_minimum_is_found_and_proved(problem in problems(7)) {
        let lowest = lowest(&problem);
        let problem = Arc::new(problem);
        let mut packer = Packer::new(problem.clone());
        prop_assert!(packer.run(&mut || false));
        let best = packer.best().unwrap();
        prop_assert_eq!(verify(&problem, &best.packing), Ok(()));
        prop_assert_eq!(best.packing.height, lowest);
        prop_assert_eq!(best.bound, lowest);
    }

    #[test]
    fn what_is_impossible_is_said_to_be_so_and_nothing_else(problem in problems(7), room in 0_u64..4) {
        let lowest = lowest(&problem);
        let problem = Arc::new(problem);
        match found(&problem, lowest + room, 1) {
            SearchResult::Packing(packing) => {
                prop_assert_eq!(verify(&problem, &packing), Ok(()));
                prop_assert!(packing.height <= lowest + room);
            }
            other => prop_assert!(false, "{:?}", other),
        }
        if lowest > room {
            prop_assert_eq!(found(&problem, lowest - 1 - room, 1), SearchResult::Impossible);
        }
    }

    #[test]
    fn whatever_is_found_is_a_packing(problem in problems(60), looks in 1_usize..40) {
        let problem = Arc::new(problem);
        let mut packer = Packer::new(problem.clone());
        let (mut height, mut bound) = (u64::MAX, 0);
        for _ in 0..looks {
            let is_done = packer.run(&mut || true);
            let Some(best) = packer.best() else { continue };
            prop_assert_eq!(verify(&problem, &best.packing), Ok(()));
            prop_assert!(best.packing.height <= height && best.bound >= bound);
            prop_assert!(best.bound <= best.packing.height);
            (height, bound) = (best.packing.height, best.bound);
            if is_done {
                break;
            }
        }
    }

    #[test]
    fn whether_it_fits_is_answered(problem in problems(7), room in -3_i64..4) {
        let lowest = lowest(&problem);
        let capacity = lowest.saturating_add_signed(room);
        let problem = Arc::new(problem);
        let mut packer = Packer::within(problem.clone(), capacity);
        while !packer.run(&mut || true) {}
        let best = packer.best().unwrap();
        prop_assert_eq!(verify(&problem, &best.packing), Ok(()));
        prop_assert_eq!(best.packing.height <= capacity, lowest <= capacity);
        prop_assert_eq!(best.bound > capacity, lowest > capacity);
    }

    #[test]
    fn stopping_often_changes_nothing(problem in problems(14), room in 0_u64..3, patience in 1_usize..4) {
        let capacity = lower_bound(&problem) + room;
        let problem = Arc::new(problem);
        prop_assert_eq!(found(&problem, capacity, patience), found(&problem, capacity, usize::MAX));
    }
}

#[test]
fn nothing_is_packed_into_nothing() {
    let found = found(&Arc::new(Problem::default()), 0, 1);
    assert_eq!(found, SearchResult::Packing(Packing::default()));
}

#[test]
fn hostile_sizes_do_not_overflow() {
    let huge = 1 << 62;
    let problem = Arc::new(Problem {
        lower: vec![0, 1, 2, 0, 3],
        upper: vec![2, 3, u64::MAX, 1, 4],
        size: vec![huge, huge - 1, huge + 5, u64::MAX / 2, 3],
        alignment: vec![1 << 61, 7, 1, 1 << 63, u64::MAX],
    });
    for capacity in [0, huge, u64::MAX / 2 + huge, u64::MAX - 1, u64::MAX] {
        if let SearchResult::Packing(packing) = found(&problem, capacity, 1) {
            assert_eq!(verify(&problem, &packing), Ok(()));
        }
    }
    let mut packer = Packer::new(problem);
    for _ in 0..1000 {
        packer.run(&mut || true);
    }
}

#[test]
fn what_is_too_large_to_search_is_said_to_be_so() {
    let problem = Problem {
        lower: vec![0; 3000],
        upper: vec![1; 3000],
        size: [1000, 1001].repeat(1500),
        alignment: Vec::new(),
    };
    assert_eq!(
        found(&Arc::new(problem), 3_001_500, 1),
        SearchResult::TooLarge
    );
}
