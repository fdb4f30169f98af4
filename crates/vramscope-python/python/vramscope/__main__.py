"""The command ``vramscope``, also as ``python -m vramscope``."""

from __future__ import annotations

import signal
import sys

from ._vramscope import run


def main() -> int:
    """Runs the program with this process's arguments, and returns its exit code."""
    # Otherwise Ctrl-C would become an exception here after the program has ended, even if the program handled it.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    return run(["vramscope", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
