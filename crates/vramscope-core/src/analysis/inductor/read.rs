//! Reads what inductor exports: the JSON itself, or the log that it stands in.
//!
//! With `torch._inductor.config.reorder_for_peak_memory_debug = True`, `export_graph_for_simulator` writes each graph into the
//! structured log (`TORCH_TRACE=folder`) as an artifact called `…_fused`; tlparse makes a file of each. Files may be
//! compressed with gzip or zstd.

mod export;
mod log;
mod unmet;

use std::io::{BufRead, Read};

use super::{Graph, build};
use crate::container::{is_compressed, kind_of, unpacked};
use crate::{ErrorKind, Limits};

/// Text of graphs, in bytes, that one file may hold: a graph of 20,000 nodes takes some ten million.
const MOST_TEXT: usize = 256 << 20;

/// Commas that a graph's text may have, as what is between them takes more memory than text: that graph has a million.
const MOST_COMMAS: usize = 16_000_000;

/// A graph and where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGraph {
    /// Its name in the log, such as `model__0_backward_3_fused`; `#2` and so on behind it where one name comes
    /// again. What the caller said for JSON that stands alone.
    pub name: String,
    /// The line of the log with its name, from 1; 1 for JSON that stands alone.
    pub line: u64,
    /// The graph.
    pub graph: Graph,
    /// What is strange about it, in whole sentences.
    pub warnings: Vec<String>,
}

impl NamedGraph {
    /// Its name without `#2` and the like.
    #[must_use]
    pub fn plain_name(&self) -> &str {
        let parts = self.name.rsplit_once('#');
        parts.map_or(&self.name, |(plain, _)| plain)
    }
}

/// What a file held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// At least one graph, in the order of the file.
    pub graphs: Vec<NamedGraph>,
    /// What could not be read, in whole sentences.
    pub warnings: Vec<String>,
}

/// Why a file could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// Neither an export nor a log.
    #[error("this is no graph of inductor: neither its JSON nor a TORCH_TRACE log")]
    NotAGraph,
    /// A log with other things in it.
    #[error("this log has no graph in it: none of its {artifacts} artifacts is one")]
    NoGraph {
        /// How many artifacts there were.
        artifacts: u64,
    },
    /// JSON that is damaged or something else.
    #[error("line {line}: {what}")]
    Json {
        /// Where in the file, from 1.
        line: u64,
        /// What is wrong there.
        what: String,
    },
    /// Sizes that cannot be.
    #[error("line {line}: {error}")]
    TooLarge {
        /// Where in the file, from 1.
        line: u64,
        /// What is too large.
        error: build::TooLarge,
    },
    /// More text than a graph could have.
    #[error("refused: the graphs' text exceeds the limit of {MOST_TEXT} bytes")]
    Limit,
    /// More names than a graph could have.
    #[error("line {line}: refused: a graph with more than {MOST_COMMAS} names and figures")]
    TooMany {
        /// Where in the file, from 1.
        line: u64,
    },
    /// The file could not be read or unpacked.
    #[error("{0}")]
    Input(ErrorKind),
}

impl ReadError {
    /// What the user can do about it, in one or two sentences.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            Self::NotAGraph => {
                "Give the log that TORCH_TRACE=folder makes torch.compile write, what tlparse made of it, or the JSON of a \
                 graph."
            }
            Self::NoGraph { .. } => {
                "Set torch._inductor.config.reorder_for_peak_memory_debug = True and TORCHINDUCTOR_FORCE_DISABLE_CACHES=1, and \
                 compile again: a graph that comes from a cache is not logged."
            }
            Self::Json { .. } | Self::TooLarge { .. } => {
                "The file is damaged, or was not written by torch.compile. Copy it again; if its program was killed, let it \
                 end."
            }
            Self::Limit | Self::TooMany { .. } => {
                "The file is larger than genuine ones. If it is genuine, cut it with tlparse and give the graphs one by one."
            }
            Self::Input(_) => "Check that the file is complete and can be read.",
        }
    }
}

/// Whether a file that begins with these bytes (4 KiB are enough) is for [`read`], compressed or not.
#[must_use]
pub fn is_graph(head: &[u8]) -> bool {
    if is_compressed(head) {
        let mut unpacked_head = Vec::new();
        if let Ok(input) = unpacked(head, &Limits::default()) {
            // The head ends in the middle, so that an error is what is expected.
            let _end = input.take(4 << 10).read_to_end(&mut unpacked_head);
        }
        return is_plain_graph(&unpacked_head);
    }
    is_plain_graph(head)
}

/// [`is_graph`], uncompressed.
pub(crate) fn is_plain_graph(head: &[u8]) -> bool {
    is_log(head) || is_export(head)
}

/// Whether JSON begins as an export does.
fn is_export(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let has = |key: &[u8]| memchr::memmem::find(head, key).is_some();
    let has_words = || has(b"\"buffer_names\"") || has(b"\"unmet_deps\"") || has(b"\"size_alloc\"");
    let has_lists = || has(b"\"nodes\"") && has(b"\"buffers\"");
    // A snapshot may have a key of any name, somewhere.
    let is_snapshot = || has(b"\"device_traces\"") || has(b"\"segments\"");
    head.trim_ascii_start().starts_with(b"{") && (has_words() || has_lists()) && !is_snapshot()
}

/// Whether a text begins as Python's logging does in TORCH_TRACE: `V1120 15:07:08.375000 …`.
fn is_log(head: &[u8]) -> bool {
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

/// What a graph that stands alone is called: its file without the endings. tlparse puts a number behind each name.
#[must_use]
pub fn graph_name(file_name: &str) -> &str {
    let mut name = file_name;
    while let Some(bare) = [".zst", ".gz", ".json", ".txt", ".orm"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
    {
        name = bare;
    }
    let (bare, number) = name.rsplit_once('_').unwrap_or((name, ""));
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    match is_number && bare.ends_with("_fused") {
        true => bare,
        false => name,
    }
}

/// Reads all graphs of a file. JSON that stands alone has no name of its own and gets `name`.
///
/// # Errors
/// When there is no graph. What is damaged beside graphs that can be read is a warning.
pub fn read(input: impl Read, name: &str) -> Result<Export, ReadError> {
    let failed = |error: std::io::Error| ReadError::Input(kind_of(&error));
    let mut input = unpacked(input, &Limits::default()).map_err(ReadError::Input)?;
    let head = input.fill_buf().map_err(failed)?;
    if is_log(head) {
        return log::read(&mut *input, MOST_TEXT);
    }
    if !is_export(head) && !head.trim_ascii_start().starts_with(b"{") {
        return Err(ReadError::NotAGraph);
    }
    let mut text = Vec::new();
    let mut limited = input.take(MOST_TEXT as u64 + 1);
    limited.read_to_end(&mut text).map_err(failed)?;
    if text.len() > MOST_TEXT {
        return Err(ReadError::Limit);
    }
    Ok(Export {
        graphs: vec![export::graph(&text, name, 1)?],
        warnings: Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_called_as_in_the_log() {
        let tlparse = "model__0_forward_1_fused_12.txt";
        assert_eq!(graph_name(tlparse), "model__0_forward_1_fused");
        assert_eq!(graph_name("convnet.orm.json.zst"), "convnet");
        assert_eq!(graph_name("random_dag_40"), "random_dag_40");
    }

    #[test]
    fn a_graph_without_nodes_is_one() {
        let text = br#"{"nodes":[],"buffers":[]}"#;
        assert!(is_graph(text));
        assert_eq!(read(&text[..], "x").unwrap().graphs.len(), 1);
        assert!(!is_graph(br#"{"segments":[],"nodes":[],"buffers":[]}"#));
    }

    #[test]
    fn more_names_than_fit_into_memory_are_refused() {
        let names = r#""","#.repeat(MOST_COMMAS + 1);
        let text =
            format!(r#"{{"nodes":[{{"name":"","buffer_names":[{names}""]}}],"buffers":[]}}"#);
        assert_eq!(
            read(text.as_bytes(), "x"),
            Err(ReadError::TooMany { line: 1 })
        );
    }

    #[test]
    fn an_input_that_nobody_reads_is_told() {
        let text = br#"{"nodes":[],"buffers":[{"name":"a","size_alloc":8,"size_free":8,"is_input":true,"deps":[]}]}"#;
        let export = read(&text[..], "x").unwrap();
        assert_eq!(export.graphs[0].warnings.len(), 1);
        assert!(export.graphs[0].warnings[0].starts_with("1 freeable inputs are read by no node"));
    }
}
