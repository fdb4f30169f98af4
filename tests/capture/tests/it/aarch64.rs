//! The recorder on aarch64, under qemu-user, if qemu and a compiler for it are installed (CONTRIBUTING.md).

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use vramscope_capture_tests::ledger::Ledger;
use vramscope_capture_tests::programs;
use vramscope_capture_tests::session::read;
use vramscope_capture_tests::story::{assert_same, assert_same_blocks, assert_same_by_address};
use vramscope_core::Snapshot;
use vramscope_core::analysis::memory::capture::Capture;
use vramscope_core::ids::EventId;
use vramscope_core::model::Action;
use vramscope_record::settings::{Settings, VARIABLE};

/// Debian's C library for aarch64.
const SYSTEM: &str = "/usr/aarch64-linux-gnu";

/// Runs a scene and converts its log, without an aarch64 `vramscope-capture`: only qemu starts such programs.
fn captured(built: &Path, way: &str, scene: &str) -> (Snapshot, Ledger) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [ledgers, raw] = ["ledgers", "raw"].map(|name| {
        let place = folder.path().join(name);
        fs::create_dir(&place).expect("a folder");
        place
    });
    let settings = Settings {
        folder: raw.display().to_string(),
        ..Settings::default()
    };
    let mut command = Command::new("qemu-aarch64");
    command
        .args(["-L", SYSTEM])
        // For the program only, not for qemu, which runs on this machine.
        .arg("-E")
        .arg(format!(
            "LD_PRELOAD={}",
            built.join("libvramscope_inject.so").display()
        ))
        .arg("-E")
        .arg(format!("LD_LIBRARY_PATH={}", built.display()))
        .env_remove("LD_PRELOAD")
        .env_remove("LD_LIBRARY_PATH")
        .env("FAKECUDA_LEDGER", &ledgers)
        .env(VARIABLE, settings.to_variable())
        // Each recognised stack is unwound again.
        .env("VRAMSCOPE_CHECK_STACKS", "1")
        .stdin(Stdio::null());
    let output = command
        .arg(built.join("scenes"))
        .args([way, scene])
        .output();
    let output = output.expect("qemu-aarch64");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{way} {scene}: {said}");
    let snapshot = folder.path().join("snapshot.pickle");
    let mut convert = Command::new(programs::capture());
    convert.arg("convert").arg(&raw).arg("-o").arg(&snapshot);
    let output = convert.output().expect("vramscope-capture");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{way} {scene}: {said}");
    let mut ledgers = Ledger::all(&ledgers);
    assert_eq!(ledgers.len(), 1, "{way} {scene}");
    (read(&snapshot, &said), ledgers.remove(0))
}

#[test]
fn agrees_with_the_ledger_and_has_stacks() {
    let Some(built) = programs::build_for_aarch64().expect("the build") else {
        eprintln!("skipped: what it takes is in CONTRIBUTING.md");
        return;
    };
    let lost = |snapshot: &Snapshot| {
        let capture = Capture::of(snapshot).expect("a captured snapshot");
        let lost = capture.lost.into_iter().map(|lost| lost.reason);
        lost.collect::<Vec<_>>()
    };
    for (way, scene) in [
        ("dlsym", "plain"),
        ("dlsym", "pools"),
        ("dlsym", "ranges"),
        ("dlsym", "imports"),
        ("dlsym", "contexts"),
        ("proc", "plain"),
        ("proc-per-thread", "pools"),
    ] {
        let (snapshot, ledger) = captured(&built, way, scene);
        assert_eq!(lost(&snapshot), [""; 0], "{way} {scene}");
        assert_same(&snapshot, &ledger);
        assert_stacks(&snapshot);
    }
    let (snapshot, ledger) = captured(&built, "dlsym", "graphs");
    assert_same_blocks(&snapshot, &ledger);
    let (snapshot, ledger) = captured(&built, "dlsym", "threads");
    // While one thread reads the list of libraries, which is slow in qemu, the others record no stack.
    let lost = lost(&snapshot);
    assert!(lost.iter().all(|reason| reason == "NoStack"), "{lost:?}");
    assert_same_by_address(&snapshot, &ledger);
}

/// Every allocation has a stack from the driver to the scene.
fn assert_stacks(snapshot: &Snapshot) {
    let events = snapshot
        .trace(0)
        .map(|row| snapshot.events.get(EventId(row)));
    for event in events.filter(|event| event.action == Action::Alloc) {
        let frames = snapshot.stacks.frames(event.stack);
        let names = frames.map(|frame| snapshot.strings.get(snapshot.frames.get(frame).name));
        let names: Vec<_> = names.collect();
        assert!(
            names.iter().any(|name| name.contains("scenes::main")),
            "{names:#?}"
        );
    }
}
