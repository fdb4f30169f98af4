//! `vramscope fleet pack`: many snapshots as one dataset.
//!
//! `plan` finds the snapshots and their places, `share` decides which of them this process packs, `dataset` knows the
//! folder's layout, `snapshot` packs one of them, and `told` makes the answer. A snapshot's piece is written last, so
//! its presence means that the snapshot is packed. A process that finds the pieces of all snapshots after its share
//! makes the overview. That is the process that ends last; if two do it, both write the same.

mod dataset;
mod plan;
mod share;
mod snapshot;
mod told;

use std::collections::HashSet;
use std::mem;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use vramscope_core::fleet::Fleet;

use self::dataset::{Dataset, Known, Piece, Spot};
use self::plan::{Item, Plan, Sources};
use self::share::Share;
use self::snapshot::Packed;
use crate::arguments::{Show, Size, parse_size};
use crate::failure::Failure;
use crate::inputs::{self, RankNames};
use crate::report;

/// Write snapshots of many ranks as a dataset: Parquet for SQL, and an overview
///
/// Reads all snapshots, several at once, and writes a folder with tables for every rank and an overview of all.
/// Unchanged snapshots that are already packed are left out; interrupted work continues, and damaged files are written
/// again. A job may be packed bit by bit: snapshots whose rank or job changes because of others are packed again.
/// Several processes, even on several machines with a shared file system, can pack into the same folder at once, each a
/// share of the same snapshots; the one that ends last makes the overview.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Snapshots, or folders of them; also patterns such as 'runs/*/rank*.pickle'
    #[arg(required_unless_present = "finish", value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// The folder to write, which may already exist
    #[arg(short, long, value_name = "DATASET")]
    output: PathBuf,
    /// Extract the rank from the names of snapshots by a regular expression: from its first group, or from groups named
    /// rank, local_rank, step, host and job
    #[arg(long, value_name = "REGEX", value_parser = RankNames::parse)]
    rank_from: Option<RankNames>,
    /// Memory limit for snapshots that are read at once
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4GiB")]
    memory: Size,
    /// Pack only a share of the snapshots: 2/8 is the second of eight. By default the share that srun or torchrun gives
    /// this process, or else all
    #[arg(long, value_name = "N/M", value_parser = Share::parse)]
    share: Option<Share>,
    /// Remove ranks whose snapshots are not among SOURCES
    #[arg(long)]
    prune: bool,
    /// Make the overview from what is packed, if processes with other shares are gone
    #[arg(long, conflicts_with_all = ["sources", "share", "prune", "rank_from"])]
    finish: bool,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope fleet pack runs/ -o runs.vset
  vramscope fleet pack snapshots/*.pickle.gz -o job.vset --memory 64GiB
  vramscope fleet pack runs/ -o runs.vset --rank-from 'host(?<host>\\d+)/gpu(?<local_rank>\\d+)'
  srun vramscope fleet pack runs/ -o runs.vset
  vramscope fleet pack runs/ -o runs.vset --share 2/8
  vramscope fleet pack --finish -o runs.vset

Exit codes: 0 all is packed, 1 a snapshot could not be read (the others are packed), 2 wrong usage";

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let started = Instant::now();
    if options.finish {
        return finish(options);
    }
    let (share, by) = match options.share {
        Some(share) => (share, None),
        None => Share::of_launcher(),
    };
    // Before a folder is created for them.
    let files = plan::files(&options.sources)?.into_iter();
    let files: Vec<PathBuf> = files.collect::<Result<_, _>>()?;
    let dataset = Dataset::open(&options.output)?;
    let (sources, failures) = Sources::of(files, &dataset);
    if sources.is_empty() {
        let text = "no snapshot is among the sources, only this dataset itself: name the snapshots or their folder";
        inputs::report_all(failures)?;
        return Err(Failure::Usage(text.to_owned()));
    }
    let work = Work {
        dataset: &dataset,
        sources,
        rank_from: options.rank_from.as_ref(),
        share,
        memory: options.memory,
        is_pruned: options.prune,
    };
    let (mut done, known) = work.all()?;
    let fleet = work.overview(known, &mut done)?;
    let part = told::part(&work, &done, &fleet, (by, started.elapsed()));
    let printed = report::print("fleet pack", [part], options.show);
    let failures = told::failure(&done)
        .into_iter()
        .chain(inputs::bounded(failures));
    inputs::report_all(failures.chain(printed.err()))
}

/// Makes the overview from what is packed, whatever is missing.
fn finish(options: &Options) -> Result<(), Failure> {
    let dataset = Dataset::open(&options.output)?;
    let known = dataset.known();
    if known.is_empty() {
        let text = format!("{}: nothing is packed there", dataset.shown());
        return Err(Failure::Input(text));
    }
    let fleet = dataset.finish(&known, |_| true)?;
    report::print(
        "fleet pack",
        [told::finished(&dataset, &fleet)],
        options.show,
    )
}

/// Packs snapshots into a temporary folder for one question. Returns why some cannot be read, if others can.
///
/// # Errors
/// When none can be read, or the folder cannot be written.
#[cfg(feature = "sql")]
pub(crate) fn for_a_question(
    sources: &[PathBuf],
    rank_from: Option<&RankNames>,
    memory: Size,
    folder: &Path,
) -> Result<Vec<Failure>, Failure> {
    let (mut files, mut failures) = (Vec::new(), Vec::new());
    for file in plan::files(sources)? {
        match file {
            Ok(file) => files.push(file),
            Err(failure) => failures.push(failure),
        }
    }
    let dataset = Dataset::open_passing(folder)?;
    let (sources, unnamed) = Sources::of(files, &dataset);
    failures.extend(unnamed);
    let work = Work {
        dataset: &dataset,
        sources,
        rank_from,
        share: Share::ALL,
        memory,
        is_pruned: false,
    };
    let (done, _) = work.all()?;
    failures.extend(done.failures);
    let failures = inputs::bounded(failures);
    match done.packed.is_empty() {
        false => Ok(failures),
        true => inputs::report_all(failures).map(|()| Vec::new()),
    }
}

struct Work<'a> {
    dataset: &'a Dataset,
    sources: Sources,
    rank_from: Option<&'a RankNames>,
    share: Share,
    memory: Size,
    is_pruned: bool,
}

/// The result of the work.
#[derive(Default)]
struct Done {
    packed: Vec<Packed>,
    /// Snapshots of the share that were already packed and did not change.
    unchanged: usize,
    /// Snapshots that are not packed in their current version; other processes may still be packing them.
    missing: usize,
    /// Snapshots of the dataset that should move to another place because of these, but cannot be packed again.
    stuck: usize,
    /// Snapshots of the dataset that are not among the sources, and stay.
    others: usize,
    pruned: usize,
    failures: Vec<Failure>,
}

impl Work<'_> {
    /// Packs the part of the share that is not packed yet. Snapshots that others packed meanwhile may change places.
    /// Also returns all pieces as they were afterwards.
    fn all(&self) -> Result<(Done, Known), Failure> {
        let mut done = Done::default();
        // Whatever others do, a snapshot is packed at most once in each place.
        let mut seen: HashSet<Spot> = HashSet::new();
        loop {
            let known = self.dataset.known();
            let Plan { items, stuck } = self.plan(&known)?;
            let own = items.iter().filter(|item| self.share.has(item.number));
            let (unchanged, open): (Vec<&Item>, Vec<&Item>) = own
                .filter(|item| seen.insert(item.spot()))
                .partition(|item| self.is_unchanged(item, &known));
            done.unchanged += unchanged.len();
            done.stuck = stuck;
            if open.is_empty() {
                done.missing = items.iter().filter(|item| !is_packed(item, &known)).count();
                return Ok((done, known));
            }
            self.dataset.remove_overview()?;
            self.pass(&open, &known, &mut done)?;
        }
    }

    fn plan(&self, known: &Known) -> Result<Plan, Failure> {
        // Snapshots that will be removed change no place.
        let beside = known.values().flatten().filter(|_| !self.is_pruned);
        plan::plan(&self.sources, self.dataset, beside, self.rank_from)
    }

    fn is_unchanged(&self, item: &Item, known: &Known) -> bool {
        let pieces = known.get(&item.source.path).map_or(&[][..], Vec::as_slice);
        // An unreadable file may be readable now without a new date, if permissions changed.
        let is_whole =
            |piece: &Piece| !piece.is_unreadable() && self.dataset.has_tables(&piece.spot);
        is_packed(item, known) && pieces.iter().all(is_whole)
    }

    /// Packs snapshots.
    fn pass(&self, open: &[&Item], known: &Known, done: &mut Done) -> Result<(), Failure> {
        let files: Vec<_> = open.iter().map(|item| item.path.clone()).collect();
        let one = |index: usize, _: &Path| {
            let pieces = known.get(&open[index].source.path);
            let old = pieces.into_iter().flatten().map(|piece| &piece.spot);
            snapshot::pack(self.dataset, open[index], &old.collect::<Vec<_>>())
        };
        inputs::each(&files, self.memory, one, |outcomes| {
            for outcome in outcomes {
                match outcome {
                    Ok(packed) => done.packed.push(packed),
                    Err(snapshot::Failed::Read(failure)) => done.failures.push(failure),
                    // Stop if the dataset cannot be written.
                    Err(snapshot::Failed::Write(failure)) => return Err(failure),
                }
            }
            Ok(())
        })
    }

    /// Everything packed so far. If nothing is missing, it is written as the overview.
    fn overview(&self, mut known: Known, done: &mut Done) -> Result<Fleet, Failure> {
        let is_other = |path: &str| !self.sources.has(path);
        done.others = known.keys().filter(|path| is_other(path)).count();
        if done.missing > 0 {
            return Ok(dataset::fleet(known));
        }
        if self.is_pruned {
            done.pruned = mem::take(&mut done.others);
            let gone = known.extract_if(.., |path, _| is_other(path));
            for piece in gone.flat_map(|(_, pieces)| pieces) {
                self.dataset.remove(&piece.spot)?;
            }
        }
        self.dataset.finish(&known, |path| self.sources.has(path))
    }
}

/// Whether a snapshot is packed in its current version, or known to be unreadable.
fn is_packed(item: &Item, known: &Known) -> bool {
    match known.get(&item.source.path).map(Vec::as_slice) {
        Some([piece]) => piece.is_of(item),
        _ => false,
    }
}
