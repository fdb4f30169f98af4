//! A cut agrees with the whole file at every moment of its range.

use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::report::facts::{FactKind, facts};
use vramscope_core::analysis::time::annotations::named_ranges;
use vramscope_core::analysis::time::history::{History, StackSource};
use vramscope_core::analysis::time::replay::Replay;
use vramscope_core::anonymise::{Anonymiser, anonymise};
use vramscope_core::cut::{Piece, cut};
use vramscope_core::encode::{difference, encode};
use vramscope_core::ids::AllocationId;
use vramscope_core::{Snapshot, decode};
use vramscope_synth::files::{all_files, real_files};
use vramscope_synth::random::{config, damaged, nonsense, run, steps};
use vramscope_synth::snapshot::{Producer, WriteOptions};

use crate::support::{decoded, recorded};

fn encoded(snapshot: &Snapshot) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(snapshot, &mut bytes).unwrap();
    bytes
}

fn pickle_of(snapshot: &Snapshot, device: u32, moments: (u32, u32)) -> Vec<u8> {
    let recording = Recording::of(snapshot.clone());
    let device = recording.device(device).unwrap();
    encoded(&cut(&recording, &[Piece { device, moments }]))
}

/// A device of the whole file, with the data to compare.
struct Whole<'a> {
    place: String,
    device: Device<'a>,
}

impl<'a> Whole<'a> {
    fn of(name: &str, device: Device<'a>) -> Self {
        Self {
            place: format!("{name}, device {}", device.index()),
            device,
        }
    }

    /// Whether every event is consistent with the state before it: other events are interpreted differently in a part.
    fn is_sound(&self) -> bool {
        let mismatches = self.device.history.mismatches;
        mismatches.alloc_at_live_address == 0
            && mismatches.block_size_differs == 0
            && self.device.replay().mismatched_segment_events == 0
    }

    fn piece(&self, moments: (u32, u32)) -> Piece<'_> {
        Piece {
            device: self.device,
            moments,
        }
    }

    /// Cuts and writes a range, and reads it again: this must work for any file.
    fn cut_and_read(&self, (from, to): (u32, u32)) -> Snapshot {
        let place = format!("{}, {from} to {to}", self.place);
        let cut = cut(self.device.recording, &[self.piece((from, to))]);
        let read = decode(&encoded(&cut)[..]).unwrap();
        assert_eq!(difference(&cut, &read), None, "{place}");
        let counts = |snapshot: &Snapshot| {
            let Snapshot {
                frames,
                stacks,
                contexts,
                ..
            } = snapshot;
            (frames.len(), stacks.len(), contexts.len())
        };
        assert_eq!(counts(&cut), counts(&read), "{place}: only what is used");
        read
    }

    /// Compares a cut with the whole file, moment by moment.
    fn check(&self, (from, to): (u32, u32)) {
        let place = format!("{}, {from} to {to}", self.place);
        let read = self.cut_and_read((from, to));
        if !self.is_sound() {
            return;
        }
        if self.device.snapshot().warnings.is_empty() {
            assert_eq!(read.warnings.list(), &[], "{place}");
        }
        let history = History::of(&read, self.device.history.device);
        let replay = Replay::of(&read, &history);
        // Without segments, events at the beginning show what is live.
        let ahead = history.event_count - (to - from);
        if self.device.is_without_segments() {
            assert_eq!(read.segments.rows.len(), 0, "{place}");
            let before = &history.active_bytes[..=ahead as usize];
            assert!(before.is_sorted(), "{place}");
        } else {
            assert_eq!(ahead, 0, "{place}");
        }
        // Without segments at the end, a request to free counts as unfinished, not as the end.
        if read.segments.is_empty() && !self.device.snapshot().segments.is_empty() {
            return;
        }
        let span = from as usize..=to as usize;
        assert_eq!(
            history.active_bytes[ahead as usize..],
            self.device.history.active_bytes[span],
            "{place}: active"
        );
        for moment in (0..=to - from)
            .step_by(((to - from) as usize / 15).max(1))
            .chain([to - from])
        {
            let place = format!("{place}, moment {moment}");
            assert_eq!(
                live(&history, ahead + moment),
                live(self.device.history, from + moment),
                "{place}"
            );
            let reserved = |replay: &Replay, moment| -> Vec<(u64, u64, i64)> {
                let ranges = replay.segments_at(moment);
                joined(
                    ranges
                        .iter()
                        .map(|range| (range.address, range.bytes, range.stream)),
                )
            };
            if self.holds_all(to) {
                assert_eq!(
                    reserved(&replay, ahead + moment),
                    reserved(self.device.replay(), from + moment),
                    "{place}"
                );
                assert_eq!(
                    history.reserved_bytes(ahead + moment),
                    self.device.history.reserved_bytes(from + moment),
                    "{place}"
                );
            }
        }
        self.check_stacks(&place, &read, &history, to);
    }

    /// Whether each live allocation lies in a segment.
    fn holds_all(&self, moment: u32) -> bool {
        let ranges = self.device.replay().segments_at(moment);
        self.device
            .replay()
            .live_at(self.device.history, moment)
            .iter()
            .all(|id| {
                let address = self.device.history.allocations.address[id.index()];
                ranges
                    .iter()
                    .any(|range| range.address <= address && address - range.address < range.bytes)
            })
    }

    /// The origin of allocations live at the end is still known, as far as it was.
    fn check_stacks(&self, place: &str, read: &Snapshot, history: &History, to: u32) {
        let end = history.event_count;
        let (mut ours, mut theirs): (Vec<AllocationId>, Vec<AllocationId>) = (
            live_ids(history, end).collect(),
            live_ids(self.device.history, to).collect(),
        );
        ours.sort_by_key(|id| history.allocations.address[id.index()]);
        theirs.sort_by_key(|id| self.device.history.allocations.address[id.index()]);
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            let (stack, source) = self.device.history.stack(self.device.snapshot(), theirs);
            let text = |snapshot: &Snapshot, stack| -> Vec<String> {
                let frames = snapshot
                    .stacks
                    .frames(stack)
                    .map(|id| snapshot.frames.get(id));
                frames
                    .map(|frame| format!("{} {}", snapshot.strings.get(frame.name), frame.line))
                    .collect()
            };
            let expected = if source == StackSource::Free {
                Vec::new()
            } else {
                text(self.device.snapshot(), stack)
            };
            assert_eq!(
                text(read, history.stack(read, ours).0),
                expected,
                "{place}: stack"
            );
        }
    }
}

fn live_ids(history: &History, moment: u32) -> impl Iterator<Item = AllocationId> + '_ {
    (0..history.allocations.len() as u32)
        .map(AllocationId)
        .filter(move |&id| history.is_live(id, moment))
}

fn live(history: &History, moment: u32) -> Vec<(u64, u64)> {
    let table = &history.allocations;
    let mut live: Vec<_> = live_ids(history, moment)
        .map(|id| (table.address[id.index()], table.bytes[id.index()]))
        .collect();
    live.sort_unstable();
    live
}

/// Touching ranges of the same stream merged: whether they count as one depends on which events were seen.
fn joined(ranges: impl Iterator<Item = (u64, u64, i64)>) -> Vec<(u64, u64, i64)> {
    let mut joined: Vec<(u64, u64, i64)> = Vec::new();
    for (address, bytes, stream) in ranges {
        match joined.last_mut() {
            Some(last) if last.0 + last.1 == address && last.2 == stream => last.1 += bytes,
            _ => joined.push((address, bytes, stream)),
        }
    }
    joined
}

/// The ends, the peak, and ranges from everywhere.
fn ranges_of(history: &History) -> Vec<(u32, u32)> {
    let count = history.event_count;
    let peak = history.peak_moment;
    vec![
        (0, count),
        (0, 0),
        (count, count),
        (peak.saturating_sub(50), peak),
        (peak, (peak + 200).min(count)),
        (count / 3, count / 3 + count / 10),
        (count / 2, count),
    ]
}

#[test]
fn cuts_of_every_file_are_true() {
    let mut sound = 0;
    for file in all_files() {
        let recording = recorded(&file);
        for device in recording.devices() {
            let whole = Whole::of(&file.name, device);
            sound += u32::from(whole.is_sound());
            for range in ranges_of(whole.device.history) {
                whole.check(range);
            }
        }
    }
    assert!(sound > 40, "only {sound} sound devices");
}

#[test]
fn damaged_files_are_cut_without_harm() {
    for (index, (segments, trace)) in damaged().into_iter().enumerate() {
        let model = vramscope_synth::snapshot::Snapshot {
            segments,
            device_traces: vec![trace],
            ..Default::default()
        };
        let bytes = model.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        let recording = Recording::of(decode(&bytes[..]).unwrap());
        let whole = Whole::of(&format!("damaged {index}"), recording.device(0).unwrap());
        for range in ranges_of(whole.device.history) {
            whole.cut_and_read(range);
        }
    }
}

#[test]
fn a_cut_is_smaller() {
    for file in real_files().iter().filter(|file| file.is_plain_pickle()) {
        let snapshot = decoded(file);
        // One file is from a program that never used a device.
        let Some(&device) = snapshot.devices().first() else {
            continue;
        };
        let count = History::of(&snapshot, device).event_count;
        let small = pickle_of(&snapshot, device, (count / 4, count / 2));
        if count > 1000 {
            assert!(
                small.len() < file.bytes.len() * 3 / 4,
                "{}: {} of {}",
                file.name,
                small.len(),
                file.bytes.len()
            );
        }
    }
}

#[test]
fn ranges_that_reach_into_the_cut_keep_their_marks() {
    let text = r#"{"segments": [], "device_traces": [[
        {"action": "alloc", "addr": 4096, "size": 1, "time_us": 10},
        {"action": "alloc", "addr": 8192, "size": 1, "time_us": 20},
        {"action": "alloc", "addr": 12288, "size": 1, "time_us": 30},
        {"action": "alloc", "addr": 16384, "size": 1, "time_us": 40}]],
        "external_annotations": [
        {"stage": "START", "name": "over", "device": 0, "time_us": 1},
        {"stage": "START", "name": "before", "device": 0, "time_us": 2},
        {"stage": "START", "name": "into", "device": 0, "time_us": 3},
        {"stage": "END", "name": "before", "device": 0, "time_us": 4},
        {"stage": "END", "name": "into", "device": 0, "time_us": 25},
        {"stage": "START", "name": "other device", "device": 1, "time_us": 25},
        {"stage": "START", "name": "out of", "device": 0, "time_us": 26},
        {"stage": "END", "name": "out of", "device": 0, "time_us": 35},
        {"stage": "END", "name": "over", "device": 0, "time_us": 50},
        {"stage": "START", "name": "after", "device": 0, "time_us": 60}]}"#;
    let snapshot = decode(text.as_bytes()).unwrap();
    let names = |moments| {
        let read = decode(&pickle_of(&snapshot, 0, moments)[..]).unwrap();
        let ranges = named_ranges(&read);
        let name = |id| read.strings.get(id).to_owned();
        ranges
            .iter()
            .map(|range| (name(range.name), range.start_us, range.end_us))
            .collect::<Vec<_>>()
    };
    let expected = [
        ("over".to_owned(), Some(1), None),
        ("into".to_owned(), Some(3), Some(25)),
        ("out of".to_owned(), Some(26), None),
    ];
    assert_eq!(names((2, 3)), expected);
    assert_eq!(names((0, 4)).len(), 5, "all of the device's");
}

#[test]
fn python_reads_a_cut() {
    let program = "import pickle, sys; s = pickle.load(sys.stdin.buffer); \
        print(sum(map(len, s['device_traces'])), len(s['segments']), \
        all(sum(b['size'] for b in g['blocks']) == g['total_size'] for g in s['segments']))";
    for file in all_files()
        .iter()
        .filter(|file| file.name.ends_with("training.pickle"))
    {
        let snapshot = decoded(file);
        let count = History::of(&snapshot, 0).event_count;
        let bytes = pickle_of(&snapshot, 0, (count / 3, count / 2));
        let started = Command::new("python3")
            .args(["-c", program])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut python) = started else {
            skipped("python3");
            return;
        };
        python.stdin.take().unwrap().write_all(&bytes).unwrap();
        let said = String::from_utf8(python.wait_with_output().unwrap().stdout).unwrap();
        let read = decode(&bytes[..]).unwrap();
        let expected = format!("{} {} True", count / 2 - count / 3, read.segments.len());
        assert_eq!(said.trim(), expected, "{}", file.name);
    }
}

#[expect(
    clippy::print_stdout,
    reason = "whoever runs the tests should know what was left out"
)]
fn skipped(what: &str) {
    println!("skipped: no {what} here");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn cuts_of_random_programs_are_true(steps in steps(), expandable: bool, forget in 0..40_usize, ends: (u16, u16)) {
        let bytes = run(&steps, expandable, forget).to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        let recording = Recording::of(decode(&bytes[..]).unwrap());
        let whole = Whole::of("random program", recording.device(0).unwrap());
        prop_assert!(whole.is_sound());
        let at = |end: u16| u32::from(end) % (whole.device.history.event_count + 1);
        let (from, to) = (at(ends.0).min(at(ends.1)), at(ends.0).max(at(ends.1)));
        whole.check((from, to));
    }

    #[test]
    fn nonsense_is_cut_without_harm(model in nonsense(), ends: (u16, u16)) {
        let bytes = model.to_pickle(&WriteOptions::new(Producer::Python(2, 15)));
        if let Ok(snapshot) = decode(&bytes[..]) {
            let recording = Recording::of(snapshot);
            for device in recording.devices() {
                let moments = (u32::from(ends.0) % 70, u32::from(ends.1) % 70);
                let small = cut(&recording, &[Piece { device, moments }]);
                let read = decode(&encoded(&small)[..]).unwrap();
                prop_assert_eq!(difference(&small, &read), None);
                let _ = History::of(&read, device.index());
            }
        }
    }
}

/// A round number of events and frees of earlier allocations look like a full ring of events, but not in a cut.
#[test]
fn a_cut_is_no_full_ring() {
    let trace = |events: std::ops::Range<usize>| {
        let events = events.map(|at| {
            let (action, addr) = [("alloc", at), ("free_completed", at.saturating_sub(1))][at % 2];
            let addr = 4096 * (addr + 1);
            format!(r#"{{"action": "{action}", "addr": {addr}, "size": 512}}"#)
        });
        let events: Vec<_> = events.collect();
        let json = format!(
            r#"{{"segments": [], "device_traces": [[{}]]}}"#,
            events.join(",")
        );
        decode(json.as_bytes()).unwrap()
    };
    let whole = trace(0..2_000);
    let says_full = |snapshot: &Snapshot| {
        let facts = facts(&Recording::of(snapshot.clone()));
        facts
            .iter()
            .any(|fact| matches!(fact.kind, FactKind::RingFull { .. }))
    };
    let cut = |snapshot: &Snapshot, moments| decode(&pickle_of(snapshot, 0, moments)[..]).unwrap();
    let later = cut(&whole, (1, 1_001));
    assert!(!says_full(&whole) && !says_full(&later));
    // One allocation is live each time, which an event repeats.
    let told = |before: u64| serde_json::json!([before, 1]);
    assert_eq!(later.extras["cut"]["0"], told(1));
    let again = cut(&later, (11, 500));
    assert_eq!(
        again.extras["cut"]["0"],
        told(11),
        "since the beginning of the first"
    );
    let first = cut(&whole, (0, 1_000));
    assert_eq!(first.extras["cut"]["0"], 0, "what was cut off came later");
    assert!(!says_full(&first));
    assert!(!cut(&whole, (0, 2_000)).extras.contains_key("cut"));
    let hidden = anonymise(&again, &Anonymiser::salted("tests"));
    assert_eq!(hidden.extras["cut"]["0"], told(11));
    // The same events without the note.
    assert!(says_full(&trace(1..1_001)));
}
