//! Recognises the torch that wrote a snapshot by the keys it uses (FORMAT.md 1.9), because only captured files state a
//! version.

use self::Evidence::{Event, Segment, Setting, Top};
use super::key::Key;
use crate::ids::StringId;
use crate::model::{Producer, Profile, ProfileKind, Snapshot, StringTable, capture_of};

/// A part of a snapshot that reveals a version.
enum Evidence {
    /// A key of the top level.
    Top(Key),
    /// A key of segments.
    Segment(Key),
    /// A key of trace entries.
    Event(Key),
    /// A key of `allocator_settings`.
    Setting(&'static str),
}

/// The versions of torch with the evidence for each, newest first.
const VERSIONS: [(Evidence, &str); 12] = [
    (Event(Key::InternalMetadata), "torch 2.15 or newer"),
    (Top(Key::HostSegments), "torch 2.14 or newer"),
    (Setting("max_round_threshold"), "torch 2.13"),
    (Event(Key::PoolId), "torch 2.12"),
    (Event(Key::ForwardFrames), "torch 2.11"),
    (Event(Key::UserMetadata), "torch 2.10 or 2.11"),
    (
        Setting("graph_capture_record_stream_reuse"),
        "torch 2.9 or newer",
    ),
    (Event(Key::CompileContext), "torch 2.8"),
    (Top(Key::ExternalAnnotations), "torch 2.5 to 2.7"),
    (Top(Key::AllocatorSettings), "torch 2.3 or 2.4"),
    (Event(Key::TimeUs), "torch 2.2"),
    (Segment(Key::IsExpandable), "torch 2.1 or 2.2"),
];

impl Evidence {
    fn is_in(&self, snapshot: &Snapshot) -> bool {
        let keys = &snapshot.keys;
        match *self {
            Top(key) => keys.top & key.bit() != 0,
            Segment(key) => keys.segment & key.bit() != 0,
            Event(key) => keys.event & key.bit() != 0,
            Setting(name) => snapshot.settings.contains_key(name),
        }
    }

    /// Its name in messages.
    fn text(&self) -> String {
        match *self {
            Top(key) | Segment(key) | Event(key) => format!("`{}`", key.text()),
            Setting(name) => format!("setting `{name}`"),
        }
    }
}

/// Whether stacks go through Ascend's extension of torch, whose snapshots have the keys of torch 2.1.
pub(super) fn is_of_ascend(strings: &StringTable) -> bool {
    let mut texts = (0..strings.len()).map(|row| strings.get(StringId::from_index(row)));
    texts.any(|text| {
        let is_file = text.starts_with("torch_npu/") || text.contains("/torch_npu/");
        is_file || text.starts_with("c10_npu::")
    })
}

/// The producer according to the first matching rule.
pub(crate) fn of(snapshot: &Snapshot) -> Producer {
    let keys = &snapshot.keys;
    let producer = |name: &str, evidence: &str| Producer {
        name: name.to_owned(),
        evidence: evidence.to_owned(),
    };
    let capture = capture_of(&snapshot.extras);
    if let Some(tool) = capture.and_then(|capture| capture.get("tool")?.as_str()) {
        return producer(&tool[..tool.floor_char_boundary(100)], "`capture`");
    }
    if let Some(profile) = Profile::in_extras(&snapshot.extras) {
        return match profile.kind {
            ProfileKind::Trace => producer("torch.profiler", "`traceEvents`"),
            _ => producer("torch.profiler's memory timeline", "lists of numbers"),
        };
    }
    if keys.block & Key::History.bit() != 0 {
        let name = if keys.top == 0 {
            "torch 1.13"
        } else {
            "torch 2.0"
        };
        return producer(name, "blocks with `history`");
    }
    if keys.top == 0 {
        return producer(
            "torch.cuda.memory_snapshot() or torch 1.4 to 1.12",
            "a list at the top level",
        );
    }
    let xpu = Setting("PYTORCH_ALLOC_CONF");
    if xpu.is_in(snapshot) {
        return producer("torch.xpu 2.11 or newer", &xpu.text());
    }
    if is_of_ascend(&snapshot.strings) {
        return producer("torch_npu (Ascend)", "frames of torch_npu");
    }
    let has_sums = Segment(Key::AllocatedSize).is_in(snapshot);
    if keys.segment != 0 && !has_sums && !Top(Key::AllocatorSettings).is_in(snapshot) {
        return producer(
            "_profile_to_snapshot of torch 2.1 or newer",
            "segments without `allocated_size`",
        );
    }
    let mut versions = VERSIONS.iter();
    match versions.find(|(evidence, _)| evidence.is_in(snapshot)) {
        Some((evidence, name)) => producer(name, &evidence.text()),
        None => producer("torch 2.0", "none of the newer keys"),
    }
}
