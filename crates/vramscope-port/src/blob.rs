//! A `Blob` as a reader. Only windows of it are in memory at a time, so a file may be larger than the memory.
//!
//! Its stream is waited for where the decoder can wait: the browser then reads on while the decoder works, into two
//! buffers that take turns. Of 109 MB, 15 ms are waited, against 105 where the worker reads window by window.

use std::cell::RefCell;
use std::io::{self, Read};
use std::rc::Rc;

use js_sys::{Array, ArrayBuffer, Reflect, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, FileReaderSync, MessageChannel, MessagePort, ReadableStreamByobReader};

use vramscope_core::open::Arrival;
use vramscope_protocol::{Failure, error_text};

/// Bytes of a buffer for the stream. More do not come at once.
const PIECE_BYTES: u32 = 2 << 20;

/// When so few bytes of a window are left, the next is waited for. More than a decoder takes in between, but for a long
/// text: then the rest of the blob is read without its stream.
const LAST_BYTES: u32 = 512 << 10;

/// Bytes of a window that is not streamed: large enough that the browser's overhead per slice does not show (109 MB took
/// 180 ms by 4 MiB, 130 ms by 32 MiB, 110 ms at once), small beside what the file becomes.
const WINDOW_BYTES: u64 = 32 << 20;

/// Reads a blob from its start. Clones read the same windows.
#[derive(Clone)]
pub struct BlobReader(Rc<RefCell<Windows>>);

struct Windows {
    reader: FileReaderSync,
    blob: Blob,
    size_bytes: u64,
    /// Begin of the window that is read next, in bytes of the blob.
    next_bytes: u64,
    /// The window's bytes outside of the module's memory. Pieces as large as the caller's buffer are copied.
    window: Uint8Array,
    window_used: u32,
    /// The window after it, if that has come.
    after: Option<Uint8Array>,
    /// The rest of the blob. `None` while it is waited for, in browsers that cannot do this, and once a caller did not
    /// wait.
    stream: Option<ReadableStreamByobReader>,
    /// The buffer for its next bytes.
    spare: Option<ArrayBuffer>,
    /// What is sent here is gone.
    away: MessagePort,
}

impl BlobReader {
    /// A reader that begins at the first byte.
    ///
    /// # Errors
    /// Outside of a worker.
    pub fn new(blob: Blob) -> Result<Self, Box<Failure>> {
        Self::of(blob).map_err(|error| {
            Box::new(Failure {
                message: format!("cannot read the file: {}", error_text(&error)),
                ..Failure::default()
            })
        })
    }

    fn of(blob: Blob) -> Result<Self, JsValue> {
        let channel = MessageChannel::new()?;
        channel.port2().close();
        Ok(Self(Rc::new(RefCell::new(Windows {
            reader: FileReaderSync::new()?,
            // Exact: sizes are below 2^53.
            size_bytes: blob.size() as u64,
            next_bytes: 0,
            window: Uint8Array::new_with_length(0),
            window_used: 0,
            after: None,
            stream: ReadableStreamByobReader::new(&blob.stream()).ok(),
            blob,
            spare: None,
            away: channel.port1(),
        }))))
    }

    /// All of the blob.
    #[must_use]
    pub fn blob(&self) -> Blob {
        self.0.borrow().blob.clone()
    }

    /// The blob's size in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.0.borrow().size_bytes
    }

    /// The first bytes, which are read again after that: at most so many, or as many as `needed` says of them. To be called
    /// once, before the first read.
    ///
    /// # Errors
    /// If the browser refuses to read the file.
    pub async fn head(
        &self,
        bytes: usize,
        needed: impl FnOnce(&[u8]) -> usize,
    ) -> io::Result<Vec<u8>> {
        if let Some(arrival) = self.arrival() {
            arrival.await;
        }
        let mut windows = self.0.borrow_mut();
        windows.fill()?;
        let first = |bytes: usize| {
            let end = windows.window.length().min(bytes as u32);
            windows.window.subarray(0, end).to_vec()
        };
        let head = first(bytes);
        let needed_bytes = needed(&head);
        Ok(match needed_bytes > bytes {
            true => first(needed_bytes),
            false => head,
        })
    }

    /// The next window, if it must be waited for now.
    #[must_use]
    pub fn arrival(&self) -> Option<Arrival> {
        let mut windows = self.0.borrow_mut();
        let left = windows.window.length() - windows.window_used;
        let has_next = windows.after.is_some() || windows.next_bytes == windows.size_bytes;
        let is_soon = left < LAST_BYTES && !has_next;
        let stream = windows.stream.take_if(|_| is_soon)?;
        let spare = windows.spare.take();
        let windows = self.0.clone();
        Some(Box::pin(async move {
            let buffer = spare.unwrap_or_else(|| ArrayBuffer::new(PIECE_BYTES));
            let read = stream.read_with_array_buffer_view(&Uint8Array::new(&buffer));
            let read = JsFuture::from(read).await;
            let value = read.and_then(|read| Reflect::get(&read, &"value".into()));
            // If nothing comes, the end is reached, or reading without the stream tells why.
            let window = value.ok().and_then(|value| value.dyn_into().ok());
            if let Some(window) = window.filter(|window: &Uint8Array| window.length() > 0) {
                windows.borrow_mut().take(window, stream);
            }
        }))
    }
}

impl Windows {
    /// Takes a window that the stream brought.
    fn take(&mut self, window: Uint8Array, stream: ReadableStreamByobReader) {
        self.next_bytes += u64::from(window.length());
        self.after = Some(window);
        self.stream = Some(stream);
    }

    /// Goes on to the next window.
    fn fill(&mut self) -> io::Result<()> {
        let next = match self.after.take() {
            Some(after) => after,
            None if self.next_bytes < self.size_bytes => self.unstreamed()?,
            None => return Ok(()),
        };
        let used = std::mem::replace(&mut self.window, next).buffer();
        self.window_used = 0;
        match used.byte_length() {
            PIECE_BYTES => self.spare = Some(used),
            _ => self.free(&used),
        }
        Ok(())
    }

    /// Reads the next window while nothing else is done.
    fn unstreamed(&mut self) -> io::Result<Uint8Array> {
        self.end_stream();
        let end = (self.next_bytes + WINDOW_BYTES).min(self.size_bytes);
        let read = || {
            let (from, to) = (self.next_bytes as f64, end as f64);
            let slice = self.blob.slice_with_f64_and_f64(from, to)?;
            self.reader.read_as_array_buffer(&slice)
        };
        // Browsers refuse to read a file that was changed or removed after it was picked.
        let buffer = read().map_err(|error| io::Error::other(error_text(&error)))?;
        self.next_bytes = end;
        Ok(Uint8Array::new(&buffer))
    }

    /// Has the browser read no further, as far as nobody waits for it.
    fn end_stream(&mut self) {
        if let Some(stream) = self.stream.take() {
            let _ = stream.cancel();
        }
    }

    /// Frees a buffer's memory. Browsers would keep it until they next collect garbage, which a worker that waits for
    /// questions may not see: of a file of 109 MB, all 109 MB stayed.
    fn free(&self, buffer: &ArrayBuffer) {
        let moving = Array::of1(buffer);
        let _ = self
            .away
            .post_message_with_transferable(&JsValue::NULL, &moving);
    }

    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.window_used == self.window.length() {
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

impl Drop for Windows {
    fn drop(&mut self) {
        self.end_stream();
        let windows = [&self.window].into_iter().chain(&self.after);
        let buffers = windows.map(Uint8Array::buffer).chain(self.spare.clone());
        buffers.for_each(|buffer| self.free(&buffer));
    }
}

impl Read for BlobReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.borrow_mut().read(out)
    }
}
