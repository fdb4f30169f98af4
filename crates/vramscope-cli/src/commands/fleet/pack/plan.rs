//! The snapshots to pack, and the place of each in its job.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use vramscope_core::fleet::names::{Named, places};
use vramscope_core::fleet::{Place, RankFrom, Source};

use super::dataset::{Dataset, Piece, Spot};
use crate::failure::Failure;
use crate::input::is_stdin;
use crate::inputs::{self, RankNames};

/// A snapshot to pack.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) path: PathBuf,
    pub(super) source: Source,
    pub(super) place: Place,
    /// Whether it is among the sources. If not, it is in the dataset already, and has another place beside these.
    pub(super) is_named: bool,
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

/// What is to be packed.
pub(super) struct Plan {
    /// The snapshots, each once, in the order of their places.
    pub(super) items: Vec<Item>,
    /// Number of snapshots of the dataset that should have another place beside these, but are gone.
    pub(super) stuck: usize,
}

/// A snapshot that is in the dataset and not among the sources.
struct Other<'a> {
    source: &'a Source,
    /// `None` if it could not be read.
    place: Option<&'a Place>,
    path: PathBuf,
    is_gone: bool,
    /// Whether the user said its place when it was packed, and does not say it anew.
    is_given: bool,
}

impl<'a> Other<'a> {
    fn of(piece: &'a Piece, dataset: &Dataset, names: Option<&RankNames>) -> Self {
        let (source, place) = (piece.source(), piece.place());
        let path = dataset.base().join(&source.path);
        let is_given = place.is_some_and(|place| place.rank_from == RankFrom::Given);
        Self {
            source,
            place,
            is_gone: !path.is_file(),
            path,
            is_given: is_given && !names.is_some_and(|names| names.fits(&source.path)),
        }
    }

    /// What is said of it: by its name, or where that is not all, by its place.
    fn tell(&self, names: Option<&RankNames>) -> (Named, RankFrom) {
        let (said, from) = RankNames::tell(names, &self.source.path);
        let is_counted = |place: &&Place| {
            self.is_gone && place.rank_from == RankFrom::Order && place.local_rank.is_none()
        };
        let known = self
            .place
            .filter(|place| self.is_given || is_counted(place));
        known.map_or((said.clone(), from), |place| {
            let said = Named {
                rank: Some(place.rank),
                local_rank: place.local_rank,
                step: place.step,
                host: place.host.clone(),
                ..said
            };
            (said, place.rank_from)
        })
    }
}

/// Plans to pack files, but for those that are in the dataset's folder. `beside`: what else is in the dataset. Places are told
/// among all of these, so that a job that is packed bit by bit has those that it would have as a whole.
///
/// # Errors
/// When what the user says of names is of no use.
pub(super) fn plan<'a>(
    files: &[PathBuf],
    dataset: &Dataset,
    beside: impl IntoIterator<Item = &'a Piece>,
    names: Option<&RankNames>,
) -> Result<Plan, Failure> {
    let mut found: BTreeMap<String, (&PathBuf, Source)> = BTreeMap::new();
    for path in files
        .iter()
        .filter(|path| !path.starts_with(dataset.folder()))
    {
        let name = relative(path, dataset.base());
        let source = Source {
            path: name.clone(),
            ..inputs::source(path)
        };
        found.insert(name, (path, source));
    }
    let mut paths: Vec<&str> = found.keys().map(String::as_str).collect();
    if let Some(names) = names.filter(|_| !paths.is_empty()) {
        names.check(&paths)?;
    }
    let others = beside
        .into_iter()
        .filter(|it| !found.contains_key(&it.source().path));
    let others = others.map(|piece| (&*piece.source().path, Other::of(piece, dataset, names)));
    let others: BTreeMap<&str, Other<'_>> = others.collect();
    paths.extend(others.keys());
    let places = places(&paths, |path| match others.get(path) {
        Some(other) => other.tell(names),
        None => RankNames::tell(names, path),
    });
    let mut counts: HashMap<(u32, Option<u64>), usize> = HashMap::new();
    for place in &places {
        *counts.entry((place.rank, place.step)).or_default() += 1;
    }
    let (mut items, mut stuck) = (Vec::new(), 0);
    for (name, place) in paths.into_iter().zip(places) {
        let other = others.get(name);
        let (path, source) = match (other, found.get(name)) {
            (Some(other), _) if other.is_given || other.place.is_none_or(|it| *it == place) => {
                continue;
            }
            (Some(other), _) if other.is_gone => {
                stuck += 1;
                continue;
            }
            (Some(other), _) => (other.path.clone(), inputs::source(&other.path)),
            (None, Some((path, source))) => ((*path).clone(), source.clone()),
            (None, None) => continue,
        };
        items.push(Item {
            path,
            source: Source {
                path: name.to_owned(),
                ..source
            },
            is_named: other.is_none(),
            is_one_of_several: counts[&(place.rank, place.step)] > 1,
            place,
        });
    }
    items.sort_by(|a, b| (&a.place, &a.source.path).cmp(&(&b.place, &b.source.path)));
    Ok(Plan { items, stuck })
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
