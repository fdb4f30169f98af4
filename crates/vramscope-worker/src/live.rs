//! The next version of a file that changes while it is shown.

use std::cell::RefCell;
use std::rc::Rc;

use vramscope_core::analysis::memory::capture::{Capture, Ended};
use vramscope_core::analysis::time::history::NEVER;
use vramscope_core::ids::AllocationId;
use vramscope_port::Port;
use vramscope_protocol::{
    Adopt, Adopted, Answer, Ask, Carried, DevicesWithin, Opened, PlaceOf, Question, Recorded,
    Reply, Thing,
};

use super::document::{Device, Document};
use super::narrowed::Narrowed;
use super::open;
use super::{File, Worker};

/// A version that was read, and is not shown yet.
pub(super) struct Next {
    pub(super) document: Document,
    pub(super) opened: Opened,
}

/// What a captured file says of its program; `None` for other files.
pub(super) fn recorded(document: &Document) -> Option<Recorded> {
    let capture = Capture::of(&document.snapshot)?;
    Some(Recorded {
        is_running: capture.ended == Ended::Running,
        read_us: capture.read_us,
        lost_records: capture.dropped_records,
        dropped_entries: capture.dropped_entries,
    })
}

/// Reads the next version of the file, which stays open meanwhile.
pub(super) fn reload(worker: &'static RefCell<Worker>, port: Rc<Port>, name: String, url: String) {
    let gate = worker.borrow().gate.clone();
    wasm_bindgen_futures::spawn_local(async move {
        let next = open::next(&name, &url, &gate, &port).await;
        let failure = match next {
            Ok(next) => {
                worker.borrow_mut().next = Some(Box::new(next));
                None
            }
            Err(failure) => Some(Box::new(failure)),
        };
        port.send(&Reply::Reloaded(failure));
    });
}

/// Goes over to the version that was read last.
pub(super) fn adopt(worker: &mut Worker, asked: &Adopt) -> Option<Answer> {
    let Next {
        mut document,
        opened,
    } = *worker.next.take()?;
    document.version = asked.version;
    let before = worker.file.as_ref().and_then(File::snapshot)?;
    let carried = asked.places.iter().filter_map(|place| {
        let devices = (before.device(place.device)?, document.device(place.device)?);
        Some(carried(devices.0, devices.1, *place))
    });
    let carried = carried.collect();
    // All that was computed from the last version goes. Nothing is computed ahead, as the next may come soon.
    worker.forget();
    worker.preparation.skip();
    let within = asked.pools.as_ref().and_then(|pools| {
        let narrowed = Narrowed::of(&document, pools, &mut worker.narrowed)?;
        let question = Question::Devices(DevicesWithin {
            pools: pools.clone(),
        });
        DevicesWithin::pick(narrowed.answer(&question)?.0)
    });
    worker.file = Some(File::Snapshot(Box::new(document)));
    Some(Adopt::wrap(Adopted {
        version: asked.version,
        opened,
        within,
        carried,
    }))
}

/// Where the things of a device are in its next version.
fn carried(before: Device<'_>, after: Device<'_>, asked: PlaceOf) -> Carried {
    let events = gone(before, after);
    let start_us = |device: Device<'_>| device.history.moment_start_us.first();
    let time_us = start_us(before).zip(start_us(after));
    Carried {
        asked,
        events,
        time_us: time_us.map_or(0.0, |(before, after)| after.saturating_sub(before) as f64),
        cursor: asked
            .cursor
            .and_then(|moment| moment_after(before, after, moment, events)),
        pinned: asked.pinned.and_then(|thing| match thing {
            Thing::Allocation(id) => {
                allocation_after(before, after, id, events).map(Thing::Allocation)
            }
            Thing::Segment(piece) => piece_after(before, after, piece, events).map(Thing::Segment),
        }),
    }
}

/// Number of the first events that the next version has no more; all if it has none of them.
fn gone(before: Device<'_>, after: Device<'_>) -> u32 {
    let (old, new) = (before.history, after.history);
    if new.event_count == 0 {
        return 0;
    }
    let event = |device: Device<'_>, number: u32| {
        let row = (device.history.first_event + number) as usize;
        let events = &device.snapshot().events;
        let time_us = events.time_us.get(row);
        (
            time_us,
            events.action[row],
            events.addr[row],
            events.size[row],
        )
    };
    let first = event(after, 0);
    // The first one of the same time. Without times only a history that loses nothing can be told.
    let (mut from, mut to) = (
        0,
        if first.0.is_some() {
            old.event_count
        } else {
            0
        },
    );
    while from < to {
        let middle = from.midpoint(to);
        match event(before, middle).0 < first.0 {
            true => from = middle + 1,
            false => to = middle,
        }
    }
    let mut same = (from..old.event_count).take_while(|&number| event(before, number).0 == first.0);
    let found = same.find(|&number| event(before, number) == first);
    found.unwrap_or(old.event_count)
}

/// The moment in the next version: that which is as many events later, unless a refused free was withdrawn meanwhile;
/// then that of the same time.
fn moment_after(before: Device<'_>, after: Device<'_>, moment: u32, events: u32) -> Option<u32> {
    let shifted = moment.checked_sub(events)?;
    let time = |device: Device<'_>, moment: u32| device.history.moment_start_us.get(moment);
    let last = after.history.event_count;
    // Moment 0 of the next version begins with its first event, not with the one before.
    let at = time(before, moment).filter(|_| shifted > 0);
    if at.is_none() || time(after, shifted) == at {
        return Some(shifted.min(last));
    }
    let starts = &after.history.moment_start_us;
    let later = starts.partition_point(|start| Some(start) <= at);
    Some((later.saturating_sub(1) as u32).min(last))
}

/// The row of what was born at a moment at an address, among rows of births and addresses.
fn row_after(
    (born, died): (u32, u32),
    events: u32,
    mut rows: impl Iterator<Item = (u32, bool)>,
) -> Option<usize> {
    // It was gone before the next version begins.
    if died != NEVER && died <= events {
        return None;
    }
    let born = born.saturating_sub(events);
    rows.position(|(other, is_there)| is_there && other == born)
}

fn allocation_after(
    before: Device<'_>,
    after: Device<'_>,
    id: AllocationId,
    events: u32,
) -> Option<AllocationId> {
    let (old, new) = (&before.history.allocations, &after.history.allocations);
    let row = id.index();
    let &address = old.address.get(row)?;
    let rows = new.born.iter().zip(&new.address);
    let rows = rows.map(|(&born, &other)| (born, other == address));
    row_after((old.born[row], old.died[row]), events, rows).map(AllocationId::from_index)
}

fn piece_after(before: Device<'_>, after: Device<'_>, piece: u32, events: u32) -> Option<u32> {
    let (old, new) = (before.segments(), after.segments());
    let row = piece as usize;
    let &address = old.address.get(row)?;
    let rows = new.born.iter().zip(&new.address);
    let rows = rows.map(|(&born, &other)| (born, other == address));
    row_after((old.born[row], old.died[row]), events, rows).map(|row| row as u32)
}

#[cfg(test)]
mod tests {
    use vramscope_core::cut::{Piece, cut};

    use super::*;
    use crate::tests::documents;

    /// All that both versions have is told, and nothing else.
    #[test]
    fn things_are_found_again_in_a_later_version() {
        let mut followed = 0;
        for (path, before) in documents() {
            // What is damaged may have wrong times.
            let is_timed = |it: &Device<'_>| {
                it.has_times() && it.snapshot().warnings.damage().next().is_none()
            };
            let Some(device) = before.devices().next().filter(is_timed) else {
                continue;
            };
            let last = device.history.event_count;
            let from = last / 3;
            let piece = Piece {
                device: *device,
                moments: (from, last),
            };
            let after = Document::new(cut(&before, &[piece]));
            let Some(next) = after.device(device.index()) else {
                continue;
            };
            if next.history.event_count != last - from {
                // Cutting leaves some events out, or adds some.
                continue;
            }
            let place = |cursor, pinned| PlaceOf {
                device: device.index(),
                cursor,
                pinned,
            };
            let of = |cursor, pinned| carried(device, next, place(cursor, pinned));
            assert_eq!(of(None, None).events, from, "{}", path.display());
            for moment in 0..=last {
                let at = of(Some(moment), None).cursor;
                assert_eq!(at, moment.checked_sub(from), "{} {moment}", path.display());
            }
            let (old, new) = (&device.history.allocations, &next.history.allocations);
            for row in 0..old.len() {
                let thing = Thing::Allocation(AllocationId::from_index(row));
                let now = of(None, Some(thing)).pinned;
                let is_there = old.died[row] == NEVER || old.died[row] > from;
                let Some(Thing::Allocation(now)) = now else {
                    assert!(!is_there, "{} {row}", path.display());
                    continue;
                };
                let now = now.index();
                assert_eq!(new.address[now], old.address[row]);
                assert_eq!(new.bytes[now], old.bytes[row], "{} {row}", path.display());
                assert!(is_there);
            }
            followed += 1;
        }
        assert!(followed > 5, "{followed}");
    }

    #[test]
    fn of_another_recording_nothing_is_left() {
        let mut all =
            documents().filter(|(_, it)| it.devices().next().is_some_and(|it| it.has_times()));
        let (before, other) = (all.next().unwrap().1, all.nth(3).unwrap().1);
        let (device, next) = (
            before.devices().next().unwrap(),
            other.devices().next().unwrap(),
        );
        let place = PlaceOf {
            device: device.index(),
            cursor: Some(device.history.event_count - 1),
            pinned: Some(Thing::Allocation(AllocationId(0))),
        };
        let carried = carried(device, next, place);
        assert_eq!(carried.events, device.history.event_count);
        assert_eq!(carried.cursor, None);
    }
}
