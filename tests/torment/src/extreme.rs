//! Snapshots as JSON whose structure is right and whose values are extreme.

use serde_json::{Map, Value, json};
use vramscope_synth::Rng;

/// Texts from files that must do no harm where they are shown.
const TEXTS: [&str; 12] = [
    "",
    "main.py",
    "<script>alert(1)</script>",
    "\u{1b}[31mred",
    "a\n::error::b\rc",
    "::error::b",
    "a ##[error]b",
    "\u{202e}gpj.exe",
    "=cmd|' /C calc'!A0",
    "../../../etc/passwd",
    "\u{0}",
    "\u{fffd}\u{10ffff}",
];

const ACTIONS: [&str; 13] = [
    "alloc",
    "alloc",
    "alloc",
    "free_requested",
    "free_completed",
    "free",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "snapshot",
    "nonsense",
];

/// A snapshot with extreme values.
pub(crate) fn snapshot(rng: &mut Rng) -> Vec<u8> {
    let devices = rng.below(4);
    let traces: Vec<Value> = (0..devices).map(|_| list(rng, 120, event)).collect();
    let mut file = Map::new();
    file.insert("segments".to_owned(), list(rng, 12, segment));
    file.insert("device_traces".to_owned(), Value::Array(traces));
    if rng.chance(50) {
        file.insert("allocator_settings".to_owned(), anything(rng, 3));
    }
    if rng.chance(30) {
        file.insert("external_annotations".to_owned(), list(rng, 20, annotation));
    }
    if rng.chance(20) {
        file.insert(text(rng), anything(rng, 4));
    }
    Value::Object(file).to_string().into_bytes()
}

fn list(rng: &mut Rng, most: u64, mut item: impl FnMut(&mut Rng) -> Value) -> Value {
    let count = rng.below(most + 1);
    (0..count).map(|_| item(rng)).collect()
}

fn event(rng: &mut Rng) -> Value {
    let mut event = json!({
        "action": rng.pick(&ACTIONS),
        "addr": address(rng),
        "size": number(rng),
        "stream": number(rng),
        "time_us": number(rng),
        "frames": list(rng, 4, frame),
    });
    odd_one_out(rng, &mut event);
    event
}

fn segment(rng: &mut Rng) -> Value {
    let mut segment = json!({
        "device": rng.below(4),
        "address": address(rng),
        "total_size": number(rng),
        "allocated_size": number(rng),
        "active_size": number(rng),
        "requested_size": number(rng),
        "stream": number(rng),
        "segment_type": rng.pick(&["small", "large", "other"]),
        "segment_pool_id": [number(rng), number(rng)],
        "is_expandable": rng.chance(50),
        "frames": list(rng, 3, frame),
        "blocks": list(rng, 12, block),
    });
    odd_one_out(rng, &mut segment);
    segment
}

fn block(rng: &mut Rng) -> Value {
    let states = ["active_allocated", "active_pending_free", "inactive", "odd"];
    let mut block = json!({
        "address": address(rng),
        "size": number(rng),
        "requested_size": number(rng),
        "state": rng.pick(&states),
        "frames": list(rng, 3, frame),
    });
    odd_one_out(rng, &mut block);
    block
}

fn frame(rng: &mut Rng) -> Value {
    json!({"name": text(rng), "filename": text(rng), "line": number(rng)})
}

fn annotation(rng: &mut Rng) -> Value {
    json!({
        "name": text(rng),
        "stage": rng.pick(&["START", "END", "odd"]),
        "device": rng.below(4),
        "time_us": number(rng),
    })
}

/// Rarely gives one key a value of another kind, or removes it. Most files must be accepted, or only refusals would be
/// tested.
fn odd_one_out(rng: &mut Rng, record: &mut Value) {
    let is_odd = rng.below(1_000) == 0;
    let Some(record) = record.as_object_mut().filter(|_| is_odd) else {
        return;
    };
    let keys: Vec<String> = record.keys().cloned().collect();
    let key = rng.pick(&keys);
    if rng.chance(30) {
        record.remove(key);
    } else {
        record.insert(key.clone(), anything(rng, 3));
    }
}

/// Any value of at most this many levels.
fn anything(rng: &mut Rng, levels: u32) -> Value {
    match rng.below(if levels == 0 { 5 } else { 7 }) {
        0 => Value::Null,
        1 => rng.chance(50).into(),
        2 => number(rng),
        3 => (rng.bits() as i64 as f64 * 1e290).into(),
        4 => text(rng).into(),
        5 => list(rng, 4, |rng| anything(rng, levels - 1)),
        _ => {
            let count = rng.below(4);
            let pairs = (0..count).map(|_| (text(rng), anything(rng, levels - 1)));
            Value::Object(pairs.collect())
        }
    }
}

/// Few addresses, so that events meet one another, and occasionally any.
fn address(rng: &mut Rng) -> Value {
    match rng.below(20) {
        0 => number(rng),
        _ => (0x7f00_0000_0000 + rng.below(24) * (1 << 20)).into(),
    }
}

fn number(rng: &mut Rng) -> Value {
    match rng.below(12) {
        0 => i64::MIN.into(),
        1 => i64::MAX.into(),
        2 => u64::MAX.into(),
        3 => (-(rng.below(1 << 40) as i64)).into(),
        4 => (1_u64 << rng.below(64)).into(),
        5 => 0.into(),
        _ => rng.below(64 << 20).into(),
    }
}

fn text(rng: &mut Rng) -> String {
    match rng.below(12) {
        0 => "x".repeat(1 + rng.below(3_000) as usize),
        _ => (*rng.pick(&TEXTS)).to_owned(),
    }
}
