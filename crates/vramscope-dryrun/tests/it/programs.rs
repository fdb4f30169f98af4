//! Programs that call CUDA themselves.

use std::fs;
use std::process::Command;

use tempfile::tempdir;

use super::*;

/// The exit code of a program that expects every `check(what, is_so)` to be true; `None` without a Python.
fn checked(program: &str, options: &Options) -> Option<i32> {
    Command::new("python3").arg("--version").output().ok()?;
    let begin = "
import ctypes, os, struct, subprocess, sys
os.environ['STANDIN_CUDA'] = '12060'
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
    let run = run_python("python3", &program, options, folder.path());
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
check('not simulated', cuda.cusparseSpGEMM_compute() == 10)
";
    assert!(checked(program, &on("rtx4090")).is_none_or(|code| code == 0));
}

#[test]
fn no_driver_of_the_machine_is_opened() {
    // A library under the driver's name, found first, as on a machine with a GPU.
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

/// The result of a program that is run by a shell and imports a torch that consists of its version only.
fn with_made_up_torch(version: &str, program: &str) -> Option<Run> {
    Command::new("python3").arg("--version").output().ok()?;
    let folder = tempdir().unwrap();
    let torch = folder.path().join("made-up/torch");
    fs::create_dir_all(&torch).unwrap();
    fs::write(torch.join("__init__.py"), "").unwrap();
    fs::write(torch.join("version.py"), version).unwrap();
    let file = folder.path().join("made-up/program.py");
    fs::write(&file, program).unwrap();
    let line = format!("true && python3 {}", file.display());
    let command = ["sh", "-c", &line].map(OsString::from);
    Some(run(&command, &on("t4"), folder.path()).unwrap())
}

#[test]
fn the_python_that_imports_torch_tells_its_versions() {
    let program = "
import ctypes, os
import torch
version = ctypes.c_int()
ctypes.CDLL(None).cuDriverGetVersion(ctypes.byref(version))
raise SystemExit(version.value != 11080)
";
    let version = "__version__ = '2.1.0+cu118'\ncuda: Optional[str] = '11.8'\n";
    let run = with_made_up_torch(version, program);
    assert!(run.is_none_or(|run| run.status.code() == Some(0) && run.unusable.is_none()));
}

#[test]
fn a_torch_that_cannot_be_used_is_told_with_what_to_install() {
    for (version, told) in [
        (
            "__version__ = '2.7.1+cpu'\ncuda = None\n",
            "pip install --no-deps --force-reinstall torch==2.7.1 (from PyPI)",
        ),
        (
            "__version__ = '2.0.1+cu117'\ncuda = '11.7'\n",
            "older than 2.1",
        ),
    ] {
        let Some(run) = with_made_up_torch(version, "import torch\nraise SystemExit(7)") else {
            return;
        };
        assert_eq!(run.status.code(), Some(1), "{version}");
        let said = run.unusable.unwrap();
        assert!(said.contains(told), "{said}");
    }
    // A program that only checks whether torch exists continues.
    let look =
        "import importlib.util\nraise SystemExit(7 if importlib.util.find_spec('torch') else 1)";
    let run = with_made_up_torch("__version__ = '2.7.1+cpu'\n", look);
    assert!(run.is_none_or(|run| run.status.code() == Some(7) && run.unusable.is_none()));
}

#[test]
fn what_it_writes_can_go_to_a_file() {
    if Command::new("python3").arg("--version").output().is_err() {
        return;
    }
    let folder = tempdir().unwrap();
    let log = folder.path().join("log");
    let program = "import sys; print('out', flush=True); sys.exit('err')";
    for _ in 0..2 {
        let output = Output::File(log.clone());
        let options = Options {
            output,
            ..on("h100")
        };
        let run = run_python("python3", program, &options, folder.path());
        assert_eq!(run.status.code(), Some(1));
        assert_eq!(fs::read_to_string(&log).unwrap(), "out\nerr\n");
    }
}
