//! Where the memory of allocations is, as levels of a call tree: pool, blocks for the same requests, segment.

use std::collections::HashMap;

use crate::analysis::code::call_tree::Places;
use crate::analysis::code::frame_groups::{GroupId, GroupTable};
use crate::analysis::memory::allocator_state::SizeClass;
use crate::analysis::memory::segment_history::SegmentLife;
use crate::analysis::recording::Device;
use crate::analysis::search::filter::{Filter, rows};
use crate::units::Bytes;

/// The places of a device's allocations.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct MemoryPlaces {
    /// The place of each allocation, in three levels: the pool; the stream and size class, whose requests share free
    /// blocks; the segment.
    pub places: Places,
    /// For the group of each pool, a filter that matches its allocations.
    pub pools: HashMap<GroupId, Filter>,
}

impl MemoryPlaces {
    /// The places of all allocations: the segment that contained each when it was born. The names go into `table`.
    #[must_use]
    pub fn of(device: Device<'_>, table: &mut GroupTable) -> Self {
        let segments = device.segments();
        let of = segments.of_allocations(&device.history.allocations);
        let of = of
            .into_iter()
            .map(|segment| segment.map_or(0, |row| row + 1));
        let unknown = [Some("in no known segment".to_owned()), None, None];
        let known = segments.segments.iter().map(|life| levels(device, life));
        let places = Places::new(of.collect(), std::iter::once(unknown).chain(known), table);
        let pools = device.recording.pools().all().iter();
        let pools = pools.filter_map(|pool| Some((table.find(&pool.label())?, pool.id)));
        Self {
            places,
            pools: pools
                .map(|(group, id)| (group, rows::of_pool(id)))
                .collect(),
        }
    }
}

/// The names of a segment's levels. A pool that the file does not record has no name.
fn levels(device: Device<'_>, life: &SegmentLife) -> [Option<String>; 3] {
    let recording = device.recording;
    let pool = life.pool.map(|pool| recording.pools().label(pool));
    let stream = recording.streams().name(life.stream);
    let requests = match SizeClass::of_kind(life.kind) {
        Some(SizeClass::Small) => format!("{stream}, requests up to 1 MiB"),
        Some(SizeClass::Large) => format!("{stream}, requests beyond 1 MiB"),
        None => stream,
    };
    let word = if life.is_expandable {
        "expandable segment"
    } else {
        "segment"
    };
    let (address, bytes) = (life.address, Bytes(life.extent_bytes));
    [
        pool,
        Some(requests),
        Some(format!("{bytes} {word} at {address:#x}")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::code::call_tree::{CallTree, Paths, StackSums, TreeOptions, folded};
    use crate::analysis::code::frame_groups::{Fold, FrameGrouping, FrameGroups, GroupOptions};
    use crate::analysis::recording::Recording;
    use crate::analysis::time::selection::{Selection, Weight};
    use crate::decode;
    use vramscope_synth::{snapshot::Producer, text};

    #[test]
    fn the_tree_goes_from_pool_over_stream_and_segment_to_code() {
        let story = "alloc a 4MiB pool=0,1 kv.py:2:make\nalloc b 1KiB w.py:3:load\n\
            alloc c 4MiB stream=7 w.py:4:copy\nfree c\nalloc d 2MiB w.py:3:load";
        let bytes = text::pickle(story, Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(decode(bytes.as_slice()).unwrap());
        let device = recording.device(0).unwrap();
        let (snapshot, sites) = (&recording.snapshot, recording.call_sites());
        let mut table = GroupTable::default();
        let options = GroupOptions {
            grouping: FrameGrouping::Line,
            fold: Fold::Runtime,
            ..GroupOptions::default()
        };
        let groups = FrameGroups::of(snapshot, recording.classes(), &options, &mut table);
        let found = MemoryPlaces::of(device, &mut table);
        let options = TreeOptions {
            selection: Selection::LiveAt(device.history.event_count),
            weight: Weight::Bytes,
            only: None,
            matches: None,
        };
        let places = &found.places;
        let sums = StackSums::by_place(snapshot, device.history, sites, &options, places);
        let tree = CallTree::top_down(&Paths::by_place(snapshot, &groups, places, &sums));
        let text = folded(&tree, &table).unwrap();
        let lines: Vec<String> = text.lines().map(without_address).collect();
        let expected = [
            "MemPool (0, 1);default stream, requests beyond 1 MiB;20.0 MiB segment;kv.py:2 make 4194304",
            "default pool;default stream, requests beyond 1 MiB;20.0 MiB segment;w.py:3 load 2097152",
            "default pool;default stream, requests up to 1 MiB;2.00 MiB segment;w.py:3 load 1024",
        ];
        assert_eq!(lines, expected);
        let pool = table.find("MemPool (0, 1)").unwrap();
        assert_eq!(found.pools[&pool].to_string(), "pool:0,1");
    }

    fn without_address(line: &str) -> String {
        let (before, rest) = line.split_once(" at 0x").unwrap();
        let (_, after) = rest.split_once(';').unwrap();
        format!("{before};{after}")
    }
}
