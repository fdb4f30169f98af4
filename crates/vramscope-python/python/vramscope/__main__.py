"""The command ``vramscope``, also as ``python -m vramscope``."""

from __future__ import annotations

import sys

from ._vramscope import run


def main() -> int:
    """Runs the program with this process's arguments, and returns its exit code."""
    return run(["vramscope", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
