//! A snapshot that is rewritten while its program runs, for viewers that follow it.
//!
//! Each version is a complete file that replaces the previous one. So viewers may come and go, nobody waits for them,
//! and anything that reads snapshots can read it. `--max-entries` bounds its size. A version is written when there are
//! new records, but writing takes at most a fifth of one core's time.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use vramscope_capture::FileSymbols;
use vramscope_core::analysis::memory::capture::Ended;
use vramscope_record::model::Recording;
use vramscope_record::reader::Header;

use crate::destination::Destination;
use crate::failure::Failure;

/// Default number of trace entries of each device in a live snapshot.
pub(crate) const LIVE_ENTRIES: usize = 200_000;
/// Default time between two versions.
pub(crate) const EVERY: &str = "500ms";
/// Minimum pause after a version, as a multiple of the time it took to write.
const PAUSES: u32 = 4;
/// Pause after a version that could not be written.
const AFTER_FAILURE: Duration = Duration::from_secs(10);

/// The live snapshot of one process.
pub(crate) struct LiveFile {
    destination: Destination,
    every: Duration,
    symbols: FileSymbols,
    /// End of the log and state of the program in the last version written.
    shown: Option<(u64, Ended)>,
    not_before: Option<Instant>,
    /// The last version. Its lock, held while it is open, shows viewers that more may follow.
    version: Option<File>,
    /// Whether the last version could not be written. The failure was already reported.
    has_failed: bool,
    /// Whether the user was told that there is a file to watch.
    is_announced: bool,
}

/// What one version shows.
pub(super) struct Version<'a> {
    pub(super) log: &'a Path,
    pub(super) header: Header,
    /// End of the records read.
    pub(super) offset: u64,
    pub(super) ended: Ended,
    /// Whether no version follows.
    pub(super) is_last: bool,
}

impl LiveFile {
    /// Writes nothing yet.
    pub(crate) fn new(destination: Destination, every: Duration, symbols: FileSymbols) -> Self {
        Self {
            destination,
            every,
            symbols,
            shown: None,
            not_before: None,
            version: None,
            has_failed: false,
            is_announced: false,
        }
    }

    pub(crate) fn destination(&self) -> &Destination {
        &self.destination
    }

    /// The file's path, once, after its first version was written.
    pub(super) fn announce(&mut self) -> Option<&Path> {
        let is_due = self.shown.is_some() && !self.is_announced;
        self.is_announced |= is_due;
        is_due.then(|| self.destination.path())
    }

    /// Writes a version if one is due. After a failure, tries again later.
    ///
    /// # Errors
    /// Only the first of several failures in a row, and one of the last version.
    pub(super) fn write(
        &mut self,
        recording: &Recording,
        version: &Version<'_>,
    ) -> Result<(), Failure> {
        let now = Instant::now();
        let is_early = self.not_before.is_some_and(|earliest| now < earliest);
        if self.shown == Some((version.offset, version.ended)) || (is_early && !version.is_last) {
            return Ok(());
        }
        let written = self.try_write(recording, version);
        let took = now.elapsed();
        // Counted from the start of writing, so that a quick write does not delay the next version.
        self.not_before = Some(now + self.every.max(took * (1 + PAUSES)));
        match written {
            Ok(file) => {
                self.version = Some(file);
                self.shown = Some((version.offset, version.ended));
                self.has_failed = false;
                Ok(())
            }
            Err(failure) => {
                self.not_before = Some(now + AFTER_FAILURE);
                match std::mem::replace(&mut self.has_failed, true) && !version.is_last {
                    true => Ok(()),
                    false => Err(failure),
                }
            }
        }
    }

    fn try_write(&mut self, recording: &Recording, version: &Version<'_>) -> Result<File, Failure> {
        match self.shown {
            None => self.symbols.begin(version.log, &version.header),
            Some(_) => self.symbols.go_on(version.log, &version.header),
        }
        let (snapshot, _) = recording.snapshot(&version.header, version.ended, &mut self.symbols);
        self.destination.write_version(&snapshot)
    }
}

/// Parses the time between two versions.
pub(crate) fn parse_every(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let seconds = match &text[digits.len()..] {
        "ms" => 1e-3,
        "s" => 1.0,
        "min" | "m" => 60.0,
        _ => f64::NAN,
    };
    let seconds = digits.trim().parse().unwrap_or(f64::NAN) * seconds;
    match Duration::try_from_secs_f64(seconds) {
        Ok(every) if every >= Duration::from_millis(100) && every.as_secs() <= 86_400 => Ok(every),
        _ => Err("write 500ms, 2s or 1min; at least 100ms".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use vramscope_record::model::RecordingOptions;

    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ms) in [
            ("500ms", 500),
            ("1s", 1000),
            ("1.5 s", 1500),
            ("2min", 120_000),
        ] {
            assert_eq!(parse_every(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "1", "s", "-1s", "99ms", "1h", "1e9s", "NaNs"] {
            assert!(parse_every(text).is_err(), "{text}");
        }
    }

    fn version(offset: u64, ended: Ended, is_last: bool) -> Version<'static> {
        Version {
            log: Path::new("1-1.raw"),
            header: Header::default(),
            offset,
            ended,
            is_last,
        }
    }

    #[test]
    fn a_version_needs_news_and_a_pause_but_for_the_last() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("live.vram");
        let destination = Destination::of(&path).unwrap();
        let mut file = LiveFile::new(destination, Duration::from_secs(600), FileSymbols::new(&[]));
        let recording = Recording::new(RecordingOptions::default());
        let mut is_written = |offset, ended, is_last| {
            let _ = std::fs::remove_file(&path);
            file.write(&recording, &version(offset, ended, is_last))
                .unwrap();
            let is_written = path.exists();
            if is_written {
                // Nobody else can get the lock that announces further versions.
                assert!(File::open(&path).unwrap().try_lock_shared().is_err());
            }
            is_written
        };
        assert!(is_written(10, Ended::Running, false));
        assert!(!is_written(10, Ended::Running, false));
        // Too early.
        assert!(!is_written(20, Ended::Running, false));
        assert!(is_written(20, Ended::InOrder, true));
        assert!(!is_written(20, Ended::InOrder, true));
        drop(file);
        assert!(std::fs::read_dir(folder.path()).unwrap().count() <= 1);
    }

    #[test]
    fn a_failure_is_told_once_and_tried_again_later() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("live.vram");
        let destination = Destination::of(&path).unwrap();
        let mut file = LiveFile::new(destination, Duration::ZERO, FileSymbols::new(&[]));
        let recording = Recording::new(RecordingOptions::default());
        std::fs::remove_dir(folder.path()).unwrap();
        let last = version(10, Ended::Running, true);
        assert!(
            file.write(&recording, &version(10, Ended::Running, false))
                .is_err()
        );
        assert!(file.not_before.unwrap() > Instant::now() + AFTER_FAILURE / 2);
        file.not_before = None;
        assert!(
            file.write(&recording, &version(10, Ended::Running, false))
                .is_ok()
        );
        assert!(file.write(&recording, &last).is_err() && file.has_failed);
        assert_eq!(file.announce(), None);
        std::fs::create_dir(folder.path()).unwrap();
        assert!(file.write(&recording, &last).is_ok());
        assert_eq!(file.announce(), Some(&*path));
        assert_eq!(file.announce(), None);
    }
}
