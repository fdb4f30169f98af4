#!/bin/sh
# Runs record_gpu.py, or $SCRIPT beside it, over fakecuda.c and fakelibraries.c, without a GPU.
#
#     PYTHON=/path/to/venv/bin/python sh tests/make/fakecuda.sh [record_gpu.py's arguments]
#
# Needs gcc, and a Python with a CUDA build of torch as PyPI has it. CUDA's headers come with torch's own
# dependencies, but for a few that need: pip install --no-deps nvidia-cuda-crt (CUDA 13),
# nvidia-cuda-nvcc-cu12 or nvidia-cuda-nvcc-cu11==11.7.99 (torch 2.0).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
headers=$(dirname "$(find "$packages/nvidia" -name cuda_runtime_api.h | head -n 1)")
more=$(dirname "$(dirname "$(find "$packages/nvidia" -path '*/crt/host_defines.h' | head -n 1)")")
gcc -shared -fPIC -O1 -o "$build/libfakecuda.so" "$here/fakecuda.c" "$here/fakelibraries.c" -I"$headers" -I"$more"
# torch opens these two by name for a few calls.
ln -s libfakecuda.so "$build/libcuda.so.1"
ln -s libfakecuda.so "$build/libnvidia-ml.so.1"
LD_LIBRARY_PATH="$build" LD_PRELOAD="$build/libfakecuda.so" "$python" "$here/${SCRIPT:-record_gpu.py}" "$@"
