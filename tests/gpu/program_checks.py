"""B: programs under capture. Each is run captured, and also alone where that is informative, and judged by an oracle
other than the recorder: what the program got, torch's own segments, CUPTI."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter

import snapshots
from judge import Skip

MIB = 1 << 20
MISSED = "inject/src/hooks: calls that are not hooked, or hooks that were not found (G1)"


def clean(judge, check, run, what, **wanted):
    """Judges the requirements for every capture. Returns the snapshot, or None."""
    wrong = snapshots.problems(run, **wanted)
    judge.judge(check, not wrong, f"{what}: " + ("; ".join(wrong) or "captured in order"), f"see {what}.log and its raw logs")
    return snapshots.read(run["snapshots"][0]) if run["snapshots"] else None


def written(path):
    """What a program wrote about itself."""
    if not path.exists():
        raise RuntimeError(f"{path.name} was not written: the program failed")
    return json.loads(path.read_text())


def same_allocations(judge, check, what, theirs, snapshot):
    words = snapshots.difference(Counter(map(tuple, theirs)), snapshots.allocated(snapshot))
    judge.judge(check, not words, f"{what}: {len(theirs)} allocations, {words or '0 missing, 0 extra'}", MISSED)


def of_cupti(records):
    """Allocations of device and managed memory that CUPTI saw."""
    return [tuple(record[2:4]) for record in records if record[0] == "alloc" and record[1] in (3, 5)]


def beside_cupti(judge, check, what, seen, snapshot):
    if seen.get("records") is None:
        judge.say("SKIP", check, f"{what}: CUPTI: {seen.get('cupti')}")
        return
    theirs, ours = Counter(of_cupti(seen["records"])), snapshots.allocated(snapshot)
    missing, extra = snapshots.difference(theirs, theirs & ours), snapshots.difference(ours & theirs, ours)
    judge.judge(check, not missing, f"{what}: CUPTI has {sum(theirs.values())} allocations, {missing or '0 missing'}", MISSED)
    judge.info(check, f"{what}: not in CUPTI's records: {extra or 'nothing'}")


# ---- driver and runtime -------------------------------------------------------------------------


def compiled(kit, name):
    """A program that nvcc has compiled by now."""
    if name not in kit.compiled:
        raise Skip("no nvcc here" if not kit.is_fake else "nvcc and a real driver are needed")
    process, program = kit.compiled[name]
    if process.wait(timeout=120) != 0:
        raise RuntimeError(f"nvcc: {process.stderr.read()[-300:]}")
    return program


def printed(run):
    """The allocations that `rt.cu` printed."""
    return [tuple(map(int, line.split()[1:])) for line in run["output"].splitlines() if line.startswith("alloc ")]


def runtime(check, name, mode=""):
    def judged(kit, judge):
        program = compiled(kit, name)
        words = [program, mode] if mode else [program]
        what = f"rt-{name}{'-' + mode if mode else ''}"
        run = kit.capture(words, what)
        snapshot = clean(judge, check, run, what)
        same_allocations(judge, check, what, printed(run), snapshot)
        if name == "per-thread":
            found = [event for path in run["logs"] for event in snapshots.log_events(path)[0] if event["call"] in (4, 5, 21)]
            flagged = [event for event in found if event["flags"] & snapshots.PER_THREAD_STREAM]
            judge.judge(check, found and len(flagged) == len(found), f"{len(flagged)} of {len(found)} calls are of the thread's own stream",
                        "inject/src/hooks/lookup.rs: the _ptsz variants are not found")
        if name == "static" and not mode:
            count, good = snapshots.named_stacks(snapshot)
            judge.judge("S1", count and good >= 0.99 * count, f"{good} of {count} allocations of {what} have 3 named frames", "inject/src/stack")
            events = snapshots.events(snapshot, "alloc")
            ordered = [event for event in events if in_order([frame["name"] for frame in event["frames"]], ["layer", "main"])]
            judge.judge("S1", len(ordered) >= 21, f"{len(ordered)} stacks lead from main to layer", "inject/src/stack, capture/src/symbols")
        if mode == "leak":
            judge.judge("B12", 64 * MIB in snapshots.live(snapshot).values(), f"{what}: the leaked 64 MiB are in the snapshot",
                        "the end of contexts at exit must not count: hooks/contexts.rs")
        if mode == "reset":
            left = [size for size in snapshots.live(snapshot).values()]
            judge.info("G8", f"after cudaDeviceReset {len(left)} allocations are live: {sorted(left)[-3:]}")

    return judged


def in_order(names, wanted):
    """Whether the innermost-first names hold all wanted ones in this order."""
    rest = iter(names)
    return all(any(word in name for name in rest) for word in wanted)


def driver(kit, judge):
    for way in ["dlsym", "proc", "proc per thread"]:
        what = f"driver-{way.replace(' ', '-')}"
        told = kit.out / f"{what}.json"
        run = kit.capture(kit.script("driver_program", "all", way, told), what)
        snapshot = clean(judge, "B4", run, what)
        seen = written(told)
        same_allocations(judge, "B4", what, seen["did"], snapshot)
        beside_cupti(judge, "B4", what, seen, snapshot)
        held = [bytes for _, bytes in snapshots.held_by_pools(snapshot)][-1:]
        judge.judge("B4", sum(held) == seen["reserved"], f"{what}: pools hold {sum(held)} of {seen['reserved']} bytes in the snapshot",
                    "inject/src/hooks/pools.rs: a release was not sampled")


def clients(kit, judge):
    for name in ["loading", "linking", "eager"]:
        program = kit.program(name)
        alone = kit.run([program])
        run = kit.capture([program], name)
        judge.judge("B5", (alone["code"], alone["output"]) == (run["code"], run["output"]), f"{name}: exit and output are those of the program alone",
                    "the capture changes the program")
        snapshot = clean(judge, "B5", run, name, code=alone["code"])
        count, good = snapshots.named_stacks(snapshot)
        judge.judge("S2", count and good >= 0.99 * count, f"{good} of {count} allocations of {name} have 3 named frames", "inject/src/stack")


def scenes(kit, judge):
    """The scenes of `tests/capture`. They check the stand-in driver's habits; a real one may differ (HABITS)."""
    # `tests/capture` runs them all on the stand-in driver.
    for scene in ["plain", "ranges"] if kit.is_fake else ["plain", "pools", "ranges", "graphs", "arrays", "imports", "contexts"]:
        goes_on = {} if kit.is_fake else {"SCENES_GO_ON": "1"}
        run = kit.capture([kit.program("scenes"), "dlsym", scene], f"scene-{scene}", environment=goes_on)
        differs = [line for line in run["errors"].splitlines() if line.startswith("differs: ")]
        if differs:
            judge.info("B4", f"scene-{scene} {'; '.join(differs)} => crates/fakecuda, and the scene")
        if run["code"] == 0 or kit.is_fake:
            clean(judge, "B4", run, f"scene-{scene}")
        else:
            judge.info("B4", f"scene-{scene} ends with {run['code']}: {run['errors'].strip()[-160:]}")


def leak(kit, judge):
    run = kit.capture(kit.script("driver_program", "leak", "dlsym", os.devnull), "leak")
    snapshot = clean(judge, "B12", run, "leak")
    judge.judge("B12", 64 * MIB in snapshots.live(snapshot).values(), "the 64 MiB that live when main returns are in the snapshot",
                "the end of contexts at exit must not count: hooks/contexts.rs")


def out_of_memory(kit, judge):
    told = kit.out / "oom.json"
    run = kit.capture(kit.script("driver_program", "oom", "dlsym", told), "oom", ["--dump-on-oom"])
    seen, snapshot = written(told), snapshots.read(kit.out / "oom.pickle")
    events = snapshots.events(snapshot, "oom")
    judge.judge("B13", seen["code"] == 2 and len(events) == 1 and events[0]["size"] == 4 << 40, f"4 TiB fail with {seen['code']}, {len(events)} oom event(s)",
                "inject/src/hooks/entry.rs write_result")
    if events:
        free = events[0].get("device_free", events[0].get("addr"))
        judge.judge("B13", abs(free - seen["free"]) <= 0.01 * seen["free"], f"{free} bytes were free, by cuMemGetInfo {seen['free']}", "events.rs write_out_of_memory")
    dumps = [path.name for path in run["snapshots"] if "oom-1" in path.name]
    judge.judge("B13", len(dumps) == 1, f"a snapshot of the failure: {dumps}", "capture/src/follow: --dump-on-oom")


def killed(kit, judge):
    """SIGKILL in the middle: everything except the last moment is in the log. Before it, a snapshot from outside."""
    child = kit.begin(kit.captured_command(kit.script("driver_program", "loop", "dlsym", os.devnull), "killed"))
    try:
        end = time.monotonic() + 20
        while not kit.found("killed")["logs"] and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1.0)
        log = kit.found("killed")["logs"][0]
        process = int(log.name.split("-")[0])
        dump = kit.run([kit.capture_program, "dump", process, "-o", kit.out / "now.pickle"], "dump")
        shown = snapshots.read(kit.out / "now.pickle") if dump["code"] == 0 else None
        judge.judge("B14", shown is not None and snapshots.events(shown, "alloc"), f"dump of a running program: exit {dump['code']}", "capture/src/commands/dump.rs")
        os.kill(process, signal.SIGKILL)
        at_ns = time.time_ns()
        child.wait(timeout=60)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    events, lost = snapshots.log_events(log)
    before_ms = (at_ns - events[-1]["time_ns"]) / 1e6
    judge.judge("B14", before_ms <= 100 and len(events) > 100, f"killed: {len(events)} events, the last {before_ms:.1f} ms before, {lost} bytes are no records",
                "inject/src/log: records are lost when the program is killed")
    judge.judge("B14", kit.found("killed")["snapshots"], "killed: a snapshot was written", "capture/src/finish.rs")


def live(kit, judge):
    """A running program that is watched: new versions of the snapshot come until it ends."""
    file = kit.out / "live.vram"
    script = kit.script("driver_program", "loop", "dlsym", os.devnull)
    command = [kit.capture_program, "run", "--live", "--every", "200ms", "--raw-dir", kit.out / "live.raw", "-o", file, "--", *script]
    child, versions, log = kit.begin(command), set(), None
    try:
        end = time.monotonic() + 20
        while len(versions) < 5 and time.monotonic() < end:
            if file.exists():
                versions.add(file.stat().st_mtime_ns)
            time.sleep(0.02)
        log = kit.found("live")["logs"][0]
        os.kill(int(log.name.split("-")[0]), signal.SIGKILL)
        child.wait(timeout=30)
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    times = sorted(versions)
    gaps_ms = [round((after - before) / 1e6) for before, after in zip(times, times[1:])]
    # On the stand-in driver's busy machines gaps mean nothing.
    judge.judge("L1", len(times) >= 5 and (kit.is_fake or max(gaps_ms) < 1000), f"a live file has a new version after {gaps_ms} ms", "capture/src/follow/live")
    whole = file.stat().st_mtime_ns > times[-1] if times else False
    judge.judge("L1", whole, f"the last version was written when the program had ended, exit {child.returncode}", "capture/src/follow/live")


def bounded(kit, judge):
    told = kit.out / "bounded.json"
    run = kit.capture(kit.script("driver_program", "all", "dlsym", told), "bounded", ["--max-entries", "100"])
    snapshot = snapshots.read(run["snapshots"][0])
    entries = max(len(trace) for trace in snapshot["device_traces"])
    judge.judge("B14", run["code"] == 0 and entries == 100, f"--max-entries 100: {entries} entries, exit {run['code']}", "record/src/model/journal.rs")


def sums(kit, judge):
    """Used memory according to the driver grows like the recorder's tracked memory."""
    told = kit.out / "sums.json"
    run = kit.capture(kit.script("driver_program", "sums", "dlsym", told), "sums")
    snapshot = clean(judge, "B15", run, "sums")
    samples = [sample for sample in snapshot["capture"]["memory"] if "free_bytes" in sample]
    before = None
    for kind, time_us in written(told)["points"]:
        sample = [sample for sample in samples if sample["time_us"] <= time_us][-1]
        other = sample["total_bytes"] - sample["free_bytes"] - sample["tracked_bytes"]
        if before is not None and kind != "nothing":
            judge.judge("B15", abs(other - before) <= 2 * MIB, f"after {kind}: tracked memory is off by {other - before} bytes",
                        f"record/src/model: {kind} memory is counted wrongly")
        before = other


# ---- torch --------------------------------------------------------------------------------------


def torch_run(kit, judge, check, mode, *words, logs=1, options=()):
    """Runs the torch program in a mode. Returns the run, its snapshot and its report."""
    kit.need_module("torch")
    what = f"torch-{mode}{''.join('-' + word for word in words)}"
    told = kit.out / f"{what}.json"
    python, *script = kit.script("torch_program", mode, told, *words)
    run = kit.capture([python, *options, *script], what)
    return clean(judge, check, run, what, logs=logs), written(told)


def at(snapshot, time_us):
    """Live allocations and mapped ranges at a time: address to bytes, and (start, bytes)."""
    live, mapped = {}, []
    for event in sorted(snapshots.events(snapshot, "alloc", "free_completed", "segment_map", "segment_unmap"), key=lambda event: event["time_us"]):
        if event["time_us"] > time_us:
            break
        start, size = snapshots.address(event["addr"]), event["size"]
        if event["action"] == "alloc":
            live[start] = size
        elif event["action"] == "free_completed":
            live.pop(start, None)
        elif event["action"] == "segment_map":
            mapped.append((start, size))
        else:
            mapped = without(mapped, start, start + size)
    return live, mapped


def without(ranges, start, end):
    """Ranges as (start, bytes) without those addresses."""
    left = []
    for first, size in ranges:
        left.append((first, min(first + size, start) - first))
        left.append((max(first, end), first + size - max(first, end)))
    return [one for one in left if one[1] > 0]


def torch_native(kit, judge):
    has_perf = sys.version_info >= (3, 12)
    snapshot, seen = torch_run(kit, judge, "B6", "native", options=["-X", "perf"] if has_perf else [])
    same_segments(judge, "B6", snapshot, seen)
    names = stacks(judge, snapshot)
    if has_perf:
        judge.judge("S3", any("train" in name for name in names), "stacks name the Python function `train`", "inject/src/stack/generated.rs, capture/src/symbols")


def same_segments(judge, check, snapshot, seen):
    """Judges whether torch's own segments are captured allocations."""
    for moment in seen["moments"]:
        live, _ = at(snapshot, moment["time_us"])
        wanted = {tuple(one) for one in moment["segments"]}
        missing = wanted - set(live.items())
        judge.judge(check, not missing, f"{len(wanted) - len(missing)} of torch's {len(wanted)} segments are captured allocations, not {list(missing)[:2]}", MISSED)
        extra = sorted(size for item in live.items() if item not in wanted for size in item[1:])
        judge.info(check, f"{len(extra)} allocations that are not torch's, {sum(extra)} bytes, the largest {extra[-3:]}")


STRIPPED = ["libcudart", "libcublas", "libcudnn", "libc.so", "libstdc++", "libcuda.so"]


def stacks(judge, snapshot):
    """Judges the stacks of torch's allocations. Returns the names of all frames."""
    count, good = snapshots.named_stacks(snapshot)
    judge.judge("S3", count and good >= 0.99 * count, f"{good} of {count} allocations of torch have 3 named frames", "inject/src/stack")
    frames = [frame for event in snapshots.events(snapshot, "alloc") for frame in event["frames"]]
    # NVIDIA's libraries and the system's have symbols only for their exports.
    own = [frame for frame in frames if not any(name in frame["filename"] for name in STRIPPED)]
    unresolved = {frame["filename"] for frame in own if frame["name"].startswith(("0x", "??"))}
    judge.judge("S3", not unresolved, f"all {len(own)} frames of torch and Python have names, of {len(frames)}, but in {unresolved or 'none'}", "capture/src/symbols")
    frames = [frame["name"] for frame in frames]
    judge.judge("S3", any("CUDACachingAllocator" in name for name in frames), "stacks pass through c10's caching allocator", "inject/src/stack")
    return set(frames)


def torch_expandable(kit, judge):
    snapshot, seen = torch_run(kit, judge, "B7", "expandable")
    for moment in seen["moments"]:
        live, mapped = at(snapshot, moment["time_us"])
        ours = snapshots.merged(mapped)
        theirs = snapshots.merged(tuple(one) for one in moment["segments"] if tuple(one) not in live.items() or tuple(one) in mapped)
        words = snapshots.difference(Counter(theirs), Counter(ours))
        judge.judge("B7", not words, f"{len(theirs)} mapped ranges of torch, captured {words or 'to the byte'}", "record/src/model/space/mapped.rs")


def torch_async(kit, judge):
    snapshot, seen = torch_run(kit, judge, "B8", "async", "cupti")
    beside_cupti(judge, "B8", "torch-async", seen, snapshot)
    for moment in seen["moments"]:
        earlier = [bytes for time_us, bytes in snapshots.held_by_pools(snapshot) if time_us <= moment["time_us"] + 5000]
        last = earlier[-1] if earlier else None
        judge.judge("B8", last == moment["reserved"], f"the pool holds {last} bytes, by torch {moment['reserved']}", "inject/src/hooks/pools.rs: a growth or release was not sampled")


def torch_graphs(kit, judge):
    for mode in ["graph-native", "graph-async"]:
        snapshot, seen = torch_run(kit, judge, "B9", mode)
        judge.judge("B9", seen["eager"] == seen["replayed"], f"{mode}: {len(seen['replayed'])} replayed losses equal those of eager steps", "the capture disturbs graphs (G10)")


def torch_oom(kit, judge):
    kit.need_module("torch")
    told = kit.out / "torch-oom.json"
    run = kit.capture(kit.script("torch_program", "oom", told), "torch-oom", ["--dump-on-oom"])
    dumps = [path.name for path in run["snapshots"] if "oom-1" in path.name]
    judge.judge("B13", written(told)["oom"] and dumps, f"torch runs out of memory: {dumps}", "capture/src/follow: --dump-on-oom")


def torch_processes(kit, judge):
    kit.need_module("torch")
    for context in ["fork", "spawn"]:
        told = kit.out / f"workers-{context}.json"
        run = kit.capture(kit.script("torch_program", f"workers-{context}", told), f"workers-{context}")
        judge.judge("B10", run["code"] == 0 and "sum" in written(told) and run["snapshots"],
                    f"data loader by {context}: exit {run['code']}, {len(run['logs'])} logs, {len(run['snapshots'])} snapshots", "inject/src/process.rs: fork and spawn")
    ranks = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    script = kit.script("torch_program", "rank", kit.out / "rank.json")
    run = kit.capture([script[0], *ranks, *script[1:]], "ranks")
    used = [path for path in run["logs"] if snapshots.log_events(path)[0]]
    judge.judge("B10", run["code"] == 0 and len(used) == 2 and len(run["snapshots"]) == 2,
                f"two ranks: exit {run['code']}, {len(used)} logs with events, {len(run['snapshots'])} snapshots", "capture/src/finish.rs: a snapshot of each process")


def library(name, module):
    def judged(kit, judge):
        kit.need_module(module)
        told = kit.out / f"{name}.json"
        run = kit.capture(kit.script("library_program", name, told), name)
        snapshot = clean(judge, "B11", run, name)
        beside_cupti(judge, "B11", name, written(told), snapshot)

    return judged


def compile_runtime(kit):
    """Starts nvcc for B1 to B3, to be ready when they are."""
    if kit.is_fake:
        return
    try:
        nvcc = kit.tool("nvcc")
    except Skip:
        return
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rt.cu")
    options = {"static": ["-cudart", "static"], "shared": ["-cudart", "shared"], "per-thread": ["--default-stream", "per-thread"]}
    for name, words in options.items():
        program = kit.out / f"rt-{name}"
        command = [nvcc, "-O1", "-g", "-Xcompiler", "-fno-omit-frame-pointer", *words, "-o", str(program), source]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        kit.compiled[name] = (process, program)


# In order of importance. Those before the mark may run in parallel; free memory and times are judged alone.
CHECKS = {
    "B1": runtime("B1", "static"), "B4": driver, "B6": torch_native, "B7": torch_expandable, "B8": torch_async, "B5": clients,
    "B2": runtime("B2", "shared"), "B3": runtime("B3", "per-thread"), "B9": torch_graphs, "B10": torch_processes, "B12": leak,
    "B13": out_of_memory, "B14": killed, "B14 ring": bounded, "B12 runtime": runtime("B12", "static", "leak"),
    "G8 runtime": runtime("G8", "static", "reset"), "B13 torch": torch_oom, "B11": library("nccl", "torch"),
    "B11 cupy": library("cupy", "cupy"), "B11 jax": library("jax", "jax"), "B11 numba": library("numba", "numba"), "B4 scenes": scenes,
    "L1": live,
}
ALONE = {"B15": sums}
