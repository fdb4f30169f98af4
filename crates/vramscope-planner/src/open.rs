//! Reads the file that the page passes on.

use vramscope_inductor as inductor;
use vramscope_port::{BlobReader, Port, Reporter};
use vramscope_protocol::{Failure, Reply, clock};
use wasm_bindgen::{JsCast, JsValue};

use super::graphs::Graphs;

/// Reads a file of graphs. Reports progress and outcome to the page.
pub(super) fn graphs(name: &str, blob: JsValue, port: &Port) -> Option<Graphs> {
    port.mark("reading");
    let start_ms = clock::now_ms();
    let reader = match BlobReader::new(blob.unchecked_into()) {
        Ok(reader) => reader,
        Err(failure) => {
            port.fail(failure);
            return None;
        }
    };
    let size_bytes = reader.size_bytes();
    let reading = Reporter::new(port).reading(reader);
    match inductor::read(reading, inductor::graph_name(name)) {
        Ok(export) => {
            let graphs = Graphs::new(export);
            let read_ms = clock::now_ms() - start_ms;
            let opened = graphs.opened(name, size_bytes, read_ms);
            port.send(&Reply::OpenedGraphs(Box::new(opened)));
            Some(graphs)
        }
        Err(error) => {
            port.fail(Failure {
                message: error.to_string(),
                advice: error.advice().to_owned(),
                ..Failure::default()
            });
            None
        }
    }
}
