//! Names of allocations and segments in a log that reads like a program: `a`, `b`, … `z`, `a1`, ….
//!
//! They are given as in torch's `trace` (FORMAT.md 4.7): in the order of the alloc and segment_alloc events, and
//! never twice. Two mistakes of torch are avoided. torch looks an address up among all segments that it ever saw,
//! freed ones first, and in the final state only within the first `allocated_size` bytes of each; here the segment is
//! the one that contains the address at that time. And here a free names the allocation that it frees, never an older
//! tenant.

use std::collections::BTreeMap;
use std::fmt;

use super::history::History;
use crate::Snapshot;
use crate::ids::EventId;
use crate::model::Action;

/// A name by its number.
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
    /// A segment that is only in the final state: its index in the file's list of all devices.
    Listed(usize),
}

/// An event with its names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// Its index in the device's trace.
    pub place: u32,
    /// The event.
    pub id: EventId,
    /// The name of the allocation or segment that it is about, if there is one.
    pub name: Option<Name>,
    /// For an alloc: the segment that contains it, and its offset in bytes.
    pub holder: Option<(Holder, u64)>,
}

/// Iterates over a device's events in order, and names their allocations and segments.
pub struct TraceNames<'a> {
    snapshot: &'a Snapshot,
    history: &'a History,
    place: u32,
    next: u32,
    /// By allocation: its name; `None` without an alloc event.
    of_allocation: Vec<Option<Name>>,
    /// By start: end and name of the recorded segments that are currently held.
    held: BTreeMap<u64, (u64, Name)>,
    /// Start, end and row of the final state's segments, sorted by start.
    listed: Vec<(u64, u64, usize)>,
}

impl<'a> TraceNames<'a> {
    /// Before the first event.
    #[must_use]
    pub fn new(snapshot: &'a Snapshot, history: &'a History) -> Self {
        let own = snapshot.segments.rows.iter().enumerate();
        let own = own.filter(|(_, segment)| u32::try_from(segment.device) == Ok(history.device));
        let listed = own.map(|(row, segment)| (segment.address, segment.end(), row));
        let mut listed: Vec<_> = listed.collect();
        listed.sort_unstable();
        Self {
            snapshot,
            history,
            place: 0,
            next: 0,
            of_allocation: vec![None; history.allocations.len()],
            held: BTreeMap::new(),
            listed,
        }
    }

    fn new_name(&mut self) -> Name {
        self.next += 1;
        Name(self.next - 1)
    }

    /// The name slot of the allocation that the current event is about.
    fn allocation(&mut self) -> Option<&mut Option<Name>> {
        let row = *self.history.allocation_of_event.get(self.place as usize)?;
        self.of_allocation.get_mut(row as usize)
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
}

impl Iterator for TraceNames<'_> {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        if self.place >= self.history.event_count {
            return None;
        }
        let id = EventId(self.history.first_event + self.place);
        let event = self.snapshot.events.get(id);
        let (mut name, mut holder) = (None, None);
        match event.action {
            Action::Alloc => {
                let new = self.new_name();
                if let Some(known) = self.allocation() {
                    *known = Some(new);
                }
                (name, holder) = (Some(new), self.holder(event.addr));
            }
            Action::FreeRequested | Action::FreeCompleted | Action::Annotate => {
                name = self.allocation().and_then(|known| *known);
            }
            Action::SegmentAlloc => {
                let new = self.new_name();
                let end = event.addr.saturating_add(event.size);
                self.held.insert(event.addr, (end, new));
                name = Some(new);
            }
            Action::SegmentFree => name = self.held.remove(&event.addr).map(|(_, name)| name),
            _ => {}
        }
        self.place += 1;
        Some(Step {
            place: self.place - 1,
            id,
            name,
            holder,
        })
    }
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
        let steps: Vec<_> = TraceNames::new(&snapshot, &history)
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
