//! Writes a device's packing problems as minimalloc's CSV files, for other solvers.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use vramscope_core::units::Count;
use vramscope_plan::packing::csv;
use vramscope_plan::{ArenaProblem, Planner};

use crate::destination::{self, Destination};
use crate::failure::Failure;
use crate::input::{display_name, is_stdin};
use crate::inputs;
use crate::output::{csv_error, unwritten};
use crate::subject::Device;

/// The destination of the problems.
pub(super) enum Export {
    /// One file, for the largest problem of the snapshot's main device.
    File(PathBuf),
    /// A folder, for all problems.
    Folder {
        path: PathBuf,
        /// The prefix of the file names for each snapshot, by the snapshot's name.
        stems: HashMap<String, String>,
    },
}

impl Export {
    /// A destination at `path`, for these input files or folders.
    ///
    /// # Errors
    /// If `path` is standard output, one of the inputs, or a single file for several of them.
    pub(super) fn new(path: &Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let refused = |why: &str| Err(Failure::Usage(format!("--export-csv: {why}")));
        if is_stdin(path) {
            return refused("the answer goes to standard output; name a file or a folder");
        }
        let files = inputs::files(inputs)?;
        destination::check([&Destination::of(path)], &files)?;
        let is_file = path.extension().is_some_and(|ending| ending == "csv") && !path.is_dir();
        if !is_file {
            let (path, stems) = (path.to_owned(), stems(&files)?);
            return Ok(Self::Folder { path, stems });
        }
        if files.len() > 1 {
            return refused("several snapshots do not go into one .csv file; name a folder");
        }
        Ok(Self::File(path.to_owned()))
    }

    /// Writes a device's problems. Returns sentences that say what was written where.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub(super) fn write(
        &self,
        device: &Device<'_>,
        planner: &Planner,
    ) -> Result<Vec<String>, Failure> {
        let labels = planner.plan().arenas.iter().map(|arena| &arena.label);
        let problems = planner.problems().iter().zip(labels);
        let mut problems = problems.filter(|(problem, _)| !problem.allocations.is_empty());
        match self {
            Self::File(path) => {
                let main = device.subject.main_device().map(|main| main.index());
                let largest = problems.next().filter(|_| main == Some(device.index()));
                let written = largest.map(|(problem, label)| write(path, problem, label));
                written.into_iter().collect()
            }
            Self::Folder { path, stems } => {
                destination::create_folder(path)?;
                let stem = stems.get(&device.subject.name);
                let stem = stem.map_or("snapshot", String::as_str);
                let written = problems.zip(1..).map(|((problem, label), number)| {
                    let name = format!("{stem}-device{}-place{number}.csv", device.index());
                    write(&path.join(name), problem, label)
                });
                written.collect()
            }
        }
    }
}

/// The prefix of the file names for each snapshot: its own name, with its folder if two have the same name.
fn stems(files: &[PathBuf]) -> Result<HashMap<String, String>, Failure> {
    let of = |file: &PathBuf| match is_stdin(file) {
        true => "snapshot".to_owned(),
        false => (file.file_stem().unwrap_or_default().to_string_lossy()).into_owned(),
    };
    let in_folder = |file: &PathBuf| {
        let folder = file.parent().and_then(Path::file_name).unwrap_or_default();
        format!("{}-{}", folder.to_string_lossy(), of(file))
    };
    let mut counts: HashMap<String, usize> = HashMap::new();
    for file in files {
        *counts.entry(of(file)).or_default() += 1;
    }
    let mut owners: HashMap<String, &PathBuf> = HashMap::new();
    let mut stems = HashMap::new();
    for file in files {
        let stem = match counts.get(&of(file)) {
            Some(1) => of(file),
            _ => in_folder(file),
        };
        if let Some(other) = owners.insert(stem.clone(), file) {
            return Err(Failure::Usage(format!(
                "--export-csv: {} and {} would be written to the same files; name them apart",
                other.display(),
                file.display()
            )));
        }
        stems.insert(display_name(file), stem);
    }
    Ok(stems)
}

fn write(path: &Path, problem: &ArenaProblem, label: &str) -> Result<String, Failure> {
    let ids = problem.allocations.iter().map(|id| id.0.to_string());
    let ids: Vec<String> = ids.collect();
    Destination::Path(path.to_owned()).write(true, |out| {
        csv::write(out, &ids, &problem.problem, None).map_err(|error| unwritten(csv_error(error)))
    })?;
    let buffers = Count(ids.len() as u64);
    Ok(format!("{}: {buffers} buffers of {label}.", path.display()))
}
