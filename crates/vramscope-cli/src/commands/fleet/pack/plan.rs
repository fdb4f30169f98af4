//! The snapshots to pack, and the place of each in its job.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use vramscope_core::fleet::names::places;
use vramscope_core::fleet::{Place, Source};

use super::dataset::{Dataset, Spot};
use crate::failure::Failure;
use crate::input::is_stdin;
use crate::inputs::{self, RankNames};

/// A snapshot to pack.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) path: PathBuf,
    pub(super) source: Source,
    pub(super) place: Place,
    /// Whether another snapshot has the same rank and step.
    is_one_of_several: bool,
}

impl Item {
    /// Where it may be in the dataset, the best first.
    pub(super) fn spots(&self) -> Vec<Spot> {
        let own = Spot::of_path(self.place.rank, &self.source.path);
        match self.is_one_of_several {
            true => vec![own],
            false => vec![Spot::of_place(&self.place), own],
        }
    }
}

/// The snapshots, each once, in the order of their places. What is in the dataset is none of them.
pub(super) fn items(
    files: Vec<PathBuf>,
    dataset: &Dataset,
    names: Option<&RankNames>,
) -> Vec<Item> {
    let mut found: Vec<(Source, PathBuf)> = Vec::new();
    let is_outside = |path: &PathBuf| !path.starts_with(dataset.folder());
    for path in files.into_iter().filter(is_outside) {
        let source = Source {
            path: relative(&path, dataset.base()),
            ..inputs::source(&path)
        };
        found.push((source, path));
    }
    found.sort();
    found.dedup_by(|a, b| a.0.path == b.0.path);
    let paths: Vec<&str> = found
        .iter()
        .map(|(source, _)| source.path.as_str())
        .collect();
    let places = places(&paths, |path| RankNames::tell(names, path));
    let mut counts: HashMap<(u32, Option<u64>), usize> = HashMap::new();
    for place in &places {
        *counts.entry((place.rank, place.step)).or_default() += 1;
    }
    let mut items: Vec<Item> = found
        .into_iter()
        .zip(places)
        .map(|((source, path), place)| Item {
            is_one_of_several: counts[&(place.rank, place.step)] > 1,
            path,
            source,
            place,
        })
        .collect();
    items.sort_by(|a, b| (&a.place, &a.source.path).cmp(&(&b.place, &b.source.path)));
    items
}

/// The files of the sources, under their canonical paths, or why one cannot be found.
///
/// # Errors
/// As [`inputs::files`], and when standard input is a source.
pub(super) fn files(sources: &[PathBuf]) -> Result<Vec<Result<PathBuf, Failure>>, Failure> {
    if sources.iter().any(|source| is_stdin(source)) {
        let text = "standard input has no name that could tell its rank: name files or folders";
        return Err(Failure::Usage(text.to_owned()));
    }
    let files = inputs::files(sources)?.into_iter();
    let canonical = files.map(|path| {
        let found = fs::canonicalize(&path);
        found.map_err(|error| Failure::unread(&path, error))
    });
    Ok(canonical.collect())
}

/// `../runs/rank0.pickle`, for a path and a folder that are both canonical.
fn relative(path: &Path, folder: &Path) -> String {
    let common = path.components().zip(folder.components());
    let common = common.take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| "..".into());
    let down = path.components().skip(common);
    let down = down.map(|part| part.as_os_str().to_string_lossy());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_the_dataset() {
        for (path, folder, expected) in [
            ("/a/runs/rank0.pickle", "/a", "runs/rank0.pickle"),
            ("/b/rank0.pickle", "/a/x", "../../b/rank0.pickle"),
            ("/a/rank0.pickle", "/a", "rank0.pickle"),
        ] {
            assert_eq!(relative(Path::new(path), Path::new(folder)), expected);
        }
    }
}
