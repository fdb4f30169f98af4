"""N: annotations. C: cost and harmlessness. D: neighbours."""

import glob
import pathlib
import re
import shutil
import statistics
import sys

import program_checks
import snapshots
from judge import Skip
from kit import HERE, ROOT


def annotations(kit, judge):
    """Names, counts and nesting of torch's NVTX ranges; B6 recorded them."""
    kit.need_module("torch")
    path = kit.out / "torch-native.pickle"
    if not path.exists():
        program_checks.torch_run(kit, judge, "N1", "native")
    seen, marks = program_checks.written(kit.out / "torch-native.json"), snapshots.read(path)["external_annotations"]
    judge.judge("N1", seen["depths"] == [0, 1, 2, 2, 1, 0], f"depths of pushes and pops are {seen['depths']}", "inject/src/nvtx.rs: return values")
    found = {}
    for mark in marks:
        found.setdefault(mark["name"], []).append((mark["stage"], mark["time_us"]))
    within = 0
    for step in range(20):
        times = dict(found.get(f"step {step}", []))
        inner = found.get(f"mark {step}", [])
        within += bool(inner and times.get("START", 1 << 62) <= inner[0][1] <= times.get("END", -1))
    judge.judge("N1", within == 20, f"{within} of 20 steps are recorded once, each with its mark within", "record/src/model/annotations.rs", found=list(found.items())[:6])
    judge.judge("N1", len(found.get("evaluation", [])) == 2, f"a range across threads: {found.get('evaluation')}", "inject/src/ranges.rs")


def emitted(kit, judge):
    """Ranges that torch adds for its operators, and a decorator."""
    snapshot, _ = program_checks.torch_run(kit, judge, "N1", "emitted")
    stages = [mark["stage"] for mark in snapshot["external_annotations"] if mark["name"].startswith("aten::")]
    started, ended = stages.count("START"), stages.count("END")
    judge.judge("N1", started == ended > 0, f"emit_nvtx: {started} operators begin, {ended} end", "inject/src/nvtx.rs")
    calls = sum(mark["name"] == "decorated" and mark["stage"] == "START" for mark in snapshot["external_annotations"])
    judge.judge("N1", calls == 3, f"{calls} of 3 calls of a decorated function", "inject/src/nvtx.rs")


def nvtx_headers():
    """The folder of NVTX's headers: in torch's wheels, or in the toolkit."""
    folders = [path for folder in sys.path for path in glob.glob(f"{folder}/nvidia/*/include")] + ["/usr/local/cuda/include"]
    for folder in folders:
        if pathlib.Path(folder, "nvtx3/nvToolsExt.h").exists():
            return folder
    raise Skip("no headers of NVTX here")


def c_ranges(kit, judge):
    """NVTX in C programs, and the cost of a range."""
    program = kit.out / "rt-nvtx"
    source = ROOT / "tests/capture/clients/nvtx/headers.c"
    made = kit.run([kit.tool("gcc"), "-O1", "-w", "-I", nvtx_headers(), "-o", program, source, "-ldl"])
    if made["code"] != 0:
        raise RuntimeError(made["errors"][-300:])
    run = kit.capture([program], "nvtx")
    snapshot = program_checks.clean(judge, "N3", run, "nvtx")
    judge.judge("N3", run["output"] == "0 1 0\n0 0 -1\n", f"depths in C: {run['output'].split()}", "inject/src/nvtx.rs: return values")
    names = [mark["name"] for mark in snapshot["external_annotations"] if mark["stage"] != "END"]
    judge.judge("N3", names == ["outer", "\u00e9", "registered", "mark", "started"], f"ranges and marks in C: {names}", "inject/src/nvtx.rs")
    # The fastest of three rounds.
    captured, alone = (min(float(run()["output"]) for _ in range(3)) for run in [
        lambda: kit.capture([program, "time"], "nvtx-time"), lambda: kit.run([program, "time"])])
    added = captured - alone
    limited(kit, judge, "N3", added, 300, "ns for a range")


def limited(kit, judge, check, value, most, what):
    """Judges a cost. On the stand-in driver's busy machines one that is too high means nothing."""
    status = "PASS" if value <= most else "INFO" if kit.is_fake else "FAIL"
    judge.say(status, check, f"{value:.0f} {what} (at most {most})", "inject/src: profile it")


def device_ranges(kit, judge):
    snapshot, seen = program_checks.torch_run(kit, judge, "N2", "device-ranges")
    marks = snapshot["external_annotations"]
    whole = 0
    for turn in range(seen["ranges"]):
        times = {mark["stage"]: mark["time_us"] for mark in marks if mark["name"] == f"device {turn}"}
        whole += times.get("START", 1 << 62) <= times.get("END", -1)
    judge.judge("N2", whole == seen["ranges"], f"{whole} of {seen['ranges']} ranges on streams have a beginning and a later end", "inject/src/ranges/stream.rs (G11)")


def cost(kit, judge):
    """The capture's cost for a pair of an allocation and its free: the fastest of three rounds, in turns."""
    ways = {"alone": None, "stacks off": ["--stacks", "off"], "13 frames": ["--depth", "13"], "64 frames": []}
    most = {"stacks off": 400, "13 frames": 1000, "64 frames": 1000}
    for threads in [1, 8]:
        command, best = [kit.program("bench"), 40000, threads, 4], {}
        for _ in range(3):
            for name, options in ways.items():
                run = kit.run(command) if options is None else kit.capture(command, "cost", options)
                best[name] = min(float(run["output"].strip().splitlines()[-1]), best.get(name, float("inf")))
        for name, limit in most.items():
            what = f"ns per pair more with {name} in {threads} thread(s), alone {best['alone']:.0f} ns"
            # Eight threads wait for each other in the driver, which is most of their time.
            limited(kit, judge, "C1", best[name] - best["alone"], max(limit, round(best["alone"] / 2)), what)
    log = kit.found("cost")["logs"][-1]
    events = len(snapshots.log_events(log)[0])
    run = kit.run([kit.capture_program, "convert", log, "-o", kit.out / "converted.pickle"])
    judge.info("C1", f"converting takes {run['seconds'] / events * 1e6:.1f} s per million events ({events} events)")
    # Logs of hundreds of megabytes that are of no further use.
    shutil.rmtree(kit.out / "cost.raw")


# Nanoseconds from the start of a program to its end, five times.
TIMED = 'for turn in 1 2 3 4 5; do begin=$(date +%s%N); "$0" 8 1 1 > /dev/null; echo $(($(date +%s%N) - begin)); done'


def start_up(kit, judge):
    command = ["sh", "-c", TIMED, kit.program("bench")]
    alone, captured = (min(map(int, run["output"].split())) for run in [kit.run(command), kit.capture(command, "started")])
    limited(kit, judge, "C3", (captured - alone) / 1e6, 30, "ms more until a short program has ended")


def torch_speed(kit, judge):
    kit.need_module("torch")
    times = {"alone": [], "captured": []}
    losses = set()
    for _ in range(3):
        for name in times:
            told = kit.out / "timed.json"
            script = kit.script("torch_program", "timed", told)
            kit.run(script) if name == "alone" else kit.capture(script, "timed")
            seen = program_checks.written(told)
            times[name].append(statistics.median(seen["times"][10:]))
            losses.add(tuple(seen["losses"]))
    ratio = min(times["captured"]) / min(times["alone"])
    judge.judge("C2", ratio <= 1.02, f"a step takes {ratio:.3f} times as long (at most 1.02), alone {min(times['alone']) * 1000:.2f} ms", "inject/src/hooks: profile it")
    judge.judge("C2", len(losses) == 1, f"{len(losses)} different series of losses with and without capture", "the capture changes the program")


def most_allocations(run):
    """Allocations in the largest of a run's snapshots: tools may use CUDA themselves."""
    return max((len(snapshots.events(snapshots.read(path), "alloc")) for path in run["snapshots"]), default=0)


def sanitizer(kit, judge):
    tool = kit.tool("compute-sanitizer")
    program = kit.program("loading")
    checking = [tool, "--tool", "memcheck", "--target-processes", "all"]

    def told(run):
        """Exit code and number of errors: one request of the program fails on purpose."""
        found = re.findall(r"ERROR SUMMARY: (\d+) error", run["output"] + run["errors"])
        return run["code"], found

    wanted = most_allocations(kit.capture([program], "without-sanitizer"))
    alone = told(kit.run([*checking, program], "sanitizer-alone"))
    run = kit.capture([*checking, program], "inside-sanitizer")
    judge.judge("D1", told(run) == alone and most_allocations(run) == wanted,
                f"memcheck within a capture: exit and errors {told(run)}, alone {alone}, {most_allocations(run)} of {wanted} allocations",
                "inject: an invalid call, or a clash with the sanitizer's hooks")
    run = kit.run([*checking, *kit.captured_command([program], "in-sanitizer")], "in-sanitizer")
    found = most_allocations(kit.found("in-sanitizer"))
    judge.judge("D1", told(run) == alone and found == wanted,
                f"memcheck around a capture: exit and errors {told(run)}, alone {alone}, {found} of {wanted} allocations", "as above")


def ncu(kit, judge):
    """Nsight Compute, which runs kernels again and saves memory for that."""
    tool = kit.tool("ncu")
    command = [tool, "--target-processes", "all", program_checks.compiled(kit, "static"), "kernels"]
    alone = kit.run(command, "ncu-alone")
    wanted = alone["output"].count("fill(")
    if alone["code"] != 0 or wanted == 0:
        raise Skip(f"ncu does not count here: exit {alone['code']}, {alone['output'].strip()[-160:]}")
    inside = kit.run([tool, "--target-processes", "all", "sh", "-c", "env; cat /proc/self/maps"], "ncu-environment")
    preloads = [line for line in inside["output"].splitlines() if "PRELOAD" in line or "INJECTION" in line]
    judge.info("D7", f"ncu runs programs with {preloads}")
    run = kit.capture(command, "inside-ncu")
    seen = run["output"].count("fill(")
    judge.judge("D7", run["code"] == 0 and seen == wanted, f"ncu within a capture: exit {run['code']}, kernels told {seen} of {wanted} times", "inject: a clash with ncu")
    theirs = snapshots.Counter(program_checks.printed(run))
    words = min((snapshots.difference(theirs, snapshots.allocated(snapshots.read(path))) for path in run["snapshots"]), key=len, default="no snapshot")
    judge.judge("D7", not words, f"beside ncu: {sum(theirs.values())} allocations, {words or '0 missing, 0 extra'}", program_checks.MISSED)


def mps(kit, judge):
    """The multi-process service, under which a server owns the device."""
    tool = kit.tool("nvidia-cuda-mps-control")
    places = {name: str(kit.out / name.lower()) for name in ["CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_LOG_DIRECTORY"]}
    for place in places.values():
        pathlib.Path(place).mkdir(exist_ok=True)
    begun = kit.run([tool, "-d"], "mps", places, seconds=20)
    try:
        told = kit.out / "mps.json"
        script = kit.script("driver_program", "all", "dlsym", told)
        if begun["code"] != 0 or kit.run(script, "mps-alone", places, seconds=60)["code"] != 0:
            raise Skip(f"MPS does not start here: {begun['errors'].strip()[-160:]}")
        run = kit.capture(script, "under-mps", environment=places)
        snapshot = program_checks.clean(judge, "D8", run, "under-mps")
        program_checks.same_allocations(judge, "D8", "under MPS", program_checks.written(told)["did"], snapshot)
    finally:
        kit.run(["sh", "-c", f"echo quit | {tool}"], environment=places, seconds=20)


def profiler(kit, judge):
    snapshot, seen = program_checks.torch_run(kit, judge, "D2", "profiled")
    judge.judge("D2", seen["kernels"] > 0, f"torch.profiler sees {seen['kernels']} events of the device within a capture", "NVTX_INJECTION64_PATH or the hooks disturb CUPTI")
    program_checks.same_segments(judge, "D2", snapshot, seen)


def viewer(kit, judge):
    """torch's own tools read the snapshots."""
    kit.need_module("torch")
    for path in sorted(kit.out.glob("*.pickle"), key=lambda path: path.stat().st_size)[:3]:
        for command in ["trace", "stats"]:
            run = kit.run([sys.executable, "-m", "torch.cuda._memory_viz", command, path])
            judge.judge("D3", run["code"] == 0, f"_memory_viz {command} {path.name}: exit {run['code']} {run['errors'][-100:] if run['code'] else ''}",
                        "record/src/snapshot.rs")


def nsys(kit, judge):
    tool = kit.tool("nsys")
    run = kit.capture([tool, "profile", "--force-overwrite", "true", "-o", kit.out / "nsys", kit.program("loading")], "inside-nsys")
    judge.judge("D4", run["code"] == 0, f"nsys within a capture: exit {run['code']}", "inject: a clash with nsys")


def second_library(kit, judge):
    """Another library that interposes dlsym must still be asked for the driver's functions."""
    kit.need_gpu("a second library before dlsym")
    library, told = kit.out / "second.so", kit.out / "second.txt"
    made = kit.run([kit.tool("gcc"), "-shared", "-fPIC", "-O1", "-o", library, HERE / "second.c", "-ldl"])
    if made["code"] != 0:
        raise RuntimeError(made["errors"][-300:])
    environment = {"LD_PRELOAD": str(library), "SECOND_OUT": str(told)}
    kit.run([kit.program("loading")], environment=environment)
    alone = int(told.read_text())
    run = kit.capture([kit.program("loading")], "second", environment=environment)
    within = int(told.read_text())
    judge.judge("D5", run["code"] == 0 and alone > 0 and within >= alone, f"a second library before dlsym is asked {within} times within a capture, {alone} alone",
                "inject/src/linker.rs: other libraries are passed over")


def driver_log(kit, judge):
    """The driver's own log of failing calls must not name ours."""
    kit.need_gpu("the driver's log")
    path = kit.out / "driver-errors.log"
    run = kit.capture([kit.program("loading")], "logged", environment={"CUDA_LOG_FILE": str(path)})
    lines = path.read_text().splitlines() if path.exists() else []
    ours = [line for line in lines if any(name in line for name in ["cuPointerGetAttributes", "cuMemPoolGetAttribute", "cuStreamGetCaptureInfo"])]
    judge.judge("D6", run["code"] == 0 and not ours, f"{len(ours)} of {len(lines)} lines of CUDA_LOG_FILE are about the recorder's queries {ours[:1]}", "inject/src/hooks/events.rs")


CHECKS = {
    "D5": second_library, "D6": driver_log, "N1": annotations, "N1 emitted": emitted, "N2": device_ranges, "D2": profiler, "D1": sanitizer,
    "D3": viewer, "D4": nsys, "D7": ncu,
}
ALONE = {"C1": cost, "C2": torch_speed, "C3": start_up, "N3": c_ranges, "D8": mps}
