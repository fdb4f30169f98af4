//! A captured program is not disturbed, and a program without CUDA leaves no files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use vramscope_capture_tests::programs::client;
use vramscope_capture_tests::session::Session;

/// Compares a program's output and exit code with and without capture.
#[track_caller]
fn is_unchanged(session: Session, program: &Path, arguments: &[&str]) {
    let session = session.with(&["--quiet"]);
    let alone = session
        .alone(program, arguments)
        .output()
        .expect("it starts");
    let captured = session
        .command(program, arguments)
        .output()
        .expect("it starts");
    let own_output = |output: &Output| {
        use std::os::unix::process::ExitStatusExt as _;
        let code = output.status.code();
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said
            .lines()
            .filter(|line| !line.starts_with("vramscope-capture: "));
        (
            String::from_utf8_lossy(&output.stdout).into_owned(),
            said.map(str::to_owned).collect::<Vec<_>>(),
            code.or(output.status.signal().map(|signal| 128 + signal)),
        )
    };
    assert_eq!(
        own_output(&captured),
        own_output(&alone),
        "{program:?} {arguments:?}"
    );
}

#[test]
fn output_exit_code_and_signals_are_the_programs_own() {
    for scene in [
        "plain", "pools", "exit", "abort", "signals", "fork", "spawn", "killed",
    ] {
        is_unchanged(Session::new(), &client("scenes"), &["dlsym", scene]);
    }
    is_unchanged(Session::new(), &client("loading"), &[]);
    is_unchanged(Session::new(), &client("linked"), &["exit"]);
}

/// Common programs, and their ways of starting others.
#[test]
fn programs_without_cuda_leave_no_trace() {
    let programs: [(&str, &[&str]); 7] = [
        ("ls", &["-l", "/usr"]),
        ("sh", &["-c", "echo out; echo err >&2; exit 3"]),
        (
            "bash",
            &["-c", "for i in 1 2 3; do ls / | wc -l; done; kill -TERM $$"],
        ),
        (
            "python3",
            &[
                "-c",
                "import ctypes, json, ssl, subprocess; print(subprocess.run(['ls', '/']).returncode)",
            ],
        ),
        ("git", &["--version"]),
        ("perl", &["-e", "print 1 + 1; exit 9"]),
        ("env", &["true"]),
    ];
    let mut missing = Vec::new();
    for (name, arguments) in programs {
        let Some(path) = find(name) else {
            missing.push(name);
            continue;
        };
        let session = Session::new();
        let raw = session.folder().join("raw").display().to_string();
        let session = session.with(&["--raw-dir", &raw]);
        let snapshot = session.snapshot();
        is_unchanged(session.env("RUST_LOG", ""), &path, arguments);
        assert!(!snapshot.exists(), "{name}");
        let logs = fs::read_dir(&raw).map_or(0, Iterator::count);
        assert_eq!(logs, 0, "{name}");
    }
    if !missing.is_empty() {
        eprintln!("not tested, for this machine does not have them: {missing:?}");
    }
}

/// Without `--quiet`, a message says that nothing was captured.
#[test]
fn nothing_is_said_to_be_captured() {
    let captured = Session::new().capture_program(Path::new("/bin/true"), &[]);
    assert_eq!(captured.status.code(), Some(0));
    assert!(
        captured.stderr.contains("nothing was captured"),
        "{}",
        captured.stderr
    );
}

fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut candidates = std::env::split_paths(&path).map(|folder| folder.join(name));
    candidates.find(|candidate| candidate.is_file())
}
