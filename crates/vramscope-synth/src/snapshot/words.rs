//! The strings that Python shares between all dicts of a snapshot: keys, actions, states.

use crate::pickle::ShareId;

macro_rules! words {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// A shared string.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Word { $($name),* }

        impl Word {
            pub(super) const fn text(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

words! {
    Segments = "segments", DeviceTraces = "device_traces",
    AllocatorSettings = "allocator_settings", ExternalAnnotations = "external_annotations",
    HostSegments = "host_segments", HostTraces = "host_traces",
    Device = "device", Address = "address", TotalSize = "total_size",
    AllocatedSize = "allocated_size", ActiveSize = "active_size",
    RequestedSize = "requested_size", Stream = "stream", SegmentType = "segment_type",
    SegmentPoolId = "segment_pool_id", IsExpandable = "is_expandable", Frames = "frames",
    Blocks = "blocks", Size = "size", State = "state", History = "history", Addr = "addr",
    RealSize = "real_size", Action = "action", DeviceFree = "device_free", TimeUs = "time_us",
    CompileContext = "compile_context", UserMetadata = "user_metadata", PoolId = "pool_id",
    ForwardFrames = "forward_frames", InternalMetadata = "internal_metadata",
    Category = "category", Name = "name", Filename = "filename", Line = "line",
    FxNodeOp = "fx_node_op", FxNodeName = "fx_node_name", FxNodeTarget = "fx_node_target",
    FxOriginalTrace = "fx_original_trace",
    Small = "small", Large = "large", ActiveAllocated = "active_allocated",
    ActivePendingFree = "active_pending_free", Inactive = "inactive",
    Alloc = "alloc", FreeRequested = "free_requested", FreeCompleted = "free_completed",
    SegmentAlloc = "segment_alloc", SegmentFree = "segment_free", SegmentMap = "segment_map",
    SegmentUnmap = "segment_unmap", Snapshot = "snapshot", Oom = "oom", Annotate = "annotate",
    None = "none",
}

impl Word {
    /// The identity of the string object.
    pub(super) const fn id(self) -> ShareId {
        ShareId::new(0, self as u32)
    }
}
