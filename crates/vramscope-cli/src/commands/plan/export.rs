//! The buffers of a device's places as minimalloc's CSV files, for other solvers.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use vramscope_core::analysis::packing::csv;
use vramscope_core::analysis::plan::{Place, Planner};
use vramscope_core::units::Count;

use crate::destination::{self, Destination};
use crate::failure::Failure;
use crate::input::{display_name, is_stdin};
use crate::inputs;
use crate::output::unwritten;
use crate::subject::Device;

/// Where the buffers go.
pub(super) enum Export {
    /// Those of the largest place of the file's main device, into one file.
    File(PathBuf),
    /// All into a folder.
    Folder {
        path: PathBuf,
        /// How the files of each snapshot begin, by its name.
        stems: HashMap<String, String>,
    },
}

impl Export {
    /// Into `path`, from these files or folders.
    ///
    /// # Errors
    /// When that is standard output, one of the inputs, or too small for them.
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

    /// Writes a device's places. What was written where, in sentences.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(
        &self,
        device: &Device<'_>,
        planner: &Planner,
    ) -> Result<Vec<String>, Failure> {
        let labels = planner.plan().places.iter().map(|place| &place.label);
        let places = planner.places().iter().zip(labels);
        let mut places = places.filter(|(place, _)| !place.allocations.is_empty());
        match self {
            Self::File(path) => {
                let main = device.subject.main_device().map(|main| main.index());
                let largest = places.next().filter(|_| main == Some(device.index()));
                let written = largest.map(|(place, label)| write(path, place, label));
                written.into_iter().collect()
            }
            Self::Folder { path, stems } => {
                let made = fs::create_dir_all(path);
                made.map_err(Failure::io(format!("cannot make {}", path.display())))?;
                let stem = stems.get(&device.subject.name);
                let stem = stem.map_or("snapshot", String::as_str);
                let written = places.zip(1..).map(|((place, label), number)| {
                    let name = format!("{stem}-device{}-place{number}.csv", device.index());
                    write(&path.join(name), place, label)
                });
                written.collect()
            }
        }
    }
}

/// How the files of each snapshot begin: as it is called, with its folder where two are called the same.
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

fn write(path: &Path, place: &Place, label: &str) -> Result<String, Failure> {
    let ids = place.allocations.iter().map(|id| id.0.to_string());
    let ids: Vec<String> = ids.collect();
    Destination::Path(path.to_owned()).write(true, |out| {
        csv::write(out, &ids, &place.problem, None).map_err(unwritten)
    })?;
    let buffers = Count(ids.len() as u64);
    Ok(format!("{}: {buffers} buffers of {label}.", path.display()))
}
