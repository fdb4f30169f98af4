//! Where the tests' files are: the committed fixtures, and real snapshots where there are some.
#![expect(clippy::unwrap_used, reason = "a test without its files has failed")]

use std::path::{Path, PathBuf};

/// A file to read in a test.
pub struct File {
    /// Its path below the folder it was found in, e.g. `torch-2.15.0/oom_after.pickle`.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

impl File {
    /// Whether it is a pickle that nothing is wrapped around.
    #[must_use]
    pub fn is_plain_pickle(&self) -> bool {
        self.name.ends_with(".pickle")
    }
}

/// `tests/fixtures` of the repository.
pub fn fixtures_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures")
}

/// The committed files that hold a snapshot, by name. `synth` belongs to other tests.
pub fn fixtures() -> Vec<File> {
    let mut files = Vec::new();
    for folder in subfolders(&fixtures_dir()) {
        if folder.starts_with("torch-") || folder == "containers" || folder == "legacy" {
            files.extend(files_of(&fixtures_dir(), &folder));
        }
    }
    assert!(
        files.len() > 40,
        "the fixtures are missing: {} found",
        files.len()
    );
    files
}

/// The committed files of one folder below `tests/fixtures`.
pub fn fixtures_in(folder: &str) -> Vec<File> {
    let files = files_of(&fixtures_dir(), folder);
    assert!(!files.is_empty(), "tests/fixtures/{folder} is empty");
    files
}

/// Real files of other people, which are not part of the repository: where the environment says, or
/// beside the checkout. Says so and gives nothing where there are none.
#[expect(
    clippy::print_stdout,
    reason = "whoever runs the tests should know what was left out"
)]
pub fn shared() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("VRAMSCOPE_SHARED").map_or(beside, PathBuf::from);
    if folder.join("real").is_dir() {
        return Some(folder);
    }
    println!(
        "skipped: no real files at {} (VRAMSCOPE_SHARED)",
        folder.display()
    );
    None
}

/// The real snapshots, by name; none where there are none.
pub fn real_files() -> Vec<File> {
    let Some(shared) = shared() else {
        return Vec::new();
    };
    let mut files = files_of(&shared, "real");
    files.extend(files_of(&shared.join("reference"), "generated"));
    for file in &mut files {
        file.name = file.name.rsplit('/').next().unwrap_or_default().to_owned();
    }
    files
}

/// Every file the laws hold for.
pub fn all_files() -> Vec<File> {
    fixtures().into_iter().chain(real_files()).collect()
}

fn subfolders(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn files_of(root: &Path, folder: &str) -> Vec<File> {
    let wanted = [
        "pickle", "vram", "json", "html", "gz", "zst", "zip", "pt", "txt",
    ];
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else {
        return Vec::new();
    };
    let mut files: Vec<File> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|end| wanted.iter().any(|&want| end == want))
        })
        .filter(|path| folder == "refused" || path.extension().is_none_or(|end| end != "txt"))
        .map(|path| File {
            name: format!("{folder}/{}", path.file_name().unwrap().to_str().unwrap()),
            bytes: std::fs::read(&path).unwrap(),
        })
        .collect();
    files.sort_by(|a, b| a.name.cmp(&b.name));
    files
}
