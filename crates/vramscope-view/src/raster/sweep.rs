//! Moves the live set from moment to moment.
//!
//! A step forward changes only allocations that are born, requested free or die in between; an allocation that is born and
//! dies within one step is skipped. Any other move scans the columns once.

use super::bands::Bands;
use super::index::TimelineIndex;
use super::live::{LiveSet, Rows};
use super::shades::{DIMMED, PENDING, Shades};
use crate::bitset::{BitSet, bits};

/// The rows of a timeline with the colours of a frame.
#[derive(Clone, Copy)]
pub(super) struct Coloured<'a> {
    pub(super) bands: &'a Bands<'a>,
    pub(super) index: &'a TimelineIndex,
    pub(super) shades: &'a Shades,
    pub(super) colour_index: &'a [u8],
    pub(super) matches: Option<&'a BitSet>,
}

impl Rows for Coloured<'_> {
    #[inline]
    fn units(&self, row: usize) -> u64 {
        self.bands.bytes[row] >> self.index.unit_shift
    }

    #[inline]
    fn shade(&self, row: usize, pending: bool) -> usize {
        let dimmed = self.matches.is_some_and(|matches| !matches.contains(row));
        self.entry(row) + usize::from(dimmed) * DIMMED + usize::from(pending) * PENDING
    }

    fn shades(&self) -> &Shades {
        self.shades
    }
}

impl Coloured<'_> {
    #[inline]
    pub(super) fn entry(&self, row: usize) -> usize {
        usize::from(self.colour_index.get(row).copied().unwrap_or(0))
    }

    /// The rows of word `w` that the filter dims, as bits.
    #[inline]
    pub(super) fn dimmed_word(&self, w: usize) -> u64 {
        self.matches.map_or(0, |matches| !matches.word(w))
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    pub(super) live: LiveSet,
    moment: u32,
    /// Positions in the index's lists of the first entries after `moment`.
    next_birth: usize,
    next_death: usize,
    next_request: usize,
}

impl Sweep {
    /// Moves the live set to `moment` by scanning all rows.
    pub(super) fn jump(&mut self, moment: u32, rows: &Coloured<'_>) {
        let (bands, index) = (rows.bands, rows.index);
        let n = bands.rows();
        let (born, died) = (&bands.born[..n], &bands.died[..n]);
        self.live.clear(n);
        let at_birth = |row: &u32| born[*row as usize] <= moment;
        let scanned = if let Some(order) = &index.by_birth {
            self.next_birth = order.partition_point(at_birth);
            n
        } else {
            self.next_birth = born.partition_point(|&b| b <= moment);
            self.next_birth
        };
        let pairs = born[..scanned].chunks(64).zip(died[..scanned].chunks(64));
        for (w, (born, died)) in pairs.enumerate() {
            // In long recordings most allocations are dead. Computing a maximum is vectorised;
            // gathering bits is not.
            if died.iter().fold(0, |latest, &d| latest.max(d)) <= moment {
                continue;
            }
            let mut word = 0_u64;
            for (bit, (&born, &died)) in born.iter().zip(died).enumerate() {
                word |= u64::from(born <= moment && moment < died) << bit;
            }
            for bit in bits(word) {
                let row = w * 64 + bit;
                self.live
                    .insert(row, bands.free_requested[row] <= moment, rows);
            }
        }
        self.next_death = index
            .by_death
            .partition_point(|&row| died[row as usize] <= moment);
        self.next_request = index
            .by_request
            .partition_point(|&row| bands.free_requested[row as usize] <= moment);
        self.moment = moment;
    }

    /// Moves the live set forward to `moment`; takes time proportional to the events in between.
    pub(super) fn advance(&mut self, moment: u32, rows: &Coloured<'_>) {
        // One event affects one allocation: if there are more events than live allocations, checking each of these is
        // cheaper.
        if moment - self.moment > self.live.count() {
            self.end_among_living(moment, rows);
        } else {
            self.end_in_order(moment, rows);
        }
        self.begin(moment, rows);
        self.moment = moment;
    }

    /// Applies deaths and free requests up to `moment`, by the index's lists.
    fn end_in_order(&mut self, moment: u32, rows: &Coloured<'_>) {
        let (bands, index, from) = (rows.bands, rows.index, self.moment);
        while let Some(&row) = index.by_death.get(self.next_death) {
            let row = row as usize;
            if bands.died[row] > moment {
                break;
            }
            self.next_death += 1;
            if bands.born[row] <= from {
                self.live.remove(row, rows);
            }
        }
        while let Some(&row) = index.by_request.get(self.next_request) {
            let row = row as usize;
            if bands.free_requested[row] > moment {
                break;
            }
            self.next_request += 1;
            if bands.born[row] <= from && bands.died[row] > moment {
                self.live.set_pending(row, rows);
            }
        }
    }

    /// Applies deaths and free requests up to `moment`, by checking every live allocation.
    fn end_among_living(&mut self, moment: u32, rows: &Coloured<'_>) {
        let bands = rows.bands;
        for gw in 0..self.live.group_summary.len() {
            for g in bits(self.live.group_summary[gw]).map(|g| gw * 64 + g) {
                for w in bits(self.live.word_summary[g]).map(|w| g * 64 + w) {
                    for row in bits(self.live.words[w]).map(|bit| w * 64 + bit) {
                        if bands.died[row] <= moment {
                            self.live.remove(row, rows);
                        } else if bands.free_requested[row] <= moment {
                            self.live.set_pending(row, rows);
                        }
                    }
                }
            }
        }
        self.skip_ends(moment, rows);
    }

    fn begin(&mut self, moment: u32, rows: &Coloured<'_>) {
        let (bands, n) = (rows.bands, rows.bands.rows());
        let (born, died) = (&bands.born[..n], &bands.died[..n]);
        let requested = &bands.free_requested[..n];
        let order = rows.index.by_birth.as_deref();
        while self.next_birth < n {
            let row = order.map_or(self.next_birth, |order| order[self.next_birth] as usize);
            if born[row] > moment {
                break;
            }
            self.next_birth += 1;
            if died[row] > moment {
                self.live.insert(row, requested[row] <= moment, rows);
            }
        }
    }

    /// Moves the positions in the lists of deaths and free requests to `moment`.
    fn skip_ends(&mut self, moment: u32, rows: &Coloured<'_>) {
        let (bands, index) = (rows.bands, rows.index);
        let over = |list: &[u32], column: &[u32], from: usize| {
            from + list[from..].partition_point(|&row| column[row as usize] <= moment)
        };
        self.next_death = over(&index.by_death, bands.died, self.next_death);
        self.next_request = over(&index.by_request, bands.free_requested, self.next_request);
    }
}
