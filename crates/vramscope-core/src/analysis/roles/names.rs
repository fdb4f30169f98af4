//! The names that code has: what functions tell about the purpose of what they allocate.
//!
//! Only these tables know names. Where files lie is looked at from their package on: folders above it are the user's.

use super::paths::CodePath;
use super::signals::Signals;

/// Which functions of a file.
pub(super) enum Functions {
    All,
    Named(&'static [&'static str]),
    With(&'static str),
}
use Functions::{All, Named, With};

impl Functions {
    pub(super) fn have(&self, name: &str) -> bool {
        match self {
            All => true,
            Named(names) => names.contains(&name),
            With(part) => name.contains(part),
        }
    }
}

/// Any file: the function's name alone tells.
const ANY: &[&str] = &["*"];

/// Files of optimizers: torch's, those of known packages, and by the names that users give to theirs.
const OPTIMIZERS: &[&str] = &[
    "torch/optim/*.py",
    "apex/optimizers/*.py",
    "apex/contrib/optimizers/*.py",
    "bitsandbytes/optim/*.py",
    "deepspeed/ops/adam/*.py",
    "deepspeed/ops/lamb/*.py",
    "deepspeed/ops/lion/*.py",
    "megatron/core/optimizer/**",
    "transformer_engine/pytorch/optimizers/*.py",
    "transformers/optimization.py",
    "optim.py",
    "optimizer.py",
    "*_optim.py",
    "*_optimizer.py",
];

/// What functions of Python tell, by the end of their file's path (see [`paths`](super::paths)) and their name.
pub(super) const PYTHON: &[(Signals, &[&str], Functions)] = &[
    // Optimizers.
    (Signals::STEP, OPTIMIZERS, Named(&["step", "_init_group"])),
    (
        Signals::STEP,
        &["torch/optim/optimizer.py"],
        Named(&["wrapper"]),
    ),
    (
        Signals::STEP,
        &["deepspeed/runtime/**"],
        Named(&["step", "_take_model_step", "_optimizer_step"]),
    ),
    (
        Signals::STATE,
        OPTIMIZERS,
        Named(&[
            "__init__",
            "_init_group",
            "load_state_dict",
            "init_state_fn",
        ]),
    ),
    (
        Signals::STATE,
        &["megatron/core/optimizer/**"],
        With("main_param"),
    ),
    (
        Signals::STATE,
        &["deepspeed/runtime/zero/stage3.py"],
        Named(&["_create_fp32_partitions"]),
    ),
    (
        Signals::STATE,
        &["apex/fp16_utils/*.py", "apex/amp/_process_optimizer.py"],
        All,
    ),
    (
        Signals::ADAM,
        &[
            "torch/optim/*adam*.py",
            "adam*.py",
            "fused_adam.py",
            "multi_tensor_adam*.py",
        ],
        All,
    ),
    (
        Signals::MOMENTUM,
        &[
            "torch/optim/sgd.py",
            "torch/optim/rmsprop.py",
            "torch/optim/adagrad.py",
        ],
        All,
    ),
    (Signals::ZERO_GRAD, ANY, Named(&["zero_grad"])),
    // The backward pass.
    (
        Signals::BACKWARD.and(Signals::STARTS_BACKWARD),
        &["torch/autograd/__init__.py"],
        Named(&["backward", "grad"]),
    ),
    (
        Signals::BACKWARD.and(Signals::STARTS_BACKWARD),
        &["torch/autograd/graph.py"],
        Named(&["_engine_run_backward"]),
    ),
    (
        Signals::BACKWARD,
        &["torch/_tensor.py"],
        Named(&["backward"]),
    ),
    (
        Signals::BACKWARD,
        &[
            "deepspeed/runtime/zero/stage_1_and_2.py",
            "deepspeed/runtime/zero/stage3.py",
        ],
        Named(&[
            "independent_gradient_partition_epilogue",
            "overlapping_partition_gradients_reduce_epilogue",
            "reduce_independent_p_g_buckets_and_remove_grads",
            "reduce_ready_partitions_and_remove_grads",
            "reduce_ipg_grads",
        ]),
    ),
    (
        Signals::RECOMPUTE,
        &[
            "torch/utils/checkpoint.py",
            "deepspeed/runtime/activation_checkpointing/checkpointing.py",
            "megatron/core/tensor_parallel/random.py",
            "fairscale/nn/checkpoint/*.py",
        ],
        Named(&["recompute_fn", "unpack_hook", "backward"]),
    ),
    (
        Signals::ENTERED,
        &[
            "torch/autograd/*.py",
            "torch/utils/checkpoint.py",
            "torch/distributed/**",
            "torch/_functorch/**",
        ],
        All,
    ),
    // The forward pass.
    (
        Signals::FORWARD,
        &["torch/nn/modules/module.py"],
        Named(&["_call_impl", "_wrapped_call_impl", "__call__"]),
    ),
    (Signals::FORWARD, &["torch/nn/functional.py"], All),
    // The optimizer's step of Lightning calls it.
    (
        Signals::FORWARD,
        &["lightning/pytorch/**", "pytorch_lightning/**"],
        Named(&["training_step"]),
    ),
    (
        Signals::NAMED_FORWARD,
        ANY,
        Named(&["forward", "training_step"]),
    ),
    (Signals::CONVOLUTION, &["torch/nn/modules/conv.py"], All),
    (
        Signals::WEIGHTED,
        &["torch/nn/modules/linear.py", "torch/nn/modules/conv.py"],
        Named(&["forward"]),
    ),
    // Models are made, moved and loaded.
    (
        Signals::BUILD,
        &["torch/nn/modules/module.py"],
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
        &["torch/nn/modules/*.py"],
        Named(&["__init__", "reset_parameters"]),
    ),
    (
        Signals::BUILD,
        &[
            "torch/serialization.py",
            "safetensors/torch.py",
            "accelerate/utils/modeling.py",
            "vllm/model_executor/model_loader/**",
            "sglang/srt/model_loader/**",
        ],
        All,
    ),
    (
        Signals::BUILD,
        &[
            "transformers/modeling_utils.py",
            "transformers/core_model_loading.py",
        ],
        With("load"),
    ),
    (
        Signals::BUILD,
        &["transformers/**", "diffusers/**"],
        Named(&["from_pretrained"]),
    ),
    (
        Signals::BUILD,
        &["vllm/model_executor/**", "sglang/srt/**"],
        Named(&["create_weights", "load_weights"]),
    ),
    (
        Signals::BUILD,
        &["deepspeed/runtime/zero/partition_parameters.py"],
        Named(&["_partition", "_partition_param", "_partition_param_sec"]),
    ),
    (
        Signals::BUILD,
        &["deepspeed/runtime/zero/stage3.py"],
        Named(&["defragment", "_create_fp16_partitions_with_defragmentation"]),
    ),
    (Signals::BUILD, ANY, With("init_weight")),
    (
        Signals::NAMED_BUILD,
        ANY,
        Named(&["create_weights", "load_weights", "from_pretrained"]),
    ),
    (Signals::SETUP, ANY, Named(&["__init__"])),
    (
        Signals::FLATTEN,
        &["torch/_utils.py"],
        Named(&["_flatten_dense_tensors"]),
    ),
    // Caches.
    (Signals::NAMED_CACHE, ANY, With("kv_cache")),
    (
        Signals::CACHE,
        &[
            "*kv_cache*.py",
            "cache_utils*.py",
            "cache_engine.py",
            "mem_cache/memory_pool.py",
        ],
        All,
    ),
    // Several ranks, or several devices.
    (
        Signals::COLLECTIVE,
        &[
            "torch/distributed/distributed_c10d.py",
            "torch/distributed/_functional_collectives.py",
            "_fsdp_collectives.py",
            "deepspeed/comm/*.py",
            "deepspeed/runtime/comm/*.py",
            "megatron/core/tensor_parallel/mappings.py",
        ],
        All,
    ),
    (
        Signals::COLLECTIVE.and(Signals::BUCKET),
        &["torch/nn/parallel/distributed.py"],
        Named(&["_ddp_init_helper", "_pre_forward"]),
    ),
    (
        Signals::REDUCE,
        &["_fsdp_collectives.py"],
        Named(&["foreach_reduce"]),
    ),
    (
        Signals::GATHER,
        &["torch/distributed/fsdp/_flat_param.py"],
        Named(&["_alloc_padded_unsharded_flat_param", "unshard"]),
    ),
    (
        Signals::GATHER,
        &["_fsdp_param.py"],
        Named(&[
            "init_all_gather_outputs",
            "alloc_all_gather_outputs",
            "alloc_storage",
        ]),
    ),
    (
        Signals::GATHER,
        &["_fsdp_param_group.py"],
        Named(&["wait_for_unshard"]),
    ),
    (
        Signals::GATHER,
        &["deepspeed/runtime/zero/partition_parameters.py"],
        Named(&[
            "wait",
            "_allgather_param",
            "_allgather_params",
            "_allgather_params_coalesced",
        ]),
    ),
    (
        Signals::GATHER.and(Signals::FETCH),
        &["deepspeed/runtime/zero/partition_parameters.py"],
        Named(&["all_gather_coalesced", "_all_gather_dtype"]),
    ),
    (Signals::COPY, &["torch/nn/parallel/replicate.py"], All),
    (
        Signals::COALESCED,
        &["torch/nn/parallel/comm.py"],
        Named(&["reduce_add_coalesced"]),
    ),
    (
        Signals::COPY,
        &["torch/nn/parallel/comm.py"],
        Named(&["broadcast", "broadcast_coalesced"]),
    ),
    (
        Signals::COPY,
        &["bitsandbytes/functional.py"],
        With("dequantize"),
    ),
    (
        Signals::RANKS,
        &[
            "torch/nn/parallel/distributed.py",
            "torch/distributed/**",
            "deepspeed/runtime/**",
            "deepspeed/comm/**",
            "megatron/core/**",
        ],
        All,
    ),
    // Data.
    (
        Signals::INPUT,
        &["torch/utils/data/**", "accelerate/data_loader.py"],
        All,
    ),
    (
        Signals::SCATTER,
        &["torch/nn/parallel/scatter_gather.py"],
        With("scatter"),
    ),
    (
        Signals::SCATTER,
        &["torch/nn/parallel/comm.py"],
        Named(&["scatter"]),
    ),
    (
        Signals::INPUT,
        &[
            "lightning/fabric/utilities/apply_func.py",
            "lightning_fabric/utilities/apply_func.py",
        ],
        With("to"),
    ),
    (
        Signals::INPUT,
        &["accelerate/utils/operations.py"],
        Named(&["send_to_device"]),
    ),
    (
        Signals::INPUT,
        &["transformers/trainer*.py"],
        Named(&["_prepare_inputs", "_prepare_input"]),
    ),
];

/// Functions that make buffers of several roles, told apart by the order of their lines: what lines but the last
/// make, what the last makes, and what the only one makes that is seen.
pub(super) const BUFFERS: &[(&str, &str, [Signals; 3])] = &[
    // All parameters, where the optimizer is distributed; then all gradients.
    (
        "param_and_grad_buffer.py",
        "__init__",
        [
            Signals::BUILD,
            Signals::FLAT_GRADIENTS,
            Signals::FLAT_GRADIENTS,
        ],
    ),
    // All parameters; then the rank's part of them in full precision.
    (
        "deepspeed/runtime/zero/stage_1_and_2.py",
        "__init__",
        [Signals::BUILD, Signals::STATE, Signals::STATE],
    ),
    // The rank's part of the parameters in full precision; then all gradients.
    (
        "deepspeed/runtime/bf16_optimizer.py",
        "_setup_for_real_optimizer",
        [Signals::STATE, Signals::FLAT_GRADIENTS, Signals::STATE],
    ),
    // A bucket, into which gradients are collected; then the rank's part of all gradients.
    (
        "deepspeed/runtime/zero/stage3.py",
        "_setup_for_real_optimizer",
        [
            Signals::COLLECTIVE,
            Signals::FLAT_GRADIENTS,
            Signals::FLAT_GRADIENTS,
        ],
    ),
    // Buckets, into which gradients are collected.
    (
        "deepspeed/runtime/zero/stage_1_and_2.py",
        "backward",
        [Signals::COLLECTIVE; 3],
    ),
    (
        "deepspeed/runtime/zero/stage_1_and_2.py",
        "backward_prologue",
        [Signals::COLLECTIVE; 3],
    ),
];

/// Functions of other languages by a part of their name.
pub(super) const NATIVE: &[(Signals, &str)] = &[
    (Signals::BACKWARD, "torch::autograd::Engine::"),
    // What torch.profiler calls the running of a node of the graph.
    (Signals::BACKWARD, "autograd::engine::evaluate_function"),
    (Signals::ACCUMULATE, "torch::autograd::AccumulateGrad"),
    (Signals::STEP, "torch::optim::"),
    (Signals::FORWARD, "Impl::forward("),
    (Signals::WORKSPACE, "orkspace"),
    (Signals::WORKSPACE, "getCurrentCUDABlasHandle"),
    (Signals::WORKSPACE, "at::cuda::blas::"),
    (Signals::CONVOLUTION, "onvolution"),
    (Signals::WORKSPACE, "at::native::raw_cudnn_"),
    (Signals::WORKSPACE, "at::native::run_conv_plan"),
    (Signals::COLLECTIVE.and(Signals::RANKS), "c10d::"),
    (Signals::BUCKET, "c10d::Reducer::"),
    (Signals::AUTOCAST, "at::autocast::cached_cast"),
];

/// The row of [`BUFFERS`] that a function has, if any.
pub(super) fn buffers(name: &str, path: &CodePath<'_>) -> Option<usize> {
    BUFFERS
        .iter()
        .position(|&(file, function, _)| name == function && path.fits(file))
}
