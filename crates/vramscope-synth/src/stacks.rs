//! Call stacks of a transformer's training script: C++ frames of the allocator and the
//! operator on top, Python modules below, the script at the bottom.

use std::collections::HashMap;

use crate::snapshot::{Frame, StackTable, Text};

/// The folder of installed Python packages.
const SITE: &str = "/opt/venv/lib/python3.12/site-packages/";

/// A frame's name, file and line.
pub type Line = (&'static str, &'static str, u32);

/// Interns frames and stacks.
#[derive(Clone, Debug, Default)]
pub struct StackBook {
    /// The tables that a snapshot refers to.
    pub table: StackTable,
    index: HashMap<(Text, Text, u32), u32>,
}

/// The frames that a stack contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Python frames alone (`stacks="python"`).
    Python,
    /// Python and C++ frames, some forty in all (`stacks="all"`).
    All,
}

const MALLOC: [Line; 12] = [
    ("torch::unwind::unwind()", "??", 0),
    (
        "torch::CapturedTraceback::gather(bool, bool, bool)",
        "??",
        0,
    ),
    (
        "torch::cuda::(anonymous namespace)::gather_with_cpp()",
        "memory_snapshot.cpp",
        0,
    ),
    (
        "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::malloc(signed char, \
         unsigned long, CUstream_st*)",
        "CUDACachingAllocator.cpp",
        0,
    ),
    (
        "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::malloc(void**, signed \
         char, unsigned long, CUstream_st*)",
        "",
        0,
    ),
    (
        "c10::cuda::CUDACachingAllocator::Native::NativeCachingAllocator::allocate(unsigned long)",
        "",
        0,
    ),
    (
        "c10::StorageImpl::StorageImpl(c10::StorageImpl::use_byte_size_t, c10::SymInt const&, \
         c10::Allocator*, bool)",
        "",
        0,
    ),
    (
        "at::TensorBase at::detail::_empty_generic<long>(c10::ArrayRef<long>, c10::Allocator*, \
         c10::DispatchKeySet, c10::ScalarType, std::optional<c10::MemoryFormat>)",
        "EmptyTensor.cpp",
        0,
    ),
    (
        "at::detail::empty_generic(c10::ArrayRef<long>, c10::Allocator*)",
        "??",
        0,
    ),
    (
        "at::detail::empty_cuda(c10::ArrayRef<long>, c10::ScalarType)",
        "??",
        0,
    ),
    (
        "at::native::empty_cuda(c10::ArrayRef<long>, c10::TensorOptions const&)",
        "??",
        0,
    ),
    (
        "at::_ops::empty_memory_format::redispatch(c10::DispatchKeySet)",
        "??",
        0,
    ),
];

const FREE: [Line; 9] = [
    MALLOC[0],
    MALLOC[1],
    MALLOC[2],
    (
        "c10::cuda::CUDACachingAllocator::Native::DeviceCachingAllocator::free(c10::cuda::\
         CUDACachingAllocator::Native::(anonymous namespace)::Block*)",
        "CUDACachingAllocator.cpp",
        0,
    ),
    (
        "c10::cuda::CUDACachingAllocator::Native::local_raw_delete(void*)",
        "",
        0,
    ),
    ("c10::StorageImpl::~StorageImpl()", "", 0),
    ("c10::TensorImpl::~TensorImpl()", "TensorImpl.cpp", 0),
    (
        "c10::intrusive_ptr<c10::TensorImpl>::reset_()",
        "intrusive_ptr.h",
        0,
    ),
    (
        "std::vector<at::Tensor, std::allocator<at::Tensor> >::~vector()",
        "",
        0,
    ),
];

const INTERPRETER: [Line; 5] = [
    ("pymain_run_file_obj", "main.c", 353),
    ("Py_RunMain", "main.c", 709),
    ("Py_BytesMain", "main.c", 763),
    ("__libc_start_main", "??", 0),
    ("_start", "??", 0),
];

const ENGINE: [Line; 9] = [
    (
        "torch::autograd::Node::operator()(std::vector<at::Tensor>&&)",
        "function.h",
        0,
    ),
    (
        "torch::autograd::Engine::evaluate_function(std::shared_ptr<torch::autograd::GraphTask>&)",
        "??",
        0,
    ),
    (
        "torch::autograd::Engine::thread_main(std::shared_ptr<torch::autograd::GraphTask> const&)",
        "??",
        0,
    ),
    ("torch::autograd::Engine::thread_init(int, bool)", "??", 0),
    (
        "torch::autograd::python::PythonEngine::thread_init(int, bool)",
        "",
        0,
    ),
    ("execute_native_thread_routine", "thread.cc", 82),
    ("start_thread", "pthread_create.c", 442),
    ("clone3", "clone3.S", 81),
    ("clone", "??", 0),
];

impl StackBook {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The frame object of this content; frames with fx information are kept apart.
    pub fn intern(&mut self, frame: Frame) -> u32 {
        match frame.fx {
            Some(_) => self.table.add_frame(frame),
            None => self.frame(frame.name, frame.filename, frame.line),
        }
    }

    /// The frame object of this content.
    pub fn frame(&mut self, name: impl Into<Text>, file: impl Into<Text>, line: u32) -> u32 {
        let (name, file) = (name.into(), file.into());
        let table = &mut self.table;
        let key = (name.clone(), file.clone(), line);
        *self
            .index
            .entry(key)
            .or_insert_with(|| table.add_frame(Frame::new(name, file, line)))
    }

    /// A stack of frames given innermost first.
    pub fn stack(&mut self, lines: &[Line]) -> u32 {
        let frames = lines
            .iter()
            .map(|&(name, file, line)| self.frame(name, file, line))
            .collect();
        self.table.add_stack(frames)
    }

    /// The stack of an allocation by operator `op` of a Python call path (innermost first).
    pub fn forward(&mut self, depth: Depth, op: &str, path: &[Line]) -> u32 {
        let mut frames = self.operator(depth, op);
        if depth == Depth::All {
            let bound = format!("torch::autograd::THPVariable_{op}(_object*, _object*, _object*)");
            frames.push(self.frame(bound, "python_torch_functions.cpp", 0));
            frames.push(self.frame("cfunction_call", "methodobject.c", 537));
        }
        self.extend(&mut frames, path);
        if depth == Depth::All {
            self.extend(&mut frames, &INTERPRETER);
        }
        self.table.add_stack(frames)
    }

    /// The stack of an allocation in the backward of autograd node `node`, by operator `op`.
    pub fn backward(&mut self, depth: Depth, node: &str, op: &str, path: &[Line]) -> u32 {
        let mut frames = self.operator(depth, op);
        if depth == Depth::Python {
            self.extend(&mut frames, path);
            return self.table.add_stack(frames);
        }
        for (name, file) in [
            (
                format!("torch::autograd::generated::details::{node}_grad(at::Tensor const&)"),
                "??",
            ),
            (
                format!("torch::autograd::generated::{node}_apply_functional(variable_list&&)"),
                "??",
            ),
            (
                format!("torch::autograd::generated::{node}::apply(variable_list&&)"),
                "Functions.cpp",
            ),
        ] {
            frames.push(self.frame(name, file, 0));
        }
        self.extend(&mut frames, &ENGINE);
        self.table.add_stack(frames)
    }

    /// The stack of a free: the last reference was dropped in a Python call path or, if the path is empty,
    /// in the autograd engine.
    pub fn free(&mut self, depth: Depth, path: &[Line]) -> u32 {
        let mut frames = Vec::new();
        if depth == Depth::All {
            self.extend(&mut frames, &FREE);
        }
        self.extend(&mut frames, path);
        if depth == Depth::All {
            self.extend(
                &mut frames,
                if path.is_empty() {
                    &ENGINE
                } else {
                    &INTERPRETER
                },
            );
        }
        self.table.add_stack(frames)
    }

    /// The C++ frames from the allocator up to the dispatcher's entry for `op`.
    fn operator(&mut self, depth: Depth, op: &str) -> Vec<u32> {
        let mut frames = Vec::new();
        if depth == Depth::Python {
            return frames;
        }
        self.extend(&mut frames, &MALLOC);
        for (name, file) in [
            (
                format!("at::native::{op}_cuda_out_impl(at::Tensor const&)"),
                "NativeKernels.cu",
            ),
            (
                format!("at::native::structured_{op}_out_cuda::impl(at::Tensor const&)"),
                "??",
            ),
            (
                format!("at::(anonymous namespace)::wrapper_CUDA_{op}"),
                "RegisterCUDA.cpp",
            ),
            (
                format!("at::_ops::{op}::redispatch(c10::DispatchKeySet)"),
                "??",
            ),
            (
                format!("torch::autograd::VariableType::(anonymous namespace)::{op}"),
                "VariableType_3.cpp",
            ),
            (format!("at::_ops::{op}::call(at::Tensor const&)"), "??"),
        ] {
            frames.push(self.frame(name, file, 0));
        }
        frames
    }

    fn extend(&mut self, frames: &mut Vec<u32>, lines: &[Line]) {
        for &(name, file, line) in lines {
            let file: Text = match file.strip_prefix("torch/") {
                Some(rest) => format!("{SITE}torch/{rest}").into(),
                None => file.into(),
            };
            frames.push(self.frame(name, file, line));
        }
    }
}

/// The two frames between a module's caller and its `forward`.
pub const CALL: [Line; 2] = [
    ("_call_impl", "torch/nn/modules/module.py", 1786),
    ("_wrapped_call_impl", "torch/nn/modules/module.py", 1775),
];
