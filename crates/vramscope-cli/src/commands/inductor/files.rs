//! Finds the files that contain graphs. The library does not touch files, so folders are searched here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use vramscope_core::container::FileKind;
use vramscope_inductor::{self as inductor, Export, graph_name};

use crate::failure::Failure;
use crate::input::{display_name, head, is_stdin, open_file};
use crate::output;

/// Maximum depth of folders that is searched. tlparse uses one level.
const DEEPEST: usize = 4;

/// Maximum number of files opened, so that a folder named by mistake is not read for hours.
const MOST_FILES: usize = 20_000;

/// The files to read, sorted by name.
///
/// # Errors
/// If a folder cannot be read or contains no graphs.
pub(super) fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if is_stdin(path) || !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut search = FolderSearch {
            left: MOST_FILES + 1,
            files: Vec::new(),
        };
        search.look_into(path, 0)?;
        if search.left == 0 {
            let folder = path.display();
            output::warn(&format!(
                "{folder} has more than {MOST_FILES} files, and the others were not searched: name the folder with the graphs"
            ));
        }
        if search.files.is_empty() {
            return Err(Failure::Input(format!(
                "{}: no file in this folder is a graph of inductor or a TORCH_TRACE log",
                path.display()
            )));
        }
        files.append(&mut search.files);
    }
    Ok(files)
}

/// A search through a folder.
struct FolderSearch {
    /// Number of files that may still be opened; 0 if some were skipped.
    left: usize,
    files: Vec<PathBuf>,
}

impl FolderSearch {
    fn look_into(&mut self, folder: &Path, depth: usize) -> Result<(), Failure> {
        let failed = || Failure::io(format!("cannot read the folder {}", folder.display()));
        let entries = fs::read_dir(folder).map_err(failed())?;
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| Ok(entry.map_err(failed())?.path()))
            .collect::<Result<_, Failure>>()?;
        paths.sort();
        for path in paths {
            self.left = self.left.saturating_sub(1);
            if self.left == 0 {
                break;
            }
            if path.is_symlink() && path.is_dir() {
                continue;
            }
            if path.is_dir() {
                // The user did not name this folder, and others may have graphs. So an error here is only a warning.
                if depth < DEEPEST
                    && let Err(failure) = self.look_into(&path, depth + 1)
                {
                    output::note(&format!("warning: {failure}\n"));
                }
            } else if holds_graphs(&path) {
                self.files.push(path);
            }
        }
        Ok(())
    }
}

/// Whether a file contains graphs, judged by its first bytes.
pub(in crate::commands) fn holds_graphs(path: &Path) -> bool {
    FileKind::of(&head(path)) == FileKind::Graphs
}

/// Reads the graphs of a file.
///
/// # Errors
/// If it cannot be read or contains no graphs.
pub(in crate::commands) fn read(path: &Path) -> Result<Export, Failure> {
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let result = if is_stdin(path) {
        inductor::read(io::stdin().lock(), "graph")
    } else {
        inductor::read(open_file(path)?, graph_name(&file_name))
    };
    result.map_err(|error| {
        let file = display_name(path);
        Failure::Input(format!("{file}: {error}")).followed_by([error.advice()])
    })
}
