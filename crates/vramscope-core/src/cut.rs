//! Makes a snapshot of a range of another one: smaller, valid, and equal to it within the range. Or drops
//! [short-lived allocations](without_freed) from a whole snapshot.
//!
//! The events of a device between two moments become its trace, and its memory at the second moment becomes
//! the final state. So everything that this program or torch's viewer computes from the events backwards is the same
//! at every moment of the range as in the whole file: the live allocations, the active bytes, the reserved bytes. Only
//! texts, frames and stacks that are still used are kept.
//!
//! Without segments there is no final state to show what is live. Then the trace begins with events that repeat the
//! allocations live before it, and the file says how many these are.
//!
//! The format cannot express everything. The stack of an allocation that began before the range and ended in it is lost
//! (that of one live at the end of the range is kept in its block), and rounding is derived where the file's own final state
//! does not state it. Pinned host memory is left out, because its events share no moments with a device's.

mod before;
mod freed;
mod marks;
mod state;

use crate::Snapshot;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::time::selection::Moments;
use crate::decode::{Key, sizes};
use crate::ids::EventId;
use crate::model::{CutOff, Profile, Warnings, cut_off, note_cut_off};
use crate::sorting::SortFew;
use crate::transfer::{AsBefore, Role, Transfer};

pub use freed::{is_of_freed, without_freed};

/// A range of one device.
#[derive(Clone, Copy)]
pub struct Piece<'a> {
    /// The device.
    pub device: Device<'a>,
    /// First and last moment, both included. Later moments than the recording's last count as the last.
    pub moments: Moments,
}

impl Piece<'_> {
    /// The moments, clamped to the recording and in order.
    fn bounds(&self) -> Moments {
        let to = self.moments.1.min(self.device.history.event_count);
        (self.moments.0.min(to), to)
    }

    fn is_whole(&self) -> bool {
        self.bounds() == (0, self.device.history.event_count)
    }
}

/// Cuts `pieces`, at most one per device, out of `recording`. Other devices keep their numbers, but have
/// no events and no segments.
#[must_use]
pub fn cut(recording: &Recording, pieces: &[Piece<'_>]) -> Snapshot {
    let snapshot = &recording.snapshot;
    let mut transfer = Transfer::new(snapshot, &AsBefore);
    let mut beginnings = Vec::with_capacity(pieces.len());
    for device in (0..).take(snapshot.traces.len()) {
        let first = transfer.to.events.len() as u32;
        if let Some(piece) = pieces
            .iter()
            .find(|piece| piece.device.history.device == device)
        {
            let carried = before::events(&mut transfer, piece);
            beginnings.push((device, beginning(piece, carried)));
            events(&mut transfer, piece);
        }
        let rows = first..transfer.to.events.len() as u32;
        transfer.to.traces.push(rows);
    }
    let mut by_device: Vec<_> = pieces.iter().collect();
    by_device.sort_few_by_key(|piece| piece.device.history.device);
    for piece in by_device {
        if piece.device.is_without_segments() {
            continue;
        }
        state::at_end(&mut transfer, piece);
    }
    marks::within(&mut transfer, pieces);
    facts(&mut transfer, pieces);
    note_cut_off(&mut transfer.to.extras, beginnings.into_iter());
    let mut found = Warnings::default();
    sizes::leave_out_impossible(&mut transfer.to, &mut found);
    transfer.to.warnings.merge(found.into_list());
    transfer.to
}

/// Copies the events between the first and the last moment.
fn events(transfer: &mut Transfer<'_>, piece: &Piece<'_>) {
    let (from, to) = piece.bounds();
    let first = piece.device.history.first_event;
    transfer.to.events.reserve((to - from) as usize);
    for row in first + from..first + to {
        let event = transfer.event(EventId(row));
        transfer.to.events.push(event);
    }
}

/// How the trace of a piece begins; its first `carried` events repeat what was live. `None` for a whole recording that
/// is not itself cut.
fn beginning(piece: &Piece<'_>, carried: u64) -> Option<CutOff> {
    let history = piece.device.history;
    let from = u64::from(piece.bounds().0);
    let known = cut_off(&piece.device.snapshot().extras, history.device);
    if known.is_none() && piece.is_whole() {
        return None;
    }
    let known = known.unwrap_or_default();
    Some(CutOff {
        before: known
            .before
            .saturating_add(from.saturating_sub(known.carried)),
        carried: carried.saturating_add(known.carried.saturating_sub(from)),
    })
}

/// Copies everything that belongs to no device.
fn facts(transfer: &mut Transfer<'_>, pieces: &[Piece<'_>]) {
    let from = transfer.from;
    let names = from.events.other_actions.clone();
    transfer.to.events.other_actions = names
        .into_iter()
        .map(|id| transfer.string(Role::Label, id))
        .collect();
    let to = &mut transfer.to;
    to.settings.clone_from(&from.settings);
    to.extras.clone_from(&from.extras);
    if let Some(mut profile) = Profile::of(to) {
        for device in &mut profile.devices {
            let mut pieces = pieces.iter();
            let piece = pieces.find(|piece| piece.device.index() == device.device);
            // Otherwise the allocations from before are among the blocks.
            if piece.is_none_or(|piece| !piece.device.is_without_segments()) {
                device.before_bytes = 0;
            }
            // The highest total within a part is not known.
            if piece.is_none_or(|piece| !piece.is_whole()) {
                device.peak_reserved_bytes = None;
            }
        }
        profile.put(&mut to.extras);
    }
    to.warnings = from.warnings.inherited();
    to.producer.clone_from(&from.producer);
    to.keys = from.keys;
    // Former tenants of blocks (torch 1.13 and 2.0) are left out.
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
