//! Finds the snapshots: a folder stands for those in it, in natural order (rank2 before rank10).
//!
//! The folder of a run holds other files as well, so names decide: its pickles, or if there are none its
//! packed, JSON and HTML files, compressed or not. Folders inside it are ignored.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

use crate::failure::Failure;
use crate::input::is_stdin;

const PICKLES: [&str; 2] = [".pickle", ".pkl"];
const OTHERS: [&str; 3] = [".vram", ".json", ".html"];
const COMPRESSED: [&str; 4] = [".gz", ".zst", ".zstd", ".zip"];

/// The files to read, in the order of the answers.
///
/// # Errors
/// When a folder has no snapshot or cannot be read, or standard input is named twice.
pub(crate) fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if named.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Failure::Usage(
            "standard input (-) can be given only once".to_owned(),
        ));
    }
    let mut files = Vec::new();
    for path in named {
        if !is_stdin(path) && path.is_dir() {
            files.extend(in_folder(path)?);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// As [`files`], but a folder stands for the snapshots in it and in all folders below it, and a pattern for what there is.
///
/// # Errors
/// As [`files`].
pub(crate) fn files_below(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut folders = Vec::new();
    for path in &named
        .iter()
        .flat_map(|path| matching(path))
        .collect::<Vec<_>>()
    {
        if is_stdin(path) || !path.is_dir() {
            folders.push(path.clone());
            continue;
        }
        let mut below = below(path)?;
        below.retain(|folder| in_folder(folder).is_ok());
        if below.is_empty() {
            return Err(none_in(path, "also in folders below it"));
        }
        folders.append(&mut below);
    }
    files(&folders)
}

/// What a pattern stands for (`runs/*/rank?.pickle`), in natural order; if there is nothing, itself. Shells do that too, but
/// not for more names than a command may have.
fn matching(path: &Path) -> Vec<PathBuf> {
    let is_pattern = |text: &str| text.contains(['*', '?']);
    if is_stdin(path) || !is_pattern(&path.to_string_lossy()) || path.exists() {
        return vec![path.to_owned()];
    }
    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        let text = part.as_os_str().to_string_lossy();
        let wanted = is_pattern(&text).then(|| {
            let escaped = regex::escape(&text);
            let any = escaped.replace(r"\*", ".*").replace(r"\?", ".");
            Regex::new(&format!("^(?s:{any})$"))
        });
        found = match wanted {
            Some(Ok(wanted)) => found.iter().flat_map(|it| fitting(it, &wanted)).collect(),
            _ => found.iter().map(|it| it.join(part)).collect(),
        };
    }
    found.retain(|path| path.exists());
    found.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
    match found.is_empty() {
        true => vec![path.to_owned()],
        false => found,
    }
}

/// What in a folder has such a name and is not hidden.
fn fitting(folder: &Path, wanted: &Regex) -> Vec<PathBuf> {
    let place = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let fitting = names.filter(|name| !name.starts_with('.') && wanted.is_match(name));
    fitting.map(|name| folder.join(name)).collect()
}

/// A folder and all below it that are not hidden, in natural order. Links to folders are not followed.
fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed =
        |folder: &Path| Failure::io(format!("cannot read the folder {}", folder.display()));
    let mut all = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(folder) = all.get(next).cloned() {
        next += 1;
        for entry in fs::read_dir(&folder).map_err(failed(&folder))? {
            let entry = entry.map_err(failed(&folder))?;
            let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
            if !is_hidden && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                all.push(entry.path());
            }
        }
    }
    all.sort_by_cached_key(|path| natural(&path.to_string_lossy()));
    Ok(all)
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = || Failure::io(format!("cannot read the folder {}", folder.display()));
    let mut found: Vec<(Reverse<bool>, Vec<Chunk>, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(is_pickle) = snapshot_kind(&name)
            && path.is_file()
        {
            found.push((Reverse(is_pickle), natural(&name), path));
        }
    }
    found.sort();
    let best = found.first().map(|&(is_pickle, ..)| is_pickle);
    let files: Vec<_> = found
        .into_iter()
        .take_while(|&(is_pickle, ..)| Some(is_pickle) == best)
        .map(|(.., path)| path)
        .collect();
    if files.is_empty() {
        return Err(none_in(folder, "not in folders below it"));
    }
    Ok(files)
}

/// The failure for a folder without snapshots.
fn none_in(folder: &Path, further: &str) -> Failure {
    Failure::Input(format!(
        "{}: this folder has no file that looks like a snapshot. Looked for *.pickle and *.pkl, else *.vram, *.json and \
         *.html, also with .gz, .zst or .zip behind; {further}",
        folder.display()
    ))
}

/// `Some(true)` for the name of a pickle, `Some(false)` for that of another kind of snapshot.
fn snapshot_kind(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    if name.starts_with('.') {
        return None;
    }
    let bare = COMPRESSED
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| bare.ends_with(ending));
    if ends_with(&PICKLES) {
        Some(true)
    } else {
        ends_with(&OTHERS).then_some(false)
    }
}

/// A part of a name, for natural order: numbers sort by value, and before letters.
#[derive(PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Chunk {
    /// Digits without leading zeros: a shorter text is a smaller number.
    Number(usize, String),
    Text(String),
}

fn natural(name: &str) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit();
        let end = rest.find(|character: char| character.is_ascii_digit() != is_number);
        let (chunk, after) = rest.split_at(end.unwrap_or(rest.len()));
        chunks.push(if is_number {
            let digits = chunk.trim_start_matches('0');
            Chunk::Number(digits.len(), digits.to_owned())
        } else {
            Chunk::Text(chunk.to_owned())
        });
        rest = after;
    }
    chunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_sort_by_value() {
        let mut names = [
            "rank10.pickle",
            "rank2.pickle",
            "rank002a.pickle",
            "rank1.pickle",
            "a",
        ];
        names.sort_by_key(|name| natural(name));
        let expected = [
            "a",
            "rank1.pickle",
            "rank2.pickle",
            "rank002a.pickle",
            "rank10.pickle",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn snapshots_are_told_by_their_names() {
        for (name, kind) in [
            ("rank0.pickle", Some(true)),
            ("RANK0.PKL.GZ", Some(true)),
            ("a.pickle.zip", Some(true)),
            ("a.json.zst", Some(false)),
            ("trace.html", Some(false)),
            (".hidden.pickle", None),
            ("log.txt", None),
            ("model.zip", None),
        ] {
            assert_eq!(snapshot_kind(name), kind, "{name}");
        }
    }

    #[test]
    fn a_pattern_stands_for_what_there_is() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "a/rank2.pickle",
            "a/rank10.pickle",
            "b/rank1.pickle",
            "b/.rank3.pickle",
            "x+.pickle",
        ] {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let found = |pattern: &str| -> Vec<String> {
            let paths = matching(&folder.path().join(pattern)).into_iter();
            let below = paths.map(|path| path.strip_prefix(folder.path()).unwrap().to_owned());
            below
                .map(|path| path.to_string_lossy().into_owned())
                .collect()
        };
        assert_eq!(
            found("*/rank*.pickle"),
            ["a/rank2.pickle", "a/rank10.pickle", "b/rank1.pickle"]
        );
        assert_eq!(
            found("?/rank?.pickle"),
            ["a/rank2.pickle", "b/rank1.pickle"]
        );
        assert_eq!(found("x+*"), ["x+.pickle"]);
        assert_eq!(found("*"), ["a", "b", "x+.pickle"]);
        assert_eq!(found("c*/x"), ["c*/x"]);
    }

    #[test]
    fn a_folder_stands_for_its_snapshots() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |name: &str| fs::write(folder.path().join(name), "").unwrap();
        let found = || -> Vec<_> {
            let files = files(&[folder.path().to_owned()]).unwrap();
            let name = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().to_owned();
            files.iter().map(name).collect()
        };
        touch("config.json");
        touch("notes.txt");
        fs::create_dir(folder.path().join("rank3.pickle")).unwrap();
        assert_eq!(found(), ["config.json"]);
        touch("rank10.pickle");
        touch("rank9.pickle.gz");
        assert_eq!(found(), ["rank9.pickle.gz", "rank10.pickle"]);
    }

    #[test]
    fn a_folder_without_any_says_what_was_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let failure = files(&[folder.path().to_owned()]).unwrap_err();
        assert!(failure.to_string().contains("*.pickle"), "{failure}");
        assert_eq!(failure.exit_code(), 1);
        let twice = files(&["-".into(), "-".into()]).unwrap_err();
        assert_eq!(twice.exit_code(), 2);
    }
}
