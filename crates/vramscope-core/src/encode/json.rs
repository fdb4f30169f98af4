//! Writes compact JSON. Shared values are written out every time, because JSON has no references.

use std::io::{self, BufWriter, Write};

use serde::Serialize;

use super::BUFFER_BYTES;
use super::sink::{Shared, Sink};
use crate::Snapshot;
use crate::decode::Key;
use crate::ids::StringId;

pub(super) struct JsonWriter<'s, W: Write> {
    snapshot: &'s Snapshot,
    out: BufWriter<W>,
    /// Whether the innermost dict or list is still empty, so that no comma is due.
    is_first: bool,
}

impl<'s, W: Write> JsonWriter<'s, W> {
    pub(super) fn new(snapshot: &'s Snapshot, out: W) -> Self {
        Self {
            snapshot,
            out: BufWriter::with_capacity(BUFFER_BYTES, out),
            is_first: true,
        }
    }

    fn open(&mut self, bracket: &[u8]) -> io::Result<()> {
        self.is_first = true;
        self.out.write_all(bracket)
    }

    fn close(&mut self, bracket: &[u8]) -> io::Result<()> {
        // The container that just ended is itself an entry of another.
        self.is_first = false;
        self.out.write_all(bracket)
    }

    fn comma(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.is_first) {
            self.out.write_all(b",")?;
        }
        Ok(())
    }
}

impl<W: Write> Sink for JsonWriter<'_, W> {
    fn open_dict(&mut self) -> io::Result<()> {
        self.open(b"{")
    }

    fn close_dict(&mut self) -> io::Result<()> {
        self.close(b"}")
    }

    fn open_list(&mut self) -> io::Result<()> {
        self.open(b"[")
    }

    fn item(&mut self) -> io::Result<()> {
        self.comma()
    }

    fn close_list(&mut self) -> io::Result<()> {
        self.close(b"]")
    }

    fn open_shared(&mut self, what: Shared) -> io::Result<bool> {
        match what {
            Shared::Frame(_) => self.open_dict()?,
            Shared::Stack(_) | Shared::Lines(_) => self.open_list()?,
        }
        Ok(true)
    }

    fn key(&mut self, key: Key) -> io::Result<()> {
        self.other_key(key.text())
    }

    fn other_key(&mut self, key: &str) -> io::Result<()> {
        self.comma()?;
        self.generic(&key)?;
        self.out.write_all(b":")
    }

    fn word(&mut self, word: &'static str) -> io::Result<()> {
        self.generic(&word)
    }

    fn text(&mut self, id: StringId) -> io::Result<()> {
        self.generic(&self.snapshot.strings.get(id))
    }

    fn integer(&mut self, value: i64) -> io::Result<()> {
        self.generic(&value)
    }

    fn boolean(&mut self, value: bool) -> io::Result<()> {
        self.generic(&value)
    }

    fn pair(&mut self, first: i64, second: i64) -> io::Result<()> {
        self.generic(&[first, second])
    }

    fn generic(&mut self, value: &impl Serialize) -> io::Result<()> {
        Ok(serde_json::to_writer(&mut self.out, value)?)
    }

    fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}
