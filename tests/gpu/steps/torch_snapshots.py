"""Snapshots of PyTorch's own recorder: `torch_snapshots.py MODE OUT`, which writes OUT.pickle and, as OUT.json, PyTorch's
counters at that moment.

    training     steps of a small transformer, with all frames
    expandable   the same with expandable segments
    graphs       a step captured in a private pool and replayed
    compiled     the same by torch.compile, with its trees of graphs
    oom          the same, then more memory than there is
    ranks        two ranks, a snapshot of each
    large        a history of hundreds of megabytes
"""

import contextlib
import json
import os
import subprocess
import sys
import time

mode, out = sys.argv[1:3]
if mode == "expandable":
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"

import torch  # The allocator's settings are read when it is loaded.

torch.manual_seed(0)
WIDTH, LENGTH, BATCH, WORDS = 256, 128, 16, 4096
LARGE_S, LARGE_EVENTS = 55, 1_500_000


class Model(torch.nn.Module):
    def __init__(self, layers=4):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        one = [torch.nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, dropout=0.0, batch_first=True) for _ in range(layers)]
        self.layers = torch.nn.Sequential(*one)
        self.head = torch.nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.head(self.layers(self.words(words)))


def words():
    return torch.randint(WORDS, (BATCH, LENGTH), device="cuda")


def loss_of(model, given):
    return torch.nn.functional.cross_entropy(model(given).flatten(0, 1), given.flatten())


def step(model, optimiser, given):
    with torch.profiler.record_function("## forward ##"):
        loss = loss_of(model, given)
    with torch.profiler.record_function("## backward ##"):
        loss.backward()
    with torch.profiler.record_function("## optimizer ##"):
        optimiser.step()
        optimiser.zero_grad()
    return loss


def train(steps, layers=4):
    model = Model(layers).cuda()
    optimiser = torch.optim.AdamW(model.parameters())
    for _ in range(steps):
        step(model, optimiser, words())
    return model, optimiser


def graphs():
    model, optimiser = train(3)
    static, graph, side = words(), torch.cuda.CUDAGraph(), torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        loss_of(model, static).backward()
    torch.cuda.current_stream().wait_stream(side)
    with torch.cuda.graph(graph):
        loss = loss_of(model, static)
        loss.backward()
    for _ in range(5):
        static.copy_(words())
        graph.replay()
        optimiser.step()
    return model, graph, loss


def compiled():
    model = Model(2).cuda()
    optimiser = torch.optim.AdamW(model.parameters())
    fast = torch.compile(model, mode="reduce-overhead")
    for _ in range(6):
        torch.compiler.cudagraph_mark_step_begin()
        step(fast, optimiser, words())
    return model, fast, optimiser


def large():
    end, held = time.monotonic() + LARGE_S, train(1, 12)
    while time.monotonic() < end:
        step(*held, words())
    return held


def peak(stats):
    names = {"requested": "requested_bytes", "allocated": "allocated_bytes", "active": "active_bytes", "reserved": "reserved_bytes"}
    return {name: stats[f"{key}.all.peak"] for name, key in names.items()} | {"now": {name: stats[f"{key}.all.current"] for name, key in names.items()}}


def write(path):
    torch.cuda.synchronize()
    counted, begin = peak(torch.cuda.memory_stats()), time.monotonic()
    torch.cuda.memory._dump_snapshot(f"{path}.pickle")
    with open(f"{path}.json", "w") as file:
        json.dump({"torch": torch.__version__, "dump_s": time.monotonic() - begin, "peak": counted}, file)


def record():
    settings = {"max_entries": LARGE_EVENTS}
    with contextlib.suppress(TypeError):
        # Since 2.9.
        return torch.cuda.memory._record_memory_history(**settings, global_record_annotations=True)
    torch.cuda.memory._record_memory_history(**settings)


def main():
    rank = os.environ.get("RANK")
    if mode == "ranks" and rank is None:
        command = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", __file__, mode, out]
        sys.exit(subprocess.run([sys.executable, *command]).returncode)
    torch.cuda.init()
    record()
    if mode == "oom":
        held = train(3)
        try:
            torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
        except torch.OutOfMemoryError as error:
            print(error)
    elif mode == "ranks":
        torch.distributed.init_process_group("gloo")
        # The second one holds more.
        held = train(3, 2 + 2 * int(rank))
        torch.distributed.barrier()
        torch.distributed.destroy_process_group()
    else:
        held = {"graphs": graphs, "compiled": compiled, "large": large}.get(mode, lambda: train(20))()
    write(f"{out}-rank{rank}" if rank else out)
    del held


if __name__ == "__main__":
    main()
