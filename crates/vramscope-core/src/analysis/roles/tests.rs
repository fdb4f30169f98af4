//! Small recordings, one for each kind of evidence.

use super::{Phase, Role};
use crate::analysis::recording::Recording;
use crate::decode;
use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

const MIB: u64 = 1 << 20;

fn recording(story: &str) -> Recording {
    let bytes = text::pickle(story, Producer::Python(2, 10)).unwrap();
    Recording::of(decode(&bytes[..]).unwrap())
}

/// The role of all allocations with each of these sizes in MiB; those of one size must agree.
fn roles<const N: usize>(story: &str, sizes: [u64; N]) -> [Role; N] {
    let recording = recording(story);
    let device = recording.device(0).unwrap();
    sizes.map(|mib| {
        let bytes = device.history.allocations.bytes.iter();
        let rows = bytes
            .zip(device.rule_of())
            .filter(|&(&bytes, _)| bytes == mib * MIB);
        let mut roles: Vec<Role> = rows.map(|(_, rule)| rule.role()).collect();
        roles.dedup();
        assert_eq!(roles.len(), 1, "{mib} MiB: {roles:?}\n{story}");
        roles[0]
    })
}

fn phases(story: &str) -> Vec<Phase> {
    let recording = recording(story);
    let ranges = &recording.device(0).unwrap().phases().ranges;
    ranges.iter().map(|range| range.phase).collect()
}

const FORWARD: &str =
    "train.py:10:<module> > site-packages/torch/nn/modules/module.py:1:_call_impl > m.py:3:forward";
const LINEAR: &str = "train.py:10:<module> > site-packages/torch/nn/modules/module.py:1:_call_impl > m.py:3:forward > site-packages/torch/nn/modules/linear.py:9:forward";
const BACKWARD: &str = "engine.cpp:0:torch::autograd::Engine::thread_main(x) > f.cpp:0:torch::autograd::generated::MmBackward0::apply(x)";
const STARTS: &str = "train.py:11:<module> > site-packages/torch/_tensor.py:1:backward > site-packages/torch/autograd/__init__.py:2:backward > site-packages/torch/autograd/__init__.py:3:_make_grads";
const STEP: &str = "train.py:12:<module> > site-packages/torch/optim/optimizer.py:9:wrapper > site-packages/torch/optim/adam.py:7:step";
const ZERO_GRAD: &str = "train.py:13:<module> > site-packages/torch/optim/optimizer.py:1:zero_grad";

/// Training steps with gradients of these sizes in MiB; Adam's step makes and frees as much.
fn steps(count: usize, gradients: &[u64]) -> String {
    let mut story = String::new();
    for step in 0..count {
        story += &format!("alloc a{step} 50MiB {FORWARD}\n");
        for (at, mib) in gradients.iter().enumerate() {
            story += &format!("alloc g{step}_{at} {mib}MiB {BACKWARD}\n");
        }
        story += &format!("free a{step} {BACKWARD}\n");
        story += &format!("alloc t{step} 1MiB {STEP}\nfree t{step} {STEP}\n");
        for at in 0..gradients.len() {
            story += &format!("free g{step}_{at} {ZERO_GRAD}\n");
        }
    }
    story
}

/// This many older allocations of each size.
fn older(copies: usize, sizes: &[u64]) -> String {
    let copies = 0..copies;
    let lines = copies.flat_map(|copy| {
        let sizes = sizes.iter().enumerate();
        sizes.map(move |(at, mib)| format!("unrecorded alloc w{copy}_{at} {mib}MiB\n"))
    });
    lines.collect()
}

#[test]
fn folders_above_the_package_tell_nothing() {
    let user = "/home/me/ROOT/train.py:1:<module> > /home/me/ROOT/model.py:2:__init__ > VENV/site-packages/torch/nn/modules/linear.py:3:__init__";
    let forward = "/home/me/ROOT/train.py:1:<module> > VENV/site-packages/torch/nn/modules/module.py:1:_call_impl > /home/me/ROOT/model.py:2:forward";
    let backward =
        "VENV/site-packages/torch/autograd/function.py:1:apply > /home/me/ROOT/model.py:2:backward";
    let story = format!(
        "alloc p 4MiB {user}\nalloc a 5MiB {forward}\nalloc g 6MiB {backward}\nfree a {backward}\nalloc s 7MiB /home/me/ROOT/train.py:9:step\nfree g {backward}"
    );
    let expected = [
        Role::Parameter,
        Role::Activation,
        Role::Temporary,
        Role::Unknown,
    ];
    for (root, venv) in [
        ("project", "/opt/venv"),
        ("optimized-llm", "/opt/venv"),
        ("optim", "/home/me/optim/checkpoint"),
        (
            "torch/optim/checkpoint/kv_cache_paper",
            "/x/deepspeed/runtime",
        ),
        ("kv_cache/cache_utils/model_loader", "/x/safetensors"),
    ] {
        let story = story.replace("ROOT", root).replace("VENV", venv);
        assert_eq!(roles(&story, [4, 5, 6, 7]), expected, "{root}");
    }
}

#[test]
fn zero_3_gathers_parameters() {
    let hook = "train.py:10:<module> > site-packages/torch/nn/modules/module.py:1:_call_impl > site-packages/deepspeed/runtime/zero/parameter_offload.py:2:_pre_forward_module_hook > site-packages/deepspeed/runtime/zero/partitioned_param_coordinator.py:3:fetch_sub_module > site-packages/deepspeed/runtime/zero/partition_parameters.py:4:all_gather_coalesced";
    let fp32 = "train.py:1:<module> > site-packages/deepspeed/runtime/engine.py:2:__init__ > site-packages/deepspeed/runtime/zero/stage3.py:3:__init__ > site-packages/deepspeed/runtime/zero/stage3.py:4:_create_fp32_partitions";
    let story = format!(
        "alloc m 7MiB {fp32}\nalloc w 8MiB {hook}\nalloc a 5MiB {FORWARD}\nfree a {BACKWARD}\nfree w {BACKWARD}"
    );
    let expected = [Role::OptimizerState, Role::Parameter, Role::Activation];
    assert_eq!(roles(&story, [7, 8, 5]), expected);
}

/// Copies of parameters in full precision that the optimizer updates are its state, whoever makes them.
#[test]
fn master_weights_are_optimizer_state() {
    let zero = "train.py:1:<module> > site-packages/deepspeed/runtime/zero/stage_1_and_2.py";
    let zero = format!("alloc p 4MiB {zero}:360:__init__\nalloc m 8MiB {zero}:400:__init__");
    assert_eq!(
        roles(&zero, [4, 8]),
        [Role::Parameter, Role::OptimizerState]
    );
    let bf16 = "site-packages/deepspeed/runtime/bf16_optimizer.py";
    let bf16 = format!(
        "alloc p 4MiB train.py:1:<module> > {bf16}:80:__init__ > {bf16}:150:_setup_for_real_optimizer > {bf16}:190:_flatten_dense_tensors_aligned > site-packages/torch/_utils.py:500:_flatten_dense_tensors\n\
         alloc m 8MiB train.py:1:<module> > {bf16}:80:__init__ > {bf16}:160:_setup_for_real_optimizer\n\
         alloc g 9MiB train.py:1:<module> > {bf16}:80:__init__ > {bf16}:170:_setup_for_real_optimizer"
    );
    let expected = [Role::Parameter, Role::OptimizerState, Role::Gradient];
    assert_eq!(roles(&bf16, [4, 8, 9]), expected);
    let stage_3 = "site-packages/deepspeed/runtime/zero/stage3.py";
    let stage_3 = format!(
        "alloc p 4MiB train.py:1:<module> > {stage_3}:300:__init__ > {stage_3}:700:_create_fp16_partitions_with_defragmentation > {stage_3}:590:defragment\n\
         alloc b 2MiB train.py:1:<module> > {stage_3}:400:__init__ > {stage_3}:540:_setup_for_real_optimizer\n\
         alloc g 9MiB train.py:1:<module> > {stage_3}:400:__init__ > {stage_3}:550:_setup_for_real_optimizer"
    );
    let expected = [Role::Parameter, Role::Communication, Role::Gradient];
    assert_eq!(roles(&stage_3, [4, 2, 9]), expected);
    for made in [
        "site-packages/deepspeed/runtime/fp16/fused_optimizer.py:83:__init__",
        "site-packages/megatron/core/optimizer/distrib_optimizer.py:5:_build_model_and_main_param_groups",
        "site-packages/megatron/core/optimizer/optimizer.py:5:__init__",
        "site-packages/apex/fp16_utils/fp16_optimizer.py:5:__init__",
        "site-packages/apex/amp/_process_optimizer.py:5:lazy_init_with_master_weights",
    ] {
        let story = format!("alloc m 8MiB train.py:1:<module> > {made}");
        assert_eq!(roles(&story, [8]), [Role::OptimizerState], "{made}");
    }
}

#[test]
fn a_thread_without_python_is_not_autograd_unless_something_trains() {
    let infers = format!(
        "unrecorded alloc w 90MiB\nalloc a 5MiB {FORWARD}\nalloc x 1MiB\nalloc b 5MiB {FORWARD}\nfree a\nfree x\nalloc c 1MiB {FORWARD}"
    );
    assert_eq!(phases(&infers), [Phase::Forward]);
    // For example, a thread decodes data before the program starts a backward pass.
    let trains = format!(
        "alloc a 5MiB {FORWARD}\nalloc x 2MiB\nalloc b 6MiB {FORWARD}\nalloc one 1MiB {STARTS}\nalloc g 3MiB\nfree a\nfree b\nalloc t 1MiB {STEP}"
    );
    let expected = [Phase::Forward, Phase::Backward, Phase::Optimizer];
    assert_eq!(phases(&trains), expected);
    assert_eq!(
        roles(&trains, [5, 6, 3]),
        [Role::Activation, Role::Activation, Role::Gradient]
    );
    // If no stack shows the start of a backward pass, it follows the forward pass.
    let unseen = trains
        .replace(&format!("alloc one 1MiB {STARTS}\n"), "")
        .replace("alloc x 2MiB\n", "");
    assert_eq!(phases(&unseen), expected);
}

#[test]
fn a_second_model_is_no_optimizer_state() {
    let sizes = [8, 4, 2, 16];
    let adam = format!("{}{}", older(3, &sizes), steps(2, &sizes));
    let by_role = |story: &str, role: Role| {
        let recording = recording(story);
        let device = recording.device(0).unwrap();
        let table = &device.history.allocations;
        let rows = (0..table.len())
            .filter(|&row| table.born[row] == 0 && device.rule_of()[row].role() == role);
        rows.map(|row| table.bytes[row] / MIB).sum::<u64>()
    };
    assert_eq!(by_role(&adam, Role::OptimizerState), 60);
    let dpo = format!("{}{}", older(4, &sizes), steps(2, &sizes));
    assert_eq!(by_role(&dpo, Role::OptimizerState), 60);
    assert_eq!(by_role(&dpo, Role::Parameter), 30);
    assert_eq!(by_role(&dpo, Role::Unknown), 30);
    // A reference, and an optimizer that makes its state in the recording.
    let early = steps(2, &sizes)
        .replacen("alloc t0 1MiB", "alloc s0 8MiB", 1)
        .replacen("free t0", "alloc t0 1MiB STEP\nfree t0", 1)
        .replace("STEP", STEP);
    let early = format!("{}{early}", older(2, &sizes));
    assert_eq!(by_role(&early, Role::OptimizerState), 0);
    assert_eq!(by_role(&early, Role::Parameter), 30);
}

#[test]
fn autocast_copies_parameters() {
    let cast = "at::_ops::_to_copy::call(x)";
    let story = |cast: &str| {
        format!(
            "alloc w 40MiB m.py:1:<module> > site-packages/torch/nn/modules/linear.py:2:__init__\n\
             alloc h 20MiB {LINEAR} > x.cpp:0:{cast}\nalloc x 6MiB {LINEAR} > x.cpp:0:{cast}\nalloc y 5MiB {LINEAR} > x.cpp:0:at::native::linear(x)\n\
             free h {BACKWARD}\nfree x {BACKWARD}\nfree y {BACKWARD}"
        )
    };
    let cast_of = story("at::autocast::cached_cast(x)");
    assert_eq!(
        roles(&cast_of, [20, 6, 5]),
        [Role::Parameter, Role::Activation, Role::Activation]
    );
    assert_eq!(roles(&story(cast), [20]), [Role::Activation]);
    // Without such names: most parameters have a half of their size.
    let python = |halves: &[u64]| {
        let mut story = String::new();
        for mib in [40, 24, 12] {
            story += &format!(
                "alloc w{mib} {mib}MiB m.py:1:<module> > site-packages/torch/nn/modules/linear.py:2:__init__\n"
            );
        }
        for mib in halves {
            story += &format!("alloc h{mib} {mib}MiB {LINEAR}\n");
        }
        story
            + &format!("alloc one 1MiB {STARTS}\n")
            + &halves
                .iter()
                .map(|mib| format!("free h{mib}\n"))
                .collect::<String>()
    };
    assert_eq!(
        roles(&python(&[20, 12, 7]), [20, 7]),
        [Role::Parameter, Role::Activation]
    );
    assert_eq!(
        roles(&python(&[20, 7]), [20, 7]),
        [Role::Activation, Role::Activation]
    );
}

#[test]
fn what_fsdp_reduces_gradients_into_is_the_gradient() {
    let reduce = "site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:1:post_backward > site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:2:foreach_reduce";
    let story = format!(
        "alloc a 5MiB {FORWARD}\nalloc i 8MiB {reduce}\nalloc g 4MiB {reduce}\nfree i {reduce}\nfree a {BACKWARD}\nalloc t 1MiB {STEP}\nfree t {STEP}\nfree g"
    );
    assert_eq!(roles(&story, [8, 4]), [Role::Communication, Role::Gradient]);
}

#[test]
fn keys_and_values_that_autograd_saves_are_activations() {
    let update = format!("{FORWARD} > site-packages/transformers/cache_utils.py:3:update");
    let trains = format!(
        "alloc k 4MiB {update}\nalloc a 5MiB {FORWARD}\nfree k {BACKWARD}\nfree a {BACKWARD}\nalloc l 6MiB {update}"
    );
    assert_eq!(roles(&trains, [4, 6]), [Role::Activation, Role::Activation]);
    let generates = format!(
        "alloc k 4MiB {update}\nalloc x 1MiB train.py:9:sample\nalloc l 5MiB {update}\nfree k\nalloc y 1MiB train.py:9:sample\nalloc n 7MiB {FORWARD}"
    );
    assert_eq!(roles(&generates, [4, 5]), [Role::KvCache, Role::KvCache]);
}

/// Passes of inference, each with an output made from `bytes` that lives until the next pass has made its own.
fn held(bytes: impl Fn(u64) -> u64) -> String {
    let mut story = String::from("unrecorded alloc w 900MiB\n");
    for pass in 0..6 {
        story += &format!(
            "alloc x{pass} 1MiB serve.py:3:read\nalloc y{pass} {}MiB {FORWARD}\n",
            bytes(pass)
        );
        if pass > 0 {
            story += &format!("free y{}\nfree x{}\n", pass - 1, pass - 1);
        }
    }
    story
}

#[test]
fn what_replaces_its_like_is_an_output_and_what_grows_is_a_cache() {
    assert_eq!(roles(&held(|_| 30), [30]), [Role::Activation]);
    let grown = held(|pass| 30 + pass);
    assert_eq!(roles(&grown, [30, 32, 35]), [Role::KvCache; 3]);
    // Memory kept over many passes may be anything.
    let kept = format!("alloc k 40MiB {FORWARD}\n{}", held(|_| 30));
    assert_eq!(roles(&kept, [40, 30]), [Role::Unknown, Role::Activation]);
}

#[test]
fn data_parallel_copies_parameters() {
    let parallel = "train.py:10:<module> > site-packages/torch/nn/modules/module.py:1:_call_impl > site-packages/torch/nn/parallel/data_parallel.py:2:forward";
    let replicas = format!(
        "{parallel} > site-packages/torch/nn/parallel/data_parallel.py:3:replicate > site-packages/torch/nn/parallel/replicate.py:4:replicate > site-packages/torch/nn/parallel/_functions.py:5:forward > site-packages/torch/nn/parallel/comm.py:6:broadcast_coalesced"
    );
    let scatter = format!(
        "{parallel} > site-packages/torch/nn/parallel/data_parallel.py:3:scatter > site-packages/torch/nn/parallel/scatter_gather.py:4:scatter_kwargs > site-packages/torch/nn/parallel/comm.py:6:scatter"
    );
    let story = format!(
        "alloc x 2MiB {scatter}\nalloc p 8MiB {replicas}\nalloc a 5MiB {FORWARD}\nfree a {BACKWARD}\nfree p {BACKWARD}\nfree x {BACKWARD}"
    );
    assert_eq!(
        roles(&story, [2, 8, 5]),
        [Role::Input, Role::Parameter, Role::Activation]
    );
}

/// The optimizer step of PyTorch Lightning encloses the closure, and with it the passes.
#[test]
fn of_annotations_the_innermost_tells_the_phase() {
    let story = "begin Optimizer.step#AdamW.step\nbegin forward\nalloc a 5MiB\nend forward\nbegin backward\nalloc g 3MiB\nfree a\nend backward\n\
                 alloc s 7MiB\nend Optimizer.step#AdamW.step\nalloc x 1MiB";
    assert_eq!(
        phases(story),
        [Phase::Forward, Phase::Backward, Phase::Optimizer]
    );
}

#[test]
fn names_alone_count_less() {
    // A replay buffer that is kept, with a sampler of its own, and a tokenizer.
    let story = format!(
        "alloc r 8MiB train.py:1:<module> > replay.py:3:get_batch\nalloc t 6MiB train.py:1:<module> > tokens.py:3:from_pretrained\n\
         alloc a 5MiB {FORWARD}\nfree a {BACKWARD}\nfree t\nalloc b 4MiB {FORWARD}\nfree b {BACKWARD}"
    );
    let [buffer, tokens] = roles(&story, [8, 6]);
    assert_eq!(buffer, Role::Unknown);
    assert_ne!(tokens, Role::Parameter);
    // A function with such a name is not a forward pass if modules are called; if hardly any are called, it is.
    let modules = (20..40).map(|line| {
        format!(
            "alloc a{line} 5MiB {}\n",
            FORWARD.replace("m.py:3", &format!("m.py:{line}"))
        )
    });
    let helper = format!(
        "{}alloc h 3MiB train.py:2:<module> > video.py:3:forward\nfree h",
        modules.collect::<String>()
    );
    assert_eq!(roles(&helper, [3]), [Role::Temporary]);
    assert_eq!(phases(&helper), [Phase::Forward]);
    let alone = "alloc a 5MiB train.py:2:<module> > net.py:3:forward";
    assert_eq!(phases(alone), [Phase::Forward]);
}

/// Weights of layers in the order in which a model makes them, followed by a cache.
#[test]
fn a_cache_from_before_the_recording_is_not_taken_for_weights() {
    let mut story = String::from("unrecorded alloc words 31MiB\n");
    for layer in 0..4 {
        for (at, mib) in [12, 8, 44, 22].into_iter().enumerate() {
            story += &format!("unrecorded alloc w{layer}_{at} {mib}MiB\n");
        }
    }
    for layer in 0..8 {
        story += &format!("unrecorded alloc c{layer} 64MiB\n");
    }
    story += &format!(
        "alloc a 5MiB {FORWARD}\nfree a\nalloc x 1MiB serve.py:3:read\nalloc b 5MiB {FORWARD}\nfree b"
    );
    assert_eq!(roles(&story, [31, 12, 8, 44, 22]), [Role::Parameter; 5]);
    assert_eq!(roles(&story, [64]), [Role::Unknown]);
}

/// Some programs free their model before they end, as Lightning does.
#[test]
fn what_is_freed_after_the_last_step_was_kept() {
    let sizes = [8, 4, 2, 16];
    let mut story = format!("{}{}", older(3, &sizes), steps(2, &sizes));
    for copy in 0..3 {
        for at in 0..sizes.len() {
            story += &format!("free w{copy}_{at} train.py:20:<module>\n");
        }
    }
    let recording = recording(&story);
    let device = recording.device(0).unwrap();
    let table = &device.history.allocations;
    let older = (0..table.len()).filter(|&row| table.born[row] == 0);
    let state = older.filter(|&row| device.rule_of()[row].role() == Role::OptimizerState);
    let state = state.map(|row| table.bytes[row]).sum::<u64>();
    assert_eq!(state, 60 * MIB);
}

/// Fused Adam allocates nothing in its steps, so no stack shows it.
#[test]
fn adam_is_known_by_its_counters() {
    let sizes = [8, 4, 2, 16];
    let steps = steps(2, &sizes).replace(
        "site-packages/torch/optim/adam.py:7:step",
        "train.py:7:step",
    );
    let state = |counters: usize| {
        let mut story = older(3, &sizes);
        for at in 0..counters {
            story += &format!("unrecorded alloc n{at} 4B\n");
        }
        story += &steps;
        let recording = recording(&story);
        let device = recording.device(0).unwrap();
        let rules = device.rule_of().iter();
        let roles = rules.zip(&device.history.allocations.bytes);
        let state = roles.filter(|(rule, _)| rule.role() == Role::OptimizerState);
        state.map(|(_, bytes)| bytes / MIB).sum::<u64>()
    };
    assert_eq!(state(4), 60);
    assert_eq!(state(0), 0);
}

/// A sampler is called by its own `forward`, within a function named after the cache.
#[test]
fn a_name_alone_continues_a_forward_pass() {
    let sizing = "engine.py:1:__init__ > engine.py:2:_initialize_kv_caches";
    let modules = (20..40).map(|line| {
        let code = FORWARD.replace("m.py:3", &format!("m.py:{line}"));
        format!("alloc a{line} 5MiB {code}\n")
    });
    let story = format!(
        "{}alloc s 9MiB {sizing} > sampler.py:3:forward\nalloc t 1MiB {FORWARD}\nfree s\nfree t",
        modules.collect::<String>()
    );
    assert_eq!(roles(&story, [9]), [Role::Temporary]);
    assert_eq!(phases(&story), [Phase::Forward]);
}

/// Stacks without the internal names of libraries show neither cuDNN nor Python.
#[test]
fn a_workspace_of_a_convolution_is_known_by_its_size() {
    let conv = "engine.cpp:0:torch::autograd::Engine::thread_main(x) > f.cpp:0:at::_ops::convolution_backward::call(x) > ??:0:??";
    let story = |inner: &str| {
        format!(
            "alloc a 5MiB {FORWARD}\nalloc w 3MiB {conv}{inner}\nfree w\nalloc t 4MiB {conv}\nalloc g 4MiB {conv}\nfree t\nfree a {BACKWARD}\nalloc o 1MiB {STEP}"
        )
    };
    assert_eq!(roles(&story(""), [3]), [Role::Workspace]);
    let shown = format!(
        "{}\nfree o\nalloc v 6MiB {conv} > x.cpp:0:at::native::raw_cudnn_x(y)\nfree v",
        story("")
    );
    assert_eq!(roles(&shown, [3, 6]), [Role::Temporary, Role::Workspace]);
}

#[test]
fn outputs_as_large_as_casts_are_no_casts() {
    let mut story = String::new();
    for mib in [40, 24, 16] {
        story += &format!(
            "alloc w{mib} {mib}MiB m.py:1:<module> > site-packages/torch/nn/modules/linear.py:2:__init__\n"
        );
    }
    for (at, mib) in [20, 12, 8, 8, 7].into_iter().enumerate() {
        story += &format!("alloc h{at} {mib}MiB {LINEAR}\n");
    }
    story += &format!("alloc one 1MiB {STARTS}\n");
    for at in 0..5 {
        story += &format!("free h{at}\n");
    }
    assert_eq!(
        roles(&story, [20, 12, 8, 7]),
        [
            Role::Parameter,
            Role::Parameter,
            Role::Activation,
            Role::Activation
        ]
    );
}
