//! Invariants of every snapshot: of the fixtures and the real files here, of random ones in `random`.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::Read;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use vramscope_core::analysis::memory::segment_history::{SegmentHistory, SegmentLife};
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::time::byte_steps::bytes_at;
use vramscope_core::analysis::time::history::{AllocationTable, History, NEVER};
use vramscope_core::analysis::time::replay::{MappedRange, Replay};
use vramscope_core::encode::difference;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::Action;
use vramscope_core::open::{Arrival, Options, decode_arriving_pickle};
use vramscope_core::{ErrorKind, Limits, Snapshot, decode};
use vramscope_synth::files::all_files;

use crate::support::decoded;

// ---- the laws -----------------------------------------------------------------------------------

/// All invariants of a device of any decoded snapshot.
fn check_device(place: &str, snapshot: &Snapshot, device: u32) {
    let history = History::of(snapshot, device);
    check_shape(place, snapshot, &history);
    check_lives(place, &history.allocations, history.event_count);
    check_totals(place, &history);
    check_events(place, snapshot, &history);
    check_versions(place, &history);
    check_replay(place, snapshot, &history);
    check_segments(place, snapshot, &history);
}

fn check_shape(place: &str, snapshot: &Snapshot, history: &History) {
    let table = &history.allocations;
    let lengths = [
        table.address.len(),
        table.born.len(),
        table.free_requested.len(),
        table.died.len(),
        table.version.len(),
    ];
    assert_eq!(lengths, [table.len(); 5], "{place}: columns");
    assert_eq!(
        history.event_count as usize,
        snapshot.trace(history.device).len(),
        "{place}"
    );
    assert_eq!(
        history.active_bytes.len(),
        history.event_count as usize + 1,
        "{place}"
    );
    assert_eq!(
        history.allocation_of_event.len(),
        history.event_count as usize,
        "{place}"
    );
    assert!(history.before_recording as usize <= table.len(), "{place}");
    assert!(table.born.is_sorted(), "{place}: stacked by birth");
    assert!(
        history.reserved_steps.is_sorted_by(|a, b| a.0 < b.0),
        "{place}: reserved steps"
    );
    assert_eq!(
        history.reserved_steps.first().map(|step| step.0),
        Some(0),
        "{place}: reserved steps"
    );
    assert!(history.moment_start_us.iter().is_sorted(), "{place}: times");
    let times = history.moment_start_us.len();
    assert!(
        times == 0 || times == history.active_bytes.len(),
        "{place}: times"
    );
    assert!(history.final_blocks.is_sorted(), "{place}: final blocks");
}

fn check_lives(place: &str, table: &AllocationTable, event_count: u32) {
    for row in 0..table.len() {
        let (born, requested, died) = (table.born[row], table.free_requested[row], table.died[row]);
        assert!(
            born < died,
            "{place}: allocation {row} lives {born}..{died}"
        );
        assert!(
            born <= event_count && (died <= event_count || died == NEVER),
            "{place}: allocation {row}"
        );
        let is_ordered = requested == NEVER || born <= requested && requested <= died;
        assert!(
            is_ordered,
            "{place}: allocation {row}: {born}, {requested}, {died}"
        );
    }
}

/// Live bytes equal slow, saturating sums at every moment; the peak is the first highest.
fn check_totals(place: &str, history: &History) {
    let table = &history.allocations;
    let moments = history.active_bytes.len();
    for moment in (0..moments)
        .step_by((moments / 50).max(1))
        .chain([moments - 1, history.peak_moment as usize])
    {
        let live = (0..table.len())
            .filter(|&row| history.is_live(AllocationId(row as u32), moment as u32));
        let sum = live.fold(0_u64, |sum, row| sum.saturating_add(table.bytes[row]));
        assert_eq!(
            sum, history.active_bytes[moment],
            "{place}: moment {moment}"
        );
    }
    let peak = history.active_bytes[history.peak_moment as usize];
    assert!(
        history.active_bytes.iter().all(|&bytes| bytes <= peak),
        "{place}: peak"
    );
    assert!(
        history.active_bytes[..history.peak_moment as usize]
            .iter()
            .all(|&bytes| bytes < peak),
        "{place}: first peak"
    );
}

fn check_events(place: &str, snapshot: &Snapshot, history: &History) {
    let table = &history.allocations;
    for (moment, &row) in (1..).zip(&history.allocation_of_event) {
        let event = snapshot.events.get(vramscope_core::ids::EventId(
            history.first_event + moment - 1,
        ));
        let concerns = matches!(
            event.action,
            Action::Alloc | Action::FreeRequested | Action::FreeCompleted
        );
        if row == u32::MAX {
            assert!(!concerns, "{place}: event {moment} concerns none");
            continue;
        }
        let row = row as usize;
        assert_eq!(table.address[row], event.addr, "{place}: event {moment}");
        match event.action {
            Action::Alloc => {
                assert_eq!(
                    (table.born[row], table.bytes[row]),
                    (moment, event.size),
                    "{place}: event {moment}"
                );
            }
            Action::FreeRequested => assert!(
                table.free_requested[row] <= moment,
                "{place}: event {moment}"
            ),
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
    for pair in rows
        .windows(2)
        .filter(|pair| table.address[pair[0]] == table.address[pair[1]])
    {
        let (older, newer) = (pair[0], pair[1]);
        let place = format!("{place}: {:#x}", table.address[older]);
        // Two allocations that were freed without having been allocated, or that lie at one address in the final
        // state of a damaged file, both count as older than the recording.
        let born = table.born[newer];
        if born > 0 {
            assert!(
                table.version[older] < table.version[newer],
                "{place}: version {}",
                table.version[older]
            );
            assert!(table.died[older] <= born, "{place}: overlapping tenancies");
        }
    }
}

/// Whether the segment events lead to the final state. A damaged file may mention more bytes than addresses can distinguish.
fn is_sound(snapshot: &Snapshot, history: &History, replay: &Replay) -> bool {
    let mut reserved = history.reserved_steps.iter();
    replay.mismatched_segment_events == 0
        && snapshot.warnings.is_empty()
        && reserved.all(|&(_, bytes)| bytes < 1 << 60)
}

fn check_replay(place: &str, snapshot: &Snapshot, history: &History) {
    let replay = Replay::of(snapshot, history);
    let count = history.event_count;
    let is_sound = is_sound(snapshot, history, &replay);
    for moment in (0..=count)
        .step_by((count as usize / 25).max(1))
        .chain([count])
    {
        let state = replay.state_at(history, moment);
        let table = &history.allocations;
        let live = (0..table.len() as u32)
            .map(AllocationId)
            .filter(|&id| history.is_live(id, moment));
        assert_eq!(
            state.allocations,
            live.collect::<Vec<_>>(),
            "{place}: live at {moment}"
        );
        assert!(
            state.segments.is_sorted_by(|a, b| a.address < b.address),
            "{place}: segments at {moment}"
        );
        if is_sound {
            assert_eq!(
                state.reserved_bytes(),
                history.reserved_bytes(moment),
                "{place}: reserved at {moment}"
            );
        }
    }
    // Forward from the start to the end: the segments listed in the file.
    if is_sound {
        let own = snapshot
            .segments
            .rows
            .iter()
            .filter(|segment| u32::try_from(segment.device) == Ok(history.device));
        let mut listed: Vec<_> = own
            .map(|segment| (segment.address, segment.total_size))
            .collect();
        listed.sort_unstable();
        let replayed: Vec<_> = replay
            .segments_at(count)
            .iter()
            .map(|range| (range.address, range.bytes))
            .collect();
        assert_eq!(replayed, listed, "{place}: final segments");
    }
}

/// The pieces of mapped memory equal the replay's at every moment, and add up to the reserved bytes.
fn check_segments(place: &str, snapshot: &Snapshot, history: &History) {
    let pieces = SegmentHistory::of(snapshot, history);
    let replay = Replay::of(snapshot, history);
    assert_eq!(
        pieces.mismatched, replay.mismatched_segment_events,
        "{place}: mismatched"
    );
    let is_sound = is_sound(snapshot, history, &replay);
    let rows = 0..pieces.len();
    assert_eq!(
        pieces
            .segments
            .iter()
            .flat_map(|segment| segment.rows())
            .collect::<Vec<_>>(),
        rows.clone().collect::<Vec<_>>(),
        "{place}: every piece has its segment"
    );
    check_segment_of(place, &pieces, history);
    let count = history.event_count;
    let reserved = pieces.reserved_steps();
    for moment in (0..=count)
        .step_by((count as usize / 25).max(1))
        .chain([count])
    {
        let mut mapped: Vec<_> = rows
            .clone()
            .filter(|&row| pieces.born[row] <= moment && moment < pieces.died[row])
            .map(|row| {
                (
                    pieces.address[row],
                    pieces.bytes[row],
                    pieces.segment_of(row),
                )
            })
            .collect();
        mapped.sort_unstable_by_key(|&(address, ..)| address);
        for pair in mapped.windows(2) {
            let end = u128::from(pair[0].0) + u128::from(pair[0].1);
            assert!(
                end <= u128::from(pair[1].0),
                "{place}: pieces overlap at {moment}"
            );
        }
        let sum: u64 = mapped
            .iter()
            .fold(0, |sum, piece| sum.saturating_add(piece.1));
        let known = bytes_at(&reserved, moment);
        assert_eq!(sum, known, "{place}: bytes at {moment}");
        if is_sound {
            assert_eq!(
                sum,
                history.reserved_bytes(moment),
                "{place}: reserved at {moment}"
            );
            let ranges = replay.segments_at(moment);
            check_pieces(&format!("{place} at {moment}"), &mapped, &ranges);
        }
    }
}

/// Allocations lie in the segments that contain their addresses when they are born.
fn check_segment_of(place: &str, pieces: &SegmentHistory, history: &History) {
    let table = &history.allocations;
    let of = pieces.of_allocations(table);
    for row in (0..table.len()).step_by((table.len() / 100).max(1)) {
        let piece = pieces.piece_at(table.address[row], table.born[row]);
        let segment = piece.map(|piece| pieces.segment[piece]);
        assert_eq!(of[row], segment, "{place}: the segment of allocation {row}");
    }
}

/// Every piece lies in one of the replay's ranges, on the same stream.
fn check_pieces(place: &str, pieces: &[(u64, u64, &SegmentLife)], ranges: &[MappedRange]) {
    let end = |address: u64, bytes: u64| u128::from(address) + u128::from(bytes);
    for &(address, bytes, segment) in pieces {
        let after = ranges.partition_point(|range| range.address <= address);
        let range = &ranges[after - 1];
        assert!(
            end(address, bytes) <= end(range.address, range.bytes),
            "{place}: {address:#x}"
        );
        assert_eq!(segment.stream, range.stream, "{place}: {address:#x}");
    }
}

pub(crate) fn check_all(place: &str, snapshot: &Snapshot) {
    for device in 0..(snapshot.traces.len() as u32).max(1) {
        check_device(&format!("{place}, device {device}"), snapshot, device);
    }
    for device in Recording::of(snapshot.clone()).devices() {
        crate::allocator_state::check(&format!("{place}, {device:?}"), device);
    }
}

// ---- files --------------------------------------------------------------------------------------

#[test]
fn laws_hold_for_every_file() {
    for file in all_files() {
        check_all(&file.name, &decoded(&file));
    }
}

/// Returns its bytes in pieces of the given sizes, repeatedly.
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

/// Checks that decoding in pieces of these sizes gives the same as decoding at once, errors included.
pub(crate) fn assert_chunked_is_whole(name: &str, bytes: &[u8], sizes: &[usize]) {
    let whole = decode(bytes);
    let chunked = decode(Pieces {
        bytes,
        sizes,
        next: 0,
    });
    match (whole, chunked) {
        (Ok(whole), Ok(chunked)) => assert_eq!(difference(&whole, &chunked), None, "{name}"),
        (Err(whole), Err(chunked)) => assert_eq!(whole.to_string(), chunked.to_string(), "{name}"),
        (whole, chunked) => {
            panic!(
                "{name}: whole {:?}, in pieces {:?}",
                whole.err(),
                chunked.err()
            );
        }
    }
}

#[test]
fn one_byte_at_a_time_is_the_same() {
    for file in all_files()
        .iter()
        .chain(&vramscope_synth::files::fixtures_in("refused"))
    {
        let few = &file.bytes[..file.bytes.len().min(600_000)];
        assert_chunked_is_whole(&file.name, few, &[1]);
        assert_chunked_is_whole(&file.name, &file.bytes, &[3, 4096, 1, 17, 65_536]);
    }
}

/// Returns the bytes that have arrived.
struct Coming<'a> {
    bytes: &'a [u8],
    /// Number of bytes that have arrived and are not read yet.
    ready: Rc<Cell<usize>>,
}

impl Read for Coming<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let ready = self.ready.get();
        assert!(ready > 0 || self.bytes.is_empty(), "read before it came");
        let count = self.bytes.len().min(buffer.len()).min(ready);
        let (now, later) = self.bytes.split_at(count);
        buffer[..count].copy_from_slice(now);
        self.bytes = later;
        self.ready.set(ready - count);
        Ok(count)
    }
}

#[test]
fn a_pickle_is_the_same_while_it_comes() {
    const PIECE: usize = 700_000;
    for file in all_files() {
        let ready = Rc::new(Cell::new(PIECE));
        let coming = Coming {
            bytes: &file.bytes,
            ready: ready.clone(),
        };
        let mut arrival = || -> Option<Arrival> {
            let ready = ready.clone();
            let mut polls = 0;
            // Ready when polled for the second time.
            (ready.get() < 512 << 10).then(|| -> Arrival {
                Box::pin(poll_fn(move |_| {
                    polls += 1;
                    if polls < 2 {
                        return Poll::Pending;
                    }
                    ready.update(|ready| ready + PIECE);
                    Poll::Ready(())
                }))
            })
        };
        let decoding = decode_arriving_pickle(coming, Options::default(), &mut arrival);
        let mut decoding = pin!(decoding);
        let decoded = loop {
            let polled = decoding
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(decoded) = polled {
                break decoded;
            }
        };
        match (decode(&file.bytes[..]), decoded) {
            (Ok(whole), Ok(arrived)) => {
                assert_eq!(difference(&whole, &arrived), None, "{}", file.name);
            }
            // Other encodings are not read piece by piece.
            (_, Err(error)) => assert_eq!(error.kind, ErrorKind::UnknownFormat, "{}", file.name),
            (Err(error), Ok(_)) => panic!("{}: {error}", file.name),
        }
    }
}

#[test]
fn cancelling_ends_decoding() {
    let file = &vramscope_synth::files::fixtures()[0];
    let mut calls = 0;
    let mut on_progress = |_| {
        calls += 1;
        std::ops::ControlFlow::Break(())
    };
    let options = decode_options(&mut on_progress);
    let error = vramscope_core::open::decode_with(&file.bytes[..], options)
        .err()
        .map(|error| error.kind);
    assert_eq!(error, Some(ErrorKind::Cancelled));
    assert_eq!(calls, 1);
}

fn decode_options(
    on_progress: &mut dyn FnMut(vramscope_core::open::Progress) -> std::ops::ControlFlow<()>,
) -> vramscope_core::open::Options<'_> {
    vramscope_core::open::Options {
        limits: Limits::default(),
        file_bytes: None,
        on_progress,
    }
}
