//! The facts about a file for the page: once it is read, or why it could not be.

use vramscope_core::Error;
use vramscope_core::analysis::report::facts::{Fact, FactKind, FactLevel, facts, warning_text};
use vramscope_core::model::{ContainerKind, Warning};
use vramscope_core::units::Count;
use vramscope_protocol::{
    Axes, Axis, DeviceFacts, DevicesOfPools, DevicesWithin, Failure, FileFacts, Note, NoteLevel,
    Opened,
};
use vramscope_view::colour;
use vramscope_view::line_facts::LineFacts;

use super::document::{Device, Document};
use super::live;

/// The facts about an open file.
pub(super) fn opened(document: &Document, name: &str, file_bytes: u64, read_ms: f64) -> Opened {
    let snapshot = &document.snapshot;
    let facts = facts(document);
    let notes_of = |device| {
        facts
            .iter()
            .filter(move |fact| fact.device == device)
            .map(note)
    };
    let mut notes: Vec<_> = notes_of(None).collect();
    notes.extend(snapshot.warnings.list().iter().map(warning_note));
    let devices = document
        .devices()
        .map(|device| device_facts(device, notes_of(Some(device.history.device)).collect()));
    Opened {
        file: FileFacts {
            name: name.to_owned(),
            file_bytes,
            decoded_bytes: snapshot.source.decoded_bytes,
            format: format_text(&snapshot.source.containers),
            producer: snapshot.producer.name.clone(),
            events: snapshot.events.len() as u64,
            stacks: snapshot.stacks.len().saturating_sub(1) as u64,
            model_bytes: model_bytes(document),
            worker_bytes: worker_bytes(),
            read_ms,
            recorded: live::recorded(document),
        },
        devices: devices.collect(),
        notes,
        leaders: document.leaders().clone(),
    }
}

/// The facts of the devices of a file that is narrowed to memory pools.
pub(super) fn devices_of_pools(document: &Document, asked: &DevicesWithin) -> DevicesOfPools {
    let facts = |device| device_facts(device, Vec::new());
    DevicesOfPools {
        pools: asked.pools.clone(),
        devices: document.devices().map(facts).collect(),
    }
}

fn device_facts(device: Device<'_>, notes: Vec<Note>) -> DeviceFacts {
    let history = device.history;
    let times = &history.moment_start_us;
    DeviceFacts {
        lines: LineFacts::of(*device),
        // The cast saturates.
        map_bytes: device.map_lanes().y_end() as u64,
        // Of all pools, also within some: the page marks them.
        ooms: device
            .tells_failures()
            .then(|| device.oom_moments().len() as u64),
        segments_colour_by: colour::usual_of_segments(*device),
        notes,
        device: history.device,
        name: device.snapshot().device_name(history.device),
        events: history.event_count,
        has_trace: history.has_trace(),
        allocations: history.allocations.len() as u32,
        peak_bytes: device.peak_bytes(),
        peak_moment: history.peak_moment,
        final_bytes: history.active_bytes.last().copied().unwrap_or(0),
        peak_reserved_bytes: history.most_reserved_bytes(),
        most_reserved_bytes: device.peak_reserved_bytes(),
        time_span_us: times.first().zip(times.last()),
        axes: Axes {
            events: device.bounds(Axis::Events),
            time: device.has_times().then(|| device.bounds(Axis::Time)),
        },
        colour_by: colour::usual(*device),
        ..DeviceFacts::default()
    }
}

/// Bytes of this worker's memory; 0 in native tests.
fn worker_bytes() -> u64 {
    #[cfg(target_arch = "wasm32")]
    {
        core::arch::wasm32::memory_size::<0>() as u64 * (64 << 10)
    }
    #[cfg(not(target_arch = "wasm32"))]
    {
        0
    }
}

fn model_bytes(document: &Document) -> u64 {
    let snapshot = &document.snapshot;
    let tables = snapshot.strings.heap_bytes()
        + snapshot.frames.heap_bytes()
        + snapshot.stacks.heap_bytes()
        + snapshot.contexts.heap_bytes()
        + snapshot.events.heap_bytes();
    let histories = document.histories.iter().map(|history| {
        // Bytes per row of the columns of `History`.
        history.allocations.len() * 32
            + history.active_bytes.len() * 12
            + history.moment_start_us.len() * 8
    });
    (tables + histories.sum::<usize>()) as u64
}

fn note(fact: &Fact) -> Note {
    if let FactKind::OutOfMemory { event, .. } = fact.kind {
        return Note {
            level: NoteLevel::Info,
            text: fact.text.clone(),
            advice: fact.meaning.clone(),
            places: Vec::new(),
            moment: Some(event),
        };
    }
    Note {
        level: match fact.level {
            FactLevel::Gap => NoteLevel::Warning,
            FactLevel::Notice => NoteLevel::Info,
        },
        text: [fact.text.as_str(), &fact.meaning]
            .join(" ")
            .trim()
            .to_owned(),
        advice: fact.advice.clone(),
        places: Vec::new(),
        moment: None,
    }
}

fn warning_note(warning: &Warning) -> Note {
    Note {
        level: match warning.kind.is_damage() {
            true => NoteLevel::Damage,
            false => NoteLevel::Warning,
        },
        text: match warning.count {
            1 => sentence(&warning_text(&warning.kind)),
            count => sentence(&format!(
                "{} ({} times)",
                warning_text(&warning.kind),
                Count(count)
            )),
        },
        advice: match warning.kind.is_damage() {
            true => "The file is damaged, or was altered: its figures may be wrong. Copy it again, or dump it again."
                .to_owned(),
            false => String::new(),
        },
        places: warning.places.clone(),
        moment: None,
    }
}

/// The text as a sentence, with a capital and a full stop.
fn sentence(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters
        .next()
        .map(|first| first.to_uppercase().to_string())
        .unwrap_or_default();
    format!("{first}{}.", characters.as_str())
}

/// Containers from the outside in, e.g. `gzip, pickle protocol 4`.
fn format_text(containers: &[ContainerKind]) -> String {
    let words = containers.iter().map(ContainerKind::to_string);
    words.collect::<Vec<_>>().join(", ")
}

/// Why a file could not be read, in words.
pub(super) fn failure(error: &Error) -> Failure {
    Failure {
        message: error.kind.to_string(),
        advice: error.advice().to_owned(),
        offset: (error.offset > 0).then_some(error.offset),
        path: error.path.clone(),
        format: format_text(&error.containers),
        head: error.head.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(file: &[u8]) -> Opened {
        let document = Document::new(vramscope_core::decode(file).unwrap());
        opened(&document, "run.pickle", 9, 1.0)
    }

    #[test]
    fn a_plain_recording_has_its_timeline_alone() {
        let opened = of(include_bytes!(
            "../../../tests/fixtures/torch-2.3.1/training.pickle"
        ));
        assert!(!opened.has_more_than_timeline());
    }

    #[test]
    fn failed_allocations_pools_and_states_are_more_than_a_timeline() {
        const FILES: [&[u8]; 3] = [
            include_bytes!("../../../tests/fixtures/synth/torch-2.10-py-p4.pickle"),
            include_bytes!("../../../tests/fixtures/synth/scenario-pools.pickle"),
            include_bytes!("../../../tests/fixtures/synth/scenario-state-only.pickle"),
        ];
        for file in FILES {
            let opened = of(file);
            let lines = &opened.devices[0].lines;
            assert!(opened.has_more_than_timeline(), "{lines:?}");
        }
    }
}
