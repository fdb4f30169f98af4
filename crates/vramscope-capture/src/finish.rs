//! After the program: its snapshots, or why there is none.

use std::path::Path;

use crate::bytes;
use crate::commands::convert::named;
use crate::failure::Failure;
use crate::follow::{FollowedLog, Left, Plan};
use crate::launch::library;
use crate::launch::program::Refusal;
use crate::launch::witness::Witness;
use crate::made::Made;
use crate::output;

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

/// Writes the snapshots, and gives those that were written.
///
/// # Errors
/// When one could not be: its log is worth keeping.
pub(crate) fn finish(outcome: &Outcome<'_>, mut left: Left) -> Result<Vec<Made>, Failure> {
    let plan = outcome.plan;
    for (_, failure) in &left.unreadable {
        output::report(failure);
    }
    let (used, unused): (Vec<_>, Vec<_>) = left.logs.iter().partition(|log| log.has_content());
    if used.is_empty() {
        if !plan.is_quiet {
            output::note(&why_nothing(outcome, &unused, !left.unreadable.is_empty()));
        }
        return Ok(Vec::new());
    }
    let wanted = if plan.follow_children { used.len() } else { 1 };
    let mut made = Vec::new();
    for log in &used[..wanted] {
        let written = log.write(&log.own_destination(plan), None, plan, &mut left.symbols)?;
        if !plan.is_quiet {
            let running = match log.is_running() {
                true => format!(
                    "\n  process {} still runs: what it does from now on is not recorded",
                    log.process()
                ),
                false => String::new(),
            };
            output::note(&format!("{}{running}", written.text()));
        }
        made.push(written);
    }
    if used.len() > wanted && !plan.is_quiet {
        output::note(&others(used[0], &used[wanted..]));
    }
    if let (false, Some(first)) = (plan.is_quiet || outcome.opens_viewer, made.first()) {
        output::note(&format!("open it: vramscope view {}", quoted(first.path())));
    }
    Ok(made)
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
            .map_or("an unknown number of bytes".to_owned(), bytes::show);
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

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain =
        |character: char| character.is_alphanumeric() || "/._-+,:=@%".contains(character);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}
