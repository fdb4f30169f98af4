//! `record`: the program's exit code, the summary, and the comparison of two recordings. What happens inside the
//! program is tested in `vramscope-launch`, whose fake torch these tests use.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use insta::assert_snapshot;
use tempfile::TempDir;
use vramscope_core::fleet::names::{named, places_of};

use crate::program::{command, transcript};

/// Records a text as a Python program. `None` without Python.
fn record(folder: &TempDir, arguments: &[&str], script: &str, bytes: &str) -> Option<Output> {
    let python = std::process::Command::new("python3")
        .arg("--version")
        .output();
    python.ok().filter(|output| output.status.success())?;
    let mut all = arguments.to_vec();
    all.extend(["--", "python3", "-c", script]);
    Some(recording(folder, &all, bytes).output().unwrap())
}

/// `record` with these arguments, where the fake torch allocates this many bytes at a time.
fn recording(folder: &TempDir, arguments: &[&str], bytes: &str) -> Command {
    let torch = Path::new(env!("CARGO_MANIFEST_DIR")).join("../vramscope-launch/tests/torch");
    let mut command = command(&[&["record"], arguments].concat());
    command.current_dir(folder.path());
    command
        .env("PYTHONPATH", torch)
        .env("FAKE_TORCH_BYTES", bytes);
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    for rank in vramscope_launch::RANKS {
        command.env_remove(rank);
    }
    command
}

fn error(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

const USE: &str = "import torch; torch.use(); print('done')";

#[test]
fn the_end_is_the_programs_own_and_what_was_got_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let script = "import sys, torch; torch.use(); torch.use(); print('done'); sys.exit(7)";
    let Some(output) = record(&folder, &["-o", "run"], script, "512") else {
        return;
    };
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"done\n");
    let said = error(&output);
    assert!(said.starts_with("vramscope: 1 snapshot in run\n"), "{said}");
    assert!(said.contains("1.00 KiB"), "{said}");
    assert!(
        said.ends_with("\nTo look at it: vramscope view run\n"),
        "{said}"
    );
    // Nothing is mixed with it.
    let again = record(&folder, &["-o", "run"], script, "512").unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(
        error(&again).contains("run has files already"),
        "{}",
        error(&again)
    );
}

/// The program's own options are passed on, and those before it are not.
#[test]
fn without_dashes_between() {
    let folder = tempfile::tempdir().unwrap();
    let script = "import sys, torch; torch.use(); print(sys.argv[1:])";
    let arguments = ["-o", "run", "python3", "-c", script, "--steps", "-o", "x"];
    let Ok(output) = recording(&folder, &arguments, "512").output() else {
        return;
    };
    if output.status.code() == Some(127) {
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", error(&output));
    assert_eq!(output.stdout, b"['--steps', '-o', 'x']\n");
    assert!(folder.path().join("run").exists());
    let wrong = recording(&folder, &["--stpes", "3", "python3"], "512");
    let wrong = { wrong }.output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
    assert!(error(&wrong).contains("--stpes"), "{}", error(&wrong));
}

/// A process that fails is one rank, at two moments.
#[test]
fn the_files_of_a_process_are_those_of_one_rank() {
    let folder = tempfile::tempdir().unwrap();
    let script = "import torch; torch.use()\ntry: torch.use(fail=True)\nexcept RuntimeError: pass";
    if record(&folder, &["-o", "run", "-q"], script, "512").is_none() {
        return;
    }
    let mut names: Vec<String> = Vec::new();
    for place in ["run", "run/oom_1"] {
        let entries = fs::read_dir(folder.path().join(place)).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        names.extend(
            files
                .filter(|path| path.is_file())
                .map(|path| path.to_str().unwrap().to_owned()),
        );
    }
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(names.len(), 2);
    for (name, place) in names.iter().zip(places_of(&names)) {
        assert_eq!(named(name).producer, "vramscope record");
        assert_eq!(place.rank, 0, "{name}");
    }
    let brief = command(&["brief", "run"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8(brief.stdout).unwrap();
    assert!(!said.contains("2 files"), "{said}");
}

/// A signal to the whole group reaches the program directly, and a signal to `record` alone is forwarded.
#[test]
fn a_signal_arrives_once() {
    let folder = tempfile::tempdir().unwrap();
    let script = "import signal, time\n\
                  count = [0]\n\
                  def got(*_): count[0] += 1\n\
                  signal.signal(signal.SIGUSR1, got)\n\
                  print('ready', flush=True)\n\
                  for line in range(2):\n  \
                  last = time.time() + 10\n  \
                  while not count[0] and time.time() < last: time.sleep(0.01)\n  \
                  time.sleep(0.3)\n  \
                  print(count, flush=True)\n  \
                  count[0] = 0";
    let mut command = recording(&folder, &["--", "python3", "-c", script], "512");
    let mut child = command
        .process_group(0)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = || lines.next().transpose().unwrap();
    let Some(ready) = next() else {
        return drop(child.wait());
    };
    assert_eq!(ready, "ready");
    let id = child.id().to_string();
    for to in [format!("-{id}"), id] {
        let sent = Command::new("kill").args(["-USR1", "--", &to]).status();
        assert!(sent.unwrap().success());
        assert_eq!(next().unwrap(), "[1]", "to {to}");
    }
    assert!(child.wait().unwrap().success());
}

#[test]
fn without_a_snapshot_there_is_a_reason_and_no_folder() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = record(&folder, &["-o", "run"], "print('done')", "512") else {
        return;
    };
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        error(&output),
        "vramscope: Python was started, but no process imported torch to its end.\nvramscope: no snapshot was written\n"
    );
    assert!(!folder.path().join("run").exists());
}

#[test]
fn two_recordings_are_compared() {
    let folder = tempfile::tempdir().unwrap();
    let Some(old) = record(&folder, &["--label", "old", "--quiet"], USE, "1048576") else {
        return;
    };
    assert_eq!((old.status.code(), error(&old)), (Some(0), ""));
    let against = [
        "--label",
        "new",
        "-q",
        "--against",
        "old",
        "--fail-if-grown",
    ];
    let within = record(&folder, &[&against[..], &["3MiB"]].concat(), USE, "2097152").unwrap();
    assert_eq!(within.status.code(), Some(0));
    let said = error(&within);
    assert!(
        said.contains("1.00 MiB more than the first file (1.00 MiB \u{2192} 2.00 MiB)"),
        "{said}"
    );
    assert!(
        said.ends_with("\nTo see where: vramscope diff old new\n"),
        "{said}"
    );
    std::fs::remove_dir_all(folder.path().join("new")).unwrap();
    let beyond = record(&folder, &[&against[..], &["5%"]].concat(), USE, "2097152").unwrap();
    assert_eq!(beyond.status.code(), Some(3));
    assert!(
        error(&beyond).contains("grew by 1.00 MiB"),
        "{}",
        error(&beyond)
    );
    // The process numbers differ.
    let diff = command(&["diff", "old", "new", "--json"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_eq!(diff.status.code(), Some(0), "{}", error(&diff));
}

/// The texts of source files are not reported as odd.
#[test]
fn a_snapshot_with_source_is_read_without_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let Some(output) = record(&folder, &["-o", "run", "-q", "--source"], USE, "512") else {
        return;
    };
    assert_eq!((output.status.code(), error(&output)), (Some(0), ""));
    let mut files = std::fs::read_dir(folder.path().join("run")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("source_code"));
    let info = command(&["info"]).arg(file).output().unwrap();
    let text = String::from_utf8(info.stdout).unwrap();
    assert!(
        info.status.success() && !text.contains("source_code"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_started_is_told() {
    let missing = command(&["record", "--", "/no/such/program"])
        .output()
        .unwrap();
    assert_eq!(missing.status.code(), Some(127));
    assert!(error(&missing).starts_with("error: cannot start /no/such/program"));
    let folder = command(&["record", "--", "/"]).output().unwrap();
    assert_eq!(folder.status.code(), Some(126));
    // This process has nothing recorded below it; process 1 may have, while other tests run.
    let own = std::process::id().to_string();
    let none = command(&["record", "--dump", &own]).output().unwrap();
    assert_eq!(none.status.code(), Some(1));
    assert!(
        error(&none).contains(&format!("process {own} is not being recorded")),
        "{}",
        error(&none)
    );
}

#[test]
fn help() {
    assert_snapshot!(transcript(
        &command(&["record", "--help"]).output().unwrap()
    ));
}
