//! Names of allocations and segments in a log that reads like a program: `a`, `b`, … `z`, `a1`, ….
//!
//! Names are given as in torch's `trace` (FORMAT.md 4.7): in the order of the alloc and segment_alloc events, and never
//! twice. Two mistakes of torch are avoided. torch looks an address up among all segments that it ever saw, freed ones
//! first, and in the final state only within the first `allocated_size` bytes of each; here the segment is the one that
//! contains the address at that time. And here a free names the allocation that it frees, never an older one at the
//! same address.

use std::collections::BTreeMap;
use std::fmt;

use super::history::History;
use crate::Snapshot;
use crate::ids::EventId;
use crate::model::{Action, Event};
use crate::sorting::SortFew;

/// A name, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Name(pub u32);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = char::from(b'a' + (self.0 % 26) as u8);
        match self.0 / 26 {
            0 => write!(f, "{letter}"),
            round => write!(f, "{letter}{round}"),
        }
    }
}

/// The segment that contains an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holder {
    /// A segment whose `segment_alloc` was recorded.
    Recorded(Name),
    /// A segment that is only in the final state: its index in the file's list for all devices.
    Listed(usize),
}

/// An event with its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its index in the device's trace.
    pub place: u32,
    /// The event.
    pub id: EventId,
    /// The name of its allocation or segment, if it has one.
    pub name: Option<Name>,
    /// For an alloc: the segment that contains it, and its offset in bytes.
    pub holder: Option<(Holder, u64)>,
}

/// A device's events in order, with the names of their allocations and segments.
pub(crate) fn trace_steps<'a>(
    snapshot: &'a Snapshot,
    history: &'a History,
) -> impl Iterator<Item = Step> + use<'a> {
    let mut names = Names::of(snapshot, history);
    (0..)
        .zip(&history.allocation_of_event)
        .map(move |(place, &allocation)| {
            let id = EventId(history.first_event + place);
            let (name, holder) = names.of_event(&snapshot.events.get(id), allocation);
            Step {
                place,
                id,
                name,
                holder,
            }
        })
}

struct Names {
    /// Number of names given so far.
    count: u32,
    /// By allocation: its name; `None` without an alloc event.
    of_allocation: Vec<Option<Name>>,
    /// By start: end and name of the recorded segments that are currently held.
    held: BTreeMap<u64, (u64, Name)>,
    /// Start, end and row of the final state's segments, sorted by start.
    listed: Vec<(u64, u64, usize)>,
}

impl Names {
    /// The state before the first event.
    fn of(snapshot: &Snapshot, history: &History) -> Self {
        let own = snapshot.segments.rows.iter().enumerate();
        let own = own.filter(|(_, segment)| u32::try_from(segment.device) == Ok(history.device));
        let listed = own.map(|(row, segment)| (segment.address, segment.end(), row));
        let mut listed: Vec<_> = listed.collect();
        listed.sort_few_by(Ord::cmp);
        Self {
            count: 0,
            of_allocation: vec![None; history.allocations.len()],
            held: BTreeMap::new(),
            listed,
        }
    }

    /// The segment that contains an address, and the address's offset in it.
    fn holder(&self, address: u64) -> Option<(Holder, u64)> {
        if let Some((&start, &(end, name))) = self.held.range(..=address).next_back()
            && address < end
        {
            return Some((Holder::Recorded(name), address - start));
        }
        let after = self.listed.partition_point(|&(start, ..)| start <= address);
        let (start, end, row) = *self.listed.get(after.checked_sub(1)?)?;
        (address < end).then_some((Holder::Listed(row), address - start))
    }

    /// The name of the next event's allocation or segment, and for an alloc the segment that contains it. `allocation`:
    /// the row of the event's allocation, `u32::MAX` without one.
    fn of_event(
        &mut self,
        event: &Event,
        allocation: u32,
    ) -> (Option<Name>, Option<(Holder, u64)>) {
        let own = self.of_allocation.get_mut(allocation as usize);
        match event.action {
            Action::Alloc => {
                let new = new_name(&mut self.count);
                if let Some(own) = own {
                    *own = Some(new);
                }
                (Some(new), self.holder(event.addr))
            }
            Action::FreeRequested | Action::FreeCompleted | Action::Annotate => {
                (own.and_then(|own| *own), None)
            }
            Action::SegmentAlloc => {
                let new = new_name(&mut self.count);
                let end = event.addr.saturating_add(event.size);
                self.held.insert(event.addr, (end, new));
                (Some(new), None)
            }
            Action::SegmentFree => {
                let gone = self.held.remove(&event.addr);
                (gone.map(|(_, name)| name), None)
            }
            _ => (None, None),
        }
    }
}

fn new_name(count: &mut u32) -> Name {
    *count += 1;
    Name(*count - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    #[test]
    fn places_are_those_of_the_time() {
        let snapshot = decode(
            &br#"{"segments": [
            {"device": 1, "address": 0, "total_size": 100, "blocks": []},
            {"device": 0, "address": 9000, "total_size": 1000, "blocks": []}],
            "device_traces": [[
            {"action": "free_completed", "addr": 9100, "size": 1},
            {"action": "alloc", "addr": 9100, "size": 1},
            {"action": "segment_alloc", "addr": 4096, "size": 512},
            {"action": "segment_free", "addr": 4096, "size": 512},
            {"action": "alloc", "addr": 4200, "size": 1},
            {"action": "segment_alloc", "addr": 4000, "size": 512},
            {"action": "alloc", "addr": 4200, "size": 1},
            {"action": "free_requested", "addr": 9100, "size": 1},
            {"action": "free_completed", "addr": 9100, "size": 1},
            {"action": "free_completed", "addr": 9100, "size": 1}]]}"#[..],
        )
        .unwrap();
        let history = History::of(&snapshot, 0);
        let steps: Vec<_> = trace_steps(&snapshot, &history)
            .map(|step| {
                let name = step.name.map(|name| name.to_string());
                (name.unwrap_or_default(), step.holder)
            })
            .collect();
        let step = |name: &str, holder| (name.to_owned(), holder);
        let expected = [
            step("", None),
            step("a", Some((Holder::Listed(1), 100))),
            step("b", None),
            step("b", None),
            step("c", None),
            step("d", None),
            step("e", Some((Holder::Recorded(Name(3)), 200))),
            step("a", None),
            step("a", None),
            step("", None),
        ];
        assert_eq!(steps, expected);
    }

    #[test]
    fn names_go_round() {
        let names = [0, 25, 26, 51, 52].map(|number| Name(number).to_string());
        assert_eq!(names, ["a", "z", "a1", "z1", "a2"]);
    }
}
