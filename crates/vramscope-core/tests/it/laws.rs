//! What holds for every snapshot: the fixtures, the real files, and random ones, consistent or not.

use std::io::Read;

use proptest::collection::vec;
use proptest::prelude::*;
use vramscope_core::analysis::history::{AllocationTable, History, NEVER};
use vramscope_core::analysis::replay::Replay;
use vramscope_core::encode::difference;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::Action;
use vramscope_core::{ErrorKind, Limits, Snapshot, decode};
use vramscope_synth::allocator::HeapOptions;
use vramscope_synth::pickle::Dialect;
use vramscope_synth::recorder::{Allocation, Recorder, Request};
use vramscope_synth::snapshot as synth;
use vramscope_synth::snapshot::{Producer, WriteOptions};

use crate::support::all_files;

// ---- the laws -----------------------------------------------------------------------------------

/// Everything that must hold for a device of any decoded snapshot.
fn check_device(place: &str, snapshot: &Snapshot, device: u32) {
    let history = History::of(snapshot, device);
    check_shape(place, snapshot, &history);
    check_lives(place, &history.allocations, history.event_count);
    check_totals(place, &history);
    check_events(place, snapshot, &history);
    check_versions(place, &history);
    check_replay(place, snapshot, &history);
}

fn check_shape(place: &str, snapshot: &Snapshot, history: &History) {
    let table = &history.allocations;
    let lengths = [table.address.len(), table.born.len(), table.free_requested.len(), table.died.len(), table.version.len()];
    assert_eq!(lengths, [table.len(); 5], "{place}: columns");
    assert_eq!(history.event_count as usize, snapshot.trace(history.device).len(), "{place}");
    assert_eq!(history.active_bytes.len(), history.event_count as usize + 1, "{place}");
    assert_eq!(history.allocation_of_event.len(), history.event_count as usize, "{place}");
    assert!(history.before_recording as usize <= table.len(), "{place}");
    assert!(table.born.is_sorted(), "{place}: stacked by birth");
    assert!(history.reserved_steps.is_sorted_by(|a, b| a.0 < b.0), "{place}: reserved steps");
    assert_eq!(history.reserved_steps.first().map(|step| step.0), Some(0), "{place}: reserved steps");
    assert!(history.moment_start_us.is_sorted(), "{place}: times");
    let times = history.moment_start_us.len();
    assert!(times == 0 || times == history.active_bytes.len(), "{place}: times");
    assert!(history.final_blocks.is_sorted(), "{place}: final blocks");
}

fn check_lives(place: &str, table: &AllocationTable, event_count: u32) {
    for row in 0..table.len() {
        let (born, requested, died) = (table.born[row], table.free_requested[row], table.died[row]);
        assert!(born < died, "{place}: allocation {row} lives {born}..{died}");
        assert!(born <= event_count && (died <= event_count || died == NEVER), "{place}: allocation {row}");
        let is_ordered = requested == NEVER || born <= requested && requested <= died;
        assert!(is_ordered, "{place}: allocation {row}: {born}, {requested}, {died}");
    }
}

/// Live bytes, added up the slow way, are what is claimed at every moment; the peak is the first highest.
fn check_totals(place: &str, history: &History) {
    let table = &history.allocations;
    let moments = history.active_bytes.len();
    for moment in (0..moments).step_by((moments / 50).max(1)).chain([moments - 1, history.peak_moment as usize]) {
        let live = (0..table.len()).filter(|&row| history.is_live(AllocationId(row as u32), moment as u32));
        let sum = live.fold(0_u64, |sum, row| sum.wrapping_add(table.bytes[row]));
        assert_eq!(sum, history.active_bytes[moment], "{place}: moment {moment}");
    }
    let peak = history.active_bytes[history.peak_moment as usize];
    assert!(history.active_bytes.iter().all(|&bytes| bytes <= peak), "{place}: peak");
    assert!(history.active_bytes[..history.peak_moment as usize].iter().all(|&bytes| bytes < peak), "{place}: first peak");
}

fn check_events(place: &str, snapshot: &Snapshot, history: &History) {
    let table = &history.allocations;
    for (moment, &row) in (1..).zip(&history.allocation_of_event) {
        let event = snapshot.events.get(vramscope_core::ids::EventId(history.first_event + moment - 1));
        let concerns = matches!(event.action, Action::Alloc | Action::FreeRequested | Action::FreeCompleted);
        if row == u32::MAX {
            assert!(!concerns, "{place}: event {moment} concerns none");
            continue;
        }
        let row = row as usize;
        assert_eq!(table.address[row], event.addr, "{place}: event {moment}");
        match event.action {
            Action::Alloc => {
                assert_eq!((table.born[row], table.bytes[row]), (moment, event.size), "{place}: event {moment}");
            }
            Action::FreeRequested => assert!(table.free_requested[row] <= moment, "{place}: event {moment}"),
            Action::FreeCompleted => assert_eq!(table.died[row], moment, "{place}: event {moment}"),
            _ => {}
        }
    }
    for row in 0..table.len() {
        if table.born[row] > 0 {
            let of_event = history.allocation_of_event[table.born[row] as usize - 1];
            assert_eq!(of_event as usize, row, "{place}: birth of {row}");
        }
    }
}

/// Tenancies of one address follow one another, numbered from 0.
fn check_versions(place: &str, history: &History) {
    let table = &history.allocations;
    let mut rows: Vec<usize> = (0..table.len()).collect();
    rows.sort_by_key(|&row| (table.address[row], table.version[row]));
    for pair in rows.windows(2).filter(|pair| table.address[pair[0]] == table.address[pair[1]]) {
        let (older, newer) = (pair[0], pair[1]);
        let place = format!("{place}: {:#x}", table.address[older]);
        // Of two that were freed without having been allocated, or that lie at one address in the final
        // state of a damaged file, both count as older than the recording.
        let born = table.born[newer];
        if born > 0 {
            assert!(table.version[older] < table.version[newer], "{place}: version {}", table.version[older]);
            assert!(table.died[older] <= born, "{place}: overlapping tenancies");
        }
    }
}

fn check_replay(place: &str, snapshot: &Snapshot, history: &History) {
    let replay = Replay::of(snapshot, history);
    let count = history.event_count;
    for moment in (0..=count).step_by((count as usize / 25).max(1)).chain([count]) {
        let state = replay.state_at(history, moment);
        let table = &history.allocations;
        let live = (0..table.len() as u32).map(AllocationId).filter(|&id| history.is_live(id, moment));
        assert_eq!(state.allocations, live.collect::<Vec<_>>(), "{place}: live at {moment}");
        assert!(state.segments.is_sorted_by(|a, b| a.address < b.address), "{place}: segments at {moment}");
        if replay.mismatched_segment_events == 0 && snapshot.warnings.is_empty() {
            assert_eq!(state.reserved_bytes(), history.reserved_bytes(moment), "{place}: reserved at {moment}");
        }
    }
    // Forward from the start to the end: the segments that the file lists.
    if replay.mismatched_segment_events == 0 && snapshot.warnings.is_empty() {
        let own = snapshot.segments.rows.iter().filter(|segment| u32::try_from(segment.device) == Ok(history.device));
        let mut listed: Vec<_> = own.map(|segment| (segment.address, segment.total_size)).collect();
        listed.sort_unstable();
        let replayed: Vec<_> = replay.segments_at(count).iter().map(|range| (range.address, range.bytes)).collect();
        assert_eq!(replayed, listed, "{place}: final segments");
    }
}

fn check_all(place: &str, snapshot: &Snapshot) {
    for device in 0..(snapshot.traces.len() as u32).max(1) {
        check_device(&format!("{place}, device {device}"), snapshot, device);
    }
}

// ---- files --------------------------------------------------------------------------------------

#[test]
fn laws_hold_for_every_file() {
    for file in all_files() {
        check_all(&file.name, &file.decode());
    }
}

/// Gives its bytes in pieces of the sizes asked for, over and over.
struct Pieces<'a> {
    bytes: &'a [u8],
    sizes: &'a [usize],
    next: usize,
}

impl Read for Pieces<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let size = self.sizes[self.next % self.sizes.len()].max(1);
        self.next += 1;
        let count = size.min(buffer.len()).min(self.bytes.len());
        let (now, later) = self.bytes.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.bytes = later;
        Ok(count)
    }
}

fn assert_chunked_is_whole(name: &str, bytes: &[u8], sizes: &[usize]) {
    let whole = decode(bytes);
    let chunked = decode(Pieces { bytes, sizes, next: 0 });
    match (whole, chunked) {
        (Ok(whole), Ok(chunked)) => assert_eq!(difference(&whole, &chunked), None, "{name}"),
        (Err(whole), Err(chunked)) => assert_eq!(whole.to_string(), chunked.to_string(), "{name}"),
        (whole, chunked) => {
            panic!("{name}: whole {:?}, in pieces {:?}", whole.err(), chunked.err());
        }
    }
}

#[test]
fn one_byte_at_a_time_is_the_same() {
    for file in all_files().iter().chain(&crate::support::fixtures_in("refused")) {
        let few = &file.bytes[..file.bytes.len().min(600_000)];
        assert_chunked_is_whole(&file.name, few, &[1]);
        assert_chunked_is_whole(&file.name, &file.bytes, &[3, 4096, 1, 17, 65_536]);
    }
}

#[test]
fn cancelling_ends_decoding() {
    let file = &crate::support::fixtures()[0];
    let mut calls = 0;
    let mut on_progress = |_| {
        calls += 1;
        std::ops::ControlFlow::Break(())
    };
    let options = decode_options(&mut on_progress);
    let error = vramscope_core::decode::decode_with(&file.bytes[..], options).err().map(|error| error.kind);
    assert_eq!(error, Some(ErrorKind::Cancelled));
    assert_eq!(calls, 1);
}

fn decode_options(
    on_progress: &mut dyn FnMut(vramscope_core::decode::Progress) -> std::ops::ControlFlow<()>,
) -> vramscope_core::decode::Options<'_> {
    vramscope_core::decode::Options { limits: Limits::default(), file_bytes: None, on_progress }
}

// ---- random snapshots ---------------------------------------------------------------------------

/// What a random program does next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Alloc { bytes: u64, stream: i64, pool: u64 },
    Free(usize),
    Request(usize),
    Complete(usize),
    EmptyCache,
    Snapshot,
    Annotate(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let sizes = prop_oneof![1..2000_u64, (1_u64 << 19)..(3 << 20), (9_u64 << 20)..(30 << 20)];
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

/// Runs the steps on the simulated allocator: (the snapshot, bytes live after each event).
fn run(steps: &[Step], expandable: bool, forget: usize) -> synth::Snapshot {
    let mut snapshot = synth::Snapshot::default();
    let frame = snapshot.stacks.add_frame(synth::Frame::new("step", "train.py", 3));
    let stack = snapshot.stacks.add_stack(vec![frame]);
    let options = HeapOptions { expandable, capacity_bytes: 300 << 20, ..HeapOptions::default() };
    let mut recorder = Recorder::new(options, Vec::new(), 0);
    let (mut live, mut pending): (Vec<Allocation>, Vec<Allocation>) = (Vec::new(), Vec::new());
    for &step in steps {
        match step {
            Step::Alloc { bytes, stream, pool } => {
                let request = Request { bytes, stream, pool: (0, pool), stack: Some(stack) };
                live.extend(recorder.alloc(request).ok());
            }
            Step::Free(which) if !live.is_empty() => recorder.free(live.swap_remove(which % live.len())),
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
            Step::Annotate(which) if !live.is_empty() => recorder.annotate(live[which % live.len()], "note"),
            _ => {}
        }
    }
    snapshot.segments = recorder.heap.segments(0);
    let mut trace = recorder.sink;
    // As a ring buffer does: the oldest events are gone.
    trace.drain(..forget.min(trace.len()));
    snapshot.device_traces = vec![trace];
    snapshot
}

/// Entries that do not fit one another, at few addresses so that they meet.
fn nonsense() -> impl Strategy<Value = synth::Snapshot> {
    let number = prop_oneof![0..40_u64, any::<u64>(), Just(u64::MAX), Just(1 << 63)];
    let entry = (0..10_usize, number.clone(), number.clone(), 0..3_i64, any::<i64>());
    // The writer adds these up.
    let size = prop_oneof![0..40_u64, 0..1_u64 << 60];
    let block = (number.clone(), size.clone(), size, 0..3_usize);
    let segment = (number.clone(), number, -1..3_i32, any::<bool>(), vec(block, 0..4));
    (vec(entry, 0..60), vec(segment, 0..6)).prop_map(|(entries, segments)| {
        let trace = entries.into_iter().map(nonsense_entry).collect();
        let segments = segments.into_iter().map(nonsense_segment).collect();
        synth::Snapshot { segments, device_traces: vec![trace, Vec::new()], ..synth::Snapshot::default() }
    })
}

fn nonsense_entry((action, addr, size, stream, time): (usize, u64, u64, i64, i64)) -> synth::TraceEntry {
    use synth::Action::{
        Alloc, Annotate, FreeCompleted, FreeRequested, Oom, SegmentAlloc, SegmentFree, SegmentMap, SegmentUnmap, Snapshot,
    };
    let actions = [
        Alloc, FreeRequested, FreeCompleted, SegmentAlloc, SegmentFree, SegmentMap, SegmentUnmap, Snapshot, Oom, Annotate,
    ];
    let mut entry = synth::TraceEntry::new(actions[action].clone(), addr, size);
    entry.stream = stream;
    entry.time_us = (time % 3 != 0).then_some(time);
    entry
}

type NonsenseSegment = (u64, u64, i32, bool, Vec<(u64, u64, u64, usize)>);

fn nonsense_segment((address, total_size, device, is_expandable, blocks): NonsenseSegment) -> synth::Segment {
    let states = [synth::BlockState::ActiveAllocated, synth::BlockState::ActivePendingFree, synth::BlockState::Inactive];
    let blocks = blocks.into_iter().map(|(address, size, requested_size, state)| synth::Block {
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

fn producers() -> impl Strategy<Value = WriteOptions> {
    let protocol = 0..=5_u8;
    (proptest::sample::select(&Producer::ALL[..]), protocol)
        .prop_map(|(producer, protocol)| WriteOptions::new(producer).protocol(protocol))
}

/// `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 60 };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

/// Damage that random files rarely hit.
#[test]
fn laws_hold_for_damaged_files() {
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
    let damaged = [
        // Two blocks at the address of one allocation.
        (vec![segment(0, 8, false, vec![block(0, 4), block(0, 4)])], vec![entry(Alloc, 0, 4)]),
        // Ranges that touch and are longer together than an address can say.
        (
            vec![segment(0, u64::MAX - 1, true, vec![])],
            vec![entry(SegmentUnmap, u64::MAX - 1, u64::MAX), entry(SegmentMap, u64::MAX, 1)],
        ),
        (vec![], vec![entry(SegmentUnmap, 0, u64::MAX), entry(SegmentUnmap, u64::MAX, u64::MAX)]),
        // Sums beyond 64 bits.
        (vec![], vec![entry(Alloc, 0, u64::MAX), entry(Alloc, 1, u64::MAX), entry(FreeCompleted, 0, 1)]),
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
    ];
    for (index, (segments, trace)) in damaged.into_iter().enumerate() {
        let model = synth::Snapshot { segments, device_traces: vec![trace], ..synth::Snapshot::default() };
        let bytes = model.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        check_all(&format!("damaged {index}"), &decode(&bytes[..]).unwrap());
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn laws_hold_for_random_programs(steps in steps(), expandable: bool, forget in 0..40_usize) {
        let model = run(&steps, expandable, forget);
        let bytes = model.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        let snapshot = decode(&bytes[..]).unwrap();
        prop_assert_eq!(snapshot.warnings.list(), &[]);
        check_all("random program", &snapshot);
        let history = History::of(&snapshot, 0);
        let replay = Replay::of(&snapshot, &history);
        prop_assert_eq!(replay.mismatched_segment_events, 0);
        // What the simulated allocator says is active is what is live at the end.
        let active = model.segments.iter().flat_map(|segment| &segment.blocks).filter(|block| block.state.is_active());
        let requested: u64 = active.map(|block| block.requested_size).sum();
        prop_assert_eq!(history.active_bytes.last(), Some(&requested));
        if forget == 0 {
            prop_assert_eq!(replay.segments_at(0), vec![]);
            prop_assert_eq!(history.active_bytes[0], 0);
        }
    }

    #[test]
    fn laws_hold_for_nonsense(model in nonsense(), options in producers()) {
        let bytes = model.to_pickle(&options);
        if let Ok(snapshot) = decode(&bytes[..]) {
            check_all("nonsense", &snapshot);
        }
    }

    #[test]
    fn random_pieces_are_the_whole(steps in steps(), sizes in vec(1..300_usize, 1..5), options in producers()) {
        let bytes = run(&steps, false, 0).to_pickle(&options);
        assert_chunked_is_whole("random program", &bytes, &sizes);
    }

    /// The same program in every protocol and by both picklers is the same snapshot.
    #[test]
    fn protocols_agree(steps in steps()) {
        let model = run(&steps, false, 0);
        let options = WriteOptions::new(Producer::Cpp);
        let cpp = decode(&model.to_pickle(&options)[..]).unwrap();
        for protocol in 0..=5 {
            let python = WriteOptions { dialect: Dialect::Python(protocol), ..options };
            let python = decode(&model.to_pickle(&python)[..]).unwrap();
            prop_assert_eq!(difference(&cpp, &python), None);
        }
    }
}
