//! After the program has ended: writes its snapshots, or explains why there are none.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use vramscope_capture::FileSymbols;
use vramscope_core::units::Bytes;

use crate::destination::Destination;
use crate::failure::Failure;
use crate::follow::{FollowedLog, Plan, RunLogs};
use crate::launch;
use crate::launch::driver_watch::DriverWatch;
use crate::launch::library;
use crate::launch::program::Refusal;
use crate::output::{self, join_names, quote};
use crate::run_folder::{RunFolder, convert_command};
use crate::snapshot_names::{self, Recorded};
use crate::written_snapshot::WrittenSnapshot;

/// Everything known about an ended run.
pub(crate) struct EndedRun<'a> {
    pub(crate) plan: &'a Plan,
    /// Why the library could not be loaded into the program, if it could not.
    pub(crate) refusal: Option<&'a Refusal>,
    pub(crate) driver_watch: &'a DriverWatch,
    /// Where the logs are.
    pub(crate) folder: &'a RunFolder,
    /// Whether recording waited for `vramscope_api::start`.
    pub(crate) starts_paused: bool,
    /// Whether the viewer opens, which makes a hint about it unnecessary.
    pub(crate) opens_viewer: bool,
    /// The program as given on the command line.
    pub(crate) program: &'a str,
}

/// The result of writing the snapshots.
#[derive(Default)]
pub(crate) struct RunResult {
    pub(crate) snapshots: Vec<WrittenSnapshot>,
    /// Whether a snapshot could not be written to its destination. The reason was already printed.
    pub(crate) is_incomplete: bool,
}

/// Sets what signals do from the program's end until the snapshot at `destination` is written.
pub(crate) fn set_interruption(plan: &Plan, folder: &RunFolder, destination: &Destination) {
    if plan.is_followed {
        // Only this process has the recording, so the first signal must not end it.
        let first =
            "the snapshot is being written; if that is interrupted too, the recording is lost";
        let last = "interrupted before the snapshot was written: the recording is lost";
        launch::set_interruption(Some(&output::line(first)), &output::line(last));
        return;
    }
    let last = format!(
        "interrupted before all snapshots were written: the recording is in {}\n  {}",
        quote(folder.path()),
        convert_command(folder.path(), destination)
    );
    launch::set_interruption(None, &output::line(&last));
}

/// Writes the snapshots. A failure does not stop the others; its recording is kept in the log folder if possible.
pub(crate) fn write_snapshots(run: &EndedRun<'_>, mut logs: RunLogs) -> RunResult {
    let plan = run.plan;
    let mut result = RunResult::default();
    report_unreadable(run, &logs.unreadable, &mut result);
    let (used, unused): (Vec<_>, Vec<_>) = logs.logs.iter().partition(|log| log.has_content());
    if used.is_empty() && logs.unreadable.is_empty() && !plan.is_quiet {
        output::note(&why_nothing(run, &unused));
    }
    // Each process has a live file of its own.
    let wanted = if plan.first_only && plan.live_every.is_none() {
        used.len().min(1)
    } else {
        used.len()
    };
    let (used, left_out) = used.split_at(wanted);
    let recorded: Vec<_> = used.iter().map(|log| log.recorded()).collect();
    let suffixes = snapshot_names::suffixes(&recorded, plan.rank);
    let mut named: Vec<_> = used.iter().zip(suffixes).collect();
    named.sort_by_key(|(log, _)| log.recorded().rank);
    let is_alone = logs.logs.len() == 1;
    for (log, suffix) in named {
        let destination = match (log.live_destination(), suffix) {
            (Some(live), _) => live.clone(),
            (None, Some(suffix)) => plan.destination.with_suffix(&suffix),
            (None, None) => plan.destination.clone(),
        };
        write_one(
            run,
            log,
            &destination,
            is_alone,
            &mut logs.symbols,
            &mut result,
        );
    }
    for log in left_out.iter().chain(&unused) {
        run.folder.remove(log.path());
    }
    if plan.is_quiet || used.is_empty() {
        return result;
    }
    note_others(left_out, &unused);
    if !(run.opens_viewer || result.snapshots.is_empty()) {
        let files: Vec<_> = result.snapshots.iter().map(|it| quote(it.path())).collect();
        let them = if files.len() == 1 { "it" } else { "them" };
        output::note(&format!("open {them}: vramscope view {}", files.join(" ")));
    }
    result
}

/// Writes the snapshot of one process. Says which process it was, unless there is only one.
fn write_one(
    run: &EndedRun<'_>,
    log: &FollowedLog,
    destination: &Destination,
    is_alone: bool,
    symbols: &mut FileSymbols,
    result: &mut RunResult,
) {
    set_interruption(run.plan, run.folder, destination);
    match log.write(destination, None, run.plan, symbols) {
        Ok(snapshot) => {
            if !run.plan.is_quiet {
                let whose = match is_alone {
                    true => String::new(),
                    false => format!("{}: ", describe(log)),
                };
                let remark = running_remark(log);
                output::note(&format!("{whose}{}{remark}", snapshot.message()));
            }
            run.folder.remove(log.path());
            result.snapshots.push(snapshot);
        }
        Err(failure) => {
            output::report(&failure);
            result.is_incomplete = true;
            let rescued = rescue(run, log, destination, symbols);
            result.snapshots.extend(rescued);
        }
    }
}

/// Reports files that are not readable logs, and keeps those with any content. An empty file means that there was no
/// room for a log.
fn report_unreadable(
    run: &EndedRun<'_>,
    unreadable: &[(PathBuf, Failure)],
    result: &mut RunResult,
) {
    for (log, failure) in unreadable {
        // A log begins with zeros until its header is written.
        let mut start = [0; 8];
        let read = File::open(log).and_then(|mut file| file.read_exact(&mut start));
        match read {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                output::report(&no_room(run.folder.path(), log));
                run.folder.remove(log);
                result.is_incomplete = true;
            }
            Ok(()) if start == [0; 8] => {
                output::report(failure);
                run.folder.remove(log);
            }
            _ => {
                output::report(failure);
                note_kept(log, &run.plan.destination);
                result.is_incomplete = true;
            }
        }
    }
}

/// The failure of a process whose log could not be created in a folder.
fn no_room(folder: &Path, log: &Path) -> Failure {
    let free = library::free_bytes(folder)
        .map_or("an unknown number of bytes".to_owned(), |free| {
            Bytes(free).to_string()
        });
    let name = log.file_stem().unwrap_or_default().to_string_lossy();
    let process = name.split('-').next().unwrap_or_default();
    Failure::input(format!(
        "process {process} was not recorded: its log could not be created in {}, which has {free} left",
        folder.display()
    ))
    .with_advice("Free some space there, or name another folder with --raw-dir.")
}

/// Prints the command that converts a log that was kept.
fn note_kept(log: &Path, destination: &Destination) {
    output::note(&format!(
        "its log is kept: {}",
        convert_command(log, destination)
    ));
}

/// Keeps the recording of a snapshot that could not be written: as its log or, if the log was consumed, as a snapshot
/// in the log folder.
fn rescue(
    run: &EndedRun<'_>,
    log: &FollowedLog,
    destination: &Destination,
    symbols: &mut FileSymbols,
) -> Option<WrittenSnapshot> {
    if !run.plan.is_followed {
        note_kept(log.path(), destination);
        return None;
    }
    let written = Destination::of(&log.path().with_extension("pickle"))
        .and_then(|destination| log.write(&destination, None, run.plan, symbols));
    run.folder.remove(log.path());
    match written {
        Ok(snapshot) => {
            output::note(&format!("it was written elsewhere: {}", snapshot.message()));
            Some(snapshot)
        }
        Err(failure) => {
            output::report(&failure);
            output::note(&format!("the recording of {} is lost", describe(log)));
            None
        }
    }
}

/// How messages name a process.
fn describe(log: &FollowedLog) -> String {
    let Recorded { process, rank } = log.recorded();
    let rank = rank.map_or_else(String::new, |rank| format!(", rank {rank}"));
    format!("process {process} ({}{rank})", log.program())
}

/// A remark about a process that is still running.
fn running_remark(log: &FollowedLog) -> String {
    match log.is_running() {
        true => format!(
            "\n  process {} is still running, but is no longer recorded",
            log.process()
        ),
        false => String::new(),
    }
}

/// Lists the processes without a snapshot, and why they have none.
fn note_others(left_out: &[&FollowedLog], unused: &[&FollowedLog]) {
    for (logs, why) in [
        (
            left_out,
            "they used CUDA too, and without --first-only each gets one",
        ),
        (unused, "they used the CUDA driver, but allocated nothing"),
    ] {
        if !logs.is_empty() {
            let names = join_names(logs.iter().map(|log| describe(log)));
            output::note(&format!("no snapshot of {names}: {why}"));
        }
    }
    // A process may only look unused because its calls were not recorded.
    for log in unused.iter().filter(|log| log.has_remarks()) {
        output::note(&format!("{}:{}", describe(log), log.remarks()));
    }
}

/// Explains why nothing was captured.
fn why_nothing(run: &EndedRun<'_>, unused: &[&FollowedLog]) -> String {
    let program = run.program;
    let telling = unused.iter().find(|log| log.has_remarks());
    let reason = if let Some(log) = telling.or(unused.first()) {
        let who = format!("process {} ({})", log.process(), log.program());
        match run.starts_paused {
            true => format!(
                "{who} uses CUDA but never started recording: with --start-paused, it must call vramscope_api::start"
            ),
            false => format!(
                "{who} uses the CUDA driver, but allocated nothing{}",
                log.remarks()
            ),
        }
    } else if let Some(refusal) = run.refusal {
        refusal.to_string()
    } else if let Some(user) = run.driver_watch.driver_user() {
        let who = format!("process {} ({})", user.process, user.executable.display());
        match user.has_library {
            true => {
                format!(
                    "{who} has loaded libcuda.so.1, but called none of its allocation functions"
                )
            }
            false => format!(
                "{who} uses libcuda.so.1, but was started without the injected library: by a program that clears LD_PRELOAD \
                 (sudo, env -i, a container), or into which no library can be loaded"
            ),
        }
    } else {
        format!(
            "neither {program} nor any process that it started was seen using the CUDA driver (libcuda.so.1)"
        )
    };
    format!("nothing was captured: {reason}")
}
