//! Follows the logs of a program and its descendants while they run.
//!
//! The captured program writes records into a file that both processes have mapped; it knows nothing of the reader.
//! With `--max-entries` or `--enabled state`, `run` consumes the records as they arrive, stores its position in the
//! log's header (`CONSUMED_OFFSET`) and punches holes into the file, so that a log of terabytes takes megabytes of disk
//! space. Then only `run` has the history, and `dump` requests a snapshot by creating a file beside the log
//! ([`request`]).
//!
//! With `--live`, `run` also rewrites the snapshot repeatedly for viewers that follow it ([`live`]).
//!
//! Without these options the log stays complete. Every snapshot (for `dump`, for a failed allocation, at the program's
//! request) reads it from the beginning.

pub(crate) mod live;
mod log;
mod reclaim;
pub(crate) mod request;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use vramscope_capture::FileSymbols;
use vramscope_record::model::RecordingOptions;
use vramscope_record::rank::Rank;

use self::live::LiveFile;
pub(crate) use self::log::FollowedLog;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::log_folder::{LOG_EXTENSION, files_in};
use crate::output::{self, quote};
use crate::snapshot_names;

/// What to do with the logs.
pub(crate) struct Plan {
    /// The final snapshot. Other snapshots are written beside it.
    pub(crate) destination: Destination,
    pub(crate) recording: RecordingOptions,
    pub(crate) debug_folders: Vec<PathBuf>,
    /// Whether records are consumed while the program runs.
    pub(crate) is_followed: bool,
    pub(crate) dump_on_oom: bool,
    pub(crate) first_only: bool,
    /// This process's rank in a parallel job, in which other runs may take part.
    pub(crate) rank: Option<Rank>,
    /// Whether Python names its functions because `run` asked it to.
    pub(crate) names_python: bool,
    /// Minimum time between two versions of the live snapshots; `None` without live snapshots.
    pub(crate) live_every: Option<Duration>,
    /// Whether only failures are printed.
    pub(crate) is_quiet: bool,
}

/// Follows all logs in a folder.
pub(crate) struct Follower<'a> {
    plan: &'a Plan,
    folder: &'a Path,
    logs: BTreeMap<PathBuf, FollowedLog>,
    /// Number of snapshots written when memory ran out.
    out_of_memory: u32,
    /// Suffixes of the live snapshots, relative to the final one.
    live_names: HashSet<Option<String>>,
    symbols: FileSymbols,
}

/// The logs at the end of a run.
pub(crate) struct RunLogs {
    pub(crate) logs: Vec<FollowedLog>,
    /// Files that are not readable logs, with the reason.
    pub(crate) unreadable: Vec<(PathBuf, Failure)>,
    pub(crate) symbols: FileSymbols,
}

impl<'a> Follower<'a> {
    /// Follows the logs created in this folder.
    pub(crate) fn new(folder: &'a Path, plan: &'a Plan) -> Self {
        Self {
            plan,
            folder,
            logs: BTreeMap::new(),
            out_of_memory: 0,
            live_names: HashSet::new(),
            symbols: FileSymbols::new(&plan.debug_folders),
        }
    }

    /// Time between two calls of [`poll`](Self::poll).
    pub(crate) fn poll_interval(&self) -> Duration {
        Duration::from_millis(if self.plan.is_followed { 10 } else { 100 })
    }

    pub(crate) fn has_logs(&self) -> bool {
        !self.logs.is_empty()
    }

    /// Reads new records and writes the snapshots that are due. Failures are printed, since the program continues.
    pub(crate) fn poll(&mut self) {
        self.read(false);
    }

    fn read(&mut self, is_last: bool) {
        for path in self.find_new_files() {
            // A log that is still being created can be read next time.
            if let Ok(log) = FollowedLog::open(&path, self.plan) {
                self.logs.insert(path, log);
            }
        }
        for log in self.logs.values_mut() {
            log.poll(
                self.plan,
                &mut self.out_of_memory,
                &mut self.symbols,
                is_last,
            );
        }
        if self.plan.is_followed {
            self.answer();
        }
        self.write_live(is_last);
    }

    /// Writes the live snapshots that are due: a file for each process that uses memory.
    fn write_live(&mut self, is_last: bool) {
        let plan = self.plan;
        let Some(every) = plan.live_every else { return };
        for log in self.logs.values_mut() {
            if log.lacks_live_file() {
                let taken = &mut self.live_names;
                let suffix = snapshot_names::suffix_of_next(log.recorded(), plan.rank, taken);
                let destination = match suffix {
                    Some(suffix) => plan.destination.with_suffix(&suffix),
                    None => plan.destination.clone(),
                };
                log.set_live(LiveFile::new(
                    destination,
                    every,
                    FileSymbols::new(&plan.debug_folders),
                ));
            }
            if let Err(failure) = log.write_live(is_last) {
                output::report(&failure);
            }
            if let (Some(file), false) = (log.announce_live().map(quote), plan.is_quiet) {
                let (process, program) = (log.process(), log.program());
                output::note(&format!(
                    "process {process} ({program}) can be watched: vramscope view --live {file}"
                ));
            }
        }
    }

    /// Writes the snapshots requested by `dump`.
    fn answer(&mut self) {
        for request in files_in(self.folder, request::EXTENSION).unwrap_or_default() {
            // <log>.<pid of the requester>.request
            let log = request.with_extension("").with_extension(LOG_EXTENSION);
            if let Some(log) = self.logs.get(&log) {
                log.answer(&request, self.plan, &mut self.symbols);
            }
        }
    }

    fn find_new_files(&self) -> Vec<PathBuf> {
        let mut files = files_in(self.folder, LOG_EXTENSION).unwrap_or_default();
        files.retain(|path| !self.logs.contains_key(path));
        files
    }

    /// Reads the remaining records after the program has ended, and returns the logs.
    pub(crate) fn finish(mut self) -> RunLogs {
        self.read(true);
        let open = |path: PathBuf| {
            FollowedLog::open(&path, self.plan)
                .err()
                .map(|error| (path, error))
        };
        let unreadable = self.find_new_files().into_iter().filter_map(open).collect();
        let mut logs: Vec<_> = self.logs.into_values().collect();
        logs.iter_mut()
            .for_each(|log| log.inspect(self.plan.names_python));
        logs.sort_by_key(FollowedLog::created_ns);
        RunLogs {
            logs,
            unreadable,
            symbols: self.symbols,
        }
    }
}
