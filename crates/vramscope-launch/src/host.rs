//! Whether a recorded process's host memory grows rather than its device memory.
//!
//! Once a second, each process is asked for its allocated device memory, through the socket that also takes requests
//! for files, and the system for its anonymous resident memory; memory mapped from files can be dropped at any time.
//! Only growth that continues is reported: a program that loads or compiles stops growing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::ask::begin;

/// The request for the bytes on the devices.
const QUESTION: &str = "?";

/// Maximum number of samples stored for a process, spread evenly over its time.
const SAMPLES: usize = 64;

/// Smaller growth is not reported; what the recorder itself uses comes on top.
const LEAST_BYTES: u64 = 128 << 20;

/// What the recorder may use per event; 1 KiB was measured.
const EVENT_BYTES: u64 = 2 << 10;

/// A process whose host memory grew all the while it held memory on a device, though the device memory did not.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostGrowth {
    pub process: u32,
    /// Anonymous resident bytes in the first and in the last quarter of that time.
    pub host_bytes: [u64; 2],
    /// Allocated bytes of its devices in these quarters.
    pub device_bytes: [u64; 2],
    /// The time between the middles of these quarters.
    pub time: Duration,
}

/// What was found out about host memory.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct HostMemory {
    /// The processes whose host memory grows.
    pub grown: Vec<HostGrowth>,
    /// The processes that ran long enough but did not answer or could not be read.
    pub unknown: Vec<u32>,
}

/// Watches the processes of a recording until it ends.
#[derive(Debug)]
pub struct HostWatch {
    stop: Sender<()>,
    thread: JoinHandle<Watched>,
}

impl HostWatch {
    /// `tell` is called once for each process whose host memory grows, after as many periods as samples are stored.
    pub(crate) fn new(
        run: PathBuf,
        period: Duration,
        max_entries: u32,
        mut tell: impl FnMut(HostGrowth) + Send + 'static,
    ) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut watched = Watched {
                least: LEAST_BYTES + EVENT_BYTES * u64::from(max_entries),
                ..Watched::default()
            };
            while stopped.recv_timeout(period) == Err(RecvTimeoutError::Timeout) {
                watched.look(&run).into_iter().for_each(&mut tell);
            }
            watched
        });
        Self { stop, thread }
    }

    /// The results so far.
    #[must_use]
    pub fn end(self) -> HostMemory {
        drop(self.stop);
        self.thread.join().unwrap_or_default().memory()
    }
}

#[derive(Default)]
struct Watched {
    least: u64,
    processes: BTreeMap<u32, Process>,
}

#[derive(Default)]
struct Process {
    /// A request that is not answered yet. There is never a second one, which would only get in the way.
    asked: Option<UnixStream>,
    series: Series,
    /// How many times there was no answer.
    unknown: usize,
    is_told: bool,
}

impl Watched {
    /// Samples all processes, and returns those newly found to grow.
    fn look(&mut self, run: &Path) -> Vec<HostGrowth> {
        let mut new = Vec::new();
        for (number, socket) in sockets(run) {
            let process = self.processes.entry(number).or_default();
            process.look(number, &socket);
            if process.series.is_whole && !process.is_told {
                let growth = process.series.growth(number, self.least);
                process.is_told = growth.is_some();
                new.extend(growth);
            }
        }
        new
    }

    fn memory(self) -> HostMemory {
        let mut memory = HostMemory::default();
        for (number, process) in self.processes {
            if process.series.has_enough() {
                memory
                    .grown
                    .extend(process.series.growth(number, self.least));
            } else if process.unknown >= SAMPLES / 2 {
                memory.unknown.push(number);
            }
        }
        memory
    }
}

fn sockets(run: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(run).into_iter().flatten().flatten();
    let sockets = entries.filter_map(|entry| {
        let name = entry.file_name();
        let number = name.to_str()?.strip_suffix(".sock")?.parse().ok()?;
        Some((number, entry.path()))
    });
    sockets.collect()
}

impl Process {
    /// Reads the last answer, and asks again.
    fn look(&mut self, number: u32, socket: &Path) {
        if let Some(stream) = self.asked.take() {
            match answer(&stream) {
                Ok(device) => match device.zip(anonymous_bytes(number)) {
                    Some((0, _)) => {}
                    Some((device, host)) => self.series.add(host, device),
                    None => self.unknown += 1,
                },
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.asked = Some(stream);
                    self.unknown += 1;
                    return;
                }
                // The process has ended.
                Err(_) => return,
            }
        }
        let asked = begin(socket, QUESTION);
        self.asked = asked
            .ok()
            .filter(|stream| stream.set_nonblocking(true).is_ok());
    }
}

/// The bytes that a process has on its devices, if it knows.
fn answer(mut stream: &UnixStream) -> std::io::Result<Option<u64>> {
    // The answer is short, and arrives as a whole.
    let mut bytes = [0; 64];
    let length = stream.read(&mut bytes)?;
    if length == 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    let text = std::str::from_utf8(&bytes[..length]).ok();
    Ok(text.and_then(|text| text.strip_prefix("ok ")?.parse().ok()))
}

/// A process's memory that is not mapped from files. Only Linux reports it.
fn anonymous_bytes(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Samples, spread evenly over the time.
#[derive(Default)]
struct Series {
    samples: Vec<Sample>,
    /// One in this many samples is stored; a power of two.
    stride: u32,
    seen: u64,
    /// Whether the maximum number of samples was ever reached.
    is_whole: bool,
}

#[derive(Clone, Copy)]
struct Sample {
    time: Instant,
    host: u64,
    device: u64,
}

impl Series {
    fn add(&mut self, host: u64, device: u64) {
        self.add_at(Instant::now(), host, device);
    }

    fn add_at(&mut self, time: Instant, host: u64, device: u64) {
        let is_wanted = self.seen.trailing_zeros() >= self.stride;
        self.seen += 1;
        if !is_wanted {
            return;
        }
        if self.samples.len() == SAMPLES {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.stride += 1;
        }
        self.samples.push(Sample { time, host, device });
        self.is_whole |= self.samples.len() == SAMPLES;
    }

    fn has_enough(&self) -> bool {
        self.samples.len() >= SAMPLES / 2
    }

    /// The growth of host memory, if there is enough of it in each quarter of the time and the devices' memory did not
    /// grow likewise.
    fn growth(&self, process: u32, least: u64) -> Option<HostGrowth> {
        let quarters = self.samples.chunks_exact(self.samples.len().max(4) / 4);
        let middles: Vec<Sample> = quarters.filter_map(middle).take(4).collect();
        let [first, .., last] = &middles[..] else {
            return None;
        };
        let all = last.host.saturating_sub(first.host);
        let is_steady = middles
            .windows(2)
            // With steady growth, a third of it falls between two neighbouring quarters.
            .all(|pair| pair[1].host.saturating_sub(pair[0].host) >= all / 6);
        let device = last.device.saturating_sub(first.device);
        let grew = self.has_enough() && is_steady && all >= least.max(first.host / 10);
        (grew && device < all / 8).then(|| HostGrowth {
            process,
            host_bytes: [first.host, last.host],
            device_bytes: [first.device, last.device],
            time: last.time - first.time,
        })
    }
}

/// The medians of samples, and the time in their middle.
fn middle(samples: &[Sample]) -> Option<Sample> {
    let median = |of: fn(&Sample) -> u64| {
        let mut values: Vec<u64> = samples.iter().map(of).collect();
        values.sort_unstable();
        values.get(values.len() / 2).copied()
    };
    Some(Sample {
        time: samples.get(samples.len() / 2)?.time,
        host: median(|sample| sample.host)?,
        device: median(|sample| sample.device)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is reported after this many seconds, with host and device memory given in MiB.
    fn told(seconds: u64, of: impl Fn(u64) -> (u64, u64)) -> Option<HostGrowth> {
        let (mut series, begin) = (Series::default(), Instant::now());
        for second in 0..seconds {
            let (host, device) = of(second);
            let time = begin + Duration::from_secs(second);
            series.add_at(time, host << 20, device << 20);
        }
        assert!(series.samples.len() <= SAMPLES);
        series.growth(7, LEAST_BYTES)
    }

    #[test]
    fn growth_that_goes_on_is_told() {
        for seconds in [32, 64, 1000, 86_400] {
            let growth = told(seconds, |second| {
                (1000 + second * 10, 500 + second % 3 * 100)
            });
            let growth = growth.unwrap();
            assert!(growth.host_bytes[1] > growth.host_bytes[0] + LEAST_BYTES);
            let share = growth.time.as_secs() as f64 / seconds as f64;
            assert!((0.7..0.8).contains(&share), "{seconds}: {share}");
        }
    }

    #[test]
    fn other_growth_is_not() {
        // Too short, too little, over, in jumps, along with the device's, and none.
        assert_eq!(told(31, |second| (second * 100, 500)), None);
        assert_eq!(told(100, |second| (1000 + second, 500)), None);
        assert_eq!(told(100, |second| (second.min(60) * 100, 500)), None);
        assert_eq!(told(100, |second| (second / 50 * 9000, 500)), None);
        assert_eq!(told(100, |second| (second * 100, second * 50)), None);
        assert_eq!(told(100, |second| (9000 - second * 50, 500)), None);
        assert_eq!(told(100, |_| (9000, 500)), None);
        assert_eq!(told(0, |_| (0, 0)), None);
    }
}
