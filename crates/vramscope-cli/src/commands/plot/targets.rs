//! The files to which pictures are written: one file, a folder with a file per snapshot, or standard output.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::Options;
use super::arguments::Format;
use crate::destination::{self, Destination};
use crate::failure::Failure;
use crate::input::is_stdin;
use crate::output::unwritten;

pub(super) struct Target {
    pub(super) format: Format,
    pub(super) destination: Destination,
}

impl Target {
    pub(super) fn write(&self, picture: &[u8]) -> Result<(), Failure> {
        let is_text = self.format != Format::Png;
        self.destination
            .write(is_text, |out| out.write_all(picture).map_err(unwritten))
    }
}

/// One target per file; creates the folder if the output is one.
///
/// # Errors
/// When several pictures have no folder to go to, or the extension is unknown.
pub(super) fn targets(options: &Options, files: &[PathBuf]) -> Result<Vec<Target>, Failure> {
    let path = &options.output;
    let chosen = options.format.unwrap_or_default();
    if is_folder(path) {
        destination::create_folder(path)?;
        let named = names(files, chosen).into_iter();
        return Ok(named
            .map(|name| Target {
                format: chosen,
                destination: Destination::Path(path.join(name)),
            })
            .collect());
    }
    if files.len() > 1 {
        return Err(Failure::Usage(format!(
            "{} pictures need a folder to go to: end its name with /, as in -o pictures/",
            files.len()
        )));
    }
    let format = if is_stdin(path) {
        chosen
    } else {
        of_ending(path, options.format)?
    };
    Ok(vec![Target {
        format,
        destination: Destination::of(path),
    }])
}

fn is_folder(path: &Path) -> bool {
    let ends_as_one = path.to_string_lossy().ends_with(['/', '\\']);
    !is_stdin(path) && (ends_as_one || path.is_dir())
}

fn of_ending(path: &Path, chosen: Option<Format>) -> Result<Format, Failure> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let by_name = Format::of(&ending);
    match (by_name, chosen) {
        (Some(by_name), Some(chosen)) if by_name != chosen => Err(Failure::Usage(format!(
            "the ending of {} does not fit --format {}",
            path.display(),
            chosen.ending()
        ))),
        (Some(by_name), _) => Ok(by_name),
        (None, Some(chosen)) => Ok(chosen),
        (None, None) => Err(Failure::Usage(format!(
            "{}: a picture ends in .png or .svg",
            path.display()
        ))),
    }
}

/// Distinct names for the pictures of files.
fn names(files: &[PathBuf], format: Format) -> Vec<String> {
    let mut taken = HashSet::new();
    let mut name = |file: &PathBuf| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let stem = if is_stdin(file) { "snapshot" } else { &*stem };
        let mut name = format!("{stem}.{}", format.ending());
        let mut number = 2_u32;
        while !taken.insert(name.clone()) {
            name = format!("{stem}-{number}.{}", format.ending());
            number += 1;
        }
        name
    };
    files.iter().map(&mut name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_one_name_get_pictures_of_different_names() {
        let files = [
            "a/rank0.pickle",
            "b/rank0.pickle",
            "rank0-2.pickle",
            "-",
            "c.pickle.gz",
        ];
        let files = files.map(PathBuf::from);
        let expected = [
            "rank0.svg",
            "rank0-2.svg",
            "rank0-2-2.svg",
            "snapshot.svg",
            "c.pickle.svg",
        ];
        assert_eq!(names(&files, Format::Svg), expected);
    }
}
