//! After the program: its snapshots, or why there is none.

use std::path::Path;

use vramscope_capture::FileSymbols;
use vramscope_core::units::Bytes;

use crate::commands::convert::named;
use crate::destination::Destination;
use crate::failure::Failure;
use crate::follow::{FollowedLog, Left, Plan};
use crate::launch::library;
use crate::launch::program::Refusal;
use crate::launch::witness::Witness;
use crate::made::Made;
use crate::output::{self, quoted};

/// What is known about a run when it has ended.
pub(crate) struct Outcome<'a> {
    pub(crate) plan: &'a Plan,
    /// What kept the library out of the program, if anything did.
    pub(crate) refusal: Option<&'a Refusal>,
    pub(crate) witness: &'a Witness,
    /// Where logs were to be made.
    pub(crate) folder: &'a Path,
    /// Whether recording waited for the program to begin it.
    pub(crate) starts_paused: bool,
    /// Whether the snapshot is opened anyway.
    pub(crate) opens_viewer: bool,
    /// The program as it was called.
    pub(crate) program: &'a str,
}

/// What became of a run's logs.
#[derive(Default)]
pub(crate) struct Finished {
    /// The snapshots that were written.
    pub(crate) made: Vec<Made>,
    /// The first snapshot that was not written where it was to be; that was told.
    pub(crate) failed: Option<Failure>,
}

/// Writes the snapshots. One that cannot be written does not stop the others, and what it was to hold is kept in the
/// folder of the logs where that can be done.
pub(crate) fn finish(outcome: &Outcome<'_>, mut left: Left) -> Finished {
    let plan = outcome.plan;
    let mut finished = Finished::default();
    for (_, failure) in &left.unreadable {
        output::report(failure);
    }
    let (used, unused): (Vec<_>, Vec<_>) = left.logs.iter().partition(|log| log.has_content());
    if used.is_empty() {
        if !plan.is_quiet {
            output::note(&why_nothing(outcome, &unused, !left.unreadable.is_empty()));
        }
        return finished;
    }
    let wanted = if plan.follow_children { used.len() } else { 1 };
    for log in &used[..wanted] {
        match log.write(&log.own_destination(plan), None, plan, &mut left.symbols) {
            Ok(made) => {
                if !plan.is_quiet {
                    output::note(&format!("{}{}", made.text(), still_runs(log)));
                }
                finished.made.push(made);
            }
            Err(failure) => {
                output::report(&failure);
                finished.failed.get_or_insert(failure);
                finished
                    .made
                    .extend(rescue(outcome, log, &mut left.symbols));
            }
        }
    }
    if used.len() > wanted && !plan.is_quiet {
        output::note(&others(used[0], &used[wanted..]));
    }
    if let (false, Some(first)) = (plan.is_quiet || outcome.opens_viewer, finished.made.first()) {
        output::note(&format!("open it: vramscope view {}", quoted(first.path())));
    }
    finished
}

/// Keeps what a snapshot was to hold that could not be written: its log, or, where that was taken over and is empty, the
/// snapshot in the folder of logs.
fn rescue(outcome: &Outcome<'_>, log: &FollowedLog, symbols: &mut FileSymbols) -> Option<Made> {
    if !outcome.plan.is_followed {
        output::note(&format!(
            "its log is kept: vramscope-capture convert {} -o FILE",
            quoted(log.path())
        ));
        return None;
    }
    let written = Destination::of(&log.path().with_extension("pickle"))
        .and_then(|destination| log.write(&destination, None, outcome.plan, symbols));
    match written {
        Ok(made) => {
            output::note(&format!("it was written elsewhere: {}", made.text()));
            Some(made)
        }
        Err(failure) => {
            output::report(&failure);
            output::note(&format!(
                "what was recorded of process {} ({}) is lost",
                log.process(),
                log.program()
            ));
            None
        }
    }
}

/// What there is to add about a process that has not ended.
fn still_runs(log: &FollowedLog) -> String {
    match log.is_running() {
        true => format!(
            "\n  process {} still runs: what it does from now on is not recorded",
            log.process()
        ),
        false => String::new(),
    }
}

/// Says that further processes used CUDA.
fn others(first: &FollowedLog, others: &[&FollowedLog]) -> String {
    let name = |log: &FollowedLog| format!("{} ({})", log.process(), log.program());
    format!(
        "this is process {}; CUDA was used by {} too: --follow-children writes a snapshot of each",
        name(first),
        named(others.iter().map(|log| name(log)))
    )
}

/// Why there is nothing to show, by what was found out.
fn why_nothing(outcome: &Outcome<'_>, unused: &[&FollowedLog], has_unreadable: bool) -> String {
    let program = outcome.program;
    let reason = if let Some(log) = unused.first() {
        let who = format!("process {} ({})", log.process(), log.program());
        match outcome.starts_paused {
            true => format!(
                "{who} uses CUDA but never began recording, which --start-paused leaves to vramscope_api::start"
            ),
            false => format!("{who} uses the CUDA driver, but allocated nothing"),
        }
    } else if has_unreadable {
        let free = library::free_bytes(outcome.folder)
            .map_or("an unknown number of bytes".to_owned(), |free| {
                Bytes(free).to_string()
            });
        format!(
            "the log could not be begun in {}, which has {free} left",
            outcome.folder.display()
        )
    } else if let Some(refusal) = outcome.refusal {
        refusal.to_string()
    } else if let Some(user) = outcome.witness.driver_user() {
        let who = format!("process {} ({})", user.process, user.executable.display());
        match user.has_library {
            true => {
                format!("{who} has loaded libcuda.so.1, but called nothing of it that allocates")
            }
            false => format!(
                "{who} uses libcuda.so.1, but was started without the library: by a program that clears LD_PRELOAD \
                 (sudo, env -i, a container) or that no library can be loaded into"
            ),
        }
    } else {
        format!(
            "neither {program} nor what it started was seen to use the CUDA driver (libcuda.so.1)"
        )
    };
    format!("nothing was captured: {reason}")
}
