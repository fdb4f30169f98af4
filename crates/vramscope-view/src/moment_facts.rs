//! The figures of a moment of the timeline.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::recording::Device;

use crate::raster::Bands;

/// The figures of a moment of the timeline.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct MomentFacts {
    /// The state after this many events.
    pub moment: u32,
    /// Its start on the x axis.
    pub x: f64,
    /// µs since the Unix epoch; `None` without times.
    pub time_us: Option<i64>,
    /// µs since the first event; `None` without times.
    pub since_start_us: Option<i64>,
    /// Requested bytes of all live allocations.
    pub active_bytes: u64,
    /// Bytes of all segments; `None` if unknown.
    pub reserved_bytes: Option<u64>,
}

impl MomentFacts {
    /// A moment of a device, placed on the axis of `bands`.
    #[must_use]
    pub fn of(device: Device<'_>, bands: &Bands<'_>, moment: u32) -> Self {
        let (time_us, since_start_us) = device.time(moment).unzip();
        Self {
            moment,
            x: bands.moment_x(moment as usize),
            time_us,
            since_start_us,
            active_bytes: device.history.active_bytes_at(moment),
            reserved_bytes: device.reserved_bytes(moment),
        }
    }
}
