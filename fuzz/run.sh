#!/bin/sh
# Builds a target with the active compiler (stable will do) and fuzzes with it.
# usage: fuzz/run.sh TARGET [libFuzzer option...]
set -eu
cd "$(dirname "$0")/.."
target=$1
shift
out=${CARGO_TARGET_DIR:-target}/fuzz
host=$(rustc -vV | sed -n 's/^host: //p')
# The flags cargo-fuzz passes, less the sanitizer's: those need a nightly compiler. An explicit
# --target keeps them from build scripts and procedural macros.
RUSTFLAGS="--cfg fuzzing -Cdebug-assertions -Coverflow-checks -Ccodegen-units=1 \
-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares" \
    cargo build --quiet --release --target "$host" --target-dir "$out" -p vramscope-fuzz --bin "$target"
mkdir -p "fuzz/corpus/$target" fuzz/artifacts
exec "$out/$host/release/$target" "fuzz/corpus/$target" fuzz/corpus/seeds \
    -artifact_prefix="fuzz/artifacts/$target-" -dict=fuzz/pickle.dict -max_len=20000 \
    -rss_limit_mb=1024 -timeout=10 "$@"
