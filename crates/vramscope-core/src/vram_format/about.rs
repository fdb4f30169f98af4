//! The JSON part of a packed snapshot.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decode::Key;
use crate::model::{ContainerKind, KeysSeen, Producer, Snapshot, Source, Warnings};

/// Everything about a file besides its tables.
#[derive(Serialize, Deserialize)]
pub(super) struct About {
    pub(super) settings: Map<String, Value>,
    pub(super) extras: Map<String, Value>,
    pub(super) producer: Producer,
    pub(super) warnings: Warnings,
    /// The source of the original file, not of an intermediate packed one.
    pub(super) source: Source,
    keys: Keys,
}

/// [`KeysSeen`] as texts, because the bits differ between versions.
#[derive(Serialize, Deserialize)]
struct Keys {
    top: Vec<String>,
    segment: Vec<String>,
    block: Vec<String>,
    event: Vec<String>,
}

impl About {
    pub(super) fn of(snapshot: &Snapshot) -> Self {
        let mut source = snapshot.source.clone();
        let packed = |kind: &ContainerKind| *kind == ContainerKind::Packed;
        if let Some(last) = source.containers.iter().rposition(packed) {
            source.containers.drain(..=last);
        }
        let texts = |bits| {
            Key::of_bits(bits)
                .map(|key| key.text().to_owned())
                .collect()
        };
        Self {
            settings: snapshot.settings.clone(),
            extras: snapshot.extras.clone(),
            producer: snapshot.producer.clone(),
            warnings: snapshot.warnings.clone(),
            source,
            keys: Keys {
                top: texts(snapshot.keys.top),
                segment: texts(snapshot.keys.segment),
                block: texts(snapshot.keys.block),
                event: texts(snapshot.keys.event),
            },
        }
    }

    /// The keys, as far as this version knows them.
    pub(super) fn keys(&self) -> KeysSeen {
        let bits = |texts: &[String]| {
            Key::of_bits(u64::MAX)
                .filter(|key| texts.iter().any(|text| text == key.text()))
                .fold(0, |bits, key| bits | key.bit())
        };
        KeysSeen {
            top: bits(&self.keys.top),
            segment: bits(&self.keys.segment),
            block: bits(&self.keys.block),
            event: bits(&self.keys.event),
        }
    }
}

/// Adds the keys of parts that the snapshot has to the keys of the file, because these decide what is written.
pub(super) fn complete_keys(snapshot: &mut Snapshot) {
    let parts = [
        (Key::DeviceTraces, !snapshot.traces.is_empty()),
        (Key::AllocatorSettings, !snapshot.settings.is_empty()),
        (
            Key::ExternalAnnotations,
            !snapshot.annotations.rows.is_empty(),
        ),
        (Key::HostSegments, !snapshot.host_segments.is_empty()),
        (Key::HostTraces, !snapshot.host_trace.is_empty()),
    ];
    let there = parts.into_iter().filter(|&(_, is_there)| is_there);
    let top = &mut snapshot.keys.top;
    *top |= there.fold(0, |bits, (key, _)| bits | key.bit());
    // Only a file that is just a list of segments has no keys.
    if *top != 0 || !snapshot.extras.is_empty() {
        *top |= Key::Segments.bit();
    }
}
