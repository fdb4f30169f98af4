//! The byte sink under the pickler: buffering, and CPython's frames.
//!
//! Protocol 4 groups opcodes into frames of at least 64 KiB. CPython's C pickler closes a frame at
//! the first value that *begins* once the target is reached, writes payloads of 64 KiB or more
//! outside any frame, and omits the header of a frame shorter than four bytes. All three show in
//! real files, so all three are kept.

use std::io::{self, Write};

use super::op;

/// Bytes of payload at which CPython closes a frame, and from which it writes a string outside one.
pub const FRAME_TARGET_BYTES: usize = 64 * 1024;
/// Frames of fewer bytes get no header.
const FRAME_MIN_BYTES: usize = 4;
/// Bytes of a frame's header: an opcode and a little-endian u64 length.
const FRAME_HEADER_BYTES: usize = 9;

/// A buffered sink that can gather its bytes into frames.
#[derive(Debug)]
pub(super) struct Output<W> {
    inner: W,
    buffer: Vec<u8>,
    framing: bool,
    frame_start: Option<usize>,
}

impl<W: Write> Output<W> {
    pub(super) fn new(inner: W) -> Self {
        let buffer = Vec::with_capacity(2 * FRAME_TARGET_BYTES);
        Self {
            inner,
            buffer,
            framing: false,
            frame_start: None,
        }
    }

    /// Switches framing on: every later byte belongs to a frame.
    pub(super) fn start_framing(&mut self) {
        self.framing = true;
    }

    #[inline]
    pub(super) fn put(&mut self, bytes: &[u8]) {
        if self.framing && self.frame_start.is_none() {
            self.frame_start = Some(self.buffer.len());
            self.buffer.extend_from_slice(&[0; FRAME_HEADER_BYTES]);
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Marks the beginning of a value, where a full frame ends and the buffer may be written out.
    #[inline]
    pub(super) fn boundary(&mut self) -> io::Result<()> {
        let held = self.buffer.len() - self.frame_start.unwrap_or(0);
        let header = if self.frame_start.is_some() {
            FRAME_HEADER_BYTES
        } else {
            0
        };
        if held >= FRAME_TARGET_BYTES + header {
            self.close_frame();
            self.drain()?;
        }
        Ok(())
    }

    /// Writes a string or bytes opcode; a long payload goes outside any frame, as in CPython.
    pub(super) fn put_payload(&mut self, header: &[u8], payload: &[u8]) {
        if payload.len() < FRAME_TARGET_BYTES {
            self.put(header);
            self.put(payload);
            return;
        }
        self.close_frame();
        self.buffer.extend_from_slice(header);
        self.buffer.extend_from_slice(payload);
    }

    fn close_frame(&mut self) {
        let Some(start) = self.frame_start.take() else {
            return;
        };
        let length = self.buffer.len() - start - FRAME_HEADER_BYTES;
        if length < FRAME_MIN_BYTES {
            self.buffer.drain(start..start + FRAME_HEADER_BYTES);
            return;
        }
        self.buffer[start] = op::FRAME;
        self.buffer[start + 1..start + FRAME_HEADER_BYTES]
            .copy_from_slice(&(length as u64).to_le_bytes());
    }

    fn drain(&mut self) -> io::Result<()> {
        self.inner.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    /// Ends the last frame and hands the sink back.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.close_frame();
        self.drain()?;
        self.inner.flush()?;
        Ok(self.inner)
    }
}
