//! Reads graphs that inductor exports, from their JSON or from a log that contains it.
//!
//! With `torch._inductor.config.reorder_for_peak_memory_debug = True`, `export_graph_for_simulator` writes each graph
//! to the structured log (`TORCH_TRACE=folder`) as an artifact named `…_fused`, and tlparse turns each into a file.
//! Files may be compressed with gzip or zstd.

mod export;
mod log;
mod unmet;

use std::io::{BufRead, Read};

use super::{Graph, build};
use vramscope_core::container::{is_graph_json, is_trace_log, kind_of, unpacked};
use vramscope_core::{ErrorKind, Limits};

/// Most text of graphs in one file, in bytes. A graph of 20,000 nodes takes some ten million.
const MOST_TEXT: usize = 256 << 20;

/// Most commas in a graph's text, because a value takes more memory than its text. A graph of 20,000 nodes has a million.
const MOST_COMMAS: usize = 16_000_000;

/// A graph with its name and position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGraph {
    /// Its name in the log, such as `model__0_backward_3_fused`, with `#2` and so on appended if it repeats. A graph
    /// in a JSON file has the name that the caller gave.
    pub name: String,
    /// The line of the log that names it, from 1; 1 for a JSON file.
    pub line: u64,
    /// The graph.
    pub graph: Graph,
    /// Oddities of the graph, in whole sentences.
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

/// The content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// At least one graph, in the order of the file.
    pub graphs: Vec<NamedGraph>,
    /// Parts that could not be read, in whole sentences.
    pub warnings: Vec<String>,
}

/// Why a file could not be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReadError {
    /// Neither an export nor a log.
    #[error("this is not a graph of inductor: neither its JSON nor a TORCH_TRACE log")]
    NotAGraph,
    /// A log without graphs.
    #[error("this log has no graph in it: none of its {artifacts} artifacts is one")]
    NoGraph {
        /// Number of artifacts in the log.
        artifacts: u64,
    },
    /// Damaged JSON, or JSON of another kind.
    #[error("line {line}: {what}")]
    Json {
        /// Line of the file, from 1.
        line: u64,
        /// The fault.
        what: String,
    },
    /// Impossible sizes.
    #[error("line {line}: {error}")]
    TooLarge {
        /// Line of the file, from 1.
        line: u64,
        /// The size that is too large.
        error: build::TooLarge,
    },
    /// More text than a graph could have.
    #[error("refused: the graphs' text exceeds the limit of {MOST_TEXT} bytes")]
    Limit,
    /// More names than a graph could have.
    #[error("line {line}: refused: a graph with more than {MOST_COMMAS} names and figures")]
    TooMany {
        /// Line of the file, from 1.
        line: u64,
    },
    /// The file could not be read or unpacked.
    #[error("{0}")]
    Input(ErrorKind),
}

impl ReadError {
    /// Advice for the user, in one or two sentences.
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

/// The name of a graph in a JSON file: the file's name without endings, and without the number that tlparse appends.
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

/// Reads all graphs of a file. A graph in a JSON file has no name of its own and gets `name`.
///
/// # Errors
/// If no graph can be read. Damaged ones beside readable ones are warnings.
pub fn read(input: impl Read, name: &str) -> Result<Export, ReadError> {
    let failed = |error: std::io::Error| ReadError::Input(kind_of(&error));
    let mut input = unpacked(input, &Limits::default()).map_err(ReadError::Input)?;
    let head = input.fill_buf().map_err(failed)?;
    if is_trace_log(head) {
        return log::read(&mut *input, MOST_TEXT);
    }
    if !is_graph_json(head) && !head.trim_ascii_start().starts_with(b"{") {
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
    use vramscope_core::container::FileKind;

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
        assert_eq!(FileKind::of(text), FileKind::Graphs);
        assert_eq!(read(&text[..], "x").unwrap().graphs.len(), 1);
        let snapshot = br#"{"segments":[],"nodes":[],"buffers":[]}"#;
        assert_eq!(FileKind::of(snapshot), FileKind::Snapshot);
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
