"""Records one program in torch's caching allocator under many settings.

    PYTHON=venv/bin/python SCRIPT=allocator.py sh tests/make/standin.sh

The program allocates as in training, in inference and at random, on three streams and in private pools, with
empty_cache() in between. It does not depend on the allocator: a request that fails is left out, and so is
its free. So the traces of two settings have the same requests in the same order, and the memory reserved in one
can be predicted from the other, as the allocator model's tests do.

Writes tests/fixtures/allocator/NAME.pickle.zst. Each run is a process of its own.
"""

import argparse
import os
import pathlib
import pickle
import random
import subprocess
import sys

import tidy
import zstandard

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20

# Name: (settings, MiB of the device). "pressure" devices are too small for the program; on "descending" ones newer
# segments have lower addresses.
RUNS = {
    "default": ("", 8192),
    "descending": ("", 8192),
    "expandable": ("expandable_segments:True", 8192),
    "max_split": ("max_split_size_mb:32", 8192),
    "max_split_rounding": ("max_split_size_mb:24,max_non_split_rounding_mb:40", 8192),
    "roundup": ("roundup_power2_divisions:8", 8192),
    "roundup_list": ("roundup_power2_divisions:[1:2,4:8,16:4,>:1]", 8192),
    "roundup_expandable": ("expandable_segments:True,roundup_power2_divisions:4", 8192),
    "max_split_expandable": ("expandable_segments:True,max_split_size_mb:32", 8192),
    "large_segment": ("large_segment_size_mb:64", 8192),
    "large_segment_expandable": ("large_segment_size_mb:64,expandable_segments:True", 8192),
    "collected": ("garbage_collection_threshold:0.6,per_process_memory_fraction:0.08", 8192),
    "collected_max_split": ("garbage_collection_threshold:0.5,max_split_size_mb:32,per_process_memory_fraction:0.08", 8192),
    "pressure": ("", 420),
    "pressure_max_split": ("max_split_size_mb:32", 420),
    "pressure_expandable": ("expandable_segments:True", 420),
    "pressure_fraction": ("per_process_memory_fraction:0.05", 8192),
    "pressure_fraction_expandable": ("per_process_memory_fraction:0.05,expandable_segments:True", 8192),
}


class Program:
    """Requests and frees that depend on a seed only."""

    def __init__(self, torch, seed):
        self.torch = torch
        self.random = random.Random(seed)
        self.hold = torch_hold()

    def request(self, size):
        try:
            return self.torch.empty(size, dtype=self.torch.uint8, device="cuda")
        except self.torch.cuda.OutOfMemoryError:
            return None

    def empty(self):
        """empty_cache() with cached memory to return, since otherwise no trace shows it."""
        self.request(80 * MIB)
        self.torch.cuda.empty_cache()

    def some_size(self):
        kind = self.random.random()
        if kind < 0.45:
            return self.random.randint(1, 70_000)
        if kind < 0.65:
            return self.random.randint(70_000, 2 * MIB)
        if kind < 0.9:
            return self.random.randint(MIB, 12 * MIB)
        return self.random.randint(10 * MIB, 48 * MIB)

    def training(self, steps):
        """Weights that stay, activations freed in reverse order, gradients, an optimizer's states from step 2 on."""
        sizes = [self.random.choice([40_000, 300_000, 3 * MIB, 9 * MIB, 14 * MIB]) for _ in range(10)]
        weights = [self.request(size) for size in sizes]
        states = []
        for step in range(steps):
            batch = self.random.randint(3, 9)
            activations, gradients = [], []
            for size in sizes:
                activations.append(self.request(size * batch // 8 + 77))
                scratch = self.request(self.random.randint(100, 4 * MIB))
                activations.append(self.request(size * batch // 16 + 5))
                del scratch
            for size in reversed(sizes):
                gradients.append(self.request(size))
                del activations[-2:]
            if step == 1:
                states = [self.request(size) for size in sizes for _ in range(2)]
            del gradients
            if step == 2:
                self.empty()
        return weights[:4], states[:3]

    def chance(self, steps, live):
        kept = []
        for step in range(steps):
            kept.append(self.request(self.some_size()))
            while len(kept) > live:
                kept.pop(self.random.randrange(len(kept)))
            if step % 97 == 96:
                del kept[:: self.random.choice([2, 3])]
            if step % 171 == 170:
                self.empty()
        return kept[:7]

    def streams(self, steps):
        """Blocks that other streams use, so that their frees wait."""
        torch = self.torch
        side, third = torch.cuda.Stream(), torch.cuda.Stream()
        kept = []
        for step in range(steps):
            stream = self.random.choice([None, side, third])
            other = self.random.choice([side, third])
            size = self.some_size() // 2 + 1
            if stream is None:
                tensor = self.request(size)
            else:
                with torch.cuda.stream(stream):
                    tensor = self.request(size)
            if tensor is not None and self.random.random() < 0.4:
                tensor.record_stream(other)
            kept.append(tensor)
            del tensor
            if len(kept) > 12:
                kept.pop(self.random.randrange(len(kept)))
            if step % 20 in (0, 12):
                self.hold(step % 20 == 0)
        self.hold(False)
        return kept[:3]

    def pools(self, rounds):
        torch = self.torch
        pool, other = torch.cuda.MemPool(), torch.cuda.MemPool()
        kept = []
        for _ in range(rounds):
            for chosen in (pool, other):
                with torch.cuda.use_mem_pool(chosen):
                    kept += [self.request(self.some_size() // 4 + 1) for _ in range(6)]
            kept.append(self.request(self.some_size()))
            while len(kept) > 15:
                kept.pop(self.random.randrange(len(kept)))
        del kept[:]
        del other  # gives its segments back
        with torch.cuda.use_mem_pool(pool):
            kept = [self.request(3 * MIB), self.request(1000)]
        return pool, kept

    def run(self):
        kept = [self.chance(120, 30), self.training(4), self.streams(140), self.pools(4)]
        self.empty()
        kept += [self.chance(350, 25), self.training(3)]
        return kept


def torch_hold():
    import ctypes

    function = ctypes.CDLL(None).standin_hold
    return lambda on: function(int(on))


def run_one(name):
    import torch

    torch.cuda.init()
    torch.cuda.memory._record_memory_history("all", context="all", stacks="python", max_entries=100_000)
    program = Program(torch, 20_260)
    kept = program.run()
    snapshot = torch.cuda.memory._snapshot()
    tidy.hide_places(snapshot, str(HERE))
    tidy.cut_stacks(snapshot, 2, 0)
    data = tidy.check_clean(pickle.dumps(snapshot), name)
    stats = torch.cuda.memory_stats()
    packed = zstandard.ZstdCompressor(level=19).compress(data)
    (FOLDER / f"{name}.pickle.zst").write_bytes(packed)
    print(
        f"{len(packed):8} {name}: {len(snapshot['device_traces'][0])} events, {stats['num_alloc_retries']} retries, "
        f"{stats['num_ooms']} ooms, peak reserved {stats['reserved_bytes.all.peak'] / MIB:.0f} MiB"
    )
    sys.stdout.flush()
    os._exit(0 if kept else 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=HERE.parent / "fixtures" / "allocator")
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    global FOLDER
    FOLDER = options.out.resolve()
    FOLDER.mkdir(parents=True, exist_ok=True)
    if options.run:
        run_one(options.run)
    for name in options.only or RUNS:
        settings, device = RUNS[name]
        environment = {**os.environ, "STANDIN_TOTAL_BYTES": str(device << 20), "STANDIN_DEVICES": "1", "STANDIN_ADDRESSES": "up"}
        if name.startswith("descending"):
            environment["STANDIN_ADDRESSES"] = "down"
        for variable in ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):
            environment.pop(variable, None)
            if settings:
                environment["PYTORCH_ALLOC_CONF"] = settings
        command = [sys.executable, __file__, "--run", name, "--out", str(FOLDER)]
        child = subprocess.run(command, env=environment, timeout=300, capture_output=True, text=True, check=False)
        print(child.stdout, end="")
        if child.returncode != 0:
            print(f"{name} ended with {child.returncode}:\n{child.stderr[-3000:]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
