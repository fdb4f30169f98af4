//! Zip archives, read from front to back: the first file that is a snapshot.
//!
//! Reading by local headers needs no seeking, so an archive can be read while it is being received.
//! The price: some archivers write sizes only *after* the data (macOS's, and all that write to a
//! pipe). Then the end has to be found in the data itself.

use std::io::{self, Read};
use std::rc::Rc;

use super::Counters;
use super::layer::{LOOKAHEAD, Layer};
use super::sniff::{HEAD, sniff_member};
use super::zip_entry::{Body, Entry, damaged, read_directory};
use crate::ErrorKind;
use crate::error::Lookalike;

/// The contents of an archive's first snapshot.
pub(super) struct ZipReader<'a> {
    source: Layer<'a>,
    name: Vec<u8>,
    body: Body,
    /// The beginning of `body`, which was read to recognise its format, and the position of the reader in it.
    head: io::Cursor<Vec<u8>>,
    /// The failure that ended reading `head`, to be returned by the read that reaches it.
    failure: Option<ErrorKind>,
    counters: Rc<Counters>,
    ended: bool,
}

impl<'a> ZipReader<'a> {
    /// Reads up to the first entry that is a snapshot, or a container that may hold one.
    ///
    /// # Errors
    /// If the archive is damaged or contains no snapshot.
    pub(super) fn open(mut source: Layer<'a>, counters: Rc<Counters>) -> Result<Self, ErrorKind> {
        let mut files = 0_u64;
        let mut refusal = None;
        while let Some(entry) = Entry::next(&mut source, &counters)? {
            if entry.is_noise() {
                entry.skip(&mut source, &counters)?;
                continue;
            }
            files += 1;
            let mut body = match entry.open() {
                Ok(body) => body,
                Err(kind) => {
                    refusal.get_or_insert(kind);
                    entry.skip(&mut source, &counters)?;
                    continue;
                }
            };
            let (head, failure) = read_head(&mut body, &mut source, LOOKAHEAD);
            match sniff_member(&entry.name, &head) {
                Ok(_) => {
                    let head = io::Cursor::new(head);
                    return Ok(Self {
                        source,
                        name: entry.name,
                        body,
                        head,
                        failure,
                        counters,
                        ended: false,
                    });
                }
                Err(kind @ ErrorKind::NotASnapshot(Lookalike::TorchCheckpoint)) => {
                    return Err(kind);
                }
                Err(kind) => {
                    refusal.get_or_insert(kind);
                }
            }
            if let Some(failure) = failure {
                return Err(failure);
            }
            counters.add_work(head.len() as u64)?;
            body.drain(&mut source, &counters)?;
        }
        Err(match refusal {
            Some(kind @ (ErrorKind::NotASnapshot(_) | ErrorKind::Unsupported(_))) => kind,
            _ => ErrorKind::ArchiveWithout { files },
        })
    }

    /// Counts the further snapshots in the archive, up to a file with an unknown compression whose size is not stated.
    /// Returns whether the end of the archive was reached.
    ///
    /// # Errors
    /// If anything after the first snapshot is damaged, cut off or beyond the limits.
    fn count_further(&mut self) -> Result<bool, ErrorKind> {
        match self.read_further() {
            Err(ErrorKind::Unsupported(_)) => Ok(false),
            // A check sum error would be taken for one of the snapshot, which is sound.
            Err(ErrorKind::CheckSum(_)) => Err(damaged("a file behind the snapshot has changed")),
            read => read.map(|()| true),
        }
    }

    fn read_further(&mut self) -> Result<(), ErrorKind> {
        let counters = Rc::clone(&self.counters);
        while let Some(entry) = Entry::next(&mut self.source, &counters)? {
            let Ok(mut body) = entry.open() else {
                entry.skip(&mut self.source, &counters)?;
                continue;
            };
            if entry.is_noise() {
                entry.skip(&mut self.source, &counters)?;
                continue;
            }
            let (head, failure) = read_head(&mut body, &mut self.source, HEAD);
            let is_snapshot = sniff_member(&entry.name, &head).is_ok();
            counters.add_further_files(u64::from(is_snapshot));
            if let Some(failure) = failure {
                return Err(failure);
            }
            counters.add_work(head.len() as u64)?;
            body.drain(&mut self.source, &counters)?;
        }
        read_directory(&mut self.source, &self.name, self.body.crc())
    }
}

impl Read for ZipReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() || self.ended {
            return Ok(0);
        }
        let read = self.head.read(out)?;
        if read > 0 {
            return Ok(read);
        }
        if let Some(kind) = &self.failure {
            return Err(io::Error::other(kind.clone()));
        }
        let read = self
            .body
            .read(&mut self.source, out)
            .map_err(io::Error::other)?;
        if read == 0 {
            self.ended = true;
            let counted = self.count_further();
            let has_other = self.source.drain().map_err(io::Error::other)?;
            if counted.map_err(io::Error::other)? {
                self.counters.add_trailing(has_other);
            }
        }
        Ok(read)
    }
}

/// Reads up to `count` bytes. Also returns the failure that ended reading early, if any.
fn read_head(
    body: &mut Body,
    source: &mut Layer<'_>,
    count: usize,
) -> (Vec<u8>, Option<ErrorKind>) {
    let mut head = vec![0; count];
    let mut filled = 0;
    let failure = loop {
        match body.read(source, head.get_mut(filled..).unwrap_or_default()) {
            Ok(0) => break None,
            Ok(read) => filled += read,
            Err(kind) => break Some(kind),
        }
    };
    head.truncate(filled);
    (head, failure)
}
