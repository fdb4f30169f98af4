//! Changes to make in the framework that a traceback names, and commands that would reveal more.

use vramscope_core::units::Bytes;

use crate::context::Framework;
use crate::record::{Api, Failure, Form, Record, Report};

/// For each framework, how a program can use less memory if too much is live.
const NEED_LESS: [(Framework, &str); 21] = [
    (
        Framework::Vllm,
        "In vLLM: a lower --gpu-memory-utilization leaves more room beside the KV cache; --max-num-seqs, --max-model-len and \
         --max-num-batched-tokens need less; --enforce-eager does without CUDA graphs.",
    ),
    (
        Framework::Sglang,
        "In SGLang: if it fails while it serves or captures, a lower --mem-fraction-static; if it fails while it allocates the KV \
         cache, a higher one; --cuda-graph-max-bs and --chunked-prefill-size need less.",
    ),
    (
        Framework::Verl,
        "In verl: a lower actor_rollout_ref.rollout.gpu_memory_utilization, smaller ppo_micro_batch_size_per_gpu and \
         log_prob_micro_batch_size_per_gpu, param_offload and optimizer_offload.",
    ),
    (
        Framework::LlamaFactory,
        "In LLaMA-Factory: per_device_train_batch_size: 1 with more gradient_accumulation_steps, a smaller cutoff_len, \
         finetuning_type: lora with quantization_bit: 4, or a deepspeed configuration with ZeRO-3.",
    ),
    (
        Framework::Axolotl,
        "In Axolotl: micro_batch_size: 1 with more gradient_accumulation_steps, gradient_checkpointing: true, a smaller sequence_len, \
         adapter: qlora.",
    ),
    (
        Framework::Unsloth,
        "In Unsloth: per_device_train_batch_size=1, a smaller max_seq_length, use_gradient_checkpointing=\"unsloth\", load_in_4bit.",
    ),
    (
        Framework::Trl,
        "In TRL: per_device_train_batch_size=1 with more gradient_accumulation_steps, gradient_checkpointing, shorter max_length and \
         max_completion_length; the logits of a batch have batch × length × vocabulary numbers.",
    ),
    (
        Framework::Torchtitan,
        "In torchtitan: a smaller --training.local_batch_size or --training.seq_len, --activation_checkpoint.mode full, more sharding.",
    ),
    (
        Framework::Megatron,
        "In Megatron-LM: a smaller --micro-batch-size, --recompute-activations or --recompute-granularity full, \
         --use-distributed-optimizer, more tensor or pipeline parallelism.",
    ),
    (
        Framework::ComfyUi,
        "In ComfyUI: --lowvram, a smaller picture or fewer frames, tiled VAE decoding, a model in fp8 or GGUF.",
    ),
    (
        Framework::Lightning,
        "In Lightning: a smaller batch with accumulate_grad_batches, precision=\"bf16-mixed\", strategy=\"fsdp\" or \
         \"deepspeed_stage_3\".",
    ),
    (
        Framework::DeepSpeed,
        "In DeepSpeed: a smaller train_micro_batch_size_per_gpu, ZeRO stage 3, offload_optimizer and offload_param to the CPU.",
    ),
    (
        Framework::Transformers,
        "In transformers: per_device_train_batch_size=1 with more gradient_accumulation_steps, gradient_checkpointing=True, \
         optim=\"adamw_8bit\"; in evaluation eval_accumulation_steps and a smaller per_device_eval_batch_size; for inference \
         load_in_4bit or device_map=\"auto\".",
    ),
    (
        Framework::Diffusers,
        "In diffusers: enable_model_cpu_offload(), vae.enable_tiling(), a smaller picture or fewer frames.",
    ),
    (
        Framework::Accelerate,
        "In accelerate: a smaller batch with gradient_accumulation_steps, FSDP or DeepSpeed instead of DDP.",
    ),
    (
        Framework::LlamaCpp,
        "In llama.cpp: fewer layers on the GPU (-ngl), a smaller context (-c), -ctk q8_0 -ctv q8_0 for the KV cache, smaller batches \
         (-b, -ub), or another --tensor-split.",
    ),
    (
        Framework::Ollama,
        "In ollama: fewer layers on the GPU (num_gpu), a smaller context (num_ctx), OLLAMA_FLASH_ATTENTION=1 with \
         OLLAMA_KV_CACHE_TYPE=q8_0, a smaller or more quantized model.",
    ),
    (
        Framework::TensorRtLlm,
        "In TensorRT-LLM: an engine built with a smaller max_batch_size, max_num_tokens and max_seq_len; a smaller \
         free_gpu_memory_fraction for the KV cache.",
    ),
    (
        Framework::OnnxRuntime,
        "In ONNX Runtime: a smaller input; arena_extend_strategy=kSameAsRequested, as its arena otherwise grows in powers of two.",
    ),
    (
        Framework::Paddle,
        "In Paddle: a smaller batch; FLAGS_allocator_strategy=auto_growth leaves what is not needed to others.",
    ),
    (
        Framework::TensorFlow,
        "In TensorFlow: a smaller batch; set_memory_growth(gpu, True) leaves what is not needed to others.",
    ),
];

/// Programs that serve a model: they train nothing, and nobody starts them as a script.
const SERVERS: [(Framework, &str); 7] = [
    (Framework::Vllm, "vllm serve MODEL"),
    (Framework::Sglang, "python -m sglang.launch_server …"),
    (Framework::ComfyUi, "python main.py"),
    (Framework::LlamaCpp, "llama-server …"),
    // Without torch, and in processes that start others.
    (Framework::Ollama, ""),
    (Framework::TensorRtLlm, ""),
    (Framework::OnnxRuntime, ""),
];

fn server(record: &Record) -> Option<&'static str> {
    let of = record.framework?;
    let known = SERVERS.iter().find(|(framework, _)| *framework == of);
    known.map(|(_, command)| *command)
}

/// Whether the framework of a record serves models.
pub(crate) fn is_server(record: &Record) -> bool {
    server(record).is_some()
}

/// How the program of a record can use less memory, by its framework.
pub(crate) fn need_less(record: &Record) -> Option<&'static str> {
    let framework = record.framework?;
    let told = NEED_LESS.iter().find(|(of, _)| *of == framework);
    told.map(|(_, text)| *text)
}

/// The commands that would reveal more about a record, each with its purpose. `command`: the program's command line, if the
/// text shows it.
#[must_use]
pub fn next_steps(record: &Record, command: Option<&str>) -> Vec<(String, &'static str)> {
    let Report::Failure(failure) = &record.report else {
        return Vec::new();
    };
    let usual = server(record).unwrap_or("python train.py");
    let Some(program) = command.or(Some(usual).filter(|usual| !usual.is_empty())) else {
        return Vec::new();
    };
    // Those commands are about devices.
    if failure.may_be_of_host() {
        return Vec::new();
    }
    match failure.form {
        Form::Torch | Form::TorchAsync | Form::Driver | Form::Addresses
            if matches!(failure.api, Api::Cuda | Api::Hip | Api::Other) && has_torch(record) =>
        {
            of_torch(failure, program)
        }
        Form::VllmCache
        | Form::VllmLength
        | Form::VllmStart
        | Form::VllmProfile
        | Form::SglangCache => vec![(
            format!("vramscope record -- {program}"),
            "what the server had allocated, by line of its code",
        )],
        // It captures only CUDA.
        Form::Ggml if failure.api == Api::Cuda => of_capture(program),
        Form::Xla | Form::Other | Form::Driver if matches!(failure.api, Api::Cuda | Api::Other) => {
            of_capture(program)
        }
        _ => Vec::new(),
    }
}

fn of_capture(program: &str) -> Vec<(String, &'static str)> {
    vec![(
        format!("vramscope-capture run --dump-on-oom -o snap.pickle -- {program}"),
        "all allocations of the process on the device",
    )]
}

/// Whether the program may use PyTorch, which `vramscope record` needs.
fn has_torch(record: &Record) -> bool {
    const WITHOUT: [Framework; 7] = [
        Framework::Jax,
        Framework::TensorFlow,
        Framework::LlamaCpp,
        Framework::Ollama,
        Framework::TensorRtLlm,
        Framework::OnnxRuntime,
        Framework::Paddle,
    ];
    !record.framework.is_some_and(|it| WITHOUT.contains(&it))
}

fn of_torch(failure: &Failure, program: &str) -> Vec<(String, &'static str)> {
    let mut steps = vec![(
        format!("vramscope record -- {program}"),
        "what was live and from where, what was free in which pieces, when it fails again",
    )];
    let total = failure
        .total
        .as_ref()
        .filter(|_| failure.api == Api::Cuda)
        .filter(|total| total.bytes > 0);
    if let Some(total) = total {
        let size = Bytes(total.bytes).to_digits(4).replace(' ', "");
        steps.push((
            format!("vramscope dry-run --gpu {size} -- {program}"),
            "whether the program fits on such a device at all, without a GPU",
        ));
    }
    steps
}
