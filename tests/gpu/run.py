"""Runs every check of capturing that needs a GPU, each with a time limit of its own, into one folder.

    sh tests/gpu/run.sh --kit gpu-kit --out gpu-out             on a machine with a GPU (README.md)
    sh tests/gpu/run.sh --kit gpu-kit --out out --fake FOLDER   the steps that work without one; FOLDER contains fakecuda's libcuda.so.1
    sh tests/gpu/run.sh --list

A step that fails, hangs or crashes is recorded, and the others continue. `summary.json` has all figures, `summary.txt`
the most important ones.
"""

import argparse
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
STEPS = {}


class Skip(Exception):
    """The step is impossible on this machine or with this kit."""


def step(seconds):
    """Registers a step with its time limit. The step returns its entry for the summary."""

    def register(function):
        STEPS[function.__name__.replace("_", "-")] = (seconds, function)
        return function

    return register


class Kit:
    """The binaries to test, and the output folder."""

    def __init__(self, arguments):
        self.folder = pathlib.Path(arguments.kit).resolve()
        self.out = pathlib.Path(arguments.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.is_fake = arguments.fake is not None
        self.environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        if self.is_fake:
            self.environment["LD_LIBRARY_PATH"] = str(pathlib.Path(arguments.fake).resolve())
        self.deadline = 0.0

    def program(self, name):
        path = self.folder / name
        if not path.exists():
            raise Skip(f"the kit has no {name}")
        return str(path)

    def run(self, command, name=None, environment=None):
        """Runs a command until the step's time is over. Returns its exit code, output and seconds."""
        left = max(1.0, self.deadline - time.monotonic())
        begin = time.monotonic()
        # A process group of its own, so that its children end with it.
        child = subprocess.Popen(
            [str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.out,
            env=self.environment | (environment or {}), start_new_session=True,
        )
        try:
            output, errors = child.communicate(timeout=left)
            code = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, 9)
            try:
                output, errors = child.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                # A profiler's daemon in a session of its own holds the pipes.
                output, errors = b"", b"its output is held by a process that outlived it"
            code = "time limit"
        output, errors = output.decode(errors="replace"), errors.decode(errors="replace")
        if name:
            (self.out / f"{name}.log").write_text(f"$ {command}\n{output}\n--- stderr\n{errors}")
        return {"code": code, "seconds": round(time.monotonic() - begin, 3), "output": output, "errors": errors[-2000:]}

    def capture(self, command, name, options=(), environment=None):
        """Runs a command under capture. Returns the run, with its snapshot if there is one."""
        snapshot = self.out / f"{name}.pickle"
        snapshot.unlink(missing_ok=True)
        capture = [self.program("vramscope-capture"), "run", *options, "-o", snapshot, "--", *command]
        run = self.run(capture, name, environment)
        run["snapshot"] = snapshot if snapshot.exists() else None
        return run

    def script(self, name, *arguments):
        return [sys.executable, HERE / "steps" / f"{name}.py", *arguments]

    def answers(self, script):
        """Runs a step's script, which prints one JSON object."""
        run = self.run(self.script(script), script)
        try:
            return json.loads(run["output"])
        except ValueError:
            return {"code": run["code"], "output": run["output"][-500:], "errors": run["errors"][-1500:]}

    def need_torch(self):
        if self.is_fake:
            raise Skip("torch needs a real driver")
        if self.run([sys.executable, "-c", "import torch; assert torch.cuda.is_available()"])["code"] != 0:
            raise Skip("no torch with CUDA here")


def sizes(path):
    """Figures of a snapshot, after checks that every snapshot must pass."""
    if path is None:
        return {"snapshot": "none"}
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    events = [event for trace in snapshot["device_traces"] for event in trace]
    actions = {}
    for event in events:
        actions[event["action"]] = actions.get(event["action"], 0) + 1
    capture = snapshot.get("capture", {})
    named = sum(1 for event in events if event.get("frames") and any(frame["line"] for frame in event["frames"]))
    annotations = snapshot.get("external_annotations", [])
    return {
        "bytes": path.stat().st_size, "actions": actions, "events_with_lines": named,
        "segments": len(snapshot["segments"]), "annotations": sorted({mark["name"] for mark in annotations})[:40],
        "ended": capture.get("ended"), "dropped": capture.get("dropped_records"), "notes": capture.get("notes"),
        "devices": capture.get("devices"), "memory": (capture.get("memory") or [None])[-1],
    }


def pairs(path, actions):
    """Counts a snapshot's events with these actions by address and bytes."""
    found = {}
    with open(path, "rb") as file:
        for trace in pickle.load(file)["device_traces"]:
            for event in trace:
                if event["action"] in actions:
                    key = (event["addr"] % (1 << 64), event["size"])
                    found[key] = found.get(key, 0) + 1
    return found


def compared(path, seen):
    """Compares the records of CUPTI (and of the program itself) with the snapshot: what is missing on either side."""
    if path is None:
        return "no snapshot"
    def counted(keys):
        counts = {}
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
        return counts

    def missing(ours, theirs):
        return sum(max(0, count - theirs.get(key, 0)) for key, count in ours.items())

    ours, answers = pairs(path, ["alloc"]), {}
    # Device and managed memory; CUPTI also reports host memory.
    records = [record for record in seen.get("records") or [] if record[1] in (3, 4)]
    lists = {"cupti": [record for record in records if record[0] == "alloc"]}
    lists["program"] = [entry for entry in seen.get("did") or [] if entry[0] == "alloc"]
    for name, entries in lists.items():
        if not entries:
            continue
        theirs = counted((entry[-2], entry[-1]) for entry in entries)
        answers[name] = {
            "allocations": len(entries), "captured": sum(ours.values()),
            "not captured": missing(theirs, ours), "only captured": missing(ours, theirs),
        }
    frees = [record for record in records if record[0] == "free"]
    if frees:
        answers["frees by CUPTI"] = len(frees)
        answers["frees captured"] = sum(pairs(path, ["free_completed"]).values())
    return answers or seen.get("cupti") or "nothing to compare with"


def slowdown(kit, command, name, turns=3, environment=None):
    """Runs the program alone and captured, in turns. Returns the fastest times."""
    alone, captured, last = [], [], None
    for _ in range(turns):
        run = kit.run(command, None, environment)
        if run["code"] != 0:
            return {"alone": run}
        alone.append(run["seconds"])
        last = kit.capture(command, name, environment=environment)
        captured.append(last["seconds"])
    figures = sizes(last["snapshot"])
    # The conversion runs after the program: the program's own time is that of the last run without a snapshot.
    return {"code": last["code"], "alone_s": min(alone), "with_conversion_s": min(captured), **figures}


# ---- the steps ----------------------------------------------------------------------------------


@step(20)
def machine(kit):
    commands = {
        "uname": ["uname", "-a"], "nvidia-smi": ["nvidia-smi"], "python": [sys.executable, "--version"],
        "torch": [sys.executable, "-c", "import torch; print(torch.__version__, torch.version.cuda)"],
    }
    def said(command):
        return kit.run(command)["output"].strip() if shutil.which(command[0]) else "not there"

    answers = {name: said(command) for name, command in commands.items()}
    answers["capture"] = said([kit.program("vramscope-capture"), "--version"])
    answers["kit"] = sorted(path.name for path in kit.folder.iterdir())
    return answers


@step(30)
def attributes(kit):
    return kit.answers("attributes")


@step(40)
def queries(kit):
    return kit.answers("queries")


@step(30)
def corners(kit):
    return kit.answers("corners")


@step(20)
def names(kit):
    return kit.answers("names")


@step(90)
def cost(kit):
    """Nanoseconds of an allocation and its free: the fastest of several rounds, in turns."""
    command = [kit.program("bench"), 40000, 1, 8]
    ways = {"not captured": None, "captured without stacks": ["--stacks", "off"], "captured, 13 frames": ["--depth", "13"]}
    best = {}
    for _ in range(3):
        for name, options in ways.items():
            run = kit.run(command) if options is None else kit.capture(command, "cost", options)
            lines = run["output"].strip().splitlines() or [""]
            try:
                best[name] = min(float(lines[-1]), best.get(name, float("inf")))
            except ValueError:
                return {"way": name, **run}
    return {"ns per pair": best, **sizes(kit.out / "cost.pickle")}


@step(40)
def driver_functions(kit):
    """Every kind of allocation from Python, compared with the script's own list and with CUPTI's records."""
    seen = kit.out / "driver-seen.json"
    run = kit.capture(kit.script("driver_program", seen), "driver")
    if not seen.exists():
        return run
    told = json.loads(seen.read_text())
    seen.unlink()
    return {"code": run["code"], "compared": compared(run["snapshot"], told), "cupti": told.get("cupti"), **sizes(run["snapshot"])}


@step(60)
def scenes(kit):
    """The programs of tests/capture. They check the behaviour of fakecuda, so some may fail on a real driver."""
    program, answers = kit.program("scenes"), {}
    for scene in ["plain", "pools", "ranges", "graphs", "arrays", "threads", "contexts"]:
        for way in ["dlsym", "proc"] if scene in ["plain", "pools", "ranges"] else ["dlsym"]:
            name = f"scene-{scene}-{way}"
            run = kit.capture([program, way, scene], name)
            answers[name] = {"code": run["code"], "errors": run["errors"][-300:], **sizes(run["snapshot"])}
    return answers


@step(40)
def cudarc_loading(kit):
    return slowdown(kit, [kit.program("loading")], "loading")


@step(40)
def cudarc_linking(kit):
    return slowdown(kit, [kit.program("linking")], "linking")


@step(40)
def cudarc_eager(kit):
    return slowdown(kit, [kit.program("eager")], "eager")


@step(90)
def candle(kit):
    return slowdown(kit, [kit.program("candle")], "candle")


@step(120)
def burn(kit):
    """Kernels are compiled at run time: the first run fills the driver's cache for the others."""
    libraries = [path for path in sys.path if path.endswith("site-packages")]
    found = [pathlib.Path(path) / "nvidia/cu13" for path in libraries]
    found = [path for path in found if path.exists()]
    environment = {}
    if found:
        inherited = kit.environment.get("LD_LIBRARY_PATH", "")
        environment = {"CUDA_PATH": str(found[0]), "LD_LIBRARY_PATH": f"{found[0]}/lib:{inherited}"}
    return slowdown(kit, [kit.program("burn")], "burn", 2, environment)


def torch_under_capture(kit, backend):
    kit.need_torch()
    seen = kit.out / f"torch-{backend}-seen.json"
    answers = {}
    for words in [["cupti"], []]:
        name = f"torch-{backend}" + ("-beside-cupti" if words else "")
        run = kit.capture(kit.script("torch_program", backend, seen, *words), name)
        if not seen.exists():
            answers[name] = run
            continue
        told = json.loads(seen.read_text())
        seen.unlink()
        answers[name] = {"code": run["code"], "seconds": told["seconds"], "backend": told["backend"], **sizes(run["snapshot"])}
        if words:
            answers[name]["compared"] = compared(run["snapshot"], told)
            answers[name]["cupti"] = told.get("cupti")
    alone = kit.run(kit.script("torch_program", backend, seen))
    if seen.exists():
        answers["alone"] = {"code": alone["code"], "seconds": json.loads(seen.read_text())["seconds"]}
    return answers


@step(100)
def torch_native(kit):
    return torch_under_capture(kit, "native")


@step(100)
def torch_async(kit):
    return torch_under_capture(kit, "async")


@step(60)
def official_tools(kit):
    """torch's own tools read the snapshots."""
    found = sorted(kit.out.glob("*.pickle"), key=lambda path: path.stat().st_size)
    if not found:
        raise Skip("there is no snapshot")
    probe = "import importlib.util, sys; sys.exit(importlib.util.find_spec('torch') is None)"
    if kit.run([sys.executable, "-c", probe])["code"] != 0:
        raise Skip("no torch here")
    answers = {}
    for path in found[:3]:
        for command in ["trace", "stats"]:
            run = kit.run([sys.executable, "-m", "torch.cuda._memory_viz", command, path])
            answers[f"{path.name} {command}"] = {"code": run["code"], "lines": run["output"].count("\n"), "errors": run["errors"][-300:]}
    return answers


@step(60)
def beside_sanitizer(kit):
    tool = shutil.which("compute-sanitizer") or shutil.which("compute-sanitizer", path="/usr/local/cuda/bin")
    if tool is None:
        raise Skip("no compute-sanitizer here")
    run = kit.capture([tool, "--tool", "memcheck", kit.program("loading")], "beside-sanitizer")
    made = sorted(kit.out.glob("beside-sanitizer*.pickle"))
    return {"code": run["code"], "errors": run["errors"][-500:], "snapshots": {path.name: sizes(path) for path in made}}


@step(60)
def beside_nsys(kit):
    tool = shutil.which("nsys")
    if tool is None:
        raise Skip("no nsys here")
    profile = [tool, "profile", "--force-overwrite", "true", "-o", kit.out / "nsys", kit.program("loading")]
    run = kit.capture(profile, "beside-nsys")
    made = sorted(kit.out.glob("beside-nsys*.pickle"))
    return {"code": run["code"], "errors": run["errors"][-500:], "snapshots": {path.name: sizes(path) for path in made}}


# ---- all of them --------------------------------------------------------------------------------


def line(name, answer):
    """The summary line of a step."""
    if "skipped" in answer:
        return f"{name:20} skipped: {answer['skipped']}"
    if "failed" in answer:
        return f"{name:20} FAILED: {answer['failed']}"
    found = answer["found"]
    keys = ["code", "ns per pair", "alone_s", "with_conversion_s", "compared", "actions"]
    short = {key: found[key] for key in keys if isinstance(found, dict) and key in found}
    return f"{name:20} {answer['seconds']:6.1f} s  {json.dumps(short) if short else 'see summary.json'}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", default="gpu-kit", help="folder made by `cargo xtask gpu-kit`")
    parser.add_argument("--out", default="gpu-out", help="output folder")
    parser.add_argument("--fake", help="folder with fakecuda's libcuda.so.1, for a machine without a GPU")
    parser.add_argument("--only", help="steps to run, separated by commas")
    parser.add_argument("--seconds", type=float, default=570, help="time limit for all steps")
    parser.add_argument("--list", action="store_true", help="print the steps")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(STEPS))
        return 0
    wanted = arguments.only.split(",") if arguments.only else list(STEPS)
    unknown = [name for name in wanted if name not in STEPS]
    if unknown:
        parser.error(f"no such step: {', '.join(unknown)}")
    kit, end, answers = Kit(arguments), time.monotonic() + arguments.seconds, {}
    for name in wanted:
        seconds, function = STEPS[name]
        begin = time.monotonic()
        kit.deadline = min(begin + seconds, end)
        try:
            if begin + 5 > end:
                raise Skip("no time was left")
            answers[name] = {"found": function(kit)}
        except Skip as reason:
            answers[name] = {"skipped": str(reason)}
        except Exception as error:  # One step must not stop the others.
            answers[name] = {"failed": f"{type(error).__name__}: {error}"}
        answers[name]["seconds"] = round(time.monotonic() - begin, 1)
        print(line(name, answers[name]), flush=True)
        # Written after each step, in case the machine goes away.
        (kit.out / "summary.json").write_text(json.dumps(answers, indent=1, default=str))
        (kit.out / "summary.txt").write_text("".join(line(*item) + "\n" for item in answers.items()))
    return int(any("failed" in answer for answer in answers.values()))


sys.exit(main())
