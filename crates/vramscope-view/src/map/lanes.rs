//! The map's y axis: addresses that were ever reserved, as lanes.
//!
//! Segments whose addresses overlap at different moments share a lane, so every address has one
//! position. Allocations outside all known segments (in a file without segments, or a damaged one) get lanes of their own,
//! shared by those close to each other.

use std::ops::Range;

use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::analysis::time::history::AllocationTable;
use vramscope_core::model::PoolId;
use vramscope_core::sorting::SortFew;

/// Gap between two lanes, as a share of the bytes of all lanes.
const GAP_PART: f64 = 0.004;
/// Most that all gaps together may take, as a share of the bytes of all lanes.
const AIR_PART: f64 = 0.06;
/// Gaps between lanes of different pools or streams are this many times as high.
const GROUP_GAPS: f64 = 4.0;
/// Allocations outside all segments share a lane if at most this many bytes are between them.
const NEAR_BYTES: u64 = 2 << 20;

/// Addresses in the cache, one for each remainder.
const KNOWN: usize = 1 << 12;

/// One row of the map.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lane {
    /// First address.
    pub address: u64,
    /// Size of the address range, which is also the lane's height, in bytes.
    pub bytes: u64,
    /// Lower edge on the y axis.
    pub y: f64,
    /// Row of [`Lanes::groups`].
    pub group: u32,
    /// The largest segment in the lane, a row of [`SegmentHistory::segments`]; `None` if the lane
    /// is known only from allocations.
    pub segment: Option<u32>,
    /// Number of segments in the lane at different moments.
    pub segments: u32,
}

impl Lane {
    /// The address after its last byte, saturating.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.bytes)
    }

    /// Upper edge on the y axis.
    #[must_use]
    pub fn y_end(&self) -> f64 {
        self.y + self.bytes as f64
    }
}

/// Neighbouring lanes of one pool and stream.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneGroup {
    /// The `cudaStream_t` as a number; `None` if no segment is known.
    pub stream: Option<i64>,
    /// The pool; `None` if the file does not state it.
    pub pool: Option<PoolId>,
    /// Rows of [`Lanes::lanes`].
    pub lanes: Range<usize>,
    /// Lower and upper edge on the y axis.
    pub y: (f64, f64),
}

/// All lanes from the bottom up, sorted by pool and stream, then by address.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lanes {
    /// The lanes.
    pub lanes: Vec<Lane>,
    /// Their groups.
    pub groups: Vec<LaneGroup>,
    /// Rows of `lanes`, sorted by address.
    by_address: Vec<u32>,
}

/// Sort key of lanes: by pool and stream; lanes without a segment last.
type GroupKey = (bool, Option<PoolId>, Option<i64>);

impl Lanes {
    /// The lanes of a device.
    #[must_use]
    pub fn new(allocations: &AllocationTable, segments: &SegmentHistory) -> Self {
        let mut lanes = of_segments(segments);
        let others = of_strays(allocations, &lanes);
        lanes.extend(others);
        let key = |lane: &Lane| -> GroupKey {
            let segment = lane
                .segment
                .and_then(|row| segments.segments.get(row as usize));
            (
                segment.is_none(),
                segment.and_then(|segment| segment.pool),
                segment.map(|segment| segment.stream),
            )
        };
        lanes.sort_few_by_key(|lane| (key(lane), lane.address));
        let keys: Vec<GroupKey> = lanes.iter().map(key).collect();
        let groups = stack(&mut lanes, &keys);
        let mut by_address: Vec<u32> = (0..lanes.len() as u32).collect();
        by_address.sort_few_by_key(|&row| lanes[row as usize].address);
        Self {
            lanes,
            groups,
            by_address,
        }
    }

    /// Adds a lane above all others as a group of its own. Its address must be the highest.
    pub(super) fn put(&mut self, lane: Lane, (pool, stream): (Option<PoolId>, Option<i64>)) {
        let row = self.lanes.len();
        self.groups.push(LaneGroup {
            stream,
            pool,
            lanes: row..row + 1,
            y: (lane.y, lane.y_end()),
        });
        self.lanes.push(Lane {
            group: row as u32,
            ..lane
        });
        self.by_address.push(row as u32);
    }

    /// The upper end of the y axis; 0 without lanes.
    #[must_use]
    pub fn y_end(&self) -> f64 {
        self.lanes.last().map_or(0.0, Lane::y_end)
    }

    /// The lane that contains an address.
    #[must_use]
    pub fn lane_of(&self, address: u64) -> Option<&Lane> {
        self.row_of(address).map(|row| &self.lanes[row as usize])
    }

    /// Rows and lanes, sorted by address.
    pub(super) fn by_address(&self) -> impl Iterator<Item = (u32, &Lane)> {
        let rows = self.by_address.iter();
        rows.map(|&row| (row, &self.lanes[row as usize]))
    }

    /// The row of the lane that contains an address.
    #[must_use]
    pub fn row_of(&self, address: u64) -> Option<u32> {
        let lane = |row: u32| &self.lanes[row as usize];
        let after = self
            .by_address
            .partition_point(|&row| lane(row).address <= address);
        let found = *self.by_address.get(after.checked_sub(1)?)?;
        (address < lane(found).end()).then_some(found)
    }

    /// Lower and upper edge on the y axis of `bytes` from an address, clipped to its lane; (0, 0)
    /// if no lane contains the address.
    #[must_use]
    pub fn span(&self, address: u64, bytes: u64) -> (f64, f64) {
        self.lane_of(address).map_or((0.0, 0.0), |lane| {
            let from = address - lane.address;
            let to = from.saturating_add(bytes).min(lane.bytes);
            (lane.y + from as f64, lane.y + to as f64)
        })
    }

    /// The row of the lane at `y`, and the address there; `None` in gaps and outside all lanes.
    #[must_use]
    pub fn at(&self, y: f64) -> Option<(u32, u64)> {
        let row = self
            .lanes
            .partition_point(|lane| lane.y <= y)
            .checked_sub(1)?;
        let lane = self.lanes.get(row)?;
        // The cast drops the fraction of a byte.
        let offset = (y - lane.y) as u64;
        (offset < lane.bytes).then(|| (row as u32, lane.address + offset))
    }
}

/// One lane for each set of overlapping segments, sorted by address.
fn of_segments(segments: &SegmentHistory) -> Vec<Lane> {
    let mut order: Vec<u32> = (0..segments.segments.len() as u32).collect();
    order.sort_few_by_key(|&row| segments.segments[row as usize].address);
    let mut lanes: Vec<Lane> = Vec::new();
    for row in order {
        let segment = &segments.segments[row as usize];
        match lanes.last_mut().filter(|lane| segment.address < lane.end()) {
            Some(lane) => {
                let largest = lane.segment.map(|row| &segments.segments[row as usize]);
                if largest.is_none_or(|largest| segment.extent_bytes > largest.extent_bytes) {
                    lane.segment = Some(row);
                }
                lane.bytes = lane.end().max(segment.end()) - lane.address;
                lane.segments += 1;
            }
            None => lanes.push(Lane {
                address: segment.address,
                bytes: segment.end() - segment.address,
                y: 0.0,
                group: 0,
                segment: Some(row),
                segments: 1,
            }),
        }
    }
    lanes
}

/// Lanes for allocations that are in none of `lanes`, which are sorted by address.
fn of_strays(allocations: &AllocationTable, lanes: &[Lane]) -> Vec<Lane> {
    let next_lane = |address: u64| lanes.partition_point(|lane| lane.address <= address);
    // Allocators return the same addresses again and again, so most are found among the latest ones. Addresses of large
    // allocations differ only in their upper bits.
    let mut in_lanes = vec![None; KNOWN];
    let mut is_stray = |address: u64| {
        let known = &mut in_lanes[((address >> 9) ^ (address >> 21)) as usize % KNOWN];
        if *known == Some(address) {
            return false;
        }
        let before = next_lane(address).checked_sub(1);
        let is_in = before.is_some_and(|row| lanes[row].end() > address);
        if is_in {
            *known = Some(address);
        }
        !is_in
    };
    let rows = allocations.address.iter().zip(&allocations.bytes);
    let mut strays: Vec<(u64, u64)> = rows
        .filter(|&(&address, &bytes)| bytes > 0 && is_stray(address))
        .map(|(&address, &bytes)| (address, address.saturating_add(bytes)))
        .collect();
    strays.sort_few_by(Ord::cmp);
    let mut found: Vec<Lane> = Vec::new();
    // Start of the next segment's lane, which limits the new lane.
    let mut limit = 0;
    for (address, end) in strays {
        let near =
            |lane: &&mut Lane| address < limit && address.saturating_sub(lane.end()) <= NEAR_BYTES;
        if let Some(lane) = found.last_mut().filter(near) {
            lane.bytes = lane.end().max(end.min(limit)) - lane.address;
            continue;
        }
        limit = lanes
            .get(next_lane(address))
            .map_or(u64::MAX, |lane| lane.address);
        found.push(Lane {
            address,
            bytes: end.min(limit) - address,
            y: 0.0,
            group: 0,
            segment: None,
            segments: 0,
        });
    }
    found.retain(|lane| lane.bytes > 0);
    found
}

/// Stacks the lanes on the y axis, and groups neighbours with equal keys.
fn stack(lanes: &mut [Lane], keys: &[GroupKey]) -> Vec<LaneGroup> {
    let bytes: f64 = lanes.iter().map(|lane| lane.bytes as f64).sum();
    let changes = keys.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64;
    let gaps = lanes.len() as f64 + changes * (GROUP_GAPS - 1.0);
    // Whole bytes, so that every position on the y axis is an integer.
    let gap = (bytes * GAP_PART.min(AIR_PART / gaps.max(1.0))).floor();
    let mut groups: Vec<LaneGroup> = Vec::new();
    let mut y = 0.0;
    for (row, (lane, &key)) in lanes.iter_mut().zip(keys).enumerate() {
        let continues = row > 0 && keys[row - 1] == key;
        if row > 0 {
            y += if continues { gap } else { gap * GROUP_GAPS };
        }
        lane.y = y;
        y = lane.y_end();
        match groups.last_mut().filter(|_| continues) {
            Some(group) => {
                group.lanes.end = row + 1;
                group.y.1 = y;
            }
            None => groups.push(LaneGroup {
                stream: key.2,
                pool: key.1,
                lanes: row..row + 1,
                y: (lane.y, y),
            }),
        }
        lane.group = (groups.len() - 1) as u32;
    }
    groups
}
