//! What a text tells of memory: plain data.

use serde::Serialize;

use crate::context::Framework;
use crate::course::Course;
use crate::figure::Figure;

/// All that a text tells.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Reading {
    /// What was found, in the order of the text.
    pub records: Vec<Record>,
    /// Records that there were no places for.
    pub left_out: u64,
    /// Memory that log lines tell, by what it is of.
    pub usage: Vec<Usage>,
    /// The command line that started the program, if the text shows it; the last one before the first failure.
    pub command: Option<String>,
    /// Lines of the text.
    pub lines: u64,
    /// Bytes of the text, without NULs.
    pub bytes: u64,
}

impl Reading {
    /// Whether the text tells nothing of memory.
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
    /// How often the same stands in the text.
    pub times: u64,
    /// Who told it, such as `rank 3`; empty if the text does not say.
    pub from: String,
    /// The framework that the traceback before it names.
    pub framework: Option<Framework>,
    /// The innermost line of the traceback that is no library's, such as `train.py:10 step`; empty if there is none.
    pub place: String,
    /// What it tells.
    pub report: Report,
}

impl Record {
    /// Who told it: a rank, or else the device; empty if the text does not say.
    #[must_use]
    pub fn teller(&self) -> String {
        match &self.report {
            Report::Failure(failure) if self.from.is_empty() => failure
                .device
                .map_or_else(String::new, |device| format!("device {device}")),
            _ => self.from.clone(),
        }
    }

    /// The request that failed, and what the device had free.
    #[must_use]
    pub fn request(&self) -> (Option<&Figure>, Option<&Figure>) {
        match &self.report {
            Report::Failure(failure) => {
                // What llama.cpp tells is from before it loaded the model.
                let is_then = failure.form != Form::Ggml;
                let free = failure.free.as_ref().filter(|_| is_then);
                (failure.requested.as_ref(), free)
            }
            Report::Host(failure) => (failure.requested.as_ref(), None),
            Report::Summary(_) | Report::Devices(_) => (None, None),
        }
    }
}

/// What a record tells.
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

/// Whose device memory it is.
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
    /// The text does not say.
    Other,
}

/// The form of a failure's text, which tells what its figures mean.
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
    /// Another framework, which tells its request at most: TensorFlow, Paddle, ONNX Runtime.
    Other,
    /// SGLang before it serves: its own share is used up.
    SglangCache,
    /// vLLM before it serves: its own share is used up.
    VllmCache,
    /// vLLM before it serves: one request of full length needs more cache than there is.
    VllmLength,
    /// vLLM before it loads: less is free than it is told to take.
    VllmStart,
}

/// A request for device memory that failed. Figures are `None` where the text lacks them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Failure {
    /// Whose device.
    pub api: Api,
    /// The form of the text.
    pub form: Form,
    /// The device's number.
    pub device: Option<u64>,
    /// The request.
    pub requested: Option<Figure>,
    /// The capacity of the device.
    pub total: Option<Figure>,
    /// What the device had free.
    pub free: Option<Figure>,
    /// What this process may use at most.
    pub allowed: Option<Figure>,
    /// What this process held of the device, in all.
    pub in_use: Option<Figure>,
    /// What was allocated, what private pools keep included.
    pub allocated: Option<Figure>,
    /// What private pools keep without using it, of `allocated`.
    pub in_pools: Option<Figure>,
    /// What the allocator held without using it.
    pub unallocated: Option<Figure>,
    /// Allocated by this process, but not by PyTorch (Apple's devices only).
    pub elsewhere: Option<Figure>,
    /// Processes on the device. Where `in_use` is not told, this process may be one of them.
    pub processes: Vec<Process>,
    /// The largest buffers of a program of XLA, as it lists them.
    pub buffers: Vec<Buffer>,
    /// The error itself, in a few words, where there are no figures.
    pub words: String,
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
        }
    }
}

impl Failure {
    /// Its sizes: the name of each in JSON, and the one for people.
    #[must_use]
    pub fn figures(&self) -> [(&'static str, &'static str, Option<&Figure>); 9] {
        let free = match self.form {
            Form::Ggml => "free before the model was loaded",
            _ => "free on the device",
        };
        let allocated = match self.form {
            Form::Xla => "needed in all",
            _ => "allocated",
        };
        [
            ("requested_bytes", "requested", &self.requested),
            ("device_free_bytes", free, &self.free),
            ("device_bytes", "device", &self.total),
            ("allowed_bytes", "allowed", &self.allowed),
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

/// PyTorch prints a size that it does not know as nearly 2^64 bytes (`17179869184.00 GiB`): from here on a size is none.
const NO_SIZE: u64 = 1 << 60;

impl Failure {
    /// Takes sizes out that the program did not know. A request may be as large as it likes.
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
}

/// A process on a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u64,
    /// What it held.
    pub held: Figure,
    /// Its name, in tables that have it.
    pub name: String,
}

/// A buffer of a program of XLA.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Buffer {
    /// Its size.
    pub size: Figure,
    /// The line that made it, such as `models.py:689`; empty if there is none.
    pub place: String,
    /// Its shape, such as `f32[4096,128,3]`.
    pub shape: String,
    /// The operator, without where it is called.
    pub operator: String,
}

/// The computer's own memory ran out.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HostFailure {
    /// How that shows.
    pub kind: HostKind,
    /// The request, if it is told.
    pub requested: Option<Figure>,
}

/// How the text tells that the computer's own memory ran out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HostKind {
    /// The kernel says that it killed a process for it.
    Kernel,
    /// An allocation in the program failed.
    Allocation,
    /// A process was killed by SIGKILL, and the text does not say by whom.
    Killed,
    /// A worker of a data loader was killed.
    Worker,
    /// Shared memory (/dev/shm) was too small.
    SharedMemory,
    /// Pinned memory could not be had.
    Pinned,
    /// Windows could not promise more memory: its paging file was too small.
    PagingFile,
}

/// A table of `torch.cuda.memory_summary()`. Each figure is the current one; `peak_…` the highest.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// The device.
    pub device: Option<u64>,
    /// Requests that failed.
    pub failures: Option<u64>,
    /// Requests that succeeded only after cached memory was given back.
    pub retries: Option<u64>,
    /// Allocated.
    pub allocated: Option<Figure>,
    /// The highest of that.
    pub peak_allocated: Option<Figure>,
    /// Held by PyTorch.
    pub reserved: Option<Figure>,
    /// The highest of that.
    pub peak_reserved: Option<Figure>,
    /// Free in segments that are partly in use, which cannot be given back.
    pub not_releasable: Option<Figure>,
}

/// A device in a table of nvidia-smi or npu-smi.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DeviceUse {
    /// Its number.
    pub device: u64,
    /// In use.
    pub used: Figure,
    /// Its capacity.
    pub total: Figure,
    /// The processes that the table lists for it.
    pub processes: Vec<Process>,
}

/// What log lines tell of one quantity.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Usage {
    /// Whose lines they are.
    pub tool: &'static str,
    /// Who told it, such as `rank 3`; empty if the text does not say.
    pub from: String,
    /// What it is.
    pub what: &'static str,
    /// How many lines tell it.
    pub count: u64,
    /// The line of the first, counted from 1.
    pub line: u64,
    /// The first.
    pub first: Figure,
    /// The last.
    pub last: Figure,
    /// The highest.
    pub highest: Figure,
    /// All of them over the text.
    pub course: Course,
}
