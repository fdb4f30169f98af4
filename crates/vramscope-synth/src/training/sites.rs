//! The call sites of the training script: one stack per line that allocates.

use crate::stacks::{CALL, Depth, Line, StackBook};

/// An operator of a transformer block.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpSpec {
    /// The operator's name in the dispatcher.
    op: &'static str,
    /// Its node in the backward graph.
    node: &'static str,
    /// The module whose `forward` calls it, innermost Python frame.
    module: Line,
    /// Line in the block's `forward`.
    line: u32,
    /// Its outputs, in the order in which it allocates them.
    pub(super) outputs: &'static [Output],
    /// The gradient of its input, in sixteenths of the hidden state.
    pub(super) input_grad: u64,
    /// Elements of its parameters in units of D²/16; 0 for none.
    pub(super) weights: &'static [Weight],
    /// Scratch memory of its backward, in sixteenths of the hidden state.
    pub(super) scratch: u64,
}

/// An output of an operator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Output {
    /// Size in sixteenths of the hidden state; 0 for statistics and random state of a few bytes.
    pub(super) sixteenths: u64,
    /// Whether the backward needs it.
    pub(super) is_saved: bool,
}

/// A parameter.
#[derive(Clone, Copy, Debug)]
pub(super) enum Weight {
    /// A matrix of so many D².
    Matrix(u64),
    /// A vector of so many D.
    Vector(u64),
}

use Weight::{Matrix, Vector};

const fn saved(sixteenths: u64) -> Output {
    Output {
        sixteenths,
        is_saved: true,
    }
}

const fn passing(sixteenths: u64) -> Output {
    Output {
        sixteenths,
        is_saved: false,
    }
}

const NORM: Line = ("forward", "torch/nn/modules/normalization.py", 229);
const LINEAR: Line = ("forward", "torch/nn/modules/linear.py", 134);
const DROPOUT: Line = ("forward", "torch/nn/modules/dropout.py", 73);
const GELU: Line = ("forward", "torch/nn/modules/activation.py", 745);
const ATTEND: Line = ("scaled_dot_product", "model/attention.py", 57);
const ROTARY: Line = ("apply_rotary", "model/rotary.py", 31);

/// One transformer block, in order.
pub(super) const BLOCK: [OpSpec; 18] = [
    op(
        "native_layer_norm",
        "NativeLayerNormBackward0",
        NORM,
        41,
        &[saved(16), saved(0), saved(0)],
        16,
        &[Vector(1), Vector(1)],
        1,
    ),
    op(
        "addmm",
        "AddmmBackward0",
        LINEAR,
        43,
        &[passing(48)],
        16,
        &[Matrix(3), Vector(3)],
        48,
    ),
    op(
        "transpose_copy",
        "TransposeBackward0",
        ATTEND,
        44,
        &[saved(16)],
        48,
        &[],
        0,
    ),
    op(
        "mul",
        "MulBackward0",
        ROTARY,
        45,
        &[passing(16), passing(8)],
        16,
        &[],
        8,
    ),
    op("cat", "CatBackward0", ROTARY, 46, &[saved(16)], 16, &[], 0),
    op(
        "slice_copy",
        "SliceBackward0",
        ROTARY,
        47,
        &[saved(16)],
        48,
        &[],
        16,
    ),
    op(
        "_scaled_dot_product_flash_attention",
        "ScaledDotProductFlashAttentionBackward0",
        ATTEND,
        48,
        &[saved(16), saved(1), saved(0), saved(0)],
        48,
        &[],
        17,
    ),
    op(
        "addmm_out",
        "AddmmBackward0",
        LINEAR,
        49,
        &[passing(16)],
        16,
        &[Matrix(1), Vector(1)],
        16,
    ),
    op(
        "native_dropout",
        "NativeDropoutBackward0",
        DROPOUT,
        50,
        &[passing(16), saved(8)],
        16,
        &[],
        0,
    ),
    op("add", "AddBackward0", NORM, 52, &[saved(16)], 16, &[], 0),
    op(
        "layer_norm",
        "LayerNormBackward0",
        NORM,
        54,
        &[saved(16), saved(0), saved(0)],
        16,
        &[Vector(1), Vector(1)],
        1,
    ),
    op(
        "linear",
        "LinearBackward0",
        LINEAR,
        55,
        &[saved(64)],
        16,
        &[Matrix(4), Vector(4)],
        64,
    ),
    op("gelu", "GeluBackward0", GELU, 56, &[saved(64)], 64, &[], 0),
    op(
        "mm",
        "MmBackward0",
        LINEAR,
        57,
        &[passing(16)],
        64,
        &[Matrix(4), Vector(1)],
        16,
    ),
    op(
        "bernoulli_",
        "BernoulliBackward0",
        DROPOUT,
        58,
        &[saved(8), passing(16)],
        16,
        &[],
        0,
    ),
    op(
        "mul_scalar",
        "MulBackward1",
        DROPOUT,
        59,
        &[passing(16)],
        16,
        &[],
        0,
    ),
    op(
        "clone",
        "CloneBackward0",
        GELU,
        60,
        &[passing(16)],
        16,
        &[],
        4,
    ),
    op(
        "add_residual",
        "AddBackward1",
        NORM,
        61,
        &[saved(16)],
        16,
        &[],
        0,
    ),
];

#[expect(clippy::too_many_arguments, reason = "a row of the table above")]
const fn op(
    op: &'static str,
    node: &'static str,
    module: Line,
    line: u32,
    outputs: &'static [Output],
    input_grad: u64,
    weights: &'static [Weight],
    scratch: u64,
) -> OpSpec {
    OpSpec {
        op,
        node,
        module,
        line,
        outputs,
        input_grad,
        weights,
        scratch,
    }
}

/// The stages of the model's two towers: the tower's file, its block's file, and the line that
/// calls a block. Stages have lines of their own, so that there are hundreds of call sites.
pub(super) const STAGES: [(&str, &str, u32); 8] = [
    ("model/vision.py", "model/vision_block.py", 96),
    ("model/vision.py", "model/vision_block.py", 103),
    ("model/vision.py", "model/window_block.py", 110),
    ("model/vision.py", "model/window_block.py", 117),
    ("model/decoder.py", "model/block.py", 131),
    ("model/decoder.py", "model/block.py", 139),
    ("model/decoder.py", "model/cross_block.py", 147),
    ("model/decoder.py", "model/cross_block.py", 155),
];
/// Stages of one tower.
pub(super) const STAGES_PER_TOWER: usize = STAGES.len() / 2;

const TRAIN_STEP: Line = ("train_step", "train.py", 88);
const MAIN: [Line; 2] = [("main", "train.py", 141), ("<module>", "train.py", 167)];

/// The stacks of one operator in one stage.
#[derive(Clone, Debug)]
pub(super) struct OpSites {
    /// One per output.
    pub(super) forward: Vec<u32>,
    /// Where the block drops what it no longer needs, if frees have stacks of their own.
    pub(super) free: u32,
    /// The gradient of the input.
    pub(super) backward: u32,
    /// Scratch memory of the backward.
    pub(super) scratch: u32,
    /// One per parameter: making it, its gradient, its two optimizer states, its update.
    pub(super) weights: Vec<WeightSites>,
}

/// The stacks of one parameter.
#[derive(Clone, Copy, Debug)]
pub(super) struct WeightSites {
    pub(super) init: u32,
    pub(super) grad: u32,
    pub(super) exp_avg: u32,
    pub(super) exp_avg_sq: u32,
    pub(super) update: u32,
}

/// Every stack of the script.
#[derive(Clone, Debug)]
pub(super) struct Sites {
    /// By stage, by operator.
    pub(super) stages: Vec<Vec<OpSites>>,
    pub(super) batch: u32,
    pub(super) embedding: u32,
    pub(super) logits: u32,
    pub(super) logits_float: u32,
    pub(super) loss: u32,
    pub(super) loss_backward: u32,
    pub(super) norm_clip: u32,
    pub(super) bucket: u32,
    /// Frees by the script and by the autograd engine, if frees have stacks of their own.
    pub(super) free_script: u32,
    pub(super) free_engine: u32,
}

impl Sites {
    pub(super) fn new(book: &mut StackBook, depth: Depth) -> Self {
        let stages = STAGES.map(|stage| {
            BLOCK
                .iter()
                .map(|op| op_sites(book, depth, op, stage))
                .collect()
        });
        let mut at = |op: &str, path: &[Line]| {
            let mut lines = path.to_vec();
            lines.push(TRAIN_STEP);
            lines.extend(MAIN);
            book.forward(depth, op, &lines)
        };
        let loss = ("cross_entropy", "torch/nn/functional.py", 3494);
        let head = ("forward", "model/decoder.py", 138);
        let clip = ("clip_grad_norm_", "torch/nn/utils/clip_grad.py", 218);
        let batch = at("_to_copy", &[("next_batch", "data.py", 63)]);
        let embedding = at(
            "embedding",
            &[("forward", "torch/nn/modules/sparse.py", 192), head],
        );
        let logits = at("matmul", &[LINEAR, CALL[0], CALL[1], head]);
        let logits_float = at("to", &[("forward", "model/decoder.py", 140)]);
        let loss_site = at("log_softmax", &[loss, ("compute_loss", "train.py", 71)]);
        let norm_clip = at(
            "_foreach_norm",
            &[("_get_total_norm", "torch/nn/utils/clip_grad.py", 96), clip],
        );
        let bucket = at(
            "_foreach_copy_",
            &[("reduce_gradients", "distributed.py", 112)],
        );
        let path = backward_path();
        let loss_backward = book.backward(
            depth,
            "LogSoftmaxBackward0",
            "_log_softmax_backward_data",
            &path,
        );
        let free_engine = book.free(depth, &[]);
        let free_script = book.free(depth, &[TRAIN_STEP, MAIN[0], MAIN[1]]);
        Self {
            stages: stages.into(),
            batch,
            embedding,
            logits,
            logits_float,
            loss: loss_site,
            loss_backward,
            norm_clip,
            bucket,
            free_script,
            free_engine,
        }
    }
}

fn op_sites(
    book: &mut StackBook,
    depth: Depth,
    op: &OpSpec,
    (tower, block, line): (&'static str, &'static str, u32),
) -> OpSites {
    let (call, wrapped) = (CALL[0], CALL[1]);
    let mut path = vec![
        op.module,
        call,
        wrapped,
        ("forward", block, op.line),
        call,
        wrapped,
    ];
    path.push(("forward", tower, line));
    path.extend([
        call,
        wrapped,
        ("forward", "model/multimodal.py", 77),
        call,
        wrapped,
    ]);
    path.push(TRAIN_STEP);
    path.extend(MAIN);
    let mut forward = Vec::new();
    for (i, _) in op.outputs.iter().enumerate() {
        // Each output has a line of its own.
        let (name, file, line) = op.module;
        path[0] = (name, file, line + i as u32);
        forward.push(book.forward(depth, op.op, &path));
    }
    // The module has returned; its block still runs.
    let free = book.free(depth, &path[3..]);
    let origin = backward_path();
    let backward = book.backward(depth, op.node, op.op, &origin);
    let scratch = book.backward(depth, op.node, "empty_strided", &origin);
    let weights = op.weights.iter().enumerate();
    let weights = weights
        .map(|(i, _)| weight_sites(book, depth, op, block, i as u32))
        .collect();
    OpSites {
        forward,
        free,
        backward,
        scratch,
        weights,
    }
}

fn weight_sites(
    book: &mut StackBook,
    depth: Depth,
    op: &OpSpec,
    block: &'static str,
    number: u32,
) -> WeightSites {
    let made = ("__init__", block, 10 + 2 * (op.line - 40) + number);
    let convert = ("convert", "torch/nn/modules/module.py", 1355);
    let apply = ("_apply", "torch/nn/modules/module.py", 942);
    let build = ("build_model", "train.py", 38);
    let init = book.forward(
        depth,
        "_to_copy",
        &[convert, apply, apply, made, build, MAIN[0], MAIN[1]],
    );
    let step = [
        ("step", "torch/optim/adamw.py", 243),
        ("_use_grad", "torch/optim/optimizer.py", 79),
        ("wrapper", "torch/optim/optimizer.py", 516),
        ("train_step", "train.py", 97),
        MAIN[0],
        MAIN[1],
    ];
    let mut state = |name: &'static str, op_name: &str, line: u32| {
        let mut path = vec![(name, "torch/optim/adamw.py", line)];
        path.extend(step);
        book.forward(depth, op_name, &path)
    };
    let exp_avg = state("_init_group", "zeros_like", 172 + number);
    let exp_avg_sq = state("_init_group", "zeros_like", 176 + number);
    let update = state("_multi_tensor_adamw", "_foreach_sqrt", 590 + number);
    let origin = backward_path();
    let grad = book.backward(depth, op.node, "new_empty_strided", &origin);
    WeightSites {
        init,
        grad,
        exp_avg,
        exp_avg_sq,
        update,
    }
}

/// The line that calls the autograd engine: the only Python frame of a backward.
fn backward_path() -> [Line; 5] {
    let run = ("_engine_run_backward", "torch/autograd/graph.py", 824);
    [
        run,
        ("backward", "torch/_tensor.py", 648),
        TRAIN_STEP,
        MAIN[0],
        MAIN[1],
    ]
}
