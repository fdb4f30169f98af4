//! Measures planning: `cargo xtask bench planning` runs it with the folder of the planning fixtures, and with that of real
//! snapshots if there is one.
//!
//! Heights and sizes are ratios of the lower bound, so that they mean the same on every machine; seconds do not. CPU
//! seconds are this thread's, as machines are shared.
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

/// Since when something runs.
struct Clock {
    start: Instant,
    cpu: Option<Duration>,
}

/// How long something ran.
struct Spent {
    wall: Duration,
    /// `None` where nobody tells.
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

/// CPU time of this thread, which only Linux tells without a library.
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

/// The headings of [`Spent`].
const SPENT: &str = "       s    CPU s";

/// What `run` gives, and how long it took.
fn timed<T>(run: impl FnOnce() -> T) -> (T, Spent) {
    let clock = Clock::start();
    let result = run();
    (result, clock.stop())
}

/// A file's bytes without the `.zst` around them.
fn unpacked(path: &Path) -> Vec<u8> {
    let packed = fs::read(path).unwrap();
    let mut bytes = Vec::new();
    let mut decoder = ruzstd::decoding::StreamingDecoder::new(packed.as_slice()).unwrap();
    decoder.read_to_end(&mut bytes).unwrap();
    bytes
}
