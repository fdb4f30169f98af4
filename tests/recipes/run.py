"""Runs the recipes in the book, with the real frameworks, over the runtime of `vramscope dry-run`.

    python run.py VRAMSCOPE [NAME...]

That runtime computes nothing. The Python is that of an environment with the packages in requirements.txt; VRAMSCOPE is the
built command line. Each program is the smallest one of its framework. It must come to its end and leave one snapshot of the
steps that were asked for, with stacks, and nothing to remark; and the book must name the version with which that was tried.
"""

import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
BOOK = HERE.parent.parent / "book/src/recipes.md"
PATIENCE_S = 300
STEPS = ["--steps", "2..3"]
PYTHON = [sys.executable]
ACCELERATE = [sys.executable, "-m", "accelerate.commands.launch", "--num_processes", "1"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "1", "--master-port", "29617"]

# Program, packages, options of `record`, and what starts it.
RECIPES = [
    ("trainer", ["transformers", "peft"], STEPS, ACCELERATE),
    ("accelerate_loop", ["accelerate"], STEPS, ACCELERATE),
    ("sft", ["trl"], STEPS, PYTHON),
    ("dpo", ["trl"], STEPS, PYTHON),
    ("grpo", ["trl"], STEPS, PYTHON),
    ("lightning_fit", ["lightning"], STEPS, PYTHON),
    ("deepspeed_zero", ["deepspeed"], STEPS, TORCHRUN),
    ("megatron_gpt", ["megatron-core"], STEPS, TORCHRUN),
    ("ray_actor", ["ray"], STEPS, PYTHON),
    ("diffusers_pipeline", ["diffusers"], [], PYTHON),
]


def recorded(vramscope, folder, options, program):
    """Records a program in a folder. Returns its output and that of `record`."""
    command = [vramscope, "dry-run", "--", sys.executable, HERE / "inside.py", "code"]
    command += [vramscope, "record", "--quiet", "-o", "out", *options, "--", *program]
    # Ray, DeepSpeed and others write into the home folder.
    own = {"HOME": str(folder), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE / "programs")}
    environment = {**os.environ, **own}
    said = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    ).stdout
    code = folder / "code"
    assert code.exists() and code.read_text() == "0", said
    return said


def check(vramscope, name, packages, options, start):
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        said = recorded(vramscope, folder, options, [*start, HERE / "programs" / f"{name}.py"])
        remarks = [line for line in said.splitlines() if line.startswith("vramscope: ")]
        assert not remarks, remarks
        files = [path for path in (folder / "out").rglob("*") if path.is_file()]
        assert len(files) == 1, files
        answer = subprocess.run([vramscope, "info", "--json", files[0]], capture_output=True, check=True)
    device = json.loads(answer.stdout)["parts"][1]
    without = sum(fact["without"] for fact in device["facts"] if fact["kind"] == "no_stacks")
    assert device["events"] > 50, device["events"]
    assert without < device["allocations"] / 4, (without, device["allocations"])
    assert not any(fact["kind"] == "ring_full" for fact in device["facts"]), device["facts"]
    tried = [f"{package} {importlib.metadata.version(package)}" for package in packages]
    book = " ".join(BOOK.read_text(encoding="utf-8").split())
    for words in tried:
        assert words in book, f"{BOOK.name} does not say that it was tried with {words}"
    print(f"{name}: {', '.join(tried)}; {device['events']} events, {device['allocations']} allocations", flush=True)


def main():
    vramscope, *names = sys.argv[1:]
    for name, *recipe in RECIPES:
        if not names or name in names:
            check(os.path.abspath(vramscope), name, *recipe)


if __name__ == "__main__":
    main()
