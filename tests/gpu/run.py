"""Asks a driver for its habits, and judges captures of programs on it: one line per check, PASS, FAIL, INFO or SKIP.

    python3 tests/gpu/run.py --kit gpu-kit --out out                      on a machine with a GPU (README.md)
    python3 tests/gpu/run.py --fake CUDA --capture PROGRAM --programs FOLDER --out out     on the stand-in driver in CUDA

`verdicts.txt` has the lines, `verdicts.json` all figures, and the rest of the folder the output, snapshots and raw logs of all
programs. The exit code is 1 if a check failed.
"""

import argparse
import concurrent.futures
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import driver_checks
import other_checks
import program_checks
import torch_checks
from judge import Judge
from kit import Kit

# Programs that run in parallel.
WORKERS = 8
# Keeps the driver loaded, which takes seconds. Habits do not see it: it has no context.
HOLD = "import ctypes, time; ctypes.CDLL('libcuda.so.1').cuInit(0); time.sleep(600)"


def is_wanted(name, only):
    return not only or name in only or name.split()[0] in only or name[0] in only


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kit", default="gpu-kit", help="folder made by `cargo xtask gpu-kit`, unpacked")
    parser.add_argument("--capture", help="vramscope-capture, instead of the kit's")
    parser.add_argument("--programs", help="folder with the captured programs, instead of the kit's")
    parser.add_argument("--out", default="gpu-out", help="output folder")
    parser.add_argument("--fake", help="folder with fakecuda as libcuda.so.1, for a machine without a GPU")
    parser.add_argument("--only", help="checks to run, or their first letters, separated by commas")
    parser.add_argument("--seconds", type=float, default=540, help="time for all checks")
    parser.add_argument("--list", action="store_true", help="print the checks")
    arguments = parser.parse_args()
    tables = [driver_checks.CHECKS, program_checks.CHECKS, torch_checks.CHECKS | other_checks.CHECKS, program_checks.ALONE, other_checks.ALONE]
    if arguments.list:
        print("\n".join(name for table in tables for name in table))
        return 0
    only = arguments.only.split(",") if arguments.only else []
    out = pathlib.Path(arguments.out).resolve()
    out.mkdir(parents=True, exist_ok=True)
    capture = arguments.capture or pathlib.Path(arguments.kit, "vramscope-capture")
    programs = arguments.programs or arguments.kit
    kit, judge = Kit(capture, programs, out, arguments.fake, time.monotonic() + arguments.seconds), Judge(out)
    program_checks.compile_runtime(kit)
    holder = kit.begin([sys.executable, "-c", HOLD])
    wanted = [[(name, check) for name, check in table.items() if is_wanted(name, only)] for table in tables]
    driver, beside, others, *alone = wanted
    # Habits are tested while nothing else uses the device, and so are free memory and times.
    for name, check in driver:
        judge.run(name, check, kit)
    for table in [beside, others]:
        with concurrent.futures.ThreadPoolExecutor(2 if kit.is_fake else WORKERS) as pool:
            list(pool.map(lambda item: judge.run(*item, kit), table))
    for name, check in [item for table in alone for item in table]:
        judge.run(name, check, kit)
    holder.kill()
    return judge.close()


if __name__ == "__main__":
    sys.exit(main())
