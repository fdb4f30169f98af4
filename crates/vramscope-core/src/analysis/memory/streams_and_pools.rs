//! The stream and memory pool of allocations: from their events, else from the segment that contains them.
//!
//! Allocations from before the recording have no alloc event, and events have no pool before torch 2.12. Then the final
//! state's segment at the same address is used, unless it was mapped after the allocation had ended. For allocations in
//! expandable segments the answer is likely but not certain: in between, the segment may have been released and its
//! addresses reused.
//! been released and its addresses reused.

use std::ops::Index;

use crate::Snapshot;
use crate::analysis::time::history::History;
use crate::ids::{AllocationId, ContextId, SegmentId};
use crate::model::{Action, Context, DeviceIndex, Segment};
use crate::sorting::SortFew;

/// The final state's segment that contains an address; `None` if no segment does. Searches all segments of the device;
/// use [`column()`] for many allocations.
pub(crate) fn segment_at(
    snapshot: &Snapshot,
    device: DeviceIndex,
    address: u64,
) -> Option<(SegmentId, &Segment)> {
    own_segments(snapshot, device)
        .filter(|(_, segment)| segment.address <= address)
        .max_by_key(|(_, segment)| segment.address)
        .filter(|(_, segment)| address < segment.end())
}

/// The context of an allocation's alloc event or, if that was not recorded, of its free. `None` if neither was
/// recorded.
pub(crate) fn context_of<'a>(
    snapshot: &'a Snapshot,
    history: &History,
    id: AllocationId,
) -> Option<&'a Context> {
    context_id_of(snapshot, history, id).map(|id| snapshot.contexts.get(id))
}

/// A value for each allocation of a device: `of_context` of its event's context or, if that is `None`,
/// `of_segment` of the segment that contains it. Both functions are called once per context and segment.
#[must_use]
pub fn column<T: Copy>(
    snapshot: &Snapshot,
    history: &History,
    of_context: impl Fn(&Context) -> Option<T>,
    of_segment: impl Fn(&Segment) -> Option<T>,
) -> Vec<Option<T>> {
    let few = few_values(snapshot, history, of_context, of_segment);
    few.iter().copied().collect()
}

/// [`column()`] in less memory.
#[must_use]
pub fn few_values<T>(
    snapshot: &Snapshot,
    history: &History,
    of_context: impl Fn(&Context) -> Option<T>,
    of_segment: impl Fn(&Segment) -> Option<T>,
) -> FewValues<T> {
    let of_contexts = snapshot.contexts.rows().iter().map(of_context);
    let of_segments = snapshot.segments.rows.iter().map(of_segment);
    let values = of_contexts.chain(of_segments).chain([None]);
    let values: Vec<Option<T>> = values.collect();
    let is_known: Vec<bool> = values.iter().map(Option::is_some).collect();
    FewValues {
        of: places(snapshot, history, &is_known),
        values,
    }
}

/// For each allocation the number of its event's context if `is_known`, else of the segment that contains it, counted
/// after the contexts, else the number after both.
fn places(snapshot: &Snapshot, history: &History, is_known: &[bool]) -> Places {
    let contexts = snapshot.contexts.rows().len();
    let unknown = is_known.len() - 1;
    if !is_known.contains(&true) {
        return Places::of(
            is_known.len(),
            history.allocations.bytes.iter().map(|_| unknown),
        );
    }
    let segments_tell = is_known[contexts..].contains(&true);
    let segment_at = segment_of_addresses(snapshot, history.device);
    let mapped_at = match is_known[..contexts].contains(&false) {
        true => mapping_moments(snapshot, history, &segment_at),
        false => Vec::new(),
    };
    let place = |(row, &address): (usize, &u64)| {
        let context = context_id_of(snapshot, history, AllocationId::from_index(row));
        let context = context.map(|id| id.index());
        let known = context.filter(|&place| place < contexts && is_known[place]);
        let segment = || {
            let id = segment_at(address).filter(|_| segments_tell)?;
            let mapped = mapped_at.get(id.index()).copied().unwrap_or(0);
            let was_there = history.allocations.died[row] > mapped;
            was_there.then_some(contexts + id.index())
        };
        known.or_else(segment).unwrap_or(unknown)
    };
    let addresses = history.allocations.address.iter().enumerate();
    Places::of(is_known.len(), addresses.map(place))
}

/// By segment of the final state: the moment at which it was mapped; 0 for expandable segments, which come and go in
/// pieces.
fn mapping_moments(
    snapshot: &Snapshot,
    history: &History,
    segment_at: impl Fn(u64) -> Option<SegmentId>,
) -> Vec<u32> {
    let mut moments = vec![0; snapshot.segments.rows.len()];
    for (row, moment) in snapshot.trace(history.device).zip(1..) {
        if snapshot.events.action[row as usize] != Action::SegmentAlloc {
            continue;
        }
        let address = snapshot.events.addr[row as usize];
        let id = segment_at(address);
        if let Some(id) = id.filter(|id| snapshot.segments.get(*id).address == address) {
            moments[id.index()] = moment;
        }
    }
    moments
}

/// A column of few distinct values, which takes 2 bytes a row however large they are; 4 for more than 65,536 values.
#[derive(Clone, Debug)]
pub struct FewValues<T> {
    /// The values of all contexts, then of all segments, then `None`.
    values: Vec<Option<T>>,
    of: Places,
}

/// By row: the index of its value.
#[derive(Clone, Debug)]
enum Places {
    Few(Vec<u16>),
    Many(Vec<u32>),
}

impl Places {
    /// Indexes into so many values.
    fn of(values: usize, rows: impl Iterator<Item = usize>) -> Self {
        match values {
            0..=0x1_0000 => Self::Few(rows.map(|place| place as u16).collect()),
            _ => Self::Many(rows.map(|place| place as u32).collect()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Few(of) => of.len(),
            Self::Many(of) => of.len(),
        }
    }

    fn get(&self, row: usize) -> Option<usize> {
        match self {
            Self::Few(of) => of.get(row).map(|&place| place.into()),
            Self::Many(of) => of.get(row).map(|&place| place as usize),
        }
    }
}

impl<T> FewValues<T> {
    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The possible values; may contain duplicates.
    pub(crate) fn values(&self) -> &[Option<T>] {
        &self.values
    }

    /// The index of a row's value in [`values`](Self::values).
    pub(crate) fn place(&self, row: usize) -> usize {
        match &self.of {
            Places::Few(of) => of[row].into(),
            Places::Many(of) => of[row] as usize,
        }
    }

    /// The value of a row; `None` if there is no such row.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&Option<T>> {
        self.values.get(self.of.get(row)?)
    }

    /// The values of all rows.
    #[must_use]
    pub fn iter(&self) -> Rows<'_, T> {
        Rows {
            values: &self.values,
            of: match &self.of {
                Places::Few(of) => RowPlaces::Few(of.iter()),
                Places::Many(of) => RowPlaces::Many(of.iter()),
            },
        }
    }
}

impl<T> Index<usize> for FewValues<T> {
    type Output = Option<T>;

    fn index(&self, row: usize) -> &Option<T> {
        &self.values[self.place(row)]
    }
}

impl<'a, T> IntoIterator for &'a FewValues<T> {
    type Item = &'a Option<T>;
    type IntoIter = Rows<'a, T>;

    fn into_iter(self) -> Rows<'a, T> {
        self.iter()
    }
}

/// The values of a column, row by row.
#[derive(Clone, Debug)]
pub struct Rows<'a, T> {
    values: &'a [Option<T>],
    of: RowPlaces<'a>,
}

/// The indexes of the remaining rows.
#[derive(Clone, Debug)]
enum RowPlaces<'a> {
    Few(std::slice::Iter<'a, u16>),
    Many(std::slice::Iter<'a, u32>),
}

impl<'a, T> Iterator for Rows<'a, T> {
    type Item = &'a Option<T>;

    #[inline]
    fn next(&mut self) -> Option<&'a Option<T>> {
        let place = match &mut self.of {
            RowPlaces::Few(of) => usize::from(*of.next()?),
            RowPlaces::Many(of) => *of.next()? as usize,
        };
        self.values.get(place)
    }
}

/// Returns a function from an address to the final state's segment that contains it. Fast for many addresses.
pub(crate) fn segment_of_addresses(
    snapshot: &Snapshot,
    device: DeviceIndex,
) -> impl Fn(u64) -> Option<SegmentId> {
    by_address(snapshot, device, |id, _| Some(id))
}

/// Returns a function from an address to `value` of the final state's segment that contains it. `value` is called once
/// per segment.
fn by_address<T: Copy>(
    snapshot: &Snapshot,
    device: DeviceIndex,
    value: impl Fn(SegmentId, &Segment) -> Option<T>,
) -> impl Fn(u64) -> Option<T> {
    let mut segments: Vec<_> = own_segments(snapshot, device)
        .map(|(id, segment)| (segment.address, segment.end(), value(id, segment)))
        .collect();
    // The sort is stable: of several segments at one address, in a damaged file, the last one counts, as in
    // `segment_at`.
    segments.sort_few_by_key(|&(address, ..)| address);
    move |address| {
        let after = segments.partition_point(|&(start, ..)| start <= address);
        let &(_, end, value) = segments.get(after.checked_sub(1)?)?;
        value.filter(|_| address < end)
    }
}

/// The id of the context of an allocation's alloc event or, if that was not recorded, of its free.
pub(crate) fn context_id_of(
    snapshot: &Snapshot,
    history: &History,
    id: AllocationId,
) -> Option<ContextId> {
    let event = history
        .alloc_event(id)
        .or_else(|| history.free_requested_event(id))
        .or_else(|| history.free_completed_event(id))?;
    snapshot.events.context.get(event.index()).copied()
}

fn own_segments(
    snapshot: &Snapshot,
    device: DeviceIndex,
) -> impl Iterator<Item = (SegmentId, &Segment)> {
    // A device index beyond `i32` has no segments. -1 is the host.
    let device = i32::try_from(device).unwrap_or(i32::MIN);
    snapshot.segments.of_device(device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;
    use crate::model::PoolId;

    const FILE: &str = r#"{"segments": [
        {"device": 0, "address": 8192, "total_size": 512, "stream": 7, "segment_pool_id": [0, 3], "blocks": [
            {"address": 8192, "size": 512, "requested_size": 512, "state": "active_allocated"}]},
        {"device": 0, "address": 4096, "total_size": 1024, "stream": 0, "segment_pool_id": [0, 0], "blocks": [
            {"address": 4096, "size": 1024, "requested_size": 500, "state": "active_allocated"}]}],
        "device_traces": [[
        {"action": "alloc", "addr": 4096, "size": 500, "stream": 5},
        {"action": "alloc", "addr": 5120, "size": 500, "stream": 5}]]}"#;

    #[test]
    fn the_segment_tells_what_no_event_does() {
        let snapshot = decode(FILE.as_bytes()).unwrap();
        let history = History::of(&snapshot, 0);
        let (only_in_state, recorded, outside) = (
            (Some(7), Some(PoolId(0, 3))),
            (Some(5), Some(PoolId(0, 0))),
            (Some(5), None),
        );
        let stream = |context: &Context| Some(context.stream);
        let streams = column(&snapshot, &history, stream, |segment| segment.stream);
        let pool = |context: &Context| context.pool;
        let pools = few_values(&snapshot, &history, pool, |segment| segment.pool);
        let columns: Vec<_> = streams.into_iter().zip(pools.iter().copied()).collect();
        assert_eq!(columns, [only_in_state, recorded, outside]);
        assert_eq!((pools.len(), pools.get(3)), (3, None));
        assert!((0..3).all(|row| pools[row] == columns[row].1));
    }

    #[test]
    fn places_are_the_same_among_few_and_many_values() {
        let rows = [3, 0, 0xffff, 0];
        for values in [0x1_0000, 0x1_0001] {
            let places = Places::of(values, rows.into_iter());
            assert_eq!(places.len(), 4);
            assert!(
                (0..)
                    .zip(rows)
                    .all(|(row, place)| places.get(row) == Some(place))
            );
            assert_eq!(places.get(4), None);
        }
        let last = Places::of(0x1_0001, [0x1_0000].into_iter());
        assert_eq!(last.get(0), Some(0x1_0000));
    }

    /// Another segment had the addresses before.
    #[test]
    fn a_segment_that_was_mapped_later_tells_nothing() {
        let file = r#"{"segments": [
            {"device": 0, "address": 4096, "total_size": 2048, "stream": 7, "segment_pool_id": [0, 3], "blocks": [
                {"address": 4096, "size": 2048, "requested_size": 2048, "state": "active_allocated"}]}],
            "device_traces": [[
            {"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 5},
            {"action": "alloc", "addr": 4096, "size": 2048, "stream": 5},
            {"action": "free_requested", "addr": 4096, "size": 2048, "stream": 5},
            {"action": "free_completed", "addr": 4096, "size": 2048, "stream": 5},
            {"action": "segment_free", "addr": 4096, "size": 2048, "stream": 5},
            {"action": "segment_alloc", "addr": 4096, "size": 2048, "stream": 7},
            {"action": "alloc", "addr": 4096, "size": 2048, "stream": 7}]]}"#;
        let snapshot = decode(file.as_bytes()).unwrap();
        let history = History::of(&snapshot, 0);
        let pools = column(&snapshot, &history, |_| None, |segment| segment.pool);
        assert_eq!(pools, [None, Some(PoolId(0, 3))]);
    }
}
