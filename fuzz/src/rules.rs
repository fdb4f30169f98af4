//! The rules for snapshots.

use std::io::{self, Read};
use std::ops::ControlFlow;

use vramscope_core::analysis::code::frames::{FoldOptions, fold};
use vramscope_core::analysis::groups::live_at::{live_at, top_call_sites};
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::report::details::allocation_details;
use vramscope_core::analysis::report::facts::facts;
use vramscope_core::analysis::report::summary::summary;
use vramscope_core::encode::{difference, encode};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::{Warning, WarningKind};
use vramscope_core::open::{Options, decode_with};
use vramscope_core::{Error, ErrorKind, Limits, Snapshot};
use vramscope_plan::Planner;

/// Limits of the work for one input. Larger inputs are skipped: the fuzzer looks for broken rules, not for slow
/// inputs.
const MOST_ROWS: usize = 20_000;
const MOST_DEVICES: usize = 8;
const MOST_DETAILS: usize = 50;
/// Maximum number of events for which a plan is computed, and of calls to the planner.
const MOST_PLANNED: u32 = 2_000;
const MOST_ASKED: u32 = 2_000;

/// Limits so small that the fuzzer's own memory limit notices when they are not kept.
fn limits() -> Limits {
    Limits {
        free_bytes: 8 << 20,
        ..Limits::default()
    }
}

pub(crate) fn read(input: impl Read) -> Result<Snapshot, Error> {
    let options = Options {
        limits: limits(),
        file_bytes: None,
        on_progress: &mut |_| ControlFlow::Continue(()),
    };
    decode_with(input, options)
}

/// Any bytes give either a snapshot, or an error with a message and advice.
pub fn decode(data: &[u8]) {
    match read(data) {
        Ok(snapshot) => {
            let _every_name = (0..snapshot.events.len())
                .map(|row| {
                    snapshot
                        .action_name(vramscope_core::ids::EventId::from_index(row))
                        .len()
                })
                .sum::<usize>();
        }
        Err(error) => assert!(!error.to_string().is_empty() && !error.advice().is_empty()),
    }
}

/// Bytes that are read in pieces, with interruptions, give the same result as bytes that are read at once.
pub fn decode_chunked(data: &[u8]) {
    let whole = read(data);
    // The end of the input also determines the pieces, so that all targets can share a corpus.
    let seed = data
        .iter()
        .rev()
        .take(8)
        .fold(1, |seed: u64, &byte| seed << 8 | u64::from(byte));
    let pieces = read(Pieces {
        rest: data,
        seed: seed | 1,
    });
    match (whole, pieces) {
        (Ok(whole), Ok(pieces)) => {
            assert_eq!(difference(&whole, &pieces), None);
            assert_eq!(whole.warnings, pieces.warnings);
            // After a damaged end nothing more is read, so how much was read ahead is arbitrary.
            let is_damaged = |warning: &Warning| {
                matches!(
                    warning.kind,
                    WarningKind::DamagedEnd | WarningKind::CheckSumWrong
                )
            };
            if !whole.warnings.list().iter().any(is_damaged) {
                assert_eq!(whole.source, pieces.source);
            }
        }
        (Err(whole), Err(pieces)) => {
            assert_eq!(whole.kind, pieces.kind);
            assert_eq!((whole.offset, whole.path), (pieces.offset, pieces.path));
            assert_eq!(
                (whole.containers, whole.head),
                (pieces.containers, pieces.head)
            );
        }
        (whole, pieces) => panic!("whole: {:?}, in pieces: {:?}", whole.err(), pieces.err()),
    }
}

/// A reader that returns 1 to 64 bytes at a time, and is interrupted now and then.
struct Pieces<'a> {
    rest: &'a [u8],
    seed: u64,
}

impl Read for Pieces<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // xorshift64. Any sequence is suitable if it depends only on the input.
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        let length = match self.seed % 8 {
            0 => return Err(io::ErrorKind::Interrupted.into()),
            1..=3 => 1,
            _ => 1 + (self.seed >> 32) as usize % 64,
        };
        let length = length.min(self.rest.len()).min(out.len());
        let (now, rest) = self.rest.split_at(length);
        out[..length].copy_from_slice(now);
        self.rest = rest;
        Ok(length)
    }
}

/// Every decoded snapshot can be analysed and written, and reads back unchanged.
pub fn pipeline(data: &[u8]) {
    let Ok(snapshot) = read(data) else { return };
    if rows(&snapshot) > MOST_ROWS || snapshot.traces.len() > MOST_DEVICES {
        return;
    }
    let recording = Recording::of(snapshot);
    analyse(&recording);
    let snapshot = recording.snapshot;
    let mut written = Vec::new();
    encode(&snapshot, &mut written).expect("a Vec takes every byte");
    let again =
        read(written.as_slice()).unwrap_or_else(|error| panic!("what was written: {error}"));
    let found = difference(&snapshot, &again);
    // Values under unknown keys are kept only if they are plain: see the decoder's `kept_json_of`.
    let is_plain = snapshot.extras.is_empty() && snapshot.settings.is_empty();
    assert!(
        found.is_none() || !is_plain && is_generic(found.as_deref()),
        "{found:?}"
    );
}

/// Every decoded snapshot is unchanged after it was written as `.vram` and read again.
pub fn vram_format(data: &[u8]) {
    let Ok(snapshot) = read(data) else { return };
    let mut written = Vec::new();
    vramscope_core::vram_format::write(&snapshot, &mut written).expect("a Vec takes every byte");
    match read(written.as_slice()) {
        Ok(again) => {
            assert_eq!(difference(&snapshot, &again), None);
            assert_eq!(snapshot.warnings, again.warnings);
        }
        // A snapshot just below the limit of expansion may exceed it when read from the smaller `.vram` file.
        Err(error) => assert!(matches!(error.kind, ErrorKind::Limit { .. }), "{error}"),
    }
}

fn is_generic(found: Option<&str>) -> bool {
    found
        .is_some_and(|place| place.starts_with("extras") || place.starts_with("allocator_settings"))
}

/// The number of rows that the snapshot refers to, counting each reference.
fn rows(snapshot: &Snapshot) -> usize {
    let traces = snapshot.traces.iter().chain([&snapshot.host_trace]);
    let segments = snapshot
        .segments
        .rows
        .iter()
        .chain(&snapshot.host_segments.rows);
    traces.map(|rows| rows.len()).sum::<usize>()
        + segments
            .map(|segment| 1 + segment.blocks.len())
            .sum::<usize>()
        + snapshot.annotations.rows.len()
}

fn analyse(recording: &Recording) {
    let _streams = recording.streams();
    let _facts = facts(recording);
    let _summary = summary(recording);
    for device in recording.devices().take(MOST_DEVICES) {
        analyse_device(device);
    }
}

fn analyse_device(device: Device<'_>) {
    let history = device.history;
    let last = history.event_count;
    for moment in [0, last / 2, last.saturating_sub(1), last, last + 1] {
        let state = device.replay().state_at(history, moment);
        let _reserved = (state.reserved_bytes(), history.reserved_bytes(moment));
        let live: Vec<_> = live_at(history, moment).collect();
        let top = top_call_sites(device, live.iter().copied(), 3);
        assert_eq!(top.count, live.len() as u64);
        assert!(live.iter().all(|&id| history.is_live(id, moment)));
    }
    let folding = FoldOptions {
        show_runtime: false,
        user_first: true,
    };
    let snapshot = device.snapshot();
    for row in 0..history.allocations.len().min(MOST_DETAILS) {
        let id = AllocationId::from_index(row);
        assert!(allocation_details(device, id).is_some());
        let (stack, _) = history.stack(snapshot, id);
        let frames = snapshot.stacks.frames(stack);
        let _folded = fold(frames, device.recording.classes(), folding);
    }
    if history.event_count <= MOST_PLANNED {
        plan_device(device);
    }
}

/// Computes the plan of a device with its suggestions, within the limits.
fn plan_device(device: Device<'_>) {
    let mut planner = Planner::new(device);
    let mut asked = 0;
    while !planner.run(device, &mut || true) && asked < MOST_ASKED {
        asked += 1;
    }
    let steps = &planner.plan().steps;
    let bytes = steps.iter().map(|step| i128::from(step.bytes));
    let changes = steps.iter().scan(0, |sum, step| {
        *sum += i128::from(step.change_bytes);
        Some(*sum)
    });
    assert!(changes.eq(bytes), "the steps add up");
    if let Some(baseline) = planner.baseline() {
        for changes in &baseline.suggestions {
            let _row = baseline.what_if(device, changes);
        }
        let _limited = baseline.what_if(device, "capacity=64MiB,expandable_segments:True");
    }
}
