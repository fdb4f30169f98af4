//! Programs that call CUDA by themselves.

use std::process::Command;

use tempfile::tempdir;

use super::*;

const NO_TORCH: Torch = Torch {
    version: String::new(),
    cuda: 12_060,
    cudnn: 90_501,
    nccl: 22_602,
    python: String::new(),
};

/// The exit code of a program for which `check(what, is_so)` must never be false; `None` where there is no Python.
fn checked(program: &str, options: &Options) -> Option<i32> {
    Command::new("python3").arg("--version").output().ok()?;
    let begin = "
import ctypes, os, struct, subprocess, sys
cuda = ctypes.CDLL(None)
def check(what, is_so):
    if not is_so: sys.exit(f'not so: {what}')
def number(function, *arguments):
    answer = ctypes.c_uint64()
    check(function, getattr(cuda, function)(ctypes.byref(answer), *arguments) == 0)
    return answer.value
GIB = 1 << 30
";
    let folder = tempdir().unwrap();
    let program = format!("{begin}{program}");
    let run = run_python("python3", &program, &NO_TORCH, options, folder.path());
    assert!(run.snapshots.is_empty());
    run.status.code()
}

#[test]
fn memory_is_counted_and_never_there() {
    let program = "
first = number('cudaMalloc', ctypes.c_uint64(70 * GIB))
check('no more than the card has', cuda.cudaMalloc(ctypes.byref(ctypes.c_uint64()), ctypes.c_uint64(20 * GIB)) == 2)
free, total = ctypes.c_uint64(), ctypes.c_uint64()
cuda.cudaMemGetInfo(ctypes.byref(free), ctypes.byref(total))
check('what is free', total.value // 2**20 == 80998 and free.value == total.value - 70 * GIB - (601 << 20))
check('given back', cuda.cudaFree(ctypes.c_uint64(first)) == 0)
# As the driver does, from the top downwards, and nothing twice.
check('room again', 0 < number('cudaMalloc', ctypes.c_uint64(78 * GIB)) < first)
check('not backed', int(open('/proc/self/statm').read().split()[1]) * 4096 < GIB)
";
    assert!(checked(program, &on("h100")).is_none_or(|code| code == 0));
}

#[test]
fn the_host_reads_what_it_wrote_and_zeros() {
    let program = "
address = number('cudaMalloc', ctypes.c_uint64(4096))
def copy(to, source, count): check('copied', cuda.cudaMemcpy(ctypes.c_uint64(to), ctypes.c_uint64(source), ctypes.c_uint64(count)) == 0)
here = ctypes.create_string_buffer(b'order of buckets', 16)
copy(address + 512, ctypes.addressof(here), 16)
there = ctypes.create_string_buffer(b'x' * 16, 16)
copy(ctypes.addressof(there), address + 512, 16)
check('what was written', there.raw == b'order of buckets')
copy(address + 1024, address + 512, 16)
copy(ctypes.addressof(there), address + 1024, 16)
check('what was copied', there.raw == b'order of buckets')
for _ in range(65): cuda.cudaLaunchKernel()
copy(ctypes.addressof(there), address + 1024, 16)
check('what kernels may have written', there.raw == b'\\0' * 16)
read = (ctypes.c_uint64 * 2)()
cuda.standin_read_back(read)
check('counted', list(read) == [1, 16])
";
    assert!(checked(program, &on("t4")).is_none_or(|code| code == 0));
}

#[test]
fn values_may_be_plausible() {
    let program = "
address = number('cudaMalloc', ctypes.c_uint64(4096))
here = ctypes.create_string_buffer(8)
cuda.cudaMemcpy(here, ctypes.c_uint64(address), ctypes.c_uint64(4))
check('a float', struct.unpack('f', here.raw[:4]) == (1.0,))
cuda.cudaMemcpy(here, ctypes.c_uint64(address), ctypes.c_uint64(8))
check('a whole number', struct.unpack('q', here.raw) == (1,))
";
    let options = Options {
        values: Values::Ones,
        ..on("t4")
    };
    assert!(checked(program, &options).is_none_or(|code| code == 0));
}

#[test]
fn a_card_says_what_it_is() {
    let program = "
properties = ctypes.create_string_buffer(1032)
check('asked', cuda.cudaGetDeviceProperties_v2(properties, 0) == 0)
check('name', properties.value == b'RTX 4090')
check('capability', struct.unpack_from('2i', properties, 360) == (8, 9))
check('processors', struct.unpack_from('i', properties, 388) == (128,))
check('shared memory', struct.unpack_from('q', properties, 696) == (99 * 1024,))
check('one device', cuda.cudaSetDevice(1) == 101 and cuda.cudaSetDevice(0) == 0)
check('not simulated', cuda.cusolverDnSgetrf() == 9)
";
    assert!(checked(program, &on("rtx4090")).is_none_or(|code| code == 0));
}

#[test]
fn no_driver_of_the_machine_is_opened() {
    // A library under the driver's name, first on the way of whoever looks for it, as where a GPU is there.
    let program = "
import shutil, tempfile
with tempfile.TemporaryDirectory() as folder:
    library = next(line.split()[-1] for line in open('/proc/self/maps') if 'libc.so' in line or 'libc-' in line)
    shutil.copy(library, folder + '/libcuda.so.1')
    look = '''
import ctypes
driver = ctypes.CDLL('libcuda.so.1')
assert driver.cuInit(0) == 0
assert not any(\"%s\" in line for line in open('/proc/self/maps')), 'the decoy was opened'
''' % folder
    subprocess.run([sys.executable, '-c', look], check=True, env={**os.environ, 'LD_LIBRARY_PATH': folder})
";
    assert!(checked(program, &on("t4")).is_none_or(|code| code == 0));
}

#[test]
fn a_programs_exit_code_is_kept() {
    assert!(checked("sys.exit(7)", &on("t4")).is_none_or(|code| code == 7));
}
