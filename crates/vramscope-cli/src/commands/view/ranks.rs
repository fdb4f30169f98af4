//! The snapshots named by an overview of ranks, so that the page can open a rank.
//!
//! The overview's paths are relative to the folder that was packed, which may have moved. Only files with the size
//! recorded in the overview are served.

use std::collections::HashMap;
use std::fs;
use std::path::{self, Path, PathBuf};

use vramscope_core::Limits;
use vramscope_core::fleet::decode;

use crate::guarded::{self, OVERVIEW_BYTES};

/// Path in the overview → snapshot. Empty for a file that is not an overview.
pub(super) fn of(overview: &Path) -> HashMap<String, PathBuf> {
    let ends = overview.extension().is_some_and(|ending| ending == "vset");
    let bytes = ends.then(|| guarded::read(overview, OVERVIEW_BYTES));
    // If it cannot be read, the page reports why.
    let fleet = bytes.and_then(|bytes| decode(&bytes.ok()?, &Limits::default()).ok());
    let ranks = fleet.map_or_else(Vec::new, |fleet| fleet.ranks).into_iter();
    let found = ranks.filter_map(|rank| {
        let path = guarded::snapshot_of(overview, &rank.source.path)?;
        let is_it = fs::metadata(&path).is_ok_and(|it| it.len() == rank.source.bytes);
        // The server's working folder may change.
        let path = path::absolute(path).ok().filter(|_| is_it)?;
        Some((rank.source.path, path))
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use vramscope_core::fleet::{Fleet, Rank, Source, encode};

    use super::*;

    #[test]
    fn snapshots_of_the_size_that_is_told_are_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for path in [
            "runs.vset/b/rank2.pickle",
            "dumps/a/rank0.pickle",
            "dumps/rank1.pickle",
        ] {
            fs::create_dir_all(at(path).parent().unwrap()).unwrap();
            fs::write(at(path), b"1234").unwrap();
        }
        fs::write(at("runs.vset/format"), "").unwrap();
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
                rank("dumps/a/rank0.pickle", 4),
                rank("dumps/rank1.pickle", 5),
                rank("b/rank2.pickle", 4),
                rank("a/rank0.pickle", 4),
                rank(at("dumps/rank1.pickle").to_str().unwrap(), 4),
            ],
            ..Fleet::default()
        };
        let overview = at("runs.vset/overview.vset");
        fs::write(&overview, encode(&fleet)).unwrap();
        let mut found: Vec<_> = of(&overview).into_iter().collect();
        found.sort();
        let expected = [
            ("b/rank2.pickle", "runs.vset/b/rank2.pickle"),
            ("dumps/a/rank0.pickle", "dumps/a/rank0.pickle"),
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
