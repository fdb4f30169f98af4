//! Names of code: the functions that reveal the purpose of the memory they allocate.
//!
//! Only these tables know names. Paths are compared only from the package downwards: the folders above belong to the
//! user.

use super::paths::CodePath;
use super::signals::Signals;

/// The functions of a file that count.
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

/// Any file: the function's name is enough.
const ANY: &[&str] = &["*"];

/// Files of optimizers: torch's, those of known packages, and files with the names that users give them.
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

/// Signals of Python functions, by the end of their file's path (see [`paths`](super::paths)) and their name.
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
    // Lightning's optimizer step calls the forward pass.
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

/// Functions that make buffers of several roles, distinguished by the order of their lines: the signals of all lines
/// but the last, of the last line, and of a line if it is the only one seen.
pub(super) const BUFFERS: &[(&str, &str, [Signals; 3])] = &[
    // All parameters, if the optimizer is distributed; then all gradients.
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
    // A bucket that collects gradients; then the rank's part of all gradients.
    (
        "deepspeed/runtime/zero/stage3.py",
        "_setup_for_real_optimizer",
        [
            Signals::COLLECTIVE,
            Signals::FLAT_GRADIENTS,
            Signals::FLAT_GRADIENTS,
        ],
    ),
    // Buckets that collect gradients.
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

/// Functions of other languages, by a part of their name.
pub(super) const NATIVE: &[(Signals, &str)] = &[
    (Signals::BACKWARD, "torch::autograd::Engine::"),
    // The name that torch.profiler gives to the execution of a node of the graph.
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

/// The row of a function in [`BUFFERS`], if any.
pub(super) fn buffers(name: &str, path: &CodePath) -> Option<usize> {
    BUFFERS
        .iter()
        .position(|&(file, function, _)| name == function && path.fits(file))
}
