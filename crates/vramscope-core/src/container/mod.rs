//! Containers around a snapshot, taken off layer by layer while the bytes stream through.
//!
//! ```text
//! file ─> Layer ─> gzip | zstd | zip | html ─> Layer ─> … ─> pickle, JSON or columns
//! ```
//! Every format is recognised by its first bytes, never by a name. Nothing is held as a whole: a
//! layer has 64 KiB of lookahead, and a decompressor its window.

mod gzip;
mod html;
mod inflate;
mod input;
mod layer;
mod sniff;
mod zip;
mod zip_entry;
mod zstd;

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

pub(crate) use self::input::{Input, WINDOW};
use self::layer::Layer;
pub use self::layer::kind_of;
pub(crate) use self::sniff::{FLEET, PACKED};
use self::sniff::{Format, HEAD, bom_length, is_graph, sniff};
pub use self::sniff::{is_graph_json, is_log, is_trace_log};
use crate::model::ContainerKind;
use crate::{Error, ErrorKind, Limits, limits};

/// The encoding of the unwrapped snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    /// A pickle of any protocol.
    Pickle,
    /// JSON; a byte order mark has been removed.
    Json,
    /// A memory timeline of torch.profiler, which is JSON too.
    Timeline,
    /// Columns: see [`crate::vram_format`].
    Packed,
}

/// Figures counted while the bytes stream through.
#[derive(Default, Debug)]
pub(crate) struct Counters {
    limits: Limits,
    /// Bytes of the file read so far, containers included.
    pub(crate) file_bytes: Cell<u64>,
    /// Bytes that decompressors hold, at most.
    pub(crate) window_bytes: Cell<u64>,
    /// Number of further snapshots in the same zip or HTML. Complete once the input has been read to its end.
    pub(crate) further_files: Cell<u64>,
    /// Whether something other than NULs follows the end of a container.
    pub(crate) has_trailing_bytes: Cell<bool>,
    /// The cost so far of the parts of all containers, in unwrapped bytes.
    work_bytes: Cell<u64>,
}

impl Counters {
    fn new(limits: Limits) -> Self {
        Self {
            limits,
            ..Self::default()
        }
    }

    /// Most unwrapped bytes for the part of the file read so far.
    fn most_unwrapped_bytes(&self) -> u64 {
        self.limits.unwrapped_bytes(self.file_bytes.get(), true)
    }

    /// Counts a member, frame, block or entry that is about to be opened.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the file has not paid for it.
    fn add_part(&self) -> Result<(), ErrorKind> {
        self.add_work(limits::PART_BYTES)
    }

    /// Counts bytes that were unwrapped only to be skipped.
    ///
    /// # Errors
    /// [`ErrorKind::Limit`] if the file has not paid for them.
    fn add_work(&self, bytes: u64) -> Result<(), ErrorKind> {
        let work = self.work_bytes.get().saturating_add(bytes);
        self.work_bytes.set(work);
        let limit = self.most_unwrapped_bytes();
        if work > limit {
            let what = "what the parts of its containers cost, in bytes";
            return Err(ErrorKind::Limit { what, limit });
        }
        Ok(())
    }

    /// The amounts read so far, at this offset in the unwrapped data.
    pub(crate) fn read(&self, unwrapped_bytes: u64, has_records: bool) -> limits::Read {
        limits::Read {
            file_bytes: self.file_bytes.get(),
            unwrapped_bytes,
            has_records,
        }
    }

    /// Notes whether anything but padding follows a container's end.
    fn add_trailing(&self, has_other: bool) {
        let has_trailing = &self.has_trailing_bytes;
        has_trailing.set(has_trailing.get() || has_other);
    }

    fn add_further_files(&self, count: u64) {
        self.further_files.set(self.further_files.get() + count);
    }
}

/// A file without its containers.
pub(crate) struct Unwrapped<'a> {
    pub(crate) encoding: Encoding,
    /// The pickle, JSON or columns. Its errors carry an [`ErrorKind`].
    pub(crate) input: Box<dyn BufRead + 'a>,
    /// The containers, the outermost first.
    pub(crate) containers: Vec<ContainerKind>,
    /// The first bytes of `input`, at most 64.
    pub(crate) head: Vec<u8>,
    pub(crate) counters: Rc<Counters>,
}

/// Takes off the containers around a snapshot.
///
/// # Errors
/// If the file is damaged or not a snapshot. The error has the containers and the first bytes, as far as they were read.
pub(crate) fn unwrap<'a>(input: impl Read + 'a, limits: &Limits) -> Result<Unwrapped<'a>, Error> {
    let (mut layer, counters) = outermost(input, limits);
    let mut containers = Vec::new();
    loop {
        let mut head = Vec::new();
        let opened = look(&mut layer, &mut head, containers.last())
            .and_then(|format| open(format, layer, &counters));
        let refused = match opened {
            Ok(Opened::Bare(encoding, layer)) => {
                let input = Box::new(layer);
                return Ok(Unwrapped {
                    encoding,
                    input,
                    containers,
                    head,
                    counters,
                });
            }
            Ok(Opened::Wrapping(kind, reader)) if containers.len() < limits.containers => {
                containers.push(kind);
                layer = Layer::limited(reader, Rc::clone(&counters));
                continue;
            }
            Ok(Opened::Wrapping(..)) => {
                let limit = limits.containers as u64;
                ErrorKind::Limit {
                    what: "the number of wrappings in each other",
                    limit,
                }
            }
            Err(kind) => kind,
        };
        return Err(Error {
            containers,
            head,
            ..refused.into()
        });
    }
}

/// The file as it was given, with the counters of its bytes.
fn outermost<'a>(input: impl Read + 'a, limits: &Limits) -> (Layer<'a>, Rc<Counters>) {
    let counters = Rc::new(Counters::new(*limits));
    let counting = CountingReader {
        inner: input,
        counters: Rc::clone(&counters),
    };
    (Layer::new(Box::new(counting)), counters)
}

/// Whether the file that begins with `head` (4 KiB are enough) is a pickle in no container.
#[must_use]
pub fn is_plain_pickle(head: &[u8]) -> bool {
    sniff(head) == Ok(Format::Pickle)
}

/// [`unwrap`] for a pickle or a packed snapshot that nothing is around.
///
/// # Errors
/// If the file cannot be read or is something else.
pub(crate) fn plain<'a>(
    input: impl Read + 'a,
    encoding: Encoding,
    limits: &Limits,
) -> Result<Unwrapped<'a>, Error> {
    let (mut layer, counters) = outermost(input, limits);
    let mut head = Vec::new();
    let containers = Vec::new();
    let refused = match (look(&mut layer, &mut head, None), encoding) {
        (Ok(Format::Pickle), Encoding::Pickle) | (Ok(Format::Packed), Encoding::Packed) => {
            return Ok(Unwrapped {
                encoding,
                input: Box::new(layer),
                containers,
                head,
                counters,
            });
        }
        (Ok(_), _) => ErrorKind::UnknownFormat,
        (Err(kind), _) => kind,
    };
    Err(Error {
        containers,
        head,
        ..refused.into()
    })
}

/// Recognises the format of the data in `layer`, and stores its first bytes in `head`.
fn look(
    layer: &mut Layer<'_>,
    head: &mut Vec<u8>,
    wrapping: Option<&ContainerKind>,
) -> Result<Format, ErrorKind> {
    let bytes = layer.peek(HEAD).map_err(|error| kind_of(&error))?;
    head.extend(bytes.iter().take(64));
    match (sniff(bytes), wrapping) {
        (Err(ErrorKind::Empty), Some(_)) => Err(ErrorKind::EmptyInside),
        (format, _) => format,
    }
}

/// The kind of a file, judged by its first bytes and never by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    /// Graphs of torch.compile: a `TORCH_TRACE` log, tlparse's output, or the JSON of a graph.
    Graphs,
    /// A [fleet](crate::fleet).
    Fleet,
    /// Text in no particular format: a log, or the text of an error.
    Log,
    /// A snapshot, or any other file; [`decode`](crate::decode()) reports what it is.
    Snapshot,
}

/// Bytes from which [`FileKind::of`] recognises a file that is not compressed by zstd.
pub const HEAD_BYTES: usize = 4 << 10;

impl FileKind {
    /// How many bytes of a file that begins with `head` must be known to recognise it. Of a file compressed by zstd nothing
    /// comes out before a whole window has been unpacked, which has 2 MiB at the usual level.
    #[must_use]
    pub fn head_bytes(head: &[u8]) -> usize {
        match sniff(head) {
            Ok(Format::Zstd) => 4 << 20,
            _ => HEAD_BYTES,
        }
    }

    /// The kind of the file that begins with `head`, compressed or not. [`head_bytes`](Self::head_bytes) are enough.
    #[must_use]
    pub fn of(head: &[u8]) -> Self {
        let mut unpacked_head = Vec::new();
        if head.starts_with(FLEET) {
            return Self::Fleet;
        }
        let is_compressed = matches!(sniff(head), Ok(Format::Gzip | Format::Zstd));
        if is_compressed && let Ok(input) = unpacked(head, &Limits::default()) {
            // The head is cut off, so an error at its end is expected.
            let _end = input.take(HEAD as u64).read_to_end(&mut unpacked_head);
        }
        let head = if is_compressed { &unpacked_head } else { head };
        if is_graph(head) {
            Self::Graphs
        } else if is_log(head) {
            Self::Log
        } else {
            Self::Snapshot
        }
    }
}

/// Takes gzip and zstd off a file that is not a snapshot.
///
/// # Errors
/// If it cannot be read or is compressed more often than `limits` allow.
pub fn unpacked<'a>(
    input: impl Read + 'a,
    limits: &Limits,
) -> Result<Box<dyn BufRead + 'a>, ErrorKind> {
    let (mut layer, counters) = outermost(input, limits);
    for _ in 0..=limits.containers {
        let head = layer.peek(HEAD).map_err(|error| kind_of(&error))?;
        let reader = match sniff(head) {
            Ok(Format::Gzip) => gzip(layer, &counters),
            Ok(Format::Zstd) => zstd(layer, &counters)?,
            _ => return Ok(Box::new(layer)),
        };
        layer = Layer::limited(reader, Rc::clone(&counters));
    }
    Err(ErrorKind::Limit {
        what: "the number of wrappings in each other",
        limit: limits.containers as u64,
    })
}

fn gzip<'a>(source: Layer<'a>, counters: &Rc<Counters>) -> Box<dyn Read + 'a> {
    Box::new(gzip::GzipReader::new(source, Rc::clone(counters)))
}

fn zstd<'a>(
    mut source: Layer<'a>,
    counters: &Rc<Counters>,
) -> Result<Box<dyn Read + 'a>, ErrorKind> {
    source.set_packed()?;
    let counters = Rc::clone(counters);
    Ok(Box::new(zstd::ZstdReader::new(source, counters)))
}

enum Opened<'a> {
    Wrapping(ContainerKind, Box<dyn Read + 'a>),
    Bare(Encoding, Layer<'a>),
}

fn open<'a>(
    format: Format,
    mut layer: Layer<'a>,
    counters: &Rc<Counters>,
) -> Result<Opened<'a>, ErrorKind> {
    Ok(match format {
        Format::Gzip => Opened::Wrapping(ContainerKind::Gzip, gzip(layer, counters)),
        Format::Zstd => Opened::Wrapping(ContainerKind::Zstd, zstd(layer, counters)?),
        Format::Zip => {
            let reader = zip::ZipReader::open(layer, Rc::clone(counters))?;
            Opened::Wrapping(ContainerKind::Zip, Box::new(reader))
        }
        Format::Html => {
            let reader = html::HtmlReader::open(layer, Rc::clone(counters))?;
            Opened::Wrapping(ContainerKind::Html, Box::new(reader))
        }
        Format::Json | Format::Timeline => {
            let encoding = match format {
                Format::Timeline => Encoding::Timeline,
                _ => Encoding::Json,
            };
            let bom = layer
                .peek(HEAD)
                .map(bom_length)
                .map_err(|error| kind_of(&error))?;
            layer.consume(bom);
            Opened::Bare(encoding, layer)
        }
        Format::Pickle => Opened::Bare(Encoding::Pickle, layer),
        Format::Packed => Opened::Bare(Encoding::Packed, layer),
    })
}

struct CountingReader<R> {
    inner: R,
    counters: Rc<Counters>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(out)?;
        self.counters
            .file_bytes
            .set(self.counters.file_bytes.get() + read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests;
