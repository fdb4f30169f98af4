//! Which torch wrote a snapshot, from the keys it uses (FORMAT.md 1.9): files carry no version. Only captured ones do.

use super::key::Key;
use crate::model::{Producer, Snapshot, capture_of};

/// The producer, by the first rule that matches, newest first.
#[expect(clippy::too_many_lines, reason = "a table of rules")]
pub(crate) fn of(snapshot: &Snapshot) -> Producer {
    let keys = &snapshot.keys;
    let event = |key: Key| keys.event & key.bit() != 0;
    let top = |key: Key| keys.top & key.bit() != 0;
    let setting = |name: &str| snapshot.settings.contains_key(name);
    let producer = |name: &str, evidence: &str| Producer {
        name: name.to_owned(),
        evidence: evidence.to_owned(),
    };
    let capture = capture_of(&snapshot.extras);
    if let Some(tool) = capture.and_then(|capture| capture.get("tool")?.as_str()) {
        return producer(&tool[..tool.floor_char_boundary(100)], "`capture`");
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
    if setting("PYTORCH_ALLOC_CONF") {
        return producer("torch.xpu 2.11 or newer", "setting `PYTORCH_ALLOC_CONF`");
    }
    if keys.segment != 0
        && keys.segment & Key::AllocatedSize.bit() == 0
        && !top(Key::AllocatorSettings)
    {
        return producer(
            "_profile_to_snapshot of torch 2.1 or newer",
            "segments without `allocated_size`",
        );
    }
    let rules: [(bool, &str, &str); 12] = [
        (
            event(Key::InternalMetadata),
            "torch 2.15 or newer",
            "`internal_metadata`",
        ),
        (
            top(Key::HostSegments),
            "torch 2.14 or newer",
            "`host_segments`",
        ),
        (
            setting("max_round_threshold"),
            "torch 2.13",
            "setting `max_round_threshold`",
        ),
        (event(Key::PoolId), "torch 2.12", "`pool_id`"),
        (event(Key::ForwardFrames), "torch 2.11", "`forward_frames`"),
        (
            event(Key::UserMetadata),
            "torch 2.10 or 2.11",
            "`user_metadata`",
        ),
        (
            setting("graph_capture_record_stream_reuse"),
            "torch 2.9 or newer",
            "setting `graph_capture_record_stream_reuse`",
        ),
        (event(Key::CompileContext), "torch 2.8", "`compile_context`"),
        (
            top(Key::ExternalAnnotations),
            "torch 2.5 to 2.7",
            "`external_annotations`",
        ),
        (
            top(Key::AllocatorSettings),
            "torch 2.3 or 2.4",
            "`allocator_settings`",
        ),
        (event(Key::TimeUs), "torch 2.2", "`time_us`"),
        (
            keys.segment & Key::IsExpandable.bit() != 0,
            "torch 2.1 or 2.2",
            "`is_expandable`",
        ),
    ];
    match rules.iter().find(|(matches, ..)| *matches) {
        Some((_, name, evidence)) => producer(name, evidence),
        None => producer("torch 2.0", "none of the newer keys"),
    }
}
