//! The cases: a file each, some commands run on it, and the faults found.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use vramscope_synth::{Rng, pickle};

use crate::child::{self, Ended};
use crate::commands::{FILE, QUESTIONS, SERVER, STDIN, WRITERS, words};
use crate::containers;
use crate::contradictory;
use crate::damage::damage;
use crate::extreme;
use crate::interruptions;
use crate::verdict;

/// Number of faults after which an attack ends: more would be alike.
const MOST_FAULTS: usize = 20;

/// Number of questions for a file that can be read.
const QUESTIONS_EACH: usize = 3;

/// The name of the file in a case's folder.
const NAME: &str = "case";

/// The cases of one seed.
pub(crate) struct Cases {
    seed: u64,
    /// The files that are damaged.
    files: Vec<Vec<u8>>,
    hostile: Vec<pickle::hostile::Hostile>,
}

impl Cases {
    /// The cases of a seed, made from the files of some folders.
    ///
    /// # Errors
    ///
    /// If a folder cannot be read or there is no file.
    pub(crate) fn new(folders: &[PathBuf], seed: u64) -> Result<Self> {
        let mut paths = Vec::new();
        for folder in folders {
            let entries = fs::read_dir(folder)
                .with_context(|| format!("cannot read {}", folder.display()))?;
            paths.extend(entries.flatten().map(|entry| entry.path()));
        }
        // The order of a folder differs between machines.
        paths.sort();
        paths.retain(|path| path.is_file());
        ensure!(!paths.is_empty(), "no files to damage");
        let files = paths.iter().map(fs::read).collect::<Result<_, _>>()?;
        Ok(Self {
            seed,
            files,
            hostile: pickle::hostile::all(),
        })
    }

    /// The file of a case.
    fn file(&self, rng: &mut Rng) -> Vec<u8> {
        let bytes = match rng.below(10) {
            0..5 => {
                let (file, other) = (rng.pick(&self.files), rng.pick(&self.files));
                let times = if rng.chance(80) {
                    1
                } else {
                    rng.between(2, 12)
                };
                (0..times).fold(file.clone(), |file, _| damage(rng, file, other))
            }
            5..8 => extreme::snapshot(rng),
            8 => contradictory::snapshot(rng),
            _ => rng.pick(&self.hostile).bytes.clone(),
        };
        containers::wrapped(rng, bytes)
    }
}

/// Removes a file or folder, if it is there.
fn remove(path: &Path) -> std::io::Result<()> {
    match path.is_dir() {
        true => fs::remove_dir_all(path),
        false if path.exists() => fs::remove_file(path),
        false => Ok(()),
    }
}

/// A fault found in a run.
pub(crate) struct Fault {
    seed: u64,
    case: u64,
    command: String,
    what: String,
    /// The saved file.
    file: PathBuf,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "vramscope {}", self.command)?;
        writeln!(f, "  {}", self.what)?;
        writeln!(f, "  file: {}", self.file.display())?;
        write!(
            f,
            "  again: cargo xtask torment --seed {} --case {}",
            self.seed, self.case
        )
    }
}

/// The result of an attack.
#[derive(Default)]
pub(crate) struct Attacked {
    pub(crate) runs: u64,
    pub(crate) files: u64,
    pub(crate) faults: Vec<String>,
}

/// Runs cases on all processors until the deadline.
///
/// # Errors
///
/// If the program cannot be started or files cannot be written.
pub(crate) fn attack(
    cases: &Cases,
    program: &Path,
    keep: &Path,
    numbers: Range<u64>,
    deadline: Instant,
) -> Result<Attacked> {
    fs::create_dir_all(keep)?;
    let next = AtomicU64::new(numbers.start);
    let attacked = Mutex::new(Attacked::default());
    let work = || -> Result<()> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let is_first = number == numbers.start;
            if number >= numbers.end || (Instant::now() >= deadline && !is_first) {
                return Ok(());
            }
            let mut case = Case::new(cases, program, number)?;
            let fault = case.run(keep)?;
            let mut attacked = attacked.lock().unwrap_or_else(|poison| poison.into_inner());
            attacked.runs += case.runs;
            attacked.files += 1;
            attacked.faults.extend(fault.map(|fault| fault.to_string()));
            if attacked.faults.len() >= MOST_FAULTS {
                return Ok(());
            }
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        for one in all {
            one.join()
                .ok()
                .context("a thread of the attack panicked")??;
        }
        anyhow::Ok(())
    })?;
    Ok(attacked
        .into_inner()
        .unwrap_or_else(|poison| poison.into_inner()))
}

struct Case<'a> {
    program: &'a Path,
    seed: u64,
    number: u64,
    rng: Rng,
    bytes: Vec<u8>,
    folder: tempfile::TempDir,
    runs: u64,
}

impl<'a> Case<'a> {
    fn new(cases: &Cases, program: &'a Path, number: u64) -> Result<Self> {
        let mut rng = Rng::new(cases.seed.wrapping_mul(0x1_0000_0001) ^ number);
        let bytes = cases.file(&mut rng);
        let folder = tempfile::tempdir()?;
        fs::write(folder.path().join(NAME), &bytes)?;
        Ok(Self {
            program,
            seed: cases.seed,
            number,
            rng,
            bytes,
            folder,
            runs: 0,
        })
    }

    /// Runs some commands on the file. Stops at the first fault and saves the file.
    fn run(&mut self, keep: &Path) -> Result<Option<Fault>> {
        let (mut fault, is_read) = self.ask("info FILE")?;
        if fault.is_none() {
            let count = if is_read { QUESTIONS_EACH } else { 1 };
            for _ in 0..count {
                let question = *self.rng.pick(&QUESTIONS);
                fault = fault.or(self.ask(question)?.0);
            }
        }
        if fault.is_none() {
            fault = self.write(is_read)?;
        }
        if fault.is_none() {
            fault = self.interrupt()?;
        }
        fault
            .map(|(command, what)| {
                let file = keep.join(format!("{}-{}", self.seed, self.number));
                fs::write(&file, &self.bytes)?;
                Ok(Fault {
                    seed: self.seed,
                    case: self.number,
                    command,
                    what,
                    file,
                })
            })
            .transpose()
    }

    /// Runs a command. Returns it with its fault, if any, and whether it succeeded.
    fn ask(&mut self, command: &str) -> Result<(Option<(String, String)>, bool)> {
        let words = words(command, NAME);
        let ended = self.child(&words)?;
        let fault = verdict::fault(&words, &ended, self.folder.path());
        let fault = fault.map(|what| (command.to_owned(), what));
        Ok((fault, ended.code() == Some(0)))
    }

    /// Makes the program write a file, and reads that again if the case is a snapshot. Graphs can be written, too, but
    /// `info` only reads snapshots.
    fn write(&mut self, is_snapshot: bool) -> Result<Option<(String, String)>> {
        let (command, out, is_read_again) = *self.rng.pick(&WRITERS);
        let command = format!("{command} {out}");
        let (fault, is_written) = self.ask(&command)?;
        let path = self.folder.path().join(out);
        if fault.is_some() || !is_written {
            let is_there = path.exists();
            let stayed = || (command, "it failed and left its output".to_owned());
            return Ok(fault.or_else(|| is_there.then(stayed)));
        }
        if !(is_read_again && is_snapshot) {
            return Ok(None);
        }
        let again = self.child(&words("info FILE", out))?;
        let what = format!("what it wrote is refused: {}", again.stderr.trim());
        Ok((again.code() != Some(0)).then_some((command, what)))
    }

    /// Ends some of the runs early.
    fn interrupt(&mut self) -> Result<Option<(String, String)>> {
        let folder = self.folder.path().to_owned();
        let question = *self.rng.pick(&QUESTIONS);
        let (command, what) = match self.rng.below(10) {
            0..2 => {
                let words = words(question, NAME);
                let code = self.child(&words)?.code();
                self.runs += 1;
                let what = interruptions::closed_pipe(self.program, &words, &folder, code)?;
                (format!("{question} | true"), what)
            }
            end @ (2 | 3 | 5) => {
                let (end, told): (interruptions::End, _) = match end {
                    5 => (interruptions::too_large, "too large"),
                    _ => (interruptions::interrupted, "interrupted"),
                };
                let (command, out, _) = *self.rng.pick(&WRITERS);
                let command = format!("{command} {out}");
                remove(&folder.join(out))?;
                self.runs += 1;
                let what = end(self.program, &words(&command, NAME), &folder, &mut self.rng)?;
                (format!("{command} ({told})"), what)
            }
            4 => {
                self.runs += 1;
                let what = interruptions::served(self.program, &words(SERVER, NAME), &folder)?;
                (SERVER.to_owned(), what)
            }
            6 => (
                format!("{question} (from standard input)"),
                self.ask_by_pipe(question)?,
            ),
            _ => return Ok(None),
        };
        Ok(what.map(|what| (command, what)))
    }

    /// Asks a question about the file on standard input, which must give the same exit code. Standard input can be
    /// named once.
    fn ask_by_pipe(&mut self, question: &str) -> Result<Option<String>> {
        if question.matches(FILE).count() > 1 {
            return Ok(None);
        }
        let code = self.child(&words(question, NAME))?.code();
        let words = words(question, STDIN);
        let folder = self.folder.path();
        self.runs += 1;
        let piped = child::run_with(self.program, &words, folder, Some(NAME), child::FILE_BLOCKS)?;
        let differs = piped.code() != code;
        let what = || format!("exit code {:?}, but {code:?} for the file", piped.code());
        Ok(verdict::fault(&words, &piped, folder).or_else(|| differs.then(what)))
    }

    fn child(&mut self, words: &[String]) -> Result<Ended> {
        self.runs += 1;
        child::run(self.program, words, self.folder.path())
    }
}
