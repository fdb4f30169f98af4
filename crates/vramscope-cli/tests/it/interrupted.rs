//! What a signal, a limit or a full disk leaves behind: nothing.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use crate::program::{command, fixtures};

const FILE: &str = "torch-2.15.0/oom_observer.pickle";

/// Starts to write `out.folded` in a folder, and returns once its temporary file exists. The program then waits for
/// standard input.
fn writing(folder: &Path, set_up: &str) -> Child {
    let program = command(&["segments", "-", "--folded", "-o"]);
    let script = format!("{set_up} exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &script])
        .arg(program.get_program())
        .args(program.get_args())
        .arg(folder.join("out.folded"))
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while names(folder).is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        thread::sleep(Duration::from_millis(5));
    }
    // SIGABRT is handled on the thread that it hits. Just after the file has appeared, that thread is still creating
    // it.
    thread::sleep(Duration::from_millis(50));
    child
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    entries
        .map(|entry| name(entry).into_string().unwrap())
        .collect()
}

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
}

/// Whether this process ignores a signal, as in a shell's background jobs; children then do so, too.
fn is_ignored(number: i32) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (number - 1) & 1 == 1)
}

#[test]
fn signals_leave_nothing_and_are_seen_by_the_shell() {
    for (signal, number) in [
        ("-INT", 2),
        ("-TERM", 15),
        ("-HUP", 1),
        ("-QUIT", 3),
        ("-XCPU", 24),
        ("-ABRT", 6),
    ] {
        if is_ignored(number) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        // Without a core file in the source tree.
        let mut child = writing(folder.path(), "ulimit -c 0;");
        let input = child.stdin.take();
        send(signal, &child);
        let Output { status, stderr, .. } = child.wait_with_output().unwrap();
        drop(input);
        assert_eq!(status.signal(), Some(number), "{signal}");
        assert_eq!(String::from_utf8(stderr).unwrap(), "", "{signal}");
        assert_eq!(names(folder.path()), [""; 0], "{signal}");
    }
}

/// Complete files are removed, too, and so are folders created for them.
#[test]
fn of_several_files_none_stays() {
    if is_ignored(15) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new/folder");
    let mut child = Command::new(command(&[]).get_program())
        .args(["convert", FILE, "-", "--to", "json", "-o"])
        .arg(format!("{}/", new.display()))
        .current_dir(fixtures())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    while !new.is_dir() || names(&new).is_empty() {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        thread::sleep(Duration::from_millis(5));
    }
    // The first file is probably complete by now.
    thread::sleep(Duration::from_millis(200));
    assert_eq!(names(&new).len(), 1, "{:?}", names(&new));
    let input = child.stdin.take();
    send("-TERM", &child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    drop(input);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_folder_into_which_nothing_comes_goes_again() {
    let folder = tempfile::tempdir().unwrap();
    let new = format!("{}/new/", folder.path().display());
    let refused = "refused/truncated.pickle";
    for arguments in [
        &["convert", refused, "--to", "json", "-o", &new][..],
        &["convert", refused, "--to", "csv", "-o", &new],
        &["plot", refused, "-o", &new],
        &["plan", refused, "--export-csv", &new],
    ] {
        let output = command(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(names(folder.path()), [""; 0], "{arguments:?}");
    }
    // Of several files, the readable ones are written.
    let output = command(&["convert", refused, FILE, "--to", "json", "-o", &new])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert_eq!(names(Path::new(&new)), ["oom_observer.json"]);
}

#[test]
fn ignored_signals_stay_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = writing(folder.path(), "trap '' HUP;");
    send("-HUP", &child);
    let input = fs::read(fixtures().join(FILE)).unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names(folder.path()), ["out.folded"]);
}

#[test]
fn a_file_beyond_the_permitted_size_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for (format, out) in [("json", "out.json"), ("csv", "tables")] {
        let output = Command::new("sh")
            .args(["-c", "ulimit -f 1; exec \"$0\" \"$@\""])
            .arg(command(&[]).get_program())
            .args(["convert", FILE, "--to", format, "-o"])
            .arg(folder.path().join(out))
            .current_dir(fixtures())
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains("cannot write") && stderr.contains("ulimit -f"),
            "{stderr}"
        );
        assert_eq!(names(folder.path()), [""; 0]);
    }
}
