//! A training run with everything that a user can add to a recording: step annotations, user
//! metadata, `annotate` events, forward frames, compile contexts and fx frames.

use crate::allocator::HeapOptions;
use crate::recorder::{Allocation, Recorder, Request};
use crate::rng::Rng;
use crate::snapshot::{Annotation, Frame, FxFrame, Snapshot, Text, TraceEntry};
use crate::stacks::{CALL, Depth, Line, StackBook};

use super::of_one;

const BOTTOM: [Line; 3] = [
    ("train_step", "train.py", 61),
    ("main", "train.py", 90),
    ("<module>", "train.py", 99),
];

/// Eight annotated steps of a compiled model.
#[must_use]
pub fn annotated(seed: u64) -> Snapshot {
    let mut book = StackBook::new();
    let sites = Sites::new(&mut book);
    let mut rng = Rng::new(seed);
    let mut recorder = Recorder::new(HeapOptions::default(), Vec::new(), 0);
    let mut annotations = Vec::new();
    for (i, bytes) in [8 << 20, 24 << 20, 6 << 20, 2 << 20]
        .into_iter()
        .enumerate()
    {
        let names = [
            "embedding.weight",
            "qkv.weight",
            "proj.weight",
            "norm.weight",
        ];
        recorder.user_metadata = Text::Borrowed("{\"phase\":\"init\"}");
        if let Ok(weight) = recorder.alloc(Request::new(bytes, sites.weight)) {
            recorder.annotate(weight, names[i]);
        }
    }
    for step in 0..8 {
        mark(
            &mut annotations,
            &mut recorder,
            true,
            format!("ProfilerStep#{step}"),
        );
        one_step(&mut recorder, &mut annotations, &mut rng, &sites, step);
        mark(
            &mut annotations,
            &mut recorder,
            false,
            format!("ProfilerStep#{step}"),
        );
    }
    // The ring buffer of annotations has lost the beginning of the first step.
    annotations.remove(0);
    Snapshot {
        external_annotations: annotations,
        ..of_one(recorder, book)
    }
}

struct Sites {
    weight: u32,
    compiled: u32,
    eager: u32,
    backward: u32,
}

impl Sites {
    fn new(book: &mut StackBook) -> Self {
        let path = |first: Line| {
            let mut path = vec![first, CALL[0], CALL[1], ("forward", "model.py", 44)];
            path.extend(BOTTOM);
            path
        };
        let weight = book.forward(
            Depth::Python,
            "empty",
            &[("__init__", "model.py", 18), BOTTOM[2]],
        );
        let eager = book.forward(Depth::Python, "mul", &path(("scale", "model.py", 37)));
        let backward = book.backward(Depth::Python, "MulBackward0", "mul", &BOTTOM);
        let generated = book.intern(Frame {
            fx: Some(FxFrame {
                node_op: "call_function".into(),
                node_name: "softmax_1".into(),
                node_target: "torch.nn.functional.softmax".into(),
                original_trace: "  File \"model.py\", line 40, in forward\n    p = softmax(s)\n"
                    .into(),
            }),
            ..Frame::new("forward", "<eval_with_key>.12", 9)
        });
        let mut frames = vec![generated];
        frames.extend(
            path(CALL[0])
                .iter()
                .map(|&(name, file, line)| book.frame(name, file, line)),
        );
        let compiled = book.table.add_stack(frames);
        Self {
            weight,
            compiled,
            eager,
            backward,
        }
    }
}

fn one_step(
    recorder: &mut Recorder<Vec<TraceEntry>>,
    annotations: &mut Vec<Annotation>,
    rng: &mut Rng,
    sites: &Sites,
    step: u32,
) {
    mark(annotations, recorder, true, "forward".to_owned());
    recorder.user_metadata = format!("{{\"phase\":\"forward\",\"step\":{step}}}").into();
    let mut saved: Vec<Allocation> = Vec::new();
    for layer in 0..12 {
        let is_compiled = layer % 3 == 0;
        let (context, stack) = match is_compiled {
            true => (Text::Borrowed("Torch-Compiled Region: 0/0"), sites.compiled),
            false => (Text::Borrowed("N/A"), sites.eager),
        };
        recorder.compile_context = context;
        recorder.clock_us += rng.between(50, 400) as i64;
        saved.extend(recorder.alloc(Request::new(rng.between(1 << 18, 6 << 20), stack)));
        if let Some(&last) = saved.last()
            && layer == 5
        {
            recorder.annotate(last, "attention scores, step by step");
        }
    }
    recorder.compile_context = Text::Borrowed("N/A");
    mark(annotations, recorder, false, "forward".to_owned());
    mark(annotations, recorder, true, "backward".to_owned());
    recorder.user_metadata = Text::Borrowed("{\"phase\":\"backward\"}");
    while let Some(activation) = saved.pop() {
        recorder.clock_us += rng.between(80, 500) as i64;
        let grad = recorder.alloc(Request::new(activation.bytes, sites.backward));
        // Anomaly mode keeps the forward stack, as text.
        if let Some(entry) = recorder.sink.last_mut() {
            entry.forward_frames = vec![
                "  File \"train.py\", line 61, in train_step\n".into(),
                "  File \"model.py\", line 37, in scale\n".into(),
            ];
            entry.internal_metadata = Text::Borrowed("mallocWithAddress");
        }
        recorder.free(activation);
        grad.into_iter().for_each(|grad| recorder.free(grad));
    }
    recorder.user_metadata = Text::Borrowed("");
    mark(annotations, recorder, false, "backward".to_owned());
    mark(
        annotations,
        recorder,
        true,
        "Optimizer.step#AdamW.step".to_owned(),
    );
    recorder.clock_us += 900;
    mark(
        annotations,
        recorder,
        false,
        "Optimizer.step#AdamW.step".to_owned(),
    );
}

fn mark(
    annotations: &mut Vec<Annotation>,
    recorder: &mut Recorder<Vec<TraceEntry>>,
    is_start: bool,
    name: String,
) {
    recorder.clock_us += 2;
    let time_us = recorder.clock_us;
    annotations.push(Annotation {
        is_start,
        name: name.into(),
        device: 0,
        time_us,
    });
}
