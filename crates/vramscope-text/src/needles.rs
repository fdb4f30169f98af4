//! Words that occur in every text with something to report. All other text is skipped as fast as memory can be read.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// The kind of report that a word may belong to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// An error of an allocator or the driver.
    Failure,
    /// An error of XLA, with a list of buffers.
    Xla,
    /// The computer's own memory.
    Host,
    Summary,
    NvidiaSmi,
    NpuSmi,
    Log,
    Command,
}

const NEEDLES: [(&str, Kind); 108] = [
    ("out of memory", Kind::Failure),
    // For errors whose first words are broken.
    ("Tried to allocate", Kind::Failure),
    ("already allocated;", Kind::Failure),
    ("total capac", Kind::Failure),
    ("allocated by PyTorch", Kind::Failure),
    ("reserved by PyTorch", Kind::Failure),
    ("reserved in total", Kind::Failure),
    ("would exceed allowed", Kind::Failure),
    ("other allocations:", Kind::Failure),
    ("OUT_OF_MEMORY", Kind::Failure),
    ("OUT_OF_DEVICE_MEMORY", Kind::Failure),
    ("STATUS_ALLOC_FAILED", Kind::Failure),
    ("cudaErrorMemoryAllocation", Kind::Failure),
    ("hipErrorOutOfMemory", Kind::Failure),
    ("Out of memory allocating", Kind::Failure),
    ("ErrorOutOfDeviceMemory", Kind::Failure),
    ("[ExpandableSegmentVA]", Kind::Failure),
    ("OOM when allocating tensor", Kind::Failure),
    ("tensor with shape[", Kind::Failure),
    ("an out of memory", Kind::Failure),
    ("trying to allocate", Kind::Failure),
    ("Allocation on device", Kind::Failure),
    ("Got an OOM", Kind::Failure),
    ("ggml_gallocr_reserve_n", Kind::Failure),
    ("ggml_vulkan: Device memory", Kind::Failure),
    ("failed to allocate buffer, size", Kind::Failure),
    ("ggml_metal_add_buffer", Kind::Failure),
    ("CallbackErrorOutOfMemory", Kind::Failure),
    ("HIP_ERROR_OutOfMemory", Kind::Failure),
    ("max seq len (", Kind::Failure),
    ("Not enough memory. Please try to", Kind::Failure),
    ("Out of memory error on GPU", Kind::Failure),
    ("Try to lower your batch size", Kind::Failure),
    ("for requested buffer of size", Kind::Failure),
    ("is smaller than requested bytes of", Kind::Failure),
    ("RESOURCE_EXHAUSTED", Kind::Xla),
    ("Attempting to reserve", Kind::Xla),
    ("Attempting to allocate", Kind::Xla),
    ("Out of memory while trying", Kind::Xla),
    // For errors whose first words are broken.
    ("memory while trying to allocate", Kind::Xla),
    ("Ran out of memory in memory space", Kind::Xla),
    ("Aborting compilation early", Kind::Xla),
    ("No available memory for the cache", Kind::Failure),
    ("KV cache is needed", Kind::Failure),
    ("available KV cache memory (", Kind::Failure),
    ("ree memory on device", Kind::Failure),
    ("Error in memory profiling", Kind::Failure),
    ("bytes) from device", Kind::Failure),
    ("Out of memory: Killed", Kind::Host),
    ("oom-kill:", Kind::Host),
    ("Memory cgroup out of", Kind::Host),
    ("DataLoader worker (pid", Kind::Host),
    ("insufficient shared memory", Kind::Host),
    ("of pinned memory", Kind::Host),
    ("pinned host memory", Kind::Host),
    ("CPU memory allocation failed", Kind::Host),
    ("DefaultCPUAllocator", Kind::Host),
    ("cpu_buffer_type_alloc_buffer", Kind::Host),
    ("you tried to allocate", Kind::Host),
    ("Buy new RAM", Kind::Host),
    ("bad_alloc", Kind::Host),
    ("MemoryError", Kind::Host),
    ("exit code -9", Kind::Host),
    ("exitcode: -9", Kind::Host),
    ("exitcode  : -9", Kind::Host),
    ("exitcode : -9", Kind::Host),
    ("Signal 9 (SIGKILL)", Kind::Host),
    ("oom_kill event", Kind::Host),
    ("memory pressure (OOM)", Kind::Host),
    ("Workers crashed due to", Kind::Host),
    ("memory usage threshold", Kind::Host),
    ("running low on memory", Kind::Host),
    ("OUT_OF_HOST_MEMORY", Kind::Host),
    ("Out Of Memory", Kind::Host),
    ("oom-kill event", Kind::Host),
    ("return code = -9", Kind::Host),
    ("Signals.SIGKILL", Kind::Host),
    ("exit code 137", Kind::Host),
    ("more system memory (", Kind::Host),
    ("os error 1455", Kind::Host),
    ("OOMKilled", Kind::Host),
    ("WinError 1455", Kind::Host),
    ("Killed", Kind::Host),
    ("CUDA memory summary", Kind::Summary),
    ("NVIDIA-SMI", Kind::NvidiaSmi),
    // Its head may be missing.
    ("Persistence-M", Kind::NvidiaSmi),
    ("npu-smi ", Kind::NpuSmi),
    ("Max_MA ", Kind::Log),
    ("| max allocated:", Kind::Log),
    ("memory allocated (GB)", Kind::Log),
    ("gpu_memory_utilization (", Kind::Log),
    ("model weights t", Kind::Log),
    ("Available KV cache memory:", Kind::Log),
    ("Estimated CUDA graph memory", Kind::Log),
    ("Model loading took", Kind::Log),
    ("Graph capturing finished", Kind::Log),
    ("Sleep mode freed", Kind::Log),
    ("avail mem=", Kind::Log),
    ("CPU Virtual Memory:", Kind::Log),
    ("GiB(", Kind::Log),
    ("KV Cache is allocated", Kind::Log),
    ("buffer size =", Kind::Log),
    ("torchrun ", Kind::Command),
    ("accelerate launch", Kind::Command),
    ("vllm serve", Kind::Command),
    ("python", Kind::Command),
    ("llamafactory-cli ", Kind::Command),
    ("deepspeed ", Kind::Command),
];

/// The longest of them, in bytes.
pub(crate) const LONGEST: usize = 40;

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    let words = NEEDLES.iter().map(|(word, _)| word);
    AhoCorasick::builder()
        // Of more than a hundred words it would make the slower kind.
        .kind(Some(AhoCorasickKind::DFA))
        .match_kind(MatchKind::LeftmostLongest)
        .build(words)
        .ok()
});

/// The position of each word in a text, and its kind.
pub(crate) fn find(text: &[u8]) -> impl Iterator<Item = (usize, Kind)> {
    let finder = FINDER.as_ref();
    let found = finder
        .into_iter()
        .flat_map(move |finder| finder.find_iter(text));
    found.map(|found| (found.start(), NEEDLES[found.pattern().as_usize()].1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_longer_than_said() {
        assert!(NEEDLES.iter().all(|(word, _)| word.len() <= LONGEST));
        assert!(FINDER.is_some());
    }

    #[test]
    fn the_longest_word_counts() {
        let found: Vec<_> =
            find(b"x CUDA out of memory; Out of memory: Killed process 1").collect();
        assert_eq!(found, [(7, Kind::Failure), (22, Kind::Host)]);
    }
}
