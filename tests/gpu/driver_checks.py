"""G: the driver's habits, on which the recorder and the stand-in driver are based."""

import json
import re

from kit import ROOT

# Calls that sample the pools; `record_synchronise` and `after_trim` in the hooks.
SAMPLED = {"cuStreamSynchronize", "cuCtxSynchronize", "cuEventSynchronize", "cuMemPoolTrimTo"}


def but(found):
    """The differences, as the end of a text."""
    return f", but {found}" if found else ""


def hooks():
    """The names of all hooked functions."""
    text = (ROOT / "crates/vramscope-inject/src/hooks/table.rs").read_text()
    return re.findall(r'row\("(cu\w+)"', text)


def habits(kit, judge):
    """Every habit of `crates/fakecuda/habits.json`, compared key by key."""
    known = json.loads((ROOT / "crates/fakecuda/habits.json").read_text())
    answers = kit.answers("habits")
    asked = answers["habits"]
    (kit.out / "habits.json").write_text(json.dumps(asked, indent=1))
    judge.judge("HABITS", not answers["failed"], f"{len(asked)} of {len(known)} habits asked{but(answers['failed'])}", "tests/gpu/steps/habits.py")
    differing = 0
    for name, value in asked.items():
        habit = known.get(name)
        if habit is None:
            judge.judge("HABITS", False, f"{name} is not in habits.json", "crates/fakecuda/habits.json")
        elif habit["value"] != value:
            differing += 1
            consequence = "crates/fakecuda/habits.json: set it, basis `observed`, and run the capture's tests"
            text = f"{name}: {value} instead of {habit['value']} ({habit['basis']})"
            # Habits that NVIDIA documents cannot differ; guesses may.
            if habit["basis"] == "documented" or kit.is_fake:
                judge.judge("HABITS", False, text, consequence)
            else:
                judge.say("INFO", "HABITS", f"{text} => {consequence}", consequence)
    judge.info("HABITS", f"{differing} of {len(asked)} differ; answers in habits.json (FAKECUDA_HABITS)")


def g1(kit, judge):
    names = hooks()
    found = kit.answers("names", *names)
    unknown, misnamed = found["unknown"], found["misnamed"]
    judge.judge(
        "G1", found["asked"] > 0 and not unknown, f"{found['known']} of {found['asked']} pointers are those of dlsym{but(unknown[:5])}",
        "inject/src/hooks/lookup.rs: these functions are not recorded", **found)
    judge.judge(
        "G1", not misnamed, f"dladdr names {found['known'] - len(misnamed)} of {found['known']} as dlsym does, {found['aliases']} aliases{but(misnamed[:5])}",
        "inject/src/hooks/lookup.rs must not rest on dladdr")
    judge.info("G1", f"{len(names) - len(found['missing'])} of {len(names)} hooked names are exported{but(found['missing'])}")


def g2(kit, judge):
    found = kit.answers("memory", "kinds")
    failed = {name: one["result"] for name, one in found.items() if one["result"] != 0}
    judge.judge("G2", not failed, f"attributes of {len(found) - len(failed)} of {len(found)} kinds{but(failed)}",
                "inject/src/hooks/events.rs: fewer attributes for these kinds", found=found)
    # A graph gets its memory when it is launched.
    graph = found.pop("graph node")
    judge.judge("G2", graph["device"] == -2 and not graph["mapping_size"], f"memory of a graph node is on device {graph['device']}, mapping {graph['mapping_size']}",
                "record/src/model/calls.rs: memory of graphs has a place before the launch")
    launched = found.pop("launched graph")
    judge.info("G2", f"memory of a launched graph: {launched}")
    wrong = {name: one["device"] for name, one in found.items() if one["result"] == 0 and one["device"] != 0}
    judge.judge("G2", not wrong, f"the device of {len(found) - len(wrong)} of {len(found)} kinds is 0{but(wrong)}",
                "record/src/model/calls.rs takes a negative device of pool memory for the host")
    unplaced = [name for name, one in found.items() if one["result"] == 0 and not one["mapping_size"]]
    judge.judge("G2", not unplaced, f"mappings of {len(found) - len(unplaced)} of {len(found)} kinds{but(unplaced)}",
                "their allocations are segments of their own; pools have unplaced memory")
    null = [name for name, one in found.items() if one["context"] == 0]
    judge.info("G2", f"no context for {len(null)} of {len(found)}: {[name for name in null if not name.startswith('small')]}")


def g3(kit, judge):
    moments = kit.answers("memory", "sums")["moments"]
    larger = [one for one in moments if one["sum"] > one["reserved"]]
    judge.judge("G3", not larger, f"mappings never sum to more than the pool reserves ({len(moments)} moments){but(larger[:2])}",
                "record/src/model/pools.rs: attributes 18 and 19 are not chunks, is_inexact applies", moments=moments)
    # If nothing was freed yet, every chunk has a live block. The chunks after a block's first one are inferred.
    early = [one for one in moments if "more" in one["moment"]]
    equal = [one for one in early if one["sum"] == one["reserved"]]
    text = f"sums equal what is reserved at {len(equal)} of {len(early)} moments, {[one['reserved'] - one['sum'] for one in early]}"
    judge.judge("G3", len(equal) == len(early), text, "the rest is shown as `Pool, unplaced`")
    taken = [one["taken"] - one["reserved"] for one in moments]
    judge.info("G3", f"the device's free memory fell by this more than the pool reserves: {taken}")


def g4(kit, judge):
    moments = kit.answers("memory", "sums")["moments"]
    sizes = {}
    for size in moments[-5]["sizes"]:
        sizes[size] = sizes.get(size, 0) + 1
    judge.info("G4", f"chunk sizes: {sizes}")


def g5(kit, judge):
    found = kit.answers("memory", "pages")
    judge.judge("G5", len(found["mappings"]) == 1, f"20 x 777 bytes lie in {len(found['mappings'])} mapping(s): {list(found['mappings'].values())}",
                "record/src/model/space.rs: segments of small allocations")
    judge.judge("G5", found["after half"] == found["mappings"], "it stays when half of them are freed", "as above")
    judge.judge("G5", found["left"] == 0, f"{found['left']} bytes are left after the last", "segments of small allocations must outlive them")


def g6(kit, judge):
    found = kit.answers("memory", "neighbours")
    same = all(found["before"][key] == found["after"][key] for key in ["mapping_base", "mapping_size"])
    judge.judge("G6", same, "a mapping is unchanged after its neighbours went", "record/src/model/space.rs: mappings change", found=found)


def g7(kit, judge):
    found = kit.answers("memory", "synchronisations")
    trimming = {name for name, released in found.items() if released > 0}
    judge.judge("G7", trimming <= SAMPLED, f"pools release memory at {sorted(trimming)}",
                f"hooks.rs: {sorted(trimming - SAMPLED)} need record_synchronise", released=found)


def g8(kit, judge):
    found = kit.answers("memory", "ends")
    survives = found["used after"] >= found["used before"]
    is_plain = survives or found["used after"] == 0
    judge.judge("G8", is_plain, f"after a reset the default pool uses {found['used after']} of {found['used before']} bytes",
                "record/src/model.rs push_pool_sample: a part of a pool's memory ended", found=found)
    judge.info("G8", f"pool memory {'outlives' if survives else 'ends with'} the primary context; {found['left'] >> 20} MiB of 768 are left")


def g10(kit, judge):
    found = kit.answers("capturing")
    exchanged = {name: codes for name, codes in found.items() if name.endswith("exchange")}
    bad = {name: codes for name, codes in exchanged.items() if codes["end"] != 0 or codes["launch"] != 0}
    judge.judge("G10", not bad, f"{len(exchanged) - len(bad)} of {len(exchanged)} captures survive a query in a relaxed exchange{but(list(bad.items())[:3])}",
                "inject/src/hooks/capturing.rs: these queries must wait until the capture's end", found=found)
    bare = [name for name, codes in found.items() if name.endswith("bare") and (codes["end"] or codes["query"])]
    judge.info("G10", f"bare queries that fail or end the capture: {bare}")


def g11(kit, judge):
    found = kit.answers("callback")
    judge.judge("G11", found["ms"] < 10, f"cuCtxGetDevice in a host function returns {found['code']} after {found['ms']:.2f} ms",
                "inject/src/ranges.rs: no query on threads of callbacks")


def g12(kit, judge):
    found = kit.answers("costs")
    text = ", ".join(f"{name} {value:.0f} ns" for name, value in found.items())
    attributes = max(found["attributes"], found["attributes of a pool"])
    is_cheap = attributes <= 1000 and 2 * found["exchange"] <= 200
    # On a busy machine times mean little.
    judge.say("PASS" if is_cheap and not kit.is_fake else "INFO", "G12", text, **{"ns": found})


CHECKS = {
    "HABITS": habits, "G1": g1, "G2": g2, "G3": g3, "G4": g4, "G5": g5, "G6": g6, "G7": g7, "G8": g8, "G10": g10, "G11": g11, "G12": g12,
}
