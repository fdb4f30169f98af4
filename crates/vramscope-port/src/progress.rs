//! Reports on how far the reading of a file is.

use std::io::{self, Read};

use vramscope_protocol::clock;
use vramscope_protocol::{Progress, Reply, Stage};

use crate::{BlobReader, Port};

/// The least time between two progress messages, in ms.
const PROGRESS_EVERY_MS: f64 = 50.0;

/// Sends progress to the page, at most once per interval.
pub struct Reporter<'a> {
    port: &'a Port,
    last_ms: f64,
}

impl<'a> Reporter<'a> {
    /// Its first report is due after an interval.
    #[must_use]
    pub fn new(port: &'a Port) -> Self {
        Self {
            port,
            last_ms: clock::now_ms(),
        }
    }

    /// Its first report is due at once.
    #[must_use]
    pub fn eager(port: &'a Port) -> Self {
        Self {
            port,
            last_ms: f64::NEG_INFINITY,
        }
    }

    /// Reports, if a report is due.
    pub fn report(&mut self, progress: Progress) {
        let now_ms = clock::now_ms();
        if now_ms - self.last_ms >= PROGRESS_EVERY_MS {
            self.last_ms = now_ms;
            self.port.send(&Reply::Progress(progress));
        }
    }

    /// A reader of the file that reports how much of it is read.
    pub fn reading(self, reader: BlobReader) -> impl Read {
        Reported {
            total_bytes: reader.size_bytes(),
            reader,
            done_bytes: 0,
            reporter: self,
        }
    }
}

/// A reader that reports the bytes read.
struct Reported<'a> {
    reader: BlobReader,
    total_bytes: u64,
    done_bytes: u64,
    reporter: Reporter<'a>,
}

impl Read for Reported<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.done_bytes += read as u64;
        self.reporter.report(Progress {
            stage: Stage::Reading,
            done_bytes: self.done_bytes,
            total_bytes: Some(self.total_bytes),
            events: 0,
        });
        Ok(read)
    }
}
