//! `vramscope diff`: the change between two files, or two moments of one file, by call site.
//!
//! Only the compared figures of each file are kept, so the two files are never in memory at once.

mod answer;
mod growth;
mod sides;

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use clap::Args;
#[cfg(unix)]
use vramscope_core::analysis::properties::Property;
use vramscope_core::fleet::names::without_processes;

pub(crate) use self::growth::{Growth, parse_growth};
use self::sides::{Pair, Side, paired, sides};
use crate::arguments::{Grouping, Inputs, Show};
use crate::failure::Failure;
use crate::inputs::{Source, each, files, report_all};
use crate::report::{self, Part};
use crate::subject::Subject;

/// Show what differs between two files, or two moments of one, by call site
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// The moment to compare: an event's number, a time such as 2.5s, peak, start, end, oom or an annotation
    #[arg(long, value_name = "MOMENT", default_value = "peak")]
    at: String,
    /// The moment of the second file, or of the only one; by default that of --at
    #[arg(long, value_name = "MOMENT")]
    to: Option<String>,
    /// Exit with code 3 if it grew by more than this: 5%, 100MiB
    #[arg(long, value_name = "LIMIT", value_parser = parse_growth)]
    fail_if_grown: Option<Growth>,
    #[command(flatten)]
    grouping: Grouping,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope diff before.pickle after.pickle
  vramscope diff main.pickle branch.pickle --group-by function --fail-if-grown 5%
  vramscope diff snapshot.pickle --at 'step[2]' --to 'step[9]'
  vramscope diff monday/ tuesday/ --at end --csv

Of two folders, files of the same name are compared, whatever the numbers of processes in it (rank0_pid4711). A device is
compared with the one of its number, or, where either side has only one, with that.";

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    let to = options.to.as_deref().unwrap_or(&options.at);
    let by = options.grouping.group_by;
    if let Source::Open { subjects, answer } = source {
        let parts = open_parts(options, subjects, to)?;
        return report::write_json(answer, "diff", parts, options.show);
    }
    let (files, mut failures) = match options.inputs.files.as_slice() {
        [file] if to == options.at => return Err(nothing_to_compare(file)),
        // A folder is compared with itself, rank by rank.
        [file] => (files(slice::from_ref(file))?, Vec::new()),
        [before, after] => pairs(before, after)?,
        _ => {
            return Err(Failure::Usage(
                "diff compares two files or folders, or two moments of one".to_owned(),
            ));
        }
    };
    let mut parts = Vec::new();
    for pair in read(options, &files, to, &mut failures) {
        let (part, changes) = answer::part(&pair, by);
        parts.push(part);
        let limit = options.fail_if_grown;
        failures.extend(limit.and_then(|limit| limit.broken(&pair, &changes)));
    }
    if !parts.is_empty() {
        failures.extend(report::print("diff", parts, options.show).err());
    }
    report_all(failures)
}

/// The parts about open snapshots: one at two moments, or two.
fn open_parts(
    options: &Options,
    subjects: &[Arc<Subject>],
    to: &str,
) -> Result<Vec<Part>, Failure> {
    let (before, after) = match subjects {
        [one] if to == options.at => return Err(nothing_to_compare(Path::new(&one.name))),
        [one] => (one, one),
        [before, after, ..] => (before, after),
        [] => return Ok(Vec::new()),
    };
    let side = |subject: &Subject, moment: &str| {
        let subject = subject.narrowed(options.inputs.device)?;
        sides(&subject, moment, options.grouping)
    };
    let pairs = paired(side(before, &options.at)?, side(after, to)?)?;
    let by = options.grouping.group_by;
    Ok(pairs.iter().map(|pair| answer::part(pair, by).0).collect())
}

/// Reads the files (one file, or before and after in turn) and pairs their devices.
fn read(options: &Options, files: &[PathBuf], to: &str, failures: &mut Vec<Failure>) -> Vec<Pair> {
    let files_per_pair = options.inputs.files.len();
    let read = |place: usize, file: &Path| {
        let subject = Subject::load(file, options.inputs.device)?;
        let moments: &[&str] = match place % 2 {
            _ if files_per_pair == 1 => &[&options.at, to],
            0 => &[&options.at],
            _ => &[to],
        };
        let at = moments.iter();
        at.map(|moment| sides(&subject, moment, options.grouping))
            .collect::<Result<Vec<_>, Failure>>()
    };
    let read: Vec<_> = each(files, options.inputs.memory, read, |sides| sides.collect());
    let mut pairs = Vec::new();
    let mut read = read.into_iter();
    while read.len() > 0 {
        let mut both: Vec<Vec<Side>> = Vec::new();
        for side in read.by_ref().take(files_per_pair) {
            match side {
                Ok(more) => both.extend(more),
                Err(failure) => failures.push(failure),
            }
        }
        let Ok([before, after]) = <[Vec<Side>; 2]>::try_from(both) else {
            continue;
        };
        match paired(before, after) {
            Ok(more) => pairs.extend(more),
            Err(failure) => failures.push(failure),
        }
    }
    pairs
}

fn nothing_to_compare(file: &Path) -> Failure {
    Failure::Usage(format!(
        "{}: name a second file, or two moments of this one: --at start --to end",
        file.display()
    ))
}

/// The files to compare, before and after in turn, and a failure for each file without a counterpart.
fn pairs(before: &Path, after: &Path) -> Result<(Vec<PathBuf>, Vec<Failure>), Failure> {
    // One call for both, so that standard input named twice is refused.
    files(&[before.to_owned(), after.to_owned()])?;
    let mut before_files = files(&[before.to_owned()])?;
    let mut after_files = files(&[after.to_owned()])?;
    if before_files.len() == 1 && after_files.len() == 1 {
        before_files.append(&mut after_files);
        return Ok((before_files, Vec::new()));
    }
    if !(before.is_dir() && after.is_dir()) {
        return Err(Failure::Usage(
            "a file can be compared with a file, a folder with a folder".to_owned(),
        ));
    }
    let (mut both, mut failures) = (Vec::new(), Vec::new());
    // First by folder: rank 0 of one step is not that of another.
    let keys: [fn(&Path, &Path) -> String; 2] = [below, |file, _| name(file)];
    for key in keys {
        before_files.retain(|file| {
            let wanted = key(file, before);
            let counterpart = after_files
                .iter()
                .position(|other| key(other, after) == wanted);
            let other = counterpart.map(|place| after_files.remove(place));
            both.extend(other.into_iter().flat_map(|other| [file.clone(), other]));
            counterpart.is_none()
        });
    }
    failures.extend(before_files.iter().map(|file| alone(file, after)));
    failures.extend(after_files.iter().map(|file| alone(file, before)));
    Ok((both, failures))
}

/// A file's path relative to a folder, without process numbers, which never agree between two runs.
fn below(file: &Path, folder: &Path) -> String {
    let path = file.strip_prefix(folder).unwrap_or(file);
    without_processes(&path.to_string_lossy())
}

/// The file name alone, without process numbers.
fn name(file: &Path) -> String {
    below(file, file.parent().unwrap_or(Path::new("")))
}

/// Two folders in words: a sentence for each pair, the one a whole comparison begins with, and any failures.
#[cfg(unix)]
pub(crate) fn headlines(
    folders: [&Path; 2],
    limit: Option<Growth>,
) -> Result<(Vec<String>, Vec<Failure>), Failure> {
    let (files, mut failures) = pairs(folders[0], folders[1])?;
    let options = Options {
        inputs: Inputs::of(folders.map(Path::to_owned).to_vec()),
        at: "peak".to_owned(),
        to: None,
        fail_if_grown: limit,
        grouping: Grouping {
            group_by: Property::CallSite,
            depth: 1,
        },
        show: Show::default(),
    };
    let mut lines = Vec::new();
    for pair in read(&options, &files, "peak", &mut failures) {
        let (headline, changes) = answer::in_short(&pair, Property::CallSite);
        lines.push(format!("{}: {headline}", pair.after.file));
        failures.extend(limit.and_then(|limit| limit.broken(&pair, &changes)));
    }
    Ok((lines, failures))
}

fn alone(file: &Path, other: &Path) -> Failure {
    Failure::Input(format!(
        "{}: {} has no file of that name to compare it with",
        file.display(),
        other.display()
    ))
}
