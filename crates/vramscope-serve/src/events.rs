//! Notifies the page of `view --live` when a file has changed, by server-sent events.
//!
//! The body of the answer is a stream that waits for the next change, so a connection is served like any other. The
//! page sends nothing on it, and closes it to stop listening.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::files::Served;

/// The address, relative to the page.
pub(crate) const EVENTS: &str = "events";

/// The element in the page's head that names it.
pub(crate) const LINK: &str = "<link rel=\"events\" href=\"events\">\n";

/// The interval at which files are checked.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The interval at which to check whether anybody still writes a file, and after which the whole state is sent again,
/// for pages that have reconnected or missed something.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// After this silence something is written, so that both sides notice a closed connection.
const SILENCE: Duration = Duration::from_secs(10);

/// The changes of files from now on. Never ends.
pub(crate) struct Events<'a, G> {
    files: &'a [Served],
    known: Vec<Known>,
    unsent: Vec<u8>,
    sent: Option<Instant>,
    /// Held as long as somebody listens.
    _place: G,
}

/// The last known state of a file.
#[derive(Clone, PartialEq, Debug, Default)]
struct Known {
    version: Option<Version>,
    /// Whether the file no longer exists.
    is_gone: bool,
    /// Whether a program is still writing it; `None` if that cannot be determined.
    is_written: Option<bool>,
    asked: Option<Instant>,
}

/// One version of a file's content.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Version {
    modified: SystemTime,
    bytes: u64,
    inode: u64,
}

impl<'a, G> Events<'a, G> {
    pub(crate) fn new(files: &'a [Served], place: G) -> Self {
        Self {
            files,
            known: vec![Known::default(); files.len()],
            unsent: Vec::new(),
            sent: None,
            _place: place,
        }
    }

    /// Checks all files; returns whether anything has changed.
    fn look(&mut self) -> bool {
        let mut has_news = false;
        for (file, known) in self.files.iter().zip(&mut self.known) {
            let Some(path) = file.path() else { continue };
            let version = Version::of(path);
            let is_due = known.asked.is_none_or(|asked| asked.elapsed() >= ASK_EVERY);
            // The file may briefly not exist between two versions.
            let has_changed = version.is_some() && version != known.version;
            let (mut is_written, mut is_gone) = (known.is_written, known.is_gone);
            if has_changed || is_due {
                is_written = is_locked(path).or(is_written);
                is_gone = version.is_none();
                known.asked = Some(Instant::now());
            }
            has_news |= has_changed || (is_written, is_gone) != (known.is_written, known.is_gone);
            known.version = version.or(known.version);
            (known.is_written, known.is_gone) = (is_written, is_gone);
        }
        has_news
    }

    /// The state of all files, in the page's order.
    fn message(&self) -> Vec<u8> {
        let files = self.known.iter().map(|known| match &known.version {
            Some(version) => json!({
                "version": format!("{:x}-{:x}-{:x}", version.inode, version.bytes, us(version.modified)),
                "written_us": us(version.modified),
                "is_written": known.is_written,
                "is_gone": known.is_gone,
            }),
            None => Value::Null,
        });
        let files: Vec<_> = files.collect();
        let message = json!({ "now_us": us(SystemTime::now()), "files": files });
        format!("data: {message}\n\n").into_bytes()
    }
}

impl<G> Read for Events<'_, G> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.unsent.is_empty() {
            let silent = self.sent.map(|sent| sent.elapsed());
            if self.look() || silent.is_none() {
                self.unsent = self.message();
            } else if silent >= Some(SILENCE) {
                self.unsent = b":\n\n".to_vec();
            } else {
                thread::sleep(LOOK_EVERY);
                continue;
            }
            self.sent = Some(Instant::now());
        }
        let count = self.unsent.as_slice().read(buffer)?;
        self.unsent.drain(..count);
        Ok(count)
    }
}

impl Version {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
        Some(Self {
            modified: metadata.modified().ok()?,
            bytes: metadata.len(),
            #[cfg(unix)]
            inode: std::os::unix::fs::MetadataExt::ino(&metadata),
            #[cfg(not(unix))]
            inode: 0,
        })
    }
}

/// Whether a file has the lock that `vramscope-capture` holds while it keeps writing versions; `None` if that cannot be
/// determined.
fn is_locked(path: &Path) -> Option<bool> {
    // On other systems even a brief lock keeps readers out.
    if !cfg!(unix) {
        return None;
    }
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Ok(()) => {
            // A version that was just replaced is no longer locked.
            let opened = file.metadata().ok()?;
            let now = Version::of(path)?;
            (opened.modified().ok()? == now.modified && opened.len() == now.bytes).then_some(false)
        }
        Err(fs::TryLockError::WouldBlock) => Some(true),
        Err(fs::TryLockError::Error(_)) => None,
    }
}

/// Microseconds since the Unix epoch.
fn us(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_micros() as u64)
}
