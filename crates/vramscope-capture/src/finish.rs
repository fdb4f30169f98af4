//! After the program has ended: writes its snapshots, or explains why there are none.

use std::path::Path;

use vramscope_capture::FileSymbols;
use vramscope_core::units::Bytes;

use crate::destination::Destination;
use crate::failure::Failure;
use crate::follow::{FollowedLog, Plan, RunLogs};
use crate::launch::driver_watch::DriverWatch;
use crate::launch::library;
use crate::launch::program::Refusal;
use crate::output::{self, join_names, quote};
use crate::written_snapshot::WrittenSnapshot;

/// Everything known about an ended run.
pub(crate) struct EndedRun<'a> {
    pub(crate) plan: &'a Plan,
    /// Why the library could not be loaded into the program, if it could not.
    pub(crate) refusal: Option<&'a Refusal>,
    pub(crate) driver_watch: &'a DriverWatch,
    /// The folder for the logs.
    pub(crate) folder: &'a Path,
    /// Whether recording waited for `vramscope_api::start`.
    pub(crate) starts_paused: bool,
    /// Whether the viewer opens, so that no hint about it is needed.
    pub(crate) opens_viewer: bool,
    /// The program as given on the command line.
    pub(crate) program: &'a str,
}

/// The result of writing the snapshots.
#[derive(Default)]
pub(crate) struct RunResult {
    /// The written snapshots.
    pub(crate) snapshots: Vec<WrittenSnapshot>,
    /// The first failure to write a snapshot at its place, which was already printed.
    pub(crate) failed: Option<Failure>,
}

/// Writes the snapshots. A failure does not stop the others; its recording is kept in the log folder if possible.
pub(crate) fn write_snapshots(run: &EndedRun<'_>, mut logs: RunLogs) -> RunResult {
    let plan = run.plan;
    let mut result = RunResult::default();
    for (_, failure) in &logs.unreadable {
        output::report(failure);
    }
    let (used, unused): (Vec<_>, Vec<_>) = logs.logs.iter().partition(|log| log.has_content());
    if used.is_empty() {
        if !plan.is_quiet {
            output::note(&why_nothing(run, &unused, !logs.unreadable.is_empty()));
        }
        return result;
    }
    let has_all = plan.follow_children || plan.live_every.is_some();
    let wanted = if has_all { used.len() } else { 1 };
    for log in &used[..wanted] {
        match log.write(&log.own_destination(plan), None, plan, &mut logs.symbols) {
            Ok(snapshot) => {
                if !plan.is_quiet {
                    output::note(&format!("{}{}", snapshot.message(), running_remark(log)));
                }
                result.snapshots.push(snapshot);
            }
            Err(failure) => {
                output::report(&failure);
                result.failed.get_or_insert(failure);
                result.snapshots.extend(rescue(run, log, &mut logs.symbols));
            }
        }
    }
    if used.len() > wanted && !plan.is_quiet {
        output::note(&describe_others(used[0], &used[wanted..]));
    }
    if let (false, Some(first)) = (plan.is_quiet || run.opens_viewer, result.snapshots.first()) {
        output::note(&format!("open it: vramscope view {}", quote(first.path())));
    }
    result
}

/// Keeps the recording of a snapshot that could not be written: as its log, or, if the log was consumed and is
/// empty, as a snapshot in the log folder.
fn rescue(
    run: &EndedRun<'_>,
    log: &FollowedLog,
    symbols: &mut FileSymbols,
) -> Option<WrittenSnapshot> {
    if !run.plan.is_followed {
        output::note(&format!(
            "its log is kept: vramscope-capture convert {} -o FILE",
            quote(log.path())
        ));
        return None;
    }
    let written = Destination::of(&log.path().with_extension("pickle"))
        .and_then(|destination| log.write(&destination, None, run.plan, symbols));
    match written {
        Ok(snapshot) => {
            output::note(&format!("it was written elsewhere: {}", snapshot.message()));
            Some(snapshot)
        }
        Err(failure) => {
            output::report(&failure);
            output::note(&format!(
                "the recording of process {} ({}) is lost",
                log.process(),
                log.program()
            ));
            None
        }
    }
}

/// Remark about a process that has not ended.
fn running_remark(log: &FollowedLog) -> String {
    match log.is_running() {
        true => format!(
            "\n  process {} is still running, but is no longer recorded",
            log.process()
        ),
        false => String::new(),
    }
}

/// Message that further processes used CUDA.
fn describe_others(first: &FollowedLog, others: &[&FollowedLog]) -> String {
    let name = |log: &FollowedLog| format!("{} ({})", log.process(), log.program());
    format!(
        "this is process {}; CUDA was also used by {}: --follow-children writes a snapshot of each",
        name(first),
        join_names(others.iter().map(|log| name(log)))
    )
}

/// Explains why nothing was captured.
fn why_nothing(run: &EndedRun<'_>, unused: &[&FollowedLog], has_unreadable: bool) -> String {
    let program = run.program;
    let reason = if let Some(log) = unused.first() {
        let who = format!("process {} ({})", log.process(), log.program());
        match run.starts_paused {
            true => format!(
                "{who} uses CUDA but never started recording: with --start-paused, it must call vramscope_api::start"
            ),
            false => format!("{who} uses the CUDA driver, but allocated nothing"),
        }
    } else if has_unreadable {
        let free = library::free_bytes(run.folder)
            .map_or("an unknown number of bytes".to_owned(), |free| {
                Bytes(free).to_string()
            });
        format!(
            "the log could not be created in {}, which has {free} left",
            run.folder.display()
        )
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
