//! The cause if the computer's own memory ran out.

use vramscope_core::units::Bytes;

use super::{Cause, Class, Sure};
use crate::record::{HostFailure, HostKind};

pub(super) fn cause(failure: &HostFailure) -> Cause {
    let request = failure.requested.as_ref();
    let request = request.map(|figure| format!(" (asked for: {})", Bytes(figure.bytes)));
    let request = request.unwrap_or_default();
    let (sure, what, to_try) = match failure.kind {
        HostKind::Kernel => (
            Sure::Certain,
            "the kernel killed a process for it",
            "Load less at once, use fewer workers, or give it more memory: a higher limit of the container or job, or a larger machine.",
        ),
        HostKind::Allocation => (
            Sure::Certain,
            "an allocation on the CPU failed",
            "Load less at once: a smaller dataset in memory, sharded checkpoints, a smaller batch on the CPU.",
        ),
        HostKind::Killed => (
            Sure::Likely,
            "a process was killed by SIGKILL, as the kernel does when the computer or the job's limit has no memory left",
            "Look with `dmesg | grep -i oom` or at the job's events who was killed and why; watch `free -h` while it runs.",
        ),
        HostKind::Worker => (
            Sure::Likely,
            "a worker of the data loader was killed",
            "Fewer workers (num_workers), a smaller prefetch_factor, no copy of the dataset in each worker.",
        ),
        HostKind::SharedMemory => (
            Sure::Likely,
            "shared memory (/dev/shm) was too small for the data loader",
            "Give the container more (docker run --shm-size 8g, or --ipc=host), or use fewer workers.",
        ),
        HostKind::PagingFile => (
            Sure::Certain,
            "Windows could not commit more memory, because its paging file is too small",
            "Make the paging file larger (system-managed, on a disk with room), or load less at once: fewer workers of the data loader, fewer programs.",
        ),
        HostKind::Ray => (
            Sure::Certain,
            "Ray killed a worker, because its node had too little left",
            "Fewer actors or tasks at once on a node, weights and data loaded once for each node, or nodes with more memory. Ray's limit is RAY_memory_usage_threshold.",
        ),
        HostKind::Pinned => (
            Sure::Certain,
            "pinned memory was not available",
            "Pin less: no pinned buffers, or a higher limit of locked memory (ulimit -l).",
        ),
    };
    Cause {
        class: Class::HostMemory,
        sure,
        why: "the computer's own memory",
        title: format!("The computer's own memory ran out, not the GPU's: {what}{request}"),
        seen: String::new(),
        to_try: vec![to_try.to_owned()],
    }
}
