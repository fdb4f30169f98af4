//! The vramscope command line: parses its arguments, runs one command, reports failures.
//!
//! The program is [`run`]. Other front ends, such as the Python package, keep a file open and ask it the same
//! questions: [`opened`]. `commands` has a file per command. They share: `arguments` (options with the same meaning
//! everywhere), `inputs`, `input` and `progress` (reading), `subject` (a file and the data derived from it once),
//! `report` (an answer as text, JSON or CSV), `export` (formats of other tools), `destination` (files to write),
//! `interruption` (signals).
//!
//! A command computes no number. It produces the parts of its answer, facts and tables of typed cells, which are
//! printed as they arrive, so that no answer is held as a whole. Files are written under temporary names and renamed
//! when the command ends, all at once, or removed if a signal ends it; only `fleet pack` keeps each complete file.
//! Paths named by an overview, a dataset or an agent are opened only through `guarded`.
//!
//! Exit codes: 0 success, 1 bad input, 2 wrong usage, 3 a broken budget, a damaged file given to `check` or a plan that
//! does not fit, or that of a recorded program; if several things fail, the most serious decides.

// Lowest first: a module uses those of groups above its own.

mod harmless;
#[cfg(unix)]
mod memory;

mod failure;
mod guarded;
mod help;
mod hints;
mod temporary;

mod page;
mod progress;

mod output;

mod input;
#[cfg_attr(not(unix), path = "interruption/elsewhere.rs")]
mod interruption;

mod arguments;
mod destination;

mod report;

mod subject;

mod export;
mod inputs;

mod commands;

pub mod opened;

mod mcp;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;

use clap::error::{ContextKind, ContextValue};
use clap::{FromArgMatches, Parser, Subcommand};

#[cfg(unix)]
use crate::commands::record;
use crate::commands::{
    annotations, anonymise, at, brief, check, compare, completions, convert, cut, diff, dry_run,
    explain, find, flame_graph, fleet, fragmentation, html, inductor, info, leaks, man, oom, pack,
    peak, plan, plot, range, skill, sql, stats, text, top, trace, view, what_if,
};
pub use crate::failure::Failure;
use crate::inputs::Source;
use crate::temporary::Writing;

/// Shows what a PyTorch CUDA memory snapshot contains.
///
/// A snapshot is the file that torch.cuda.memory._dump_snapshot() writes: a pickle, also compressed
/// with gzip or zstd, zipped, as JSON, or inside the HTML of torch's trace_plot. Files are only
/// decoded, never unpickled: nothing in them is run.
#[derive(Parser)]
#[command(name = "vramscope", version, after_help = EXAMPLES, verbatim_doc_comment)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  vramscope record -- python train.py
  vramscope info snapshot.pickle
  vramscope view rank0.pickle rank1.pickle
  vramscope peak snapshot.pickle --group-by module
  vramscope oom snapshot.pickle
  vramscope text train.log
  vramscope diff before.pickle after.pickle --fail-if-grown 5%
  vramscope check runs/ --max-peak 70GiB --no-oom
  vramscope html snapshot.pickle -o report.html
  vramscope convert snapshot.pickle -o trace.perfetto.json

`vramscope COMMAND --help` has details and examples.

Exit codes: 0 success, 1 bad input or a budget that cannot be measured, 2 wrong usage, 3 a budget of
`check` or `diff` is broken, a file given to `check` is damaged, or nothing that `pack` found fits,
that of the program that `record` started,
128+N ended by signal N (130: Ctrl-C), which leaves no unfinished file";

#[derive(Subcommand)]
enum Command {
    #[cfg(unix)]
    Record(record::Options),
    Brief(brief::Options),
    Info(info::Options),
    Explain(explain::Options),
    View(view::Options),
    Plot(plot::Options),
    Peak(peak::Options),
    At(at::Options),
    Range(range::Options),
    Leaks(leaks::Options),
    Oom(oom::Options),
    Text(text::Options),
    Fragmentation(fragmentation::Options),
    Plan(plan::Options),
    Pack(pack::Options),
    WhatIf(what_if::Options),
    Inductor(inductor::Options),
    Top(top::Options),
    Annotations(annotations::Options),
    Find(find::Options),
    Sql(sql::Options),
    DryRun(dry_run::Options),
    Diff(diff::Options),
    Check(check::Options),
    Fleet(fleet::Options),
    Stats(stats::Options),
    Trace(trace::Options),
    Segments(flame_graph::SegmentsOptions),
    Memory(flame_graph::MemoryOptions),
    Compare(compare::Options),
    Html(html::Options),
    TracePlot(html::TracePlotOptions),
    SegmentPlot(html::SegmentPlotOptions),
    ProfilePlot(html::ProfilePlotOptions),
    Convert(convert::Options),
    Cut(cut::Options),
    #[command(visible_alias = "anonymize")]
    Anonymise(anonymise::Options),
    Completions(completions::Options),
    Man(man::Options),
    Skill(skill::Options),
    Mcp(mcp::Options),
}

/// Runs the program with these arguments, the first of which is its name. Returns its exit code.
///
/// Needs a process of its own: signals end it, and it uses standard output and error.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    // If it fails, an interruption may leave a temporary file behind; nothing else is lost.
    drop(interruption::watch());
    let matches = help::program().try_get_matches_from(arguments);
    let arguments = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(answer) => return print_answer(&hinted(answer)),
    };
    let writing = Writing;
    let failure = run_command(&arguments.command).err();
    let failures = failure.into_iter().chain(destination::keep(writing));
    inputs::report_all(failures).map_or_else(fail, |()| 0)
}

/// Suggests the command that opens a file, if a file is named in place of a command, and the option that sets colours.
fn hinted(mut answer: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(word)) = answer.get(ContextKind::InvalidArg)
        && (word.starts_with("--color") || word.starts_with("--colour"))
        && answer.get(ContextKind::SuggestedArg).is_none()
    {
        let hint = "colours follow the terminal: NO_COLOR=1 turns them off, CLICOLOR_FORCE=1 keeps them in a pipe";
        let hint = ContextValue::StyledStrs(vec![hint.into()]);
        answer.insert(ContextKind::Suggested, hint);
    }
    if let Some(ContextValue::String(word)) = answer.get(ContextKind::InvalidSubcommand)
        && let Some(hint) = match &**word {
            "record" if cfg!(not(unix)) => {
                Some("record runs on Linux and macOS; what it writes opens here".to_owned())
            }
            file if Path::new(file).exists() => {
                let file = harmless::printable(file);
                Some(format!("to open it: vramscope view '{file}'"))
            }
            _ => None,
        }
    {
        let hint = ContextValue::StyledStrs(vec![hint.into()]);
        answer.insert(ContextKind::Suggested, hint);
    }
    answer
}

/// Prints help, the version, or an error in the arguments.
fn print_answer(answer: &clap::Error) -> u8 {
    let printed = answer.print().and_then(|()| io::stdout().flush());
    match printed.map_err(output::unwritten) {
        Err(failure) if !answer.use_stderr() => fail(failure),
        // Whether they are wrong does not depend on who reads it.
        _ => u8::try_from(answer.exit_code()).unwrap_or(2),
    }
}

fn fail(failure: Failure) -> u8 {
    output::report(&failure);
    failure.exit_code()
}

fn run_command(command: &Command) -> Result<(), Failure> {
    if let Some(answered) = ask(command, &mut Source::Files) {
        return answered;
    }
    match command {
        #[cfg(unix)]
        Command::Record(options) => record::run(options),
        Command::View(options) => view::run(options),
        Command::DryRun(options) => dry_run::run(options),
        Command::Pack(options) => pack::run(options),
        Command::Inductor(options) => inductor::run(options),
        Command::Text(options) => text::run(options),
        Command::Check(options) => check::run(options),
        Command::Trace(options) => trace::run(options),
        Command::Segments(options) => flame_graph::run_segments(options),
        Command::Memory(options) => flame_graph::run_memory(options),
        Command::Compare(options) => compare::run(options),
        Command::TracePlot(options) => html::run_trace_plot(options),
        Command::SegmentPlot(options) => html::run_segment_plot(options),
        Command::ProfilePlot(options) => html::run_profile_plot(options),
        Command::Convert(options) => convert::run(options),
        Command::Cut(options) => cut::run(options),
        Command::Anonymise(options) => anonymise::run(options),
        Command::Completions(options) => completions::run(options),
        Command::Man(options) => man::run(options),
        Command::Skill(options) => skill::run(options),
        Command::Sql(options) => sql::run(options),
        Command::Mcp(options) => mcp::run(options),
        _ => Ok(()),
    }
}

/// Runs a command that works on files and on open snapshots; `None` for others.
fn ask(command: &Command, source: &mut Source<'_>) -> Option<Result<(), Failure>> {
    Some(match command {
        Command::Brief(options) => brief::run(options, source),
        Command::Info(options) => info::run(options, source),
        Command::Explain(options) => explain::run(options, source),
        Command::Peak(options) => peak::run(options, source),
        Command::At(options) => at::run(options, source),
        Command::Range(options) => range::run(options, source),
        Command::Leaks(options) => leaks::run(options, source),
        Command::Oom(options) => oom::run(options, source),
        Command::Fragmentation(options) => fragmentation::run(options, source),
        Command::Plan(options) => plan::run(options, source),
        Command::WhatIf(options) => what_if::run(options, source),
        Command::Top(options) => top::run(options, source),
        Command::Annotations(options) => annotations::run(options, source),
        Command::Find(options) => find::run(options, source),
        Command::Diff(options) => diff::run(options, source),
        Command::Stats(options) => stats::run(options, source),
        Command::Html(options) => html::run(options, source),
        Command::Plot(options) => plot::run(options, source),
        Command::Fleet(options) => fleet::run(options, source),
        _ => return None,
    })
}
