//! Snapshots of a plausible run with steps, in which something contradicts something else.

use serde_json::{Value, json};
use vramscope_synth::Rng;

const MIB: u64 = 1 << 20;
const BASE: u64 = 0x7f00_0000_0000;
const STEP_US: i64 = 1_000;

/// Possible contradictions; each changes a whole file.
const TWISTS: [fn(&mut Rng, &mut Value); 13] = [
    clock_set,
    clock_set,
    times_missing,
    events_swapped,
    events_reversed,
    unknown_actions,
    events_left_out,
    segment_freed,
    segments_too_small,
    free_unreadable,
    device_too_small,
    steps_again,
    marks_reversed,
];

/// A snapshot with one to three contradictions.
pub(crate) fn snapshot(rng: &mut Rng) -> Vec<u8> {
    let mut file = run(rng);
    for _ in 0..rng.between(1, 3) {
        let twist = *rng.pick(&TWISTS);
        twist(rng, &mut file);
    }
    file.to_string().into_bytes()
}

/// A run of some steps. Each makes and frees activations, and may leave something.
fn run(rng: &mut Rng) -> Value {
    let steps = rng.between(3, 20);
    let leaks = rng.chance(50);
    let (mut events, mut marks, mut blocks) = (Vec::new(), Vec::new(), Vec::new());
    let held = (steps + 1) * 2 * MIB;
    events.push(event("segment_alloc", BASE, held, 0));
    for step in 0..steps {
        let start = step as i64 * STEP_US + 1;
        let mark = |stage: &str, at: i64| json!({"stage": stage, "name": format!("ProfilerStep#{step}"), "device": 0, "time_us": start + at});
        marks.extend([mark("START", 1), mark("END", 900)]);
        events.push(event("alloc", BASE, MIB, start + 10));
        if leaks {
            let address = BASE + (step + 1) * 2 * MIB;
            events.push(event("alloc", address, MIB, start + 20));
            blocks.push(address);
        }
        events.push(event("free_requested", BASE, MIB, start + 800));
        events.push(event("free_completed", BASE, MIB, start + 801));
    }
    if rng.chance(30) {
        let end = steps as i64 * STEP_US;
        events.push(json!({"action": "oom", "device_free": 0, "size": MIB, "stream": 0, "time_us": end, "frames": []}));
    }
    json!({
        "segments": [segment(held, &blocks)],
        "device_traces": [events],
        "external_annotations": marks,
        "allocator_settings": {"garbage_collection_threshold": 0.5},
    })
}

fn event(action: &str, address: u64, bytes: u64, time_us: i64) -> Value {
    json!({
        "action": action, "addr": address, "size": bytes, "stream": 0, "time_us": time_us,
        "frames": [{"name": action, "filename": "train.py", "line": 3}],
    })
}

fn segment(bytes: u64, live: &[u64]) -> Value {
    let mut blocks = Vec::new();
    let mut next = BASE;
    let block = |address: u64, bytes: u64, state: &str| json!({"address": address, "size": bytes, "requested_size": bytes, "state": state});
    for &address in live {
        blocks.push(block(next, address - next, "inactive"));
        blocks.push(block(address, MIB, "active_allocated"));
        next = address + MIB;
    }
    blocks.push(block(next, BASE + bytes - next, "inactive"));
    json!({"device": 0, "address": BASE, "total_size": bytes, "stream": 0, "blocks": blocks})
}

fn events(file: &mut Value) -> &mut Vec<Value> {
    list(&mut file["device_traces"][0])
}

fn list(value: &mut Value) -> &mut Vec<Value> {
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(list) => list,
        _ => unreachable!("made so above"),
    }
}

/// A place in the events; 0 if there are none.
fn place(rng: &mut Rng, file: &mut Value) -> usize {
    let count = events(file).len() as u64;
    rng.below(count.max(1)) as usize
}

/// From some event on the clock is set back or forward, and the clock of the marks may be, too.
fn clock_set(rng: &mut Rng, file: &mut Value) {
    let from = place(rng, file);
    let by = *rng.pick(&[
        -10_000_000,
        -5 * STEP_US,
        -1,
        1,
        3_600_000_000,
        i64::MIN / 2,
    ]);
    let with_marks = rng.chance(50);
    let since = events(file).get(from).and_then(|it| it["time_us"].as_i64());
    let set = |row: &mut Value| {
        if let Some(time) = row["time_us"].as_i64() {
            row["time_us"] = time.saturating_add(by).into();
        }
    };
    events(file).iter_mut().skip(from).for_each(set);
    let marks = list(&mut file["external_annotations"]).iter_mut();
    let later = marks.filter(|mark| with_marks && mark["time_us"].as_i64() >= since);
    later.for_each(set);
}

fn times_missing(rng: &mut Rng, file: &mut Value) {
    for event in events(file) {
        if rng.chance(20) {
            event.as_object_mut().map(|event| event.remove("time_us"));
        }
    }
}

fn events_swapped(rng: &mut Rng, file: &mut Value) {
    let (one, other) = (place(rng, file), place(rng, file));
    if !events(file).is_empty() {
        events(file).swap(one, other);
    }
}

fn events_reversed(_: &mut Rng, file: &mut Value) {
    events(file).reverse();
}

fn unknown_actions(rng: &mut Rng, file: &mut Value) {
    let action = *rng.pick(&["free", "realloc", "", "FREE_COMPLETED", "##[error]free"]);
    for event in events(file) {
        if event["action"] == "free_completed" && rng.chance(80) {
            event["action"] = action.into();
        }
    }
}

fn events_left_out(rng: &mut Rng, file: &mut Value) {
    let action = *rng.pick(&["alloc", "free_requested", "free_completed", "segment_alloc"]);
    let share = rng.between(1, 100);
    events(file).retain(|event| event["action"] != action || !rng.chance(share));
}

/// A segment is released while something in it is live.
fn segment_freed(rng: &mut Rng, file: &mut Value) {
    let at = place(rng, file);
    let time = events(file)
        .get(at)
        .map_or(1, |it| it["time_us"].as_i64().unwrap_or(1));
    let bytes = file["segments"][0]["total_size"].as_u64().unwrap_or(MIB);
    events(file).insert(at, event("segment_free", BASE, bytes, time));
}

fn segments_too_small(_: &mut Rng, file: &mut Value) {
    file["segments"] = json!([segment(MIB, &[])]);
}

fn free_unreadable(rng: &mut Rng, file: &mut Value) {
    let free = rng
        .pick(&[json!(-1), json!(u64::MAX), json!(1_u64 << 60)])
        .clone();
    events(file).push(json!({"action": "oom", "device_free": free, "size": MIB, "stream": 0, "time_us": 1, "frames": []}));
}

fn device_too_small(rng: &mut Rng, file: &mut Value) {
    let bytes = rng.below(4) * MIB;
    file["capture"] =
        json!({"tool": "vramscope-capture 0.1.0", "devices": [{"index": 0, "total_bytes": bytes}]});
}

/// All steps have the same marks once more.
fn steps_again(_: &mut Rng, file: &mut Value) {
    let marks = list(&mut file["external_annotations"]);
    marks.extend(marks.clone());
}

fn marks_reversed(_: &mut Rng, file: &mut Value) {
    list(&mut file["external_annotations"]).reverse();
}
