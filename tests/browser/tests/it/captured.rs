//! A program is captured by `vramscope-capture`, and the page opens the snapshot.

use std::path::PathBuf;
use std::process::Command;

use crate::open::open;

#[test]
fn a_captured_program_opens() {
    let places = [
        "VRAMSCOPE_CAPTURE_BIN",
        "VRAMSCOPE_FAKECUDA",
        "VRAMSCOPE_CAPTURE_CLIENTS",
    ];
    let [Some(capture), Some(fakecuda), Some(clients)] = places.map(std::env::var_os) else {
        println!("skipped: {places:?} are not set; `cargo xtask test` sets them on Linux");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let snapshot = folder.path().join("captured.pickle");
    let status = Command::new(capture)
        .args(["run", "--quiet", "-o"])
        .arg(&snapshot)
        .arg("--")
        .arg(PathBuf::from(clients).join("scenes"))
        .args(["dlsym", "annotations"])
        .env("LD_LIBRARY_PATH", fakecuda)
        .status()
        .unwrap();
    assert!(status.success(), "{status}");

    let mut open = open("");
    open.choose(&[snapshot]);
    // One of each reading thread, one of each step.
    assert_eq!(open.painted().detail["allocations"].as_u64(), Some(6));
    open.check_quiet();
}
