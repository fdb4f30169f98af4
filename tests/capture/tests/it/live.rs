//! A live snapshot follows the program.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use vramscope_capture_tests::programs::{self, client};
use vramscope_capture_tests::session::{Session, read};
use vramscope_core::Snapshot;
use vramscope_core::analysis::memory::capture::{Capture, Ended};

const PATIENCE: Duration = Duration::from_secs(30);
const MIB: u64 = 1 << 20;

/// The latest version that satisfies a condition.
fn version(path: &Path, is_wanted: impl Fn(&Snapshot, &Capture) -> bool) -> Snapshot {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Ok(bytes) = fs::read(path) {
            // Each version is complete, whenever it is read.
            let snapshot = vramscope_core::decode(bytes.as_slice()).expect("a snapshot");
            let capture = Capture::of(&snapshot).expect("a captured one");
            if is_wanted(&snapshot, &capture) {
                return snapshot;
            }
        }
        assert!(Instant::now() < until, "{}", path.display());
        thread::sleep(Duration::from_millis(10));
    }
}

/// Whether the newest event has this many bytes.
fn ends_with(bytes: u64) -> impl Fn(&Snapshot, &Capture) -> bool {
    move |snapshot, capture| {
        capture.ended == Ended::Running && snapshot.events.size.last() == Some(&bytes)
    }
}

fn tell(child: &mut Child, line: &str) {
    let mut input = child.stdin.as_ref().expect("an input");
    writeln!(input, "{line}").expect("it reads");
    let output = BufReader::with_capacity(1, child.stdout.as_mut().expect("an output"));
    output.lines().next().expect("an answer").expect("text");
}

/// A running capture, killed at the end of the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(session: &Session) -> Running {
    let mut command = session.command(&client("scenes"), &["dlsym", "told"]);
    command.stdin(Stdio::piped()).stderr(Stdio::inherit());
    Running(command.spawn().expect("it starts"))
}

#[test]
fn it_follows_the_program_and_keeps_the_newest_events() {
    let options = [
        "--live",
        "--every",
        "100ms",
        "--max-entries",
        "100",
        "--quiet",
    ];
    let session = Session::new().with(&options);
    let path = session.snapshot();
    let mut running = start(&session);
    tell(&mut running.0, "keep 1048576");
    version(&path, ends_with(MIB));
    // The writer holds the lock on every version.
    let is_locked = || File::open(&path).unwrap().try_lock_shared().is_err();
    assert!(is_locked());
    tell(&mut running.0, "pairs 500");
    tell(&mut running.0, "keep 3145728");
    let newest = version(&path, ends_with(3 * MIB));
    let capture = Capture::of(&newest).unwrap();
    assert!(newest.events.len() <= 100 && is_locked());
    assert!(
        capture.dropped_entries >= 900,
        "{}",
        capture.dropped_entries
    );
    // Derived from the newest event, not from a separate clock.
    let last_us = newest.events.time_us.iter().last();
    assert!(
        capture.read_us >= last_us,
        "{:?} {last_us:?}",
        capture.read_us
    );

    drop(running.0.stdin.take());
    assert!(running.0.wait().unwrap().success());
    let last = version(&path, |_, capture| capture.ended == Ended::InOrder);
    assert!(last.events.len() <= 100 && !is_locked());
}

#[test]
fn a_program_that_is_not_consumed_can_be_followed_from_outside() {
    let session = Session::new().with(&["--quiet"]);
    let mut running = start(&session);
    tell(&mut running.0, "keep 1048576");
    let path = session.folder().join("live.vram");
    let mut command = std::process::Command::new(programs::capture());
    command
        .args(["live", "--quiet", "--every", "100ms", "-o"])
        .arg(&path);
    let mut live = Running(command.arg(running.0.id().to_string()).spawn().unwrap());
    version(&path, ends_with(MIB));
    tell(&mut running.0, "keep 2097152");
    version(&path, ends_with(2 * MIB));
    drop(running.0.stdin.take());
    assert!(running.0.wait().unwrap().success());
    assert!(live.0.wait().unwrap().success());
    version(&path, |_, capture| capture.ended == Ended::InOrder);
    // The run's snapshot has all of it.
    assert_eq!(
        read(&session.snapshot(), "").events.size.last(),
        Some(&(2 * MIB))
    );
}
