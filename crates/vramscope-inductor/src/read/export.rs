//! Parses the JSON of `export_graph_for_simulator`.

use std::collections::HashMap;

use serde::Deserialize;

use super::{MOST_COMMAS, NamedGraph, ReadError, unmet};
use crate::{BufferPart, Graph, Invalid, NodePart, Parts};
use vramscope_core::units::Count;

/// The JSON document. Its keys `size` and `unmet_deps` follow from the others and are not read.
#[derive(Deserialize)]
struct File {
    nodes: Vec<Node>,
    buffers: Vec<Buffer>,
}

#[derive(Deserialize)]
struct Node {
    name: String,
    buffer_names: Vec<String>,
}

#[derive(Deserialize)]
struct Buffer {
    name: String,
    size_alloc: u64,
    size_free: u64,
    #[serde(default)]
    is_input: bool,
    #[serde(default)]
    is_output: bool,
    deps: Vec<String>,
}

/// Parses a graph whose text begins after line `line` of its file.
pub(super) fn graph(text: &[u8], name: &str, line: u64) -> Result<NamedGraph, ReadError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if memchr::memchr_iter(b',', text).count() > MOST_COMMAS {
        return Err(ReadError::TooMany { line });
    }
    let file: File = serde_json::from_slice(text).map_err(|error| ReadError::Json {
        line: line
            .saturating_add(error.line() as u64)
            .saturating_sub(u64::from(line == 1)),
        what: what(&error),
    })?;
    let mut reading = Reading::of(&file);
    let parts = reading.parts();
    let mut graph = Graph::new(parts).map_err(|error| ReadError::TooLarge { line, error })?;
    if let Some(missing) = reading.missing {
        graph.name_fault.get_or_insert(missing);
    }
    Ok(NamedGraph {
        name: name.to_owned(),
        line,
        graph,
        warnings: reading.warnings,
    })
}

/// serde_json's message without its position, which differs from the position in the file.
fn what(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}

/// A document while its names are resolved.
struct Reading<'a> {
    file: &'a File,
    /// Row of each name in `file.buffers`.
    rows: HashMap<&'a str, u32>,
    /// Per row of `file.buffers`: the node that writes it.
    owner: Vec<Option<u32>>,
    missing: Option<Invalid>,
    warnings: Vec<String>,
}

impl<'a> Reading<'a> {
    fn of(file: &'a File) -> Self {
        let mut rows = HashMap::with_capacity(file.buffers.len());
        for (row, buffer) in (0u32..).zip(&file.buffers) {
            rows.insert(&*buffer.name, row);
        }
        let mut reading = Self {
            file,
            owner: vec![None; file.buffers.len()],
            missing: None,
            warnings: Vec::new(),
            rows,
        };
        let repeated = file.buffers.len() - reading.rows.len();
        reading.warn(
            repeated,
            "buffers have the name of another one and are left out",
        );
        reading
    }

    fn warn(&mut self, count: usize, what: &str) {
        if count > 0 {
            let count = Count(count as u64);
            self.warnings.push(format!("{count} {what}."));
        }
    }

    /// Per node: the rows of the buffers that it writes. If two nodes claim a buffer, the first one gets it.
    fn outputs(&mut self) -> Vec<Vec<u32>> {
        let mut outputs = Vec::with_capacity(self.file.nodes.len());
        for (n, node) in (0u32..).zip(&self.file.nodes) {
            let mut of_node = Vec::with_capacity(node.buffer_names.len());
            for name in &node.buffer_names {
                let fault = match self.rows.get(&**name) {
                    None => Invalid::missing(name, &node.name),
                    Some(&row) if self.file.buffers[row as usize].is_input => {
                        Invalid::name_of_input(name, &node.name)
                    }
                    Some(&row) => match self.owner[row as usize] {
                        Some(first) => {
                            let first = &self.file.nodes[first as usize];
                            Invalid::shared_name(name, &node.name, &first.name)
                        }
                        None => {
                            self.owner[row as usize] = Some(n);
                            of_node.push(row);
                            continue;
                        }
                    },
                };
                self.missing.get_or_insert(fault);
            }
            outputs.push(of_node);
        }
        outputs
    }

    fn parts(&mut self) -> Parts {
        let outputs = self.outputs();
        let reads = self.reads(&outputs);
        let mut readers = vec![Vec::new(); self.file.buffers.len()];
        for (n, reads) in (0u32..).zip(&reads) {
            for &row in reads {
                readers[row as usize].push(n);
            }
        }
        let sizes = |row: u32| {
            let buffer = &self.file.buffers[row as usize];
            (buffer.size_alloc, buffer.size_free)
        };
        let found = unmet::recover(&reads, &self.owner, &|row| sizes(row) == (0, 0));
        let (unmet, is_complete) = found;
        let mut part = |row: u32| self.part(row, std::mem::take(&mut readers[row as usize]));
        let inputs = (0u32..).zip(&self.file.buffers);
        let inputs = inputs
            .filter(|(row, buffer)| buffer.is_input && self.rows.get(&*buffer.name) == Some(row));
        let inputs: Vec<BufferPart> = inputs.map(|(row, _)| part(row)).collect();
        let is_unread = |input: &&BufferPart| input.readers.is_empty() && !input.is_output;
        let unread = inputs.iter().filter(is_unread).count();
        let nodes = self.file.nodes.iter().zip(&outputs).zip(unmet);
        let nodes = nodes.map(|((node, outputs), unmet)| NodePart {
            name: node.name.clone(),
            outputs: outputs.iter().map(|&row| part(row)).collect(),
            unmet,
        });
        let nodes: Vec<NodePart> = nodes.collect();
        let known = inputs.len() + outputs.iter().map(Vec::len).sum::<usize>();
        let lost = self.rows.len() - known;
        self.warn(lost, "buffers belong to no node and are left out");
        self.warn(
            unread,
            "freeable inputs are read by no node, which PyTorch refuses, and are never freed here",
        );
        if !is_complete {
            self.warnings.push(
                "So many nodes read what others update in place that the order by depth may differ from PyTorch's.".to_owned(),
            );
        }
        Parts { inputs, nodes }
    }

    fn part(&self, row: u32, readers: Vec<u32>) -> BufferPart {
        let buffer = &self.file.buffers[row as usize];
        BufferPart {
            name: buffer.name.clone(),
            size_alloc: buffer.size_alloc,
            size_free: buffer.size_free,
            is_output: buffer.is_output,
            readers,
            followers: Vec::new(),
        }
    }

    /// Per node: the rows of the buffers that it reads, which are its outputs' dependencies without repetitions.
    fn reads(&mut self, outputs: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let mut last_reader = vec![u32::MAX; self.file.buffers.len()];
        let mut unknown = 0;
        let mut all = Vec::with_capacity(outputs.len());
        for (n, outputs) in (0u32..).zip(outputs) {
            let mut reads = Vec::new();
            let buffers = outputs.iter().map(|&row| &self.file.buffers[row as usize]);
            for name in buffers.flat_map(|buffer| &buffer.deps) {
                match self.rows.get(&**name) {
                    Some(&row) if self.is_known(row) => {
                        if std::mem::replace(&mut last_reader[row as usize], n) != n {
                            reads.push(row);
                        }
                    }
                    _ => unknown += 1,
                }
            }
            all.push(reads);
        }
        self.warn(
            unknown,
            "dependencies name buffers that do not exist and are left out",
        );
        all
    }

    /// Whether a buffer is written by a node or is an input.
    fn is_known(&self, row: u32) -> bool {
        self.owner[row as usize].is_some() || self.file.buffers[row as usize].is_input
    }
}
