//! Moving the live set from moment to moment.
//!
//! Forward in steps that touch only what is born, requested free or dies in between (and not what does
//! both in one step); anywhere else by one scan over the columns, which for a million allocations costs
//! less than a millisecond. Keyframes would only pay beyond ten million.

use super::bands::Bands;
use super::index::TimelineIndex;
use super::live::{LiveSet, Rows};
use super::shades::{DIMMED, PENDING, Shades};
use crate::bitset::BitSet;

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
        let entry = usize::from(self.colour_index.get(row).copied().unwrap_or(0));
        entry + usize::from(dimmed) * DIMMED + usize::from(pending) * PENDING
    }

    fn shades(&self) -> &Shades {
        self.shades
    }
}

/// A live set and the moment it stands at.
#[derive(Clone, Debug, Default)]
pub(super) struct Sweep {
    pub(super) live: LiveSet,
    moment: u32,
    /// Places in the index's lists: what comes after `moment`.
    next_birth: usize,
    next_death: usize,
    next_request: usize,
}

impl Sweep {
    /// Puts the live set to `moment` by scanning all rows.
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
            let mut word = 0_u64;
            for (bit, (&born, &died)) in born.iter().zip(died).enumerate() {
                word |= u64::from(born <= moment && moment < died) << bit;
            }
            for bit in crate::bitset::bits(word) {
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

    /// Moves the live set forward to `moment`; cost: what happens in between.
    pub(super) fn advance(&mut self, moment: u32, rows: &Coloured<'_>) {
        let (bands, index, from) = (rows.bands, rows.index, self.moment);
        let n = bands.rows();
        let (born, died) = (&bands.born[..n], &bands.died[..n]);
        let requested = &bands.free_requested[..n];
        while let Some(&row) = index.by_death.get(self.next_death) {
            let row = row as usize;
            if died[row] > moment {
                break;
            }
            self.next_death += 1;
            if born[row] <= from {
                self.live.remove(row, rows);
            }
        }
        while let Some(&row) = index.by_request.get(self.next_request) {
            let row = row as usize;
            if requested[row] > moment {
                break;
            }
            self.next_request += 1;
            if born[row] <= from && died[row] > moment {
                self.live.set_pending(row, rows);
            }
        }
        while self.next_birth < n {
            let row = index
                .by_birth
                .as_ref()
                .map_or(self.next_birth, |o| o[self.next_birth] as usize);
            if born[row] > moment {
                break;
            }
            self.next_birth += 1;
            if died[row] > moment {
                self.live.insert(row, requested[row] <= moment, rows);
            }
        }
        self.moment = moment;
    }
}
