//! Changes of small programs, whose effect can be computed by hand.

use super::*;
use crate::analysis::recording::Recording;
use crate::analysis::report::findings::helpful;
use crate::decode;
use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

const CALL: &str = "train.py:9:step > lib/torch/nn/modules/module.py:1:_call_impl > model.py:249:forward > lib/torch/nn/modules/module.py:1:_call_impl";
const BACKWARD: &str = "engine.cpp:0:torch::autograd::Engine::thread_main(x)";

/// Steps of a model with six layers, each of which keeps 100 + 50 + 10 MiB; 400 MiB are older. If `fails`, the last
/// step stops in its fifth layer.
fn story(steps: u32, fails: bool) -> String {
    let mut story = "unrecorded alloc w 400MiB\n".to_owned();
    for step in 0..steps {
        let is_cut = fails && step + 1 == steps;
        story += &format!("alloc x{step} 4MiB train.py:7:step\n");
        for layer in 0..6 {
            if is_cut && layer == 4 {
                story += &format!("alloc a{step}_4 100MiB {CALL} > block.py:3:forward\n");
                return story
                    + "oom 50MiB free=10MiB train.py:9:step > lib/torch/nn/modules/module.py:1:_call_impl > model.py:249:forward";
            }
            for (name, mib, line) in [("a", 100, 3), ("b", 50, 4), ("c", 10, 5)] {
                // The interpreter calls the model in one of two ways.
                let call = match name {
                    "b" => CALL.replace(" > model", " > call.c:9:_PyObject_Call > model"),
                    _ => CALL.to_owned(),
                };
                story += &format!(
                    "alloc {name}{step}_{layer} {mib}MiB {call} > block.py:{line}:forward\n"
                );
            }
        }
        for layer in (0..6).rev() {
            for name in ["c", "b", "a"] {
                story += &format!("free {name}{step}_{layer} {BACKWARD}\n");
            }
        }
        story += &format!("free x{step}\n");
    }
    story
}

fn with_device<T>(story: &str, of: impl Fn(Device<'_>) -> T) -> T {
    let bytes = text::pickle(story, Producer::Python(2, 12)).unwrap();
    let recording = Recording::of(decode(&bytes[..]).unwrap());
    of(recording.device(0).unwrap())
}

const MIB: u64 = 1 << 20;

#[test]
fn layers_are_found_and_checkpointed() {
    with_device(&story(2, false), |device| {
        let peak = device.history.peak_moment;
        assert_eq!(device.peak_bytes(), (400 + 4 + 6 * 160) * MIB);
        let block = repeated_block(device, peak).unwrap();
        assert_eq!(block.label, "model.py:249 forward");
        assert_eq!(
            (block.count, block.bytes, block.allocations),
            (6, 160 * MIB, 3)
        );
        assert_eq!((block.output_bytes, block.is_in_another), (10 * MIB, false));
        let found = program_changes(device, device.history.event_count);
        let get = |kind| found.iter().find(|change| change.kind == kind);
        // Five outputs and the layer that is being computed or recomputed.
        let checkpointed = get(ChangeKind::Checkpoint).unwrap();
        assert_eq!(checkpointed.peak_bytes, (400 + 4 + 5 * 10 + 160) * MIB);
        let half = get(ChangeKind::HalfBatch).unwrap();
        assert_eq!(half.peak_bytes, (400 + 2 + 3 * 160) * MIB);
        assert!(get(ChangeKind::NoForeach).is_none() && get(ChangeKind::FreeEarlier).is_none());
    });
}

#[test]
fn a_failure_lies_in_the_fifth_layer() {
    with_device(&story(2, true), |device| {
        let &failed = device.failed_requests().last().unwrap();
        let block = repeated_block(device, failed).unwrap();
        assert_eq!((block.count, block.is_in_another), (4, true));
        let found = program_changes(device, failed);
        let checkpointed = found
            .iter()
            .find(|change| change.kind == ChangeKind::Checkpoint);
        assert_eq!(
            checkpointed.unwrap().live_bytes,
            (400 + 4 + 4 * 10 + 100) * MIB
        );
    });
}

/// The loss after the model (80 MiB) and the gradient of an activation (50 MiB) halve; that of a parameter (400 MiB)
/// does not.
#[test]
fn half_the_batch_halves_what_the_loss_needs() {
    let loss = "train.py:11:step > lib/torch/nn/functional.py:7:cross_entropy";
    let passes = story(2, false).replace(
        &format!("free c1_5 {BACKWARD}\n"),
        &format!("alloc soft 80MiB {loss}\nfree soft {loss}\nalloc ga 50MiB {BACKWARD}\nalloc gw 400MiB {BACKWARD}\nfree ga {BACKWARD}\nfree gw {BACKWARD}\nfree c1_5 {BACKWARD}\n"),
    );
    with_device(&passes, |device| {
        let whole = (400 + 4 + 6 * 160) * MIB;
        assert_eq!(device.peak_bytes(), whole + 450 * MIB);
        let found = program_changes(device, device.history.event_count);
        let half = found.iter().find(|it| it.kind == ChangeKind::HalfBatch);
        let halved = (400 + 2 + 6 * 80) * MIB;
        assert_eq!(half.unwrap().peak_bytes, halved + (25 + 400) * MIB);
    });
}

/// Casts of weights have the size of the weights, whatever the batch is.
#[test]
fn half_the_batch_leaves_casts_of_weights() {
    let layer = "train.py:3:main > net.py:10:__init__";
    let mut story = String::new();
    for number in 0..4 {
        story += &format!("alloc p{number} 64MiB {layer}\n");
    }
    for number in 0..4 {
        story += &format!(
            "alloc c{number} 32MiB {CALL} > block.py:3:forward\nalloc a{number} 100MiB {CALL} > block.py:4:forward\n"
        );
    }
    for number in 0..4 {
        story += &format!("free a{number} {BACKWARD}\nfree c{number} {BACKWARD}\n");
    }
    with_device(&story, |device| {
        assert_eq!(device.peak_bytes(), (4 * 64 + 4 * 132) * MIB);
        let found = program_changes(device, device.history.event_count);
        let half = found.iter().find(|it| it.kind == ChangeKind::HalfBatch);
        assert_eq!(half.unwrap().peak_bytes, (4 * 64 + 4 * (32 + 50)) * MIB);
    });
}

#[test]
fn outputs_that_outlive_their_step() {
    let mut story = String::new();
    for step in 0..4_u32 {
        story += &format!(
            "alloc out{step} 300MiB train.py:9:step > lib/torch/nn/modules/module.py:1:_call_impl > m.py:1:forward\n"
        );
        if step > 0 {
            story += &format!("free out{}\n", step - 1);
        }
        story += &format!("alloc g{step} 100MiB {BACKWARD}\nfree g{step} {BACKWARD}\n");
        story += &format!(
            "alloc s{step} 9MiB t.py:2:step > torch/optim/adam.py:7:step\nfree s{step} t.py:2:step > torch/optim/adam.py:7:step\n"
        );
    }
    with_device(&story, |device| {
        assert_eq!(device.peak_bytes(), 600 * MIB);
        let found = program_changes(device, device.history.event_count);
        let earlier = found
            .iter()
            .find(|change| change.kind == ChangeKind::FreeEarlier);
        assert_eq!(earlier.unwrap().peak_bytes, 400 * MIB, "{found:?}");
    });
}

/// The forward pass peaks at 1,314 MiB, the optimizer at 1,300: each change alone leaves the other's peak.
#[test]
fn peaks_of_two_phases_need_two_changes() {
    let optimizer = "train.py:12:step > lib/torch/optim/adam.py:7:step > lib/torch/optim/adam.py:9:_multi_tensor_adam";
    let mut story = story(2, false).replace("400MiB", "350MiB");
    for tensor in 0..10 {
        story += &format!("alloc t{tensor} 95MiB {optimizer}\n");
    }
    for tensor in 0..10 {
        story += &format!("free t{tensor} {optimizer}\n");
    }
    with_device(&story, |device| {
        let passes = (350 + 4 + 6 * 160) * MIB;
        assert_eq!(device.peak_bytes(), passes);
        let found = program_changes(device, device.history.event_count);
        let peak = |kind| found.iter().find(|it| it.kind == kind).unwrap().peak_bytes;
        // Of two steps with 18 activations each, one step's are live at a time.
        let half = found.iter().find(|it| it.kind == ChangeKind::HalfBatch);
        let half = half.unwrap();
        assert!((18..=19).contains(&half.peak_allocations), "{half:?}");
        assert_eq!(half.live_allocations, 0);
        // The memory that the optimizer needs at once remains.
        let checkpointed = peak(ChangeKind::Checkpoint);
        assert_eq!(checkpointed, (350 + 10 * 95) * MIB);
        assert_eq!(peak(ChangeKind::Together), (350 + 4 + 5 * 10 + 160) * MIB);
        // The effect of each alone is stated.
        let helpful = helpful(device, device.history.event_count, true);
        let (_, both) = &helpful[0];
        assert_eq!(
            both.because,
            "checkpointing alone leaves a peak of 1.27 GiB and foreach=False alone one of 1.28 GiB, because each leaves \
             another moment nearly as high; both together leave 564 MiB"
        );
    });
}
