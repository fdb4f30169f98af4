//! Which files have graphs in them: core knows no files, so folders are walked here.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use vramscope_core::analysis::inductor::{self, Export, is_graph};

use crate::failure::Failure;
use crate::input::{display_name, is_stdin, open_file};

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
        let mut left = MOST_FILES;
        let before = files.len();
        look_into(path, 0, &mut left, &mut files)?;
        if files.len() == before {
            return Err(Failure::Input(format!(
                "{}: no file in this folder is a graph of inductor or a TORCH_TRACE log",
                path.display()
            )));
        }
    }
    Ok(files)
}

fn look_into(
    folder: &Path,
    depth: usize,
    left: &mut usize,
    files: &mut Vec<PathBuf>,
) -> Result<(), Failure> {
    let failed = || Failure::io(format!("cannot read the folder {}", folder.display()));
    let entries = fs::read_dir(folder).map_err(failed())?;
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| Ok(entry.map_err(failed())?.path()))
        .collect::<Result<_, Failure>>()?;
    paths.sort();
    for path in paths {
        if *left == 0 {
            break;
        }
        *left -= 1;
        if path.is_symlink() && path.is_dir() {
            continue;
        }
        if path.is_dir() {
            if depth < DEEPEST {
                look_into(&path, depth + 1, left, files)?;
            }
        } else if is_graph(&head(&path)) {
            files.push(path);
        }
    }
    Ok(())
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
pub(super) fn read(path: &Path) -> Result<Export, Failure> {
    let name = graph_name(path);
    let result = if is_stdin(path) {
        inductor::read(io::stdin().lock(), "graph")
    } else {
        inductor::read(open_file(path)?, &name)
    };
    result.map_err(|error| {
        let file = display_name(path);
        Failure::Input(format!("{file}: {error}\n  {}", error.advice()))
    })
}

/// What a graph that stands alone is called: its file without the endings. tlparse puts a number behind each name.
fn graph_name(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let mut name: &str = &file;
    while let Some(bare) = [".zst", ".gz", ".json", ".txt", ".orm"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
    {
        name = bare;
    }
    let (bare, number) = name.rsplit_once('_').unwrap_or((name, ""));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    if is_number && bare.ends_with("_fused") {
        name = bare;
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_called_as_in_the_log() {
        let name = |path: &str| graph_name(Path::new(path));
        let tlparse = "tl_out/-_0_0_0/model__0_forward_1_fused_12.txt";
        assert_eq!(name(tlparse), "model__0_forward_1_fused");
        assert_eq!(name("convnet.orm.json.zst"), "convnet");
        assert_eq!(name("random_dag_40"), "random_dag_40");
    }
}
