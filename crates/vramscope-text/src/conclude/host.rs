//! The cause if the computer's own memory ran out.

use vramscope_core::units::Bytes;

use super::{Cause, Class, Sure};
use crate::figure::Figure;
use crate::record::{HostFailure, HostKind};

pub(super) fn cause(failure: &HostFailure) -> Cause {
    let (sure, what, to_try) = told(failure.kind);
    let what = match failure.kind {
        HostKind::Pinned => what.to_owned(),
        HostKind::Estimate => format!("The computer's own memory is too small: {what}"),
        _ => format!("The computer's own memory ran out, not the GPU's: {what}"),
    };
    let seen = match failure.kind {
        HostKind::Pinned => {
            "Programs go on without pinned memory where they can, so this need not be a failure; nor does it say that the computer's memory \
             ran out: pinned memory has limits of its own."
        }
        _ => "",
    };
    Cause {
        class: Class::HostMemory,
        sure,
        // What is not certain is not said, only usual.
        is_said: sure == Sure::Certain,
        why: "the computer's own memory",
        title: format!("{what}{}", request(failure)),
        seen: seen.to_owned(),
        to_try: vec![to_try.to_owned()],
    }
}

/// What was asked for, and what there was, as printed: so a reader finds it in the text.
fn request(failure: &HostFailure) -> String {
    let printed = |figure: &Figure| match figure.off_bytes {
        0 => Bytes(figure.bytes).to_string(),
        _ => figure.text.clone(),
    };
    match (&failure.requested, &failure.available) {
        (Some(wanted), Some(left)) => {
            format!(
                " (needed: {}, available: {})",
                printed(wanted),
                printed(left)
            )
        }
        (Some(wanted), None) => format!(" (asked for: {})", printed(wanted)),
        _ => String::new(),
    }
}

/// How sure each kind is, what happened, and what to try.
fn told(kind: HostKind) -> (Sure, &'static str, &'static str) {
    match kind {
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
        HostKind::Estimate => (
            Sure::Certain,
            "ollama estimated that the model needs more than there is, and did not load it",
            "A smaller or more quantized model, a smaller context (num_ctx), or more memory.",
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
            Sure::Possible,
            "Pinned memory was not available",
            "Pin less: no pinned buffers, or a higher limit of locked memory (ulimit -l).",
        ),
    }
}
