"""Runs a command over only the stand-in, without the recorder of `vramscope dry-run`, which has started this.

    python inside.py CODE COMMAND...

CODE is a file for the command's exit code: that of `vramscope dry-run` only says that it has recorded nothing itself.
"""

import os
import pathlib
import subprocess
import sys

del os.environ["VRAMSCOPE_DRY_RUN"]
code, *command = sys.argv[1:]
pathlib.Path(code).write_text(str(subprocess.call(command)))
