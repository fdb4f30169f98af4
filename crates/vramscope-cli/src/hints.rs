//! Advice on how to record missing data: with PyTorch's own recorder, with its profiler, or by capturing the program.

use vramscope_core::Snapshot;
use vramscope_core::analysis::memory::capture::AllocatorKind;
use vramscope_core::analysis::recording::Device;
use vramscope_core::model::{Profile, ProfileKind};

/// Advice for each kind of missing data, as sentences or ends of sentences.
pub(crate) struct Hints {
    /// For a device without a trace: a sentence and its consequence, without the full stop.
    pub(crate) no_trace: &'static str,
    /// For a file without the allocator's segments, in the same form.
    pub(crate) no_segments: &'static str,
    /// For a program that names no steps, in the same form.
    pub(crate) no_steps: &'static str,
    /// For a file without allocations to convert: the end of a sentence.
    pub(crate) allocations: &'static str,
    /// For a file without segments.
    pub(crate) segments: &'static str,
    /// For a recording without a failed request.
    pub(crate) failure: &'static str,
    /// For a recording without annotations.
    pub(crate) annotations: &'static str,
}

/// The advice that fits the file's producer and the device.
pub(crate) fn hints(device: Device<'_>) -> &'static Hints {
    let snapshot = device.snapshot();
    match snapshot.is_host(device.index()) {
        true => &HOST,
        false => of_file(snapshot),
    }
}

/// The advice that fits the file's producer.
pub(crate) fn of_file(snapshot: &Snapshot) -> &'static Hints {
    match (AllocatorKind::of(snapshot), Profile::of(snapshot)) {
        (_, Some(profile)) if profile.kind == ProfileKind::Trace => &TRACE,
        (_, Some(_)) => &TIMELINE,
        (AllocatorKind::Torch, None) => &TORCH,
        (AllocatorKind::Driver, None) => &CAPTURE,
    }
}

const TORCH: Hints = Hints {
    no_trace: "the device has no trace. Record with torch.cuda.memory._record_memory_history(max_entries=1_000_000) before \
               what is to be checked",
    no_segments: "the file has no segments of the allocator. Write it with torch.cuda.memory._dump_snapshot()",
    no_steps: "no training steps are known. Name them, e.g. with torch.profiler.record_function(f\"step {i}\") \
               (torch 2.5 and newer)",
    allocations: "record with torch.cuda.memory._record_memory_history() before the program allocates",
    segments: "torch.cuda.memory._dump_snapshot() writes the segments.",
    failure: "To catch one: torch.cuda.memory._record_memory_history(max_entries=1_000_000) at the start, and \
              _dump_snapshot() in an except torch.OutOfMemoryError or in an observer: \
              torch._C._cuda_attach_out_of_memory_observer.",
    annotations: "This device has no annotations. torch 2.5 and newer records them: wrap parts of the program in `with \
                  torch.profiler.record_function(\"name\"):` while _record_memory_history() is on (a range must end before \
                  the dump); optimizer steps are annotated by torch itself. torch 2.10 and newer also records the text \
                  of torch.cuda.memory._set_memory_metadata(\"name\") with every event.",
};

const TRACE: Hints = Hints {
    no_trace: "the trace has no memory events of the device. Record with profile_memory=True what is to be checked",
    no_segments: "torch.profiler records no segments. A snapshot of torch.cuda.memory._dump_snapshot() has them",
    no_steps: "no training steps are known. Call the profiler's step() after each, or name them with \
               torch.profiler.record_function(f\"step {i}\")",
    allocations: "record with profile_memory=True before the program allocates",
    segments: "torch.profiler records none; torch.cuda.memory._dump_snapshot() writes them.",
    failure: "To catch one: export the trace after torch.OutOfMemoryError was caught, within the profiled part.",
    annotations: "This device has no annotations: wrap parts of the program in `with \
                  torch.profiler.record_function(\"name\"):`, and call the profiler's step() after each step.",
};

const HOST: Hints = Hints {
    no_segments: "the host's memory has no segments",
    segments: "The host's memory has none.",
    ..TRACE
};

const TIMELINE: Hints = Hints {
    no_trace: "the memory timeline has no events. Record what is to be checked",
    no_segments: TRACE.no_segments,
    no_steps: "a memory timeline has no training steps: export_chrome_trace() of the same profiler writes them",
    allocations: TRACE.allocations,
    segments: TRACE.segments,
    failure: "export_chrome_trace() of the same profiler writes them.",
    annotations: "A memory timeline has no annotations: export_chrome_trace() of the same profiler writes them.",
};

const CAPTURE: Hints = Hints {
    no_trace: "the device has no trace. Capture with --enabled all, which is the default",
    no_segments: "the file has no segments: the driver did not report its mappings",
    no_steps: "no steps are known. Name them, e.g. with an NVTX range or vramscope_api::range!(\"step {i}\")",
    allocations: "capture the program from its start",
    segments: "vramscope-capture writes the driver's mappings as segments, if the driver reports them.",
    failure: "To catch one: vramscope-capture run --dump-on-oom.",
    annotations: "This device has no annotations: wrap parts of the program in NVTX ranges, or in those of vramscope-api \
                  (vramscope_api::range!(\"name\")).",
};
