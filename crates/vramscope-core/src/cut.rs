//! A range of a snapshot as a snapshot of its own: smaller, valid, and the same between its ends. Or all of
//! it [without what came and went](without_freed).
//!
//! What a device did between two moments becomes a trace, and what it held at the second moment becomes
//! the final state. So whatever is worked out from the events backwards, by this program or by torch's
//! viewer, finds at every moment of the range what the whole file has there: which allocations are live,
//! how much is active, how much reserved. Only the texts, frames and stacks that are still used go along.
//!
//! What the format cannot carry over is lost: an allocation that began before the range and ended in it
//! has no record of who made it (of one that is live at the range's end the block keeps the stack), and
//! how far a block was rounded up is derived where the file's own final state does not tell. The host's
//! (pinned) memory is left out, as its events share no moments with a device's.

mod freed;
mod marks;
mod state;

use crate::Snapshot;
use crate::analysis::history::History;
use crate::analysis::replay::Replay;
use crate::analysis::selection::Moments;
use crate::decode::Key;
use crate::ids::EventId;
use crate::transfer::{AsBefore, Role, Transfer};

pub use freed::{is_of_freed, without_freed};

/// What is cut out of one device.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// The device's life.
    pub history: &'a History,
    /// Its states, made of that history.
    pub replay: &'a Replay,
    /// From … to, both included. Moments beyond the last one count as the last.
    pub moments: Moments,
}

impl Piece<'_> {
    /// The moments, in order and within the recording.
    fn bounds(&self) -> Moments {
        let to = self.moments.1.min(self.history.event_count);
        (self.moments.0.min(to), to)
    }
}

/// Cuts `pieces`, at most one of each device, out of `snapshot`. Other devices keep their number, but have
/// no events and no segments.
#[must_use]
pub fn cut(snapshot: &Snapshot, pieces: &[Piece<'_>]) -> Snapshot {
    let mut transfer = Transfer::new(snapshot, &AsBefore);
    for device in (0..).take(snapshot.traces.len()) {
        let first = transfer.to.events.len() as u32;
        if let Some(piece) = pieces.iter().find(|piece| piece.history.device == device) {
            events(&mut transfer, piece);
        }
        let rows = first..transfer.to.events.len() as u32;
        transfer.to.traces.push(rows);
    }
    let mut by_device: Vec<_> = pieces.iter().collect();
    by_device.sort_by_key(|piece| piece.history.device);
    for piece in by_device {
        state::at_end(&mut transfer, piece);
    }
    marks::within(&mut transfer, pieces);
    facts(&mut transfer);
    transfer.to
}

/// The events that lead from the first moment to the last.
fn events(transfer: &mut Transfer<'_>, piece: &Piece<'_>) {
    let (from, to) = piece.bounds();
    let first = piece.history.first_event;
    transfer.to.events.reserve((to - from) as usize);
    for row in first + from..first + to {
        let mut event = transfer.from.events.get(EventId(row));
        event.context = transfer.context(event.context);
        event.stack = transfer.stack(event.stack);
        transfer.to.events.push(event);
    }
}

/// What is said of the file as a whole.
fn facts(transfer: &mut Transfer<'_>) {
    let from = transfer.from;
    let names = from.events.other_actions.clone();
    transfer.to.events.other_actions = names
        .into_iter()
        .map(|id| transfer.string(Role::Label, id))
        .collect();
    let to = &mut transfer.to;
    to.settings.clone_from(&from.settings);
    to.extras.clone_from(&from.extras);
    to.producer.clone_from(&from.producer);
    to.keys = from.keys;
    // Former tenants of blocks (torch 1.13 and 2.0) do not go along.
    to.keys.block &= !Key::History.bit();
    if !to.segments.is_empty() {
        let keys = [Key::Device, Key::Address, Key::TotalSize, Key::Blocks];
        to.keys.segment |= keys.iter().fold(0, |bits, key| bits | key.bit());
    }
    if !to.blocks.is_empty() {
        let keys = [Key::Address, Key::Size, Key::RequestedSize, Key::State];
        to.keys.block |= keys.iter().fold(0, |bits, key| bits | key.bit());
    }
}
