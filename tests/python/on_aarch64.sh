#!/bin/sh
# The wheel for aarch64 in a Python of Debian's for aarch64, under qemu: its answers must be those of this machine's, byte for byte.
#
#   on_aarch64.sh WHEEL PYTHON     PYTHON has the package for this machine, and pyarrow
#
# Needs apt of Debian 12 or newer, qemu-user and PyPI. Nothing is installed: all goes into a folder of its own, and goes with it.
set -eu
wheel=$(realpath "$1") python=$(realpath --no-symlinks "$2") here=$(dirname "$(realpath "$0")")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"
mkdir -p lists/partial cache/archives/partial site
chmod 755 .
apt="apt-get --quiet --quiet -o APT::Architectures::=arm64 -o Dir::State::lists=$folder/lists -o Dir::Cache=$folder/cache -o APT::Sandbox::User=root"
$apt update
version=$(apt-cache depends --important python3 | sed -n 's/.*Depends: python\(3\.[0-9]*\)$/\1/p' | head -1)
for package in "python$version-minimal" "libpython$version-minimal" "libpython$version-stdlib" \
    libc6 libgcc-s1 libstdc++6 zlib1g libexpat1 libffi8 libbz2-1.0 liblzma5 libuuid1 libcrypt1; do
    $apt download "$package:arm64"
done
for package in *.deb; do dpkg-deb --extract "$package" system; done
"$python" -m pip download --quiet --no-deps --only-binary :all: --platform manylinux_2_28_aarch64 \
    --python-version "$version" --dest . "pyarrow==$("$python" -c 'import pyarrow; print(pyarrow.__version__)')"
for each in "$wheel" pyarrow-*.whl; do "$python" -m zipfile --extract "$each" site; done

on_aarch64() { PYTHONPATH="$folder/site" qemu-aarch64 -L "$folder/system" "$folder/system/usr/bin/python$version" -B "$@"; }
on_aarch64 -c 'import platform; print(platform.machine(), platform.python_version(), *platform.libc_ver())'
on_aarch64 -m vramscope --version
on_aarch64 "$here/answers.py" > there.txt
"$python" "$here/answers.py" > here.txt
cmp here.txt there.txt
echo "$(wc -c < here.txt) bytes of answers are the same on aarch64"
