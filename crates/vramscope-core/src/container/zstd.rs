//! Zstandard: any number of frames one after another, skippable ones among them.

use std::io::{self, Read};
use std::rc::Rc;

use ruzstd::decoding::errors::{FrameDecoderError, FrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::Counters;
use super::layer::Layer;
use crate::ErrorKind;

const PLACE: &str = "in the middle of zstd data";

/// Largest window. `zstd --ultra -22` and `--long` need as much, and the zstd tool accepts no more by default.
const MAX_WINDOW_BYTES: u64 = 128 << 20;

/// The most that the decoder adds to a window for a block before it refuses the block: 1 MiB of literals, the 128 KiB
/// that a block may hold, and one match too many.
const BLOCK_BYTES: usize = (1 << 20) + (128 << 10) + (132 << 10);

/// The most bytes that the decoder takes besides the window while it decodes a block: the block, its literals and
/// its sequences in lists that double, and its tables.
const SCRATCH_BYTES: usize = 4 << 20;

const CHECK_SUM_BYTES: usize = 4;

/// The frames' contents, one after another.
pub(super) struct ZstdReader<'a> {
    source: Layer<'a>,
    /// The frame being read. Each has a new decoder: reusing one would reserve the whole window that
    /// a frame claims, however short the frame is.
    frame: Option<FrameDecoder>,
    /// Bytes of the frame that were returned; the window holds the last of them.
    frame_bytes: u64,
    window_bytes: u64,
    /// Whether a check sum follows the frame's blocks.
    has_check_sum: bool,
    /// Whether only the frame's check sum is cut off.
    is_cut: bool,
    counters: Rc<Counters>,
}

impl<'a> ZstdReader<'a> {
    pub(super) fn new(source: Layer<'a>, counters: Rc<Counters>) -> Self {
        Self {
            source,
            frame: None,
            frame_bytes: 0,
            window_bytes: 0,
            has_check_sum: false,
            is_cut: false,
            counters,
        }
    }

    /// Counts the bytes of the current frame.
    fn set_frame_bytes(&mut self, bytes: u64) {
        let window = &self.counters.window_bytes;
        let others = window.get() - self.frame_bytes.min(self.window_bytes);
        self.frame_bytes = bytes;
        window.set(others + bytes.min(self.window_bytes));
    }

    /// Opens the next frame; `false` at the end. Data after the last frame is skipped.
    fn next_frame(&mut self) -> Result<bool, ErrorKind> {
        loop {
            let head = self
                .source
                .peek(4)
                .map_err(|error| super::layer::kind_of(&error))?;
            match head {
                [0x50..=0x5f, 0x2a, 0x4d, 0x18] => {
                    self.counters.add_part()?;
                    let [_, _, _, _, length @ ..] = self.source.take_bytes::<8>(PLACE)?;
                    self.source
                        .skip(u64::from(u32::from_le_bytes(length)), PLACE)?;
                }
                [0x28, 0xb5, 0x2f, 0xfd] => break,
                _ => {
                    let has_other = self.source.drain()?;
                    self.counters.add_trailing(has_other);
                    return Ok(false);
                }
            }
        }
        let head = self
            .source
            .peek(6)
            .map_err(|error| super::layer::kind_of(&error))?;
        let window_bytes = window_bytes(head);
        self.has_check_sum = head.get(4).is_some_and(|flags| flags & 4 != 0);
        self.counters.add_part()?;
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(MAX_WINDOW_BYTES);
        frame
            .init(&mut self.source)
            .map_err(|error| self.explain(&error))?;
        // A frame of a single segment is its own window.
        self.window_bytes = window_bytes.unwrap_or(frame.content_size().min(MAX_WINDOW_BYTES));
        self.frame = Some(frame);
        Ok(true)
    }

    /// Reads the next bytes; 0 at the end of the last frame.
    fn read_some(&mut self, out: &mut [u8]) -> Result<usize, ErrorKind> {
        loop {
            let Some(frame) = &mut self.frame else {
                if self.next_frame()? {
                    continue;
                }
                return Ok(0);
            };
            if frame.can_collect() > 0 {
                let read = frame.read(out).map_err(|error| damaged(&error))?;
                self.set_frame_bytes(self.frame_bytes + read as u64);
                return Ok(read);
            }
            if frame.is_finished() {
                if self.is_cut {
                    return Err(self.source.blame(PLACE, || ErrorKind::Truncated(PLACE)));
                }
                check_sum(frame)?;
                self.frame = None;
                self.set_frame_bytes(0);
                continue;
            }
            self.counters.add_part()?;
            let decoded = (frame.blocks_decoded() as u64).saturating_mul(BLOCK_BYTES as u64);
            try_room(decoded.min(self.window_bytes) as usize)?;
            let strategy = BlockDecodingStrategy::UptoBlocks(1);
            let mut source = Padded {
                source: &mut self.source,
                left: if self.has_check_sum {
                    CHECK_SUM_BYTES
                } else {
                    0
                },
                is_used: false,
            };
            let decoded = frame.decode_blocks(&mut source, strategy);
            let is_padded = source.is_used;
            match decoded {
                // There are only as many zeros as a check sum has bytes, so in a complete frame they stand for nothing else.
                Ok(_) if is_padded && frame.is_finished() => self.is_cut = true,
                Ok(_) if is_padded => {
                    return Err(self.source.blame(PLACE, || ErrorKind::Truncated(PLACE)));
                }
                Ok(_) => {}
                Err(error) => return Err(self.explain(&error)),
            }
        }
    }

    fn explain(&self, error: &FrameDecoderError) -> ErrorKind {
        self.source.blame(PLACE, || match error {
            FrameDecoderError::WindowSizeTooBig { .. }
            | FrameDecoderError::FrameHeaderError(FrameHeaderError::WindowTooBig { .. }) => {
                ErrorKind::Limit {
                    what: "the window of the zstd data in bytes",
                    limit: MAX_WINDOW_BYTES,
                }
            }
            _ => damaged(error),
        })
    }
}

/// A source followed by a few zeros: the decoder returns its last bytes only after it has read a check sum.
struct Padded<'s, 'a> {
    source: &'s mut Layer<'a>,
    /// Zeros still to come.
    left: usize,
    is_used: bool,
}

impl Read for Padded<'_, '_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(out)?;
        if read > 0 || out.is_empty() {
            return Ok(read);
        }
        let count = self.left.min(out.len());
        out.iter_mut().take(count).for_each(|byte| *byte = 0);
        self.left -= count;
        self.is_used |= count > 0;
        Ok(count)
    }
}

/// Checks that there is memory for all that decoding a block may take, with at most `held_bytes` of the frame held:
/// without it, the decoder panics.
///
/// The decoder does not say how much it holds and has reserved, and its tables grow from block to block, so this is
/// checked before each block. Memory that is not written to costs next to nothing.
///
/// # Errors
/// [`ErrorKind::NoMemory`].
fn try_room(held_bytes: usize) -> Result<(), ErrorKind> {
    let ring = (held_bytes + BLOCK_BYTES).next_power_of_two() + (256 << 10) + 1;
    let room = ring + SCRATCH_BYTES;
    match Vec::<u8>::new().try_reserve_exact(room) {
        Ok(()) => Ok(()),
        Err(_) => Err(ErrorKind::NoMemory(room as u64)),
    }
}

/// The size of a frame's window by its first 6 bytes (RFC 8878, 3.1.1.1), which the decoder does not expose. `None` for
/// a single segment.
fn window_bytes(head: &[u8]) -> Option<u64> {
    match *head {
        [_, _, _, _, flags, size] if flags & 0x20 == 0 => {
            let base = 1_u64 << (10 + (size >> 3));
            Some((base + base / 8 * u64::from(size & 7)).min(MAX_WINDOW_BYTES))
        }
        _ => None,
    }
}

impl Read for ZstdReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        self.read_some(out).map_err(io::Error::other)
    }
}

/// Verifies the frame's check sum, if it has one.
fn check_sum(frame: &FrameDecoder) -> Result<(), ErrorKind> {
    match frame.get_checksum_from_data() {
        Some(expected) if frame.get_calculated_checksum() != Some(expected) => {
            Err(ErrorKind::CheckSum("zstd"))
        }
        _ => Ok(()),
    }
}

fn damaged(what: &dyn std::fmt::Display) -> ErrorKind {
    ErrorKind::Malformed(format!("the zstd data is damaged: {what}"))
}
