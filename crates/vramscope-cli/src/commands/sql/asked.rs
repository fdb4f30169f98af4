//! Runs a query: finds the tables, or makes them from snapshots in a temporary folder.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::slice;
use std::thread;

use vramscope_sql::{Cause, Dataset, Engine, Error, Settings};

use super::{Options, shown};
use crate::commands::fleet::pack_for_a_question;
use crate::destination::{self, Destination};
use crate::export::WRITER;
use crate::failure::Failure;
use crate::guarded::OVERVIEW;
use crate::input::{display_name, is_stdin};
use crate::inputs;
use crate::output;
use crate::temporary::PassingFolder;

/// A wrong query is shown with the place marked, if its line is not longer than this.
const LONGEST_LINE: usize = 200;

pub(super) fn run(options: &Options) -> Result<(), Failure> {
    let sql = text(options.sql.as_deref().unwrap_or_default(), &options.files)?;
    let destination = options.parquet.as_deref().map(Destination::of);
    if let Some(destination) = &destination {
        check(destination, &options.files)?;
    }
    let folder = PassingFolder::create_in(&std::env::temp_dir(), "vramscope-")
        .map_err(Failure::io("cannot make a temporary folder"))?;
    let (dataset, failures) = dataset(options, folder.as_ref())?;
    let asked = ask(options, &sql, dataset, &folder, destination.as_ref());
    inputs::report_all(failures.into_iter().chain(asked.err()))
}

/// Fails if the answer would overwrite its input: a snapshot, even inside a folder that is named, or a file of a
/// dataset.
fn check(destination: &Destination, asked: &[PathBuf]) -> Result<(), Failure> {
    // Missing files are reported when they are read.
    let found = |path| inputs::files(slice::from_ref(path)).unwrap_or_default();
    let files: Vec<_> = asked.iter().flat_map(found).collect();
    destination::check([destination], &files)?;
    let folders = asked.iter().filter(|path| path.is_dir());
    for folder in folders.filter(|&folder| destination.is_in(folder)) {
        if Dataset::find(folder).is_ok_and(|dataset| !dataset.tables().is_empty()) {
            return Err(Failure::Usage(format!(
                "{} is in the dataset that is asked; name another place to write",
                destination.name()
            )));
        }
    }
    Ok(())
}

/// The query's text.
fn text(sql: &str, files: &[PathBuf]) -> Result<String, Failure> {
    if sql != "-" {
        return match Path::new(sql).exists() {
            true => Err(Failure::Usage(format!(
                "{sql} is a file, not a query: the query comes first, then the files"
            ))),
            false => Ok(sql.to_owned()),
        };
    }
    if files.iter().any(|file| is_stdin(file)) {
        let text = "standard input (-) can be given only once";
        return Err(Failure::Usage(text.to_owned()));
    }
    let mut text = String::new();
    let read = io::stdin().read_to_string(&mut text);
    read.map_err(Failure::io("cannot read the query from standard input"))?;
    Ok(text)
}

fn ask(
    options: &Options,
    sql: &str,
    dataset: Dataset,
    folder: &PassingFolder,
    destination: Option<&Destination>,
) -> Result<(), Failure> {
    let failed = |error| failure(error, sql, options);
    let settings = Settings {
        memory_bytes: options.memory.0,
        spill: folder.as_ref().to_owned(),
        threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
    };
    #[cfg(unix)]
    crate::memory::limit(most_bytes(&settings));
    let engine = Engine::new(dataset, &settings).map_err(failed)?;
    if options.explain {
        let lines = engine.explain(sql).map_err(failed)?;
        return shown::explain(&lines, options.show);
    }
    let answer = engine.ask(sql).map_err(failed)?;
    match destination {
        Some(destination) => destination.write(false, |out| {
            let written = answer.write_parquet(WRITER, out).map_err(failed)?;
            written.map(|_rows| ()).map_err(output::unwritten)
        }),
        None => {
            let names: Vec<_> = options
                .files
                .iter()
                .map(|file| display_name(file))
                .collect();
            shown::print(answer, &names, options.show, failed)
        }
    }
}

/// The most memory that a query within its limit uses, in bytes: the engine does not count the copies that it joins and
/// sorts, nor what each thread is reading and computing.
#[cfg(unix)]
fn most_bytes(settings: &Settings) -> u64 {
    const BESIDE: u64 = 512 << 20;
    const OF_A_THREAD: u64 = 128 << 20;
    let uncounted = BESIDE + OF_A_THREAD * settings.threads.get() as u64;
    settings
        .memory_bytes
        .saturating_mul(2)
        .saturating_add(uncounted)
}

/// The dataset that is named, or one made from snapshots; and what failed for some of these.
fn dataset(options: &Options, folder: &Path) -> Result<(Dataset, Vec<Failure>), Failure> {
    let found = |path: &Path| {
        let doing = format!("cannot read the folder {}", path.display());
        Dataset::find(path).map_err(Failure::io(doing))
    };
    for path in options.files.iter().filter(|path| path.is_dir()) {
        let dataset = found(path)?;
        if dataset.tables().is_empty() {
            continue;
        }
        inputs::check_finished(path)?;
        warn_of_missing(path, dataset.tables());
        if let Some(from) = &options.rank_from {
            from.check(&[])?;
        }
        if options.files.len() > 1 {
            return Err(Failure::Usage(format!(
                "{} is a dataset: name it alone; `vramscope fleet pack` makes one of several sources",
                path.display()
            )));
        }
        return Ok((dataset, Vec::new()));
    }
    let rank_from = options.rank_from.as_ref();
    let failures = pack_for_a_question(&options.files, rank_from, options.memory, folder)?;
    Ok((found(folder)?, failures))
}

/// Warns if the tables of a dataset have other ranks than its overview, in which each has a row in `ranks`.
fn warn_of_missing(dataset: &Path, tables: &[String]) {
    let Ok(Some(fleet)) = inputs::overview(&dataset.join(OVERVIEW)) else {
        return;
    };
    let known: BTreeSet<u32> = fleet.ranks.iter().map(|rank| rank.place.rank).collect();
    let differs = |table: &&String| {
        let folders = fs::read_dir(dataset.join(table)).into_iter().flatten();
        let names = folders.flatten().map(|entry| entry.file_name());
        let there: BTreeSet<u32> = names
            .filter_map(|name| name.to_str()?.strip_prefix("rank=")?.parse().ok())
            .collect();
        !there.is_subset(&known) || (*table == "ranks" && there != known)
    };
    if let Some(table) = tables.iter().find(differs) {
        output::warn(&format!(
            "{}: the table {table} has other ranks than the overview: a `vramscope fleet pack` is at it or was stopped, or files \
             are missing. Packing the same snapshots again completes it.",
            dataset.display()
        ));
    }
}

/// The message for an error, with its place in the query.
fn failure(error: Error, sql: &str, options: &Options) -> Failure {
    let place = error.place;
    let message = match place {
        Some(place) => format!(
            "the SQL, line {}, column {}: {}",
            place.line, place.column, error.message
        ),
        None => error.message,
    };
    let mut lines = Vec::new();
    let line = place.and_then(|place| sql.lines().nth(usize::try_from(place.line).ok()? - 1));
    if let (Some(place), Some(line)) = (place, line)
        && line.len() <= LONGEST_LINE
    {
        let indent = usize::try_from(place.column).unwrap_or(1) - 1;
        lines.extend([line.to_owned(), " ".repeat(indent) + "^"]);
    }
    lines.extend(error.advice);
    let failure = match error.cause {
        Cause::Sql => Failure::Usage(message),
        Cause::Memory => {
            lines = vec![format!(
                "Give it more with --memory, which is {} bytes; or select fewer columns, ranks or groups.",
                options.memory.0
            )];
            Failure::Input(message)
        }
        Cause::Files | Cause::Other => Failure::Input(message),
    };
    failure.followed_by(lines)
}
