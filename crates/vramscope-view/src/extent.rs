//! The extent of bands within a whole picture.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::recording::Device;
use vramscope_core::ids::AllocationId;

use crate::map::Lanes;
use crate::raster::{Bands, ColumnSpan, NONE, TimelineIndex};
use crate::viewport::{Bounds, Viewport};

/// Most columns that [`edges`] examines.
const FIT_COLUMNS: u32 = 1_024;

/// The extent of an allocation in the timeline and in the map.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AllocationExtent {
    /// From its first moment to the one after its last.
    pub moments: (u32, u32),
    /// The same in µs since the first event; `None` without times.
    pub time_us: Option<(f64, f64)>,
    /// Lowest and highest edge of its band in the timeline.
    pub edges_bytes: (f64, f64),
    /// Lower and upper edge on the map.
    pub map_bytes: (f64, f64),
}

impl AllocationExtent {
    /// The extent of an allocation of the device with this timeline and map.
    #[must_use]
    pub fn of(
        device: Device<'_>,
        index: &TimelineIndex,
        lanes: &Lanes,
        allocation: AllocationId,
    ) -> Self {
        let table = &device.history.allocations;
        let row = allocation.index();
        let moments = device.history.active_bytes.len() as u32;
        let (born, died) = (table.born[row], table.died[row].min(moments));
        let bands = Bands::of(device.history, false);
        let times = Bands::of(device.history, true);
        let x = |moment: u32| times.moment_x(moment as usize);
        Self {
            moments: (born, died),
            time_us: device.has_times().then(|| (x(born), x(died))),
            edges_bytes: edges(&bands, index, row..row + 1, (born, died)),
            map_bytes: lanes.span(table.address[row], table.bytes[row]),
        }
    }
}

/// The lowest and highest edge, in bytes, of neighbouring rows during a life given by its first moment and the moment
/// after its last.
#[must_use]
pub fn edges(
    bands: &Bands<'_>,
    index: &TimelineIndex,
    rows: Range<usize>,
    (born, died): (u32, u32),
) -> (f64, f64) {
    let died = died.min(bands.moments() as u32);
    let bands = Bands {
        moment_start_us: None,
        ..*bands
    };
    let life = Viewport {
        x_min: f64::from(born),
        x_max: f64::from(died.max(born + 1)),
        y_min_bytes: 0.0,
        y_max_bytes: Bounds::new(1.0, index.peak_bytes()).y_end_bytes,
        width_px: FIT_COLUMNS.min(died.saturating_sub(born)).max(1),
        height_px: 1,
    };
    let spans = column_spans(&bands, index, &life, rows);
    let lowest = spans
        .iter()
        .map(|span| life.bytes_at(span.bottom_px))
        .fold(f64::INFINITY, f64::min);
    let highest = spans
        .iter()
        .map(|span| life.bytes_at(span.top_px))
        .fold(0.0, f64::max);
    (lowest.min(highest), highest)
}

/// The spans of neighbouring rows in each column of a picture. A column shows its highest moment.
#[must_use]
pub fn column_spans(
    bands: &Bands<'_>,
    index: &TimelineIndex,
    viewport: &Viewport,
    rows: Range<usize>,
) -> Vec<ColumnSpan> {
    let moment = |x_px: u32| {
        let (from, to) = (
            viewport.x_at(f64::from(x_px)),
            viewport.x_at(f64::from(x_px + 1)),
        );
        bands
            .moments_in(from, to)
            .map_or(NONE, |moments| index.highest_in(bands, moments))
    };
    let moments: Vec<_> = (0..viewport.width_px).map(moment).collect();
    ColumnSpan::of_rows(bands, &moments, viewport, rows)
}
