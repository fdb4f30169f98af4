"""N: annotations. C: cost and harmlessness. D: neighbours."""

import statistics
import sys

import program_checks
import snapshots
from kit import HERE


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


def device_ranges(kit, judge):
    snapshot, seen = program_checks.torch_run(kit, judge, "N2", "device-ranges")
    marks = snapshot["external_annotations"]
    whole = 0
    for turn in range(seen["ranges"]):
        times = {mark["stage"]: mark["time_us"] for mark in marks if mark["name"] == f"device {turn}"}
        whole += times.get("START", 1 << 62) <= times.get("END", -1)
    judge.judge("N2", whole == seen["ranges"], f"{whole} of {seen['ranges']} ranges on streams have a beginning and a later end", "inject/src/ranges/stream.rs (G11)")


def cost(kit, judge):
    """Nanoseconds that the capture adds to a pair of an allocation and its free: the fastest of three rounds, in turns."""
    command = [kit.program("bench"), 40000, 1, 4]
    ways = {"alone": None, "stacks off": ["--stacks", "off"], "64 frames": []}
    best = {}
    for _ in range(3):
        for name, options in ways.items():
            run = kit.run(command) if options is None else kit.capture(command, "cost", options)
            best[name] = min(float(run["output"].strip().splitlines()[-1]), best.get(name, float("inf")))
    for name, most in [("stacks off", 400), ("64 frames", 1000)]:
        added = best[name] - best["alone"]
        is_fine = added <= most
        text = f"{added:.0f} ns per pair more with {name} (at most {most}), alone {best['alone']:.0f} ns"
        judge.say("PASS" if is_fine else "INFO" if kit.is_fake else "FAIL", "C1", text, "inject/src/hooks: profile it")


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


def sanitizer(kit, judge):
    tool = kit.tool("compute-sanitizer")
    program = kit.program("loading")
    run = kit.capture([tool, "--tool", "memcheck", program], "inside-sanitizer")
    judge.judge("D1", run["code"] == 0 and "0 errors" in run["output"] + run["errors"], f"memcheck within a capture: exit {run['code']}",
                "inject: an invalid call, or a clash with the sanitizer's hooks")
    inside = kit.captured_command([program], "in-sanitizer")
    run = kit.run([tool, "--tool", "memcheck", *inside], "in-sanitizer")
    judge.judge("D1", run["code"] == 0 and "0 errors" in run["output"] + run["errors"], f"memcheck around a capture: exit {run['code']}", "as above")


def profiler(kit, judge):
    snapshot, seen = program_checks.torch_run(kit, judge, "D2", "profiled")
    judge.judge("D2", seen["kernels"] > 0, f"torch.profiler sees {seen['kernels']} events of the device within a capture", "NVTX_INJECTION64_PATH or the hooks disturb CUPTI")
    count = len(snapshots.events(snapshot, "alloc"))
    judge.judge("D2", count > 0, f"{count} allocations beside it", "CUPTI's hooks replace ours")


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
    """Another library that stands before dlsym must still be asked for the driver's functions."""
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


CHECKS = {"D5": second_library, "D6": driver_log, "N1": annotations, "N2": device_ranges, "D2": profiler, "D1": sanitizer, "D3": viewer, "D4": nsys}
ALONE = {"C1": cost, "C2": torch_speed}
