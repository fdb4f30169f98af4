//! Looks after the logs of a program and of what it starts while they run.
//!
//! With `--max-entries` (and `--enabled state`) records are taken over as they come, and their room in the log is given
//! back, so that runs of any length fit. Without, the log is only read when there is something to do in between: a
//! snapshot that the program asks for, or one of it being out of memory.

mod give_back;
mod log;
pub(crate) mod request;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use vramscope_capture::FileSymbols;
use vramscope_record::model::RecordingOptions;

pub(crate) use self::log::FollowedLog;
use crate::commands::convert::{LOG, files_in};
use crate::destination::Destination;
use crate::failure::Failure;

/// What is to be made of the logs.
pub(crate) struct Plan {
    /// Where the snapshot goes, and beside it those made on the way.
    pub(crate) destination: Destination,
    pub(crate) recording: RecordingOptions,
    pub(crate) debug_folders: Vec<PathBuf>,
    /// Whether records are taken over while the program runs.
    pub(crate) is_followed: bool,
    /// Whether being out of memory is worth a snapshot.
    pub(crate) dump_on_oom: bool,
    /// Whether every process gets a snapshot.
    pub(crate) follow_children: bool,
    /// Whether only failures are told.
    pub(crate) is_quiet: bool,
}

/// The logs in a folder, which holds no others.
pub(crate) struct Follower<'a> {
    plan: &'a Plan,
    folder: &'a Path,
    /// Says that we are here to whoever wants a snapshot.
    _attendance: Option<File>,
    logs: BTreeMap<PathBuf, FollowedLog>,
    /// Snapshots of being out of memory that were written.
    out_of_memory: u32,
    symbols: FileSymbols,
}

/// What a program left behind.
pub(crate) struct Left {
    /// Logs in the order in which they were begun.
    pub(crate) logs: Vec<FollowedLog>,
    /// Files of logs that could not be read, and why.
    pub(crate) unreadable: Vec<(PathBuf, Failure)>,
    pub(crate) symbols: FileSymbols,
}

impl<'a> Follower<'a> {
    /// Of the logs that are made in this folder.
    pub(crate) fn new(folder: &'a Path, plan: &'a Plan) -> Self {
        Self {
            plan,
            folder,
            _attendance: request::attend(folder),
            logs: BTreeMap::new(),
            out_of_memory: 0,
            symbols: FileSymbols::new(&plan.debug_folders),
        }
    }

    /// How long to wait before looking again.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_millis(if self.plan.is_followed { 10 } else { 100 })
    }

    /// Whether a log was begun.
    pub(crate) fn has_logs(&self) -> bool {
        !self.logs.is_empty()
    }

    /// Does what there is to do by now. What fails is told, for the program goes on.
    pub(crate) fn look(&mut self) {
        for path in self.new_files() {
            // One that is being made can be read the next time.
            if let Ok(log) = FollowedLog::open(&path, self.plan) {
                self.logs.insert(path, log);
            }
        }
        for log in self.logs.values_mut() {
            log.look(self.plan, &mut self.out_of_memory, &mut self.symbols);
        }
        if self.plan.is_followed {
            self.answer();
        }
    }

    /// Writes the snapshots that somebody asked for from outside.
    fn answer(&mut self) {
        for request in files_in(self.folder, request::REQUEST).unwrap_or_default() {
            // <log>.<pid of the asker>.request
            let log = request.with_extension("").with_extension(LOG);
            if let Some(log) = self.logs.get(&log) {
                log.answer(&request, self.plan, &mut self.symbols);
            }
        }
    }

    fn new_files(&self) -> Vec<PathBuf> {
        let mut files = files_in(self.folder, LOG).unwrap_or_default();
        files.retain(|path| !self.logs.contains_key(path));
        files
    }

    /// After the program: what there is to be done once more, and then what is there.
    pub(crate) fn end(mut self) -> Left {
        self.logs.values_mut().for_each(FollowedLog::look_again);
        self.look();
        let open = |path: PathBuf| {
            FollowedLog::open(&path, self.plan)
                .err()
                .map(|error| (path, error))
        };
        let unreadable = self.new_files().into_iter().filter_map(open).collect();
        let mut logs: Vec<_> = self.logs.into_values().collect();
        logs.iter_mut().for_each(FollowedLog::survey);
        logs.sort_by_key(FollowedLog::created_ns);
        Left {
            logs,
            unreadable,
            symbols: self.symbols,
        }
    }
}
