//! The log of one process, which may still be running.

use std::path::{Path, PathBuf};
use std::time::SystemTime;
use std::{env, fs};

use vramscope_capture::symbols::perf_map;
use vramscope_capture::{FileSymbols, LogFile};
use vramscope_core::Snapshot;
use vramscope_record::layout::{HEADER_BYTES, OUT_OF_MEMORY, state};
use vramscope_record::model::Recording;
use vramscope_record::reader::{Header, Log, Record};
use vramscope_record::snapshot::Report;
use vramscope_record::{ConvertOptions, convert};

use super::Plan;
use super::live::{LiveFile, Version};
use super::reclaim::SpaceReclaimer;
use super::request;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::output::{self, Progress};
use crate::snapshot_names::{self, Recorded};
use crate::written_snapshot::{WrittenSnapshot, incomplete};

/// Maximum number of snapshots of failed allocations per run. A program that keeps retrying would fill the disk.
const MAX_OUT_OF_MEMORY_SNAPSHOTS: u32 = 16;
/// Bytes of consumed records between two calls of `reclaim_before`.
const STRIDE_BYTES: u64 = 4 << 20;

/// A log and how much of it was read.
pub(crate) struct FollowedLog {
    path: PathBuf,
    file: LogFile,
    /// The records read so far, and the means to free their space unless others read the log too. `None` if the records
    /// stay for a later conversion.
    consumed: Option<(Recording, Option<SpaceReclaimer>)>,
    contents: Contents,
    /// Position of the first unread record.
    offset: u64,
    /// Number of dump requests and failed allocations read so far, compared with the header's counters.
    handled_counts: (u32, u32),
    /// Whether the program has ended and everything was read.
    is_finished: bool,
    /// Whether the failure to free space was printed.
    reclaim_failed: bool,
    live: Option<LiveFile>,
}

impl FollowedLog {
    /// Opens the log of a running program.
    ///
    /// # Errors
    /// If it cannot be read, or cannot be read yet.
    pub(super) fn open(path: &Path, plan: &Plan) -> Result<Self, Failure> {
        let consumed = if plan.is_followed {
            let reclaimer = SpaceReclaimer::open(path)
                .map_err(Failure::io(format!("cannot write {}", path.display())))?;
            Some((Recording::new(plan.recording.clone()), Some(reclaimer)))
        } else {
            None
        };
        Self::open_with(path, consumed)
    }

    /// Opens a log for reading only; another process converts or consumes it.
    ///
    /// # Errors
    /// If it cannot be read, or cannot be read yet.
    pub(crate) fn watch(path: &Path, recording: Recording) -> Result<Self, Failure> {
        Self::open_with(path, Some((recording, None)))
    }

    fn open_with(
        path: &Path,
        consumed: Option<(Recording, Option<SpaceReclaimer>)>,
    ) -> Result<Self, Failure> {
        let display = path.display();
        let file = LogFile::open(path).map_err(Failure::io(format!("cannot read {display}")))?;
        Log::open(file.bytes())
            .map_err(|error| Failure::conversion(&display.to_string(), error.into()))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            consumed,
            contents: Contents::default(),
            offset: HEADER_BYTES,
            handled_counts: (0, 0),
            is_finished: false,
            reclaim_failed: false,
            live: None,
        })
    }

    /// Creation time in nanoseconds since the Unix epoch.
    pub(crate) fn created_ns(&self) -> u64 {
        self.header().created_ns
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Id of the process that writes the log.
    pub(crate) fn process(&self) -> u64 {
        self.header().process
    }

    /// What distinguishes that process from others.
    pub(crate) fn recorded(&self) -> Recorded {
        let header = self.header();
        Recorded {
            process: header.process,
            rank: header.rank,
        }
    }

    /// Whether that process is still running.
    pub(crate) fn is_running(&self) -> bool {
        let header = self.header();
        let stat = fs::read_to_string(format!("/proc/{}/stat", header.process)).unwrap_or_default();
        // The fields after the name, which may contain parentheses: the state is field 3, the start time field 22.
        let mut fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let is_dead = matches!(fields.next(), None | Some("Z" | "X"));
        let start_ticks = fields.nth(18).and_then(|ticks| ticks.parse().ok());
        !is_dead && start_ticks == Some(header.start_ticks)
    }

    fn header(&self) -> Header {
        // The header was checked when the log was opened.
        Log::open(self.file.bytes())
            .map(|log| *log.header())
            .unwrap_or_default()
    }

    /// Reads new records and writes the snapshots that are due. `out_of_memory` counts those for failed allocations.
    /// With `is_last`, reads to the end even if the process seems to have died before: one in a container may have
    /// continued.
    /// appeared to have ended.
    pub(super) fn poll(
        &mut self,
        plan: &Plan,
        out_of_memory: &mut u32,
        symbols: &mut FileSymbols,
        is_last: bool,
    ) {
        if self.is_finished && !is_last {
            return;
        }
        let header = self.header();
        let counts = (header.dump_count, header.out_of_memory_count);
        if self.consumed.is_none() && self.handled_counts == counts {
            return;
        }
        // A process in a container has another id there, so not finding it proves nothing before the end.
        let may_run = header.state == state::RUNNING && !is_last;
        let is_running = may_run || self.is_running();
        let mut reclaimed = self.offset;
        self.set_read_time();
        while let Some(due) = self.read(&mut reclaimed, is_running) {
            if let DueSnapshot::OutOfMemory { .. } = due {
                if !plan.dump_on_oom || *out_of_memory == MAX_OUT_OF_MEMORY_SNAPSHOTS {
                    continue;
                }
                *out_of_memory += 1;
            }
            let written = self
                .destination_of(&due, plan, *out_of_memory)
                .and_then(|destination| {
                    self.write(&destination, Some(due.end_offset()), plan, symbols)
                });
            match written {
                Ok(snapshot) if !plan.is_quiet => output::note(&snapshot.message()),
                Ok(_) => {}
                Err(failure) => output::report(&failure),
            }
            if matches!(due, DueSnapshot::OutOfMemory { .. })
                && *out_of_memory == MAX_OUT_OF_MEMORY_SNAPSHOTS
                && !plan.is_quiet
            {
                output::note(&format!(
                    "that was snapshot {out_of_memory} of memory running out, the last one: later occurrences are only \
                     in the final snapshot"
                ));
            }
        }
        self.reclaim(plan);
        self.is_finished = !is_running && header.state != state::RUNNING;
    }

    /// Reads new records. Leaves the snapshots that are due to the log's owner.
    pub(crate) fn catch_up(&mut self, is_running: bool) {
        self.set_read_time();
        while self.read(&mut 0, is_running).is_some() {}
    }

    /// Notes the time: everything that the program has done by now will have been read.
    fn set_read_time(&mut self) {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
        if let (Some((recording, _)), Ok(now_us)) = (&mut self.consumed, now.as_micros().try_into())
        {
            recording.set_read_time(now_us);
        }
    }

    /// Whether the recorder has marked the log as complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.header().state != state::RUNNING
    }

    /// Whether there is something to show but no live snapshot yet.
    pub(super) fn lacks_live_file(&self) -> bool {
        self.live.is_none() && self.has_content()
    }

    /// Starts writing a live snapshot.
    pub(crate) fn set_live(&mut self, live: LiveFile) {
        self.live = Some(live);
    }

    /// The live snapshot's path, once, after its first version was written.
    pub(crate) fn announce_live(&mut self) -> Option<&Path> {
        self.live.as_mut()?.announce()
    }

    /// Writes a version of the live snapshot if one is due. `is_last` if the program has ended.
    ///
    /// # Errors
    /// Only the first of several failures in a row, and one of the last version.
    pub(crate) fn write_live(&mut self, is_last: bool) -> Result<(), Failure> {
        let is_last = is_last || self.is_finished;
        let header = self.header();
        let version = Version {
            log: &self.path,
            // Consumed records are not lost: they are in the recording.
            header: Header {
                consumed_offset: HEADER_BYTES,
                ..header
            },
            offset: self.offset,
            // A process in a container has another id there, so not finding it before the end proves nothing.
            ended: header.ended(!is_last || self.is_running()),
            is_last,
        };
        match (&mut self.live, &self.consumed) {
            (Some(live), Some((recording, _))) => live.write(recording, &version),
            _ => Ok(()),
        }
    }

    /// Writes a snapshot requested by `dump`.
    pub(super) fn answer(&self, request: &Path, plan: &Plan, symbols: &mut FileSymbols) {
        let Some(path) = request::accept(request, &self.path) else {
            return;
        };
        let written = Destination::of(&path)
            .and_then(|destination| self.write(&destination, None, plan, symbols));
        // The requester may be gone.
        drop(request::answer(
            request,
            written.map(|snapshot| snapshot.message()),
        ));
    }

    /// Writes a snapshot of the records before `end_offset`, or of all.
    ///
    /// # Errors
    /// If the log cannot be read or the snapshot cannot be written.
    pub(crate) fn write(
        &self,
        destination: &Destination,
        end_offset: Option<u64>,
        plan: &Plan,
        symbols: &mut FileSymbols,
    ) -> Result<WrittenSnapshot, Failure> {
        let (snapshot, report) = self.snapshot(end_offset, plan, symbols)?;
        WrittenSnapshot::write(&snapshot, report, destination)
    }

    /// Reads records until a snapshot is due. `None` after the last record.
    fn read(&mut self, reclaimed: &mut u64, is_running: bool) -> Option<DueSnapshot> {
        let log = Log::open(self.file.bytes()).ok()?;
        let mut records = log.records(self.offset);
        if is_running {
            records = records.while_running();
        }
        let mut due = None;
        while due.is_none()
            && let Some((offset, record)) = records.next()
        {
            self.contents.add(&record);
            if let Some((recording, _)) = &mut self.consumed {
                recording.push(record);
            }
            due = match record {
                Record::Dump { path, .. } => {
                    self.handled_counts.0 += 1;
                    Some(DueSnapshot::Requested {
                        path: PathBuf::from(String::from_utf8_lossy(path).into_owned()),
                        end_offset: offset,
                    })
                }
                Record::Event(event) if event.result == OUT_OF_MEMORY => {
                    self.handled_counts.1 += 1;
                    Some(DueSnapshot::OutOfMemory {
                        end_offset: records.offset(),
                    })
                }
                _ => None,
            };
            if let (Some((_, Some(reclaimer))), true) = (
                &mut self.consumed,
                records.offset() - *reclaimed >= STRIDE_BYTES,
            ) {
                *reclaimed = records.offset();
                // If this fails, the log will become full, which is reported then.
                drop(reclaimer.reclaim_before(*reclaimed));
            }
        }
        self.offset = records.offset();
        if let (Some((recording, _)), false) = (&mut self.consumed, is_running) {
            recording.add_damage(records.damage());
        }
        due
    }

    fn reclaim(&mut self, plan: &Plan) {
        let outcome = match &mut self.consumed {
            Some((_, Some(reclaimer))) => reclaimer.reclaim_before(self.offset),
            _ => Ok(()),
        };
        let Err(error) = outcome else { return };
        if !plan.is_quiet && !std::mem::replace(&mut self.reclaim_failed, true) {
            output::note(&format!(
                "cannot free space in {}: {error}",
                self.path.display()
            ));
        }
    }
}

impl FollowedLog {
    fn snapshot(
        &self,
        end_offset: Option<u64>,
        plan: &Plan,
        symbols: &mut FileSymbols,
    ) -> Result<(Snapshot, Report), Failure> {
        let display = self.path.display().to_string();
        let is_running = self.is_running();
        symbols.begin(&self.path, &self.header());
        if let Some((recording, _)) = &self.consumed {
            // Consumed records are not lost: they are in `recording`.
            let header = Header {
                consumed_offset: HEADER_BYTES,
                ..self.header()
            };
            return Ok(recording.snapshot(&header, header.ended(is_running), symbols));
        }
        let options = ConvertOptions {
            recording: plan.recording.clone(),
            end_offset,
            is_running,
        };
        // The terminal belongs to the program while it runs.
        let is_shown = end_offset.is_none() && !plan.is_quiet;
        let mut progress = Progress::new(&display, is_shown);
        convert(self.file.bytes(), &options, symbols, &mut |done, all| {
            progress.show(done, all)
        })
        .map_err(|error| Failure::conversion(&display, error.into()))
    }

    /// Once the program has ended, reads the log if polling did not, and saves external data that a later conversion
    /// needs. Also removes Python's map of names if `run` asked Python to write it.
    pub(super) fn inspect(&mut self, names_python: bool) {
        // Without the map, Python functions stay unnamed, which the conversion reports.
        let is_saved = perf_map::save_copy(self.process(), &self.path).unwrap_or_default();
        if is_saved && names_python && !self.is_running() {
            perf_map::remove(self.process());
        }
        let Ok(log) = Log::open(self.file.bytes()) else {
            return;
        };
        for (_, record) in log.records(self.offset) {
            self.contents.add(&record);
            if self.contents.is_worth_writing {
                break;
            }
        }
    }

    /// Whether the program used memory or annotated ranges.
    pub(crate) fn has_content(&self) -> bool {
        self.contents.is_worth_writing
    }

    /// Name of the executable; empty if the log does not contain it.
    pub(crate) fn program(&self) -> &str {
        &self.contents.program
    }

    /// Whether a log without content has anything to report.
    pub(crate) fn has_remarks(&self) -> bool {
        self.header().lost().next().is_some() || !self.contents.notes.is_empty()
    }

    /// What a log without content reports: losses and notes, each on its own line.
    pub(crate) fn remarks(&self) -> String {
        let header = self.header();
        let lost = header.lost().map(|(loss, times)| incomplete(loss, times));
        let notes = self.contents.notes.iter().cloned();
        let remarks = lost.chain(notes).map(|remark| format!("\n  {remark}"));
        remarks.collect()
    }

    fn destination_of(
        &self,
        due: &DueSnapshot,
        plan: &Plan,
        out_of_memory: u32,
    ) -> Result<Destination, Failure> {
        match due {
            DueSnapshot::OutOfMemory { .. } => {
                let rank = snapshot_names::suffix_of_one(self.recorded(), plan.rank);
                let rank = rank.map_or_else(String::new, |rank| format!("{rank}-"));
                Ok(plan
                    .destination
                    .with_suffix(&format!("{rank}oom-{out_of_memory}")))
            }
            DueSnapshot::Requested { path, .. } => {
                // The path is relative to the program's working folder.
                let folder = fs::read_link(format!("/proc/{}/cwd", self.process()))
                    .or_else(|_| env::current_dir());
                Destination::of(&folder.unwrap_or_default().join(path))
            }
        }
    }

    pub(crate) fn live_destination(&self) -> Option<&Destination> {
        self.live.as_ref().map(LiveFile::destination)
    }
}

/// Content of the records read so far.
#[derive(Default)]
struct Contents {
    program: String,
    /// Whether the program used memory or annotated ranges.
    is_worth_writing: bool,
    /// The first notes.
    notes: Vec<String>,
}

/// Maximum number of notes printed for a log without content.
const MAX_NOTES: usize = 5;

impl Contents {
    fn add(&mut self, record: &Record<'_>) {
        match record {
            Record::Event(_) | Record::Annotation { .. } => self.is_worth_writing = true,
            Record::Program(program) => {
                let path = String::from_utf8_lossy(program.clone().next().unwrap_or_default())
                    .into_owned();
                let name = Path::new(&path).file_name().unwrap_or_default();
                self.program = name.to_string_lossy().into_owned();
            }
            Record::Note(note) if self.notes.len() < MAX_NOTES => {
                self.notes.push(String::from_utf8_lossy(note).into_owned());
            }
            _ => {}
        }
    }
}

/// A snapshot to write before the program ends.
enum DueSnapshot {
    /// Requested by the program. A relative path is relative to its working folder.
    Requested {
        path: PathBuf,
        end_offset: u64,
    },
    OutOfMemory {
        end_offset: u64,
    },
}

impl DueSnapshot {
    /// End of the records that the snapshot covers.
    fn end_offset(&self) -> u64 {
        match self {
            Self::Requested { end_offset, .. } | Self::OutOfMemory { end_offset } => *end_offset,
        }
    }
}
