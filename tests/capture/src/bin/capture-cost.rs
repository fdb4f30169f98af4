//! Measures the cost of capturing on the stand-in driver: nanoseconds per event, bytes of log per event, and events
//! converted per second. `cargo xtask bench capture` builds everything optimised and runs it.
//!
//! All figures come from one run, and compared variants take turns, as machines are shared and noisy.
#![expect(clippy::print_stdout, reason = "a command line tool")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use vramscope_capture_tests::ledger::Ledger;
use vramscope_capture_tests::story::assert_same_by_address;
use vramscope_record::layout::{HEADER_BYTES, header};
use vramscope_record::settings::{Settings, VARIABLE};

/// Number of timed pairs of an allocation and its free.
const PAIRS: u64 = 400_000;
/// Number of rounds in one run of the client. The fastest counts.
const CLIENT_ROUNDS: u64 = 8;
/// Number of pairs while a live snapshot is written.
const LIVE_PAIRS: u64 = 8_000_000;
/// Number of measurements of each variant.
const ROUNDS: usize = 5;
/// Number of frames of a stack, as in the performance targets.
const DEPTH: u32 = 13;
/// More different stacks than the recorder remembers, so that each is unwound.
const STACKS: u64 = 4096;

/// Paths of the binaries.
struct Places {
    client: PathBuf,
    inject: PathBuf,
    capture: PathBuf,
    cuda: PathBuf,
    folder: tempfile::TempDir,
}

/// Results of one run of the client.
struct Run {
    ns_per_event: f64,
    log: Option<PathBuf>,
}

/// A variant: its name, whether it records, its frames, the number of different stacks, and the most nanoseconds that
/// it may add to an event.
type Way = (&'static str, Option<(bool, u32)>, u64, Option<f64>);

/// Each is compared with the first one that has the same number of stacks.
const WAYS: [Way; 6] = [
    ("not captured", None, 1, None),
    ("hooked, not recording", Some((false, 0)), 1, Some(5.0)),
    ("recorded without stacks", Some((true, 0)), 1, None),
    ("13 frames, remembered", Some((true, DEPTH)), 1, Some(300.0)),
    ("not captured", None, STACKS, None),
    (
        "13 frames, unwound",
        Some((true, DEPTH)),
        STACKS,
        Some(600.0),
    ),
];

fn main() -> Result<()> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let mut next = |what: &str| {
        arguments
            .next()
            .with_context(|| format!("{what} is missing"))
    };
    let places = Places {
        client: next("the client")?,
        inject: next("the library")?,
        capture: next("vramscope-capture")?,
        cuda: next("the driver's folder")?,
        folder: tempfile::tempdir()?,
    };
    println!(
        "{:<26} {:>12} {:>12} {:>10}",
        "", "ns / event", "added", "at most"
    );
    for threads in [1, 8] {
        let word = if threads == 1 { "thread" } else { "threads" };
        println!("{threads} {word}");
        places.costs(threads)?;
    }
    let log = places.run(Some((true, DEPTH)), PAIRS, 1, 1, None)?.log;
    let log = log.context("nothing was recorded")?;
    let (events, bytes) = size(&log)?;
    println!(
        "{:<26} {:>12.1} {:>12} {:>10}",
        "log, bytes / event",
        bytes as f64 / events as f64,
        "",
        "100"
    );
    let seconds = places.convert(&log)?;
    println!(
        "{:<26} {:>12.2} {:>12} {:>10}",
        "converted, M events / s",
        events as f64 / seconds / 1e6,
        "",
        "1.00"
    );
    places.live()?;
    places.threads()
}

impl Places {
    /// Prints the cost of an event in each variant.
    fn costs(&self, threads: u64) -> Result<()> {
        let mut fastest = [f64::INFINITY; WAYS.len()];
        for _ in 0..ROUNDS {
            for (fastest, &(_, settings, stacks, _)) in fastest.iter_mut().zip(&WAYS) {
                let run = self.run(settings, PAIRS, threads, stacks, None)?;
                *fastest = fastest.min(run.ns_per_event);
            }
        }
        let mut alone = 0.0;
        for ((name, settings, _, most), ns) in WAYS.into_iter().zip(fastest) {
            if settings.is_none() {
                alone = ns;
            }
            let most = most.map_or_else(String::new, |most| most.to_string());
            println!("  {name:<24} {ns:>12.1} {:>12.1} {most:>10}", ns - alone);
        }
        Ok(())
    }

    /// Runs the client. `settings`: whether to record, and how many frames.
    fn run(
        &self,
        settings: Option<(bool, u32)>,
        pairs: u64,
        threads: u64,
        stacks: u64,
        ledger: Option<&Path>,
    ) -> Result<Run> {
        let raw = self.folder.path().join("raw");
        // Only the last log is needed.
        if raw.exists() {
            fs::remove_dir_all(&raw)?;
        }
        fs::create_dir_all(&raw)?;
        let mut command = Command::new(&self.client);
        command
            .args([pairs, threads, CLIENT_ROUNDS, stacks].map(|number| number.to_string()))
            .env("LD_LIBRARY_PATH", &self.cuda)
            .stderr(Stdio::inherit());
        if let Some((starts_on, depth)) = settings {
            let settings = Settings {
                folder: raw.to_string_lossy().into_owned(),
                starts_on,
                depth,
                ..Settings::default()
            };
            command
                .env(VARIABLE, settings.to_variable())
                .env("LD_PRELOAD", &self.inject);
        }
        if let Some(folder) = ledger {
            command.env("FAKECUDA_LEDGER", folder);
        }
        let output = command.output()?;
        ensure!(output.status.success(), "{command:?}: {}", output.status);
        let text = String::from_utf8(output.stdout)?;
        let ns_per_pair: f64 = text.trim().parse().context("the client's figure")?;
        let logs = fs::read_dir(&raw)?.flatten().map(|entry| entry.path());
        let log = logs
            .into_iter()
            .find(|path| path.extension().is_some_and(|it| it == "raw"));
        let is_recorded = settings.is_some_and(|(starts_on, _)| starts_on);
        ensure!(!is_recorded || log.is_some(), "no log in {}", raw.display());
        Ok(Run {
            ns_per_event: ns_per_pair / 2.0,
            log: log.filter(|_| is_recorded),
        })
    }

    /// The share of the program's time that live snapshots take, compared with a run whose log is consumed, too.
    fn live(&self) -> Result<()> {
        let ways: [&[&str]; 2] = [&["--max-entries", "200000"], &["--live"]];
        let mut fastest = [f64::INFINITY; 2];
        for _ in 0..ROUNDS {
            for (fastest, options) in fastest.iter_mut().zip(ways) {
                let mut command = Command::new(&self.capture);
                command.args(["run", "--quiet", "-o"]);
                command
                    .arg(self.folder.path().join("live.vram"))
                    .args(options);
                command.arg("--").arg(&self.client);
                // A few seconds, in which versions are written.
                command
                    .args([LIVE_PAIRS, 1, CLIENT_ROUNDS].map(|number| number.to_string()))
                    .env("LD_LIBRARY_PATH", &self.cuda)
                    .stderr(Stdio::inherit());
                let output = command.output()?;
                ensure!(output.status.success(), "{command:?}: {}", output.status);
                let text = String::from_utf8(output.stdout)?;
                let ns_per_pair: f64 = text.trim().parse().context("the client's figure")?;
                *fastest = fastest.min(ns_per_pair / 2.0);
            }
        }
        for (name, ns) in ["run --max-entries 200000", "run --live"]
            .iter()
            .zip(fastest)
        {
            let added = ns / fastest[0] - 1.0;
            println!(
                "{name:<26} {ns:>12.1} {:>10.1} % {:>10}",
                added * 100.0,
                "1 %"
            );
        }
        Ok(())
    }

    /// Seconds to convert a log, including symbols.
    fn convert(&self, log: &Path) -> Result<f64> {
        let snapshot = self.folder.path().join("snapshot.pickle");
        let start = Instant::now();
        let mut command = Command::new(&self.capture);
        command
            .arg("convert")
            .arg(log)
            .arg("-o")
            .arg(&snapshot)
            .stderr(Stdio::piped());
        let output = command.output()?;
        if !output.status.success() {
            bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Checks a log of eight threads: it is complete and in a possible order.
    fn threads(&self) -> Result<()> {
        let ledgers = self.folder.path().join("ledgers");
        fs::create_dir_all(&ledgers)?;
        let run = self.run(Some((true, DEPTH)), 80_000, 8, 1, Some(&ledgers))?;
        let log = run.log.context("no log")?;
        self.convert(&log)?;
        let snapshot = fs::read(self.folder.path().join("snapshot.pickle"))?;
        let snapshot = vramscope_core::decode(snapshot.as_slice())?;
        let ledgers = Ledger::all(&ledgers);
        let [ledger] = ledgers.as_slice() else {
            bail!("{} ledgers", ledgers.len());
        };
        // Panics with the difference if the two differ.
        assert_same_by_address(&snapshot, ledger);
        println!(
            "{:<26} {:>12} {:>12} {:>10}",
            "8 threads, ledger differs", 0, "", "0"
        );
        Ok(())
    }
}

/// Number of allocations and frees in a log, and bytes of its records.
fn size(log: &Path) -> Result<(u64, u64)> {
    let bytes = fs::read(log)?;
    let word = |at: usize| {
        let word = bytes.get(at..at + 8).and_then(|word| word.try_into().ok());
        word.map(u64::from_le_bytes).context("the log's header")
    };
    ensure!(word(header::DROPPED_RECORDS)? == 0, "records were dropped");
    // The client's calls before the timed part are in the log too.
    let events = 2 * (PAIRS / CLIENT_ROUNDS * CLIENT_ROUNDS + 1000);
    Ok((events, word(header::WRITE_OFFSET)? - HEADER_BYTES))
}
