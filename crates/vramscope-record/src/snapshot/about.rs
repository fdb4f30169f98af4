//! What stands under `capture` at the top level of a snapshot, and the notes in it.
//!
//! The decoder reads at most 10,000 values there; lists that could be longer are cut well below that.

use serde_json::{Map, Value, json};

use vramscope_core::analysis::capture::Ended;

use crate::model::Recording;
use crate::reader::{Damage, DamageKind, Header};

/// Entries kept of each list that a program makes as long as it likes.
const MOST_TEXTS: usize = 500;
/// Bytes kept of each text that a program makes as long as it likes.
const LONGEST_TEXT_BYTES: usize = 4096;

/// The value of `capture`.
pub(super) fn about(
    recording: &Recording,
    header: &Header,
    ended: Ended,
    notes: &[String],
) -> Value {
    let names = &recording.names;
    let program = names.program.iter().take(MOST_TEXTS);
    let threads = names.threads.iter().take(MOST_TEXTS);
    let threads: Map<String, Value> = threads
        .map(|(thread, name)| (thread.to_string(), clipped(name).into()))
        .collect();
    let devices = names.devices.iter().map(|(index, device)| {
        json!({
            "index": index,
            "name": clipped(&device.name),
            "uuid": uuid(&device.uuid),
            "total_bytes": device.total_bytes,
        })
    });
    let memory = recording.samples.iter().map(|sample| {
        json!({
            "device": sample.device,
            "time_us": sample.time_us,
            "free_bytes": sample.free_bytes,
            "total_bytes": sample.total_bytes,
            "tracked_bytes": sample.tracked_bytes,
        })
    });
    json!({
        "tool": concat!("vramscope-capture ", env!("CARGO_PKG_VERSION")),
        "program": program.map(|text| clipped(text)).collect::<Vec<_>>(),
        "pid": header.process,
        "started_us": header.created_ns / 1000,
        "ended": ended.word(),
        "dropped_records": header.dropped_records,
        "notes": notes,
        "threads": threads,
        "devices": devices.collect::<Vec<_>>(),
        "memory": memory.collect::<Vec<_>>(),
    })
}

/// `GPU-` and the bytes in groups, as nvidia-smi prints it.
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
    &text[..text.floor_char_boundary(LONGEST_TEXT_BYTES)]
}

/// What whoever reads the snapshot should know: what the program's side noted, then what is odd about the log.
pub(super) fn notes(recording: &Recording, header: &Header) -> Vec<String> {
    let noted = recording.names.notes.iter();
    let mut notes: Vec<_> = noted.map(|note| clipped(note).to_owned()).collect();
    if header.consumed_bytes() > 0 && recording.counts.records == 0 {
        notes.push(
            "The records of this log were taken over by the vramscope-capture that ran the program: convert what it \
             wrote."
                .to_owned(),
        );
    }
    notes.extend(recording.damage.iter().map(of_damage));
    let counts = &recording.counts;
    let odd = [
        (
            counts.unknown_frees,
            "freed memory that was not seen being allocated: it was allocated before recording began, or its record \
             is missing",
        ),
        (
            recording.device.superseded + recording.host.superseded,
            "ended an allocation whose free is missing, as something else was allocated in its place",
        ),
        (
            recording.annotations.ends_alone,
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
    for (count, what) in odd {
        match count {
            0 => {}
            1 => notes.push(format!("1 record {what}.")),
            _ => notes.push(format!("{count} records: each {what}.")),
        }
    }
    for (device, bytes) in recording.array_bytes() {
        notes.push(format!(
            "Arrays and textures hold {bytes} bytes on device {device}. They have no address, so no block stands for \
             them; they count as tracked memory."
        ));
    }
    notes
}

fn of_damage(damage: &Damage) -> String {
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
            "stretch of the log holds no records; what stood there is missing",
            "stretches of the log hold no records; what stood there is missing",
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
