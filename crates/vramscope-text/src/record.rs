//! Reports of memory in a text, as plain data.

use serde::Serialize;

use crate::context::Framework;
use crate::course::Course;
use crate::figure::Figure;

/// Everything that a text reports.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Reading {
    /// The records, in the order of the text.
    pub records: Vec<Record>,
    /// Number of records beyond the limit.
    pub left_out: u64,
    /// Memory in log lines, by quantity.
    pub usage: Vec<Usage>,
    /// The last command line that started the program before the first failure, if the text shows it.
    pub command: Option<String>,
    /// Lines of the text.
    pub lines: u64,
    /// Bytes of the text, without NULs.
    pub bytes: u64,
    /// Why the rest of the text could not be read; `None` if it was read to its end.
    pub broken_off: Option<String>,
}

impl Reading {
    /// Whether the text reports nothing about memory.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.usage.is_empty()
    }
}

/// One report of memory.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Record {
    /// The line at which it begins, counted from 1.
    pub line: u64,
    /// The byte at which it begins, counted from 0.
    pub offset: u64,
    /// How often the record occurs in the text.
    pub times: u64,
    /// Its source, such as `rank 3`; empty if the text does not name it.
    pub from: String,
    /// The framework that the traceback before it names.
    pub framework: Option<Framework>,
    /// The innermost line of the traceback outside of libraries, such as `train.py:10 step`; empty if there is none.
    pub place: String,
    /// Its content.
    pub report: Report,
}

impl Record {
    /// Its source: a rank, or else the device; empty if the text does not name it.
    #[must_use]
    pub fn teller(&self) -> String {
        match &self.report {
            Report::Failure(failure) if self.from.is_empty() => failure
                .device
                .map_or_else(String::new, |device| format!("device {device}")),
            _ => self.from.clone(),
        }
    }

    /// The failed request, and the device's free memory.
    #[must_use]
    pub fn request(&self) -> (Option<&Figure>, Option<&Figure>) {
        match &self.report {
            Report::Failure(failure) => {
                let is_then = !failure.is_free_of_start();
                let free = failure.free.as_ref().filter(|_| is_then);
                (failure.requested.as_ref(), free)
            }
            Report::Host(failure) => (failure.requested.as_ref(), None),
            Report::Summary(_) | Report::Devices(_) => (None, None),
        }
    }
}

/// The content of a record.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// A request for device memory failed.
    Failure(Box<Failure>),
    /// The computer's own memory ran out.
    Host(HostFailure),
    /// A table of `torch.cuda.memory_summary()`.
    Summary(Box<Summary>),
    /// A table of nvidia-smi or npu-smi.
    Devices(Vec<DeviceUse>),
}

/// The interface of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Api {
    /// NVIDIA's.
    Cuda,
    /// AMD's.
    Hip,
    /// Intel's.
    Xpu,
    /// Huawei's Ascend.
    Npu,
    /// Apple's.
    Mps,
    /// Google's.
    Tpu,
    /// The text does not show it.
    Other,
}

/// The form of a failure's text, which determines the meaning of its figures.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// PyTorch's own allocator.
    Torch,
    /// PyTorch over cudaMallocAsync.
    TorchAsync,
    /// PyTorch on Apple's devices.
    TorchMps,
    /// An error of the driver or of one of its libraries, without figures of an allocator.
    Driver,
    /// No addresses could be reserved for PyTorch's expandable segments.
    Addresses,
    /// llama.cpp, ollama and others on ggml.
    Ggml,
    /// XLA: JAX and TensorFlow.
    Xla,
    /// Another framework, which reports little more than its request: TensorFlow, Paddle, ONNX Runtime.
    Other,
    /// SGLang before it serves: its own share is used up.
    SglangCache,
    /// SGLang while it serves: the KV cache that it set aside at its start is used up.
    SglangPool,
    /// SGLang while it serves: its slots for requests do not suffice.
    SglangSlots,
    /// SGLang while it serves: it found no room for tokens, though it may count enough.
    SglangPages,
    /// vLLM before it serves: its own share is used up.
    VllmCache,
    /// vLLM before it serves: one request of full length needs more cache than there is.
    VllmLength,
    /// vLLM before it loads: less is free than it is configured to take.
    VllmStart,
    /// vLLM while it measures: more is free afterwards than before.
    VllmProfile,
}

/// The wording of PyTorch's error, which reveals what its version can do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Wording {
    /// `cached`: before torch 1.5.
    Cached,
    /// `reserved in total`: before torch 2.1.
    ReservedInTotal,
    /// Whole sentences: since torch 2.1.
    Sentences,
}

/// A failed request for device memory. Figures are `None` if the text lacks them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failure {
    /// The device's interface.
    pub api: Api,
    /// The form of the text.
    pub form: Form,
    /// The device's number.
    pub device: Option<u64>,
    /// The request.
    pub requested: Option<Figure>,
    /// The capacity of the device.
    pub total: Option<Figure>,
    /// The device's free memory.
    pub free: Option<Figure>,
    /// The most that this process may use, or that there is of what the request was for.
    pub allowed: Option<Figure>,
    /// The device memory held by this process, in total.
    pub in_use: Option<Figure>,
    /// Allocated memory, including memory kept by private pools.
    pub allocated: Option<Figure>,
    /// The part of `allocated` that private pools keep unused.
    pub in_pools: Option<Figure>,
    /// Memory that the allocator held unused.
    pub unallocated: Option<Figure>,
    /// Allocated by this process, but not by PyTorch (Apple's devices only).
    pub elsewhere: Option<Figure>,
    /// Processes on the device. If `in_use` is unknown, this process may be one of them.
    pub processes: Vec<Process>,
    /// The largest buffers of an XLA program, as it lists them.
    pub buffers: Vec<Buffer>,
    /// The error in a few words, if there are no figures.
    pub words: String,
    /// The wording of PyTorch's error.
    pub wording: Option<Wording>,
}

impl Failure {
    pub(crate) fn new(api: Api, form: Form) -> Self {
        Self {
            api,
            form,
            device: None,
            requested: None,
            total: None,
            free: None,
            allowed: None,
            in_use: None,
            allocated: None,
            in_pools: None,
            unallocated: None,
            elsewhere: None,
            processes: Vec::new(),
            buffers: Vec::new(),
            words: String::new(),
            wording: None,
        }
    }

    /// Whether `free` is from before the program took any.
    pub(crate) fn is_free_of_start(&self) -> bool {
        self.form == Form::Ggml || self.words.starts_with("TensorFlow")
    }

    /// Whether it may be the computer's own memory that was refused: ONNX Runtime uses the same words for both.
    pub(crate) fn may_be_of_host(&self) -> bool {
        self.api == Api::Other && self.words.starts_with("ONNX Runtime")
    }

    /// Its sizes, each with its name in JSON and in text.
    #[must_use]
    pub fn figures(&self) -> [(&'static str, &'static str, Option<&Figure>); 9] {
        let free = match self.form {
            Form::Ggml => "free before the model was loaded",
            _ if self.is_free_of_start() => "free before the program took any",
            _ => "free on the device",
        };
        let allowed = match self.form {
            Form::VllmLength => "left for the KV cache",
            Form::Xla => "in that memory",
            _ => "allowed",
        };
        let allocated = match self.form {
            Form::Xla => "needed in all",
            _ => "allocated",
        };
        [
            ("requested_bytes", "requested", &self.requested),
            ("device_free_bytes", free, &self.free),
            ("device_bytes", "device", &self.total),
            ("allowed_bytes", allowed, &self.allowed),
            ("allocated_bytes", allocated, &self.allocated),
            (
                "in_pools_bytes",
                "of it unused in private pools",
                &self.in_pools,
            ),
            ("unallocated_bytes", "free in PyTorch", &self.unallocated),
            ("elsewhere_bytes", "outside PyTorch", &self.elsewhere),
            ("in_use_bytes", "held by this process", &self.in_use),
        ]
        .map(|(key, label, figure)| (key, label, figure.as_ref()))
    }
}

/// PyTorch prints an unknown size as nearly 2^64 bytes (`17179869184.00 GiB`): from here on a number is not a size.
const NO_SIZE: u64 = 1 << 60;

impl Failure {
    /// Removes sizes that the program did not know. A request may be of any size.
    pub(crate) fn forget_unknown(&mut self) {
        for figure in [
            &mut self.total,
            &mut self.free,
            &mut self.allowed,
            &mut self.in_use,
            &mut self.allocated,
            &mut self.in_pools,
            &mut self.unallocated,
            &mut self.elsewhere,
        ] {
            figure.take_if(|figure| figure.bytes >= NO_SIZE);
        }
        self.processes
            .retain(|process| process.held.bytes < NO_SIZE);
    }

    /// In a container PyTorch does not know its own process id, and lists itself among the others. Its memory must be in one
    /// of those processes if nothing else is large enough: then that one is this process.
    pub(crate) fn find_own(&mut self) {
        let figures = (&self.total, &self.free, &self.allocated, &self.unallocated);
        let (Some(total), Some(free), Some(allocated), Some(unallocated)) = figures else {
            return;
        };
        if self.in_use.is_some() {
            return;
        }
        let reserved = allocated.least() + unallocated.least();
        let listed = self.processes.iter();
        let listed: i128 = listed.map(|process| process.held.least()).sum();
        let unlisted = total.most() - free.least() - listed;
        let able = self.processes.iter().enumerate();
        let mut able = able.filter(|(_, process)| process.held.most() >= reserved);
        if let (Some((own, _)), None) = (able.next(), able.next())
            && unlisted < reserved
        {
            self.in_use = Some(self.processes.remove(own).held);
        }
    }
}

/// A process on a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Process {
    /// The process id.
    pub pid: u64,
    /// The memory that it held.
    pub held: Figure,
    /// Its name, if the table has names.
    pub name: String,
}

/// A buffer of an XLA program.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Buffer {
    /// Its size.
    pub size: Figure,
    /// The source line that made it, such as `models.py:689`; empty if unknown.
    pub place: String,
    /// Its shape, such as `f32[4096,128,3]`.
    pub shape: String,
    /// The operator, without its call site.
    pub operator: String,
}

/// The computer's own memory ran out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HostFailure {
    /// The evidence of it.
    pub kind: HostKind,
    /// The request, if known.
    pub requested: Option<Figure>,
    /// The memory that was available for it, if known.
    pub available: Option<Figure>,
}

impl HostFailure {
    pub(crate) fn new(kind: HostKind, requested: Option<Figure>) -> Self {
        Self {
            kind,
            requested,
            available: None,
        }
    }
}

/// The evidence that the computer's own memory ran out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    /// The kernel reports that it killed a process for it.
    Kernel,
    /// An allocation in the program failed.
    Allocation,
    /// A process was killed by SIGKILL; the text does not say why.
    Killed,
    /// A worker of a data loader was killed.
    Worker,
    /// Shared memory (/dev/shm) was too small.
    SharedMemory,
    /// Pinned memory was not available.
    Pinned,
    /// Ray killed a worker because its node had little left.
    Ray,
    /// A program estimated that it needs more than there is, and did not try.
    Estimate,
    /// Windows could not commit more memory: its paging file was too small.
    PagingFile,
}

/// A table of `torch.cuda.memory_summary()`. Each figure is the current one; `peak_…` the highest.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// The device.
    pub device: Option<u64>,
    /// Requests that failed.
    pub failures: Option<u64>,
    /// Requests that succeeded only after cached memory was released.
    pub retries: Option<u64>,
    /// Allocated bytes.
    pub allocated: Option<Figure>,
    /// The highest `allocated`.
    pub peak_allocated: Option<Figure>,
    /// Bytes held by PyTorch.
    pub reserved: Option<Figure>,
    /// The highest `reserved`.
    pub peak_reserved: Option<Figure>,
    /// Free bytes in segments that are partly in use, which cannot be released.
    pub not_releasable: Option<Figure>,
}

/// A device in a table of nvidia-smi or npu-smi.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DeviceUse {
    /// Its number.
    pub device: u64,
    /// Memory in use.
    pub used: Figure,
    /// Its capacity.
    pub total: Figure,
    /// The processes that the table lists for it.
    pub processes: Vec<Process>,
}

/// One quantity in log lines.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Usage {
    /// The framework that wrote the lines.
    pub tool: &'static str,
    /// Its source, such as `rank 3`; empty if the text does not name it.
    pub from: String,
    /// The quantity.
    pub what: &'static str,
    /// Number of lines with it.
    pub count: u64,
    /// The first such line, counted from 1.
    pub line: u64,
    /// The first value.
    pub first: Figure,
    /// The last value.
    pub last: Figure,
    /// The highest value.
    pub highest: Figure,
    /// All values over the text.
    pub course: Course,
}
