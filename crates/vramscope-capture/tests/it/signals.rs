//! Signals reach the program, and its exit code is passed on.

use std::io::{BufRead, BufReader};
use std::process::{Child, ExitStatus};

use crate::program::Place;

/// Starts a script that reports when it is ready, and sends `signal` to the capturing process.
fn send(place: &Place, options: &[&str], signal: &str, script: &str) -> (ExitStatus, String) {
    let arguments = [&["run"], options, &["--", "sh", "-c", script]].concat();
    let mut child = place.command(&arguments).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    kill(&child, signal);
    let status = child.wait().unwrap();
    let rest: Vec<_> = output.lines().map(Result::unwrap).collect();
    (status, rest.join("\n"))
}

fn kill(child: &Child, signal: &str) {
    // The shell's built-in kill: minimal systems have no kill program.
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &format!("kill {signal} {}", child.id())]);
    assert!(shell.status().unwrap().success());
}

#[test]
fn signals_of_others_are_passed_on() {
    let place = Place::new();
    for signal in ["HUP", "INT", "QUIT", "TERM", "USR1", "USR2"] {
        let script = format!(
            "trap 'echo got {signal}; exit 3' {signal}; echo ready; while :; do sleep 0.05; done"
        );
        let (status, output) = send(&place, &["-q"], &format!("-{signal}"), &script);
        assert_eq!(
            (status.code(), output.as_str()),
            (Some(3), format!("got {signal}").as_str())
        );
    }
}

#[test]
fn a_program_that_a_signal_ends() {
    let place = Place::new();
    for (signal, code) in [("TERM", 143), ("KILL", 137), ("ABRT", 134), ("SEGV", 139)] {
        let transcript = place.run_script(&["-q"], &format!("kill -{signal} $$"));
        assert!(
            transcript.starts_with(&format!("exit code {code}\n")),
            "{transcript}"
        );
    }
    let (status, _) = send(&place, &["-q"], "-TERM", "echo ready; exec sleep 60");
    assert_eq!(status.code(), Some(143));
}

/// As after `nohup`, or in the background of a shell without job control.
#[test]
fn signals_that_are_ignored_stay_so() {
    let place = Place::new();
    let binary = env!("CARGO_BIN_EXE_vramscope-capture");
    let script = format!(
        "trap '' HUP INT; {binary} run -q sh -c 'grep SigIgn /proc/self/status'; grep SigIgn /proc/self/status"
    );
    let mut command = std::process::Command::new("sh");
    let output = command
        .arg("-c")
        .arg(script)
        .env("TMPDIR", place.path("tmp"))
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0], lines[1]);
}

/// The terminal's signals go to the whole group: the program gets them once, and the snapshot is still written.
#[test]
fn what_the_program_leaves_is_converted_after_an_interrupt() {
    let place = Place::new();
    place.log("a.raw", 3);
    let leave = crate::program::leave_log("a.raw", "1-1.raw");
    let script = format!("{leave}; echo ready; exec sleep 60");
    let (status, _) = send(&place, &["-o", "x.pickle"], "-INT", &script);
    assert_eq!(status.code(), Some(130));
    assert_eq!(place.snapshot("x.pickle").segments.rows.len(), 3);
}

/// The temporary file of an unfinished snapshot is removed when the process ends.
#[test]
fn an_interrupted_conversion_leaves_nothing() {
    let place = Place::new();
    place.log("a.raw", 100_000);
    let mut child = place
        .command(&["convert", "-q", "a.raw", "-o", "x.json"])
        .spawn()
        .unwrap();
    // While the file is empty, its removal may not be prepared yet.
    let is_written = |name: &String| {
        let metadata = place.path(name).metadata();
        name != "a.raw" && metadata.is_ok_and(|file| file.len() > 0)
    };
    while !place.files().iter().any(is_written) {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        std::thread::yield_now();
    }
    kill(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(place.files(), ["a.raw"]);
}
