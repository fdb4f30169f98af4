//! Sums over a set of allocations.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use serde::{Deserialize, Serialize};

use crate::analysis::time::byte_steps::Life;
use crate::analysis::time::history::{History, NEVER};
use crate::bitset::BitSet;

/// Sums over a set of allocations. Bytes are requested bytes. Allocations whose free is pending count as live.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Number of allocations.
    pub count: u64,
    /// Bytes of all of them, whether or not they were live at the same time.
    pub bytes: u64,
    /// Number of those live at the given moment.
    pub live_count: u64,
    /// Bytes of those live at the given moment.
    pub live_bytes: u64,
    /// Bytes of those live at the device's peak.
    pub peak_bytes: u64,
    /// The most bytes of the set that were live at once.
    pub highest_bytes: u64,
    /// The first moment with `highest_bytes` live.
    pub highest_moment: u32,
}

/// Sums over the allocations in `matches`, or over all allocations with `None`. The `live_` fields refer to
/// `moment`.
#[must_use]
pub fn totals(history: &History, matches: Option<&BitSet>, moment: u32) -> Totals {
    let table = &history.allocations;
    match matches {
        Some(set) => {
            let lives = || {
                set.iter()
                    .filter(|&row| row < table.len())
                    .map(|row| table.life(row))
            };
            let highest = highest(lives());
            of_lives(lives(), highest, history, moment)
        }
        None => {
            let highest = (history.peak_bytes(), history.peak_moment);
            of_lives(table.lives(), highest, history, moment)
        }
    }
}

/// The sums over these lives, of which the most bytes live at once are given with their first moment.
fn of_lives(
    lives: impl Iterator<Item = Life>,
    (highest_bytes, highest_moment): (u64, u32),
    history: &History,
    moment: u32,
) -> Totals {
    let mut totals = Totals {
        highest_bytes,
        highest_moment,
        ..Totals::default()
    };
    for (born, died, bytes) in lives {
        totals.count += 1;
        totals.bytes = totals.bytes.saturating_add(bytes);
        if born <= moment && moment < died {
            totals.live_count += 1;
            totals.live_bytes = totals.live_bytes.saturating_add(bytes);
        }
        if born <= history.peak_moment && history.peak_moment < died {
            totals.peak_bytes = totals.peak_bytes.saturating_add(bytes);
        }
    }
    totals
}

/// The most bytes that are live at once, and their first moment; saturating. The lives are in order of birth, and only those
/// of one moment are in memory.
fn highest(lives: impl Iterator<Item = Life>) -> (u64, u32) {
    let mut ends: BinaryHeap<Reverse<(u32, u64)>> = BinaryHeap::new();
    let (mut live, mut most) = (0_u128, (0, 0));
    for (born, died, bytes) in lives.filter(|&(born, died, _)| born < died) {
        while let Some(end) = ends.peek_mut().filter(|end| end.0.0 <= born) {
            live -= u128::from(PeekMut::pop(end).0.1);
        }
        live += u128::from(bytes);
        if died != NEVER {
            ends.push(Reverse((died, bytes)));
        }
        if live > most.0 {
            most = (live, born);
        }
    }
    (u64::try_from(most.0).unwrap_or(u64::MAX), most.1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::analysis::time::byte_steps::live_bytes;

    proptest! {
        #[test]
        fn the_most_at_once_is_that_of_all_moments(
            lives in prop::collection::vec((0_u32..20, 1_u32..9, 0_u64..9), 0..40), huge in any::<bool>()
        ) {
            let mut lives: Vec<Life> = lives
                .into_iter()
                .map(|(born, length, bytes)| {
                    let died = if length == 8 { NEVER } else { born + length };
                    (born, died, if huge { bytes << 60 } else { bytes })
                })
                .collect();
            lives.sort_by_key(|life| life.0);
            let mut most = (0, 0);
            for (moment, live) in (0..).zip(live_bytes(lives.iter().copied(), 30)) {
                if live > most.0 {
                    most = (live, moment);
                }
            }
            let found = highest(lives.into_iter());
            prop_assert_eq!(found.0, most.0);
            // Sums that no file has are cut off, wherever they were highest.
            prop_assert!(found.1 == most.1 || found.0 == u64::MAX);
        }
    }
}
