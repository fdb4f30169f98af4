//! Reads what the page passes on.

use vramscope_core::open::{Options, decode_packed};
use vramscope_inductor as inductor;
use vramscope_port::{BlobReader, Port, Reporter};
use vramscope_protocol::{Failure, Reply, clock};
use wasm_bindgen::{JsCast, JsValue};

use super::graphs::Graphs;
use super::snapshot::Snapshot;

/// Reads a file of graphs. Reports progress and outcome to the page.
pub(super) fn graphs(name: &str, blob: JsValue, port: &Port) -> Option<Graphs> {
    port.mark("reading");
    let start_ms = clock::now_ms();
    let reader = reader(blob, port)?;
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

/// Reads the copy of a snapshot that its worker has packed.
pub(super) fn packed(blob: JsValue, port: &Port) -> Option<Snapshot> {
    match decode_packed(reader(blob, port)?, Options::default()) {
        Ok(snapshot) => Some(Snapshot::new(snapshot)),
        Err(error) => {
            port.fail(Failure::internal(&error.to_string()));
            None
        }
    }
}

fn reader(blob: JsValue, port: &Port) -> Option<BlobReader> {
    match BlobReader::new(blob.unchecked_into()) {
        Ok(reader) => Some(reader),
        Err(failure) => {
            port.fail(*failure);
            None
        }
    }
}
