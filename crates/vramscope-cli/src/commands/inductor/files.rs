//! Which files have graphs in them: core knows no files, so folders are walked here.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use vramscope_core::analysis::inductor::{self, Export, graph_name, is_graph};

use crate::failure::Failure;
use crate::input::{display_name, is_stdin, open_file};
use crate::output;

/// Folders in folders that are looked into. tlparse's are one deep.
const DEEPEST: usize = 4;

/// Files that are looked into: a folder that was named by mistake is not read for hours.
const MOST_FILES: usize = 20_000;

/// The files that are meant, in the order of their names.
///
/// # Errors
/// When a folder cannot be read or has none.
pub(super) fn files(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in named {
        if is_stdin(path) || !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let mut walk = Walk {
            left: MOST_FILES + 1,
            files: Vec::new(),
        };
        walk.look_into(path, 0)?;
        if walk.left == 0 {
            let folder = path.display();
            let warning = format!(
                "warning: {folder} has more than {MOST_FILES} files, and the others are not looked into: name the folder with the graphs\n"
            );
            output::note(&output::printable(&warning));
        }
        if walk.files.is_empty() {
            return Err(Failure::Input(format!(
                "{}: no file in this folder is a graph of inductor or a TORCH_TRACE log",
                path.display()
            )));
        }
        files.append(&mut walk.files);
    }
    Ok(files)
}

/// A walk through a folder.
struct Walk {
    /// How many files may still be looked into; 0 if some were not.
    left: usize,
    files: Vec<PathBuf>,
}

impl Walk {
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
                // Nobody named this one, and its neighbours may have graphs.
                if depth < DEEPEST
                    && let Err(failure) = self.look_into(&path, depth + 1)
                {
                    let warning = format!("warning: {failure}\n");
                    output::note(&output::printable(&warning));
                }
            } else if holds_graphs(&path) {
                self.files.push(path);
            }
        }
        Ok(())
    }
}

/// Whether a file holds graphs, by its first bytes.
pub(in crate::commands) fn holds_graphs(path: &Path) -> bool {
    is_graph(&head(path))
}

/// The first bytes of a file; none if it cannot be read, as then nobody asked for it.
fn head(path: &Path) -> Vec<u8> {
    let mut head = Vec::new();
    if path.is_file()
        && let Ok(file) = File::open(path)
    {
        let _unreadable = file.take(4 << 10).read_to_end(&mut head);
    }
    head
}

/// Reads the graphs of a file.
///
/// # Errors
/// When it cannot be read or has none.
pub(in crate::commands) fn read(path: &Path) -> Result<Export, Failure> {
    let file_name = path.file_name().unwrap_or_default().to_string_lossy();
    let result = if is_stdin(path) {
        inductor::read(io::stdin().lock(), "graph")
    } else {
        inductor::read(open_file(path)?, graph_name(&file_name))
    };
    result.map_err(|error| {
        let file = display_name(path);
        Failure::Input(format!("{file}: {error}\n  {}", error.advice()))
    })
}
