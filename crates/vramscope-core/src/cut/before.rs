//! Repeats the allocations that were live before a cut, for devices without segments.
//!
//! With segments, the final state has them. Without, only their own events show that they are live: these are repeated,
//! with their stacks and contexts, at the time of the first moment.

use super::Piece;
use super::state::none_in;
use crate::analysis::time::history::NEVER;
use crate::model::{Action, Context, Event, NO_TIME};
use crate::transfer::Transfer;

/// Adds the repeated events, and returns their number.
pub(super) fn events(transfer: &mut Transfer<'_>, piece: &Piece<'_>) -> u64 {
    if !piece.device.is_without_segments() {
        return 0;
    }
    let (from, to) = piece.bounds();
    let (history, replay) = (piece.device.history, piece.device.replay());
    let time_us = history.moment_start_us.get(from).unwrap_or(NO_TIME);
    let table = &history.allocations;
    let first = transfer.to.events.len();
    for id in replay.live_at(history, from) {
        let row = id.index();
        let (requested, died) = (table.free_requested[row], table.died[row]);
        let is_in_range = |moment: u32| from < moment && moment <= to;
        let alloc = match history.alloc_event(id) {
            Some(event) => transfer.event(event),
            // Its free shows that it was live.
            None if is_in_range(requested) || is_in_range(died) => continue,
            // The sum that the profile states.
            None if (requested, died) == (NEVER, NEVER) => continue,
            None => Event {
                action: Action::Alloc,
                addr: table.address[row],
                size: table.bytes[row],
                time_us,
                context: transfer.to.contexts.intern(Context::default()),
                stack: none_in(transfer.from.keys.event),
            },
        };
        transfer.to.events.push(Event { time_us, ..alloc });
        if let Some(event) = history
            .free_requested_event(id)
            .filter(|_| requested <= from)
        {
            let free = transfer.event(event);
            transfer.to.events.push(Event { time_us, ..free });
        }
    }
    (transfer.to.events.len() - first) as u64
}
