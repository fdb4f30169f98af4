//! A recorded program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use tempfile::TempDir;
use vramscope_launch::{Outcome, RANKS, Session, Settings, Stacks, Steps};

/// This machine's Python: the interpreter itself, not a script that finds it.
static PYTHON: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    let asked = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    let said = asked.ok().filter(|output| output.status.success())?.stdout;
    Some(PathBuf::from(String::from_utf8(said).ok()?.trim()))
});

pub(crate) fn python() -> Option<&'static Path> {
    PYTHON.as_deref()
}

/// A recording that has not begun.
pub(crate) struct Recorded {
    pub(crate) session: Session,
    pub(crate) folder: TempDir,
}

impl Recorded {
    pub(crate) fn new() -> Self {
        Self::of(|_| ())
    }

    pub(crate) fn of(change: impl FnOnce(&mut Settings)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings {
            folder: folder.path().join("out"),
            max_entries: 1000,
            stacks: Stacks::All,
            steps: None,
            every: None,
            with_source: false,
        };
        change(&mut settings);
        Self {
            session: Session::new(settings).unwrap(),
            folder,
        }
    }

    pub(crate) fn steps(first: u32, last: Option<u32>, every: Option<u32>) -> Self {
        Self::of(|settings| {
            settings.steps = Some(Steps { first, last });
            settings.every = every;
        })
    }

    /// Python with the fake torch.
    pub(crate) fn python(&self) -> Option<Command> {
        let mut command = Command::new(python()?);
        self.session.prepare(&mut command);
        let path = command.get_envs().find(|(name, _)| *name == "PYTHONPATH");
        let mut path = path.unwrap().1.unwrap().to_owned();
        path.push(":");
        path.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torch"));
        command.env("PYTHONPATH", path);
        command.env("PYTHONDONTWRITEBYTECODE", "1");
        for rank in RANKS {
            command.env_remove(rank);
        }
        command.current_dir(self.folder.path());
        Some(command)
    }

    /// Runs a script given as text. `None` without Python.
    pub(crate) fn run(&self, script: &str) -> Option<Output> {
        let path = self.folder.path().join("script.py");
        fs::write(&path, script).unwrap();
        Some(self.python()?.arg(path).output().unwrap())
    }

    /// The files in order, without process numbers.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        let mut folders = vec![self.session.folder().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => {
                        names.push(path.strip_prefix(self.session.folder()).unwrap().to_owned())
                    }
                }
            }
        }
        let without_numbers = |path: PathBuf| {
            let text = path.to_str().unwrap();
            let (before, after) = text.rsplit_once("pid").unwrap();
            format!(
                "{before}pid{}",
                after.trim_start_matches(|it: char| it.is_ascii_digit())
            )
        };
        let mut names: Vec<String> = names.into_iter().map(without_numbers).collect();
        names.sort();
        names
    }

    pub(crate) fn outcome(&self) -> Outcome {
        self.session.outcome()
    }

    /// The remarks, without process numbers.
    pub(crate) fn remarks(&self) -> String {
        let text = self.outcome().remarks.join("\n");
        let words = text.split_inclusive(' ').map(|word| {
            let digits = word.trim_matches(|it: char| !it.is_ascii_digit());
            match digits.len() > 3 && digits.bytes().all(|it| it.is_ascii_digit()) {
                true => word.replace(digits, "N"),
                false => word.to_owned(),
            }
        });
        words.collect()
    }
}

pub(crate) fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
