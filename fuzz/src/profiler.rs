//! The rule for traces and memory timelines of torch.profiler.

use std::fmt::Write;

use vramscope_core::analysis::time::history::History;
use vramscope_core::ids::EventId;
use vramscope_core::model::{Action, Profile};

use crate::rules::{pipeline, read, vram_format};

/// Any bytes are a trace or a timeline whose events add up, or an error: as they are, and as the numbers of a file that is
/// well-formed.
pub fn profiler(data: &[u8]) {
    for text in [data, trace(data).as_bytes(), timeline(data).as_bytes()] {
        add_up(text);
        pipeline(text);
        vram_format(text);
    }
}

/// What is live changes by no more than each event says, and begins with what was there before.
fn add_up(text: &[u8]) {
    let Ok(snapshot) = read(text) else { return };
    let Some(profile) = Profile::of(&snapshot) else {
        return;
    };
    for device in profile.devices.iter().filter(|device| device.device < 8) {
        let history = History::of(&snapshot, device.device);
        assert!(history.active_bytes[0] >= device.before_bytes);
        for (moment, row) in (1..).zip(snapshot.trace(device.device)) {
            let event = snapshot.events.get(EventId(row));
            let [before, after] =
                [moment - 1, moment].map(|moment| history.active_bytes_at(moment));
            match event.action {
                Action::Alloc => assert!(after <= before.saturating_add(event.size)),
                _ => assert!(after <= before),
            }
        }
    }
}

/// A trace whose events are made of the bytes, eight for each.
fn trace(data: &[u8]) -> String {
    let mut text = String::from("{\"schemaVersion\": 1, \"traceEvents\": [{}");
    for event in data.chunks_exact(8).take(400) {
        let &[kind, thread, time, fraction, length, address, size, total] = event else {
            continue;
        };
        let place = format!(
            "\"pid\": 1, \"tid\": {}, \"ts\": {time}.{fraction:03}",
            thread % 3
        );
        let written = match kind % 4 {
            0 => write!(
                text,
                ", {{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::op{}\", {place}, \"dur\": {length}}}",
                size % 4
            ),
            1 => write!(
                text,
                ", {{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"a.py({size}): f\", {place}, \"dur\": {length}.5}}"
            ),
            _ => write!(
                text,
                ", {{\"ph\": \"i\", \"name\": \"[memory]\", {place}, \"args\": {{\"Device Type\": {}, \"Device Id\": {}, \
                 \"Addr\": {}, \"Bytes\": {}, \"Total Allocated\": {total}}}}}",
                kind / 4 % 2,
                kind / 8 % 3,
                u32::from(address) * 512,
                i32::from(size) - 128
            ),
        };
        written.expect("a String takes every text");
    }
    text + "]}"
}

/// A raw timeline whose events are made of the bytes, four for each.
fn timeline(data: &[u8]) -> String {
    let rows = data.chunks_exact(4).take(400).filter_map(|row| {
        let &[time, action, size, category] = row else {
            return None;
        };
        let (time, size) = (i32::from(time) - 1, i32::from(size) - 128);
        Some(format!(
            "[{time}, {}, {size}, {}]",
            action % 5,
            category % 9
        ))
    });
    format!("[{}]", rows.collect::<Vec<_>>().join(", "))
}
