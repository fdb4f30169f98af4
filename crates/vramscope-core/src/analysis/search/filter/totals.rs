//! Sums over a set of allocations.

use serde::{Deserialize, Serialize};

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
    let mut totals = Totals::default();
    // Changes of the live bytes by moment. Arithmetic wraps, because a change may be negative.
    let mut changes = vec![0_u64; history.active_bytes.len()];
    let mut add = |row: usize| {
        let (born, died, bytes) = (table.born[row], table.died[row], table.bytes[row]);
        totals.count += 1;
        totals.bytes = totals.bytes.saturating_add(bytes);
        if born <= moment && moment < died {
            totals.live_count += 1;
            totals.live_bytes = totals.live_bytes.saturating_add(bytes);
        }
        if born <= history.peak_moment && history.peak_moment < died {
            totals.peak_bytes = totals.peak_bytes.saturating_add(bytes);
        }
        if let Some(change) = changes.get_mut(born as usize) {
            *change = change.wrapping_add(bytes);
        }
        if let Some(change) = changes.get_mut(died as usize) {
            *change = change.wrapping_sub(bytes);
        }
    };
    match matches {
        Some(set) => set
            .iter()
            .filter(|&row| row < table.len())
            .for_each(&mut add),
        None => (0..table.len()).for_each(&mut add),
    }
    let mut live = 0_u64;
    for (moment, change) in (0..).zip(&changes) {
        live = live.wrapping_add(*change);
        if live > totals.highest_bytes {
            (totals.highest_bytes, totals.highest_moment) = (live, moment);
        }
    }
    totals
}
