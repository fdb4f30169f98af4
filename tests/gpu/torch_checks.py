"""T: snapshots of PyTorch's own recorder, for testing the viewer. Each comes with PyTorch's own figures."""

import json

import snapshots


def recorded(mode, seconds=100):
    def judged(kit, judge):
        kit.need_module("torch")
        name = f"torch-own-{mode}"
        run = kit.run(kit.script("torch_snapshots", mode, kit.out / name), name, seconds=seconds)
        told = sorted(kit.out.glob(f"{name}*.json"))
        judge.judge("T1", run["code"] == 0 and told, f"{mode}: exit {run['code']} after {run['seconds']:.0f} s", f"steps/torch_snapshots.py: see {name}.log")
        for path in told:
            seen, file = json.loads(path.read_text()), path.with_suffix(".pickle")
            judge.info("T1", f"{file.name}: {file.stat().st_size} bytes, written in {seen['dump_s']:.1f} s, peak {seen['peak']}", **seen)
            if mode != "large":
                same_peak(judge, file, seen)

    return judged


def same_peak(judge, file, seen):
    """The highest sum of live requests in the history, against torch's own counter."""
    live, now, peak = {}, 0, 0
    for event in snapshots.events(snapshots.read(file), "alloc", "free_completed"):
        if event["action"] == "alloc":
            live[event["addr"]] = event["size"]
            now += event["size"]
            peak = max(peak, now)
        else:
            now -= live.pop(event["addr"], 0)
    judge.judge("T1", peak == seen["peak"]["requested"], f"{file.name}: the history's peak of requested bytes is {peak}", "FORMAT: what events count")


# The longest first.
CHECKS = {"T1 large": recorded("large", 200)}
CHECKS |= {f"T1 {mode}": recorded(mode) for mode in ["compiled", "training", "expandable", "graphs", "oom", "ranks"]}
