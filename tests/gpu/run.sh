#!/bin/sh
# Checks of capturing that need a GPU; see README.md. Options are those of run.py.
set -u
here=$(cd "$(dirname "$0")" && pwd)
exec "${PYTHON:-python3}" "$here/run.py" "$@"
