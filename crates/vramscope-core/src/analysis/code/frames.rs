//! Separates the user's frames from others, and folds a stack for reading.
//!
//! Most frames of a stack are machinery. PyTorch's own viewers hide the interpreter and the dispatcher by lists of
//! substrings. The same lists are used here, so that nothing they hide is shown by default. They are extended by the
//! rest of CPython, and restricted where they would hide user code: `_start` is meant for the process entry, not for a
//! Python function `train_start`.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use super::any_of::AnyOf;
use crate::Snapshot;
use crate::ids::FrameId;
use crate::model::Frame;
use crate::sorting::SortFew;

/// Whose code a frame is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameClass {
    /// The interpreter, the dispatcher, the unwinder. Hidden by default.
    Runtime,
    /// PyTorch, other installed packages, the standard library, including their C++ code.
    Library,
    /// Anything else, most likely the user's own code.
    User,
}

/// Names that PyTorch's viewers leave out, by substring.
static RUNTIME_NAMES: LazyLock<AnyOf> = LazyLock::new(|| {
    AnyOf::new(&[
        "unwind::unwind",
        "CapturedTraceback::gather",
        "gather_with_cpp",
        "_start",
        "__libc_start_main",
        "PyEval_",
        "PyObject_",
        "PyFunction_",
    ])
});

/// Files that PyTorch's viewers leave out, by substring.
const RUNTIME_FILES: [&str; 10] = [
    "core/boxing",
    "/Register",
    "/Redispatch",
    "pythonrun.c",
    "Modules/main.c",
    "Objects/call.c",
    "Objects/methodobject.c",
    "pycore_ceval.h",
    "ceval.c",
    "cpython/abstract.h",
];

/// Further files of CPython, and files of code that starts threads.
const FURTHER_RUNTIME_FILES: [&str; 9] = [
    "/Include/internal/pycore_",
    "/Include/object.h",
    "/Include/cpython/",
    "/Python/bytecodes.c",
    "/libstdc++-v3/",
    "/Objects/",
    "Python/import.c",
    "Python/bltinmodule.c",
    "Modules/_functoolsmodule.c",
];

/// Prefixes of names in CPython, in the C library, and in code that starts Rust programs and threads.
const RUNTIME_PREFIXES: [&str; 18] = [
    "_Py",
    "slot_",
    "method_vectorcall",
    "cfunction_",
    "partial_",
    "wrap_call",
    "__libc_",
    "__clone",
    "clone3",
    "pthread_",
    "execute_native_thread_routine",
    "start_thread",
    "std::rt::",
    "std::panicking::",
    "std::panic::catch_unwind",
    "std::sys::backtrace::",
    "core::ops::function::Fn",
    "__rust_",
];

/// Beginnings of names between an operator and its memory, and between the interpreter and an operator: dispatcher,
/// allocator, empty tensors.
const PLUMBING_PREFIXES: [&str; 34] = [
    "c10::impl::",
    "c10::Dispatcher",
    "c10::KernelFunction",
    "c10::BoxedKernel",
    "c10::StorageImpl",
    "c10::intrusive_ptr",
    "c10::cuda::CUDACachingAllocator",
    "c10::hip::HIPCachingAllocator",
    "c10::CachingDeviceAllocator",
    "c10_npu::NPUCachingAllocator",
    "at::TensorIteratorBase::",
    "at::TensorBase at::detail::_empty",
    "at::detail::empty",
    "at::detail::_empty",
    "at::empty",
    "at::native::empty",
    "at::native::new_empty",
    "at::native::resize_",
    "at::_ops::empty",
    "at::_ops::new_empty",
    "at::_ops::resize_",
    "at::autocast::WrapFunction_",
    "at::(anonymous namespace)::create_out",
    "at::(anonymous namespace)::structured_",
    "at::(anonymous namespace)::wrapper_",
    "at::(anonymous namespace)::(anonymous namespace)::wrapper_",
    "torch::autograd::VariableType::",
    "torch::ADInplaceOrView::",
    "torch::autograd::Node::operator()",
    "torch::autograd::Engine::thread_",
    "torch::autograd::python::PythonEngine::thread_",
    "std::_Function_handler",
    "std::error_code::",
    "_object* torch::autograd::TypeError_to_NotImplemented_",
];

/// Python functions of torch that only call others, with the end of their file.
const PYTHON_PLUMBING: [(&str, &str); 4] = [
    ("_wrapped_call_impl", "torch/nn/modules/module.py"),
    ("_call_impl", "torch/nn/modules/module.py"),
    ("decorate_context", "torch/utils/_contextlib.py"),
    // With a default device set, every new tensor passes through this.
    ("__torch_function__", "torch/utils/_device.py"),
];

/// Beginnings of C names in libraries for accelerators, in lower case. Other C functions without a file belong to the
/// interpreter, whose release builds keep only the name.
const ACCELERATOR_PREFIXES: [&str; 9] = [
    "cu", "nccl", "nv", "hip", "roc", "miopen", "rccl", "acl", "hccl",
];

/// Parts of paths of installed Python code, in lower case with forward slashes.
const LIBRARY_FOLDERS: [&str; 9] = [
    "/site-packages/",
    "/dist-packages/",
    "/lib/python3",
    "/lib/python2",
    "/lib64/python3",
    "/pytorch/torch/",
    "/torchinductor_",
    "/.triton/cache/",
    "/python.framework/versions/",
];

/// Modules of the standard library as PyTorch's profiler names them, without a folder.
const STANDARD_MODULES: [&str; 8] = [
    "runpy.py",
    "threading.py",
    "contextlib.py",
    "functools.py",
    "socketserver.py",
    "selectors.py",
    "queue.py",
    "codecs.py",
];

/// Longest name or path that is examined, in bytes. The longest real C++ names have some thousand; a hostile file can
/// use one text of megabytes in a million frames.
const TEXT_LIMIT_BYTES: usize = 4096;

/// The first `limit` bytes of a text, or fewer.
pub(crate) fn clip(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// The last [`TEXT_LIMIT_BYTES`] of a path, because its end says most.
fn clip_path(path: &str) -> &str {
    clip_end(path, TEXT_LIMIT_BYTES)
}

/// The last `limit` bytes of a text, or fewer.
pub(crate) fn clip_end(text: &str, limit: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..]
}

/// Whether PyTorch's own viewers leave a frame out.
pub(crate) fn is_hidden_by_torch(name: &str, filename: &str) -> bool {
    RUNTIME_NAMES.is_in(name) || RUNTIME_FILES.iter().any(|part| filename.contains(part))
}

/// The class of a frame with this name and file.
#[must_use]
pub fn classify(name: &str, filename: &str) -> FrameClass {
    File::of(filename).class(name)
}

/// Whether a file contains Python code, judged by its name.
pub(crate) fn is_python_source(filename: &str) -> bool {
    // A long name is not searched in full for each frame that has it.
    let extension = clip_end(filename, 16).rsplit('.').next().unwrap_or("");
    matches!(extension, "py" | "pyx" | "pyw" | "ipynb")
        || (filename.starts_with('<') && filename.ends_with('>'))
        || filename.starts_with("<ipython-input")
        || filename.contains("/ipykernel_")
}

/// What the path of a file says about its functions.
enum File {
    Python(PythonFile),
    Native(NativeFile),
}

impl File {
    fn of(filename: &str) -> Self {
        let filename = clip_path(filename);
        match is_python_source(filename) {
            true => Self::Python(PythonFile::of(filename)),
            false => Self::Native(NativeFile::of(filename)),
        }
    }

    /// The class of a function in it.
    fn class(&self, name: &str) -> FrameClass {
        let name = clip(name, TEXT_LIMIT_BYTES);
        match self {
            Self::Python(file) => file.class(name),
            Self::Native(file) => match split_profiler_name(name) {
                Some(located) => PythonFile::of(located.file).class(located.function),
                None => file.class(name),
            },
        }
    }
}

/// What the path of a file with Python code says about its functions.
#[derive(Clone, Copy)]
struct PythonFile {
    is_library: bool,
    /// Code without a file: of its functions, Python itself generates those with names like `__init__`.
    is_string: bool,
    /// Whether each row of [`PYTHON_PLUMBING`] is about this file.
    has_plumbing: [bool; PYTHON_PLUMBING.len()],
}

impl PythonFile {
    fn of(filename: &str) -> Self {
        let path = filename.replace('\\', "/").to_ascii_lowercase();
        // Generated graphs have no file.
        let is_generated = path.starts_with("<frozen")
            || path.starts_with("<eval_with_key")
            || path.starts_with("<__array_function__");
        Self {
            is_library: is_generated
                || LIBRARY_FOLDERS.iter().any(|folder| path.contains(folder))
                || path.starts_with("torch/")
                || STANDARD_MODULES.contains(&path.as_str())
                || in_windows_standard_library(&path),
            is_string: path == "<string>",
            has_plumbing: PYTHON_PLUMBING.map(|(_, file)| path.ends_with(file)),
        }
    }

    /// The class of a function in it.
    fn class(&self, name: &str) -> FrameClass {
        let mut plumbing = PYTHON_PLUMBING.iter().zip(self.has_plumbing);
        if plumbing.any(|(&(function, _), is_here)| is_here && name == function) {
            FrameClass::Runtime
        } else if self.is_library || self.is_string && name.starts_with("__") {
            FrameClass::Library
        } else {
            FrameClass::User
        }
    }
}

/// Whether a path is like `c:/users/me/appdata/local/programs/python/python311/lib/runpy.py`.
fn in_windows_standard_library(lower_path: &str) -> bool {
    lower_path.split_once("/lib/").is_some_and(|(before, _)| {
        before
            .rsplit('/')
            .next()
            .is_some_and(|folder| folder.starts_with("python3"))
    })
}

/// What the path of a file with other code says about its functions.
struct NativeFile {
    is_unknown: bool,
    is_runtime: bool,
    /// Whether it is a source file outside of PyTorch and of installed packages.
    may_be_users: bool,
}

impl NativeFile {
    fn of(filename: &str) -> Self {
        let has = |parts: &[&str]| parts.iter().any(|part| filename.contains(part));
        // Release builds strip the folder. A C++ file with its whole path comes from a build with debug information; in
        // PyTorch's own binaries it is a path of PyTorch's build machines.
        let is_absolute = filename.starts_with('/') || filename.get(1..3) == Some(":\\");
        let is_known = has(&[
            "/torch/",
            "/aten/",
            "/c10/",
            "/conda",
            "/usr/",
            "/build/",
            "/opt/",
            "site-packages",
            // Rust's standard library, and packages.
            "/rustc/",
            "/rustlib/",
            "/.cargo/registry/",
            "/.cargo/git/",
        ]);
        let is_source = [
            ".cpp", ".cc", ".cxx", ".cu", ".cuh", ".c", ".h", ".hpp", ".rs",
        ]
        .iter()
        .any(|extension| filename.ends_with(extension));
        Self {
            is_unknown: matches!(filename, "" | "??"),
            is_runtime: has(&RUNTIME_FILES) || has(&FURTHER_RUNTIME_FILES),
            may_be_users: is_absolute && is_source && !is_known,
        }
    }

    /// The class of a function in it.
    fn class(&self, name: &str) -> FrameClass {
        let starts_with_any =
            |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
        let is_c_api = name.strip_prefix("Py").is_some_and(|rest| {
            rest.starts_with(|c: char| c == '_' || c.is_ascii_uppercase()) && !rest.contains("::")
        });
        if self.is_runtime
            || starts_with_any(&RUNTIME_PREFIXES)
            || starts_with_any(&PLUMBING_PREFIXES)
            || RUNTIME_NAMES.is_in(name)
            || (name.starts_with("at::_ops::") && name.contains("::redispatch"))
            || is_c_api
            || self.is_unknown && is_c_function(name)
        {
            FrameClass::Runtime
        } else if self.may_be_users && !is_torch_name(name) {
            FrameClass::User
        } else {
            FrameClass::Library
        }
    }
}

/// Whether this is a C function of the interpreter or the C library, such as `pymain_main` or `run_mod.llvm.919`. Their
/// files are unknown.
fn is_c_function(name: &str) -> bool {
    let is_plain = !name.is_empty() && name != "??" && !name.contains(['(', '<', ':', ' ']);
    let lower = clip(name, 16).to_ascii_lowercase();
    let of_accelerator = ACCELERATOR_PREFIXES
        .iter()
        .any(|prefix| lower.starts_with(prefix));
    is_plain && !of_accelerator && !name.starts_with("THP")
}

/// Whether a C++ name belongs to PyTorch or to libraries that it contains.
pub(crate) fn is_torch_name(name: &str) -> bool {
    const NAMESPACES: [&str; 11] = [
        "at::",
        "c10::",
        "torch::",
        "std::",
        "THP",
        "caffe2::",
        "pybind11::",
        "cublas",
        "cudnn",
        "void at::",
        "__gnu_cxx::",
    ];
    static LATER: LazyLock<AnyOf> = LazyLock::new(|| AnyOf::new(&[" at::", " torch::", " c10::"]));
    NAMESPACES
        .iter()
        .any(|namespace| name.starts_with(namespace))
        || LATER.is_in(name)
}

/// A value for every frame that depends only on its name and file. Frames that share both share one computation, since
/// many may share one long text.
pub(crate) fn by_texts<T: Copy>(snapshot: &Snapshot, mut of: impl FnMut(FrameId) -> T) -> Vec<T> {
    by_files_and_texts(snapshot, |_| (), |id, ()| of(id))
}

/// The same if a part of the work is about the path alone: `of_file` does it once for each file, of which there are far
/// fewer than functions.
pub(crate) fn by_files_and_texts<F, T: Copy>(
    snapshot: &Snapshot,
    of_file: impl Fn(&str) -> F,
    mut of: impl FnMut(FrameId, &F) -> T,
) -> Vec<T> {
    let mut files = HashMap::with_hasher(RandomState::default());
    let mut known = HashMap::with_hasher(RandomState::default());
    let ids = (0..snapshot.frames.len()).map(FrameId::from_index);
    ids.map(|id| {
        let frame = snapshot.frames.get(id);
        *known
            .entry((frame.name, frame.filename))
            .or_insert_with(|| {
                let file = files.entry(frame.filename);
                let path = || of_file(snapshot.strings.get(frame.filename));
                of(id, file.or_insert_with(path))
            })
    })
    .collect()
}

/// The class of every frame of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameClasses {
    classes: Vec<FrameClass>,
}

impl FrameClasses {
    /// Classifies all frames.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let classes = by_files_and_texts(snapshot, File::of, |id, file| {
            file.class(snapshot.strings.get(snapshot.frames.get(id).name))
        });
        Self { classes }
    }

    /// The class of a frame; [`FrameClass::Runtime`] for a frame of another snapshot.
    #[must_use]
    pub fn get(&self, id: FrameId) -> FrameClass {
        self.classes
            .get(id.index())
            .copied()
            .unwrap_or(FrameClass::Runtime)
    }
}

/// Function, file and line of a frame, the same for all producers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Location<'a> {
    /// The function; for C++ the whole signature. Clipped to 4 KiB.
    pub function: &'a str,
    /// The file as the producer wrote it, the last 4 KiB of its path; empty when unknown (`??`, `none`).
    pub file: &'a str,
    /// From 1; 0 = unknown.
    pub line: u32,
}

impl<'a> Location<'a> {
    /// The location of a frame.
    #[must_use]
    pub fn of(snapshot: &'a Snapshot, frame: &Frame) -> Self {
        let name = clip(snapshot.strings.get(frame.name), TEXT_LIMIT_BYTES);
        let file = match snapshot.strings.get(frame.filename) {
            "??" | "none" | "<unknown>" => "",
            known => clip_path(known),
        };
        if file.is_empty()
            && let Some(location) = split_profiler_name(name)
        {
            return location;
        }
        Self {
            function: name,
            file,
            line: frame.line,
        }
    }
}

/// Splits a name of PyTorch's profiler, which contains the whole location: `torch/optim/adam.py(348): step`.
fn split_profiler_name(name: &str) -> Option<Location<'_>> {
    let (place, function) = name.split_once("): ")?;
    let (file, line) = place.rsplit_once('(')?;
    let line = line.parse().ok()?;
    is_python_source(file).then_some(Location {
        function,
        file,
        line,
    })
}

/// A row of a folded stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoldedRow {
    /// A frame.
    Frame {
        /// The frame.
        frame: FrameId,
        /// The class of the frame.
        class: FrameClass,
        /// Number of consecutive repetitions (recursion), at least 1.
        times: u32,
    },
    /// A run of hidden runtime frames.
    Runtime {
        /// Number of hidden frames, at least 1.
        hidden: u32,
    },
}

/// Options for folding a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FoldOptions {
    /// Show runtime frames like the others.
    pub show_runtime: bool,
    /// Put the user's frames before all others. Both groups stay innermost first.
    pub user_first: bool,
}

/// Folds a stack for reading, innermost frame first. A run of runtime frames becomes one row, and so does a run of
/// equal frames.
pub fn fold(
    stack: impl IntoIterator<Item = FrameId>,
    classes: &FrameClasses,
    options: FoldOptions,
) -> Vec<FoldedRow> {
    let mut rows: Vec<FoldedRow> = Vec::new();
    for id in stack {
        let id_class = classes.get(id);
        let is_hidden = id_class == FrameClass::Runtime && !options.show_runtime;
        match rows.last_mut() {
            Some(FoldedRow::Runtime { hidden }) if is_hidden => *hidden += 1,
            Some(FoldedRow::Frame { frame, times, .. }) if *frame == id => *times += 1,
            _ if is_hidden => rows.push(FoldedRow::Runtime { hidden: 1 }),
            _ => rows.push(FoldedRow::Frame {
                frame: id,
                class: id_class,
                times: 1,
            }),
        }
    }
    if options.user_first {
        let is_user = |row: &FoldedRow| {
            matches!(
                row,
                FoldedRow::Frame {
                    class: FrameClass::User,
                    ..
                }
            )
        };
        rows.sort_few_by_key(|row| !is_user(row));
    }
    rows
}

#[cfg(test)]
mod tests;
