//! Reads a TORCH_TRACE log. A record is a line of metadata, followed by its payload in lines that begin with a tab.

use std::io::BufRead;

use serde::Deserialize;

use super::{Export, NamedGraph, ReadError, export, kind_of};

/// The longest line of metadata that is read. A graph's takes some 300 bytes; those of stacks take many thousands.
const LONGEST_METADATA: usize = 16 << 10;

/// Most warnings stored.
const MOST_WARNINGS: usize = 100;

/// The relevant part of a record's metadata.
#[derive(Deserialize)]
struct Metadata {
    artifact: Artifact,
    has_payload: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize)]
struct Artifact {
    name: String,
}

/// The payload of a graph while it is read.
struct Payload {
    name: String,
    line: u64,
    text: Vec<u8>,
}

/// Reads all graphs of a log, up to `most_text` bytes of their text.
///
/// # Errors
/// If there is no graph.
pub(super) fn read(input: &mut dyn BufRead, most_text: usize) -> Result<Export, ReadError> {
    let mut log = Log::default();
    let mut line = 0;
    let mut text = Vec::new();
    loop {
        let room = match &log.payload {
            // The next line may be the next record's metadata.
            Some(_) => most_text
                .saturating_sub(log.text_bytes)
                .max(LONGEST_METADATA),
            None => LONGEST_METADATA,
        };
        let result = take_line(input, room, &mut text);
        line += 1;
        let is_text = log.payload.is_some() && text.starts_with(b"\t");
        match result {
            Ok(Taken::Nothing) => break,
            Ok(taken)
                if is_text
                    && (taken == Taken::TooLong || log.text_bytes + text.len() > most_text) =>
            {
                log.payload = None;
                log.warn(format!(
                    "Reading ended at line {line}: {}",
                    ReadError::Limit
                ));
                log.failure.get_or_insert(ReadError::Limit);
                break;
            }
            Ok(Taken::Line) => log.line(line, &text),
            // A line this long is not a graph's metadata, so it is skipped.
            Ok(Taken::TooLong) => log.end_payload(),
            Err(error) => {
                // The graphs before the damage are kept.
                log.warn(format!("Reading ended at line {line}: {}", kind_of(&error)));
                break;
            }
        }
    }
    log.end_payload();
    if log.export.graphs.is_empty() {
        return Err(log.failure.unwrap_or(ReadError::NoGraph {
            artifacts: log.artifacts,
        }));
    }
    Ok(log.export)
}

struct Log {
    export: Export,
    payload: Option<Payload>,
    /// Bytes of text of all graphs so far.
    text_bytes: usize,
    artifacts: u64,
    /// The error of the first graph that could not be read.
    failure: Option<ReadError>,
    /// Number of occurrences of each name.
    names: std::collections::HashMap<String, u32>,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            export: Export {
                graphs: Vec::new(),
                warnings: Vec::new(),
            },
            payload: None,
            text_bytes: 0,
            artifacts: 0,
            failure: None,
            names: std::collections::HashMap::new(),
        }
    }
}

impl Log {
    fn line(&mut self, line: u64, text: &[u8]) {
        if let Some(payload_text) = text.strip_prefix(b"\t") {
            if let Some(payload) = &mut self.payload {
                payload.text.extend_from_slice(payload_text);
                payload.text.push(b'\n');
                self.text_bytes += text.len();
            }
            return;
        }
        self.end_payload();
        // `V1120 15:07:11.090000 31392 torch/_inductor/memory.py:1237] {"artifact": …`
        let Some(at) = memchr::memmem::find(text, b"] {\"artifact\"") else {
            return;
        };
        let Ok(metadata) = serde_json::from_slice::<Metadata>(&text[at + 2..]) else {
            return;
        };
        self.artifacts += 1;
        let name = metadata.artifact.name;
        if metadata.has_payload.is_some() && name.ends_with("_fused") {
            let text = Vec::new();
            self.payload = Some(Payload { name, line, text });
        }
    }

    /// Parses the completed payload as a graph, if there is one.
    fn end_payload(&mut self) {
        let Some(Payload { name, line, text }) = self.payload.take() else {
            return;
        };
        match export::graph(&text, &name, line) {
            Ok(graph) => {
                let times = self.names.entry(name).or_insert(0);
                *times += 1;
                let name = match times {
                    1 => graph.name,
                    _ => format!("{}#{times}", graph.name),
                };
                self.export.graphs.push(NamedGraph { name, ..graph });
            }
            Err(error) => {
                self.warn(format!("{name} can't be read: {error}"));
                self.failure.get_or_insert(error);
            }
        }
    }

    fn warn(&mut self, warning: String) {
        if self.export.warnings.len() < MOST_WARNINGS {
            self.export.warnings.push(warning);
        }
    }
}

#[derive(PartialEq, Eq)]
enum Taken {
    /// A line, without its end.
    Line,
    /// The beginning of a line that is too long.
    TooLong,
    Nothing,
}

/// Reads the next line into `text`, or its first `most` bytes.
fn take_line(input: &mut dyn BufRead, most: usize, text: &mut Vec<u8>) -> std::io::Result<Taken> {
    text.clear();
    let mut is_too_long = false;
    let mut is_empty = true;
    loop {
        let buffer = input.fill_buf()?;
        let end = memchr::memchr(b'\n', buffer);
        let piece = &buffer[..end.unwrap_or(buffer.len())];
        is_empty &= buffer.is_empty();
        let room = most.saturating_sub(text.len());
        is_too_long |= piece.len() > room;
        text.extend_from_slice(&piece[..piece.len().min(room)]);
        let used = piece.len() + usize::from(end.is_some());
        let is_over = end.is_some() || buffer.is_empty();
        input.consume(used);
        if is_over {
            break;
        }
    }
    if text.last() == Some(&b'\r') {
        text.pop();
    }
    Ok(match (is_empty, is_too_long) {
        (true, _) => Taken::Nothing,
        (_, true) => Taken::TooLong,
        _ => Taken::Line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_before_the_limit_are_kept() {
        let record = |name: &str| {
            let head = "V1120 15:07:11.090000 1 memory.py:1237]";
            format!(
                "{head} {{\"artifact\": {{\"name\": \"{name}_fused\"}}, \"has_payload\": \"x\"}}\n\t{{\"nodes\": [], \"buffers\": []}}\n"
            )
        };
        let log = record("a") + &record("b");
        let export = read(&mut log.as_bytes(), 40).unwrap();
        assert_eq!(export.graphs.len(), 1);
        assert!(export.warnings[0].starts_with("Reading ended at line 4: refused"));
        assert_eq!(read(&mut log.as_bytes(), 10), Err(ReadError::Limit));
        assert_eq!(read(&mut log.as_bytes(), 100).unwrap().graphs.len(), 2);
    }
}
