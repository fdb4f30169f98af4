//! The snapshots to pack, and the place of each in its job.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::str::FromStr;
use std::time::UNIX_EPOCH;

use regex::Regex;
use vramscope_core::fleet::names::{Named, named, places};
use vramscope_core::fleet::{Place, RankFrom, Source};

use super::dataset::{Dataset, Spot};
use crate::failure::Failure;
use crate::input::is_stdin;
use crate::inputs;

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

/// What the user says of paths.
#[derive(Clone, Debug)]
pub(super) struct RankPattern(Regex);

/// The groups of it that mean something.
const GROUPS: [&str; 5] = ["rank", "local_rank", "host", "job", "step"];

impl FromStr for RankPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let pattern = Regex::new(text).map_err(|error| error.to_string())?;
        let names: HashSet<_> = pattern.capture_names().flatten().collect();
        match GROUPS.iter().any(|group| names.contains(group)) {
            true => Ok(Self(pattern)),
            false => Err(format!(
                "it has none of the groups {}; write for example rank(?<rank>\\d+)",
                GROUPS.map(|group| format!("(?<{group}>...)")).join(", ")
            )),
        }
    }
}

impl RankPattern {
    /// What a path tells: the groups that matched, and for others what is known of names.
    fn tell(&self, path: &str) -> (Named, RankFrom) {
        let mut said = named(path);
        let mut from = RankFrom::Name;
        let Some(found) = self.0.captures(path) else {
            return (said, from);
        };
        let text = |group: &str| found.name(group).map(|it| it.as_str());
        if let Some(rank) = text("rank").and_then(|text| text.parse().ok()) {
            (said.rank, from) = (Some(rank), RankFrom::Given);
        }
        if let Some(local) = text("local_rank").and_then(|text| text.parse().ok()) {
            said.local_rank = Some(local);
        }
        if let Some(step) = text("step").and_then(|text| text.parse().ok()) {
            said.step = Some(step);
        }
        if let Some(host) = text("host") {
            host.clone_into(&mut said.host);
        }
        if let Some(job) = text("job") {
            job.clone_into(&mut said.job);
        }
        (said, from)
    }
}

/// Finds the snapshots, each once, in the order of their places.
///
/// # Errors
/// When a source cannot be found.
pub(super) fn items(
    sources: &[PathBuf],
    dataset: &Dataset,
    pattern: Option<&RankPattern>,
) -> Result<Vec<Item>, Failure> {
    let mut found: Vec<(Source, PathBuf)> = Vec::new();
    for path in files(sources, dataset)? {
        found.push((source(&path, dataset.parent()), path));
    }
    found.sort();
    found.dedup_by(|a, b| a.0.path == b.0.path);
    let paths: Vec<&str> = found.iter().map(|(source, _)| source.path.as_str()).collect();
    let places = places(&paths, |path| match pattern {
        Some(pattern) => pattern.tell(path),
        None => (named(path), RankFrom::Name),
    });
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
    Ok(items)
}

fn files(sources: &[PathBuf], dataset: &Dataset) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for source in sources {
        if is_stdin(source) {
            let text = "standard input has no name that could tell its rank: name files or folders";
            return Err(Failure::Usage(text.to_owned()));
        }
        let matching = glob(source)?;
        for path in matching {
            let path = fs::canonicalize(&path).map_err(|error| Failure::unread(&path, error))?;
            if path.is_dir() {
                files.extend(inputs::below(&path, dataset.folder())?);
            } else {
                files.push(path);
            }
        }
    }
    if files.is_empty() {
        return Err(Failure::Input(
            "no file that looks like a snapshot was found. Looked for *.pickle and *.pkl, else *.vram, *.json and *.html, \
             also with .gz, .zst or .zip behind, in the folders and those below"
                .to_owned(),
        ));
    }
    Ok(files)
}

/// The paths that a pattern with `*` or `?` stands for, which shells leave alone when it is quoted or matches too much.
/// A file of that very name comes first.
fn glob(pattern: &Path) -> Result<Vec<PathBuf>, Failure> {
    let has_wildcard = |part: &OsStr| part.to_string_lossy().contains(['*', '?']);
    if pattern.exists() || !pattern.iter().any(has_wildcard) {
        return Ok(vec![pattern.to_owned()]);
    }
    let mut found = vec![PathBuf::new()];
    for component in pattern.components() {
        let part = component.as_os_str();
        if !matches!(component, Component::Normal(_)) || !has_wildcard(part) {
            for path in &mut found {
                path.push(part);
            }
            continue;
        }
        let (like, mut next) = (as_regex(&part.to_string_lossy())?, Vec::new());
        for folder in &found {
            let here = match folder.as_os_str().is_empty() {
                true => Path::new("."),
                false => folder,
            };
            let names = fs::read_dir(here).into_iter().flatten().flatten();
            let names = names.map(|entry| entry.file_name());
            let matching = names.filter(|name| like.is_match(&name.to_string_lossy()));
            next.extend(matching.map(|name| folder.join(name)));
        }
        found = next;
    }
    found.retain(|path| path.exists());
    found.sort();
    match found.is_empty() {
        true => Err(Failure::Input(format!(
            "{}: nothing matches",
            pattern.display()
        ))),
        false => Ok(found),
    }
}

fn as_regex(part: &str) -> Result<Regex, Failure> {
    let escaped = regex::escape(part).replace(r"\*", ".*").replace(r"\?", ".");
    // A hidden file is not meant.
    let hidden = if part.starts_with('.') { "" } else { r"[^.]" };
    let text = match part.strip_prefix('*') {
        Some(_) => format!("^(?:{hidden}{escaped})$"),
        None => format!("^{escaped}$"),
    };
    Regex::new(&text).map_err(|error| Failure::Usage(error.to_string()))
}

/// The file as the dataset names it: by its path from the folder in which the dataset is.
fn source(path: &Path, parent: &Path) -> Source {
    let metadata = fs::metadata(path).ok();
    let modified = metadata.as_ref().and_then(|metadata| metadata.modified().ok());
    let modified = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Source {
        path: relative(path, parent),
        bytes: metadata.map_or(0, |metadata| metadata.len()),
        modified_us: modified.and_then(|since| i64::try_from(since.as_micros()).ok()),
    }
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

    #[test]
    fn a_pattern_tells_ranks() {
        let pattern = r"h(?<host>\d+)/g(?<local_rank>\d)-(?<rank>\d+)".parse::<RankPattern>();
        let (said, from) = pattern.unwrap().tell("runs/h7/g3-59_step12.pickle");
        assert_eq!((said.rank, said.local_rank), (Some(59), Some(3)));
        assert_eq!((said.host.as_str(), said.step), ("7", Some(12)));
        assert_eq!(from, RankFrom::Given);
        let pattern = r"x(?<rank>\d+)".parse::<RankPattern>().unwrap();
        let (said, from) = pattern.tell("rank4.pickle");
        assert_eq!((said.rank, from), (Some(4), RankFrom::Name));
        assert!(r"rank(\d+)".parse::<RankPattern>().is_err());
        assert!("(".parse::<RankPattern>().is_err());
    }

    #[test]
    fn wildcards_stand_for_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a/rank0.pickle", "b/rank1.pickle", "b/.rank2.pickle", "b/x.txt"] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = |pattern: &str| {
            let found = glob(&folder.path().join(pattern)).unwrap();
            let strip = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
            let names = found.iter().map(strip);
            names.map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found("*/*.pickle"), "a/rank0.pickle b/rank1.pickle");
        assert_eq!(found("b/rank?.pickle"), "b/rank1.pickle");
        assert_eq!(found("a"), "a");
        assert!(glob(&folder.path().join("*.none")).is_err());
    }
}
