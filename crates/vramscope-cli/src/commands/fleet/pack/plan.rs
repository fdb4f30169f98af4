//! The snapshots to pack, and the place of each in its job.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use vramscope_core::fleet::names::{Named, places};
use vramscope_core::fleet::{Place, RankFrom, Source};

use super::dataset::{Dataset, Piece, Spot};
use crate::failure::Failure;
use crate::guarded;
use crate::input::is_stdin;
use crate::inputs::{self, RankNames};

/// A snapshot to pack: one of the sources, or one of the dataset whose place changes because of these.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) path: PathBuf,
    pub(super) source: Source,
    pub(super) place: Place,
    /// Its number among all snapshots, in an order that is the same for all processes with the same arguments.
    pub(super) number: usize,
}

impl Item {
    /// Its place in the dataset.
    pub(super) fn spot(&self) -> Spot {
        Spot::of(&self.place, &self.source)
    }
}

/// What to pack.
pub(super) struct Plan {
    /// The snapshots, each once, in the order of their places.
    pub(super) items: Vec<Item>,
    /// Number of snapshots of the dataset that should move to another place because of these, but cannot be packed
    /// again.
    pub(super) stuck: usize,
}

/// A snapshot that is in the dataset but not among the sources.
struct Other<'a> {
    source: &'a Source,
    /// `None` if it could not be read.
    place: Option<&'a Place>,
    /// `None` if it is gone, or outside the folders that a dataset may refer to.
    path: Option<PathBuf>,
    /// Whether the user gave its place when it was packed, and does not give it now.
    is_given: bool,
}

impl<'a> Other<'a> {
    fn of(piece: &'a Piece, dataset: &Dataset, names: Option<&RankNames>) -> Self {
        let (source, place) = (piece.source(), piece.place());
        let path = guarded::below(dataset.base(), &source.path);
        let is_given = place.is_some_and(|place| place.rank_from == RankFrom::Given);
        Self {
            source,
            place,
            path,
            is_given: is_given && !names.is_some_and(|names| names.fits(&source.path)),
        }
    }

    /// What its name says about its rank or, if the dataset knows better, its recorded place.
    fn tell(&self, names: Option<&RankNames>) -> (Named, RankFrom) {
        let (said, from) = RankNames::tell(names, &self.source.path);
        let is_counted = |place: &&Place| {
            self.path.is_none() && place.rank_from == RankFrom::Order && place.local_rank.is_none()
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

/// The user's snapshots, as they were when the command began.
pub(super) struct Sources(BTreeMap<String, (PathBuf, Source)>);

impl Sources {
    /// The snapshots among files, each once, without the dataset's own files. Also returns why others cannot be packed.
    pub(super) fn of(files: Vec<PathBuf>, dataset: &Dataset) -> (Self, Vec<Failure>) {
        let is_own = |path: &PathBuf| {
            let is_vset = path.extension().is_some_and(|ending| ending == "vset");
            is_vset && path.starts_with(dataset.folder())
        };
        let (mut found, mut failures) = (BTreeMap::new(), Vec::new());
        for path in files.into_iter().filter(|path| !is_own(path)) {
            let Some(name) = relative(&path, dataset.base()) else {
                let shown = path.display();
                let why = format!(
                    "{shown}: a dataset tells snapshots apart by their paths, and this one is not UTF-8"
                );
                failures.push(Failure::Input(why).followed_by(["Rename the file or its folder."]));
                continue;
            };
            let source = Source {
                path: name.clone(),
                ..inputs::source(&path)
            };
            found.insert(name, (path, source));
        }
        (Self(found), failures)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }
}

/// Plans the packing. `beside`: what else is in the dataset. Places are derived from all of these together, so that a
/// job packed bit by bit gets the same places as one packed as a whole.
///
/// # Errors
/// When the user's information about names does not work.
pub(super) fn plan<'a>(
    Sources(found): &Sources,
    dataset: &Dataset,
    beside: impl IntoIterator<Item = &'a Piece>,
    names: Option<&RankNames>,
) -> Result<Plan, Failure> {
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
    let (mut items, mut stuck) = (Vec::new(), 0);
    for (number, (name, place)) in paths.into_iter().zip(places).enumerate() {
        let other = others.get(name);
        let (path, source) = match (other, found.get(name)) {
            (Some(other), _) if other.is_given || other.place.is_none_or(|it| *it == place) => {
                continue;
            }
            (Some(Other { path: None, .. }), _) => {
                stuck += 1;
                continue;
            }
            (
                Some(Other {
                    path: Some(path), ..
                }),
                _,
            ) => (path.clone(), inputs::source(path)),
            (None, Some((path, source))) => (path.clone(), source.clone()),
            (None, None) => continue,
        };
        items.push(Item {
            path,
            source: Source {
                path: name.to_owned(),
                ..source
            },
            number,
            place,
        });
    }
    items.sort_by(|a, b| (&a.place, &a.source.path).cmp(&(&b.place, &b.source.path)));
    Ok(Plan { items, stuck })
}

/// The files of the sources, with canonical paths, or why one cannot be found.
///
/// # Errors
/// As [`inputs::files`], and when standard input is a source.
pub(super) fn files(sources: &[PathBuf]) -> Result<Vec<Result<PathBuf, Failure>>, Failure> {
    if sources.iter().any(|source| is_stdin(source)) {
        let text = "standard input has no name to take its rank from: name files or folders";
        return Err(Failure::Usage(text.to_owned()));
    }
    let files = inputs::files(sources)?.into_iter();
    let canonical = files.map(|path| {
        let found = fs::canonicalize(&path);
        found.map_err(|error| Failure::unread(&path, error))
    });
    Ok(canonical.collect())
}

/// `../runs/rank0.pickle`, for a path and a folder that are both canonical; `None` if it is not UTF-8.
fn relative(path: &Path, folder: &Path) -> Option<String> {
    let common = path.components().zip(folder.components());
    let common = common.take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(common).map(|_| Some(".."));
    let down = path.components().skip(common);
    let down = down.map(|part| part.as_os_str().to_str());
    let parts: Option<Vec<_>> = up.chain(down).collect();
    Some(parts?.join("/"))
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
            let told = relative(Path::new(path), Path::new(folder));
            assert_eq!(told.as_deref(), Some(expected));
        }
    }
}
