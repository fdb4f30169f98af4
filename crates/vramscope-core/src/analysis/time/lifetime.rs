//! Lifetimes of allocations, in events and, if the file has times, in microseconds.

use serde::{Deserialize, Serialize};

use super::history::{History, NEVER};
use crate::ids::AllocationId;

/// The lifetime of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lifetime {
    /// Number of events from birth to death.
    pub events: u32,
    /// Microseconds from birth to death; `None` without times.
    pub us: Option<i64>,
    /// Whether birth or death is outside the recording, so that it lived longer than recorded.
    pub at_least: bool,
}

pub(crate) fn lifetime(history: &History, id: AllocationId) -> Lifetime {
    let table = &history.allocations;
    let (born, died) = (table.born[id.index()], table.died[id.index()]);
    let end = died.min(history.event_count);
    let time = |moment: u32| history.moment_start_us.get(moment);
    Lifetime {
        events: end.saturating_sub(born),
        us: time(end)
            .zip(time(born))
            .map(|(end, born)| end.saturating_sub(born)),
        at_least: born == 0 || died == NEVER,
    }
}
