//! The run: its allocations and frees, step by step.

use std::collections::VecDeque;

use super::sites::{BLOCK, STAGES_PER_TOWER, Sites, Weight, WeightSites};
use super::{Habit, Options};
use crate::allocator::HeapOptions;
use crate::recorder::{Allocation, Recorder, Request, Sink};
use crate::rng::Rng;
use crate::snapshot::{Annotation, Text};

/// Bytes of one element of activations and parameters (bfloat16).
const ELEMENT_BYTES: u64 = 2;
/// Optimizer state is kept in float32.
const STATE_BYTES: u64 = 4;
/// Parameters updated together by a foreach kernel.
const FOREACH: usize = 12;
/// The stream handle on which gradients are reduced.
const COMMUNICATION_STREAM: i64 = 0x5581_7c40_2e30;

/// The model's dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Numbers of blocks in the two towers.
    pub layers: [usize; 2],
    /// Width of the hidden state.
    pub width: u64,
    /// The most tokens of a batch.
    pub tokens: u64,
    /// Number of words in the vocabulary.
    pub vocabulary: u64,
    /// The device's memory, in bytes.
    pub device_bytes: u64,
}

impl Scale {
    /// Thousands of live blocks on an 80 GiB device.
    pub const LARGE: Self = Self {
        layers: [16, 32],
        width: 2048,
        tokens: 4096,
        vocabulary: 32_000,
        device_bytes: 80 << 30,
    };
    /// A few hundred live blocks: for samples and fixtures.
    pub const SMALL: Self = Self {
        layers: [2, 4],
        width: 1024,
        tokens: 4096,
        vocabulary: 32_000,
        device_bytes: 24 << 30,
    };
}

/// A parameter, its gradient and its optimizer states.
struct Parameter {
    elements: u64,
    sites: WeightSites,
    grad: Option<Allocation>,
}

/// Activations of one block, by operator.
type Saved = Vec<Vec<Allocation>>;

/// A training run in progress.
pub(super) struct Run<'a, S> {
    options: &'a Options,
    sites: &'a Sites,
    recorder: Recorder<S>,
    rng: Rng,
    annotations: Vec<Annotation>,
    parameters: Vec<Parameter>,
    /// Per block, the index of its first parameter.
    first_parameter: Vec<usize>,
    pending: Vec<Allocation>,
    /// What [`Habit::Fragments`] keeps, by step.
    scattered: VecDeque<Vec<Allocation>>,
    hidden_bytes: u64,
    tokens: u64,
    is_over: bool,
}

impl<'a, S: Sink> Run<'a, S> {
    pub(super) fn new(options: &'a Options, sites: &'a Sites, sink: S) -> Self {
        let heap = HeapOptions {
            capacity_bytes: options.scale.device_bytes,
            ..Default::default()
        };
        Self {
            options,
            sites,
            recorder: Recorder::new(heap, sink, 0),
            rng: Rng::new(options.seed),
            annotations: Vec::new(),
            parameters: Vec::new(),
            first_parameter: Vec::new(),
            pending: Vec::new(),
            scattered: VecDeque::new(),
            hidden_bytes: 0,
            tokens: 0,
            is_over: false,
        }
    }

    pub(super) fn finish(self) -> (Recorder<S>, Vec<Annotation>) {
        (self.recorder, self.annotations)
    }

    /// Trains until all events are recorded or the device is full.
    pub(super) fn train(&mut self) {
        self.build();
        let mut step = 0;
        while !self.is_over {
            self.annotate(true, format!("train_step {step}"));
            self.step(step);
            if self.is_over {
                break;
            }
            self.annotate(false, format!("train_step {step}"));
            step += 1;
        }
    }

    fn annotate(&mut self, is_start: bool, name: impl Into<Text>) {
        let time_us = self.recorder.clock_us;
        self.annotations.push(Annotation {
            is_start,
            name: name.into(),
            device: 0,
            time_us,
        });
    }

    /// Allocates unless the run is over. Running out of memory ends the run.
    fn alloc(&mut self, bytes: u64, stack: u32) -> Option<Allocation> {
        if self.is_over || self.recorder.entries >= self.options.events {
            self.is_over = true;
            return None;
        }
        self.recorder.clock_us += self.rng.between(3, 60) as i64;
        self.poll_pending();
        let allocation = self.recorder.alloc(Request::new(bytes.max(4), stack));
        self.is_over |= allocation.is_err();
        allocation.ok()
    }

    fn free(&mut self, allocation: Allocation, stack: u32) {
        if self.is_over || self.recorder.entries >= self.options.events {
            self.is_over = true;
            return;
        }
        self.recorder.clock_us += self.rng.between(1, 12) as i64;
        let stack = self.options.own_free_stacks.then_some(stack);
        self.recorder.free_from(allocation, stack);
    }

    fn free_all(&mut self, allocations: impl IntoIterator<Item = Allocation>, stack: u32) {
        for allocation in allocations {
            self.free(allocation, stack);
        }
    }

    /// Completes the pending frees whose streams are done, as a malloc does.
    fn poll_pending(&mut self) {
        if self.pending.len() > 3 {
            let done = self.pending.remove(0);
            self.recorder.complete_free(done, None);
        }
    }

    fn build(&mut self) {
        let width = self.options.scale.width;
        for stage in self.stage_of_blocks() {
            self.first_parameter.push(self.parameters.len());
            for (index, spec) in BLOCK.iter().enumerate() {
                for (i, weight) in spec.weights.iter().enumerate() {
                    let sites = self.sites.stages[stage][index].weights[i];
                    let elements = match *weight {
                        Weight::Matrix(n) => n * width * width,
                        Weight::Vector(n) => n * width,
                    };
                    self.alloc(elements * ELEMENT_BYTES, sites.init);
                    self.parameters.push(Parameter {
                        elements,
                        sites,
                        grad: None,
                    });
                }
            }
        }
        let table = self.options.scale.vocabulary * self.options.scale.width * ELEMENT_BYTES;
        self.alloc(table, self.sites.embedding);
    }

    fn step(&mut self, step: usize) {
        // Sequences differ in length, so addresses and peaks differ from step to step.
        let eighth = self.options.scale.tokens / 8;
        self.tokens = eighth * self.rng.between(5, 8);
        self.hidden_bytes = self.tokens * self.options.scale.width * ELEMENT_BYTES;
        let batch = self.alloc(self.tokens * 8, self.sites.batch);
        let targets = self.alloc(self.tokens * 8, self.sites.batch);
        let embedded = self.alloc(self.hidden_bytes, self.sites.embedding);
        let blocks: Vec<(usize, Saved)> = self
            .stage_of_blocks()
            .into_iter()
            .map(|stage| (stage, self.forward(stage)))
            .collect();
        let mut grad = self.loss();
        self.do_by_habit();
        for (number, (stage, saved)) in blocks.into_iter().enumerate().rev() {
            grad = self.backward(number, stage, saved, grad);
            if number % 4 == 0 {
                self.reduce();
            }
        }
        let inputs = [grad, embedded, targets, batch];
        self.free_all(inputs.into_iter().flatten(), self.sites.free_script);
        self.annotate(true, "Optimizer.step#AdamW.step");
        self.optimize(step);
        self.annotate(false, "Optimizer.step#AdamW.step");
    }

    fn do_by_habit(&mut self) {
        match self.options.habit {
            Habit::Nothing => {}
            Habit::Leaks => {
                self.alloc(self.hidden_bytes, self.sites.loss);
            }
            Habit::Fragments => self.scatter(),
        }
    }

    fn scatter(&mut self) {
        let (mut kept, mut large) = (Vec::new(), Vec::new());
        for _ in 0..24 {
            let bytes = self.hidden_bytes * self.rng.between(2, 4);
            large.extend(self.alloc(bytes, self.sites.batch));
            kept.extend(self.alloc(2 << 20, self.sites.batch));
        }
        self.free_all(large, self.sites.free_script);
        self.scattered.push_back(kept);
        if self.scattered.len() > 2 {
            let old = self.scattered.pop_front().unwrap_or_default();
            self.free_all(old, self.sites.free_script);
        }
    }

    fn stage_of_blocks(&self) -> Vec<usize> {
        let towers = self.options.scale.layers.iter().enumerate();
        let stage =
            |tower, block, count| tower * STAGES_PER_TOWER + block * STAGES_PER_TOWER / count;
        towers
            .flat_map(|(t, &n)| (0..n).map(move |block| stage(t, block, n)))
            .collect()
    }

    /// Runs one block forward. Saved outputs stay; others are freed once the next operator has run.
    fn forward(&mut self, stage: usize) -> Saved {
        let mut passing: Vec<Allocation> = Vec::new();
        let mut saved = Vec::with_capacity(BLOCK.len());
        for (index, spec) in BLOCK.iter().enumerate() {
            let used = std::mem::take(&mut passing);
            let mut kept = Vec::new();
            for (i, output) in spec.outputs.iter().enumerate() {
                let bytes = match output.sixteenths {
                    // Statistics and random state: a few bytes per token, or a few bytes.
                    0 if i == 1 => self.tokens * 4,
                    0 => 16,
                    n => self.hidden_bytes * n / 16,
                };
                let stack = self.sites.stages[stage][index].forward[i];
                let made = self.alloc(bytes, stack);
                if output.is_saved {
                    kept.extend(made)
                } else {
                    passing.extend(made)
                }
            }
            self.free_all(used, self.sites.stages[stage][index].free);
            saved.push(kept);
        }
        self.free_all(passing, self.sites.stages[stage][BLOCK.len() - 1].free);
        saved
    }

    /// Allocates logits, their float copy and the loss: the peak of a step. Returns the first gradient.
    fn loss(&mut self) -> Option<Allocation> {
        let bytes = self.tokens * self.options.scale.vocabulary * ELEMENT_BYTES;
        let logits = self.alloc(bytes, self.sites.logits);
        let float = self.alloc(bytes * 2, self.sites.logits_float);
        let softmax = self.alloc(bytes * 2, self.sites.loss);
        let loss = self.alloc(4, self.sites.loss);
        self.free_all(float, self.sites.free_script);
        let wide = self.alloc(bytes * 2, self.sites.loss_backward);
        self.free_all(softmax, self.sites.free_engine);
        let narrow = self.alloc(bytes, self.sites.loss_backward);
        self.free_all(wide, self.sites.free_engine);
        let grad = self.alloc(self.hidden_bytes, self.sites.loss_backward);
        self.free_all(
            [narrow, logits, loss].into_iter().flatten(),
            self.sites.free_engine,
        );
        grad
    }

    /// Runs one block backward, its operators in reverse.
    fn backward(
        &mut self,
        number: usize,
        stage: usize,
        mut saved: Saved,
        mut grad: Option<Allocation>,
    ) -> Option<Allocation> {
        let sites = self.sites;
        let following = self.first_parameter.get(number + 1).copied();
        let mut next = following.unwrap_or(self.parameters.len());
        for (index, spec) in BLOCK.iter().enumerate().rev() {
            let site = &sites.stages[stage][index];
            let scratch = match spec.scratch {
                0 => None,
                n => self.alloc(self.hidden_bytes * n / 16, site.scratch),
            };
            let input_grad = self.alloc(self.hidden_bytes * spec.input_grad / 16, site.backward);
            next -= spec.weights.len();
            for i in 0..spec.weights.len() {
                let (elements, weight) = (
                    self.parameters[next + i].elements,
                    self.parameters[next + i].sites,
                );
                let made = self.alloc(elements * ELEMENT_BYTES, weight.grad);
                self.parameters[next + i].grad = made;
            }
            self.free_all(scratch, sites.free_engine);
            self.free_all(saved.pop().unwrap_or_default(), sites.free_engine);
            self.free_all(grad, sites.free_engine);
            grad = input_grad;
        }
        grad
    }

    /// Sends a bucket of gradients to the other devices; its free waits for that stream.
    fn reduce(&mut self) {
        let bytes = 25 << 20;
        if let Some(mut bucket) = self.alloc(bytes, self.sites.bucket)
            && self.recorder.entries < self.options.events
        {
            // The block belongs to the stream that allocated it, but its free waits for another one.
            debug_assert_ne!(bucket.stream, COMMUNICATION_STREAM);
            bucket.bytes = bytes;
            self.recorder.request_free(bucket);
            self.pending.push(bucket);
        }
    }

    fn optimize(&mut self, step: usize) {
        let norms: Vec<_> = (0..self.parameters.len().min(64))
            .map_while(|_| self.alloc(4, self.sites.norm_clip))
            .collect();
        self.free_all(norms, self.sites.free_script);
        for chunk in (0..self.parameters.len()).step_by(FOREACH) {
            let end = (chunk + FOREACH).min(self.parameters.len());
            let mut temporary = Vec::new();
            for index in chunk..end {
                let (elements, sites) = (
                    self.parameters[index].elements,
                    self.parameters[index].sites,
                );
                if step == 0 {
                    self.alloc(elements * STATE_BYTES, sites.exp_avg);
                    self.alloc(elements * STATE_BYTES, sites.exp_avg_sq);
                }
                temporary.extend(self.alloc(elements * STATE_BYTES, sites.update));
            }
            self.free_all(temporary, self.sites.free_script);
        }
        for index in 0..self.parameters.len() {
            let grad = self.parameters[index].grad.take();
            self.free_all(grad, self.sites.free_script);
        }
    }
}
