//! Opens a blob or an address as a [`Document`] or as [`Graphs`], depending on its contents, and reports progress.

use std::io::{self, Read};
use std::ops::ControlFlow;

use wasm_bindgen::{JsCast, JsValue};
use web_sys::Blob;

use vramscope_core::Limits;
use vramscope_core::container::FileKind;
use vramscope_core::open::{Options, decode_with};
use vramscope_inductor as inductor;

use super::blob::BlobReader;
use super::document::Document;
use super::gate::Gate;
use super::graphs::Graphs;
use super::port::Port;
use super::{File, fetch, opened};
use crate::browser::clock;
use crate::protocol::{Failure, Progress, Reply, Stage};

/// The least time between two progress messages, in ms.
const PROGRESS_EVERY_MS: f64 = 50.0;

/// Sends progress to the page, at most once per interval.
struct Reporter<'a> {
    port: &'a Port,
    last_ms: f64,
}

impl<'a> Reporter<'a> {
    fn new(port: &'a Port) -> Self {
        Self {
            port,
            last_ms: clock::now_ms(),
        }
    }

    fn report(&mut self, progress: Progress) {
        let now_ms = clock::now_ms();
        if now_ms - self.last_ms >= PROGRESS_EVERY_MS {
            self.last_ms = now_ms;
            self.port.send(&Reply::Progress(progress));
        }
    }
}

/// Downloads and reads the file at `url`. Reports progress and outcome to the page.
pub(super) async fn url(name: &str, url: &str, gate: &Gate, port: &Port) -> Option<File> {
    let mut reporter = Reporter::new(port);
    // The size is reported at once, because the page may have to ask before anything is downloaded.
    reporter.last_ms = f64::NEG_INFINITY;
    let fetched = fetch::blob(url, gate, |done_bytes, total_bytes| {
        reporter.report(Progress {
            stage: Stage::Fetching,
            done_bytes,
            total_bytes,
            events: 0,
        });
    });
    match fetched.await {
        Ok(fetched) => blob(name, fetched.into(), port),
        Err(failure) => fail(failure, port),
    }
}

/// Reads a blob. Reports progress and outcome to the page.
pub(super) fn blob(name: &str, blob: JsValue, port: &Port) -> Option<File> {
    let start_ms = clock::now_ms();
    let blob = blob.unchecked_into::<Blob>();
    let readers = BlobReader::new(blob.clone()).and_then(|head| Ok((head, BlobReader::new(blob)?)));
    let (head, reader) = match readers {
        Ok(readers) => readers,
        Err(error) => {
            let message = format!(
                "cannot read the file: {}",
                crate::browser::error_text(&error)
            );
            return fail(
                Failure {
                    message,
                    ..Failure::default()
                },
                port,
            );
        }
    };
    if is_graph(head) {
        graphs(name, reader, port, start_ms)
    } else {
        snapshot(name, reader, port, start_ms)
    }
}

/// Reads a snapshot. Reports progress and outcome to the page.
fn snapshot(name: &str, reader: BlobReader, port: &Port, start_ms: f64) -> Option<File> {
    let size_bytes = reader.size_bytes();
    let mut reporter = Reporter::new(port);
    let mut events = 0;
    let decoded = decode_with(
        reader,
        Options {
            limits: Limits::default(),
            file_bytes: Some(size_bytes),
            on_progress: &mut |progress| {
                events = progress.events;
                reporter.report(Progress {
                    stage: Stage::Reading,
                    done_bytes: progress.file_bytes,
                    total_bytes: Some(size_bytes),
                    events,
                });
                // Never broken off: to cancel, the page ends the whole worker.
                ControlFlow::Continue(())
            },
        },
    );
    match decoded {
        Ok(snapshot) => {
            let stage = Stage::Replaying;
            let done = Progress {
                stage,
                done_bytes: size_bytes,
                total_bytes: Some(size_bytes),
                events,
            };
            reporter.report(done);
            let document = Document::new(snapshot);
            let read_ms = clock::now_ms() - start_ms;
            port.send(&Reply::Opened(Box::new(opened::opened(
                &document, name, size_bytes, read_ms,
            ))));
            // The page is busy building its elements meanwhile.
            document.prepare();
            Some(File::Snapshot(Box::new(document)))
        }
        Err(error) => fail(opened::failure(&error), port),
    }
}

/// Bytes that are enough to tell a file's kind.
const HEAD_BYTES: u64 = 4 << 10;

/// Whether a file holds graphs. `false` if it cannot be read: reading it whole will report the error.
fn is_graph(reader: BlobReader) -> bool {
    let mut head = Vec::new();
    let read = reader.take(HEAD_BYTES).read_to_end(&mut head);
    read.is_ok() && FileKind::of(&head) == FileKind::Graphs
}

/// Reads a file of graphs. Reports progress and outcome to the page.
fn graphs(name: &str, reader: BlobReader, port: &Port, start_ms: f64) -> Option<File> {
    let size_bytes = reader.size_bytes();
    let mut reporter = Reporter::new(port);
    let counted = Counted {
        reader,
        done_bytes: 0,
        on_progress: |done_bytes| {
            reporter.report(Progress {
                stage: Stage::Reading,
                done_bytes,
                total_bytes: Some(size_bytes),
                events: 0,
            });
        },
    };
    match inductor::read(counted, inductor::graph_name(name)) {
        Ok(export) => {
            let graphs = Graphs::new(export);
            let read_ms = clock::now_ms() - start_ms;
            let opened = graphs.opened(name, size_bytes, read_ms);
            port.send(&Reply::OpenedGraphs(Box::new(opened)));
            Some(File::Graphs(Box::new(graphs)))
        }
        Err(error) => fail(opened::graph_failure(&error), port),
    }
}

/// A reader that reports the bytes read.
struct Counted<F> {
    reader: BlobReader,
    done_bytes: u64,
    on_progress: F,
}

impl<F: FnMut(u64)> Read for Counted<F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.done_bytes += read as u64;
        (self.on_progress)(self.done_bytes);
        Ok(read)
    }
}

fn fail(failure: Failure, port: &Port) -> Option<File> {
    port.send(&Reply::Failed(Box::new(failure)));
    None
}
