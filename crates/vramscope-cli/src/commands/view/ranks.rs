//! The snapshots that an overview of ranks names, so that the page can open a rank.
//!
//! The overview knows paths from the folder that was packed, which may be anywhere by now. They are looked for in the
//! dataset, beside it and in folders beside it. Only files of the size that the overview tells are served.

use std::collections::HashMap;
use std::fs;
use std::path::{self, Component, Path, PathBuf};

use vramscope_core::Limits;
use vramscope_core::fleet::{Source, decode};

/// Most folders beside a dataset that are looked into.
const MOST_FOLDERS: usize = 64;

/// Path in the overview → snapshot. Empty for a file that is no overview.
pub(super) fn of(overview: &Path) -> HashMap<String, PathBuf> {
    let ends = overview.extension().is_some_and(|ending| ending == "vset");
    let bytes = ends.then(|| fs::read(overview)).and_then(Result::ok);
    // Of one that cannot be read, the page tells why.
    let fleet = bytes.and_then(|bytes| decode(&bytes, &Limits::default()).ok());
    let roots = roots(overview);
    let ranks = fleet.map_or_else(Vec::new, |fleet| fleet.ranks).into_iter();
    let found = ranks.filter_map(|rank| {
        let path = find(&roots, &rank.source)?;
        Some((rank.source.path, path))
    });
    found.collect()
}

/// The folders to look into, the nearest first.
fn roots(overview: &Path) -> Vec<PathBuf> {
    // Of a relative path, `..` is what it is relative to.
    let overview = path::absolute(overview);
    let Ok(Some(dataset)) = overview.as_ref().map(|overview| overview.parent()) else {
        return Vec::new();
    };
    let mut roots = vec![dataset.to_owned()];
    if let Some(around) = dataset.parent() {
        roots.push(around.to_owned());
        let entries = fs::read_dir(around).into_iter().flatten().flatten();
        let mut beside: Vec<PathBuf> = entries
            .map(|entry| entry.path())
            .filter(|path| path.is_dir() && path != dataset)
            .collect();
        beside.sort();
        roots.extend(beside.into_iter().take(MOST_FOLDERS));
    }
    roots
}

fn find(roots: &[PathBuf], source: &Source) -> Option<PathBuf> {
    let path = Path::new(&source.path);
    let mut parts = path.components();
    // Whoever made the overview chose the path.
    if !parts.all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let is_it = |file: &PathBuf| {
        let found = fs::metadata(file);
        found.is_ok_and(|found| found.is_file() && found.len() == source.bytes)
    };
    roots.iter().map(|root| root.join(path)).find(is_it)
}

#[cfg(test)]
mod tests {
    use vramscope_core::fleet::{Fleet, Rank, encode};

    use super::*;

    #[test]
    fn a_relative_path_is_from_the_working_folder() {
        let here = std::env::current_dir().unwrap();
        let roots = roots(Path::new("runs.vset/overview.vset"));
        assert_eq!(roots[..2], [here.join("runs.vset"), here.clone()]);
        assert!(roots.contains(&here.join("src")));
    }

    #[test]
    fn snapshots_beside_a_dataset_are_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in ["runs.vset", "dumps/a", "runs.vset/b"] {
            fs::create_dir_all(at(path)).unwrap();
        }
        for path in [
            "dumps/a/rank0.pickle",
            "dumps/rank1.pickle",
            "runs.vset/b/rank2.pickle",
        ] {
            fs::write(at(path), b"1234").unwrap();
        }
        fs::write(at("secret"), b"1234").unwrap();
        let rank = |path: &str, bytes| Rank {
            source: Source {
                path: path.to_owned(),
                bytes,
                modified_us: None,
            },
            ..Rank::default()
        };
        let fleet = Fleet {
            ranks: vec![
                rank("a/rank0.pickle", 4),
                rank("rank1.pickle", 5),
                rank("b/rank2.pickle", 4),
                rank("../secret", 4),
                rank(at("secret").to_str().unwrap(), 4),
            ],
            ..Fleet::default()
        };
        let overview = at("runs.vset/overview.vset");
        fs::write(&overview, encode(&fleet)).unwrap();
        let mut found: Vec<_> = of(&overview).into_iter().collect();
        found.sort();
        let expected = [
            ("a/rank0.pickle", "dumps/a/rank0.pickle"),
            ("b/rank2.pickle", "runs.vset/b/rank2.pickle"),
        ];
        assert_eq!(
            found,
            expected.map(|(path, file)| (path.to_owned(), at(file)))
        );
        fs::write(&overview, b"\x93vset\r\n\n\x01broken").unwrap();
        assert!(of(&overview).is_empty());
        assert!(of(&at("none.vset")).is_empty());
    }
}
