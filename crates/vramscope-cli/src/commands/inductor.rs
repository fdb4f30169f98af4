//! `vramscope inductor`: the order in which a graph of torch.compile needs least memory.

mod answer;
pub(super) mod files;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use vramscope_inductor::{Export, Graph, Method, NamedGraph, Plan, Search, Settings, plan};

use crate::arguments::{Show, Size, parse_size, parse_time};
use crate::failure::Failure;
use crate::harmless::printable;
use crate::input::display_name;
use crate::inputs::report_all;
use crate::output;
use crate::report;

/// Find the order in which a graph of torch.compile needs least memory
///
/// Inductor, the compiler behind torch.compile, tries four orders of a graph's nodes and takes the one with the
/// lowest peak. This command shows the peaks of all four, exactly as inductor estimates them, and looks for a
/// better order. Have the graphs logged with
///
///   torch._inductor.config.reorder_for_peak_memory_debug = True
///   TORCH_TRACE=trace TORCHINDUCTOR_FORCE_DISABLE_CACHES=1 python train.py
///
/// and name the log in that folder, the folder, what tlparse made of it, or the JSON of a graph. Parameters and
/// other inputs that outlive the graph are not counted.
#[derive(Args)]
#[command(after_help = EXAMPLES, verbatim_doc_comment)]
pub(crate) struct Options {
    /// TORCH_TRACE logs, folders with them or with what tlparse writes, or graphs as JSON; `-` reads standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only the graph with this name, or else graphs whose names contain it
    #[arg(long, value_name = "NAME")]
    graph: Option<String>,
    /// Show this order of one graph, with the memory at each step
    #[arg(long, value_enum)]
    order: Option<OrderWord>,
    /// How long to look for better orders, for all graphs together; 0s for not at all
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "2s")]
    time: Duration,
    /// Inductor's size_threshold_for_succ_based_strategy, if it was set
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "0")]
    size_threshold: Size,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope inductor trace/
  vramscope inductor trace/ --graph model__0_backward_3_fused --order best --time 1min
  vramscope inductor graph.json --order lpmf --csv > steps.csv
  vramscope inductor trace/ --json | jq '.parts[].graphs[] | [.graph, .chosen_bytes, .best_bytes]'";

/// An order as an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum OrderWord {
    /// The order before reordering
    Baseline,
    /// Least peak memory first
    Lpmf,
    /// Breadth first
    Bfs,
    /// Depth first
    Dfs,
    /// The one of these that inductor chooses
    Chosen,
    /// The best one found within --time
    Best,
}

impl OrderWord {
    fn method(self) -> Option<Method> {
        match self {
            Self::Baseline => Some(Method::Baseline),
            Self::Lpmf => Some(Method::Lpmf),
            Self::Bfs => Some(Method::Bfs),
            Self::Dfs => Some(Method::Dfs),
            Self::Chosen | Self::Best => None,
        }
    }
}

/// A graph with its orders.
struct Answered<'a> {
    named: &'a NamedGraph,
    plan: Plan,
    search: Search<&'a Graph>,
}

/// The answer about a file.
struct AnsweredFile<'a> {
    name: String,
    graphs: Vec<Answered<'a>>,
    notes: Vec<String>,
}

/// A file and the graphs chosen from it.
struct Chosen {
    file: PathBuf,
    export: Export,
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be read, has no such graph, or the result cannot be written.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let (mut parts, mut failures, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut all = Vec::new();
    for file in files::files(&options.files)? {
        match files::read(&file) {
            Ok(mut export) => {
                names.extend(export.graphs.iter().map(|graph| graph.name.clone()));
                choose(&mut export.graphs, options.graph.as_deref());
                if !export.graphs.is_empty() {
                    all.push(Chosen { file, export });
                }
            }
            Err(failure) => failures.push(failure),
        }
    }
    if all.is_empty() && failures.is_empty() {
        return Err(none(options, &names));
    }
    leave_out_repeated(&mut all);
    let count: usize = all.iter().map(|chosen| chosen.export.graphs.len()).sum();
    if options.order.is_some() && count > 1 {
        return Err(several(&all));
    }
    let mut answered = Vec::new();
    for chosen in &all {
        match answer(options, chosen) {
            Ok(file) => answered.push(file),
            Err(failure) => failures.push(failure),
        }
    }
    let graphs = answered.iter_mut().flat_map(|file| &mut file.graphs);
    search(
        graphs.map(|graph| &mut graph.search).collect(),
        options.time,
    );
    for file in answered {
        let mut part = answer::part(&file.graphs, options.order, &file.name);
        part.notes.extend(file.notes);
        parts.push(part);
    }
    if !parts.is_empty() {
        failures.extend(report::print("inductor", parts, options.show).err());
    }
    report_all(failures)
}

/// Keeps only the graphs with this name.
fn choose(graphs: &mut Vec<NamedGraph>, name: Option<&str>) {
    let Some(name) = name else {
        return;
    };
    match graphs.iter().any(|graph| graph.name == name) {
        true => graphs.retain(|graph| graph.name == name),
        false => graphs.retain(|graph| graph.name.contains(name)),
    }
}

/// Drops graphs that an earlier file has as well: a log next to tlparse's output, or another rank's log.
fn leave_out_repeated(all: &mut Vec<Chosen>) {
    let mut known: HashMap<&str, Vec<(usize, &Graph)>> = HashMap::new();
    let mut is_new = Vec::new();
    for (file, chosen) in all.iter().enumerate() {
        for named in &chosen.export.graphs {
            let known = known.entry(named.plain_name()).or_default();
            let mut others = known.iter().filter(|&&(other, _)| other != file);
            is_new.push(others.all(|&(_, graph)| *graph != named.graph));
            known.push((file, &named.graph));
        }
    }
    let repeated = is_new.iter().filter(|&&is_new| !is_new).count();
    if repeated > 0 {
        output::note(&format!(
            "note: graphs that an earlier file has, too, and that are shown once: {repeated}\n"
        ));
    }
    let mut is_new = is_new.into_iter();
    for chosen in &mut *all {
        (chosen.export.graphs).retain(|_| is_new.next().unwrap_or(true));
    }
    all.retain(|chosen| !chosen.export.graphs.is_empty());
}

/// The answer about a file before any search.
fn answer<'a>(
    options: &Options,
    Chosen { file, export }: &'a Chosen,
) -> Result<AnsweredFile<'a>, Failure> {
    let settings = Settings {
        size_threshold_for_succ_based_strategy: options.size_threshold.0,
    };
    let name = display_name(file);
    let (mut graphs, mut notes) = (Vec::new(), export.warnings.clone());
    for named in &export.graphs {
        let warnings = named.warnings.iter();
        notes.extend(warnings.map(|warning| format!("{}: {warning}", named.name)));
        match plan(&named.graph, settings) {
            Ok(plan) => {
                let names = named.graph.validate_unique_buffer_names().err();
                let refusal = |error| format!("{}: PyTorch would refuse it: {error}", named.name);
                notes.extend(names.map(refusal));
                let search = Search::new(&named.graph, &plan);
                graphs.push(Answered {
                    named,
                    plan,
                    search,
                });
            }
            Err(error) => notes.push(format!("{}: it cannot be planned: {error}", named.name)),
        }
    }
    if options.show.csv && !graphs.is_empty() {
        for note in &notes {
            let note = printable(&format!("{name}: {note}"));
            output::note(&format!("note: {note}\n"));
        }
    }
    if graphs.is_empty() {
        let mut notes = notes.into_iter();
        let first = notes.next().unwrap_or_default();
        return Err(Failure::Input(format!("{name}: {first}")).followed_by(notes));
    }
    Ok(AnsweredFile {
        name,
        graphs,
        notes,
    })
}

/// The shortest turn in the search for a graph's order.
const LEAST_TURN: Duration = Duration::from_millis(10);

/// Searches for better orders of all graphs, in turns, until the time is over.
fn search(mut searches: Vec<&mut Search<&Graph>>, time: Duration) {
    let start = Instant::now();
    while !searches.is_empty() && start.elapsed() < time {
        let count = searches.len();
        for (place, search) in searches.iter_mut().enumerate() {
            let left = time.saturating_sub(start.elapsed());
            let turn = (left / (count - place) as u32).max(LEAST_TURN).min(left);
            let began = Instant::now();
            if !turn.is_zero() {
                search.run(&mut || began.elapsed() >= turn);
            }
            // Only the graph whose turn it is may hold memory for its search.
            search.rest();
        }
        searches.retain(|search| !search.is_done());
    }
}

fn several(all: &[Chosen]) -> Failure {
    let graphs = all.iter().flat_map(|chosen| &chosen.export.graphs);
    let mut seen = HashSet::new();
    let names = graphs.map(|graph| graph.name.clone());
    let names: Vec<String> = names.filter(|name| seen.insert(name.clone())).collect();
    match &names[..] {
        [name] => {
            let files = all.iter().map(|chosen| display_name(&chosen.file));
            let files: Vec<String> = files.collect();
            Failure::Usage(format!(
                "--order shows one graph, and {name} is in several files: name one of them"
            ))
            .followed_by(listed(&files))
        }
        _ => Failure::Usage("--order shows one graph: choose it with --graph NAME".to_owned())
            .followed_by(listed(&names)),
    }
}

fn none(options: &Options, names: &[String]) -> Failure {
    let name = options.graph.as_deref().unwrap_or_default();
    Failure::Usage(format!("no graph has {name} in its name")).followed_by(listed(names))
}

/// Names to choose from, as lines below a message.
fn listed(names: &[String]) -> Vec<String> {
    const MOST: usize = 20;
    let mut lines = vec!["There are:".to_owned()];
    lines.extend(names.iter().take(MOST).map(|name| format!("- {name}")));
    if names.len() > MOST {
        lines.push(format!("and {} further", names.len() - MOST));
    }
    lines
}
