//! The history of a device's memory, in one form from the ledger and from a snapshot.

use std::collections::{BTreeMap, BTreeSet};

use vramscope_core::Snapshot;
use vramscope_core::analysis::time::history::{History, Mismatches};
use vramscope_core::analysis::time::replay::Replay;
use vramscope_core::ids::EventId;
use vramscope_core::model::Action;

use crate::ledger::{Do, Ledger};

/// One event, with addresses and bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "named alike")]
pub enum Step {
    Map { base: u64, bytes: u64 },
    Alloc { address: u64, requested: u64 },
    Free { address: u64, requested: u64 },
    Unmap { base: u64, bytes: u64 },
    OutOfMemory { requested: u64, free_bytes: u64 },
}

/// The history and the final state of a device's memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Story {
    /// Events in order. Simultaneous events (a context ended, a pool was trimmed) are sorted by address, as they have
    /// no order.
    pub steps: Vec<Step>,
    /// Live allocations at the end: address → requested bytes.
    pub live: BTreeMap<u64, u64>,
    /// Mappings at the end: start → bytes. Adjacent mappings of address ranges and of a pool are joined.
    pub mapped: BTreeMap<u64, u64>,
    /// Maximum of the requested bytes live at the same time.
    pub peak_bytes: u64,
}

impl Story {
    /// Builds the story of a device from the ledger.
    ///
    /// # Panics
    ///
    /// If the ledger contradicts itself.
    #[must_use]
    pub fn of_ledger(ledger: &Ledger, device: u32) -> Self {
        let mut story = Self::default();
        // Adjacent mappings of address ranges form one segment, and so do those of a pool: start → bytes and pool.
        let mut ranges: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
        let mut live_bytes = 0;
        for line in ledger.lines.iter().filter(|line| line.device == device) {
            let (address, requested, bytes) = (line.address, line.requested, line.bytes);
            let step = match line.what {
                Do::Map if line.call == "cuMemMap" || line.pool != 0 => {
                    assert_eq!(ranges.insert(address, (bytes, line.pool)), None);
                    Step::Map {
                        base: address,
                        bytes,
                    }
                }
                Do::Map => {
                    assert_eq!(story.mapped.insert(address, bytes), None);
                    Step::Map {
                        base: address,
                        bytes,
                    }
                }
                Do::Unmap => {
                    let range = ranges.remove(&address).map(|(bytes, _)| bytes);
                    assert_eq!(range.or(story.mapped.remove(&address)), Some(bytes));
                    Step::Unmap {
                        base: address,
                        bytes,
                    }
                }
                Do::Alloc => {
                    assert_eq!(story.live.insert(address, requested), None);
                    live_bytes += requested;
                    story.peak_bytes = story.peak_bytes.max(live_bytes);
                    Step::Alloc { address, requested }
                }
                Do::Free => {
                    assert_eq!(story.live.remove(&address), Some(requested));
                    live_bytes -= requested;
                    Step::Free { address, requested }
                }
                Do::Oom => Step::OutOfMemory {
                    requested,
                    free_bytes: line.free_bytes,
                },
                _ => continue,
            };
            story.steps.push(step);
        }
        let mut end = None;
        let mut start = 0;
        for (base, (bytes, pool)) in ranges {
            if end != Some((base, pool)) {
                start = base;
            }
            *story.mapped.entry(start).or_default() += bytes;
            end = Some((base + bytes, pool));
        }
        story.order_ends();
        story
    }

    /// Builds the story of a device from a snapshot.
    ///
    /// # Panics
    ///
    /// If core finds the snapshot inconsistent.
    #[must_use]
    pub fn of_snapshot(snapshot: &Snapshot, device: u32) -> Self {
        let history = History::of(snapshot, device);
        let replay = Replay::of(snapshot, &history);
        assert_eq!(replay.mismatched_segment_events, 0, "segments fit");
        let first = snapshot
            .trace(device)
            .next()
            .map(|row| snapshot.events.get(EventId(row)).action);
        let cut = Mismatches {
            // With a bounded history, the oldest entry may be the second half of a free.
            completed_without_request: u64::from(first == Some(Action::FreeCompleted)),
            ..Mismatches::default()
        };
        assert_eq!(history.mismatches, cut, "events fit");
        let steps = snapshot.trace(device).filter_map(|row| {
            let event = snapshot.events.get(EventId(row));
            let (address, bytes) = (event.addr, event.size);
            match event.action {
                Action::Alloc => Some(Step::Alloc {
                    address,
                    requested: bytes,
                }),
                Action::FreeCompleted => Some(Step::Free {
                    address,
                    requested: bytes,
                }),
                Action::SegmentAlloc | Action::SegmentMap => Some(Step::Map {
                    base: address,
                    bytes,
                }),
                Action::SegmentFree | Action::SegmentUnmap => Some(Step::Unmap {
                    base: address,
                    bytes,
                }),
                Action::Oom => Some(Step::OutOfMemory {
                    requested: bytes,
                    free_bytes: address,
                }),
                _ => None,
            }
        });
        let mut story = Self {
            steps: steps.collect(),
            peak_bytes: history.active_bytes.iter().copied().max().unwrap_or(0),
            ..Self::default()
        };
        for (_, segment) in snapshot.segments.of_device(device as i32) {
            story.mapped.insert(segment.address, segment.total_size);
            let blocks = segment.block_ids().map(|id| snapshot.blocks.get(id));
            for block in blocks.filter(|block| block.state.is_active()) {
                let requested = snapshot.blocks.requested_bytes(block);
                story.live.insert(block.address, requested);
            }
        }
        story.order_ends();
        story
    }

    /// Both stories of a device, made comparable: chunks of a pool that appear or vanish together are one entry in a
    /// snapshot, but one line each in the ledger.
    #[must_use]
    pub fn both(snapshot: &Snapshot, ledger: &Ledger, device: u32) -> (Self, Self) {
        let (mut reported, mut truth) = (
            Self::of_snapshot(snapshot, device),
            Self::of_ledger(ledger, device),
        );
        let starts = |step: &Step| match *step {
            Step::Map { base, .. } => Some(base),
            _ => None,
        };
        let starts: BTreeSet<u64> = truth.steps.iter().filter_map(starts).collect();
        for story in [&mut reported, &mut truth] {
            let steps = story.steps.drain(..);
            story.steps = steps.flat_map(|step| pieces(step, &starts)).collect();
            story.order_ends();
        }
        (reported, truth)
    }

    /// Sorts consecutive frees and consecutive unmappings.
    fn order_ends(&mut self) {
        let is_end = |step: &Step| matches!(step, Step::Free { .. } | Step::Unmap { .. });
        for run in self.steps.chunk_by_mut(|a, b| is_end(a) && is_end(b)) {
            run.sort_unstable();
        }
    }

    /// Events by address and by mapping. For several threads, only these have a defined order.
    #[must_use]
    pub fn by_address(&self) -> BTreeMap<(bool, u64), Vec<Step>> {
        let mut stories: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for &step in &self.steps {
            let key = match step {
                Step::Map { base, .. } | Step::Unmap { base, .. } => (true, base),
                Step::Alloc { address, .. } | Step::Free { address, .. } => (false, address),
                Step::OutOfMemory { .. } => continue,
            };
            stories.entry(key).or_default().push(step);
        }
        stories
    }
}

/// A step, cut where one of these mappings starts within it.
fn pieces(step: Step, starts: &BTreeSet<u64>) -> Vec<Step> {
    let (Step::Map { base, bytes } | Step::Unmap { base, bytes }) = step else {
        return vec![step];
    };
    let end = base + bytes;
    let within = starts.range(base + 1..end).copied();
    let ends = within.clone().chain([end]);
    let pieces = [base].into_iter().chain(within).zip(ends);
    let piece = |(base, end): (u64, u64)| {
        let bytes = end - base;
        match step {
            Step::Map { .. } => Step::Map { base, bytes },
            _ => Step::Unmap { base, bytes },
        }
    };
    pieces.map(piece).collect()
}

/// Compares a snapshot with the ledger of its process, for each device, completely.
///
/// # Panics
///
/// If they differ.
pub fn assert_same(snapshot: &Snapshot, ledger: &Ledger) {
    for device in devices(snapshot, ledger) {
        let (reported, truth) = Story::both(snapshot, ledger, device);
        let both = reported.steps.iter().zip(&truth.steps);
        if let Some(at) = both.clone().position(|(reported, truth)| reported != truth) {
            panic!(
                "device {device}, step {at}:\n reported {:#x?}\n truth {:#x?}",
                context(&reported.steps, at),
                context(&truth.steps, at)
            );
        }
        let common = both.count();
        assert_eq!(
            reported.steps.get(common..),
            truth.steps.get(common..),
            "device {device}, the end"
        );
        assert_same_end(&reported, &truth, device);
        assert_eq!(
            reported.peak_bytes, truth.peak_bytes,
            "device {device}, the peak"
        );
    }
}

/// Compares a snapshot of a program with several threads: the events at each address, and the final state.
///
/// # Panics
///
/// If they differ.
pub fn assert_same_by_address(snapshot: &Snapshot, ledger: &Ledger) {
    for device in devices(snapshot, ledger) {
        let (reported, truth) = Story::both(snapshot, ledger, device);
        let (reported_steps, truth_steps) = (reported.by_address(), truth.by_address());
        for (key @ (is_mapping, _), truth) in &truth_steps {
            let reported = reported_steps.get(key).expect("the place is known");
            if *is_mapping {
                // A free is logged before it happens, an allocation afterwards. So a mapping may seem to be removed
                // and added again when another thread allocated in it at the same time. The reverse never occurs.
                let more = reported.len().checked_sub(truth.len());
                assert!(
                    more.is_some_and(|more| more.is_multiple_of(2)),
                    "device {device}, {key:x?}"
                );
            } else {
                assert_eq!(reported, truth, "device {device}, {key:x?}");
            }
        }
        assert_eq!(
            reported_steps.len(),
            truth_steps.len(),
            "device {device}, places"
        );
        assert_same_end(&reported, &truth, device);
    }
}

/// Compares a snapshot with graph memory: only allocations and live memory. While a stream is being captured, the
/// driver is not queried for mappings.
///
/// # Panics
///
/// If they differ.
pub fn assert_same_blocks(snapshot: &Snapshot, ledger: &Ledger) {
    for device in devices(snapshot, ledger) {
        let (reported, truth) = Story::both(snapshot, ledger, device);
        let is_block = |step: &Step| matches!(step, Step::Alloc { .. } | Step::Free { .. });
        let blocks = |story: &Story| -> Vec<_> {
            let steps = story.steps.iter().copied();
            steps.filter(is_block).collect()
        };
        assert_eq!(blocks(&reported), blocks(&truth), "device {device}");
        assert_eq!(
            reported.live, truth.live,
            "device {device}, live in the end"
        );
        assert_eq!(
            reported.peak_bytes, truth.peak_bytes,
            "device {device}, the peak"
        );
    }
}

fn assert_same_end(reported: &Story, truth: &Story, device: u32) {
    assert_eq!(
        reported.live, truth.live,
        "device {device}, live in the end"
    );
    assert_eq!(
        reported.mapped, truth.mapped,
        "device {device}, mapped in the end"
    );
}

fn context(steps: &[Step], at: usize) -> &[Step] {
    let to = steps.len().min(at + 3);
    &steps[at.saturating_sub(3).min(to)..to]
}

fn devices(snapshot: &Snapshot, ledger: &Ledger) -> Vec<u32> {
    let mut devices = snapshot.devices();
    devices.extend(ledger.lines.iter().map(|line| line.device));
    devices.sort_unstable();
    devices.dedup();
    devices
}
