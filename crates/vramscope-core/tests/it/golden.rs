//! Our analyses against the official viewer's algorithms (see `official`).
//!
//! Where the viewer is right, the numbers are the same. Where it is not, its input is repaired first, each
//! repair is counted, and the numbers are then the same: so the difference is exactly the repairs, and
//! genuine files on one stream need none.

use std::collections::{BTreeMap, BTreeSet};

use vramscope_core::Snapshot;
use vramscope_core::analysis::time::history::{AllocationTable, History, NEVER};
use vramscope_core::analysis::time::replay::Replay;
use vramscope_core::ids::{AllocationId, EventId};
use vramscope_core::model::Action;
use vramscope_synth::files::{all_files, fixtures, real_files};

use crate::official::{self, Device, Entry};
use crate::support::decoded;

/// How often each mistake of the viewer had to be repaired.
#[derive(Default, Debug, PartialEq)]
struct Repairs {
    /// An alloc at an address where an allocation is live: the viewer never frees the older one.
    alloc_at_live_address: usize,
    /// Blocks pending free in the final state: the viewer leaves them out.
    pending_blocks: usize,
    /// A free that was requested and never completed, and is not pending either: the viewer never frees it.
    never_completed: usize,
}

impl Repairs {
    /// The viewer's input as it should have been.
    fn make(device: &Device) -> (Device, Self) {
        let mut repairs = Self::default();
        // Address of what is live → the entry that requested its free, if any.
        let mut live: BTreeMap<u64, Option<usize>> = BTreeMap::new();
        let mut entries: Vec<Entry> = Vec::new();
        for entry in &device.entries {
            match entry.action {
                "alloc" => match live.insert(entry.addr, None) {
                    Some(Some(request)) => {
                        entries[request].action = "free";
                        repairs.never_completed += 1;
                    }
                    Some(None) => {
                        entries.push(Entry {
                            action: "free",
                            ..entry.clone()
                        });
                        repairs.alloc_at_live_address += 1;
                    }
                    None => {}
                },
                "free_requested" => {
                    live.entry(entry.addr)
                        .or_default()
                        .get_or_insert(entries.len());
                }
                "free" | "free_completed" => drop(live.remove(&entry.addr)),
                _ => {}
            }
            entries.push(entry.clone());
        }
        let pending: BTreeSet<u64> = device
            .blocks
            .iter()
            .filter(|(_, b)| b.free_requested)
            .map(|(a, _)| *a)
            .collect();
        for (addr, request) in &live {
            if let Some(request) = request
                && !pending.contains(addr)
                && !device.segments.is_empty()
            {
                entries[*request].action = "free";
                repairs.never_completed += 1;
            }
        }
        let mut blocks = device.blocks.clone();
        for (_, block) in &mut blocks {
            repairs.pending_blocks += usize::from(block.free_requested);
            block.free_requested = false;
        }
        (
            Device {
                entries,
                segments: device.segments.clone(),
                blocks,
            },
            repairs,
        )
    }
}

fn check_memory_view(place: &str, device: &Device, history: &History) -> Repairs {
    let (repaired, repairs) = Repairs::make(device);
    let theirs = official::timeline(&repaired, false, usize::MAX);
    assert!(theirs.never_freed.is_empty(), "{place}: repaired");
    assert_eq!(
        theirs.elements,
        history.allocations.len(),
        "{place}: allocations, {repairs:?}"
    );
    let peak = history.active_bytes.iter().copied().max().unwrap_or(0);
    assert_eq!(theirs.peak, peak, "{place}: peak, {repairs:?}");
    assert_eq!(
        peak, history.active_bytes[history.peak_moment as usize],
        "{place}: peak_moment"
    );
    // The viewer notes a total before it takes off what an action frees.
    let last = theirs.last.unwrap_or(0) - theirs.freed_last;
    assert_eq!(
        Some(&last),
        history.active_bytes.last(),
        "{place}: last, {repairs:?}"
    );
    repairs
}

/// Reserved bytes are the final sum with later changes undone. The viewer's segment view knows only
/// `segment_alloc` and `segment_free`, so it is only asked where nothing is mapped or unmapped.
fn check_segment_view(
    place: &str,
    snapshot: &Snapshot,
    device: &Device,
    history: &History,
) -> bool {
    let change = |event: EventId| match snapshot.events.action[event.index()] {
        Action::SegmentAlloc | Action::SegmentMap => {
            i128::from(snapshot.events.size[event.index()])
        }
        Action::SegmentFree | Action::SegmentUnmap => {
            -i128::from(snapshot.events.size[event.index()])
        }
        _ => 0,
    };
    let mut bytes: i128 = device
        .segments
        .iter()
        .map(|segment| i128::from(segment.size))
        .sum();
    let mut curve = vec![bytes];
    for row in snapshot.trace(history.device).rev() {
        bytes -= change(EventId(row));
        curve.push(bytes);
    }
    curve.reverse();
    // A damaged file, or one without segments, would begin below zero: the curve is lifted.
    let lowest = curve.iter().copied().min().unwrap_or(0).min(0);
    for (moment, &bytes) in (0..).zip(&curve) {
        let ours = i128::from(history.reserved_bytes(moment));
        assert_eq!(
            ours,
            bytes - lowest,
            "{place}: reserved bytes at moment {moment}"
        );
    }
    let is_mapped = device
        .entries
        .iter()
        .any(|entry| matches!(entry.action, "segment_map" | "segment_unmap"));
    if lowest < 0 || is_mapped {
        return false;
    }
    let theirs = official::timeline(device, true, usize::MAX);
    if !theirs.never_freed.is_empty() {
        return false;
    }
    let highest = curve.iter().copied().max().unwrap_or(0);
    assert_eq!(
        i128::from(theirs.peak),
        highest,
        "{place}: highest reserved bytes"
    );
    let last = theirs.last.unwrap_or(0) - theirs.freed_last;
    assert_eq!(
        i128::from(last),
        curve[curve.len() - 1],
        "{place}: last reserved bytes"
    );
    true
}

/// The state after a number of entries, as the viewer undoes it and as we replay it.
fn check_state(
    place: &str,
    device: &Device,
    history: &History,
    replay: &Replay,
    count: usize,
) -> bool {
    let moment = count
        .checked_sub(1)
        .map_or(0, |last| device.entries[last].raw_end);
    let Ok(theirs) = official::state_with(device, count) else {
        return false;
    };
    let ours = replay.state_at(history, moment);
    let their_segments: Vec<_> = theirs
        .segments
        .iter()
        .map(|range| (range.addr, range.size))
        .collect();
    let our_segments: Vec<_> = ours
        .segments
        .iter()
        .map(|range| (range.address, range.bytes))
        .collect();
    assert_eq!(
        our_segments, their_segments,
        "{place}: segments at moment {moment}"
    );
    let their_blocks: Vec<_> = theirs
        .blocks
        .iter()
        .map(|(&addr, block)| (addr, block.requested_size, block.free_requested))
        .collect();
    let table = &history.allocations;
    let mut our_blocks: Vec<_> = ours
        .allocations
        .iter()
        .map(|id| {
            (
                table.address[id.index()],
                table.bytes[id.index()],
                is_pending(table, *id, moment),
            )
        })
        .collect();
    our_blocks.sort_unstable();
    assert_eq!(
        our_blocks, their_blocks,
        "{place}: blocks at moment {moment}"
    );
    true
}

/// Whether a free is pending. Where only its completion was recorded (the ring buffer lost the request, or
/// `skip_actions` did) the viewer takes the whole life until then for pending; we leave the request open.
fn is_pending(table: &AllocationTable, id: AllocationId, moment: u32) -> bool {
    let (requested, died) = (table.free_requested[id.index()], table.died[id.index()]);
    requested <= moment || (requested == NEVER && died != NEVER)
}

/// The emulated C++ file's events are random numbers: nothing leads from one to the next, and undoing
/// them is undefined. Mosaic's was edited: its blocks are not those its events lead to.
fn leads_to_its_end(name: &str) -> bool {
    !name.contains("cpp_pickler_emulated")
        && !name.contains("mosaic")
        && !name.contains("legacy/")
        && !name.contains("skipped_actions")
}

#[test]
fn memory_and_segments_are_the_viewers_but_for_its_mistakes() {
    let mut same_segments = 0;
    for file in all_files() {
        let snapshot = decoded(&file);
        for (index, device) in official::annotate(&snapshot).iter().enumerate() {
            let place = format!("{}, device {index}", file.name);
            let history = History::of(&snapshot, index as u32);
            let repairs = check_memory_view(&place, device, &history);
            let is_genuine = file.name.contains("__") && !file.name.starts_with("cpp_");
            if is_genuine {
                assert_eq!(repairs, genuine_repairs(&file.name), "{place}");
            } else if repairs != Repairs::default() {
                println!("{place}: {repairs:?}");
            }
            same_segments += usize::from(check_segment_view(&place, &snapshot, device, &history));
        }
    }
    assert!(
        same_segments > 60,
        "only {same_segments} devices without mapped segments"
    );
}

/// What the viewer misses in a genuine file.
fn genuine_repairs(name: &str) -> Repairs {
    Repairs {
        // Recorded while nine blocks were pending free.
        pending_blocks: if name.starts_with("volcengine__verl__") {
            9
        } else {
            0
        },
        ..Repairs::default()
    }
}

#[test]
fn every_state_is_the_viewers() {
    let mut checked = 0;
    for file in all_files()
        .iter()
        .filter(|file| leads_to_its_end(&file.name))
    {
        let snapshot = decoded(file);
        for (index, device) in official::annotate(&snapshot).iter().enumerate() {
            let place = format!("{}, device {index}", file.name);
            let history = History::of(&snapshot, index as u32);
            let replay = Replay::of(&snapshot, &history);
            assert_eq!(replay.mismatched_segment_events, 0, "{place}");
            let step = (device.entries.len() / 20).max(1);
            for count in (0..=device.entries.len()).step_by(step) {
                checked += usize::from(check_state(&place, device, &history, &replay, count));
            }
        }
    }
    assert!(checked > 500, "only {checked} states");
}

/// The reference's own rows, as far as they are about states, against ours.
#[test]
fn the_reference_counts_our_segments_and_blocks() {
    let files = real_files();
    for golden in official::golden(15_000)
        .iter()
        .filter(|golden| leads_to_its_end(&golden.file))
    {
        let file = files.iter().find(|file| file.name == golden.file).unwrap();
        let snapshot = decoded(file);
        let devices = official::annotate(&snapshot);
        for row in golden.devices.iter().filter(|row| row.seg.is_none()) {
            let Some(idx) = row.sim.as_ref().and_then(serde_json::Value::as_u64) else {
                continue;
            };
            let history = History::of(&snapshot, row.d as u32);
            let moment = devices[row.d]
                .entries
                .get(idx as usize)
                .map_or(0, |entry| entry.raw_end);
            let state = Replay::of(&snapshot, &history).state_at(&history, moment);
            assert_eq!(Some(state.segments.len()), row.nseg, "{}", file.name);
            assert_eq!(Some(state.reserved_bytes()), row.segbytes, "{}", file.name);
            assert_eq!(Some(state.allocations.len()), row.nblk, "{}", file.name);
            assert_eq!(
                Some(history.active_bytes[moment as usize]),
                row.blkbytes,
                "{}",
                file.name
            );
        }
    }
}

/// With its cap on drawn allocations the viewer clips the peak; without, and in ours, nothing is lost.
#[test]
fn the_viewers_cap_clips_its_peak() {
    let mut clipped = 0;
    for file in fixtures()
        .iter()
        .filter(|file| file.name.ends_with("/training.pickle"))
    {
        let snapshot = decoded(file);
        let device = &official::annotate(&snapshot)[0];
        let capped = official::timeline(device, false, 5);
        let whole = official::timeline(device, false, usize::MAX);
        assert!(capped.max_size <= whole.max_size && capped.peak == whole.peak);
        clipped += usize::from(capped.max_size < whole.peak);
    }
    assert!(clipped > 0);
}
