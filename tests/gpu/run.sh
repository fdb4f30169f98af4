#!/bin/sh
# What only a machine with a GPU can tell of capturing: see README.md beside this. Options are run.py's.
set -u
here=$(cd "$(dirname "$0")" && pwd)
exec "${PYTHON:-python3}" "$here/run.py" "$@"
