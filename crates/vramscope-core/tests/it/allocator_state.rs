//! The allocator's state at any moment: invariants for every file, stepping compared with jumping, the simulated
//! allocator's own blocks as the reference, and real files compared with their final states.

use proptest::collection::vec;
use proptest::prelude::*;
use vramscope_core::analysis::memory::allocator_state::{AllocatorState, BlockUse, StateSums};
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::time::history::History;
use vramscope_core::decode;
use vramscope_synth::files::all_files;
use vramscope_synth::random::{config, run_watched, steps};
use vramscope_synth::snapshot as synth;
use vramscope_synth::snapshot::{Producer, WriteOptions};

use crate::support::recorded;

/// Invariants of any device.
pub(crate) fn check(place: &str, device: Device<'_>) {
    let history = device.history;
    let count = history.event_count;
    // Sums of more than all addresses wrap or saturate.
    let is_sane = history
        .allocations
        .bytes
        .iter()
        .all(|&bytes| bytes < 1 << 50)
        && history.reserved_steps.iter().all(|step| step.1 < 1 << 60);
    let mut stepper = device.stepper_at(0);
    for moment in (0..=count)
        .step_by((count as usize / 20).max(1))
        .chain([count])
    {
        let state = device.state_at(moment);
        let place = format!("{place}: moment {moment}");
        check_blocks(&place, &state, is_sane);
        check_sums(&place, &state, history, is_sane);
        // Long distances are jumps, short ones are stepped: both, and back.
        let around = [moment, moment.saturating_sub(3), moment + 2, moment];
        for (step, moment) in around.into_iter().enumerate() {
            device.move_to(&mut stepper, moment);
            let jumped = device.state_at(moment);
            assert!(
                *stepper.state() == jumped,
                "{place}: step {step} to {moment}"
            );
        }
    }
}

fn check_blocks(place: &str, state: &AllocatorState, is_sane: bool) {
    for (row, segment) in state.segments.iter().enumerate() {
        let place = format!("{place}: segment {row}");
        let total: u64 = segment.blocks.iter().map(|block| block.bytes).sum();
        assert_eq!(total, segment.bytes, "{place}: tiles");
        let mut next = segment.address;
        for block in &segment.blocks {
            assert_eq!(block.address, next, "{place}: contiguous");
            assert!(block.requested_bytes <= block.bytes, "{place}");
            assert_eq!(block.usage == BlockUse::Free, block.allocation.is_none());
            next = next.wrapping_add(block.bytes);
        }
        let free_twice = segment
            .blocks
            .windows(2)
            .any(|pair| pair[0].allocation.is_none() && pair[1].allocation.is_none());
        assert!(!free_twice, "{place}: free neighbours are one");
        if is_sane && segment.bytes > 0 {
            assert_eq!(state.segment_at(segment.address), Some(row), "{place}");
            let last = segment.address.saturating_add(segment.bytes - 1);
            assert!(segment.block_at(last).is_some(), "{place}");
        }
        assert_eq!(segment.block_at(segment.address.wrapping_sub(1)), None);
    }
}

fn check_sums(place: &str, state: &AllocatorState, history: &History, is_sane: bool) {
    let mut of_segments = StateSums::default();
    let mut of_groups = StateSums::default();
    for segment in &state.segments {
        let sums = &segment.sums;
        let active = sums.active_bytes();
        assert_eq!(sums.reserved_bytes, active + sums.free_bytes, "{place}");
        assert_eq!(
            active,
            sums.requested_bytes + sums.rounding_bytes(),
            "{place}"
        );
        let group = state.groups[segment.group as usize];
        assert_eq!((group.pool, group.stream), (segment.pool, segment.stream));
        of_segments.add(sums);
    }
    for group in &state.groups {
        of_groups.add(&group.sums);
    }
    assert_eq!(state.total, of_segments, "{place}");
    assert_eq!(state.total, of_groups, "{place}");
    if is_sane {
        let misfits = state.misfits;
        let all = state.total.requested_bytes + misfits.outside_bytes + misfits.cut_bytes;
        assert_eq!(all, history.active_bytes[state.moment as usize], "{place}");
    }
}

#[test]
fn the_end_is_what_the_files_list() {
    for file in all_files() {
        let recording = recorded(&file);
        if recording.snapshot.segments.is_empty() {
            continue;
        }
        for device in recording.devices() {
            let history = device.history;
            let check = device.final_check();
            let sizes = device.block_sizes().check;
            let is_sound = device.replay().mismatched_segment_events == 0
                && history.mismatches == Default::default()
                && recording.snapshot.warnings.is_empty();
            println!(
                "{} device {}: derived sizes right for {} of {}{}",
                file.name,
                history.device,
                sizes.equal,
                sizes.compared,
                if check.is_equal() {
                    String::new()
                } else {
                    format!(", sound: {is_sound}, {check:?}")
                }
            );
            assert!(!is_sound || check.is_equal(), "{}: {check:?}", file.name);
        }
    }
}

/// (address, size) of the segments; (address, size, requested, use) of the blocks.
type Places = (Vec<(u64, u64)>, Vec<(u64, u64, u64, BlockUse)>);

fn of_simulation(mut segments: Vec<synth::Segment>) -> Places {
    segments.sort_by_key(|segment| segment.address);
    let blocks = segments.iter().flat_map(|segment| &segment.blocks);
    let blocks = blocks.map(|block| {
        let usage = match block.state {
            synth::BlockState::ActiveAllocated => BlockUse::Allocated,
            synth::BlockState::ActivePendingFree => BlockUse::PendingFree,
            _ => BlockUse::Free,
        };
        let requested = if usage == BlockUse::Free {
            0
        } else {
            block.requested_size
        };
        (block.address, block.size, requested, usage)
    });
    let blocks = blocks.collect();
    let segments = segments.iter();
    (
        segments
            .map(|segment| (segment.address, segment.total_size))
            .collect(),
        blocks,
    )
}

fn of_state(state: &AllocatorState) -> Places {
    let blocks = state.segments.iter().flat_map(|segment| &segment.blocks);
    let blocks = blocks.map(|block| {
        (
            block.address,
            block.bytes,
            block.requested_bytes,
            block.usage,
        )
    });
    let blocks = blocks.collect();
    let segments = state.segments.iter();
    (
        segments
            .map(|segment| (segment.address, segment.bytes))
            .collect(),
        blocks,
    )
}

proptest! {
    #![proptest_config(config())]

    /// After every step of a random program the replayed state is that of the simulated allocator, block by block, although
    /// the file only contains requests.
    #[test]
    fn replay_is_what_the_allocator_did(
        steps in steps(), expandable: bool, forget in 0..40_usize, moves in vec(any::<u32>(), 0..20),
    ) {
        let mut truth = Vec::new();
        let model = run_watched(&steps, expandable, forget, |events, segments| {
            truth.push((events, of_simulation(segments)));
        });
        let bytes = model.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        let recording = Recording::of(decode(&bytes[..]).unwrap());
        let device = recording.device(0).unwrap();
        let (history, sizes) = (device.history, device.block_sizes().check);
        let events = truth.last().map_or(0, |(events, _)| *events);
        let forgotten = forget.min(events);
        for (events, places) in truth {
            if let Some(moment) = events.checked_sub(forgotten) {
                let state = device.state_at(moment as u32);
                let is_known = forgotten == 0 || moment as u32 == history.event_count;
                let (segments, blocks) = of_state(&state);
                prop_assert_eq!(segments, places.0);
                if is_known {
                    prop_assert_eq!(blocks, places.1, "moment {}", moment);
                }
            }
        }
        prop_assert_eq!(sizes.equal, sizes.compared);
        let mut stepper = device.stepper_at(0);
        for to in moves {
            let moment = to % (history.event_count + 2);
            device.move_to(&mut stepper, moment);
            prop_assert!(*stepper.state() == device.state_at(moment));
        }
    }
}
