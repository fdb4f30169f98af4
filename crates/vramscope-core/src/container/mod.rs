//! What a snapshot comes wrapped in, taken off layer by layer while the bytes stream through.
//!
//! ```text
//! file ─> Layer ─> gzip | zstd | zip | html ─> Layer ─> … ─> pickle, JSON or columns
//! ```
//! Every format is recognised by its first bytes, never by a name, and nothing is ever held whole: a
//! layer has 64 KiB of lookahead, and a decompressor its window.

mod gzip;
mod html;
mod layer;
mod sniff;
mod zip;
mod zip_entry;
mod zstd;

use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use self::layer::Layer;
pub(crate) use self::layer::kind_of;
use self::sniff::{Format, HEAD, bom_length, sniff};
use crate::model::ContainerKind;
use crate::{Error, ErrorKind, Limits};

/// How the unwrapped bytes encode the snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Encoding {
    /// A pickle of any protocol.
    Pickle,
    /// JSON; a byte order mark has been removed.
    Json,
    /// Columns: see [`crate::pack`].
    Packed,
}

/// What is counted while the bytes stream through.
#[derive(Default, Debug)]
pub(crate) struct Counters {
    /// Bytes of the file read so far, wrappings included.
    pub(crate) file_bytes: Cell<u64>,
    /// Further snapshots in the same zip or HTML; complete once the input has been read to its end.
    pub(crate) further_files: Cell<u64>,
}

impl Counters {
    fn add_further_files(&self, count: u64) {
        self.further_files.set(self.further_files.get() + count);
    }
}

/// A file without its wrappings.
pub(crate) struct Unwrapped<'a> {
    pub(crate) encoding: Encoding,
    /// The pickle, JSON or columns. Its errors carry an [`ErrorKind`].
    pub(crate) input: Box<dyn BufRead + 'a>,
    /// The wrappings, from the outermost inwards.
    pub(crate) containers: Vec<ContainerKind>,
    /// The first bytes of `input`, at most 64.
    pub(crate) head: Vec<u8>,
    pub(crate) counters: Rc<Counters>,
}

/// Takes off the wrappings around a snapshot.
///
/// # Errors
/// What the file is instead of a snapshot, or how it is damaged, with the wrappings and the first
/// bytes as far as they were seen.
pub(crate) fn unwrap<'a>(input: impl Read + 'a, limits: &Limits) -> Result<Unwrapped<'a>, Error> {
    let counters = Rc::new(Counters::default());
    let counting = CountingReader {
        inner: input,
        counters: Rc::clone(&counters),
    };
    let mut layer = Layer::new(Box::new(counting), u64::MAX);
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
                layer = Layer::new(reader, limits.decoded_bytes);
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

/// What comes next in `layer`; `head` receives its first bytes.
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

/// Whether something that is compressed begins like this.
pub(crate) fn is_compressed(head: &[u8]) -> bool {
    matches!(sniff(head), Ok(Format::Gzip | Format::Zstd))
}

/// Takes gzip and zstd off a file that is no snapshot.
///
/// # Errors
/// When it cannot be read or is compressed more often than `limits` allow.
pub(crate) fn unpacked<'a>(
    input: impl Read + 'a,
    limits: &Limits,
) -> Result<Box<dyn BufRead + 'a>, ErrorKind> {
    let mut layer = Layer::new(Box::new(input), u64::MAX);
    for _ in 0..=limits.containers {
        let head = layer.peek(HEAD).map_err(|error| kind_of(&error))?;
        let reader: Box<dyn Read + 'a> = match sniff(head) {
            Ok(Format::Gzip) => Box::new(gzip::GzipReader::new(layer)),
            Ok(Format::Zstd) => Box::new(zstd::ZstdReader::new(layer)),
            _ => return Ok(Box::new(layer)),
        };
        layer = Layer::new(reader, limits.decoded_bytes);
    }
    Err(ErrorKind::Limit {
        what: "the number of wrappings in each other",
        limit: limits.containers as u64,
    })
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
        Format::Gzip => {
            Opened::Wrapping(ContainerKind::Gzip, Box::new(gzip::GzipReader::new(layer)))
        }
        Format::Zstd => {
            Opened::Wrapping(ContainerKind::Zstd, Box::new(zstd::ZstdReader::new(layer)))
        }
        Format::Zip => {
            let reader = zip::ZipReader::open(layer, Rc::clone(counters))?;
            Opened::Wrapping(ContainerKind::Zip, Box::new(reader))
        }
        Format::Html => {
            let reader = html::HtmlReader::open(layer, Rc::clone(counters))?;
            Opened::Wrapping(ContainerKind::Html, Box::new(reader))
        }
        Format::Json => {
            let bom = layer
                .peek(HEAD)
                .map(bom_length)
                .map_err(|error| kind_of(&error))?;
            layer.consume(bom);
            Opened::Bare(Encoding::Json, layer)
        }
        Format::Pickle => Opened::Bare(Encoding::Pickle, layer),
        Format::Packed => Opened::Bare(Encoding::Packed, layer),
    })
}

/// Counts the bytes of the file itself.
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
