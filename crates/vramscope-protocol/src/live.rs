//! Files that change while they are shown: going over from one version to the next.
//!
//! A recording that keeps only the newest events loses its first ones, so moments and the numbers of allocations are
//! others in each version. What does not move is time, and the address and birth of an allocation: by these the worker,
//! which has both versions for a moment, tells where in the next one is what the page shows of the last.

use serde::{Deserialize, Serialize};
use vramscope_core::model::DeviceIndex;

use super::{DevicesOfPools, Opened, Thing};

/// What a captured file says of its program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Recorded {
    /// Whether the program was still running.
    pub is_running: bool,
    /// When its log was read, in µs since the Unix epoch; `None` if the file does not say.
    pub read_us: Option<i64>,
    /// Number of records that were lost because the log was full.
    pub lost_records: u64,
    /// Number of older events that were let go, as only the newest are kept.
    pub dropped_entries: u64,
}

/// Asks to go over to the version that was read last. No answer if it was gone over to already.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Adopt {
    /// The number of that version, which pictures of it bear.
    pub version: u32,
    /// What the page shows of each device.
    pub places: Vec<PlaceOf>,
    /// The memory pools that the page shows, as a search; `None` for all.
    pub pools: Option<String>,
}

/// What the page shows of a device, in the numbers of the last version.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PlaceOf {
    pub device: DeviceIndex,
    /// The cursor's moment.
    pub cursor: Option<u32>,
    /// What is pinned, if it is a single thing.
    pub pinned: Option<Thing>,
}

impl PlaceOf {
    /// Whether the cursor and what is pinned are those of the other one.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> (bool, bool) {
        (self.cursor == other.cursor, self.pinned == other.pinned)
    }
}

/// The next version, which is the open file from now on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Adopted {
    pub version: u32,
    pub opened: Opened,
    /// The facts of the devices within the memory pools that were asked about.
    pub within: Option<DevicesOfPools>,
    /// Where things are now, of each device that both versions have.
    pub carried: Vec<Carried>,
}

/// Where the things of a device are in the next version.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Carried {
    /// What was asked about.
    pub asked: PlaceOf,
    /// Number of events at the beginning that the next version has no more.
    pub events: u32,
    /// How much later its time axis begins, in µs.
    pub time_us: f64,
    /// The cursor's moment; `None` if it is no more, or none was asked about.
    pub cursor: Option<u32>,
    /// What is pinned; `None` if it is no more, or none was asked about.
    pub pinned: Option<Thing>,
}
