//! Operators: what the library did when the user's line needed memory, such as `BmmBackward0` or
//! `softmax in scaled_dot_product_attention (math backend)`.
//!
//! A stack has some dozen C++ frames between a line of Python and the allocator. The innermost operator among them made
//! the bytes. The outermost is the one that the user called or, in a backward pass, the autograd node. Both are named,
//! in this order, unless they are the same. Functions that only make a tensor for another (`empty`) count if nothing
//! else is known. A stack without C++ frames names the function of torch that was called last.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::call_sites::{short_function, short_path};
use super::frame_groups::names::{python_module, python_package};
use super::frames::{
    FrameClass, FrameClasses, Location, by_texts, clip, is_python_source, is_torch_name,
};
use crate::Snapshot;
use crate::ids::{FrameId, StackId};

/// A row of [`Operators`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OperatorId(pub u32);

impl OperatorId {
    /// No operator is known.
    pub const NONE: Self = Self(0);

    /// The row number, for indexing a column.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The operator of every stack of a snapshot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Operators {
    /// Row 0 is empty: [`OperatorId::NONE`].
    labels: Vec<String>,
    of_stack: Vec<OperatorId>,
}

/// Longest name of one function, in bytes.
const NAME_LIMIT_BYTES: usize = 120;

impl Operators {
    /// Finds the operator of every stack.
    #[must_use]
    pub fn of(snapshot: &Snapshot, classes: &FrameClasses) -> Self {
        let mut names = Names::default();
        let parts = by_texts(snapshot, |id| {
            let location = Location::of(snapshot, snapshot.frames.get(id));
            part(&location, classes.get(id), &mut names)
        });
        let mut labels = vec![String::new()];
        let mut known: HashMap<Found, OperatorId> = HashMap::new();
        let mut by_label: HashMap<String, OperatorId> = HashMap::new();
        let of_stack = (0..snapshot.stacks.len()).map(|row| {
            let frames = snapshot.stacks.frames(StackId::from_index(row));
            let part = |frame: FrameId| parts.get(frame.index()).copied();
            let found = find(frames.map(|frame| part(frame).unwrap_or(Part::Silent)));
            *known.entry(found).or_insert_with(|| {
                let label = names.label(found);
                if label.is_empty() {
                    return OperatorId::NONE;
                }
                let next = OperatorId(labels.len() as u32);
                *by_label.entry(label.clone()).or_insert_with(|| {
                    labels.push(label);
                    next
                })
            })
        });
        let of_stack = of_stack.collect();
        Self { labels, of_stack }
    }

    /// All labels. The first is empty and belongs to [`OperatorId::NONE`].
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The label of an operator; empty for [`OperatorId::NONE`] and for an id of another snapshot.
    #[must_use]
    pub fn label(&self, id: OperatorId) -> &str {
        self.labels.get(id.index()).map_or("", String::as_str)
    }

    /// The operator of each stack.
    #[must_use]
    pub fn of_stacks(&self) -> &[OperatorId] {
        &self.of_stack
    }

    /// The operator that made a stack's allocations.
    #[must_use]
    pub fn of_stack(&self, stack: StackId) -> OperatorId {
        let known = self.of_stack.get(stack.index()).copied();
        known.unwrap_or(OperatorId::NONE)
    }
}

/// What a frame says about the operator. Numbers are rows of [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Silent,
    /// The dispatcher's function of an operator: `at::_ops::mm::call`.
    Operator(u32),
    /// The dispatcher's function of an implementation of attention, of which there are several.
    Backend(u32),
    /// Makes a tensor for whoever calls it: `at::_ops::empty_strided::call`.
    Factory(u32),
    /// The copy that autocast makes of an operator's argument.
    Autocast,
    /// Workspace of a library such as cuBLAS.
    Workspace(u32),
    /// A node of the autograd graph: `torch::autograd::generated::MmBackward0::apply`.
    Node(u32),
    /// The loop that runs the nodes, and adds up gradients.
    Engine,
    /// A C++ function that the dispatcher does not know: a kernel, or a function of an extension.
    Native(u32),
    /// The C++ end of a Python function.
    Binding(u32),
    /// The interpreter.
    Interpreter,
    /// Python code, or the user's own C++, with the name of a function of torch.
    Caller(Option<u32>),
}

/// What a stack says about its operator, as rows of [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
struct Found {
    inner: Option<u32>,
    outer: Option<u32>,
    backend: Option<u32>,
    /// The outermost function that only makes a tensor.
    factory: Option<u32>,
    native: Option<u32>,
    caller: Option<u32>,
    is_autocast: bool,
    is_engine: bool,
}

/// Reads the parts of a stack from the innermost outwards, to the first caller.
fn find(parts: impl Iterator<Item = Part>) -> Found {
    let mut found = Found::default();
    let mut is_outside = false;
    for part in parts {
        match part {
            Part::Caller(name) => {
                found.caller = name;
                break;
            }
            Part::Interpreter => is_outside = true,
            _ if is_outside => {}
            Part::Silent => {}
            Part::Operator(name) | Part::Backend(name) => {
                found.inner = found.inner.or(Some(name));
                found.outer = Some(name);
                if matches!(part, Part::Backend(_)) {
                    found.backend = found.backend.or(Some(name));
                }
            }
            Part::Workspace(name) => found.inner = found.inner.or(Some(name)),
            Part::Factory(name) => found.factory = Some(name),
            Part::Autocast => found.is_autocast = true,
            Part::Native(name) => found.native = found.native.or(Some(name)),
            Part::Binding(name) => {
                found.native = found.native.or(Some(name));
                is_outside = true;
            }
            Part::Node(name) => {
                found.outer = Some(name);
                break;
            }
            Part::Engine => {
                found.is_engine = true;
                break;
            }
        }
    }
    found
}

/// Functions that only make a tensor.
const FACTORIES: [&str; 8] = [
    "empty",
    "empty_strided",
    "empty_like",
    "new_empty",
    "new_empty_strided",
    "resize_",
    "resize_as_",
    "set_",
];

/// Operators that implement others: the name that the user calls, and a note.
const BACKENDS: [(&str, &str); 7] = [
    ("_scaled_dot_product_attention_math", "math backend"),
    ("_scaled_dot_product_flash_attention", "flash backend"),
    ("_flash_attention_forward", "flash backend"),
    (
        "_scaled_dot_product_efficient_attention",
        "memory-efficient backend",
    ),
    ("_efficient_attention_forward", "memory-efficient backend"),
    ("_scaled_dot_product_cudnn_attention", "cuDNN backend"),
    ("_cudnn_attention_forward", "cuDNN backend"),
];
const ATTENTION: &str = "scaled_dot_product_attention";

/// Ends of an operator's name in the dispatcher that give its overload and begin with a small letter. Overloads with a
/// capital (`add_Tensor`) need no list.
const OVERLOADS: [&str; 13] = [
    "_memory_format",
    "_dtype",
    "_layout",
    "_device",
    "_correction",
    "_generator",
    "_self",
    "_other",
    "_out",
    "_dim",
    "_int",
    "_using_ints",
    "_start",
];

/// Code that allocates for a library: a part of the function's name, and what it allocates.
const WORKSPACES: [(&str, &str); 5] = [
    ("at::cuda::getCurrentCUDABlasHandle", "cuBLAS workspace"),
    ("at::cuda::getNewWorkspace", "cuBLAS workspace"),
    ("CUDABlasLtWorkspace", "cuBLAS workspace"),
    ("::Workspace::Workspace", "cuDNN workspace"),
    ("run_conv_plan", "cuDNN workspace"),
];

/// The prefix that torch's profiler gives to the name of an autograd node while it runs.
pub(super) const PROFILED_NODE: &str = "autograd::engine::evaluate_function: ";

fn part(location: &Location<'_>, class: FrameClass, names: &mut Names) -> Part {
    if is_python_source(location.file) {
        let name = python_function(location, class);
        return Part::Caller(name.map(|name| names.row(&name)));
    }
    let name = location.function;
    if class == FrameClass::User {
        return Part::Caller(None);
    }
    if name.starts_with("Py") || name.starts_with("_Py") || name.starts_with("pybind11::") {
        return Part::Interpreter;
    }
    let dispatched = name.strip_prefix("at::_ops::");
    let operator = dispatched
        .map(|rest| without_overload(rest.split("::").next().unwrap_or(rest)))
        // As torch's profiler names it.
        .or_else(|| name.strip_prefix("aten::"));
    if let Some(operator) = operator {
        let number = names.row(operator);
        return if FACTORIES.contains(&operator) {
            Part::Factory(number)
        } else if BACKENDS.iter().any(|&(backend, _)| backend == operator) {
            Part::Backend(number)
        } else {
            Part::Operator(number)
        };
    }
    other_part(name, class, names)
}

/// What a frame says that is neither Python nor the dispatcher.
fn other_part(name: &str, class: FrameClass, names: &mut Names) -> Part {
    let function = short_function(clip(name, 2 * NAME_LIMIT_BYTES));
    if function.starts_with("at::autocast::cached_cast") {
        return Part::Autocast;
    }
    let workspace = WORKSPACES.iter().find(|(part, _)| function.contains(part));
    if let Some((_, shown)) = workspace {
        return Part::Workspace(names.row(shown));
    }
    if function.contains("autograd::Engine::evaluate_function") {
        return Part::Engine;
    }
    if let Some(node) = name.strip_prefix(PROFILED_NODE) {
        return Part::Node(names.row(node.rsplit("::").next().unwrap_or(node)));
    }
    let last = function.rsplit("::").next().unwrap_or(&function);
    if let Some(bound) = last.strip_prefix("THPVariable_") {
        return Part::Binding(names.row(bound));
    }
    // `short_function` cuts off the namespace of a generated node.
    let is_autograd = name.starts_with("torch::autograd::");
    if last == "apply" && is_autograd {
        let class = function.rsplit("::").nth(1).unwrap_or(last);
        return Part::Node(names.row(class));
    }
    let kernel = ["at::native::", "at_npu::native::", "op_api::", "at_npu::"];
    let kernel = kernel.iter().find_map(|space| function.strip_prefix(space));
    let kernel = kernel.map(|rest| rest.trim_start_matches("NPUNativeFunctions::"));
    if let Some(kernel) = kernel.filter(|kernel| !kernel.contains("::")) {
        let is_attention = BACKENDS.iter().any(|&(backend, _)| backend == kernel);
        let number = names.row(kernel);
        return match is_attention {
            true => Part::Backend(number),
            false if FACTORIES.contains(&kernel) || kernel.starts_with("empty_") => Part::Silent,
            false => Part::Native(number),
        };
    }
    // A signature marks C++: functions of the interpreter have only a name.
    let is_foreign =
        class == FrameClass::Library && name.contains('(') && !is_torch_name(&function);
    if is_foreign && !function.is_empty() {
        return Part::Native(names.row(last));
    }
    Part::Silent
}

/// An operator's name without its overload: `add` of `add_Tensor`, `to` of `to_dtype_layout`.
fn without_overload(name: &str) -> &str {
    let bytes = name.as_bytes();
    let is_overload = |at: &usize| bytes[*at] == b'_' && bytes[at + 1].is_ascii_uppercase();
    let end = (1..bytes.len().saturating_sub(1)).find(is_overload);
    let mut name = &name[..end.unwrap_or(name.len())];
    while let Some(shorter) = OVERLOADS.iter().find_map(|end| name.strip_suffix(end)) {
        if shorter.is_empty() {
            break;
        }
        name = shorter;
    }
    name
}

/// The name of a Python function of torch: `linear` of `torch/nn/functional.py`; others with their module.
fn python_function(location: &Location<'_>, class: FrameClass) -> Option<String> {
    if location.file.contains("/torchinductor_") {
        return Some("torch.compile".to_owned());
    }
    if class == FrameClass::User {
        return None;
    }
    let package = python_package(location, class)?;
    if package != "torch" && package != "torch_npu" {
        return None;
    }
    let path = short_path(location.file);
    let module = python_module(&path).replace('/', ".");
    if module.ends_with("functional") {
        return Some(location.function.trim_start_matches('_').to_owned());
    }
    let module = module.strip_prefix("torch.").unwrap_or(&module);
    Some(format!("{module}.{}", location.function))
}

#[derive(Default)]
struct Names {
    rows: Vec<String>,
    known: HashMap<String, u32>,
}

impl Names {
    fn row(&mut self, name: &str) -> u32 {
        let name = clip(name, NAME_LIMIT_BYTES);
        if let Some(&row) = self.known.get(name) {
            return row;
        }
        let row = self.rows.len() as u32;
        self.rows.push(name.to_owned());
        self.known.insert(name.to_owned(), row);
        row
    }

    fn label(&self, found: Found) -> String {
        let name = |row: Option<u32>| row.map(|row| self.rows[row as usize].as_str());
        let (inner, outer) = (name(found.inner), name(found.outer));
        let outer = if found.is_engine {
            Some("autograd engine")
        } else {
            outer
        };
        let made = inner.or_else(|| name(found.factory).filter(|_| outer.is_none()));
        let made = match made {
            // The name of an extension's function says more than that it makes a tensor.
            Some(_) if inner.is_none() => name(found.native).or(made),
            known => known,
        };
        let (made, outer) = match (made, outer) {
            (None, None) => (name(found.native).or(name(found.caller)), None),
            both => both,
        };
        let compiled = name(found.caller).filter(|&caller| caller == "torch.compile");
        let around = outer.or(compiled.filter(|_| inner.is_none()));
        let mut label = match (made, around) {
            (Some(made), Some(around)) if stem(made) != stem(around) => {
                format!("{} in {}", shown(made), shown(around))
            }
            (made, around) => around.or(made).map(shown).unwrap_or_default().to_owned(),
        };
        let backend = name(found.backend);
        let note = BACKENDS.iter().find(|&&(name, _)| Some(name) == backend);
        let note = note.map(|&(_, note)| note);
        if let Some(note) = note.or(found.is_autocast.then_some("autocast")) {
            label.push_str(&format!(" ({note})"));
        }
        label
    }
}

/// A function's name as users know it.
fn shown(name: &str) -> &str {
    match name {
        "_to_copy" => "to",
        name if BACKENDS.iter().any(|&(backend, _)| backend == name) => ATTENTION,
        name if name.starts_with("__") => name,
        name => name.trim_start_matches('_'),
    }
}

/// What the names of an operator and of its wrapper have in common: `mm` of `MmBackward0`, `softmax` of `_softmax`.
fn stem(name: &str) -> String {
    let name = match shown(name) {
        "to" => "tocopy",
        shown => shown,
    };
    let plain: String = name.chars().filter(|&c| c != '_').collect();
    let lower = plain.to_ascii_lowercase();
    let undigited = lower.trim_end_matches(|c: char| c.is_ascii_digit());
    let ends = ["backwarddata", "backward", "forward", "impl"];
    let stem = ends.iter().find_map(|end| undigited.strip_suffix(end));
    let stem = stem.unwrap_or(&lower);
    stem.strip_prefix("native").unwrap_or(stem).to_owned()
}

#[cfg(test)]
mod tests;
