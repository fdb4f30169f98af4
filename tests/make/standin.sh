#!/bin/sh
# Runs record_gpu.py, or $SCRIPT beside it, over crates/vramscope-standin, without a GPU.
#
#     PYTHON=/path/to/venv/bin/python sh tests/make/standin.sh [record_gpu.py's arguments]
#
# Needs a Python with a CUDA build of torch as PyPI has it. Its version of CUDA tells how the runtime's structs are laid out.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
target=$(cd "$here" && cargo metadata --no-deps --format-version 1 | "$python" -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')
(cd "$here" && cargo build --quiet --package vramscope-standin)
cp "$target/debug/libvramscope_standin.so" "$build"
# torch opens some by name, and links others, which need not be installed.
for name in $(cat "$here/../../crates/vramscope-standin/src/names.txt"); do
    ln -s libvramscope_standin.so "$build/$name"
done
cuda=$("$python" -c 'import importlib.util, re; file = importlib.util.find_spec("torch").origin.replace("__init__", "version"); major, minor = re.search(r"cuda.*= .(\d+)\.(\d+)", open(file).read()).groups(); print(int(major) * 1000 + int(minor) * 10)')
export STANDIN_CUDA="$cuda"
LD_LIBRARY_PATH="$build" LD_PRELOAD="$build/libvramscope_standin.so" "$python" "$here/${SCRIPT:-record_gpu.py}" "$@"
