//! `vramscope fleet pack`: many snapshots as one dataset.
//!
//! `plan` finds the snapshots and their places, `dataset` knows the folder, `claims` shares the work with other processes,
//! `snapshot` packs one of them, and `told` has the answer. A snapshot's piece is written last: its presence says that
//! the snapshot is packed. The overview is made of all pieces by each process that finishes.

mod claims;
mod dataset;
mod plan;
mod snapshot;
mod told;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use self::claims::{Claim, Claims};
use self::dataset::{Dataset, Piece, Spot};
use self::plan::{Item, Plan};
use self::snapshot::Packed;
use crate::arguments::{Show, Size, parse_size};
use crate::failure::Failure;
use crate::inputs::{self, RankNames};
use crate::report;

/// Write snapshots of many ranks as a dataset: Parquet for SQL, and an overview
///
/// Reads all snapshots, several at once, and writes a folder with tables for every rank and an overview of all. Snapshots
/// that are in it already and did not change are left out; what was interrupted goes on, and what is damaged is written
/// again. A job may be packed bit by bit: those whose rank or job changes by others are packed again. Several processes,
/// also of several machines with a shared file system, can pack into the same folder at once: each takes other snapshots.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Snapshots, or folders of them; also patterns such as 'runs/*/rank*.pickle'
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// The folder to write, which may be there already
    #[arg(short, long, value_name = "DATASET")]
    output: PathBuf,
    /// Take the rank from the names of snapshots by a regular expression: from its first group, or from groups named
    /// rank, local_rank, step, host and job
    #[arg(long, value_name = "REGEX", value_parser = RankNames::parse)]
    rank_from: Option<RankNames>,
    /// Memory limit for snapshots that are read at once
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "4GiB")]
    memory: Size,
    /// Remove ranks whose snapshots are not among SOURCES
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope fleet pack runs/ -o runs.vset
  vramscope fleet pack snapshots/*.pickle.gz -o job.vset --memory 64GiB
  vramscope fleet pack runs/ -o runs.vset --rank-from 'host(?<host>\\d+)/gpu(?<local_rank>\\d+)'
  srun vramscope fleet pack runs/ -o runs.vset

Exit codes: 0 all is packed, 1 a snapshot could not be read (the others are packed), 2 wrong usage";

/// How long to wait before looking again at what other processes have.
const PATIENCE: Duration = Duration::from_millis(200);

pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let started = Instant::now();
    // Before a folder is made for them.
    let files = plan::files(&options.sources)?.into_iter();
    let files: Vec<PathBuf> = files.collect::<Result<_, _>>()?;
    let dataset = Dataset::open(&options.output)?;
    let plan = |known: &HashMap<String, Piece>| {
        // What is to go changes no place.
        let beside = known.values().filter(|_| !options.prune);
        plan::plan(&files, &dataset, beside, options.rank_from.as_ref())
    };
    let known = dataset.known();
    let first = plan(&known)?;
    dataset.begin()?;
    let mut claims = Claims::join(&dataset)?;
    let mut work = Work {
        dataset: &dataset,
        claims: &claims,
        plan: first,
        memory: options.memory,
        known,
    };
    let mut done = work.all()?;
    // What others packed meanwhile may change places.
    while let Some(known) = work.news().filter(|_| !options.prune) {
        (work.plan, work.known) = (plan(&known)?, known);
        done.add(work.all()?);
    }
    let mut fleet = dataset.write_overview()?;
    if options.prune {
        done.pruned = work.prune()?;
    }
    if done.pruned > 0 {
        fleet = dataset.write_overview()?;
    }
    let part = told::part(&work, &done, &fleet, started.elapsed());
    claims.leave();
    dataset.sweep(|| claims.are_alone());
    let printed = report::print("fleet pack", [part], options.show);
    inputs::report_all(told::failure(&done).into_iter().chain(printed.err()))
}

/// Packs snapshots into a folder that is there for a question only. Returns why some cannot be read, if others can.
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
    let plan = plan::plan(&files, &dataset, [], rank_from)?;
    let claims = Claims::join(&dataset)?;
    let work = Work {
        dataset: &dataset,
        claims: &claims,
        plan,
        memory,
        known: HashMap::new(),
    };
    let done = work.all()?;
    failures.extend(done.failures);
    let failures = inputs::bounded(failures);
    match done.packed.is_empty() {
        false => Ok(failures),
        true => inputs::report_all(failures).map(|()| Vec::new()),
    }
}

/// The work of this process.
struct Work<'a> {
    dataset: &'a Dataset,
    claims: &'a Claims,
    plan: Plan,
    memory: Size,
    /// What was in the dataset before, by the snapshots' paths.
    known: HashMap<String, Piece>,
}

/// What became of it.
#[derive(Default)]
struct Done {
    packed: Vec<Packed>,
    /// Snapshots that were in the dataset and did not change.
    unchanged: usize,
    /// Snapshots that other processes packed meanwhile.
    by_others: usize,
    pruned: usize,
    failures: Vec<Failure>,
}

impl Done {
    /// Adds what became of the same snapshots, and of others, when they were looked at again.
    fn add(&mut self, more: Self) {
        self.packed.extend(more.packed);
        self.by_others += more.by_others;
        // What could not be read was tried again.
        self.failures = more.failures;
    }
}

/// What became of a snapshot.
enum Outcome {
    Packed(Packed),
    Unreadable(Failure),
    /// Another process does it, or did.
    Claimed,
    ByOthers,
}

impl Work<'_> {
    /// Packs what is not packed yet, as far as no other process does. Then waits for those, and takes over from those
    /// that are gone.
    fn all(&self) -> Result<Done, Failure> {
        let mut done = Done::default();
        let (unchanged, mut open): (Vec<usize>, Vec<usize>) = (0..self.plan.items.len())
            .partition(|&index| self.is_unchanged(&self.plan.items[index]));
        done.unchanged = unchanged.len();
        while !open.is_empty() {
            open = self.pass(&open, &mut done)?;
            if !open.is_empty() {
                thread::sleep(PATIENCE);
            }
        }
        Ok(done)
    }

    fn is_unchanged(&self, item: &Item) -> bool {
        let known = self.known.get(&item.source.path);
        // What could not be read may be readable now, without another date: permissions.
        known.is_some_and(|piece| {
            let is_whole = || self.dataset.has_tables(&piece.spot);
            piece.is_of(item) && !piece.is_unreadable() && is_whole()
        })
    }

    /// The pieces as they are now, if there are any of snapshots that the plan does not know.
    fn news(&self) -> Option<HashMap<String, Piece>> {
        let items = self.plan.items.iter();
        let planned: HashSet<_> = items.map(|item| &item.source.path).collect();
        let now = self.dataset.known();
        let is_new = |path: &String| !planned.contains(path) && !self.known.contains_key(path);
        now.keys().any(is_new).then_some(now)
    }

    /// Goes through snapshots once. Returns those that other processes work on.
    fn pass(&self, open: &[usize], done: &mut Done) -> Result<Vec<usize>, Failure> {
        let (mut left, free): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|&&index| self.is_taken(index));
        let files: Vec<_> = free
            .iter()
            .map(|&index| self.plan.items[index].path.clone())
            .collect();
        let one = |place: usize, _: &Path| self.one(&self.plan.items[free[place]]);
        inputs::each(&files, self.memory, one, |outcomes| {
            // A dataset that cannot be written ends it all.
            free.iter().zip(outcomes).try_for_each(|(&index, outcome)| {
                match outcome? {
                    Outcome::Packed(packed) => done.packed.push(packed),
                    Outcome::Unreadable(failure) => done.failures.push(failure),
                    Outcome::ByOthers => done.by_others += 1,
                    Outcome::Claimed => left.push(index),
                }
                Ok(())
            })
        })?;
        left.sort_unstable();
        Ok(left)
    }

    /// Whether another process works on it.
    fn is_taken(&self, index: usize) -> bool {
        let item = &self.plan.items[index];
        let spots = item.spots();
        spots
            .iter()
            .any(|spot| self.claims.is_held_for(spot, &item.source.path))
    }

    fn one(&self, item: &Item) -> Result<Outcome, Failure> {
        let Some((spot, _claim)) = self.claim(item)? else {
            return Ok(Outcome::Claimed);
        };
        // Another process may have finished it before the claim.
        let is_of_it = |piece: Piece| piece.is_of(item) && self.dataset.has_tables(&spot);
        if self.dataset.piece(&spot).is_some_and(is_of_it) || self.has_failed_elsewhere(item) {
            return Ok(Outcome::ByOthers);
        }
        let old = self.known.get(&item.source.path).map(|piece| &piece.spot);
        // Another process may have put another snapshot there since this one began.
        let is_still = |old: &&Spot| {
            let there = self.dataset.piece(old);
            there.is_some_and(|there| there.source().path == item.source.path)
        };
        let old = old.filter(is_still);
        match snapshot::pack(self.dataset, item, &spot, old) {
            Ok(packed) => Ok(Outcome::Packed(packed)),
            Err(snapshot::Failed::Read(failure)) => Ok(Outcome::Unreadable(failure)),
            Err(snapshot::Failed::Write(failure)) => Err(failure),
        }
    }

    /// Whether another process found it unreadable since this one began.
    fn has_failed_elsewhere(&self, item: &Item) -> bool {
        let piece = self.dataset.piece(&Spot::of_unreadable(&item.source.path));
        let is_of_it = |piece: &Piece| piece.is_of(item);
        piece.as_ref().is_some_and(is_of_it)
            && !self.known.get(&item.source.path).is_some_and(is_of_it)
    }

    /// Claims the first spot that belongs to no other snapshot; `None` if another process has this one.
    fn claim(&self, item: &Item) -> Result<Option<(Spot, Claim)>, Failure> {
        for spot in item.spots() {
            match self.claims.take(&spot, &item.source.path)? {
                claims::Taken::Mine(claim) => {
                    let other = self.dataset.piece(&spot);
                    if other.is_none_or(|piece| piece.source().path == item.source.path) {
                        return Ok(Some((spot, claim)));
                    }
                }
                claims::Taken::Same => return Ok(None),
                claims::Taken::Other => {}
            }
        }
        Ok(None)
    }

    /// Removes what is in the dataset of snapshots that are not among the sources.
    fn prune(&self) -> Result<usize, Failure> {
        if !self.claims.are_alone() {
            let text = "other processes are packing into this dataset: prune it when they are done";
            return Err(Failure::Usage(text.to_owned()));
        }
        if self.plan.items.is_empty() {
            let text = "no snapshot is among the sources, so that --prune would remove the whole dataset: name the folder of \
                        the snapshots, which is not the dataset's";
            return Err(Failure::Usage(text.to_owned()));
        }
        let gone = self.gone();
        gone.iter()
            .try_for_each(|piece| self.dataset.remove(&piece.spot))?;
        Ok(gone.len())
    }

    /// What was in the dataset before of snapshots that are not among the sources.
    fn gone(&self) -> Vec<&Piece> {
        let items = self.plan.items.iter().filter(|item| item.is_named);
        let paths: HashSet<_> = items.map(|item| &item.source.path).collect();
        let pieces = self.known.iter();
        let gone = pieces.filter(|(path, _)| !paths.contains(path));
        gone.map(|(_, piece)| piece).collect()
    }
}
