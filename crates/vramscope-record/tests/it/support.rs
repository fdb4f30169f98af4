//! Logs for tests, and the rules for every snapshot made of one.

use std::fmt::Write as _;

use vramscope_core::Snapshot;
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::replay::Replay;
use vramscope_core::encode::{difference, encode};
use vramscope_core::ids::EventId;
use vramscope_core::model::{Action, BlockState, WarningKind};
use vramscope_record::layout::{Call, Event, Memory, Pool, flags, pool_flags};
use vramscope_record::snapshot::Report;
use vramscope_record::symbols::{CodeAddress, SourceFrame, Symbols};
use vramscope_record::writer::LogWriter;
use vramscope_record::{ConvertOptions, convert};

/// Start of the memory used by tests.
pub(crate) const BASE: u64 = 0x7f00_0000_0000;
pub(crate) const MIB: u64 = 1 << 20;

/// Names each address by its number, and counts the queries.
#[derive(Default)]
pub(crate) struct Numbers {
    pub(crate) stacks: usize,
}

impl Symbols for Numbers {
    fn frames(&mut self, stack: &[CodeAddress<'_>]) -> Vec<SourceFrame> {
        self.stacks += 1;
        let frames = stack.iter().map(|address| SourceFrame {
            function: format!("{:#x}", address.address),
            file: address
                .module
                .map_or("??", |module| module.path.as_str())
                .to_owned(),
            line: 0,
        });
        frames.collect()
    }
}

/// An event of device 0, one microsecond after the previous one.
pub(crate) fn event(log: &LogWriter, call: Call) -> Event {
    Event {
        time_ns: log.offset() * 1000,
        call: call as u8,
        context: 1,
        thread: 1,
        ..Event::default()
    }
}

/// An allocation in a mapping of its own.
pub(crate) fn alloc(log: &mut LogWriter, call: Call, address: u64, size_bytes: u64) {
    let event = Event {
        address,
        size_bytes,
        mapping_base: address,
        mapping_bytes: size_bytes.next_multiple_of(2 * MIB),
        ..event(log, call)
    };
    log.event(event);
}

pub(crate) fn free(log: &mut LogWriter, call: Call, address: u64) {
    let event = Event {
        address,
        ..event(log, call)
    };
    log.event(event);
}

/// Writes a free and the driver's refusal.
pub(crate) fn refused(log: &mut LogWriter, call: Call, address: u64, pool: u64) {
    let free = Event {
        address,
        pool,
        ..event(log, call)
    };
    log.event(free);
    log.event(Event {
        result: 1,
        flags: flags::FREE_FAILED,
        ..free
    });
}

/// An allocation in a mapping of a pool.
pub(crate) fn from_pool(log: &mut LogWriter, pool: u64, base: u64, address: u64, size_bytes: u64) {
    let event = Event {
        address,
        size_bytes,
        pool,
        mapping_base: base,
        mapping_bytes: 32 * MIB,
        ..event(log, Call::cuMemAllocAsync)
    };
    log.event(event);
}

pub(crate) fn sample(log: &mut LogWriter, pool: u64, reserved_bytes: u64) {
    log.pool(Pool {
        time_ns: log.offset() * 1000,
        pool,
        reserved_bytes,
        flags: pool_flags::DEFAULT,
        ..Pool::default()
    });
}

/// A call about physical memory.
pub(crate) fn map(log: &mut LogWriter, call: Call, address: u64, size_bytes: u64, handle: u64) {
    let event = Event {
        address,
        size_bytes,
        pool: handle,
        ..event(log, call)
    };
    log.event(event);
}

/// Bytes known to be held at the end.
pub(crate) fn tracked_bytes(log: &LogWriter) -> u64 {
    let mut log = log.clone();
    log.memory(Memory {
        total_bytes: 1 << 40,
        ..Memory::default()
    });
    let (snapshot, _) = converted(&log);
    let memory = snapshot.extras["capture"]["memory"].as_array().unwrap();
    let mut tracked = memory.iter().filter_map(|it| it["tracked_bytes"].as_u64());
    tracked.next_back().unwrap()
}

#[track_caller]
pub(crate) fn converted(log: &LogWriter) -> (Snapshot, Report) {
    converted_with(log, &ConvertOptions::default())
}

/// Converts a log and checks the rules for every snapshot.
#[track_caller]
pub(crate) fn converted_with(log: &LogWriter, options: &ConvertOptions) -> (Snapshot, Report) {
    converted_bytes(&log.bytes(), options)
}

/// Like [`converted_with`], for the log's bytes.
#[track_caller]
pub(crate) fn converted_bytes(bytes: &[u8], options: &ConvertOptions) -> (Snapshot, Report) {
    let (snapshot, report) =
        convert(bytes, options, &mut Numbers::default(), &mut |_, _| {}).unwrap();
    let is_whole = options.recording.max_entries.is_none()
        && options.recording.skip_actions.is_empty()
        && options.recording.enabled != vramscope_record::model::Enabled::State;
    check(&snapshot, is_whole);
    if is_whole {
        check_beginning(&snapshot);
    }
    (snapshot, report)
}

/// Checks the rules for every snapshot: it reads back unchanged and without warnings except about sizes, which may be
/// anything in a damaged log, and its events lead to its state.
#[track_caller]
pub(crate) fn check(snapshot: &Snapshot, is_whole: bool) {
    let mut kinds = snapshot.warnings.list().iter().map(|warning| &warning.kind);
    let is_fine = kinds.all(|kind| *kind == WarningKind::ImpossibleSize);
    assert!(is_fine, "{:?}", snapshot.warnings);
    let mut bytes = Vec::new();
    encode(snapshot, &mut bytes).unwrap();
    let again = vramscope_core::decode(bytes.as_slice()).unwrap();
    assert_eq!(difference(snapshot, &again), None);
    for device in snapshot.devices() {
        let history = History::of(snapshot, device);
        let replay = Replay::of(snapshot, &history);
        assert_eq!(replay.mismatched_segment_events, 0);
        // With a bounded history, the request of a free may have been dropped before its completion.
        assert!(!is_whole || history.mismatches == Default::default());
        let last = replay.state_at(&history, history.event_count);
        let own = snapshot.segments.of_device(device as i32);
        let own: Vec<_> = own.map(|(_, it)| (it.address, it.total_size)).collect();
        let replayed: Vec<_> = last
            .segments
            .iter()
            .map(|it| (it.address, it.bytes))
            .collect();
        assert_eq!(replayed, own);
        let requested: u64 = snapshot
            .segments
            .of_device(device as i32)
            .map(|(_, segment)| segment.requested_size.unwrap())
            .sum();
        assert_eq!(history.active_bytes.last().copied().unwrap_or(0), requested);
    }
}

/// A program recorded from its beginning held nothing before its first event.
#[track_caller]
fn check_beginning(snapshot: &Snapshot) {
    for device in snapshot.devices() {
        let history = History::of(snapshot, device);
        let first = Replay::of(snapshot, &history).state_at(&history, 0);
        assert_eq!((first.segments.len(), first.allocations.len()), (0, 0));
    }
}

/// Formats an address relative to [`BASE`], in MiB and the rest.
fn place(address: u64) -> String {
    match address.checked_sub(BASE) {
        Some(offset) if offset < 1 << 40 => bytes(offset),
        _ => format!("{address:#x}"),
    }
}

fn bytes(bytes: u64) -> String {
    match (bytes / MIB, bytes % MIB) {
        (0, rest) => rest.to_string(),
        (mib, 0) => format!("{mib}M"),
        (mib, rest) => format!("{mib}M+{rest}"),
    }
}

/// The trace and the final state as text: `action address size`, and segments with their blocks.
pub(crate) fn story(snapshot: &Snapshot, device: u32) -> String {
    let mut story = String::new();
    for row in snapshot.trace(device) {
        let event = snapshot.events.get(EventId(row));
        let name = snapshot.action_name(EventId(row));
        // A free is two adjacent entries.
        let name = match event.action {
            Action::FreeRequested => continue,
            Action::FreeCompleted => "free",
            _ => name,
        };
        writeln!(story, "{name} {} {}", place(event.addr), bytes(event.size)).unwrap();
    }
    story + &state(snapshot, device as i32)
}

/// The final state of a device as text; -1 for the host.
pub(crate) fn state(snapshot: &Snapshot, device: i32) -> String {
    let mut story = String::new();
    let segments = match device {
        -1 => &snapshot.host_segments,
        _ => &snapshot.segments,
    };
    for (_, segment) in segments.of_device(device) {
        let (address, total) = (place(segment.address), bytes(segment.total_size));
        let pool = segment.pool.unwrap();
        write!(story, "[{address} {total}").unwrap();
        if pool.is_private() {
            write!(story, " pool {}.{}", pool.0, pool.1).unwrap();
        }
        if segment.is_expandable == Some(true) {
            story += " expandable";
        }
        story += ":";
        for id in segment.block_ids() {
            let block = snapshot.blocks.get(id);
            match block.state {
                BlockState::Inactive => write!(story, " -{}", bytes(block.size)).unwrap(),
                _ => {
                    let requested = block.requested_size.unwrap();
                    write!(story, " {}/{}", bytes(requested), bytes(block.size)).unwrap();
                }
            }
        }
        story += "]\n";
    }
    story
}

/// Compares two texts line by line, ignoring the indentation of the second.
#[track_caller]
pub(crate) fn assert_story(reported: &str, expected: &str) {
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(|line| line.trim().to_owned());
        lines.filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(lines(reported), lines(expected), "reported:\n{reported}");
}
