//! Traces and memory timelines of torch.profiler, compared with a slow and obvious reading of the same text.

mod cuts;
mod odd;
mod roles;

use std::io::Read;

use proptest::prelude::*;
use serde_json::{Value, json};
use vramscope_core::analysis::recording::Recording;
use vramscope_core::encode::{difference, encode};
use vramscope_core::ids::EventId;
use vramscope_core::model::{Action, DeviceKind, Profile, ProfileKind};
use vramscope_core::{ErrorKind, Snapshot, decode, vram_format};
use vramscope_synth::files::fixtures_in;
use vramscope_synth::random::config;

use crate::laws::check_all;

/// The text of each file of `tests/fixtures/profiler` whose name begins so.
fn texts(kind: &str) -> Vec<(String, String)> {
    let files = fixtures_in("profiler");
    let of_kind = files
        .into_iter()
        .filter(|file| file.name.starts_with(&format!("profiler/{kind}")));
    let texts: Vec<_> = of_kind
        .map(|file| {
            let mut text = String::new();
            let mut unpacked = vramscope_core::container::unpacked(
                &file.bytes[..],
                &vramscope_core::Limits::default(),
            )
            .unwrap();
            unpacked.read_to_string(&mut text).unwrap();
            (file.name, text)
        })
        .collect();
    assert!(!texts.is_empty(), "no {kind}");
    texts
}

/// An event as stated in a trace.
#[derive(Clone, PartialEq, Debug)]
struct Row {
    action: Action,
    addr: u64,
    size: u64,
    time_us: i64,
    /// The names of running spans, innermost first.
    stack: Vec<String>,
}

/// A span: thread, start and end in nanoseconds, and its name.
type Span = ((i64, i64), i64, i64, String);

fn ns(value: &Value) -> i64 {
    value.as_i64().map_or_else(
        || (value.as_f64().unwrap() * 1000.0).round() as i64,
        |us| us * 1000,
    )
}

fn thread(event: &Value) -> (i64, i64) {
    (
        event["pid"].as_i64().unwrap(),
        event["tid"].as_i64().unwrap(),
    )
}

fn spans(events: &[Value]) -> Vec<Span> {
    let is_span = |event: &&Value| {
        event["ph"] == "X"
            && ["cpu_op", "python_function"].contains(&event["cat"].as_str().unwrap_or(""))
    };
    let spans = events.iter().filter(is_span).map(|event| {
        let start = ns(&event["ts"]);
        let name = event["name"].as_str().unwrap();
        (
            thread(event),
            start,
            start + ns(&event["dur"]),
            without_address(name),
        )
    });
    let mut spans: Vec<_> = spans.collect();
    spans.sort_by_key(|span| (span.0, span.1, -span.2));
    spans
}

fn without_address(name: &str) -> String {
    match name.split_once(" at 0x") {
        Some((before, _)) if name.starts_with('<') => format!("{before}>"),
        _ => name.to_owned(),
    }
}

/// The spans running on a thread at a time, innermost first. One that ends then still counts, unless another begins.
fn running(spans: &[Span], thread: (i64, i64), time: i64) -> Vec<String> {
    let of_thread: Vec<_> = spans.iter().filter(|span| span.0 == thread).collect();
    let last_begun = of_thread.iter().rposition(|span| span.1 == time);
    let runs = of_thread.into_iter().enumerate().filter(|(place, span)| {
        let ends_later =
            span.2 > time || span.2 == time && last_begun.is_none_or(|last| last == *place);
        span.1 <= time && ends_later
    });
    let mut names: Vec<_> = runs.map(|(_, span)| span.3.clone()).collect();
    names.reverse();
    names
}

/// The events of the device with this type and number, in order of time.
fn expected(trace: &Value, kind: i64, number: i64) -> Vec<Row> {
    let events = trace["traceEvents"].as_array().unwrap();
    let base = trace["baseTimeNanoseconds"].as_i64().unwrap_or(0);
    let spans = spans(events);
    let is_own = |event: &&Value| {
        let args = &event["args"];
        let is_memory = event["name"] == "[memory]" || event["name"] == "[OutOfMemory]";
        is_memory
            && args["Device Type"] == kind
            && args["Device Id"] == number
            && args["Bytes"] != 0
    };
    let mut own: Vec<_> = events.iter().filter(is_own).collect();
    own.sort_by_key(|event| ns(&event["ts"]));
    let mut rows = Vec::new();
    for event in own {
        let bytes = event["args"]["Bytes"].as_i64().unwrap();
        let row = |action, addr| Row {
            action,
            addr,
            size: bytes.unsigned_abs(),
            time_us: (base + ns(&event["ts"])).div_euclid(1000),
            stack: running(&spans, thread(event), ns(&event["ts"])),
        };
        if event["name"] == "[OutOfMemory]" {
            rows.push(row(Action::Oom, 1 << 63));
            continue;
        }
        let addr = event["args"]["Addr"].as_u64().unwrap();
        let actions: &[Action] = match bytes > 0 {
            true => &[Action::Alloc],
            false => &[Action::FreeRequested, Action::FreeCompleted],
        };
        rows.extend(actions.iter().map(|&action| row(action, addr)));
    }
    rows
}

/// The events of a device as they were read.
fn read(snapshot: &Snapshot, device: u32) -> Vec<Row> {
    let text = |id| snapshot.strings.get(id);
    let rows = snapshot.trace(device).map(|row| {
        let event = snapshot.events.get(EventId(row));
        let stack = snapshot.stacks.frames(event.stack).map(|id| {
            let frame = snapshot.frames.get(id);
            match text(frame.filename) {
                "" => text(frame.name).to_owned(),
                file => format!("{file}({}): {}", frame.line, text(frame.name)),
            }
        });
        Row {
            action: event.action,
            addr: event.addr,
            size: event.size,
            time_us: event.time_us,
            stack: stack.collect(),
        }
    });
    rows.collect()
}

/// Compares a trace with its reading.
fn check(name: &str, text: &str) -> Snapshot {
    let trace: Value = serde_json::from_str(text).unwrap();
    let snapshot = decode(text.as_bytes()).unwrap();
    let profile = Profile::of(&snapshot).unwrap();
    for device in &profile.devices {
        let is_cpu = device.kind == DeviceKind::Cpu;
        let (kind, number) = if is_cpu {
            (0, -1)
        } else {
            (1, i64::from(device.number))
        };
        let rows = read(&snapshot, device.device);
        let expected = expected(&trace, kind, number);
        assert_eq!(rows.len(), expected.len(), "{name}");
        for (row, expected) in rows.iter().zip(&expected) {
            assert_eq!(row, expected, "{name}");
        }
    }
    check_all(name, &snapshot);
    survives_writing(name, &snapshot);
    snapshot
}

fn survives_writing(name: &str, snapshot: &Snapshot) {
    let mut pickle = Vec::new();
    encode(snapshot, &mut pickle).unwrap();
    let again = decode(&pickle[..]).unwrap();
    assert_eq!(difference(snapshot, &again), None, "{name}");
    assert_eq!(again.producer, snapshot.producer, "{name}");
    let mut packed = Vec::new();
    vram_format::write(snapshot, &mut packed).unwrap();
    assert_eq!(
        difference(snapshot, &decode(&packed[..]).unwrap()),
        None,
        "{name}"
    );
}

#[test]
fn traces_are_what_their_text_says() {
    for kind in ["training", "plain"] {
        for (name, text) in texts(kind) {
            let snapshot = check(&name, &text);
            assert_eq!(snapshot.producer.name, "torch.profiler", "{name}");
            assert!(
                snapshot.warnings.is_empty(),
                "{name}: {:?}",
                snapshot.warnings
            );
        }
    }
}

/// Torch's own total is the sum of the live allocations, at every event.
#[test]
fn totals_are_what_is_live() {
    for kind in ["training", "plain"] {
        for (name, text) in texts(kind) {
            let trace: Value = serde_json::from_str(&text).unwrap();
            let recording = Recording::of(decode(text.as_bytes()).unwrap());
            for device in recording.devices() {
                let profile = Profile::of(&recording.snapshot).unwrap();
                let known = profile.device(device.index()).unwrap();
                let kind = i64::from(known.kind == DeviceKind::Cuda);
                let events = trace["traceEvents"].as_array().unwrap().iter();
                let own = events.filter(|event| {
                    event["name"] == "[memory]" && event["args"]["Device Type"] == kind
                });
                let mut own: Vec<_> = own.collect();
                own.sort_by_key(|event| ns(&event["ts"]));
                let mut moment = 0;
                for event in own {
                    let bytes = event["args"]["Bytes"].as_i64().unwrap();
                    moment += if bytes > 0 { 1 } else { 2 };
                    let total = event["args"]["Total Allocated"].as_u64().unwrap();
                    assert_eq!(
                        device.history.active_bytes_at(moment),
                        total,
                        "{name} {moment}"
                    );
                }
                assert!(moment > 20, "{name}");
            }
        }
    }
}

#[test]
fn operators_carry_their_inputs_and_steps_are_ranges() {
    for (name, text) in texts("training") {
        let snapshot = decode(text.as_bytes()).unwrap();
        let text = |id| snapshot.strings.get(id);
        let inputs = snapshot
            .contexts
            .rows()
            .iter()
            .filter_map(|context| context.user_metadata);
        let inputs: Vec<_> = inputs.map(text).collect();
        let linear = "aten::addmm(float[256], float[128, 64], float[64, 256], Scalar, Scalar)";
        assert!(inputs.contains(&linear), "{name}: {inputs:?}");
        let names: Vec<_> = snapshot
            .annotations
            .rows
            .iter()
            .map(|mark| text(mark.name))
            .collect();
        for step in [
            "ProfilerStep#1",
            "Optimizer.zero_grad#Adam.zero_grad",
            "forward",
            "Optimizer.step#Adam.step",
        ] {
            let devices = Profile::of(&snapshot).unwrap().devices.len();
            let marks = names.iter().filter(|name| **name == step).count();
            assert_eq!(marks % (2 * devices), 0, "{name} {step}");
            assert!(marks > 0, "{name} {step}");
        }
    }
}

#[test]
fn raw_timelines_are_sums_of_their_events() {
    for (name, text) in texts("timeline")
        .into_iter()
        .filter(|(name, _)| name.contains(".raw."))
    {
        let rows: Vec<[i64; 4]> = serde_json::from_str(&text).unwrap();
        let snapshot = decode(text.as_bytes()).unwrap();
        assert_eq!(
            Profile::of(&snapshot).unwrap().kind,
            ProfileKind::RawTimeline,
            "{name}"
        );
        assert!(
            snapshot.warnings.is_empty(),
            "{name}: {:?}",
            snapshot.warnings
        );
        check_all(&name, &snapshot);
        survives_writing(&name, &snapshot);
        let (mut sum, mut highest) = (0, 0);
        for [_, action, bytes, _] in rows {
            // A change is two rows, which do not change the sum.
            sum += bytes;
            highest = if action == 3 {
                highest
            } else {
                highest.max(sum)
            };
        }
        let recording = Recording::of(snapshot);
        let device = recording.devices().next().unwrap();
        let last = device.history.event_count;
        assert_eq!(device.history.active_bytes_at(last), sum as u64, "{name}");
        assert_eq!(device.peak_bytes(), highest as u64, "{name}");
    }
}

#[test]
fn timelines_are_the_sums_that_they_state() {
    for (name, text) in texts("timeline")
        .into_iter()
        .filter(|(name, _)| !name.contains(".raw."))
    {
        // Until torch 2.1 sums are floats.
        let (times, sums): (Vec<i64>, Vec<Vec<f64>>) = serde_json::from_str(&text).unwrap();
        let snapshot = decode(text.as_bytes()).unwrap();
        assert_eq!(
            Profile::of(&snapshot).unwrap().kind,
            ProfileKind::Timeline,
            "{name}"
        );
        check_all(&name, &snapshot);
        survives_writing(&name, &snapshot);
        let recording = Recording::of(snapshot);
        let device = recording.devices().next().unwrap();
        let us = |time: i64| match time > 100_000_000_000_000_000 {
            true => time / 1000,
            false => time,
        };
        let times: Vec<_> = times.into_iter().map(us).collect();
        for (row, (time, sums)) in times.iter().zip(&sums).enumerate() {
            // Of several in one microsecond, the last one counts.
            if times.get(row + 1) == Some(time) {
                continue;
            }
            // The last moment that begins at that time.
            let events = &recording.snapshot.events.time_us;
            let moment = events.iter().filter(|event| event <= time).count() as u32;
            let total = sums.iter().sum::<f64>() as u64;
            assert_eq!(
                device.history.active_bytes_at(moment),
                total,
                "{name} {time}"
            );
        }
    }
}

/// A span or a memory event of a random trace.
fn event() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("aten::mm"),
        Just("aten::empty"),
        Just("a.py(3): f"),
        Just("nn.Module: Linear_0"),
        Just("<built-in method to of Tensor object at 0x7f00aa>"),
    ];
    let time = prop_oneof![
        (0..60_i64).prop_map(|us| json!(us)),
        (0..60_000_i64).prop_map(|ns| json!(ns as f64 / 1000.0))
    ];
    let span = (name, time.clone(), 0..20_i64, 0..2_i64).prop_map(|(name, ts, dur, tid)| {
        let category = if name.starts_with("aten") { "cpu_op" } else { "python_function" };
        json!({"ph": "X", "cat": category, "name": name, "pid": 7, "tid": tid, "ts": ts, "dur": dur,
            "args": {"Input Dims": [[3, 4], [], [[1]]], "Input type": ["float", "Scalar", "TensorList"]}})
    });
    let memory = (time, 0..2_i64, 1..4_u64, 1..4_i64, any::<bool>(), any::<bool>()).prop_map(
        |(ts, tid, addr, size, is_free, is_cpu)| {
            let bytes = if is_free { -size } else { size };
            let (kind, number) = if is_cpu { (0, -1) } else { (1, 0) };
            json!({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 7, "tid": tid, "ts": ts,
                "args": {"Device Type": kind, "Device Id": number, "Addr": addr * 512, "Bytes": bytes}})
        },
    );
    prop_oneof![2 => span, 1 => memory]
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn random_traces_are_what_their_text_says(events in prop::collection::vec(event(), 1..60), base in 0..3_i64) {
        let has_memory = events.iter().any(|event| event["name"] == "[memory]");
        let trace = json!({"schemaVersion": 1, "baseTimeNanoseconds": base * 1_500, "traceEvents": events});
        let text = trace.to_string();
        if has_memory {
            check("random", &text);
        } else {
            let refused = decode(text.as_bytes()).map(|_| ()).unwrap_err();
            prop_assert!(matches!(refused.kind, ErrorKind::NotASnapshot(_)));
        }
    }

    #[test]
    fn random_timelines_are_read(rows in prop::collection::vec((-1..9_i64, 1..5_i64, -4..5_i64, 0..9_i64), 1..40)) {
        let text = json!(rows.iter().map(|row| json!([row.0, row.1, row.2, row.3])).collect::<Vec<_>>()).to_string();
        if let Ok(snapshot) = decode(text.as_bytes()) {
            check_all("random timeline", &snapshot);
            survives_writing("random timeline", &snapshot);
        }
    }
}
