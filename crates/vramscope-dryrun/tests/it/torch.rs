//! Real torch, its allocator and its recorder.

use std::env;
use std::fs::File;

use tempfile::tempdir;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::open::decode;
use vramscope_dryrun::torch::find_torch;

use super::*;

/// The Python with torch; `None`, with a word, where there is none.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn python() -> Option<(String, Torch)> {
    let Ok(python) = env::var("VRAMSCOPE_TORCH_PYTHON") else {
        eprintln!("skipped: VRAMSCOPE_TORCH_PYTHON names no Python with torch's build for CUDA");
        return None;
    };
    let torch = find_torch(python.as_ref()).unwrap();
    Some((python, torch))
}

/// A recording of a program on a card, and its exit code.
fn recorded(program: &str, options: &Options) -> Option<(Recording, Option<i32>)> {
    let (python, torch) = python()?;
    let folder = tempdir().unwrap();
    let run = run_python(&python, program, &torch, options, folder.path());
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
    // Four times 8,393,728 parameters of four bytes, cuBLAS's workspaces, and what is there for a moment.
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
    assert_eq!(recording.snapshot.extras["dry_run"]["rank"], "5");
}
