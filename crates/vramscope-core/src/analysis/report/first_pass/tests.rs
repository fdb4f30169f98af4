//! Programs cut off in each of the four passes, whose needs can be added up by hand, and others without an answer.

use super::*;
use crate::analysis::recording::Recording;
use crate::analysis::report::overview::overview;
use crate::decode;
use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

const MIB: u64 = 1 << 20;
const CALL: &str = "train.py:9:step > lib/torch/nn/modules/module.py:1:_call_impl > net.py:50:forward > lib/torch/nn/modules/module.py:1:_call_impl";
const BACKWARD: &str = "engine.cpp:0:torch::autograd::Engine::thread_main(x)";
const GRADIENT: &str = "accumulate.cpp:0:torch::autograd::AccumulateGrad::apply(x)";
const OPTIMIZER: &str = "train.py:12:step > lib/torch/optim/adamw.py:220:step > lib/torch/optim/adamw.py:149:_init_group";
const LAYERS: usize = 6;

/// A program, written event by event until its memory runs out.
struct Program {
    story: String,
    live: u64,
    made: usize,
    /// Available MiB.
    there: u64,
    has_failed: bool,
}

impl Program {
    fn new(there: u64) -> Self {
        Self {
            story: String::new(),
            live: 0,
            made: 0,
            there,
            has_failed: false,
        }
    }

    /// Allocates this many MiB, or fails.
    fn alloc(&mut self, mib: u64, stack: &str) -> String {
        let name = format!("a{}", self.made);
        self.made += 1;
        if self.has_failed {
        } else if self.live + mib > self.there {
            let free = self.there - self.live;
            self.story += &format!("oom {mib}MiB free={free}MiB {stack}\n");
            self.has_failed = true;
        } else {
            self.story += &format!("alloc {name} {mib}MiB {stack}\n");
            self.live += mib;
        }
        name
    }

    fn free(&mut self, name: &str, mib: u64) {
        if !self.has_failed {
            self.story += &format!("free {name} {BACKWARD}\n");
            self.live -= mib;
        }
    }

    /// The parameters, in MiB.
    fn parameters(&mut self) -> Vec<u64> {
        let mut sizes = vec![300];
        self.alloc(300, "train.py:3:main > net.py:9:__init__");
        for _ in 0..LAYERS {
            for (line, mib) in [(10, 40), (11, 22), (12, 90), (13, 24)] {
                let stack =
                    format!("train.py:3:main > net.py:8:__init__ > block.py:{line}:__init__");
                self.alloc(mib, &stack);
                sizes.push(mib);
            }
        }
        sizes
    }

    /// Memory that the layers keep, in MiB: 100, 50 and 10 each.
    fn forward(&mut self) -> Vec<(String, u64)> {
        let mut kept = Vec::new();
        for _ in 0..LAYERS {
            for (line, mib) in [(3, 100), (4, 50), (5, 10)] {
                let name = self.alloc(mib, &format!("{CALL} > block.py:{line}:forward"));
                kept.push((name, mib));
            }
        }
        kept
    }

    /// Frees the kept memory and makes the gradients of `trained`, the last first.
    fn backward(&mut self, mut kept: Vec<(String, u64)>, trained: &[u64]) {
        for (place, &mib) in trained.iter().rev().enumerate() {
            if place % 4 == 0 {
                for (name, mib) in kept.split_off(kept.len().saturating_sub(3)) {
                    self.free(&name, mib);
                }
            }
            self.alloc(mib, GRADIENT);
        }
    }

    /// Makes this many tensors of each size.
    fn optimizer(&mut self, trained: &[u64], per_parameter: u64) {
        for &mib in trained {
            for _ in 0..per_parameter {
                self.alloc(mib, OPTIMIZER);
            }
        }
    }

    /// The analysis of the failure, and the verdict.
    fn told(&self) -> (Option<FirstPass>, String) {
        assert!(self.has_failed, "{}", self.story);
        let bytes = text::pickle(&self.story, Producer::Python(2, 12)).unwrap();
        let recording = Recording::of(decode(&bytes[..]).unwrap());
        let device = recording.device(0).unwrap();
        let verdict = overview(device, 0).verdict();
        (FirstPass::last(device), verdict)
    }
}

fn total(mib: &[u64]) -> u64 {
    mib.iter().sum()
}

#[test]
fn few_large_tables_are_told_by_their_order() {
    let mib = |sizes: &[u64]| sizes.iter().map(|size| size * MIB).collect::<Vec<_>>();
    let tables = mib(&[300, 40, 22, 22]);
    assert!(once_each(&tables, &tables[..2], 22 * MIB));
    assert!(!once_each(&tables, &tables[..2], 40 * MIB), "not the next");
    assert!(
        !once_each(&tables, &tables[1..3], 22 * MIB),
        "not the first"
    );
    assert!(
        !once_each(&tables[2..], &tables[2..3], 22 * MIB),
        "of one size"
    );
    assert!(!once_each(&tables, &tables, 22 * MIB), "nothing is left");
    let sizes = Program::new(0).parameters();
    let mut program = Program::new(2 * total(&sizes) + 350);
    program.parameters();
    let kept = program.forward();
    program.backward(kept, &sizes);
    program.optimizer(&sizes, 1);
    let (found, verdict) = program.told();
    assert_eq!(found.unwrap().needed_bytes, 3 * total(&sizes) * MIB);
    assert!(verdict.starts_with("Fails at "), "{verdict}");
}

#[test]
fn the_optimizers_first_state() {
    let mut program = Program::new(3_800);
    let sizes = program.parameters();
    let kept = program.forward();
    program.backward(kept, &sizes);
    assert!(!program.has_failed, "both passes fit");
    program.optimizer(&sizes, 2);
    let (found, verdict) = program.told();
    let found = found.unwrap();
    assert_eq!(found.pass, Pass::Optimizer);
    assert_eq!(found.total, 2 * total(&sizes) * MIB);
    let made = program.live - 2 * total(&sizes);
    assert_eq!(found.done, made * MIB);
    // Parameters, gradients, two states.
    assert_eq!(found.needed_bytes, 4 * total(&sizes) * MIB);
    let share = found.done as f64 / found.total as f64 * 100.0;
    let expected = format!(
        "Fails at {share:.1} % of the optimizer's first state: about {} needed, ",
        Bytes(found.needed_bytes)
    );
    assert!(verdict.starts_with(&expected), "{verdict}");
}

/// If the step would fit, the request failed for another reason.
#[test]
fn a_step_that_would_have_fitted() {
    let mut program = Program::new(6_000);
    let sizes = program.parameters();
    let kept = program.forward();
    program.backward(kept, &sizes);
    program.optimizer(&sizes[..20], 2);
    let free = program.there - program.live;
    program.story += &format!("oom 4000MiB free={free}MiB {OPTIMIZER}\n");
    program.has_failed = true;
    assert_eq!(program.told().0, None);
}

/// A later step makes nothing that stays.
#[test]
fn state_from_an_earlier_step() {
    let mut program = Program::new(6_500);
    let sizes = program.parameters();
    let kept = program.forward();
    program.backward(kept, &sizes);
    program.optimizer(&sizes, 2);
    let kept = program.forward();
    for (name, mib) in kept {
        program.free(&name, mib);
    }
    program.there = program.live + 100;
    program.optimizer(&sizes, 1);
    assert_eq!(program.told().0, None);
}

/// State in sizes that no gradient has.
#[test]
fn state_that_does_not_fit_the_gradients() {
    let mut program = Program::new(3_500);
    let sizes = program.parameters();
    let kept = program.forward();
    program.backward(kept, &sizes);
    let others: Vec<u64> = sizes.iter().map(|mib| mib + 2).collect();
    program.optimizer(&others, 2);
    assert_eq!(program.told().0, None);
}

#[test]
fn the_first_gradients() {
    let mut program = Program::new(2_350);
    let sizes = program.parameters();
    let kept = program.forward();
    assert!(!program.has_failed, "the forward pass fits");
    program.backward(kept, &sizes);
    let (found, verdict) = program.told();
    let found = found.unwrap();
    assert_eq!(found.pass, Pass::Backward);
    assert_eq!(found.total, total(&sizes) * MIB);
    assert_eq!(found.needed_bytes, 2 * total(&sizes) * MIB);
    assert!(
        verdict.contains("of the first gradients: about "),
        "{verdict}"
    );
}

/// When training an adapter, parameters between those with gradients have none.
#[test]
fn gradients_of_few_parameters() {
    let mut program = Program::new(3_000);
    let sizes = program.parameters();
    let kept = program.forward();
    let adapters: Vec<u64> = sizes.iter().copied().filter(|&mib| mib < 30).collect();
    program.backward(kept, &adapters[..9]);
    let free = program.there - program.live;
    program.story += &format!("oom 3000MiB free={free}MiB {GRADIENT}\n");
    program.has_failed = true;
    assert_eq!(program.told().0, None);
}

#[test]
fn the_first_forward_pass() {
    let mut program = Program::new(2_000);
    program.parameters();
    let before = program.live;
    program.forward();
    let (found, verdict) = program.told();
    let found = found.unwrap();
    assert_eq!((found.pass, found.total), (Pass::Forward, LAYERS as u64));
    let made = (program.live - before) / 160;
    assert_eq!(found.done, made);
    let needed = before + LAYERS as u64 * 160;
    assert!(
        found.needed_bytes.abs_diff(needed * MIB) <= 160 * MIB,
        "{found:?}, {needed} MiB"
    );
    assert!(
        verdict.contains(" of 6 of the first forward pass: about "),
        "{verdict}"
    );
}

/// After a pass that fitted, the number of blocks is no cause.
#[test]
fn a_later_forward_pass() {
    let mut program = Program::new(4_000);
    let sizes = program.parameters();
    let kept = program.forward();
    program.backward(kept, &sizes);
    program.there = program.live + 500;
    program.forward();
    assert_eq!(program.told().0, None);
}

const LOAD: &str = "train.py:5:main > lib/torch/serialization.py:7:load";

#[test]
fn a_checkpoint_beside_the_model() {
    let mut program = Program::new(2_000);
    let sizes = program.parameters();
    for &mib in &sizes {
        program.alloc(mib, LOAD);
    }
    let (found, verdict) = program.told();
    let found = found.unwrap();
    assert_eq!(found.pass, Pass::Loading);
    assert_eq!(found.needed_bytes, 2 * total(&sizes) * MIB);
    assert_eq!(found.done, (program.live - total(&sizes)) * MIB);
    assert!(
        verdict.contains("of a second copy of the parameters: "),
        "{verdict}"
    );
}

/// The number of parameters of a model is unknown while it is made.
#[test]
fn a_model_that_is_being_made() {
    let mut program = Program::new(900);
    program.parameters();
    assert_eq!(program.told().0, None);
}

/// Data in other sizes than the parameters.
#[test]
fn data_beside_the_model() {
    let mut program = Program::new(2_000);
    program.parameters();
    for mib in 0..40 {
        program.alloc(30 + mib % 5, LOAD);
    }
    assert_eq!(program.told().0, None);
}

#[test]
fn values_that_begin_again() {
    assert_eq!(period(&[1, 2, 3, 1, 2]), 3);
    assert_eq!(period(&[1, 1, 1]), 1);
    assert_eq!(period(&[1, 2, 3]), 3);
    assert_eq!(period(&[]), 0);
}
