//! `vramscope brief`: one answer of bounded length, for readers who pay for each line: programs, and people in a hurry.

mod among;
mod answer;
mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use vramscope_core::analysis::report::verdicts::CauseClass;
use vramscope_core::fleet::Fleet;
use vramscope_core::fleet::names::places_of;
use vramscope_core::model::DeviceIndex;

use self::among::{Chosen, Read};
use self::answer::{About, Answer};
use crate::arguments::{Inputs, Size, parse_size};
use crate::failure::Failure;
use crate::guarded;
use crate::harmless::quoted;
use crate::input::{display_name, is_stdin};
use crate::inputs::{Source, bounded, each, files_once, none_read, overview, report_all, source};
use crate::output::{self, wrap};
use crate::report::word;
use crate::subject::Subject;

/// The smallest allowed budget, in bytes.
pub(crate) const LEAST_BYTES: u64 = 1 << 10;
/// The default budget.
pub(crate) const USUAL_BYTES: u64 = 4 << 10;
/// Maximum line length in the list of classes, in characters.
const HELP_WIDTH: usize = 105;
/// Default memory for files that are read at once.
const USUAL_MEMORY: Size = Size(4 << 30);

/// Say in one short answer what failed or peaked, why, where, and what would help
///
/// The answer has at most --budget bytes: the cause and its class with figures, the responsible code, settings that
/// were replayed with how wrong the result may be, what the file does not show, and commands for details. Each list
/// gives its total number of entries. With several files, the answer is about the one that failed first, or else stands
/// out, among those of one job and step: the last with a failure, or else the one with the most files. The same files
/// always give the same bytes.
#[derive(Args)]
#[command(after_help = after_help())]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// Maximum length of the answer, at least 1KiB
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4KiB")]
    budget: Size,
    /// Print JSON on one line, described by `vramscope man json`
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope brief snapshot.pickle
  vramscope brief runs/42 --json --budget 2KiB | jq -r .causes.items[0].class

";

/// Examples, and all classes of causes.
fn after_help() -> String {
    let classes = CauseClass::ALL.iter().filter_map(word);
    let classes: Vec<String> = classes.collect();
    let classes = format!("Classes of causes: {}", classes.join(", "));
    format!("{EXAMPLES}{}", wrap::words(&classes, HELP_WIDTH))
}

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    let Size(budget) = options.budget;
    if let Source::Open { subjects, answer } = source {
        let told = about_open(subjects, options.inputs.device, budget)?.json()?;
        let written = answer.write_all(told.as_bytes());
        return written.map_err(Failure::io("cannot hold the answer"));
    }
    let inputs = &options.inputs;
    let (answer, failures) = match about(&inputs.files, inputs.memory, inputs.device, budget) {
        Ok(answer) => answer,
        Err(failures) => return report_all(bounded(failures)),
    };
    let printed = match options.json {
        true => output::print_bytes(answer.json()?.as_bytes()),
        false => output::print(&answer.text()?),
    };
    report_all(bounded(failures).into_iter().chain(printed.err()))
}

/// What `--json` prints about files, including why some could not be read: the caller does not see standard error.
///
/// # Errors
/// If no file can be read, or the budget is too small.
pub(crate) fn json(files: &[PathBuf], budget: u64) -> Result<String, Failure> {
    match about(files, USUAL_MEMORY, None, budget) {
        Ok((mut answer, failures)) => {
            answer.tell_why(&failures);
            answer.json()
        }
        Err(failures) => Err(none_read(failures)),
    }
}

/// What the command prints about files, even if others cannot be read.
///
/// # Errors
/// If no file can be read.
#[cfg(unix)]
pub(crate) fn text(files: &[PathBuf], budget: u64) -> Result<String, Failure> {
    match about(files, USUAL_MEMORY, None, budget) {
        Ok((answer, _)) => answer.text(),
        Err(failures) => Err(none_read(failures)),
    }
}

/// The answer about the file that failed or stands out, and why others could not be read. Fails if none could be read,
/// with the reason.
fn about(
    named: &[PathBuf],
    memory: Size,
    device: Option<DeviceIndex>,
    budget: u64,
) -> Result<(Answer, Vec<Failure>), Vec<Failure>> {
    let one = |failure| vec![failure];
    check(budget).map_err(one)?;
    let files = files_once(named).map_err(one)?;
    if let [file] = files.as_slice()
        && let Some(fleet) = overview(file).map_err(one)?
    {
        let answer = about_dataset(&named[0], file, fleet, device, budget);
        return Ok((answer.map_err(one)?, Vec::new()));
    }
    let names: Vec<String> = files.iter().map(|file| display_name(file)).collect();
    let places = places_of(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let work = |index: usize, file: &Path| {
        // Standard input can be read only once.
        let is_kept = files.len() == 1 || is_stdin(file);
        let subject = Subject::load(file, device)?;
        Ok(Read::of(subject, index, &places[index], is_kept))
    };
    let read: Vec<Result<Read, Failure>> = each(&files, memory, work, |reads| reads.collect());
    let (mut reads, mut failures) = (Vec::new(), Vec::new());
    for result in read {
        match result {
            Ok(read) => reads.push(read),
            Err(failure) => failures.push(failure),
        }
    }
    if reads.is_empty() {
        return Err(failures);
    }
    let load = |index: usize| Subject::load(&files[index], device);
    let folder = match named {
        [one] if one.is_dir() => Some(one.as_path()),
        _ => None,
    };
    let unread = (!failures.is_empty()).then(|| {
        let unread = failures.len();
        format!("{unread} of the files could not be read; standard error says why.")
    });
    let idle = reads.iter().filter(|read| read.is_idle()).count();
    let idle = (idle > 0 && reads.len() > 1)
        .then(|| format!("In {idle} of the files nothing happened; they do not count."));
    let others = unread.into_iter().chain(idle).collect();
    let answer = answer(&mut reads, load, (others, folder), budget);
    Ok((answer.map_err(one)?, failures))
}

/// The answer about the snapshot of the rank in a dataset that failed or stands out.
fn about_dataset(
    named: &Path,
    overview: &Path,
    fleet: Fleet,
    device: Option<DeviceIndex>,
    budget: u64,
) -> Result<Answer, Failure> {
    let fleet = fleet.only(|rank| device.is_none_or(|device| device == rank.device));
    let mut chosen = Chosen::of(&fleet)
        .ok_or_else(|| Failure::Input(format!("{}: there is no rank", named.display())))?;
    // The path comes from whoever made the overview.
    let Some(file) = guarded::snapshot_of(overview, chosen.file()) else {
        let what = format!(
            "{}: the rank to look at is that of {}, which is not in the dataset's folder and not below the one in which that lies",
            named.display(),
            quoted(chosen.file())
        );
        let advice = [
            "No other file is opened because a dataset names it: if you trust the name, `vramscope brief FILE` asks the snapshot.",
            "The dataset itself answers `vramscope fleet odd` and `vramscope fleet oom`.",
        ];
        return Err(Failure::Input(what).followed_by(advice));
    };
    let file = &file;
    let parts = Path::new(chosen.file()).components().count();
    if let Some(root) = file.ancestors().nth(parts) {
        chosen.name_from(root);
    }
    let now = source(file);
    let changed = ((now.bytes, now.modified_us) != chosen.packed()).then(|| {
        "This file has changed since it was packed: the information about ranks is older. `vramscope fleet pack` updates the \
         dataset."
            .to_owned()
    });
    let unread = (!fleet.unreadable.is_empty()).then(|| {
        let unread = fleet.unreadable.len();
        format!("{unread} of the files could not be read when they were packed.")
    });
    let about = About {
        subject: &Subject::load(file, Some(chosen.device()))?,
        chosen: Some(&chosen),
        others: changed.into_iter().chain(unread).collect(),
        folder: Some(named),
    };
    Answer::of(&about, budget)
}

/// The answer about the open snapshot that failed or stands out.
fn about_open(
    subjects: &[Arc<Subject>],
    device: Option<DeviceIndex>,
    budget: u64,
) -> Result<Answer, Failure> {
    check(budget)?;
    let names: Vec<&str> = subjects.iter().map(|subject| &*subject.name).collect();
    let places = places_of(&names);
    let rows = subjects.iter().zip(&places).enumerate();
    let mut reads: Vec<Read> = rows
        .map(|(index, (subject, place))| {
            Ok(Read::of(subject.narrowed(device)?, index, place, true))
        })
        .collect::<Result<_, _>>()?;
    let none = |_| Err(Failure::Usage("no snapshot".to_owned()));
    answer(&mut reads, none, (Vec::new(), None), budget)
}

/// The answer about the device that failed or stands out. If its file was not kept, `load` reads it again.
fn answer(
    reads: &mut [Read],
    load: impl Fn(usize) -> Result<Subject, Failure>,
    (others, folder): (Vec<String>, Option<&Path>),
    budget: u64,
) -> Result<Answer, Failure> {
    let chosen = Chosen::of_files(reads);
    // If nothing happened in any file, the first is as good as the others.
    let name = chosen.as_ref().map(Chosen::file);
    let mut fitting = reads.iter_mut();
    let read = fitting.find(|read| name.is_none_or(|name| read.name == name));
    let read = read.ok_or_else(|| Failure::Usage("no file".to_owned()))?;
    let subject = match read.subject.take() {
        Some(subject) => subject,
        None => load(read.index)?,
    };
    let device = chosen.as_ref().map(Chosen::device);
    let about = About {
        subject: &subject.narrowed(device)?,
        chosen: chosen.as_ref(),
        others,
        folder,
    };
    Answer::of(&about, budget)
}

fn check(budget: u64) -> Result<(), Failure> {
    if budget < LEAST_BYTES {
        return Err(Failure::Usage("--budget must be at least 1KiB".to_owned()));
    }
    Ok(())
}
