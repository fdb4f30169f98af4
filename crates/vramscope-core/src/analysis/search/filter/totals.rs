//! Sums over a set of allocations.

use serde::{Deserialize, Serialize};

use crate::analysis::time::byte_steps::{Life, live_bytes};
use crate::analysis::time::history::History;
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
            let live = live_bytes(lives(), history.active_bytes.len());
            of_lives(lives(), &live, history, moment)
        }
        None => of_lives(table.lives(), &history.active_bytes, history, moment),
    }
}

/// The sums over these lives, of which `live` bytes are live at each moment.
fn of_lives(
    lives: impl Iterator<Item = Life>,
    live: &[u64],
    history: &History,
    moment: u32,
) -> Totals {
    let mut totals = Totals::default();
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
    for (moment, &live) in (0..).zip(live) {
        if live > totals.highest_bytes {
            (totals.highest_bytes, totals.highest_moment) = (live, moment);
        }
    }
    totals
}
