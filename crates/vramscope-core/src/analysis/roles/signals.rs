//! What frames tell about the purpose of an allocation: a table of functions, and the sum of it for each stack.
//!
//! Only the table knows names. A signal says what code was running, not what the memory is for: that follows from
//! signals and lifetimes together, in [`rules`](super::rules).

use std::collections::BTreeSet;

use super::phases::{Phase, phase_of};
use crate::Snapshot;
use crate::analysis::code::frames::{by_texts, clip, is_python_source};
use crate::ids::StackId;
use crate::model::Frame;

/// What code was running, as a set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Signals(u32);

impl Signals {
    /// A bit for each.
    pub(super) fn bits(self) -> u32 {
        self.0
    }

    pub(super) const NONE: Self = Self(0);
    /// A step of an optimizer.
    pub(super) const STEP: Self = Self(1);
    /// An optimizer makes, loads or copies what it keeps.
    pub(super) const STATE: Self = Self(1 << 1);
    /// The backward pass.
    pub(super) const BACKWARD: Self = Self(1 << 2);
    /// The node of autograd that keeps or adds up the gradient of a parameter.
    pub(super) const ACCUMULATE: Self = Self(1 << 3);
    /// Activation checkpointing runs a part of the forward pass again.
    pub(super) const RECOMPUTE: Self = Self(1 << 4);
    /// The forward pass of a module, or a loss.
    pub(super) const FORWARD: Self = Self(1 << 5);
    /// A module is moved, converted or loaded, or a layer is made.
    pub(super) const BUILD: Self = Self(1 << 6);
    /// Some constructor runs.
    pub(super) const SETUP: Self = Self(1 << 7);
    /// A cache of keys and values.
    pub(super) const CACHE: Self = Self(1 << 8);
    /// Scratch memory of a library of kernels.
    pub(super) const WORKSPACE: Self = Self(1 << 9);
    /// Buffers of collectives.
    pub(super) const COLLECTIVE: Self = Self(1 << 10);
    /// Sharded parameters are gathered.
    pub(super) const GATHER: Self = Self(1 << 11);
    /// Data is loaded, or moved to the device.
    pub(super) const INPUT: Self = Self(1 << 12);
    /// Gradients are dropped.
    pub(super) const ZERO_GRAD: Self = Self(1 << 13);
    /// Code of Python.
    pub(super) const PYTHON: Self = Self(1 << 14);
    /// Code that is not of Python.
    const NATIVE: Self = Self(1 << 15);
    /// A convolution.
    pub(super) const CONVOLUTION: Self = Self(1 << 16);
    /// Python starts a backward pass: the program's, or a checkpoint one of its own within it.
    pub(super) const STARTS_BACKWARD: Self = Self(1 << 17);
    /// Several ranks train a model together.
    pub(super) const RANKS: Self = Self(1 << 18);
    /// An optimizer that keeps two moments of each parameter.
    pub(super) const ADAM: Self = Self(1 << 19);
    /// The buffer that holds all gradients of a kind.
    pub(super) const FLAT_GRADIENTS: Self = Self(1 << 20);
    /// Megatron makes a buffer of all parameters, or of all gradients.
    const FLAT_BUFFER: Self = Self(1 << 21);

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether both sets have something in common.
    pub(super) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }
}

/// Which functions of a file.
enum Functions {
    All,
    Named(&'static [&'static str]),
    With(&'static str),
}
use Functions::{All, Named, With};

/// Functions of Python by a part of their file's path, with forward slashes.
const PYTHON: &[(Signals, &str, Functions)] = &[
    (Signals::STEP, "optim", Named(&["step", "_init_group"])),
    (
        Signals::STEP,
        "torch/optim/optimizer.py",
        Named(&["wrapper"]),
    ),
    (
        Signals::STEP,
        "deepspeed/runtime/",
        Named(&["step", "_take_model_step"]),
    ),
    (
        Signals::STATE,
        "optim",
        Named(&[
            "__init__",
            "_init_group",
            "load_state_dict",
            "init_state_fn",
        ]),
    ),
    (Signals::STATE, "optim", With("main_param")),
    (Signals::STATE, "optim", With("initialize_optimizer_states")),
    (Signals::STATE, "apex/fp16_utils/", All),
    (Signals::ADAM, "optim/adam", All),
    (Signals::ZERO_GRAD, "", Named(&["zero_grad"])),
    (
        Signals::BACKWARD.and(Signals::STARTS_BACKWARD),
        "torch/autograd/__init__.py",
        Named(&["backward", "grad"]),
    ),
    (
        Signals::BACKWARD.and(Signals::STARTS_BACKWARD),
        "torch/autograd/graph.py",
        Named(&["_engine_run_backward"]),
    ),
    (Signals::BACKWARD, "torch/_tensor.py", Named(&["backward"])),
    (
        Signals::RECOMPUTE,
        "checkpoint",
        Named(&["recompute_fn", "unpack_hook", "backward"]),
    ),
    (
        Signals::FORWARD,
        "torch/nn/modules/module.py",
        Named(&["_call_impl", "_wrapped_call_impl", "__call__"]),
    ),
    (Signals::FORWARD, "torch/nn/functional.py", All),
    (Signals::CONVOLUTION, "torch/nn/modules/conv.py", All),
    (Signals::FORWARD, "", Named(&["forward", "training_step"])),
    (
        Signals::BUILD,
        "torch/nn/modules/module.py",
        Named(&[
            "_apply",
            "to",
            "cuda",
            "convert",
            "to_empty",
            "load_state_dict",
            "_load_from_state_dict",
        ]),
    ),
    (
        Signals::BUILD,
        "torch/nn/modules/",
        Named(&["__init__", "reset_parameters"]),
    ),
    (Signals::BUILD, "torch/serialization.py", All),
    (Signals::BUILD, "safetensors/", All),
    (
        Signals::BUILD,
        "transformers/modeling_utils.py",
        With("load"),
    ),
    (
        Signals::BUILD,
        "transformers/modeling_utils.py",
        Named(&["from_pretrained"]),
    ),
    (Signals::BUILD, "accelerate/utils/modeling.py", All),
    (Signals::BUILD, "model_loader", All),
    (Signals::BUILD, "", With("init_weight")),
    (
        Signals::BUILD,
        "",
        Named(&["create_weights", "load_weights", "from_pretrained"]),
    ),
    (Signals::SETUP, "", Named(&["__init__"])),
    (
        Signals::FLAT_BUFFER,
        "param_and_grad_buffer.py",
        Named(&["__init__"]),
    ),
    (Signals::CACHE, "", With("kv_cache")),
    (Signals::CACHE, "kv_cache", All),
    (Signals::CACHE, "cache_utils", All),
    (Signals::CACHE, "cache_engine", All),
    (Signals::CACHE, "mem_cache/memory_pool.py", All),
    (
        Signals::COLLECTIVE,
        "torch/distributed/distributed_c10d.py",
        All,
    ),
    (Signals::COLLECTIVE, "_functional_collectives.py", All),
    (Signals::COLLECTIVE, "_fsdp_collectives.py", All),
    (
        Signals::COLLECTIVE,
        "torch/nn/parallel/distributed.py",
        Named(&["_ddp_init_helper", "_pre_forward"]),
    ),
    (Signals::COLLECTIVE, "deepspeed/comm/", All),
    (Signals::COLLECTIVE, "tensor_parallel/mappings.py", All),
    (
        Signals::GATHER,
        "torch/distributed/fsdp/_flat_param.py",
        Named(&["_alloc_padded_unsharded_flat_param", "unshard"]),
    ),
    (
        Signals::GATHER,
        "_fsdp_param.py",
        Named(&[
            "init_all_gather_outputs",
            "alloc_all_gather_outputs",
            "alloc_storage",
        ]),
    ),
    (
        Signals::GATHER,
        "_fsdp_param_group.py",
        Named(&["wait_for_unshard"]),
    ),
    (Signals::RANKS, "torch/nn/parallel/", All),
    (Signals::RANKS, "torch/distributed/", All),
    (Signals::RANKS, "deepspeed/", All),
    (Signals::RANKS, "megatron/", All),
    (Signals::INPUT, "torch/utils/data/", All),
    (Signals::INPUT, "accelerate/data_loader.py", All),
    (
        Signals::INPUT,
        "",
        Named(&[
            "get_batch",
            "_prepare_inputs",
            "_prepare_input",
            "send_to_device",
        ]),
    ),
];

/// Functions of other languages by a part of their name.
const NATIVE: &[(Signals, &str)] = &[
    (Signals::BACKWARD, "torch::autograd::Engine::"),
    (Signals::ACCUMULATE, "torch::autograd::AccumulateGrad"),
    (Signals::STEP, "torch::optim::"),
    (Signals::FORWARD, "Impl::forward("),
    (Signals::WORKSPACE, "orkspace"),
    (Signals::WORKSPACE, "getCurrentCUDABlasHandle"),
    (Signals::WORKSPACE, "at::cuda::blas::"),
    (Signals::WORKSPACE, "at::native::raw_cudnn_"),
    (Signals::WORKSPACE, "at::native::run_conv_plan"),
    (Signals::COLLECTIVE.and(Signals::RANKS), "c10d::"),
];

/// Longest name and path that are looked at, in bytes.
const TEXT_LIMIT_BYTES: usize = 1024;

fn signals_of(name: &str, file: &str) -> Signals {
    let name = clip(name, TEXT_LIMIT_BYTES);
    if !is_python_source(file) {
        let matching = NATIVE.iter().filter(|(_, part)| name.contains(part));
        return matching.fold(Signals::NATIVE, |sum, &(signal, _)| sum.and(signal));
    }
    let file = &file[file.ceil_char_boundary(file.len().saturating_sub(TEXT_LIMIT_BYTES))..];
    let slashes = file.contains('\\').then(|| file.replace('\\', "/"));
    let file = slashes.as_deref().unwrap_or(file);
    let matching = PYTHON.iter().filter(|(_, part, functions)| {
        let named = match functions {
            All => true,
            Named(names) => names.contains(&name),
            With(part) => name.contains(part),
        };
        named && file.contains(part)
    });
    matching.fold(Signals::PYTHON, |sum, &(signal, ..)| sum.and(signal))
}

/// The signals of every stack of a snapshot.
#[derive(Clone, Debug, Default)]
pub struct StackSignals {
    of: Vec<Signals>,
    /// The signals of all frames.
    all: Signals,
}

impl StackSignals {
    /// Looks once at each frame, and once at each frame of each stack.
    #[must_use]
    pub fn of(snapshot: &Snapshot) -> Self {
        let frame = |frame: &Frame| {
            let strings = &snapshot.strings;
            signals_of(strings.get(frame.name), strings.get(frame.filename))
        };
        let of_frame = by_texts(snapshot, |id| frame(snapshot.frames.get(id)));
        let stacks = (0..snapshot.stacks.len()).map(StackId::from_index);
        let of: Vec<Signals> = stacks
            .map(|stack| {
                let frames = snapshot.stacks.frames(stack);
                let sum = frames.fold(Signals::NONE, |sum, frame| {
                    sum.and(of_frame.get(frame.index()).copied().unwrap_or_default())
                });
                match !sum.has(Signals::NATIVE) && begins_in_torch(snapshot, stack) {
                    true => sum.and(Signals::BACKWARD),
                    false => sum,
                }
            })
            .collect();
        let frames = of_frame.iter().copied();
        let all = frames.fold(Signals::NONE, Signals::and);
        let mut signals = Self { of, all };
        if signals.show(Signals::FLAT_BUFFER) {
            signals.tell_flat_buffers(snapshot);
        }
        signals
    }

    /// Tells Megatron's buffers apart by the lines that make them: one holds all parameters, where the optimizer is
    /// distributed; a later line makes the one that holds all gradients.
    fn tell_flat_buffers(&mut self, snapshot: &Snapshot) {
        let stacks = (0..self.of.len()).filter(|&stack| self.of[stack].has(Signals::FLAT_BUFFER));
        let made = stacks
            .filter_map(|stack| Some((stack, flat_buffer(snapshot, StackId::from_index(stack))?)));
        let made: Vec<(usize, u32)> = made.collect();
        let lines: BTreeSet<u32> = made.iter().map(|&(_, line)| line).collect();
        for (stack, line) in made {
            let signal = match lines.len() {
                2.. if lines.first() == Some(&line) => Signals::BUILD,
                _ if lines.last() == Some(&line) => Signals::FLAT_GRADIENTS,
                _ => continue,
            };
            self.of[stack] = self.of[stack].and(signal);
        }
    }

    pub(super) fn get(&self, stack: StackId) -> Signals {
        self.of.get(stack.index()).copied().unwrap_or_default()
    }

    /// Whether some frame has one of the signals.
    pub(super) fn show(&self, any: Signals) -> bool {
        self.all.has(any)
    }

    /// Whether some stack tells a phase.
    pub(super) fn show_phase(&self, phase: Phase) -> bool {
        self.of
            .iter()
            .any(|&signals| phase_of(signals) == Some(phase))
    }

    /// Whether workspaces of convolutions look like any other memory.
    pub(super) fn hide_workspaces(&self) -> bool {
        self.is_python_only() && self.show(Signals::CONVOLUTION)
    }

    /// Whether stacks hold Python's frames only, so that threads without Python have empty stacks.
    pub(super) fn is_python_only(&self) -> bool {
        self.show(Signals::PYTHON) && !self.show(Signals::NATIVE)
    }
}

/// The line of Megatron's `_ParamAndGradBuffer.__init__` that a stack's innermost function of Python is in.
fn flat_buffer(snapshot: &Snapshot, stack: StackId) -> Option<u32> {
    let texts = &snapshot.strings;
    let mut frames = snapshot
        .stacks
        .frames(stack)
        .map(|id| snapshot.frames.get(id));
    let inner = frames.find(|frame| is_python_source(texts.get(frame.filename)))?;
    let is_buffer = texts
        .get(inner.filename)
        .ends_with("param_and_grad_buffer.py")
        && texts.get(inner.name) == "__init__";
    is_buffer.then_some(inner.line)
}

/// Whether a stack of Python alone has torch's own code as its outermost function. Threads of autograd enter Python
/// only for custom functions, hooks and checkpoints; the program's threads begin in the program or in `threading`.
fn begins_in_torch(snapshot: &Snapshot, stack: StackId) -> bool {
    let Some(outermost) = snapshot.stacks.frames(stack).next_back() else {
        return false;
    };
    let frame = snapshot.frames.get(outermost);
    let file = snapshot.strings.get(frame.filename).replace('\\', "/");
    let is_entered = [
        "/torch/autograd/",
        "/torch/utils/checkpoint",
        "/torch/distributed/",
        "/torch/_functorch/",
    ];
    is_entered.iter().any(|part| file.contains(part))
        && snapshot.strings.get(frame.name) != "<module>"
}
