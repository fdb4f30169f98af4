"""Packs the results of `run.py` for the way back: `pack.py OUT TO`. At most 6 files of 16 MiB, 64 MiB in all: the verdicts as they are, and
`results.tar.xz` in parts, its most important contents first. Raw logs are sparse files: the tar leaves their holes out.
"""

import pathlib
import subprocess
import sys

MOST_BYTES, MOST_PARTS = 16 << 20, 3


def rank(path):
    """Small and informative files first, so that the least important ones do not fit."""
    order = {".json": 0, ".txt": 0, ".log": 1, ".raw": 2, ".pickle": 3}
    return order.get(path.suffix, 4), path.stat().st_blocks, str(path)


def main():
    out, to = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    to.mkdir(parents=True, exist_ok=True)
    for name in ["verdicts.txt", "verdicts.json", "habits.json"]:
        if (out / name).exists():
            (to / name).write_bytes((out / name).read_bytes()[:MOST_BYTES])
    # Programs compiled here are not needed back.
    files = [path for path in out.rglob("*") if path.is_file() and not path.name.startswith("rt-") or path.suffix == ".log"]
    files = sorted((path for path in files if path.is_file()), key=rank)
    listed = "\0".join(str(path.relative_to(out)) for path in files).encode()
    command = ["tar", "--directory", str(out), "--sparse", "--create", "--null", "--files-from=-"]
    tar = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    xz = subprocess.Popen(["xz", "-3", "--threads=0"], stdin=tar.stdout, stdout=subprocess.PIPE)
    tar.stdout.close()
    tar.stdin.write(listed)
    tar.stdin.close()
    packed = xz.stdout.read()
    parts = [packed[start:start + MOST_BYTES] for start in range(0, len(packed), MOST_BYTES)]
    for number, part in enumerate(parts[:MOST_PARTS]):
        (to / f"results.tar.xz.{number}").write_bytes(part)
    print(f"{len(files)} files, {len(packed)} bytes in {min(len(parts), MOST_PARTS)} of {len(parts)} parts")
    # A truncated archive still has its beginning; `cat results.tar.xz.* | xz -d | tar -x` reads it.
    return int(tar.wait() != 0 or xz.wait() != 0 or len(parts) > MOST_PARTS)


sys.exit(main())
