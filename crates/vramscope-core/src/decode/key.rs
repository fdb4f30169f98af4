//! The keys and actions of the format. They are interned before anything else, so a string's id alone identifies them.

use crate::ids::StringId;
use crate::model::{Action, StringTable};

macro_rules! keys {
    ($($name:ident $text:literal)*) => {
        /// A key written by vramscope-capture or by some torch up to 2.15 (FORMAT.md 1). The discriminant is its bit in
        /// [`KeysSeen`](crate::model::KeysSeen).
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        #[expect(missing_docs, reason = "each is the text it stands for")]
        pub enum Key { $($name),* }

        const KEYS: &[(Key, &str)] = &[$((Key::$name, $text)),*];
    };
}

keys! {
    Segments "segments"
    DeviceTraces "device_traces"
    AllocatorSettings "allocator_settings"
    ExternalAnnotations "external_annotations"
    HostSegments "host_segments"
    HostTraces "host_traces"
    Device "device"
    Address "address"
    TotalSize "total_size"
    AllocatedSize "allocated_size"
    ActiveSize "active_size"
    RequestedSize "requested_size"
    Stream "stream"
    SegmentType "segment_type"
    SegmentPoolId "segment_pool_id"
    IsExpandable "is_expandable"
    Frames "frames"
    Blocks "blocks"
    Size "size"
    State "state"
    History "history"
    Addr "addr"
    RealSize "real_size"
    Action "action"
    DeviceFree "device_free"
    TimeUs "time_us"
    CompileContext "compile_context"
    UserMetadata "user_metadata"
    ForwardFrames "forward_frames"
    PoolId "pool_id"
    InternalMetadata "internal_metadata"
    Category "category"
    Name "name"
    Filename "filename"
    Line "line"
    FxNodeOp "fx_node_op"
    FxNodeName "fx_node_name"
    FxNodeTarget "fx_node_target"
    FxOriginalTrace "fx_original_trace"
    Stage "stage"
    Range "range"
    Thread "thread"
    Domain "domain"
    Color "color"
    Payload "payload"
}

/// String id of the first key: id 0 is the empty string.
const FIRST_KEY: usize = 1;
const FIRST_ACTION: usize = FIRST_KEY + KEYS.len();

impl Key {
    /// The key's bit in [`KeysSeen`](crate::model::KeysSeen).
    #[must_use]
    pub fn bit(self) -> u64 {
        1 << self as u8
    }

    /// The keys whose [`bit`](Self::bit) is set.
    pub(crate) fn of_bits(bits: u64) -> impl Iterator<Item = Self> {
        let keys = KEYS.iter().map(|&(key, _)| key);
        keys.filter(move |key| bits & key.bit() != 0)
    }

    /// The key's text in the file.
    #[must_use]
    pub fn text(self) -> &'static str {
        KEYS[self as usize].1
    }

    /// The key with this string id, if it is one.
    #[inline(always)]
    pub(super) fn of(id: StringId) -> Option<Self> {
        KEYS.get(id.index().wrapping_sub(FIRST_KEY))
            .map(|&(key, _)| key)
    }
}

/// The known action with this string id, if it is one.
pub(super) fn action_of(id: StringId) -> Option<Action> {
    Action::known()
        .get(id.index().wrapping_sub(FIRST_ACTION))
        .map(|&(action, _)| action)
}

/// A string table in which the known keys and actions have their fixed ids.
pub(super) fn strings_with_words() -> StringTable {
    let mut strings = StringTable::default();
    for (_, text) in KEYS {
        strings.intern(text);
    }
    for (_, text) in Action::known() {
        strings.intern(text);
    }
    strings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_ids() {
        let mut strings = strings_with_words();
        for &(key, text) in KEYS {
            assert_eq!(Key::of(strings.intern(text)), Some(key));
            assert_eq!(key.text(), text);
        }
        for &(action, text) in Action::known() {
            assert_eq!(action_of(strings.intern(text)), Some(action));
            assert_eq!(Key::of(strings.intern(text)), None);
        }
        assert_eq!(Key::of(strings.intern("")), None);
        assert!(KEYS.len() <= 64);
    }
}
