//! The buffers of a device's places as minimalloc's CSV files, for other solvers.

use std::fs;
use std::path::Path;

use vramscope_core::analysis::plan::{Place, Planner};
use vramscope_core::units::Count;

use crate::destination::Destination;
use crate::failure::Failure;
use crate::output::unwritten;
use crate::subject::Device;

/// Whether a path names one CSV file, and no folder.
pub(super) fn is_file(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending == "csv")
}

/// Writes a device's places: into one file the largest of the file's main device, into a folder all. What was written
/// where, in sentences.
///
/// # Errors
/// When it cannot be written.
pub(super) fn export(
    path: &Path,
    device: &Device<'_>,
    planner: &Planner,
) -> Result<Vec<String>, Failure> {
    let labels = planner.plan().places.iter().map(|place| &place.label);
    let mut labelled = planner
        .places()
        .iter()
        .zip(labels)
        .filter(|(place, _)| !place.allocations.is_empty());
    if is_file(path) {
        let main = device.subject.main_device().map(|main| main.index());
        let largest = labelled.next().filter(|_| main == Some(device.index()));
        let written = largest.map(|(place, label)| write(path, place, label));
        return written.into_iter().collect();
    }
    fs::create_dir_all(path).map_err(Failure::io(format!("cannot make {}", path.display())))?;
    let name = Path::new(&device.subject.name).file_stem();
    let name = name.unwrap_or_default().to_string_lossy();
    labelled
        .zip(1..)
        .map(|((place, label), number)| {
            let name = format!("{name}-device{}-place{number}.csv", device.index());
            write(&path.join(name), place, label)
        })
        .collect()
}

fn write(path: &Path, place: &Place, label: &str) -> Result<String, Failure> {
    let problem = &place.problem;
    let destination = Destination::Path(path.to_owned());
    destination.write(true, |out| {
        let mut rows = csv::Writer::from_writer(out);
        let mut row = |cells: [String; 4]| {
            rows.write_record(cells)
                .map_err(|error| unwritten(error.into()))
        };
        row(["id", "lower", "upper", "size"].map(str::to_owned))?;
        for (buffer, id) in place.allocations.iter().enumerate() {
            let numbers = [
                problem.lower[buffer],
                problem.upper[buffer],
                problem.size[buffer],
            ];
            let [lower, upper, size] = numbers.map(|number| number.to_string());
            row([id.0.to_string(), lower, upper, size])?;
        }
        rows.flush().map_err(unwritten)
    })?;
    let buffers = Count(place.allocations.len() as u64);
    Ok(format!("{}: {buffers} buffers of {label}.", path.display()))
}
