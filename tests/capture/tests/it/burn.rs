//! A real framework: burn 0.20.1 on cubecl-cuda, with NVIDIA's own NVRTC. Building takes minutes, so the test runs
//! only on request: `cargo test -p vramscope-capture-tests -- --ignored a_real_framework`, with a network
//! connection and Python's pip.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use vramscope_capture_tests::programs;
use vramscope_capture_tests::session::Session;
use vramscope_capture_tests::story::assert_same_by_address;
use vramscope_core::ids::StringId;

/// NVRTC and the headers for kernels. Newer versions generate code that a driver of CUDA 13.0 rejects.
const WHEELS: [&str; 4] = [
    "nvidia-cuda-nvrtc==13.0.88",
    "nvidia-cuda-runtime==13.0.96",
    "nvidia-cuda-cccl==13.0.*",
    // NVRTC includes mma.h, which includes crt/mma.h from this package.
    "nvidia-cuda-crt==13.0.*",
];

#[test]
#[ignore = "takes minutes to build, and NVIDIA's wheels: see the head of this file"]
fn a_real_framework() {
    let folder = programs::target_dir().join("capture-tests");
    let program = build(&folder.join("burn"));
    let cuda = wheels(&folder.join("nvrtc"));
    let libraries = format!(
        "{}:{}",
        programs::fakecuda().display(),
        cuda.join("lib").display()
    );
    let session = Session::new()
        .env("CUDA_PATH", cuda.to_str().expect("UTF-8"))
        .env("LD_LIBRARY_PATH", &libraries);
    let captured = session.capture_program(&program, &[]);
    assert!(
        captured.status.success(),
        "{}\n{}",
        captured.stdout,
        captured.stderr
    );
    assert!(captured.stdout.contains("kept 4"), "{}", captured.stdout);
    let (snapshot, ledger) = (captured.snapshot(), captured.ledger());
    // cubecl allocates on a thread of its own.
    assert_same_by_address(&snapshot, ledger);
    let mut texts = (0..snapshot.strings.len()).map(StringId::from_index);
    let names_it = texts.any(|id| snapshot.strings.get(id).contains("cubecl"));
    assert!(names_it, "no stack names cubecl");
}

fn build(target: &Path) -> PathBuf {
    let folder = programs::root().join("tests/capture/clients-burn");
    let mut cargo = programs::cargo(&["build", "--locked"]);
    let status = cargo
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", target)
        .status();
    assert!(status.expect("cargo").success(), "burn does not build");
    target.join("debug/burn-client")
}

/// Folder with the contents of the wheels, like a toolkit's.
fn wheels(target: &Path) -> PathBuf {
    let cuda = target.join("nvidia/cu13");
    if !cuda.join("include/cuda_runtime.h").exists() {
        fs::create_dir_all(target).expect("a folder");
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
            .arg(target);
        let status = pip.args(WHEELS).status().expect("python3");
        assert!(status.success(), "pip cannot install {WHEELS:?}");
    }
    cuda
}
