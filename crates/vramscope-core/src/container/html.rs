//! The pages of torch's `trace_plot`, `segment_plot` and `profile_plot`, which contain the snapshot as base64:
//!
//! ```text
//! const local_files = [{"name": "snapshot.pickle", "base64": "gASV…"}]
//! ```
//! The payload is a pickle and one to three NUL bytes. The pages of `vramscope html` are read as well:
//!
//! ```text
//! <script type="application/octet-stream" data-file="snapshot.pickle">KLUv/…</script>
//! ```

use std::io::{self, BufRead, Read};
use std::rc::Rc;

use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::read::DecoderReader;
use memchr::memmem;

use super::Counters;
use super::layer::{LOOKAHEAD, Layer, kind_of};
use crate::ErrorKind;
use crate::error::Lookalike;

const FILES: &[u8] = b"const local_files";
const OWN_FILE: &[u8] = b"<script type=\"application/octet-stream\" data-file=\"";
const TORCH_2_0: &[u8] = b"let alloc_data";
const IN_PAGE: &str = "in the middle of an HTML page";
const IN_BASE64: &str = "in the middle of the base64 in an HTML page";

/// Longest key or file name.
const MAX_STRING_BYTES: usize = 4 << 10;

static BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

pub(super) struct HtmlReader<'a> {
    /// `None` after its end.
    payload: Option<DecoderReader<'static, GeneralPurpose, Quoted<'a>>>,
    counters: Rc<Counters>,
}

impl<'a> HtmlReader<'a> {
    /// Reads up to the first embedded file.
    ///
    /// # Errors
    /// [`ErrorKind::NotASnapshot`] if there is none.
    pub(super) fn open(mut source: Layer<'a>, counters: Rc<Counters>) -> Result<Self, ErrorKind> {
        let kind = find_files(&mut source)?;
        let is_open = match kind {
            Kind::Torch => open_list(&mut source)? && open_file(&mut source)?,
            Kind::Own => open_own(&mut source)?,
        };
        if !is_open {
            return Err(ErrorKind::NotASnapshot(Lookalike::OtherHtml));
        }
        let payload = DecoderReader::new(
            Quoted {
                source,
                kind,
                ended: false,
            },
            &BASE64,
        );
        Ok(Self {
            payload: Some(payload),
            counters,
        })
    }
}

impl Read for HtmlReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let Some(payload) = &mut self.payload else {
            return Ok(0);
        };
        if out.is_empty() {
            return Ok(0);
        }
        let read = payload.read(out).map_err(|error| match error.kind() {
            io::ErrorKind::InvalidData => io::Error::other(damaged(&error.to_string())),
            _ => error,
        })?;
        if read == 0
            && let Some(payload) = self.payload.take()
        {
            let mut rest = payload.into_inner();
            let counted = rest.count_further(&self.counters);
            // The rest of the page is not data.
            let _has_other = rest.source.drain().map_err(io::Error::other)?;
            counted.map_err(io::Error::other)?;
        }
        Ok(read)
    }
}

/// The program that wrote the page.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Torch,
    Own,
}

impl Kind {
    /// The byte after the base64.
    fn end(self) -> u8 {
        match self {
            Self::Torch => b'"',
            Self::Own => b'<',
        }
    }
}

/// A string's bytes up to the closing quote or tag.
struct Quoted<'a> {
    source: Layer<'a>,
    kind: Kind,
    ended: bool,
}

impl Read for Quoted<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ended || out.is_empty() {
            return Ok(0);
        }
        loop {
            let available = self.source.fill_buf()?;
            let end = self.kind.end();
            let plain = memchr::memchr2(end, b'\\', available).unwrap_or(available.len());
            if plain > 0 {
                let count = plain.min(out.len());
                out[..count].copy_from_slice(&available[..count]);
                self.source.consume(count);
                return Ok(count);
            }
            match available.first() {
                None => return Err(io::Error::other(ErrorKind::Truncated(IN_BASE64))),
                Some(&byte) if byte == end => {
                    self.source.consume(1);
                    self.ended = true;
                    return Ok(0);
                }
                // JSON may write `/` as `\/`. base64 contains nothing else that is escaped.
                Some(_) => self.source.consume(1),
            }
        }
    }
}

impl Quoted<'_> {
    /// Continues with the next file's base64; `false` if there is none.
    fn next_file(&mut self) -> Result<bool, ErrorKind> {
        match self.kind {
            Kind::Torch => next_file(&mut self.source),
            Kind::Own => match find_files(&mut self.source) {
                Ok(kind) => Ok(kind == Kind::Own && open_own(&mut self.source)?),
                Err(ErrorKind::NotASnapshot(_)) => Ok(false),
                Err(kind) => Err(kind),
            },
        }
    }

    /// Counts the further files.
    ///
    /// # Errors
    /// If one is damaged or cut off, or there are more than the file pays for.
    fn count_further(&mut self, counters: &Counters) -> Result<(), ErrorKind> {
        while self.next_file()? {
            counters.add_part()?;
            counters.add_further_files(1);
            self.ended = false;
            let mut payload = DecoderReader::new(&mut *self, &BASE64);
            io::copy(&mut payload, &mut io::sink()).map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => damaged(&error.to_string()),
                _ => kind_of(&error),
            })?;
        }
        Ok(())
    }
}

/// Consumes up to and including `const local_files`, or up to a file embedded by vramscope.
fn find_files(source: &mut Layer<'_>) -> Result<Kind, ErrorKind> {
    let (torch, own) = (memmem::Finder::new(FILES), memmem::Finder::new(OWN_FILE));
    let mut is_torch_2_0 = false;
    loop {
        let head = source.peek(LOOKAHEAD).map_err(|error| kind_of(&error))?;
        let length = head.len();
        if let Some(at) = own.find(head) {
            source.consume(at);
            return Ok(Kind::Own);
        }
        if let Some(at) = torch.find(head) {
            source.consume(at + FILES.len());
            return Ok(Kind::Torch);
        }
        is_torch_2_0 |= memmem::find(head, TORCH_2_0).is_some();
        if length < LOOKAHEAD {
            return Err(ErrorKind::NotASnapshot(match is_torch_2_0 {
                true => Lookalike::Torch20Html,
                false => Lookalike::OtherHtml,
            }));
        }
        source.consume(length - FILES.len().max(OWN_FILE.len()));
    }
}

/// Consumes the opening tag of a file embedded by vramscope. A name never contains `>`.
fn open_own(source: &mut Layer<'_>) -> Result<bool, ErrorKind> {
    let head = source.peek(OWN_FILE.len() + MAX_STRING_BYTES);
    let head = head.map_err(|error| kind_of(&error))?;
    let end = memchr::memchr(b'>', head);
    source.consume(end.map_or(0, |end| end + 1));
    Ok(end.is_some())
}

/// Consumes ` = [`; `false` if something else comes.
fn open_list(source: &mut Layer<'_>) -> Result<bool, ErrorKind> {
    Ok(accept(source, b'=')? && accept(source, b'[')?)
}

/// Moves from the end of a file's base64 to the next file's base64; `false` at the end of the list.
fn next_file(source: &mut Layer<'_>) -> Result<bool, ErrorKind> {
    while accept(source, b',')? {
        // Further keys of the same file.
        if peek_byte(source)? == b'{' {
            return open_file(source);
        }
        skip_pair(source)?;
    }
    Ok(accept(source, b'}')? && accept(source, b',')? && open_file(source)?)
}

/// Consumes `{"name": "…", "base64": "`; `false` if something else comes.
fn open_file(source: &mut Layer<'_>) -> Result<bool, ErrorKind> {
    if !accept(source, b'{')? {
        return Ok(false);
    }
    loop {
        let is_payload = read_string(source)? == b"base64";
        if !accept(source, b':')? {
            return Ok(false);
        }
        if is_payload {
            return accept(source, b'"');
        }
        read_string(source)?;
        if !accept(source, b',')? {
            return Ok(false);
        }
    }
}

/// Consumes `"key": "value"`.
fn skip_pair(source: &mut Layer<'_>) -> Result<(), ErrorKind> {
    read_string(source)?;
    accept(source, b':')?;
    read_string(source)?;
    Ok(())
}

/// Reads a short string without its quotes. Escapes stay as they are.
fn read_string(source: &mut Layer<'_>) -> Result<Vec<u8>, ErrorKind> {
    if !accept(source, b'"')? {
        return Err(damaged("in its list of files"));
    }
    let mut text = Vec::new();
    loop {
        let byte = take_byte(source)?;
        match byte {
            b'"' => return Ok(text),
            b'\\' => text.extend([byte, take_byte(source)?]),
            _ => text.push(byte),
        }
        if text.len() > MAX_STRING_BYTES {
            return Err(damaged("in its list of files"));
        }
    }
}

/// Consumes white space, and then `wanted` if it comes next. Returns whether it did.
fn accept(source: &mut Layer<'_>, wanted: u8) -> Result<bool, ErrorKind> {
    let is_next = peek_byte(source)? == wanted;
    if is_next {
        source.consume(1);
    }
    Ok(is_next)
}

/// The next byte that is not white space, without consuming it.
fn peek_byte(source: &mut Layer<'_>) -> Result<u8, ErrorKind> {
    loop {
        match source.peek(1).map_err(|error| kind_of(&error))?.first() {
            Some(byte) if byte.is_ascii_whitespace() => source.consume(1),
            Some(&byte) => return Ok(byte),
            None => return Err(ErrorKind::Truncated(IN_PAGE)),
        }
    }
}

fn take_byte(source: &mut Layer<'_>) -> Result<u8, ErrorKind> {
    source.take_bytes::<1>(IN_PAGE).map(|[byte]| byte)
}

fn damaged(what: &str) -> ErrorKind {
    ErrorKind::Malformed(format!("the snapshot in the HTML page is damaged: {what}"))
}
