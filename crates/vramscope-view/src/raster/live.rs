//! The live allocations of one moment in stacking order, with sums for the height of any run of
//! them.
//!
//! There is one bit per allocation, one summary bit per non-empty word (64 allocations) and per
//! non-empty group (4,096), and for each cell (8 allocations), word and group the sums of size and
//! of size-weighted colour. Visiting the set costs its own size, not the number of all allocations, and bands thinner than a
//! pixel can be painted from sums. All sums are integers, so they stay exact over any number of updates.

use super::shades::{Linear, Shades};
use crate::bitset::bits;

/// Height and colour of a run of live allocations.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sums {
    /// Size in the timeline's units (bytes, unless petabytes are live).
    pub(super) units: u64,
    /// Sum of size × linear light (12 bits), red, green, blue.
    pub(super) light: [u64; 3],
}

impl Sums {
    // Wrapping: totals that contradict the sizes give a wrong picture, not a panic.
    fn add(&mut self, units: u64, light: Linear) {
        self.units = self.units.wrapping_add(units);
        for (sum, value) in self.light.iter_mut().zip(light) {
            *sum = sum.wrapping_add(units.wrapping_mul(u64::from(value)));
        }
    }

    fn remove(&mut self, units: u64, light: Linear) {
        self.units = self.units.wrapping_sub(units);
        for (sum, value) in self.light.iter_mut().zip(light) {
            *sum = sum.wrapping_sub(units.wrapping_mul(u64::from(value)));
        }
    }
}

/// The parts of a word.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cells {
    pub(super) sums: [Sums; 8],
    /// No band of the word is higher than this.
    pub(super) highest_units: u64,
}

/// Properties of rows that the set needs.
pub(super) trait Rows {
    /// Height in the timeline's units.
    fn units(&self, row: usize) -> u64;
    fn shade(&self, row: usize, pending: bool) -> usize;
    fn shades(&self) -> &Shades;
}

#[derive(Clone, Debug, Default)]
pub(super) struct LiveSet {
    /// Per row, whether it is live and higher than 0.
    pub(super) words: Vec<u64>,
    /// Per row, whether it is live and pending free.
    pub(super) pending: Vec<u64>,
    /// Per word, whether it is not empty; one `u64` per group.
    pub(super) word_summary: Vec<u64>,
    /// Per group, whether it is not empty.
    pub(super) group_summary: Vec<u64>,
    pub(super) word_sums: Vec<Sums>,
    pub(super) group_sums: Vec<Sums>,
    /// The cells of non-empty words, in no order: those of all words would take more memory than the data they are computed
    /// from.
    cells: Vec<Cells>,
    /// Index in `cells` for each non-empty word.
    cells_at: Vec<u32>,
    /// Free entries of `cells`, whose sums are zero.
    spare_cells: Vec<u32>,
    count: u32,
    /// Height of all rows.
    units: u64,
    /// The lowest row that changed since [`Self::take_lowest_change`].
    lowest_change: Option<usize>,
}

impl LiveSet {
    pub(super) fn count(&self) -> u32 {
        self.count
    }

    pub(super) fn units(&self) -> u64 {
        self.units
    }

    /// The lowest row that was added, removed or marked since the last call.
    pub(super) fn take_lowest_change(&mut self) -> Option<usize> {
        self.lowest_change.take()
    }

    /// The cells of a word that is not empty.
    #[inline]
    pub(super) fn cells(&self, w: usize) -> &Cells {
        &self.cells[self.cells_at[w] as usize]
    }

    /// The height of all rows below a row.
    pub(super) fn units_below(&self, row: usize, rows: &impl Rows) -> u64 {
        if row == 0 {
            return 0;
        }
        let (w, g) = (row / 64, row / 4096);
        let below = |word: u64, bit: usize| word & !(u64::MAX << bit);
        let groups = (0..=g / 64).flat_map(|gw| {
            let all = self.group_summary[gw];
            let own = if gw == g / 64 {
                below(all, g % 64)
            } else {
                all
            };
            bits(own).map(move |g| gw * 64 + g)
        });
        let mut units = groups.fold(0_u64, |sum, g| sum.wrapping_add(self.group_sums[g].units));
        for w in bits(below(self.word_summary[g], w % 64)).map(|w| g * 64 + w) {
            units = units.wrapping_add(self.word_sums[w].units);
        }
        for bit in bits(below(self.words[w], row % 64)) {
            units = units.wrapping_add(rows.units(w * 64 + bit));
        }
        units
    }

    /// Empties the set and sizes it for `rows` rows; reuses its memory.
    pub(super) fn clear(&mut self, rows: usize) {
        (self.count, self.units) = (0, 0);
        self.lowest_change = Some(0);
        let words = rows.div_ceil(64);
        let groups = words.div_ceil(64);
        for (column, len) in [
            (&mut self.words, words),
            (&mut self.pending, words),
            (&mut self.word_summary, groups),
            (&mut self.group_summary, groups.div_ceil(64)),
        ] {
            column.clear();
            column.resize(len, 0);
        }
        for (column, len) in [(&mut self.word_sums, words), (&mut self.group_sums, groups)] {
            column.clear();
            column.resize(len, Sums::default());
        }
        self.cells.clear();
        self.spare_cells.clear();
        // Old values may stay, because an empty word has no cells.
        self.cells_at.resize(words, 0);
    }

    /// Adds a row that is not in the set. Rows of height 0 are left out.
    #[inline]
    pub(super) fn insert(&mut self, row: usize, pending: bool, rows: &impl Rows) {
        let units = rows.units(row);
        if units == 0 {
            return;
        }
        let (w, g) = (row / 64, row / 4096);
        self.count += 1;
        self.changed(row);
        if self.words[w] == 0 {
            self.cells_at[w] = self.place_for_cells();
        }
        self.words[w] |= 1 << (row % 64);
        self.pending[w] |= u64::from(pending) << (row % 64);
        self.word_summary[g] |= 1 << (w % 64);
        self.group_summary[g / 64] |= 1 << (g % 64);
        let light = rows.shades().light(rows.shade(row, pending));
        let cells = &mut self.cells[self.cells_at[w] as usize];
        cells.highest_units = cells.highest_units.max(units);
        cells.sums[row % 64 / 8].add(units, light);
        self.units = self.units.wrapping_add(units);
        self.word_sums[w].add(units, light);
        self.group_sums[g].add(units, light);
    }

    /// The entry of `cells` for a word that is no longer empty.
    fn place_for_cells(&mut self) -> u32 {
        if let Some(place) = self.spare_cells.pop() {
            self.cells[place as usize].highest_units = 0;
            return place;
        }
        self.cells.push(Cells::default());
        self.cells.len() as u32 - 1
    }

    #[inline]
    pub(super) fn remove(&mut self, row: usize, rows: &impl Rows) {
        let (w, g, bit) = (row / 64, row / 4096, 1_u64 << (row % 64));
        if self.words[w] & bit == 0 {
            return;
        }
        let pending = self.pending[w] & bit != 0;
        let units = rows.units(row);
        let light = rows.shades().light(rows.shade(row, pending));
        self.cells[self.cells_at[w] as usize].sums[row % 64 / 8].remove(units, light);
        self.units = self.units.wrapping_sub(units);
        self.word_sums[w].remove(units, light);
        self.group_sums[g].remove(units, light);
        self.count -= 1;
        self.changed(row);
        self.words[w] &= !bit;
        self.pending[w] &= !bit;
        if self.words[w] == 0 {
            self.spare_cells.push(self.cells_at[w]);
            self.word_summary[g] &= !(1 << (w % 64));
            if self.word_summary[g] == 0 {
                self.group_summary[g / 64] &= !(1 << (g % 64));
            }
        }
    }

    #[inline]
    fn changed(&mut self, row: usize) {
        self.lowest_change = Some(self.lowest_change.map_or(row, |lowest| lowest.min(row)));
    }

    /// Marks a row as pending free, if it is in the set.
    #[inline]
    pub(super) fn set_pending(&mut self, row: usize, rows: &impl Rows) {
        let (w, bit) = (row / 64, 1_u64 << (row % 64));
        if self.words[w] & bit != 0 && self.pending[w] & bit == 0 {
            self.remove(row, rows);
            self.insert(row, true, rows);
        }
    }
}
