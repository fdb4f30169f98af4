//! The value of `capture` at the top level of a snapshot, and its notes.
//!
//! The decoder reads at most 10,000 values there, so long lists are truncated well below that.

use serde_json::{Map, Value, json};

use vramscope_core::analysis::memory::capture::Ended;

use crate::layout::Named;
use crate::model::{Names, Recording};
use crate::reader::{Damage, DamageKind, Header};

/// Maximum entries of each list whose length the program determines.
const MAX_TEXTS: usize = 500;
/// Maximum bytes of each text whose length the program determines.
const MAX_TEXT_BYTES: usize = 4096;

pub(super) fn capture_value(
    recording: &Recording,
    header: &Header,
    ended: Ended,
    notes: &[String],
) -> Value {
    let names = &recording.names;
    let program = names.program.iter().take(MAX_TEXTS);
    let threads = names.threads.iter().take(MAX_TEXTS);
    let threads: Map<String, Value> = threads
        .map(|(thread, name)| (thread.to_string(), clipped(name).into()))
        .collect();
    let mut capture = json!({
        "tool": concat!("vramscope-capture ", env!("CARGO_PKG_VERSION")),
        "program": program.map(|text| clipped(text)).collect::<Vec<_>>(),
        "pid": header.process,
        "started_us": header.created_ns / 1000,
        "ended": ended.word(),
        "read_us": recording.read_us,
        "dropped_records": header.dropped_records,
        "lost": lost(header),
        "dropped_entries": recording.journal.dropped_entries(),
        "notes": notes,
        "threads": threads,
        "devices": devices(names),
        "memory": memory(recording),
    });
    for (key, named) in [("streams", Named::Stream), ("contexts", Named::Context)] {
        let given = given(names, named).take(MAX_TEXTS);
        let given: Map<String, Value> = given
            .map(|(handle, name)| (format!("{handle:#x}"), name.into()))
            .collect();
        if !given.is_empty() {
            capture[key] = given.into();
        }
    }
    capture
}

fn devices(names: &Names) -> Vec<Value> {
    let devices = names.devices.iter().map(|(index, device)| {
        let mut value = json!({
            "index": index,
            "name": clipped(&device.name),
            "uuid": uuid(&device.uuid),
            "total_bytes": device.total_bytes,
        });
        let mut given = given(names, Named::Device);
        if let Some((_, name)) = given.find(|(handle, _)| *handle == u64::from(*index)) {
            value["given_name"] = name.into();
        }
        value
    });
    devices.collect()
}

/// The program's names of one kind, by handle.
fn given(names: &Names, named: Named) -> impl Iterator<Item = (u64, &str)> {
    let all = names.given.iter();
    let named = all.filter(move |((of, _), _)| *of == named);
    named.map(|((_, handle), name)| (*handle, clipped(name)))
}

/// The driver's figures for devices and pools, in order of time.
fn memory(recording: &Recording) -> Vec<Value> {
    let devices = recording.samples.iter().map(|sample| {
        let value = json!({
            "device": sample.device,
            "time_us": sample.time_us,
            "free_bytes": sample.free_bytes,
            "total_bytes": sample.total_bytes,
            "tracked_bytes": sample.tracked_bytes,
            "pool_unplaced_bytes": sample.unplaced_bytes,
        });
        (sample.time_us, value)
    });
    let pools = recording.pool_samples.iter().map(|sample| {
        let usage = sample.usage;
        let mut value = json!({
            "device": sample.device,
            "time_us": sample.time_us,
            "pool_reserved_bytes": usage.reserved_bytes,
            "pool_used_bytes": usage.used_bytes,
            "pool_unplaced_bytes": usage.unplaced_bytes,
        });
        if usage.graph_reserved_bytes > 0 {
            value["graph_reserved_bytes"] = usage.graph_reserved_bytes.into();
            value["graph_used_bytes"] = usage.graph_used_bytes.into();
        }
        (sample.time_us, value)
    });
    let mut all: Vec<_> = devices.chain(pools).collect();
    all.sort_by_key(|(time_us, _)| *time_us);
    all.into_iter().map(|(_, value)| value).collect()
}

/// Losses by reason, with their counts.
fn lost(header: &Header) -> Vec<Value> {
    let lost = header.lost();
    lost.map(|(loss, times)| json!({"reason": loss.name(), "times": times, "text": loss.text()}))
        .collect()
}

/// Formats a UUID as nvidia-smi does: `GPU-` and the bytes in groups.
fn uuid(bytes: &[u8; 16]) -> String {
    let mut text = "GPU-".to_owned();
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.push_str(&format!("{byte:02x}"));
    }
    text
}

fn clipped(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
}

/// Remarks for the reader of the snapshot: those of the recorder, then irregularities of the log.
pub(super) fn notes(recording: &Recording, header: &Header) -> Vec<String> {
    let noted = recording.names.notes.iter();
    let mut notes: Vec<_> = noted.map(|note| clipped(note).to_owned()).collect();
    if header.consumed_bytes() > 0 {
        notes.push(format!(
            "{} bytes of this log's records were consumed by the vramscope-capture that ran the program, and are missing: \
             use the snapshot that it wrote. If it was killed before, they are lost.",
            header.consumed_bytes()
        ));
    }
    notes.extend(recording.damage.iter().map(damage_note));
    let counts = &recording.counts;
    let irregularities = [
        (
            counts.unknown_frees,
            "freed memory that was not seen being allocated: it was allocated before recording began, or its record \
             is missing",
        ),
        (
            recording.device.superseded + recording.host.superseded,
            "ended an allocation whose free is missing, as something else was allocated in its location",
        ),
        (
            recording.annotations.unmatched_ends,
            "ended a named range that was not seen beginning",
        ),
        (
            counts.unknown_calls,
            "is of a call that this version does not know",
        ),
        (
            counts.impossible,
            "cannot have happened as it was recorded, and was left out",
        ),
    ];
    for (count, what) in irregularities {
        match count {
            0 => {}
            1 => notes.push(format!("1 record {what}.")),
            _ => notes.push(format!("{count} records: each {what}.")),
        }
    }
    for (device, bytes) in recording.arrays.bytes_by_device() {
        notes.push(format!(
            "Arrays and textures hold {bytes} bytes on device {device}. They have no address, so no block represents \
             them; they count as tracked memory."
        ));
    }
    notes.extend(pool_notes(recording));
    notes
}

/// Remarks on what is unknown about memory pools.
fn pool_notes(recording: &Recording) -> Vec<String> {
    let mut notes = Vec::new();
    for uncertain in recording.uncertain.values() {
        notes.push(format!(
            "A memory pool of device {} had {} bytes allocated when the device's primary context ended. The driver did \
             not say whether they ended with it; they are kept.",
            uncertain.device, uncertain.bytes
        ));
    }
    let pools = &recording.device.pools;
    for pool in pools.iter().filter(|pool| pool.is_inexact()) {
        notes.push(format!(
            "Pool {}.{}: the mappings that the driver names for its memory sum to more than the pool holds. So each of \
             its allocations is shown as its own segment, and what the pool holds beyond them is unplaced.",
            pool.id.0, pool.id.1
        ));
    }
    for device in 0..=u8::MAX {
        if usize::from(device) >= recording.journal.devices.len() {
            break;
        }
        match pools.usage(device).unplaced_bytes {
            0 => {}
            bytes => notes.push(format!(
                "Pool, unplaced: pools of device {device} hold {bytes} bytes more than their segments show. They count \
                 as tracked memory."
            )),
        }
    }
    notes
}

fn damage_note(damage: &Damage) -> String {
    let &Damage {
        kind,
        count,
        offset,
    } = damage;
    let (one, many) = match kind {
        DamageKind::Unfinished => (
            "record was not finished when its thread ended, and is missing",
            "records were not finished when their threads ended, and are missing",
        ),
        DamageKind::Lost => (
            "stretch of the log holds no records; its events are missing",
            "stretches of the log hold no records; their events are missing",
        ),
        DamageKind::UnknownKind => (
            "record is of a kind that only a newer vramscope-capture knows",
            "records are of a kind that only a newer vramscope-capture knows",
        ),
        DamageKind::Malformed => (
            "record is too short for its kind, and was left out",
            "records are too short for their kind, and were left out",
        ),
        DamageKind::CutOff => (
            "log ends before its records do: it was not copied completely, or the disk was full",
            "logs end before their records do: they were not copied completely, or the disk was full",
        ),
    };
    let what = if count == 1 { one } else { many };
    format!("{count} {what} (first at byte {offset} of the log).")
}
