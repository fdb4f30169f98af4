//! Recognises formats by their first bytes, never by a name.

use memchr::memmem;

use super::layer::LOOKAHEAD;
use crate::ErrorKind;
use crate::error::Lookalike;

pub(super) const HEAD: usize = 4 << 10;

/// A format that can be opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Format {
    Gzip,
    Zstd,
    Zip,
    Html,
    Json,
    /// A memory timeline of torch.profiler: lists of numbers.
    Timeline,
    Pickle,
    Packed,
}

/// The first bytes of a [packed](crate::vram_format) snapshot. Neither a pickle nor UTF-8 text begins with the first one,
/// and a copy in text mode is detected by the line ends.
pub(crate) const PACKED: &[u8; 8] = b"\x93vram\r\n\n";

/// The first bytes of a [fleet](crate::fleet).
pub(crate) const FLEET: &[u8; 8] = b"\x93vset\r\n\n";

/// The beginning of a file by `torch.save` before 1.6: a pickle of a magic number in protocol 2.
const LEGACY_CHECKPOINT: &[u8] = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The format of data that begins with `head`: [`HEAD`] bytes, or all data if there is less.
///
/// # Errors
/// [`ErrorKind::NotASnapshot`] for files that are often mistaken for one, else [`ErrorKind::UnknownFormat`].
pub(super) fn sniff(head: &[u8]) -> Result<Format, ErrorKind> {
    let not_a_snapshot = |lookalike| Err(ErrorKind::NotASnapshot(lookalike));
    match head {
        [] => return Err(ErrorKind::Empty),
        [0x1f, 0x8b, ..] => return Ok(Format::Gzip),
        // A zstd frame, or a skippable one, which pzstd and the seekable format write first.
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
            return Ok(Format::Zstd);
        }
        _ if head.starts_with(PACKED) => return Ok(Format::Packed),
        _ if head.starts_with(FLEET) => return not_a_snapshot(Lookalike::Fleet),
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => return Ok(Format::Zip),
        _ if is_safetensors(head) => return not_a_snapshot(Lookalike::Safetensors),
        _ if head.starts_with(LEGACY_CHECKPOINT) => {
            return not_a_snapshot(Lookalike::TorchCheckpoint);
        }
        _ if head.iter().all(|&byte| byte == 0) => return not_a_snapshot(Lookalike::Nuls),
        _ if head.starts_with(b"version https://git-lfs") => {
            return not_a_snapshot(Lookalike::GitLfsPointer);
        }
        _ if head.starts_with(b"BZh") => return not_a_snapshot(Lookalike::Bzip2),
        _ if head.starts_with(b"\xfd7zXZ\0") => return not_a_snapshot(Lookalike::Xz),
        _ if head.get(257..262) == Some(b"ustar") => return not_a_snapshot(Lookalike::Tar),
        _ if is_picture(head) => return not_a_snapshot(Lookalike::Picture),
        _ if is_pickle(head) => return Ok(Format::Pickle),
        _ if is_graph(head) => return not_a_snapshot(Lookalike::InductorGraphs),
        _ => {}
    }
    match text(head) {
        [b'{', ..] => Ok(Format::Json),
        [b'[', rest @ ..] => match rest.trim_ascii_start() {
            [b'[', rest @ ..] if starts_number(rest.trim_ascii_start()) => Ok(Format::Timeline),
            _ => Ok(Format::Json),
        },
        [b'<', b'!' | b'?' | b'a'..=b'z' | b'A'..=b'Z', ..] => Ok(Format::Html),
        _ => Err(ErrorKind::UnknownFormat),
    }
}

/// Whether data begins like a graph of torch.compile, as a log or as JSON, uncompressed.
pub(super) fn is_graph(head: &[u8]) -> bool {
    is_trace_log(head) || is_graph_json(head)
}

/// Whether JSON begins like a graph of torch.compile.
#[must_use]
pub fn is_graph_json(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let has = |key: &[u8]| memmem::find(head, key).is_some();
    let has_words = || has(b"\"buffer_names\"") || has(b"\"unmet_deps\"") || has(b"\"size_alloc\"");
    let has_lists = || has(b"\"nodes\"") && has(b"\"buffers\"");
    // A snapshot may contain any key somewhere.
    let is_snapshot = || has(b"\"device_traces\"") || has(b"\"segments\"");
    head.trim_ascii_start().starts_with(b"{") && (has_words() || has_lists()) && !is_snapshot()
}

/// Whether a text begins like a TORCH_TRACE log: `V1120 15:07:08.375000 …`.
#[must_use]
pub fn is_trace_log(head: &[u8]) -> bool {
    let pattern = b"V0000 00:00:00.";
    head.len() >= pattern.len()
        && head
            .iter()
            .zip(pattern)
            .all(|(byte, expected)| match expected {
                b'0' => byte.is_ascii_digit(),
                b'V' => b"VDIWEC".contains(byte),
                _ => byte == expected,
            })
}

/// Whether a file begins like text in no particular format: a log, or an error that somebody pasted.
#[must_use]
pub fn is_log(head: &[u8]) -> bool {
    let is_letter = |&byte: &u8| byte >= b' ' || b"\t\n\r\x08\x0c\x1b".contains(&byte);
    // UTF-16, as PowerShell writes.
    if let Some(wide) = head.strip_prefix(b"\xff\xfe") {
        let is_ascii = |pair: &&[u8]| is_letter(&pair[0]) && pair[1] == 0;
        return wide.chunks_exact(2).filter(is_ascii).count() * 4 > wide.len();
    }
    if head.is_empty() || !head.iter().all(is_letter) {
        return false;
    }
    match (sniff(head), text(head)) {
        (Err(ErrorKind::UnknownFormat), _) => true,
        // `[rank0]: …` and `[2025-10-16 09:06:22 TP5] …` are not lists.
        (Ok(Format::Json), [b'[', rest @ ..]) if !starts_list(rest.trim_ascii_start()) => true,
        (Ok(Format::Json), text) => goes_on_after_json(text),
        _ => false,
    }
}

/// Whether a text begins with a list or dict of JSON that ends, and goes on: `[1,0]<stderr>: …` of mpirun, or a log with a
/// dict in each line. A snapshot that something follows is none.
fn goes_on_after_json(text: &[u8]) -> bool {
    let (mut depth, mut is_quoted, mut is_escaped) = (0_u32, false, false);
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            let (json, rest) = text.split_at(at + 1);
            let has = |key: &[u8]| memmem::find(json, key).is_some();
            let is_snapshot =
                has(b"\"device_traces\"") || has(b"\"segments\"") || has(b"\"total_size\"");
            return !is_snapshot && !rest.trim_ascii().is_empty();
        }
    }
    false
}

/// Whether a JSON list can continue like this after its bracket.
fn starts_list(text: &[u8]) -> bool {
    let word = text
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"+-.:/".contains(byte));
    let word = &text[..word.count()];
    match text {
        [] | [b'{' | b'[' | b'"' | b']', ..] => true,
        [b'-' | b'0'..=b'9', ..] => {
            !word[1..].iter().any(|byte| b"-:/".contains(byte)) || word.contains(&b'e')
        }
        _ => [&b"true"[..], b"false", b"null"].contains(&word),
    }
}

/// Like [`sniff`], for one file of several in an archive. A README or a config must not be
/// taken for the snapshot, so JSON and HTML must also contain a snapshot's words early on.
pub(super) fn sniff_member(name: &[u8], head: &[u8]) -> Result<Format, ErrorKind> {
    let has = |word: &[u8]| memmem::find(head, word).is_some();
    let has_keys = || has(b"device_traces") || has(b"total_size") || has(b"segment_type");
    match sniff(head.get(..HEAD).unwrap_or(head))? {
        // A genuine snapshot may have that name too, but its first segment has keys that a checkpoint lacks.
        Format::Pickle if is_checkpoint_name(name) && !has_keys() => {
            Err(ErrorKind::NotASnapshot(Lookalike::TorchCheckpoint))
        }
        // A trace of torch.profiler begins with this key, and its events may come late.
        Format::Json if has(b"\"schemaVersion\"") || has(b"\"traceEvents\"") => Ok(Format::Json),
        Format::Json if !has_keys() && !has(b"\"segments\"") => Err(ErrorKind::UnknownFormat),
        Format::Html if !has(b"local_files") && !has(b"alloc_data") => {
            Err(ErrorKind::NotASnapshot(Lookalike::OtherHtml))
        }
        format => Ok(format),
    }
}

/// Whether `torch.save` and `torch.jit.save` give the pickle this name in their archives.
fn is_checkpoint_name(name: &[u8]) -> bool {
    name == b"data.pkl" || name.ends_with(b"/data.pkl")
}

/// The length in bytes of a byte order mark at the beginning; 0 without one.
pub(super) fn bom_length(head: &[u8]) -> usize {
    if head.starts_with(BOM) { BOM.len() } else { 0 }
}

/// `head` without byte order mark and leading white space.
fn text(head: &[u8]) -> &[u8] {
    head.strip_prefix(BOM).unwrap_or(head).trim_ascii_start()
}

fn starts_number(bytes: &[u8]) -> bool {
    matches!(bytes, [b'0'..=b'9' | b'-', ..])
}

/// Whether data begins like a pickle. Protocols from 2 on begin with PROTO. Older ones begin with their first value:
/// a dict, a list, or the class of an object, which the decoder refuses by name.
fn is_pickle(head: &[u8]) -> bool {
    match head {
        [0x80, 0..=5] => true,
        [0x80, 0..=5, opcode, ..] => *opcode != 0,
        // `]q\0(` `}(` `].`: protocol 1, and hand-made pickles.
        [b']' | b'}', b'q' | b'r' | b'(' | b'.' | b'p' | 0x94, ..] => true,
        // `(dp0\n` `(lp0\n` `(d.`: protocol 0.
        [
            b'(',
            b'd' | b'l',
            b'p' | b'q' | b'r' | b'.' | b'(' | b'S' | b'V' | b'X',
            ..,
        ] => true,
        [b'c', rest @ ..] => is_global(rest),
        _ => false,
    }
}

/// Whether it is `module\nname\n` with two Python names.
fn is_global(bytes: &[u8]) -> bool {
    let is_word = |line: &[u8]| {
        !line.is_empty()
            && line
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(byte))
    };
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let (module, name, rest) = (lines.next(), lines.next(), lines.next());
    rest.is_some() && module.is_some_and(is_word) && name.is_some_and(is_word)
}

/// Whether a file begins like a picture of a common format.
fn is_picture(head: &[u8]) -> bool {
    let starts: [&[u8]; 3] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF8"];
    starts.iter().any(|start| head.starts_with(start))
        || head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP")
}

/// Whether it begins with a plausible little-endian length and a JSON header.
fn is_safetensors(head: &[u8]) -> bool {
    let Some((length, [b'{', b'"' | b' ' | b'}', ..])) = head.split_first_chunk::<8>() else {
        return false;
    };
    (2..=100 << 20).contains(&u64::from_le_bytes(*length))
}

const _: () = assert!(HEAD <= LOOKAHEAD);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_told_from_json_and_pickles() {
        for log in [
            "RuntimeError: CUDA out of memory.",
            "[rank0]: Traceback (most recent call last):",
            "[2025-10-16 09:06:22 TP5] KV Cache is allocated.",
            "(EngineCore pid=1) ERROR",
            "[1,0]<stderr>:RuntimeError: CUDA out of memory.",
            "[1] RuntimeError: CUDA out of memory.",
            "{\"level\": \"info\", \"message\": \"a \\\"}\"}\n{\"level\": \"error\"}\n",
            "\x1b[31mError\x1b[0m",
        ] {
            assert!(is_log(log.as_bytes()), "{log}");
        }
        for other in [
            "",
            "{\"a\": 1}",
            "{\"a\": {\"b\": \"}\"}, ",
            "{\"segments\": [], \"device_traces\": []} and more",
            "{\"a\": 1}\n",
            "[{\"a\": 1}]",
            "[1, 2]",
            "[[1.5]]",
            "[]",
            "(dp0\nS'segments'",
            "<!DOCTYPE html>",
        ] {
            assert!(!is_log(other.as_bytes()), "{other}");
        }
        assert!(!is_log(b"\x80\x04\x95") && !is_log(b"a\0b"));
        assert!(is_log(b"\xff\xfeE\0r\0"));
    }

    #[test]
    fn formats_by_content() {
        for (head, format) in [
            (&b"\x80\x04\x95\0\0"[..], Format::Pickle),
            (b"\x80\x02}", Format::Pickle),
            (b"(dp0\nS'segments'\n", Format::Pickle),
            (b"(lp0\n", Format::Pickle),
            (b"]q\0(", Format::Pickle),
            (b"}q\0(X", Format::Pickle),
            (b"ccollections\nOrderedDict\n(", Format::Pickle),
            (b"{\"segments\": []}", Format::Json),
            (b"\xef\xbb\xbf \n[{", Format::Json),
            (b"[]", Format::Json),
            (b"[[1700, 1800], [[0, 512]]]", Format::Timeline),
            (b"[ [-1, 1, 512, 0], [1700", Format::Timeline),
            (b"\n<!DOCTYPE html>", Format::Html),
            (b"\x1f\x8b\x08", Format::Gzip),
            (b"\x28\xb5\x2f\xfd\x04", Format::Zstd),
            (b"\x50\x2a\x4d\x18\x04", Format::Zstd),
            (b"PK\x03\x04", Format::Zip),
            (b"\x93vram\r\n\n\x01", Format::Packed),
        ] {
            assert_eq!(
                sniff(head),
                Ok(format),
                "{:?}",
                head.escape_ascii().to_string()
            );
        }
    }

    #[test]
    fn lookalikes_by_content() {
        let safetensors = b"\x40\0\0\0\0\0\0\0{\"weight\":";
        // Its length is 0x280, so it begins like a pickle of protocol 2.
        let safetensors_like_pickle = b"\x80\x02\0\0\0\0\0\0{\"weight\":";
        for (head, lookalike) in [
            (&safetensors[..], Lookalike::Safetensors),
            (safetensors_like_pickle, Lookalike::Safetensors),
            (
                b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.",
                Lookalike::TorchCheckpoint,
            ),
            (&[0; 100], Lookalike::Nuls),
            (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", Lookalike::Picture),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", Lookalike::Picture),
            (b"RIFF\0\x10\0\0WEBPVP8 ", Lookalike::Picture),
            (
                b"V1120 15:07:08.375000 7 a.py:1] {}",
                Lookalike::InductorGraphs,
            ),
            (
                b"version https://git-lfs.github.com/spec/v1\noid",
                Lookalike::GitLfsPointer,
            ),
        ] {
            assert_eq!(sniff(head), Err(ErrorKind::NotASnapshot(lookalike)));
        }
        assert_eq!(sniff(b""), Err(ErrorKind::Empty));
        for head in [
            &b"count,bytes\n1,2\n"[..],
            b"\x7fELF",
            b"hello",
            b"   ",
            b"cat\n",
            b"\x80\x09",
        ] {
            assert_eq!(sniff(head), Err(ErrorKind::UnknownFormat), "{head:?}");
        }
    }
}
