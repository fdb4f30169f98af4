//! Random programs and random nonsense, for property tests: the simulated allocator run on random steps, and
//! entries that do not fit one another.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::allocator::HeapOptions;
use crate::recorder::{Allocation, Recorder, Request};
use crate::snapshot as synth;

/// What a random program does next.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    Alloc { bytes: u64, stream: i64, pool: u64 },
    Free(usize),
    Request(usize),
    Complete(usize),
    EmptyCache,
    Snapshot,
    Annotate(usize),
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    let sizes = prop_oneof![
        1..2000_u64,
        (1_u64 << 19)..(3 << 20),
        (9_u64 << 20)..(30 << 20)
    ];
    let step = prop_oneof![
        6 => (sizes, 0..3_i64, 0..2_u64).prop_map(|(bytes, stream, pool)| Step::Alloc { bytes, stream: stream * 64, pool }),
        4 => any::<usize>().prop_map(Step::Free),
        2 => any::<usize>().prop_map(Step::Request),
        2 => any::<usize>().prop_map(Step::Complete),
        1 => Just(Step::EmptyCache),
        1 => Just(Step::Snapshot),
        1 => any::<usize>().prop_map(Step::Annotate),
    ];
    vec(step, 0..120)
}

/// Runs the steps on the simulated allocator.
pub fn run(steps: &[Step], expandable: bool, forget: usize) -> synth::Snapshot {
    run_watched(steps, expandable, forget, |_, _| ())
}

/// Runs the steps on the simulated allocator and shows its segments after each, with the number of events
/// so far.
pub fn run_watched(
    steps: &[Step],
    expandable: bool,
    forget: usize,
    mut watch: impl FnMut(usize, Vec<synth::Segment>),
) -> synth::Snapshot {
    let mut snapshot = synth::Snapshot::default();
    let frame = snapshot
        .stacks
        .add_frame(synth::Frame::new("step", "train.py", 3));
    let stack = snapshot.stacks.add_stack(vec![frame]);
    let options = HeapOptions {
        expandable,
        capacity_bytes: 300 << 20,
        ..HeapOptions::default()
    };
    let mut recorder = Recorder::new(options, Vec::new(), 0);
    let (mut live, mut pending): (Vec<Allocation>, Vec<Allocation>) = (Vec::new(), Vec::new());
    for &step in steps {
        match step {
            Step::Alloc {
                bytes,
                stream,
                pool,
            } => {
                let request = Request {
                    bytes,
                    stream,
                    pool: (0, pool),
                    stack: Some(stack),
                };
                live.extend(recorder.alloc(request).ok());
            }
            Step::Free(which) if !live.is_empty() => {
                recorder.free(live.swap_remove(which % live.len()))
            }
            Step::Request(which) if !live.is_empty() => {
                let allocation = live.swap_remove(which % live.len());
                recorder.request_free(allocation);
                pending.push(allocation);
            }
            Step::Complete(which) if !pending.is_empty() => {
                recorder.complete_free(pending.swap_remove(which % pending.len()), None);
            }
            Step::EmptyCache => recorder.empty_cache(),
            Step::Snapshot => recorder.snapshot(),
            Step::Annotate(which) if !live.is_empty() => {
                recorder.annotate(live[which % live.len()], "note")
            }
            _ => {}
        }
        watch(recorder.sink.len(), recorder.heap.segments(0));
    }
    snapshot.segments = recorder.heap.segments(0);
    let mut trace = recorder.sink;
    // As a ring buffer does: the oldest events are gone.
    trace.drain(..forget.min(trace.len()));
    snapshot.device_traces = vec![trace];
    snapshot
}

/// Entries that do not fit one another, at few addresses so that they meet.
pub fn nonsense() -> impl Strategy<Value = synth::Snapshot> {
    let number = prop_oneof![0..40_u64, any::<u64>(), Just(u64::MAX), Just(1 << 63)];
    let entry = (
        0..10_usize,
        number.clone(),
        number.clone(),
        0..3_i64,
        any::<i64>(),
    );
    // The writer adds these up.
    let size = prop_oneof![0..40_u64, 0..1_u64 << 60];
    let block = (number.clone(), size.clone(), size, 0..3_usize);
    let segment = (
        number.clone(),
        number,
        -1..3_i32,
        any::<bool>(),
        vec(block, 0..4),
    );
    (vec(entry, 0..60), vec(segment, 0..6)).prop_map(|(entries, segments)| {
        let trace = entries.into_iter().map(nonsense_entry).collect();
        let segments = segments.into_iter().map(nonsense_segment).collect();
        synth::Snapshot {
            segments,
            device_traces: vec![trace, Vec::new()],
            ..synth::Snapshot::default()
        }
    })
}

fn nonsense_entry(
    (action, addr, size, stream, time): (usize, u64, u64, i64, i64),
) -> synth::TraceEntry {
    use synth::Action::{
        Alloc, Annotate, FreeCompleted, FreeRequested, Oom, SegmentAlloc, SegmentFree, SegmentMap,
        SegmentUnmap, Snapshot,
    };
    let actions = [
        Alloc,
        FreeRequested,
        FreeCompleted,
        SegmentAlloc,
        SegmentFree,
        SegmentMap,
        SegmentUnmap,
        Snapshot,
        Oom,
        Annotate,
    ];
    let mut entry = synth::TraceEntry::new(actions[action].clone(), addr, size);
    entry.stream = stream;
    entry.time_us = (time % 3 != 0).then_some(time);
    entry
}

type NonsenseSegment = (u64, u64, i32, bool, Vec<(u64, u64, u64, usize)>);

fn nonsense_segment(
    (address, total_size, device, is_expandable, blocks): NonsenseSegment,
) -> synth::Segment {
    let states = [
        synth::BlockState::ActiveAllocated,
        synth::BlockState::ActivePendingFree,
        synth::BlockState::Inactive,
    ];
    let blocks = blocks
        .into_iter()
        .map(|(address, size, requested_size, state)| synth::Block {
            address,
            size,
            requested_size,
            state: states[state],
            frames: None,
            history: Vec::new(),
        });
    synth::Segment {
        device,
        address,
        total_size,
        is_expandable,
        blocks: blocks.collect(),
        ..synth::Segment::default()
    }
}

/// `PROPTEST_CASES` asks for more.
pub fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() {
        default.cases
    } else {
        60
    };
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..default
    }
}

/// Damage that random files rarely hit: segments and trace.
pub fn damaged() -> Vec<(Vec<synth::Segment>, Vec<synth::TraceEntry>)> {
    let block = |address, size| synth::Block {
        address,
        size,
        requested_size: size,
        state: synth::BlockState::ActiveAllocated,
        frames: None,
        history: Vec::new(),
    };
    let segment = |address, total_size, is_expandable, blocks| synth::Segment {
        address,
        total_size,
        is_expandable,
        blocks,
        ..synth::Segment::default()
    };
    let entry = |action, addr, size| synth::TraceEntry::new(action, addr, size);
    use synth::Action::{Alloc, FreeCompleted, FreeRequested, SegmentMap, SegmentUnmap};
    vec![
        // Two blocks at the address of one allocation.
        (
            vec![segment(0, 8, false, vec![block(0, 4), block(0, 4)])],
            vec![entry(Alloc, 0, 4)],
        ),
        // Ranges that touch and are longer together than an address can say.
        (
            vec![segment(0, u64::MAX - 1, true, vec![])],
            vec![
                entry(SegmentUnmap, u64::MAX - 1, u64::MAX),
                entry(SegmentMap, u64::MAX, 1),
            ],
        ),
        (
            vec![],
            vec![
                entry(SegmentUnmap, 0, u64::MAX),
                entry(SegmentUnmap, u64::MAX, u64::MAX),
            ],
        ),
        // Sums beyond 64 bits.
        (
            vec![],
            vec![
                entry(Alloc, 0, u64::MAX),
                entry(Alloc, 1, u64::MAX),
                entry(FreeCompleted, 0, 1),
            ],
        ),
        // Freed twice, requested twice.
        (
            vec![],
            vec![
                entry(Alloc, 0, 1),
                entry(FreeRequested, 0, 1),
                entry(FreeRequested, 0, 1),
                entry(FreeCompleted, 0, 1),
                entry(FreeCompleted, 0, 1),
            ],
        ),
    ]
}
