//! The timeline's bands in another order than that of birth, or only some of them.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::analysis::search::filter::Filter;
use vramscope_core::sorting::{SortFew, rows_by_moment};

use crate::bitset::BitSet;
use crate::colour::ColourColumn;
use crate::groups::Groups;
use crate::raster::{Bands, Composition, Hit, NEVER, NONE, TimelineIndex, Totals};

/// Which allocations the timeline stacks, and in which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stacking {
    /// Whether the allocations of one colour group are adjacent; otherwise they are in the order of birth.
    pub by_group: bool,
    /// Whether only allocations found by the search are stacked; otherwise all, with the rest dimmed.
    pub only_found: bool,
}

/// The pieces of segments in the memory pool named by a search, see [`Filter::pool`]; `None` if it names none.
#[must_use]
pub fn pieces_in_pool(segments: &SegmentHistory, search: &str) -> Option<BitSet> {
    let pool = Filter::parse(search).ok()?.pool()?;
    let is_in = |piece: usize| {
        let of_segment = segments.segment_of(piece).pool;
        of_segment.is_some_and(|id| pool.matches(id))
    };
    Some(BitSet::from_fn(segments.len(), is_in))
}

/// Bands in another order, with everything that depends on the order.
#[derive(Clone, Debug, Default)]
pub struct Restacked {
    /// The allocation of each row.
    allocation_of: Vec<u32>,
    /// The row of each allocation; [`NONE`] if it is not stacked.
    row_of: Vec<u32>,
    born: Vec<u32>,
    died: Vec<u32>,
    free_requested: Vec<u32>,
    bytes: Vec<u64>,
    /// Sum of the stacked bytes at each moment; `None` if all are stacked.
    total_bytes: Option<Vec<u64>>,
    /// The timeline's index.
    pub index: TimelineIndex,
    /// Colours of the rows.
    pub colours: ColourColumn,
    /// Rows found by the search; `None` without a search or if only these are stacked.
    pub matches: Option<BitSet>,
}

impl Restacked {
    /// Stacks the bands of a device's allocations anew. `None` if the order of birth and all allocations are requested.
    #[must_use]
    pub fn new(
        bands: &Bands<'_>,
        groups: &Groups,
        found: Option<&BitSet>,
        stacking: Stacking,
    ) -> Option<Self> {
        let only = found.filter(|_| stacking.only_found);
        if !stacking.by_group && only.is_none() {
            return None;
        }
        let ranks = match stacking.by_group {
            true => ranks(bands, groups),
            false => Vec::new(),
        };
        let rank = |id: usize| match only.is_none_or(|only| only.contains(id)) {
            true => {
                let rank = ranks.get(groups.group_of[id] as usize);
                rank.copied().unwrap_or(ranks.len() as u32)
            }
            false => NONE,
        };
        // Within a group the order of birth is preserved.
        let order = rows_by_moment(ranks.len() + 1, bands.rows(), rank);
        let column = |of: &[u32]| {
            order
                .iter()
                .map(|&id| of[id as usize])
                .collect::<Vec<u32>>()
        };
        let mut row_of = vec![NONE; bands.rows()];
        for (row, &id) in (0..).zip(&order) {
            row_of[id as usize] = row;
        }
        let index = order.iter().map(|&id| groups.colours.index[id as usize]);
        let mut stacked = Self {
            born: column(bands.born),
            died: column(bands.died),
            free_requested: column(bands.free_requested),
            bytes: order.iter().map(|&id| bands.bytes[id as usize]).collect(),
            colours: ColourColumn {
                palette: groups.colours.palette.clone(),
                index: index.collect(),
            },
            row_of,
            allocation_of: order,
            ..Self::default()
        };
        stacked.matches = found
            .filter(|_| only.is_none())
            .map(|found| stacked.rows_of(found));
        stacked.total_bytes = only.map(|_| stacked.totals(bands.moments()));
        stacked.index = TimelineIndex::new(&stacked.bands(*bands));
        Some(stacked)
    }

    /// The bands in the new order, on the x axis of `axis`, the bands in the order of birth.
    #[must_use]
    pub fn bands<'a>(&'a self, axis: Bands<'a>) -> Bands<'a> {
        Bands {
            born: &self.born,
            died: &self.died,
            free_requested: &self.free_requested,
            bytes: &self.bytes,
            total_bytes: self
                .total_bytes
                .as_ref()
                .map_or(axis.total_bytes, Totals::from),
            ..axis
        }
    }

    /// Converts a set of allocations into a set of rows.
    #[must_use]
    pub fn rows_of(&self, allocations: &BitSet) -> BitSet {
        let order = &self.allocation_of;
        BitSet::from_fn(order.len(), |row| allocations.contains(order[row] as usize))
    }

    /// The allocation of a row.
    #[must_use]
    pub fn allocation_of(&self, row: usize) -> usize {
        self.allocation_of.get(row).copied().unwrap_or(NONE) as usize
    }

    /// The row of an allocation; `None` if it is not stacked.
    #[must_use]
    pub fn row_of(&self, allocation: usize) -> Option<usize> {
        let row = *self.row_of.get(allocation)?;
        (row != NONE).then_some(row as usize)
    }

    /// Converts the rows of a hit into allocations.
    #[must_use]
    pub fn named(&self, hit: Hit) -> Hit {
        let name = |row: u32| self.allocation_of(row as usize) as u32;
        match hit {
            Hit::Outside | Hit::Free { .. } => hit,
            Hit::Allocation { moment, row } => Hit::Allocation {
                moment,
                row: name(row),
            },
            Hit::Several {
                moment,
                composition: Composition { allocations, bytes },
            } => Hit::Several {
                moment,
                composition: Composition {
                    allocations: allocations.into_iter().map(name).collect(),
                    bytes,
                },
            },
        }
    }

    /// Live bytes of the rows at each moment.
    fn totals(&self, moments: usize) -> Vec<u64> {
        // Changes in wrapping numbers, whose running sum is exact wherever it fits.
        let mut steps = vec![0_u64; moments + 1];
        for (row, &bytes) in self.bytes.iter().enumerate() {
            let (born, died) = (self.born[row], self.died[row]);
            if born >= died || born as usize >= moments {
                continue;
            }
            let end = if died == NEVER {
                moments
            } else {
                died as usize
            };
            let (from, to) = (born as usize, end.min(moments));
            steps[from] = steps[from].wrapping_add(bytes);
            steps[to] = steps[to].wrapping_sub(bytes);
        }
        steps.pop();
        let mut sum = 0_u64;
        for step in &mut steps {
            sum = sum.wrapping_add(*step);
            *step = sum;
        }
        steps
    }
}

/// The position of each group in the stack: groups with the largest areas are at the bottom, where they move least.
fn ranks(bands: &Bands<'_>, groups: &Groups) -> Vec<u32> {
    let moments = bands.moments() as u32;
    let mut areas = vec![0_u128; groups.labels.len()];
    for (row, &group) in groups.group_of.iter().enumerate().take(bands.rows()) {
        let life = bands.died[row].min(moments).saturating_sub(bands.born[row]);
        if let Some(area) = areas.get_mut(group as usize) {
            *area = area.saturating_add(u128::from(bands.bytes[row]) * u128::from(life));
        }
    }
    let mut order: Vec<usize> = (0..areas.len()).collect();
    order.sort_few_by_key(|&group| Reverse(areas[group]));
    let mut ranks = vec![0; areas.len()];
    for (rank, group) in (0..).zip(order) {
        ranks[group] = rank;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::Leaders;
    use crate::theme::Theme;
    use vramscope_core::analysis::properties::Property;
    use vramscope_core::analysis::recording::Recording;
    use vramscope_synth::{snapshot::Producer, text};

    const WRITTEN: &str = "alloc a 4MiB m.py:1:f\nalloc b 1MiB m.py:2:g\nalloc c 2MiB m.py:1:f\nfree b\nalloc d 1MiB m.py:2:g";

    fn stacked(found: Option<&[usize]>, stacking: Stacking) -> Option<(Restacked, Vec<u64>)> {
        let bytes = text::pickle(WRITTEN, Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
        let device = recording.device(0).unwrap();
        let theme = Theme::light();
        let groups = Groups::of(Property::CallSite, &theme, &Leaders::default(), device);
        let bands = Bands::of(device.history, false);
        let found = found.map(|rows| BitSet::from_fn(bands.rows(), |row| rows.contains(&row)));
        let stacked = Restacked::new(&bands, &groups, found.as_ref(), stacking)?;
        // The totals are those of the bands, added up one by one.
        let of = stacked.bands(bands);
        let live = |moment: u32| {
            let rows = (0..of.rows()).filter(|&row| of.is_live(row, moment));
            rows.map(|row| of.bytes[row]).sum()
        };
        let added: Vec<u64> = (0..of.moments() as u32).map(live).collect();
        let totals = (0..of.moments() as u32).map(|moment| of.total_bytes.at(moment));
        assert_eq!(added, totals.collect::<Vec<_>>());
        Some((stacked, added))
    }

    #[test]
    fn allocations_of_a_group_lie_together_in_the_order_of_birth() {
        let by_group = Stacking {
            by_group: true,
            only_found: false,
        };
        let (stacked, _) = stacked(Some(&[1]), by_group).unwrap();
        assert_eq!(stacked.allocation_of, [0, 2, 1, 3]);
        assert_eq!(stacked.row_of(2), Some(1));
        assert_eq!(
            stacked.matches.as_ref().unwrap().iter().collect::<Vec<_>>(),
            [2]
        );
        let hit = Hit::Allocation { moment: 3, row: 1 };
        assert_eq!(stacked.named(hit), Hit::Allocation { moment: 3, row: 2 });
    }

    #[test]
    fn only_what_is_found_is_stacked() {
        let only = Stacking {
            by_group: false,
            only_found: true,
        };
        let (of, totals) = stacked(Some(&[1, 2]), only).unwrap();
        assert_eq!(of.allocation_of, [1, 2]);
        assert_eq!((of.row_of(0), of.row_of(2)), (None, Some(1)));
        assert!(of.matches.is_none());
        assert_eq!(totals.iter().max(), Some(&(3 << 20)));
        // Without a search there is nothing to select by.
        assert!(stacked(None, only).is_none());
        assert!(stacked(Some(&[1]), Stacking::default()).is_none());
    }
}
