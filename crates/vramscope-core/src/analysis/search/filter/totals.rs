//! Sums over a set of allocations.

use std::collections::BTreeMap;

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
    /// Number of allocations live at the given moment.
    pub live_count: u64,
    /// Bytes live at the given moment.
    pub live_bytes: u64,
    /// Bytes live at the device's peak.
    pub peak_bytes: u64,
    /// The most bytes of the set that were live at once.
    pub highest_bytes: u64,
    /// The first moment with `highest_bytes` live.
    pub highest_moment: u32,
}

/// Sums over the allocations in `matches`, or over all allocations with `None`. The `live_` fields refer to `moment`.
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

/// The sums over these lives. The most bytes live at once come with their first moment.
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

/// The most bytes that are live at once, and their first moment; saturating. The lives are in order of birth, and only
/// the lives of one moment are kept in memory.
fn highest(lives: impl Iterator<Item = Life>) -> (u64, u32) {
    let mut sweep = Sweep {
        changes: vec![0; BLOCK as usize],
        ..Sweep::default()
    };
    for life in lives.filter(|life| life.0 < life.1) {
        while sweep.block < life.0 / BLOCK {
            sweep.finish_block();
        }
        sweep.add(life);
    }
    sweep.finish_block();
    let (bytes, moment) = sweep.most;
    (u64::try_from(bytes).unwrap_or(u64::MAX), moment)
}

/// Number of moments summed at once: few enough for their changes to stay in the processor's cache.
const BLOCK: u32 = if cfg!(test) { 4 } else { 1 << 13 };

/// Sums live bytes block by block.
#[derive(Default)]
struct Sweep {
    block: u32,
    /// The change at each moment of the block.
    changes: Vec<i128>,
    /// By later block, the moments and bytes of lives that end there.
    ends: BTreeMap<u32, Vec<(u32, u64)>>,
    /// Live bytes before the block.
    live: i128,
    /// The most bytes so far, and the first moment with them.
    most: (i128, u32),
}

impl Sweep {
    /// Adds a life that begins in the block.
    fn add(&mut self, (born, died, bytes): Life) {
        self.changes[(born % BLOCK) as usize] += i128::from(bytes);
        if died / BLOCK == self.block {
            self.changes[(died % BLOCK) as usize] -= i128::from(bytes);
        } else if died != NEVER {
            let ends = self.ends.entry(died / BLOCK).or_default();
            ends.push((died, bytes));
        }
    }

    fn finish_block(&mut self) {
        for (moment, change) in (self.block * BLOCK..).zip(&mut self.changes) {
            self.live += std::mem::take(change);
            if self.live > self.most.0 {
                self.most = (self.live, moment);
            }
        }
        self.block += 1;
        for (died, bytes) in self.ends.remove(&self.block).unwrap_or_default() {
            self.changes[(died % BLOCK) as usize] -= i128::from(bytes);
        }
    }
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
