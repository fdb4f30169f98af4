//! Failed allocations as marks on an axis.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::recording::Device;
use vramscope_core::ids::EventId;

use crate::raster::Bands;

/// An allocation that failed.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OomMark {
    /// Position on the axis.
    pub x: f64,
    /// The moment that begins with it.
    pub moment: u32,
    /// Bytes that were requested.
    pub requested_bytes: u64,
    /// Bytes that were free on the device.
    pub free_bytes: u64,
}

/// The failed allocations of a device on the axis of `bands`, ascending. If there are more than `columns`, only the
/// last of each column.
#[must_use]
pub fn oom_marks(device: Device<'_>, bands: &Bands<'_>, columns: u32) -> Vec<OomMark> {
    let events = &device.snapshot().events;
    let mark = |&moment: &u32| {
        let event = events.get(EventId(device.history.first_event + moment - 1));
        OomMark {
            x: bands.moment_x(moment as usize),
            moment,
            requested_bytes: event.size,
            free_bytes: event.addr,
        }
    };
    let marks = device.oom_moments().iter().map(mark).collect();
    thinned(marks, bands.x_end(), columns)
}

/// A job that retries can fail a million times. A column shows its last failure, which ended the job.
fn thinned(mut marks: Vec<OomMark>, x_end: f64, columns: u32) -> Vec<OomMark> {
    if marks.len() > columns as usize {
        marks.reverse();
        marks.dedup_by_key(|mark| (mark.x / x_end * f64::from(columns)) as u32);
        marks.reverse();
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_failures_are_one_per_column() {
        let mark = |x| OomMark {
            x,
            ..OomMark::default()
        };
        let thin = thinned((0..1_000_000).map(f64::from).map(mark).collect(), 1e6, 100);
        assert_eq!(thin.len(), 100);
        assert_eq!(thin[..2], [9_999.0, 19_999.0].map(mark));
        let few = vec![mark(1.0), mark(1.1)];
        assert_eq!(thinned(few.clone(), 1e6, 100), few);
    }
}
