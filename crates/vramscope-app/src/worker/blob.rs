//! A `Blob` as a reader. Only a window of it is in memory at a time, so a file may be larger than the memory.

use std::io::{self, Read};

use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;
use web_sys::{Blob, FileReaderSync, MessageChannel, MessagePort};

/// Bytes fetched at once: large enough that the browser's overhead per slice does not show (109 MB took
/// 180 ms by 4 MiB, 130 ms by 32 MiB, 110 ms at once), small beside what the file becomes.
const WINDOW_BYTES: u64 = 32 << 20;

/// Reads a blob from its start.
pub(super) struct BlobReader {
    reader: FileReaderSync,
    blob: Blob,
    size_bytes: u64,
    /// Begin of the next window, in bytes of the blob.
    next_bytes: u64,
    /// The window's bytes outside of the module's memory. Pieces as large as the caller's buffer are copied.
    window: Uint8Array,
    window_used: u32,
    /// What is sent here is gone.
    away: MessagePort,
}

impl BlobReader {
    /// A reader that begins at the first byte.
    ///
    /// # Errors
    /// Outside of a worker.
    pub(super) fn new(blob: Blob) -> Result<Self, JsValue> {
        let channel = MessageChannel::new()?;
        channel.port2().close();
        Ok(Self {
            reader: FileReaderSync::new()?,
            // Exact: sizes are below 2^53.
            size_bytes: blob.size() as u64,
            blob,
            next_bytes: 0,
            window: Uint8Array::new_with_length(0),
            window_used: 0,
            away: channel.port1(),
        })
    }

    /// The blob's size in bytes.
    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The first bytes, at most so many, which are read again after that. To be called before the first read.
    ///
    /// # Errors
    /// If the browser refuses to read the file.
    pub(super) fn head(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        if self.window.length() == 0 && self.size_bytes > 0 {
            self.fill()?;
        }
        let end = self.window.length().min(bytes as u32);
        Ok(self.window.subarray(0, end).to_vec())
    }

    /// Frees the window's memory. Browsers would keep it until they next collect garbage, which a worker that waits for
    /// questions may not see: of a file of 109 MB, all 109 MB stayed.
    fn free(&mut self) {
        let window = std::mem::replace(&mut self.window, Uint8Array::new_with_length(0));
        let moving = Array::of1(&window.buffer());
        let _ = self
            .away
            .post_message_with_transferable(&JsValue::NULL, &moving);
    }

    fn fill(&mut self) -> io::Result<()> {
        self.free();
        let end = (self.next_bytes + WINDOW_BYTES).min(self.size_bytes);
        let read = || {
            let slice = self
                .blob
                .slice_with_f64_and_f64(self.next_bytes as f64, end as f64)?;
            self.reader.read_as_array_buffer(&slice)
        };
        // Browsers refuse to read a file that was changed or removed after it was picked.
        let buffer =
            read().map_err(|error| io::Error::other(crate::browser::error_text(&error)))?;
        self.window = Uint8Array::new(&buffer);
        self.window_used = 0;
        self.next_bytes = end;
        Ok(())
    }
}

impl Drop for BlobReader {
    fn drop(&mut self) {
        self.free();
    }
}

impl Read for BlobReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.window_used == self.window.length() && self.next_bytes < self.size_bytes {
            self.fill()?;
        }
        let left = (self.window.length() - self.window_used) as usize;
        let length = left.min(out.len());
        let end = self.window_used + length as u32;
        self.window
            .subarray(self.window_used, end)
            .copy_to(&mut out[..length]);
        self.window_used = end;
        Ok(length)
    }
}
