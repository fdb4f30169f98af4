//! Contradictions between what a file says about its segments, its allocations and its device. Like damage found while
//! reading the file, they are reported as warnings, but they show only once the memory at each moment is known.

use super::capacity::stated;
use super::capture::AllocatorKind;
use crate::Snapshot;
use crate::analysis::time::history::History;
use crate::model::{LARGEST_BYTES, WarningKind, Warnings};
use crate::units::Bytes;

/// Calls whose memory may exceed a device's, because it resides wherever it was last used.
const MANAGED: [&str; 2] = ["cuMemAllocManaged", "cuMemPoolCreate"];

/// The contradictions in a snapshot with these histories.
pub(crate) fn contradictions(snapshot: &Snapshot, histories: &[History]) -> Warnings {
    let mut found = Warnings::default();
    for history in histories {
        for what in [beyond_reserved, beyond_addresses, beyond_device] {
            if let Some(seen) = what(snapshot, history) {
                let place = || format!("device {}: {seen}", history.device);
                found.add(WarningKind::MoreThanThereIs, place);
            }
        }
    }
    found
}

/// The first moment with the most active bytes outside of all segments.
fn beyond_reserved(_: &Snapshot, history: &History) -> Option<String> {
    // A file without segments and segment events says nothing about them.
    if history.most_reserved_bytes() == 0 {
        return None;
    }
    let mut most = (0, 0);
    for (place, &(from, reserved)) in history.reserved_steps.iter().enumerate() {
        let next = history.reserved_steps.get(place + 1);
        let to = next.map_or(history.active_bytes.len(), |&(next, _)| next as usize);
        let during = history.active_bytes.get(from as usize..to).unwrap_or(&[]);
        for (moment, &active) in (from..).zip(during) {
            if active.saturating_sub(reserved) > most.0 {
                most = (active - reserved, moment);
            }
        }
    }
    let (_, moment) = Some(most).filter(|&(bytes, _)| bytes > 0)?;
    Some(format!(
        "{} active after event {moment}, {} reserved",
        Bytes(history.active_bytes_at(moment)),
        Bytes(history.reserved_bytes(moment))
    ))
}

/// More bytes than a processor can address.
fn beyond_addresses(_: &Snapshot, history: &History) -> Option<String> {
    let most = history.peak_bytes().max(history.most_reserved_bytes());
    (most > LARGEST_BYTES).then(|| format!("more than {} at once", Bytes(LARGEST_BYTES)))
}

/// More bytes than the device has, according to the file itself.
fn beyond_device(snapshot: &Snapshot, history: &History) -> Option<String> {
    let reserved = history.most_reserved_bytes();
    let device = stated(snapshot, history.device).filter(|&bytes| bytes < reserved)?;
    let is_captured = AllocatorKind::of(snapshot) == AllocatorKind::Driver;
    let mut managed = MANAGED.into_iter();
    if is_captured && managed.any(|call| snapshot.strings.find(call).is_some()) {
        return None;
    }
    Some(format!(
        "{} reserved, a device of {}",
        Bytes(reserved),
        Bytes(device)
    ))
}
