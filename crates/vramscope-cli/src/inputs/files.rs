//! Finds the snapshots: a folder stands for those in it and below it, in natural order (rank2 before rank10), and a
//! pattern for everything that matches.
//!
//! A run's folders also hold other files, so names decide: a folder's pickles or, if it has none, its packed files.
//! JSON and HTML files count only if there is nothing else. A dataset of ranks stands for its overview.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;
use vramscope_core::sorting::natural;

use crate::failure::Failure;
use crate::guarded::{self, FORMAT_FILE, OVERVIEW};
use crate::harmless::quoted;
use crate::input::is_stdin;
use crate::output;

/// Maximum size of a genuine file of this name.
const FORMAT_BYTES: u64 = 64;

/// The extensions of each kind, in order of precedence.
const KINDS: [&[&str]; 3] = [&[".pickle", ".pkl"], &[".vram"], &[".json", ".html"]];
/// The kind that counts only if there is nothing else.
const LAST: usize = 2;
const COMPRESSED: [&str; 4] = [".gz", ".zst", ".zstd", ".zip"];

/// The files to read, in the order of the answers.
///
/// # Errors
/// When a folder and those below it have no snapshot, one of them cannot be read, or standard input is named twice.
pub(crate) fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if named.iter().filter(|path| is_stdin(path)).count() > 1 {
        return Err(Failure::Usage(
            "standard input (-) can be given only once".to_owned(),
        ));
    }
    let mut files = Vec::new();
    for path in named {
        guarded::check(path)
            .map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    }
    for path in named.iter().flat_map(|path| matching(path)) {
        let overview = path.join(OVERVIEW);
        if is_stdin(&path) || !path.is_dir() {
            files.push(path);
        } else if overview.is_file() {
            files.push(overview);
        } else {
            check_finished(&path)?;
            files.extend(in_or_below(&path)?);
        }
    }
    Ok(files)
}

/// The same, each file once, even if it is also named by a link or with its folder.
///
/// # Errors
/// As [`files`].
pub(crate) fn files_once(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let (mut first, mut seen) = (HashMap::new(), HashSet::new());
    let mut files = files(named)?;
    files.retain(|file| {
        let real = fs::canonicalize(file).unwrap_or_else(|_| file.clone());
        let known = first.entry(real).or_insert_with(|| file.clone());
        if known != file {
            let (same, known) = (file.display(), known.display());
            output::warn(&format!(
                "{same} is the same file as {known}, and counts once"
            ));
        }
        // Its own path may come again.
        known == file && seen.insert(file.clone())
    });
    Ok(files)
}

/// The paths that match a pattern (`runs/*/rank?.pickle`), in natural order; if none does, the pattern itself. Shells
/// do that too, but not for more names than a command line can hold.
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
    found.sort_by(|a, b| by_name(a, b));
    match found.is_empty() {
        true => vec![path.to_owned()],
        false => found,
    }
}

/// The files in a folder that match and are not hidden.
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

/// A folder and all folders below it that are not hidden, in natural order. Links to folders are not followed.
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
    all.sort_by(|a, b| by_name(a, b));
    Ok(all)
}

/// The snapshots in a folder and in those below it.
fn in_or_below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for folder in below(folder)? {
        found.extend(in_folder(&folder)?);
    }
    let best = found.iter().map(|&(kind, _)| kind).min();
    let counts = |kind: usize| kind < LAST || best == Some(LAST);
    found.retain(|&(kind, _)| counts(kind));
    match found.is_empty() {
        true => Err(none_in(folder)),
        false => Ok(found.into_iter().map(|(_, path)| path).collect()),
    }
}

/// The snapshots in a folder of the best kind that it has, and that kind.
fn in_folder(folder: &Path) -> Result<Vec<(usize, PathBuf)>, Failure> {
    let failed = || Failure::io(format!("cannot read the folder {}", folder.display()));
    let mut found: Vec<(usize, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed())? {
        let path = entry.map_err(failed())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(kind) = snapshot_kind(&name)
            && path.is_file()
        {
            found.push((kind, path));
        }
    }
    let best = found.iter().map(|&(kind, _)| kind).min();
    found.retain(|&(kind, _)| Some(kind) == best);
    found.sort_by(|(_, a), (_, b)| by_name(a, b));
    Ok(found)
}

/// Whether a folder is a dataset, complete or not.
pub(crate) fn is_dataset(folder: &Path) -> bool {
    let format = guarded::read(&folder.join(FORMAT_FILE), FORMAT_BYTES);
    format.is_ok_and(|it| it.starts_with(b"vramscope dataset "))
}

/// # Errors
/// When a folder is a dataset without an overview.
pub(crate) fn check_finished(folder: &Path) -> Result<(), Failure> {
    if !is_dataset(folder) || folder.join(OVERVIEW).is_file() {
        return Ok(());
    }
    let told = folder.display();
    let failure =
        format!("{told}: packing into this dataset has not finished, so it cannot be queried yet");
    let again = quoted(&told.to_string());
    Err(Failure::Input(failure).followed_by([format!(
        "If no process is at it any more, continue with the command that began it: `vramscope fleet pack SNAPSHOTS -o {again}`. What \
         is packed stays, and `vramscope fleet pack --finish -o {again}` makes the overview without the rest."
    )]))
}

/// The failure for a folder without snapshots.
fn none_in(folder: &Path) -> Failure {
    let told = folder.display();
    Failure::Input(format!(
        "{told}: this folder has no file that looks like a snapshot. Looked for *.pickle and *.pkl, else *.vram, else *.json and \
         *.html, also with .gz, .zst or .zip behind; also in folders below it"
    ))
}

/// The index in [`KINDS`] for a file's name; `None` if it is not that of a snapshot.
fn snapshot_kind(name: &str) -> Option<usize> {
    let name = name.to_ascii_lowercase();
    if name.starts_with('.') {
        return None;
    }
    let bare = COMPRESSED
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(&name);
    let is_of = |endings: &&[&str]| endings.iter().any(|ending| bare.ends_with(ending));
    KINDS.iter().position(is_of)
}

/// Compares paths in natural order.
fn by_name(a: &Path, b: &Path) -> Ordering {
    natural(&a.to_string_lossy(), &b.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshots_are_told_by_their_names() {
        for (name, kind) in [
            ("rank0.pickle", Some(0)),
            ("RANK0.PKL.GZ", Some(0)),
            ("a.pickle.zip", Some(0)),
            ("a.vram", Some(1)),
            ("a.json.zst", Some(2)),
            ("trace.html", Some(2)),
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
    fn a_dataset_stands_for_its_overview_once_it_has_one() {
        let folder = tempfile::tempdir().unwrap();
        let named = [folder.path().to_owned()];
        fs::write(folder.path().join(FORMAT_FILE), "vramscope dataset 1\n").unwrap();
        fs::create_dir_all(folder.path().join("pieces/rank=0")).unwrap();
        let text = files(&named).unwrap_err().to_string();
        assert!(text.contains("has not finished"), "{text}");
        assert!(text.contains("fleet pack SNAPSHOTS -o"), "{text}");
        let overview = folder.path().join(OVERVIEW);
        fs::write(&overview, "").unwrap();
        assert_eq!(files(&named).unwrap(), [overview]);
    }

    #[test]
    fn a_folder_stands_for_the_snapshots_in_it_and_below_it() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        };
        let found = || -> Vec<_> {
            let files = files(&[folder.path().to_owned()]).unwrap();
            let name = |path: &PathBuf| path.strip_prefix(folder.path()).unwrap().to_owned();
            let names = files.iter().map(name);
            names
                .map(|name| name.to_str().unwrap().to_owned())
                .collect()
        };
        touch("config.json");
        touch("notes.txt");
        fs::create_dir(folder.path().join("rank3.pickle")).unwrap();
        assert_eq!(found(), ["config.json"]);
        touch("rank10.pickle");
        touch("rank9.pickle.gz");
        assert_eq!(found(), ["rank9.pickle.gz", "rank10.pickle"]);
        touch("node10/rank8.pickle");
        touch("node2/rank3.vram");
        touch("node2/hparams.json");
        touch("node2/.cache/rank4.pickle");
        touch("notes/index.html");
        let all = [
            "rank9.pickle.gz",
            "rank10.pickle",
            "node2/rank3.vram",
            "node10/rank8.pickle",
        ];
        assert_eq!(found(), all);
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
