"""The figures of `vramscope` itself for a file; called with the program and the file."""

import json
import subprocess


def peaks(program, file):
    """Device -> the facts of `vramscope peak --json`, its table under `live`."""
    answer = subprocess.run([program, "peak", file, "--json", "--limit", "0"], check=True, capture_output=True)
    return {part["device"]: part for part in json.loads(answer.stdout)["parts"]}


def check(name, found, expected):
    if found != expected:
        raise SystemExit(f"{name}: found {found!r}, expected {expected!r}")
