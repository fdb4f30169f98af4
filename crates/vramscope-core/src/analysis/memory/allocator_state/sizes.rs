//! The block sizes of allocations.
//!
//! A recording contains requested sizes. Block sizes are known only for allocations that are live in the final state.
//! All others are derived by the allocator's rules (c10/cuda/CUDACachingAllocator.h). The request is rounded up to a
//! multiple of 512 bytes, or to a division of a power of two if so configured. The allocator then splits the free block
//! that it found, unless the remainder is too small to be useful: up to 1 MiB in an ordinary segment of large blocks,
//! any size for requests of `max_split_size` or more. The size of the free block follows from the live allocations
//! behind it. [`SizeCheck`] compares derived sizes with the final state.
//!
//! The driver's allocations, in captured snapshots, are only rounded up to 512 bytes. Files from `_profile_to_snapshot`
//! have sizes that no allocator rounded; there a block is as large as its request.
//!
//! Not covered: pools created with `no_split`, and the backend `cudaMallocAsync`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::Replayed;
use crate::Snapshot;
use crate::analysis::memory::allocator_rules::{self, Divisions, SMALL_BYTES, UNIT_BYTES};
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::time::history::History;
use crate::ids::AllocationId;
use crate::sorting::SortFew;

/// The allocator settings that determine block sizes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rounding {
    divisions: Divisions,
    /// Blocks of this size or more are never split; `None` = no limit.
    max_split_bytes: Option<u64>,
    /// Whether the file's blocks are exactly as large as their requests.
    is_exact: bool,
}

impl Rounding {
    /// Reads `allocator_settings`. Absent and invalid values count as unset.
    #[must_use]
    pub fn of(settings: &Map<String, Value>) -> Self {
        Self {
            divisions: allocator_rules::divisions(settings).unwrap_or_default(),
            max_split_bytes: allocator_rules::max_split_bytes(settings),
            is_exact: false,
        }
    }

    /// The block size for a request, in bytes, if the remainder of the free block is split off.
    #[must_use]
    pub fn round(&self, requested_bytes: u64) -> u64 {
        if self.is_exact {
            return requested_bytes;
        }
        allocator_rules::rounded(requested_bytes, &self.divisions)
    }

    /// Whether a block of `bytes` bytes keeps the remainder of the free block.
    fn keeps_rest(&self, bytes: u64, rest_bytes: u64) -> bool {
        rest_bytes <= SMALL_BYTES || self.max_split_bytes.is_some_and(|max| bytes >= max)
    }
}

/// The source of a block's size.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SizeSource {
    /// Recorded in the final state.
    Recorded,
    /// Derived from the request by the allocator's rules.
    Derived,
}

/// How many derived sizes agree with the final state.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct SizeCheck {
    /// Number of blocks in the final state whose allocation is known.
    pub compared: u64,
    /// Number of compared blocks whose derived size equals the recorded one.
    pub equal: u64,
}

/// The block sizes of all allocations of a device.
#[derive(Clone, Debug, Default)]
pub struct BlockSizes {
    rounding: Rounding,
    /// Blocks whose size is not simply the rounded request, sorted by allocation.
    others: Vec<(AllocationId, u64)>,
    /// How many derived sizes of this file agree with the final state.
    pub check: SizeCheck,
}

impl BlockSizes {
    /// Derives the sizes that are not recorded. Allocations are sorted by birth, so one pass is enough.
    pub(crate) fn of(snapshot: &Snapshot, replayed: Replayed<'_>) -> Self {
        let history = replayed.history;
        let mut rounding = Rounding::of(&snapshot.settings);
        let mut recorded = history.final_blocks.iter();
        rounding.is_exact = recorded.any(|&(_, block)| {
            let bytes = snapshot.blocks.get(block).size;
            !bytes.is_multiple_of(UNIT_BYTES)
        });
        // The driver always splits off the remainder.
        let is_cut = AllocatorKind::of(snapshot) == AllocatorKind::Driver;
        let mut others = if rounding.is_exact || is_cut {
            Vec::new()
        } else {
            unsplit(replayed, &rounding)
        };
        let mut check = SizeCheck::default();
        let derived = |others: &[(AllocationId, u64)], id: AllocationId| {
            let found = others.binary_search_by_key(&id, |&(id, _)| id);
            found.map_or_else(
                |_| rounding.round(history.allocations.bytes[id.index()]),
                |place| others[place].1,
            )
        };
        let mut recorded = Vec::new();
        for &(id, block) in &history.final_blocks {
            let bytes = snapshot.blocks.get(block).size;
            check.compared += 1;
            if derived(&others, id) == bytes {
                check.equal += 1;
            } else {
                recorded.push((id, bytes));
            }
        }
        // Recorded sizes come after derived ones and the sort is stable, so the recorded size wins.
        others.append(&mut recorded);
        others.sort_few_by_key(|&(id, _)| id);
        others.dedup_by(|later, earlier| {
            let is_same = later.0 == earlier.0;
            if is_same {
                earlier.1 = later.1;
            }
            is_same
        });
        Self {
            rounding,
            others,
            check,
        }
    }

    /// The size of an allocation's block, in bytes.
    #[must_use]
    pub fn bytes(&self, history: &History, id: AllocationId) -> u64 {
        match self.others.binary_search_by_key(&id, |&(id, _)| id) {
            Ok(place) => self.others[place].1,
            Err(_) => self.rounding.round(history.allocations.bytes[id.index()]),
        }
    }

    /// The aligned size of a request, in bytes: its block size if the remainder of the free block is split off.
    #[must_use]
    pub fn aligned(&self, requested_bytes: u64) -> u64 {
        self.rounding.round(requested_bytes)
    }

    /// Whether the size of an allocation's block is recorded or derived.
    #[must_use]
    pub fn source(history: &History, id: AllocationId) -> SizeSource {
        if history.final_block(id).is_some() {
            SizeSource::Recorded
        } else {
            SizeSource::Derived
        }
    }
}

/// Large allocations in ordinary segments whose block kept the remainder of the free block, with the block's size;
/// sorted by allocation.
fn unsplit(replayed: Replayed<'_>, rounding: &Rounding) -> Vec<(AllocationId, u64)> {
    let history = replayed.history;
    let table = &history.allocations;
    let mut segments = Segments::of(replayed);
    // The newest large allocation at each address.
    let mut newest: BTreeMap<u64, AllocationId> = BTreeMap::new();
    let large = |row: usize| rounding.round(table.bytes[row]) > SMALL_BYTES;
    let before = table.born.partition_point(|&born| born == 0);
    for row in (0..before).filter(|&row| large(row)) {
        newest.insert(table.address[row], AllocationId::from_index(row));
    }
    let mut unsplit = Vec::new();
    for row in (0..table.len()).filter(|&row| large(row)) {
        let (id, address, born) = (
            AllocationId::from_index(row),
            table.address[row],
            table.born[row],
        );
        newest.insert(address, id);
        let Some(segment_end) = segments.end_at(replayed, born, address) else {
            continue;
        };
        let bytes = rounding.round(table.bytes[row]);
        let end =
            next_live(&mut newest, history, address, segment_end, born).unwrap_or(segment_end);
        let Some(rest_bytes) = (end - address).checked_sub(bytes) else {
            continue;
        };
        if rest_bytes > 0 && rounding.keeps_rest(bytes, rest_bytes) {
            unsplit.push((id, bytes + rest_bytes));
        }
    }
    unsplit
}

/// The next address in `address + 1 .. end` with a live allocation. Removes dead allocations on the way, so that each
/// is visited once.
fn next_live(
    newest: &mut BTreeMap<u64, AllocationId>,
    history: &History,
    address: u64,
    end: u64,
    moment: u32,
) -> Option<u64> {
    while let Some((&next, &id)) = newest.range(address.checked_add(1)?..end).next() {
        if history.allocations.died[id.index()] > moment {
            return Some(next);
        }
        newest.remove(&next);
    }
    None
}

/// The ordinary segments at a moment that moves forward: start address to end address.
struct Segments {
    ends: BTreeMap<u64, u64>,
    moment: u32,
}

impl Segments {
    fn of(replayed: Replayed<'_>) -> Self {
        let ranges = replayed.replay.segments_at(0);
        let ordinary = ranges.iter().filter(|range| !range.is_expandable);
        Self {
            ends: ordinary
                .map(|range| (range.address, range.address.saturating_add(range.bytes)))
                .collect(),
            moment: 0,
        }
    }

    /// The end of the ordinary segment that contains an address. The moment must not be before that of the last call.
    fn end_at(&mut self, replayed: Replayed<'_>, moment: u32, address: u64) -> Option<u64> {
        for step in replayed.replay.segment_steps(self.moment, moment) {
            let range = step.range;
            if range.is_expandable {
                continue;
            }
            if step.is_mapping {
                let end = range.address.saturating_add(range.bytes);
                self.ends.insert(range.address, end);
            } else {
                self.ends.remove(&range.address);
            }
        }
        self.moment = moment;
        let (_, &end) = self.ends.range(..=address).next_back()?;
        (address < end).then_some(end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::recording::Recording;
    use crate::decode;

    #[test]
    fn a_final_block_tells_and_others_are_rounded_up() {
        let file = r#"{"segments": [{"device": 0, "address": 4096, "total_size": 8192, "blocks": [
            {"address": 4096, "size": 2048, "requested_size": 600, "state": "active_allocated"}]}],
            "device_traces": [[
            {"action": "alloc", "addr": 4096, "size": 600, "stream": 0},
            {"action": "alloc", "addr": 8192, "size": 513, "stream": 0},
            {"action": "free_completed", "addr": 8192, "size": 513, "stream": 0}]]}"#;
        let snapshot = decode(file.as_bytes()).unwrap();
        let recording = Recording::of(snapshot);
        let device = recording.device(0).unwrap();
        let sizes = device.block_sizes();
        let bytes = |row| sizes.bytes(device.history, AllocationId::from_index(row));
        assert_eq!([0, 1].map(bytes), [2048, 1024]);
    }

    fn rounding(settings: &str) -> Rounding {
        Rounding::of(&serde_json::from_str(settings).unwrap())
    }

    #[test]
    fn up_to_512_bytes() {
        let plain = Rounding::default();
        for (requested, block) in [
            (0, 512),
            (1, 512),
            (512, 512),
            (513, 1024),
            (1 << 20, 1 << 20),
        ] {
            assert_eq!(plain.round(requested), block);
        }
        assert_eq!(plain.round(u64::MAX), u64::MAX);
    }

    #[test]
    fn up_to_a_division_of_a_power_of_two() {
        let divided = rounding(r#"{"roundup_power2_divisions": {"1": 4, "2": 0, "4": 8}}"#);
        let mib = 1 << 20;
        assert_eq!(
            divided.round(1200 << 10),
            1280 << 10,
            "PyTorch's own example, in KiB"
        );
        assert_eq!(divided.round(1200), 1536, "not beyond 4 × 512: plain");
        assert_eq!(divided.round(2100), 2560, "of 2048: 512 apart");
        assert_eq!(
            divided.round(3 * mib + 1),
            3 * mib + 512,
            "no divisions from 2 MiB"
        );
        assert_eq!(divided.round(4 * mib + 1), 4 * mib + mib / 2);
        assert_eq!(divided.round(4 * mib), 4 * mib);
    }

    #[test]
    fn settings_that_mean_none() {
        for settings in [
            "{}",
            r#"{"max_split_size": -1}"#,
            r#"{"max_split_size": 18446744073709551615}"#,
        ] {
            assert_eq!(rounding(settings), Rounding::default(), "{settings}");
        }
        let bounded = rounding(r#"{"max_split_size": 104857600}"#);
        assert!(bounded.keeps_rest(100 << 20, 50 << 20));
        assert!(!bounded.keeps_rest(99 << 20, 50 << 20));
    }
}
