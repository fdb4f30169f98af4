//! Real torch, its allocator and its recorder.

use std::env;
use std::fs::File;

use tempfile::tempdir;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::open::decode;

use super::*;

/// The Python with torch; `None`, with a message, if there is none.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn python() -> Option<String> {
    let Ok(python) = env::var("VRAMSCOPE_TORCH_PYTHON") else {
        eprintln!("skipped: VRAMSCOPE_TORCH_PYTHON names no Python with torch's build for CUDA");
        return None;
    };
    Some(python)
}

/// A recording of a program on a card, and its exit code.
fn recorded(program: &str, options: &Options) -> Option<(Recording, Option<i32>)> {
    let python = python()?;
    let folder = tempdir().unwrap();
    let run = run_python(&python, program, options, folder.path());
    let [snapshot] = &run.snapshots[..] else {
        panic!("{} snapshots", run.snapshots.len());
    };
    let snapshot = decode(File::open(snapshot).unwrap()).unwrap();
    Some((Recording::of(snapshot), run.status.code()))
}

/// Active and reserved bytes at the peaks.
fn peaks(recording: &Recording) -> [u64; 2] {
    let device = recording.devices().next().unwrap();
    let history = device.history;
    [
        history.active_bytes_at(history.peak_moment),
        history.most_reserved_bytes(),
    ]
}

const STEPS: &str = "
import torch, torch.nn as nn
model = nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(3):
    loss = model(torch.randn(64, 1024, device='cuda')).square().mean()
    loss.backward(); optimizer.step(); optimizer.zero_grad()
    assert loss.item() == 0
";

#[test]
fn a_training_is_recorded_and_marked() {
    let Some((recording, code)) = recorded(STEPS, &on("a100-80gb")) else {
        return;
    };
    assert_eq!(code, Some(0));
    let snapshot = &recording.snapshot;
    assert_eq!(
        snapshot.extras["dry_run"]["note"],
        "dry run: nothing was computed"
    );
    assert_eq!(snapshot.extras["dry_run"]["read_back"][0], 3);
    assert_eq!(
        snapshot.extras["dry_run"]["invented"],
        serde_json::json!([0, 0, 0, 0])
    );
    // Four times 8,393,728 parameters of four bytes, cuBLAS's workspaces, and temporaries.
    let [active, reserved] = peaks(&recording);
    assert!(
        (4 * 33_574_912..4 * 33_574_912 + (64 << 20)).contains(&active),
        "{active}"
    );
    assert!(
        (active..active + (64 << 20)).contains(&reserved),
        "{reserved}"
    );
}

#[test]
fn a_request_that_fails_is_torchs_own_failure() {
    let program = "
import torch
kept = [torch.empty(1 << 30, dtype=torch.uint8, device='cuda') for _ in range(80)]
";
    let Some((recording, code)) = recorded(program, &on("h100")) else {
        return;
    };
    assert_eq!(code, Some(1));
    assert_eq!(
        recording.devices().next().unwrap().failed_requests().len(),
        1
    );
    assert_eq!(peaks(&recording)[0], 78 << 30);
}

#[test]
fn a_terminated_program_leaves_its_recording() {
    let program = format!(
        "{STEPS}\nimport os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)"
    );
    let Some((recording, code)) = recorded(&program, &on("t4")) else {
        return;
    };
    assert_eq!(code, None);
    assert_eq!(recording.snapshot.extras["dry_run"]["taken_at"], "sigterm");
}

#[test]
fn a_programs_own_recording_is_as_on_a_card() {
    let program = format!(
        "
import torch, pickle
big = torch.empty(1 << 30, device='cuda', dtype=torch.uint8); del big
torch.cuda.memory._record_memory_history()
{STEPS}
torch.cuda.memory._dump_snapshot('own.pickle')
trace = pickle.load(open('own.pickle', 'rb'))['device_traces'][0]
import os; os.remove('own.pickle')
assert trace and all(event['size'] < 1 << 30 for event in trace)
torch.cuda.memory._record_memory_history(enabled=None)
"
    );
    let Some((recording, code)) = recorded(&program, &on("t4")) else {
        return;
    };
    assert_eq!(code, Some(0));
    // The highest peak was before the program's own recording.
    assert_eq!(peaks(&recording)[0], 1 << 30);
}

#[test]
fn one_process_is_any_rank_of_many() {
    let program = "
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group('nccl')
assert (dist.get_rank(), dist.get_world_size()) == (5, 8)
model = DistributedDataParallel(nn.Linear(1024, 1024).cuda(), device_ids=[0])
model(torch.randn(64, 1024, device='cuda')).sum().backward()
dist.barrier()
dist.destroy_process_group()
";
    let options = Options {
        rank: Some((5, 8)),
        ..on("h100")
    };
    let Some((recording, code)) = recorded(program, &options) else {
        return;
    };
    assert_eq!(code, Some(0));
    let mark = &recording.snapshot.extras["dry_run"];
    assert_eq!(mark["rank"], "5");
    // Communicators.
    assert!(mark["invented"][3].as_u64() > Some(0), "{mark}");
}

/// Put before programs that need a package: without it they end successfully, and are not tested.
const WITH_TRANSFORMERS: &str = "
import importlib.util, json, os, sys, tempfile
import torch
torch.zeros(1, device='cuda')
if not importlib.util.find_spec('transformers'): sys.exit(7)
from transformers import AutoModelForCausalLM, LlamaConfig
folder = tempfile.mkdtemp()
config = LlamaConfig(hidden_size=64, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, vocab_size=512, dtype='bfloat16')
config.save_pretrained(folder)
";

/// Whether a program that loads a model succeeded; `true` if its packages are missing.
fn loads(program: &str) -> bool {
    let program = format!("{WITH_TRANSFORMERS}{program}");
    let ended = recorded(&program, &on("h100"));
    ended.is_none_or(|(_, code)| [Some(0), Some(7)].contains(&code))
}

#[test]
fn a_model_is_loaded_without_its_weights() {
    assert!(loads(
        "
with open(folder + '/model.safetensors.index.json', 'w') as index:
    json.dump({'weight_map': {'lm_head.weight': 'model-00001-of-00001.safetensors'}}, index)
import vramscope_weights
vramscope_weights.SHARD_BYTES = 100_000
made = []
write, vramscope_weights.write = vramscope_weights.write, lambda file, text: (made.append(file), write(file, text))
before = torch.cuda.memory_allocated()
model = AutoModelForCausalLM.from_pretrained(folder, device_map='cuda')
assert model.dtype == torch.bfloat16
parameters = sum(it.numel() for it in model.parameters())
assert parameters * 2 <= torch.cuda.memory_allocated() - before < parameters * 2 + 30000, torch.cuda.memory_allocated() - before
assert not any(name.endswith('.safetensors') for name in os.listdir(folder))
# No file is longer than it need be, as a system maps none that is longer than its memory.
assert len(made) == 4 and all(os.path.getsize(file) < 110_000 for file in made), made
"
    ));
}

#[test]
fn headers_of_weights_are_enough() {
    assert!(loads(
        "
AutoModelForCausalLM.from_config(config).to(torch.float16).save_pretrained(folder)
weights = folder + '/model.safetensors'
length = int.from_bytes(open(weights, 'rb').read(8), 'little')
os.truncate(weights, 8 + length + 100)
model = AutoModelForCausalLM.from_pretrained(folder, dtype='auto')
assert model.dtype == torch.float16 and not model.lm_head.weight.any()
assert os.path.getsize(weights) == 8 + length + 100
"
    ));
}

#[test]
fn texts_are_generated_to_their_greatest_length() {
    assert!(loads(
        "
model = AutoModelForCausalLM.from_pretrained(folder).cuda()
for _ in range(2):
    made = model.generate(torch.ones(2, 5, dtype=torch.long, device='cuda'), max_new_tokens=7, do_sample=False)
    assert made.shape == (2, 12), made.shape
"
    ));
}

#[test]
fn weights_that_nobody_has_are_not_downloaded() {
    assert!(loads(
        "
from transformers import LlamaForCausalLM
try:
    LlamaForCausalLM.from_pretrained('nobody/nothing')
    sys.exit(1)
except OSError as error:
    assert 'hf download nobody/nothing config.json' in str(error), error
"
    ));
}

#[test]
fn recurrent_layers_have_their_weights_in_one_buffer() {
    let program = "
import torch, torch.nn as nn
for kind, more in ((nn.LSTM, {'proj_size': 96}), (nn.LSTM, {'bidirectional': True}), (nn.GRU, {'dropout': 0.1}), (nn.RNN, {'bias': False})):
    model = kind(64, 128, 2, **more).cuda()
    bytes = sum(it.numel() * 4 for it in model.parameters())
    assert model.weight_ih_l0.untyped_storage().nbytes() >= bytes, kind
    starts = {it.untyped_storage().data_ptr() for it in model.parameters()}
    assert len(starts) == 1, kind
    model(torch.randn(5, 3, 64, device='cuda'))[0].sum().backward()
    assert all(it.grad.shape == it.shape for it in model.parameters()), kind
";
    let ended = recorded(program, &on("a100"));
    assert!(ended.is_none_or(|(_, code)| code == Some(0)));
}

#[test]
fn what_other_libraries_compute_is_allocated() {
    let program = "
import torch, torch.nn.functional as F
matrix, right = torch.randn(2, 64, 64, device='cuda'), torch.randn(64, 4, device='cuda')
for function in (torch.linalg.cholesky, torch.linalg.qr, torch.linalg.svd, torch.linalg.eigh, torch.linalg.inv, torch.linalg.det):
    function(matrix); function(matrix[0])
assert torch.linalg.solve(matrix[0], right).shape == right.shape
rows = torch.arange(65, device='cuda')
assert (torch.sparse_csr_tensor(rows, rows[:64], torch.ones(64, device='cuda'), (64, 64)) @ right).shape == right.shape
image, grid = torch.randn(1, 3, 8, 8, device='cuda', requires_grad=True), torch.zeros(1, 8, 8, 2, device='cuda')
F.grid_sample(image, grid, align_corners=True).sum().backward()
torch.fft.rfft2(image)
";
    let ended = recorded(program, &on("a100"));
    assert!(ended.is_none_or(|(_, code)| code == Some(0)));
}

#[test]
fn convolutions_are_trained_in_half_precision_whatever_is_read() {
    let program = "
import torch, torch.nn as nn
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 14 * 14, 10)).cuda()
optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler()
for dtype in (torch.float16, torch.bfloat16):
    with torch.autocast('cuda', dtype):
        loss = model(torch.randn(2, 3, 16, 16, device='cuda')).float().logsumexp(1).mean()
    scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update(); optimizer.zero_grad()
";
    for values in [Values::Zeros, Values::Ones, Values::Uniform] {
        let options = Options {
            values,
            ..on("a100")
        };
        let Some((recording, code)) = recorded(program, &options) else {
            return;
        };
        assert_eq!(code, Some(0), "{values:?}");
        // Workspaces of convolutions.
        let invented = &recording.snapshot.extras["dry_run"]["invented"];
        assert!(invented[0].as_u64() > Some(0), "{invented}");
    }
}

#[test]
fn a_program_may_be_started_by_a_shell() {
    let Some(python) = python() else {
        return;
    };
    let folder = tempdir().unwrap();
    let line = format!("exec \"{python}\" -c \"import torch; torch.ones(1, device='cuda')\"");
    let command = ["sh", "-c", &line].map(OsString::from);
    let run = run(&command, &on("t4"), folder.path()).unwrap();
    assert_eq!(run.status.code(), Some(0));
    assert_eq!(run.snapshots.len(), 1);
}
