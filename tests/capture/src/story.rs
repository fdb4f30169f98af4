//! What happened to a device's memory, as the ledger has it and as a snapshot tells it, in the same words.

use std::collections::BTreeMap;

use vramscope_core::Snapshot;
use vramscope_core::analysis::history::{History, Mismatches};
use vramscope_core::analysis::replay::Replay;
use vramscope_core::ids::EventId;
use vramscope_core::model::Action;

use crate::ledger::{Do, Ledger};

/// One thing that happened; addresses and bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[expect(missing_docs, reason = "named alike")]
pub enum Step {
    Map { base: u64, bytes: u64 },
    Alloc { address: u64, requested: u64 },
    Free { address: u64, requested: u64 },
    Unmap { base: u64, bytes: u64 },
    OutOfMemory { requested: u64, free_bytes: u64 },
}

/// One device's memory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Story {
    /// What happened, in order. Where several things went at once (a context ended, a pool was trimmed) they stand by
    /// address, for there is no order among them.
    pub steps: Vec<Step>,
    /// What is live in the end: address, requested bytes.
    pub live: BTreeMap<u64, u64>,
    /// What is mapped in the end: base, bytes; touching mappings of address ranges are one.
    pub mapped: BTreeMap<u64, u64>,
    /// The most requested bytes that were live at a time.
    pub peak_bytes: u64,
}

impl Story {
    /// As the ledger has it.
    ///
    /// # Panics
    ///
    /// When the ledger contradicts itself.
    #[must_use]
    pub fn of_ledger(ledger: &Ledger, device: u32) -> Self {
        let mut story = Self::default();
        // Mappings of address ranges may touch, and are then one segment.
        let mut ranges: BTreeMap<u64, u64> = BTreeMap::new();
        let mut live_bytes = 0;
        for line in ledger.lines.iter().filter(|line| line.device == device) {
            let (address, requested, bytes) = (line.address, line.requested, line.bytes);
            let step = match line.what {
                Do::Map if line.call == "cuMemMap" => {
                    ranges.insert(address, bytes);
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
                    let known = ranges.remove(&address).or(story.mapped.remove(&address));
                    assert_eq!(known, Some(bytes));
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
        for (base, bytes) in ranges {
            match story.mapped.last_entry() {
                Some(mut last) if end == Some(base) && *last.key() + *last.get() == base => {
                    *last.get_mut() += bytes;
                }
                _ => drop(story.mapped.insert(base, bytes)),
            }
            end = Some(base + bytes);
        }
        story.order_ends();
        story
    }

    /// As a snapshot tells it.
    ///
    /// # Panics
    ///
    /// When core finds it inconsistent.
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
            // A ring's oldest entry may be the second half of a free.
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

    /// Sorts what goes without anything coming between.
    fn order_ends(&mut self) {
        let is_end = |step: &Step| matches!(step, Step::Free { .. } | Step::Unmap { .. });
        for run in self.steps.chunk_by_mut(|a, b| is_end(a) && is_end(b)) {
            run.sort_unstable();
        }
    }

    /// What happened at each address, and to each mapping: what several threads did keeps its order there only.
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

/// Compares a snapshot with the ledger of its process, device by device, in every respect.
///
/// # Panics
///
/// Where they differ.
pub fn assert_same(snapshot: &Snapshot, ledger: &Ledger) {
    for device in devices(snapshot, ledger) {
        let told = Story::of_snapshot(snapshot, device);
        let truth = Story::of_ledger(ledger, device);
        let both = told.steps.iter().zip(&truth.steps);
        if let Some(at) = both.clone().position(|(told, truth)| told != truth) {
            panic!(
                "device {device}, step {at}:\n told {:#x?}\n truth {:#x?}",
                context(&told.steps, at),
                context(&truth.steps, at)
            );
        }
        let common = both.count();
        assert_eq!(
            told.steps.get(common..),
            truth.steps.get(common..),
            "device {device}, the end"
        );
        assert_same_end(&told, &truth, device);
        assert_eq!(
            told.peak_bytes, truth.peak_bytes,
            "device {device}, the peak"
        );
    }
}

/// The same for a program of several threads: what happened at each address, and the end.
///
/// # Panics
///
/// Where they differ.
pub fn assert_same_by_address(snapshot: &Snapshot, ledger: &Ledger) {
    for device in devices(snapshot, ledger) {
        let told = Story::of_snapshot(snapshot, device);
        let truth = Story::of_ledger(ledger, device);
        let (told_steps, truth_steps) = (told.by_address(), truth.by_address());
        for (key @ (is_mapping, _), truth) in &truth_steps {
            let told = told_steps.get(key).expect("the place is known");
            if *is_mapping {
                // A free is logged before it happens and an allocation after: so a mapping may seem to go and to come
                // back when another thread took something of it at the same time. It is never the other way round.
                let more = told.len().checked_sub(truth.len());
                assert!(
                    more.is_some_and(|more| more.is_multiple_of(2)),
                    "device {device}, {key:x?}"
                );
            } else {
                assert_eq!(told, truth, "device {device}, {key:x?}");
            }
        }
        assert_eq!(
            told_steps.len(),
            truth_steps.len(),
            "device {device}, places"
        );
        assert_same_end(&told, &truth, device);
    }
}

/// The same for memory of graphs, whose mappings the driver is not asked about while a stream is captured: what was
/// given out and what is live.
///
/// # Panics
///
/// Where they differ.
pub fn assert_same_blocks(snapshot: &Snapshot, ledger: &Ledger) {
    for device in devices(snapshot, ledger) {
        let told = Story::of_snapshot(snapshot, device);
        let truth = Story::of_ledger(ledger, device);
        let is_block = |step: &Step| matches!(step, Step::Alloc { .. } | Step::Free { .. });
        let blocks = |story: &Story| -> Vec<_> {
            let steps = story.steps.iter().copied();
            steps.filter(is_block).collect()
        };
        assert_eq!(blocks(&told), blocks(&truth), "device {device}");
        assert_eq!(told.live, truth.live, "device {device}, live in the end");
        assert_eq!(
            told.peak_bytes, truth.peak_bytes,
            "device {device}, the peak"
        );
    }
}

fn assert_same_end(told: &Story, truth: &Story, device: u32) {
    assert_eq!(told.live, truth.live, "device {device}, live in the end");
    assert_eq!(
        told.mapped, truth.mapped,
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
