//! The log of one process that may still run.

use std::path::{Path, PathBuf};
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
use super::give_back::GiveBack;
use super::request;
use crate::commands::convert::failure;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::made::Made;
use crate::output::{self, Progress};

/// Snapshots of being out of memory that are written in a run: a program that tries again and again would fill
/// the disk with them.
const MOST_OUT_OF_MEMORY_SNAPSHOTS: u32 = 16;
/// Bytes of records after which their room is given back.
const STRIDE_BYTES: u64 = 4 << 20;

/// A log, and how far it was looked at.
pub(crate) struct FollowedLog {
    path: PathBuf,
    file: LogFile,
    /// What was taken over, and who is told so; `None` where logs are left as they are.
    taken: Option<(Recording, GiveBack)>,
    contents: Contents,
    /// Offset of the first record that was not looked at.
    offset: u64,
    /// Records of what the header counts that were looked at: dumps, allocations without success.
    seen: (u32, u32),
    /// Whether its program has ended and everything was read.
    is_over: bool,
    /// Whether it was told that room cannot be given back.
    has_complained: bool,
}

impl FollowedLog {
    /// A log that a program has begun.
    ///
    /// # Errors
    /// When it cannot be read (yet).
    pub(super) fn open(path: &Path, plan: &Plan) -> Result<Self, Failure> {
        let shown = path.display();
        let file = LogFile::open(path).map_err(Failure::io(format!("cannot read {shown}")))?;
        Log::open(file.bytes()).map_err(|error| failure(&shown.to_string(), error.into()))?;
        let taken = if plan.is_followed {
            let give_back =
                GiveBack::open(path).map_err(Failure::io(format!("cannot write {shown}")))?;
            Some((Recording::new(plan.recording.clone()), give_back))
        } else {
            None
        };
        Ok(Self {
            path: path.to_owned(),
            file,
            taken,
            contents: Contents::default(),
            offset: HEADER_BYTES,
            seen: (0, 0),
            is_over: false,
            has_complained: false,
        })
    }

    /// When it was begun, in nanoseconds since the Unix epoch.
    pub(crate) fn created_ns(&self) -> u64 {
        self.header().created_ns
    }

    /// Its file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The process that writes it.
    pub(crate) fn process(&self) -> u64 {
        self.header().process
    }

    /// Whether that is still there.
    pub(crate) fn is_running(&self) -> bool {
        let header = self.header();
        let stat = fs::read_to_string(format!("/proc/{}/stat", header.process)).unwrap_or_default();
        // Behind the name, which may hold anything, and its parenthesis: the state is field 3, the start 22.
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
        // It was read when the log was opened.
        Log::open(self.file.bytes())
            .map(|log| *log.header())
            .unwrap_or_default()
    }

    /// Looks at what is new: takes it over, and writes the snapshots that are due. `out_of_memory` counts those of being
    /// out of memory.
    pub(super) fn look(&mut self, plan: &Plan, out_of_memory: &mut u32, symbols: &mut FileSymbols) {
        if self.is_over {
            return;
        }
        let header = self.header();
        let counts = (header.dump_count, header.out_of_memory_count);
        if self.taken.is_none() && self.seen == counts {
            return;
        }
        let is_running = self.is_running();
        let mut given_back = self.offset;
        while let Some(due) = self.read(&mut given_back, is_running) {
            if let Due::OutOfMemory { .. } = due {
                if !plan.dump_on_oom || *out_of_memory == MOST_OUT_OF_MEMORY_SNAPSHOTS {
                    continue;
                }
                *out_of_memory += 1;
            }
            let written = self
                .destination(&due, plan, *out_of_memory)
                .and_then(|destination| {
                    self.write(&destination, Some(due.end_offset()), plan, symbols)
                });
            match written {
                Ok(made) if !plan.is_quiet => output::note(&made.text()),
                Ok(_) => {}
                Err(failure) => output::report(&failure),
            }
            if matches!(due, Due::OutOfMemory { .. })
                && *out_of_memory == MOST_OUT_OF_MEMORY_SNAPSHOTS
                && !plan.is_quiet
            {
                output::note(&format!(
                    "that was snapshot {out_of_memory} of memory running out, and the last: further moments are \
                     in the final one only"
                ));
            }
        }
        self.give_back(plan);
        // A process in a container has another number there: that it is not found here says nothing.
        self.is_over = !is_running && header.state != state::RUNNING;
    }

    /// In the end everything is looked at once more: a container's process may have gone on after it said it ends.
    pub(super) fn look_again(&mut self) {
        self.is_over = false;
    }

    /// Writes the snapshot that somebody asked for from outside.
    pub(super) fn answer(&self, request: &Path, plan: &Plan, symbols: &mut FileSymbols) {
        let Some(path) = request::take(request, &self.path) else {
            return;
        };
        let written = Destination::of(&path)
            .and_then(|destination| self.write(&destination, None, plan, symbols));
        // Whoever asked may be gone.
        drop(request::answer(request, written.map(|made| made.text())));
    }

    /// Writes the snapshot of all records before this offset, or of all there are.
    ///
    /// # Errors
    /// When the log cannot be read or the snapshot not written.
    pub(crate) fn write(
        &self,
        destination: &Destination,
        end_offset: Option<u64>,
        plan: &Plan,
        symbols: &mut FileSymbols,
    ) -> Result<Made, Failure> {
        let (snapshot, report) = self.snapshot(end_offset, plan, symbols)?;
        Made::write(&snapshot, report, destination)
    }

    /// Reads on up to where a snapshot is due; `None` when everything was read.
    fn read(&mut self, given_back: &mut u64, is_running: bool) -> Option<Due> {
        let log = Log::open(self.file.bytes()).ok()?;
        let mut records = log.records(self.offset);
        if is_running {
            records = records.while_running();
        }
        let mut due = None;
        while due.is_none()
            && let Some((offset, record)) = records.next()
        {
            self.contents.notice(&record);
            if let Some((recording, _)) = &mut self.taken {
                recording.push(record);
            }
            due = match record {
                Record::Dump { path, .. } => {
                    self.seen.0 += 1;
                    Some(Due::Asked {
                        path: PathBuf::from(String::from_utf8_lossy(path).into_owned()),
                        end_offset: offset,
                    })
                }
                Record::Event(event) if event.result == OUT_OF_MEMORY => {
                    self.seen.1 += 1;
                    Some(Due::OutOfMemory {
                        end_offset: records.offset(),
                    })
                }
                _ => None,
            };
            if let (Some((_, give_back)), true) = (
                &mut self.taken,
                records.offset() - *given_back >= STRIDE_BYTES,
            ) {
                *given_back = records.offset();
                // If it fails the log will be full some day, which is told then.
                drop(give_back.up_to(*given_back));
            }
        }
        self.offset = records.offset();
        if let (Some((recording, _)), false) = (&mut self.taken, is_running) {
            recording.add_damage(records.damage());
        }
        due
    }

    fn give_back(&mut self, plan: &Plan) {
        let told = match &mut self.taken {
            Some((_, give_back)) => give_back.up_to(self.offset),
            None => Ok(()),
        };
        let Err(error) = told else { return };
        if !plan.is_quiet && !std::mem::replace(&mut self.has_complained, true) {
            output::note(&format!(
                "cannot give room in {} back: {error}",
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
        let shown = self.path.display().to_string();
        let is_running = self.is_running();
        symbols.begin(&self.path, &self.header());
        if let Some((recording, _)) = &self.taken {
            // What was taken over is not lost.
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
        // While the program runs the terminal is its own.
        let is_shown = end_offset.is_none() && !plan.is_quiet;
        let mut progress = Progress::new(&shown, is_shown);
        convert(self.file.bytes(), &options, symbols, &mut |done, all| {
            progress.show(done, all)
        })
        .map_err(|error| failure(&shown, error.into()))
    }

    /// After the program: finds out what is in it, if that was not read on the way, and keeps what a later conversion
    /// needs of what the program left elsewhere.
    pub(super) fn survey(&mut self) {
        // Without it, Python functions have no names, which is told then.
        drop(perf_map::keep(self.process(), &self.path));
        let Ok(log) = Log::open(self.file.bytes()) else {
            return;
        };
        for (_, record) in log.records(self.offset) {
            self.contents.notice(&record);
            if self.contents.is_worth_showing {
                break;
            }
        }
    }

    /// Whether the program did anything with the driver, or said what it did.
    pub(crate) fn has_content(&self) -> bool {
        self.contents.is_worth_showing
    }

    /// The executable's name, if the log says it.
    pub(crate) fn program(&self) -> &str {
        &self.contents.program
    }

    fn destination(
        &self,
        due: &Due,
        plan: &Plan,
        out_of_memory: u32,
    ) -> Result<Destination, Failure> {
        match due {
            Due::OutOfMemory { .. } => Ok(self
                .own_destination(plan)
                .with_suffix(&format!("oom-{out_of_memory}"))),
            Due::Asked { path, .. } => {
                // As the program would find it.
                let folder = fs::read_link(format!("/proc/{}/cwd", self.process()))
                    .or_else(|_| env::current_dir());
                Destination::of(&folder.unwrap_or_default().join(path))
            }
        }
    }

    /// Where this process's snapshot goes.
    pub(crate) fn own_destination(&self, plan: &Plan) -> Destination {
        if !plan.follow_children {
            return plan.destination.clone();
        }
        // A process that executes several programs has several logs: <process>-<start>-2.raw.
        let name = self.path.file_stem().unwrap_or_default().to_string_lossy();
        let number = name.split('-').nth(2).map(|number| format!("-{number}"));
        plan.destination
            .with_suffix(&format!("{}{}", self.process(), number.unwrap_or_default()))
    }
}

/// What a log holds, as far as it was read.
#[derive(Default)]
struct Contents {
    /// The executable's name.
    program: String,
    /// Whether the program did anything with the driver, or said what it did.
    is_worth_showing: bool,
}

impl Contents {
    fn notice(&mut self, record: &Record<'_>) {
        match record {
            Record::Event(_) | Record::Annotation(_) => self.is_worth_showing = true,
            Record::Program(program) => {
                let path = String::from_utf8_lossy(program.clone().next().unwrap_or_default())
                    .into_owned();
                let name = Path::new(&path).file_name().unwrap_or_default();
                self.program = name.to_string_lossy().into_owned();
            }
            _ => {}
        }
    }
}

/// A snapshot that is to be written before the end.
enum Due {
    /// The program asks for it. A path that is not absolute is from its working folder.
    Asked { path: PathBuf, end_offset: u64 },
    /// There was no memory.
    OutOfMemory { end_offset: u64 },
}

impl Due {
    /// Where the records end that it is to hold.
    fn end_offset(&self) -> u64 {
        match self {
            Self::Asked { end_offset, .. } | Self::OutOfMemory { end_offset } => *end_offset,
        }
    }
}
