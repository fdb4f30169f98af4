//! Tells the page of `view --live` when a file has changed, as server-sent events.
//!
//! The body of the answer is a stream that waits for the next change, so a connection is served like any other. The
//! page has nothing to say on it: whoever does not want to see changes closes it.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Value, json};

use super::files::Served;

/// The address below the page.
pub(crate) const EVENTS: &str = "events";

/// The element in the page's head that names it.
pub(crate) const LINK: &str = "<link rel=\"events\" href=\"events\">\n";

/// The time between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The time between two looks whether anybody still writes a file, and after which it is said anew what is known: a page
/// that has reconnected, or missed something, is right again.
const ASK_EVERY: Duration = Duration::from_secs(1);
/// The silence after which something is written, so that a closed connection is noticed on both sides.
const SILENCE: Duration = Duration::from_secs(10);

/// The changes of files from now on. Never ends.
pub(crate) struct Events<'a, G> {
    files: &'a [Served],
    known: Vec<Known>,
    unsent: Vec<u8>,
    sent: Option<Instant>,
    /// Kept as long as somebody listens.
    _place: G,
}

/// What was last seen of a file.
#[derive(Clone, PartialEq, Debug, Default)]
struct Known {
    version: Option<Version>,
    /// Whether there is no file any more.
    is_gone: bool,
    /// Whether a program goes on writing it; `None` if that cannot be known.
    is_written: Option<bool>,
    asked: Option<Instant>,
}

/// One state of a file's content.
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

    /// Looks at all files; returns whether anything is news.
    fn look(&mut self) -> bool {
        let mut has_news = false;
        for (file, known) in self.files.iter().zip(&mut self.known) {
            let Some(path) = file.path() else { continue };
            let version = Version::of(path);
            let is_due = known.asked.is_none_or(|asked| asked.elapsed() >= ASK_EVERY);
            // Between two versions there may be none.
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

    /// What is known of all files, in the page's order.
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

/// Whether somebody holds the lock that `vramscope-capture` has on a file while it goes on writing versions of it; `None`
/// if that cannot be known.
fn is_locked(path: &Path) -> Option<bool> {
    // Elsewhere a lock, even a short one, keeps readers out.
    if !cfg!(unix) {
        return None;
    }
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Ok(()) => {
            // A version that was just replaced is locked no longer.
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
