//! Measures planning: `cargo xtask bench planning` runs it with the folder of the planning fixtures, and with that of real
//! snapshots if there is one.
//!
//! Heights and sizes are given relative to the lower bound, so they are comparable between machines; seconds are not. CPU
//! seconds are those of this thread, because machines are shared.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that cannot go on has failed; its result is what it prints"
)]

mod graphs;
mod packing;
mod snapshots;

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn main() {
    let mut folders = std::env::args().skip(1).map(PathBuf::from);
    let fixtures = folders.next().unwrap();
    packing::benchmark(&fixtures.join("minimalloc"));
    packing::eager(&fixtures.join("traces"));
    packing::many(&fixtures.join("traces"));
    graphs::orders();
    graphs::search(&fixtures.join("graphs"));
    snapshots::plans(folders.next().as_deref());
}

/// The start of a measurement.
struct Clock {
    start: Instant,
    cpu: Option<Duration>,
}

/// The duration of a measurement.
struct Spent {
    wall: Duration,
    /// `None` on systems that do not report it.
    cpu: Option<Duration>,
}

impl Clock {
    fn start() -> Self {
        Self {
            start: Instant::now(),
            cpu: cpu_time(),
        }
    }

    fn wall(&self) -> Duration {
        self.start.elapsed()
    }

    fn stop(self) -> Spent {
        Spent {
            wall: self.wall(),
            cpu: cpu_time().zip(self.cpu).map(|(now, then)| now - then),
        }
    }
}

/// CPU time of this thread; without a library only Linux reports it.
fn cpu_time() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Two columns: seconds and CPU seconds.
impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>8.3} ", self.wall.as_secs_f64())?;
        match self.cpu {
            Some(cpu) => write!(f, "{:>8.3}", cpu.as_secs_f64()),
            None => f.write_str("       -"),
        }
    }
}

/// The headings for [`Spent`].
const SPENT: &str = "       s    CPU s";

/// The result of `run`, and how long it took.
fn timed<T>(run: impl FnOnce() -> T) -> (T, Spent) {
    let clock = Clock::start();
    let result = run();
    (result, clock.stop())
}

/// A file's bytes, decompressed from `.zst`.
fn unpacked(path: &Path) -> Vec<u8> {
    let packed = fs::read(path).unwrap();
    let mut bytes = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap();
    decoder.read_to_end(&mut bytes).unwrap();
    bytes
}
