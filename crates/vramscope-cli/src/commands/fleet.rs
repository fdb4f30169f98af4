//! `vramscope fleet`: questions about all ranks of a job.

mod diff;
mod odd;
mod oom;
mod pack;
mod peaks;
mod sites;

#[cfg(feature = "sql")]
pub(crate) use self::pack::for_a_question as pack_for_a_question;

use std::collections::BTreeSet;

use clap::{Args, Subcommand, ValueEnum};
use vramscope_core::analysis::report::findings::counted;
use vramscope_core::fleet::questions::{Cohort, SiteFigure, failed_cohort, main_cohort};
use vramscope_core::fleet::{Fleet, Rank, RankFrom};
use vramscope_core::model::DeviceIndex;
use vramscope_core::units::{Bytes, Count};

use crate::arguments::Show;
use crate::failure::Failure;
use crate::inputs::{Ranks, Source, fleet, report_all};
use crate::report::{self, Cell, Part};

/// Ask about all ranks of a job at once
///
/// A rank is a device of a snapshot on which something happened. Its number, step, host and job come from the file
/// name, as written by torchtitan, Megatron, NeMo, verl, Composer, MindSpeed, lmms-engine, vramscope record and
/// vramscope-capture, or are extracted by --rank-from. A question is about one step of one job: the one with the most
/// ranks, and among equals the last; `oom` is about the last on which a request failed.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    task: Task,
}

const EXAMPLES: &str = "\
Examples:
  vramscope fleet pack memory_snapshot/ -o runs.vset
  vramscope fleet peaks memory_snapshot/
  vramscope fleet odd memory_snapshot/ --step 100
  vramscope fleet diff memory_snapshot/ --rank 17
  vramscope fleet diff node.pickle --rank 0 --device 3 --against 0 --against-device 0
  vramscope fleet leaks runs.vset
  vramscope fleet oom runs.vset --json | jq '.parts[0].ranks[0]'
  vramscope fleet sites runs.vset --of end --csv";

#[derive(Subcommand)]
enum Task {
    Pack(pack::Options),
    /// How high each rank peaks, and when
    Peaks(Asked),
    /// Which ranks differ from the rest, in what, and by which call sites
    Odd(Asked),
    /// How a rank differs from another, or from the median, by call site
    Diff(DiffOptions),
    /// Which call sites leave memory behind with each step, on how many ranks
    Leaks(Asked),
    /// Which ranks ran out of memory, earliest first
    Oom(Asked),
    /// What each call site holds over all ranks
    Sites(SitesOptions),
}

/// Options of all questions.
#[derive(Args)]
struct Asked {
    #[command(flatten)]
    ranks: Ranks,
    #[command(flatten)]
    narrowed: Narrowed,
    #[command(flatten)]
    show: Show,
}

/// Selects ranks.
#[derive(Args)]
struct Narrowed {
    /// Only ranks of this step
    #[arg(long, value_name = "N")]
    step: Option<u64>,
    /// Only ranks of this job
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
}

#[derive(Args)]
struct DiffOptions {
    #[command(flatten)]
    asked: Asked,
    /// The rank in question; by default the odd one by peak, or else the highest
    #[arg(long, value_name = "N")]
    rank: Option<u32>,
    /// The device of --rank, if its snapshot has several
    #[arg(long, value_name = "N", requires = "rank")]
    device: Option<u32>,
    /// The rank to compare with; by default the median
    #[arg(long, value_name = "N")]
    against: Option<u32>,
    /// The device of --against, if its snapshot has several
    #[arg(long, value_name = "N", requires = "against")]
    against_device: Option<u32>,
}

#[derive(Args)]
struct SitesOptions {
    #[command(flatten)]
    asked: Asked,
    /// Which bytes
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    of: FigureWord,
}

/// [`SiteFigure`] as an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum FigureWord {
    /// Live at the peak
    #[default]
    Peak,
    /// Live at the end
    End,
    /// Left behind by each step
    Step,
}

impl FigureWord {
    fn figure(self) -> SiteFigure {
        match self {
            Self::Peak => SiteFigure::Peak,
            Self::End => SiteFigure::End,
            Self::Step => SiteFigure::LeftPerStep,
        }
    }
}

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    match &options.task {
        Task::Pack(options) => {
            source.must_be_files("fleet pack")?;
            pack::run(options)
        }
        Task::Peaks(asked) => answer("fleet peaks", asked, source, |chosen| {
            Ok(peaks::peaks(chosen))
        }),
        Task::Odd(asked) => answer("fleet odd", asked, source, |chosen| Ok(odd::part(chosen))),
        Task::Diff(options) => answer("fleet diff", &options.asked, source, |chosen| {
            diff::diff(chosen, options)
        }),
        Task::Leaks(asked) => answer("fleet leaks", asked, source, |chosen| {
            Ok(sites::leaks(chosen))
        }),
        Task::Oom(asked) => {
            let read = fleet(&asked.ranks)?;
            let chosen = Chosen::failed(read.fleet, &asked.narrowed)?;
            let part = Ok(oom::oom(&chosen));
            print("fleet oom", asked, source, (&chosen, part), read.failures)
        }
        Task::Sites(options) => answer("fleet sites", &options.asked, source, |chosen| {
            Ok(sites::part(chosen, options.of.figure()))
        }),
    }
}

fn answer(
    command: &str,
    asked: &Asked,
    source: &mut Source<'_>,
    part: impl FnOnce(&Chosen) -> Result<Part, Failure>,
) -> Result<(), Failure> {
    let read = fleet(&asked.ranks)?;
    let mut chosen = Chosen::of(read.fleet, &asked.narrowed)?;
    chosen.is_mixed = read.is_mixed;
    let part = part(&chosen);
    print(command, asked, source, (&chosen, part), read.failures)
}

fn print(
    command: &str,
    asked: &Asked,
    source: &mut Source<'_>,
    (chosen, part): (&Chosen, Result<Part, Failure>),
    failures: Vec<Failure>,
) -> Result<(), Failure> {
    let part = part.map(|mut part| {
        part.notes.extend(chosen.notes());
        part
    });
    match source {
        // The answer's notes report what could not be read.
        Source::Open { answer, .. } => report::write_json(answer, command, vec![part?], asked.show),
        Source::Files => {
            let printed = part.and_then(|part| report::print(command, [part], asked.show));
            report_all(failures.into_iter().chain(printed.err()))
        }
    }
}

/// The ranks that a question is about.
struct Chosen {
    fleet: Fleet,
    cohort: Cohort,
    /// The other steps and jobs.
    others: Vec<Cohort>,
    /// Whether they come from several sources that do not list the same call sites.
    is_mixed: bool,
}

impl Chosen {
    /// The ranks of the step and job with the most ranks.
    fn of(fleet: Fleet, narrowed: &Narrowed) -> Result<Self, Failure> {
        Self::by(fleet, narrowed, main_cohort)
    }

    /// The ranks of the last step and job with a failed request, if there is one.
    fn failed(fleet: Fleet, narrowed: &Narrowed) -> Result<Self, Failure> {
        Self::by(fleet, narrowed, failed_cohort)
    }

    fn by(
        fleet: Fleet,
        narrowed: &Narrowed,
        choose: impl Fn(&[Cohort]) -> Option<&Cohort>,
    ) -> Result<Self, Failure> {
        let cohorts = fleet.cohorts();
        let fits = |cohort: &&Cohort| {
            let job = narrowed.job.as_ref();
            (narrowed.step.is_none() || narrowed.step == cohort.step)
                && job.is_none_or(|job| *job == cohort.job)
        };
        let fitting: Vec<Cohort> = cohorts.iter().filter(fits).cloned().collect();
        let Some(cohort) = choose(&fitting).cloned() else {
            return Err(none_fits(&cohorts));
        };
        let fleet = match cohorts.len() {
            1 => fleet,
            _ => fleet.cohort(&cohort),
        };
        let others = cohorts.into_iter().filter(|other| *other != cohort);
        Ok(Self {
            others: others.collect(),
            fleet,
            cohort,
            is_mixed: false,
        })
    }

    /// An answer without figures.
    fn part(&self) -> Part {
        let mut part = Part {
            file: match self.fleet.ranks.len() {
                1 => "1 rank".to_owned(),
                count => format!("{} ranks", Count(count as u64)),
            },
            ..Part::default()
        };
        if !self.cohort.job.is_empty() {
            part.fact("job", "job", Cell::Text(self.cohort.job.clone()));
        }
        if let Some(step) = self.cohort.step {
            part.fact("step", "step", Cell::Number(step));
        }
        part.fact("rank_count", "", Cell::Number(self.cohort.ranks));
        let left_out = self.others.iter().map(|cohort| cohort.ranks).sum();
        part.fact("ranks_left_out", "", Cell::Number(left_out));
        part
    }

    /// Notes on what the ranks lack, and on what was left out.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if !self.others.is_empty() {
            notes.push(format!(
                "Left out: {}. --step and --job choose.",
                listed(&self.others)
            ));
        }
        notes.extend(self.missing());
        notes.extend(self.repeated());
        let ranks = &self.fleet.ranks;
        let is_unnamed = |rank: &Rank| rank.place.rank_from == RankFrom::Order && ranks.len() > 1;
        notes.extend(ranks_are(
            ranks.iter().filter(|rank| is_unnamed(rank)).count(),
            "counted in the order of names, as these contain no rank in the whole job: see --rank-from.",
        ));
        notes.extend(ranks_are(
            ranks.iter().filter(|rank| rank.damage > 0).count(),
            "from damaged files: figures may be wrong.",
        ));
        notes.extend(self.unread());
        notes
    }

    /// Ranks in the middle of the range that have no snapshot.
    fn missing(&self) -> Option<String> {
        let numbers = self.fleet.ranks.iter().map(|rank| rank.place.rank);
        let numbers: BTreeSet<u32> = numbers.collect();
        let (least, most) = (*numbers.first()?, *numbers.last()?);
        let missing = (least..most).filter(|rank| !numbers.contains(rank));
        // If most are missing, they were left out on purpose.
        let missing: Vec<u32> = missing.take(numbers.len()).collect();
        (!missing.is_empty() && missing.len() < numbers.len()).then(|| {
            format!(
                "Of ranks {least} to {most} there is no readable snapshot of {}.",
                ranges(&missing)
            )
        })
    }

    /// Ranks with several snapshots.
    fn repeated(&self) -> Option<String> {
        let ranks = self.fleet.ranks.iter();
        let mut places: Vec<_> = ranks.map(|rank| (rank.place.rank, rank.device)).collect();
        places.sort_unstable();
        let pairs = places.windows(2).filter(|pair| pair[0] == pair[1]);
        let mut repeated: Vec<u32> = pairs.map(|pair| pair[0].0).collect();
        repeated.dedup();
        (!repeated.is_empty()).then(|| {
            format!(
                "There are several snapshots of rank {}, and each counts as a rank: to compare ranks, name one snapshot of \
                 each.",
                ranges(&repeated)
            )
        })
    }

    /// Call sites that are in no list.
    fn other_sites(&self) -> Option<String> {
        let ranks = self.fleet.ranks.iter().map(|rank| &rank.other_sites);
        let most = ranks.filter(|others| others.count > 0);
        let most = most.map(|others| others.bytes).max()?;
        let known = match self.is_mixed {
            false => "with what every rank holds there",
            true => "which differ between datasets: a rank may hold memory where none is listed",
        };
        Some(format!(
            "Only the largest call sites are listed, {known}. Those that hold less on all ranks are summed up: they hold up to \
             {} at the peak of a rank.",
            Bytes(most)
        ))
    }

    /// Snapshots that could not be read.
    fn unread(&self) -> Option<String> {
        const NAMED: usize = 3;
        let unread = &self.fleet.unreadable;
        let names = unread.iter().take(NAMED).map(|it| it.source.path.as_str());
        let mut names: Vec<&str> = names.collect();
        if unread.len() > NAMED {
            names.push("…");
        }
        let is = if unread.len() == 1 { "is" } else { "are" };
        (!unread.is_empty()).then(|| {
            format!(
                "{} could not be read and {is} in no figure: {}.",
                counted(unread.len() as u64, "snapshot"),
                names.join(", ")
            )
        })
    }

    /// A rank's name in sentences: its number, with the device if its snapshot has several, and its file if the rank
    /// has several.
    fn name(&self, row: usize) -> String {
        let rank = &self.fleet.ranks[row];
        let number = rank.place.rank;
        let (device, file) = self.apart(row);
        let device = device.map_or(String::new(), |device| format!(", device {device}"));
        let file = file.map_or(String::new(), |file| format!(" of {file}"));
        format!("rank {number}{device}{file}")
    }

    /// What distinguishes a rank from others with its number: the device if its snapshot has several, and the file if
    /// the rank has several.
    fn apart(&self, row: usize) -> (Option<DeviceIndex>, Option<&str>) {
        let rank = &self.fleet.ranks[row];
        let path = &rank.source.path;
        let ranks = self.fleet.ranks.iter();
        let same = ranks.filter(|it| it.place.rank == rank.place.rank);
        let (of_file, others): (Vec<&Rank>, Vec<&Rank>) =
            same.partition(|it| it.source.path == *path);
        let device = (of_file.len() > 1).then_some(rank.device);
        (device, (!others.is_empty()).then_some(path))
    }

    /// The cells of [`Self::apart`].
    fn apart_cells(&self, row: usize) -> [Cell; 2] {
        let (device, file) = self.apart(row);
        [
            Cell::or_none(device, |device| Cell::Number(device.into())),
            Cell::or_none(file, |file| Cell::Text(file.to_owned())),
        ]
    }
}

fn text_or_none(text: &str) -> Cell {
    Cell::or_none((!text.is_empty()).then(|| text.to_owned()), Cell::Text)
}

/// `3 ranks are …`; `None` for no ranks.
fn ranks_are(count: usize, what: &str) -> Option<String> {
    match count {
        0 => None,
        1 => Some(format!("1 rank is {what}")),
        more => Some(format!("{} ranks are {what}", Count(more as u64))),
    }
}

/// Ascending numbers as ranges: `0 to 3, 5`.
fn ranges(numbers: &[u32]) -> String {
    const LISTED: usize = 8;
    let mut ranges = numbers
        .chunk_by(|a, b| a + 1 == *b)
        .map(|range| match range {
            [one] => one.to_string(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        });
    let mut listed: Vec<String> = ranges.by_ref().take(LISTED).collect();
    if ranges.next().is_some() {
        listed.push("…".to_owned());
    }
    listed.join(", ")
}

fn none_fits(cohorts: &[Cohort]) -> Failure {
    if cohorts.is_empty() {
        return Failure::Input("there is no rank: nothing happened on any device".to_owned());
    }
    Failure::Input(format!(
        "no rank is of that step and job; there are {}",
        listed(cohorts)
    ))
}

/// The number of ranks of each job and step.
fn listed(cohorts: &[Cohort]) -> String {
    const LISTED: usize = 8;
    let named = cohorts.iter().take(LISTED).map(|cohort| {
        let step = cohort.step.map(|step| format!("step {step}"));
        let job = (!cohort.job.is_empty()).then(|| format!("job {}", cohort.job));
        let place: Vec<String> = job.into_iter().chain(step).collect();
        let place = match place.is_empty() {
            true => "no step or job".to_owned(),
            false => place.join(" "),
        };
        format!("{} of {place}", counted(cohort.ranks, "rank"))
    });
    let mut known: Vec<String> = named.collect();
    if cohorts.len() > LISTED {
        known.push(format!("{} more", cohorts.len() - LISTED));
    }
    known.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 3, 5, 7, 8]), "0 to 3, 5, 7 to 8");
        let odd: Vec<u32> = (0..20).map(|number| 2 * number).collect();
        assert_eq!(ranges(&odd), "0, 2, 4, 6, 8, 10, 12, 14, …");
    }
}
