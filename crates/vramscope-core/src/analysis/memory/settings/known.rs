//! The settings of torch 2.0 to 2.15, with their defaults and meanings.

use serde_json::Value;

pub(super) struct KnownSetting {
    /// Its canonical spelling.
    pub(super) key: &'static str,
    /// Other spellings: in the variable, and on ROCm.
    aliases: &'static [&'static str],
    pub(super) default: &'static str,
    /// What it does: text for the user.
    pub(super) meaning: &'static str,
}

impl KnownSetting {
    /// Whether a recorded value is the default.
    pub(super) fn is_default(&self, value: &Value) -> bool {
        match value {
            Value::Bool(on) => *on == (self.default == "True"),
            Value::Number(number) if self.default == "unlimited" => {
                number.as_u64().is_none_or(|bytes| bytes >= i64::MAX as u64)
            }
            Value::Number(number) => number.as_f64() == self.default.parse().ok(),
            Value::String(text) => text.is_empty() || text == self.default,
            Value::Object(divisions) => divisions.values().all(|value| value.as_u64() == Some(0)),
            _ => false,
        }
    }
}

/// Finds a setting by any of its spellings.
pub(super) fn find(key: &str) -> Option<&'static KnownSetting> {
    KNOWN
        .iter()
        .find(|known| known.key == key || known.aliases.contains(&key))
}

/// The canonical spelling of a key; the key itself if it is unknown.
pub(super) fn canonical(key: &str) -> &str {
    find(key).map_or(key, |known| known.key)
}

/// Whether two keys are spellings of the same setting.
pub(super) fn same(one: &str, other: &str) -> bool {
    canonical(one) == canonical(other)
}

const KNOWN: [KnownSetting; 23] = [
    KnownSetting {
        key: "PYTORCH_CUDA_ALLOC_CONF",
        aliases: &["PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF"],
        default: "not set",
        meaning: "The environment variable, or the last text given to the allocator while running: all that was set by hand.",
    },
    KnownSetting {
        key: "backend",
        aliases: &[],
        default: "native",
        meaning: "Which allocator serves requests. cudaMallocAsync is CUDA's own; it records no events and keeps no segments.",
    },
    KnownSetting {
        key: "max_split_size",
        aliases: &["max_split_size_mb"],
        default: "unlimited",
        meaning: "Free blocks larger than this are not split, and only requests of nearly their size may have them: less \
                  fragmentation, more memory bound.",
    },
    KnownSetting {
        key: "max_non_split_rounding_mb",
        aliases: &["max_non_split_rounding_size"],
        default: "20",
        meaning: "How much larger than a request a free block beyond max_split_size may be and still serve it, in MiB.",
    },
    KnownSetting {
        key: "garbage_collection_threshold",
        aliases: &[],
        default: "0",
        meaning: "From this share of the allowed memory on, cached segments that were not used lately are given back \
                  before CUDA is asked for more. 0 = never. It only acts where a memory fraction is set.",
    },
    KnownSetting {
        key: "expandable_segments",
        aliases: &[],
        default: "False",
        meaning: "Segments grow page by page instead of being fixed: free blocks stay joined, so that requests of \
                  changing size fragment memory far less. Needs CUDA's virtual memory; not shared between processes \
                  by every version.",
    },
    KnownSetting {
        key: "expandable_segments_reserve",
        aliases: &[],
        default: "",
        meaning: "How much address space an expandable segment reserves: a share of the device, or GiB with a G.",
    },
    KnownSetting {
        key: "expandable_segments_reserve_by_class",
        aliases: &[],
        default: "",
        meaning: "The address space that expandable segments reserve, by class of stream.",
    },
    KnownSetting {
        key: "large_segment_size_mb",
        aliases: &["large_segment_size"],
        default: "20",
        meaning: "Bytes asked of the device at once for requests above 1 MiB and below 10 MiB, in MiB.",
    },
    KnownSetting {
        key: "roundup_power2_divisions",
        aliases: &[],
        default: "off",
        meaning: "Requests are rounded up to this many steps between powers of two, so that requests of similar size \
                  reuse each other's blocks: less fragmentation, more rounding.",
    },
    KnownSetting {
        key: "per_process_memory_fraction",
        aliases: &[],
        default: "1.0",
        meaning: "The share of the device that this process may take. Requests beyond it fail although the device has \
                  memory left.",
    },
    KnownSetting {
        key: "throw_on_cudamalloc_oom",
        aliases: &["throw_on_hipmalloc_oom"],
        default: "False",
        meaning: "Requests that cannot succeed are refused before CUDA is asked.",
    },
    KnownSetting {
        key: "graph_capture_record_stream_reuse",
        aliases: &[],
        default: "False",
        meaning: "While a CUDA graph is captured, memory used by other streams is reused as soon as the graph itself \
                  orders it: smaller graph pools.",
    },
    KnownSetting {
        key: "release_lock_on_cudamalloc",
        aliases: &["release_lock_on_hipmalloc"],
        default: "False",
        meaning: "The allocator's lock is released during cudaMalloc, so that other threads can go on.",
    },
    KnownSetting {
        key: "pinned_use_cuda_host_register",
        aliases: &["pinned_use_hip_host_register"],
        default: "False",
        meaning: "Pinned host memory is made by malloc and cudaHostRegister instead of cudaHostAlloc.",
    },
    KnownSetting {
        key: "pinned_num_register_threads",
        aliases: &[],
        default: "1",
        meaning: "Threads that map the pages of pinned memory; only with pinned_use_cuda_host_register.",
    },
    KnownSetting {
        key: "pinned_use_background_threads",
        aliases: &[],
        default: "False",
        meaning: "A separate thread looks after freed pinned memory, so that allocating does not wait for it.",
    },
    KnownSetting {
        key: "pinned_reserve_segment_size_mb",
        aliases: &[],
        default: "0",
        meaning: "Pinned host memory reserved once and handed out in pieces, in MiB.",
    },
    KnownSetting {
        key: "pinned_free_catch_all",
        aliases: &[],
        default: "False",
        meaning: "Errors while freeing pinned memory are caught instead of ending the program.",
    },
    KnownSetting {
        key: "max_round_threshold",
        aliases: &["pinned_max_round_threshold_mb"],
        default: "unlimited",
        meaning: "Pinned requests up to this size are rounded up to a power of two; larger ones are taken as they are.",
    },
    KnownSetting {
        key: "max_cached_size",
        aliases: &["pinned_max_cached_size_mb"],
        default: "unlimited",
        meaning: "Freed pinned blocks up to this size are kept for reuse; larger ones go back to the system.",
    },
    KnownSetting {
        key: "trace_alloc_max_entries",
        aliases: &[],
        default: "unlimited",
        meaning: "How many events the recorder keeps per device; older ones are overwritten.",
    },
    KnownSetting {
        key: "trace_alloc_overflowed",
        aliases: &[],
        default: "False",
        meaning: "Whether older events were overwritten.",
    },
];
