//! Opens a blob or an address as a [`Document`], as [`Ranks`] or as text, depending on its contents, and reports progress.

use std::io::Read;
use std::ops::ControlFlow;

use vramscope_port::{BlobReader, Port, Reporter};
use vramscope_protocol::clock;
use vramscope_protocol::views::text::TextFile;
use vramscope_protocol::{Failure, Progress, Reply, Stage};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::Blob;

use vramscope_core::container::{FileKind, HEAD_BYTES, is_plain_pickle};
use vramscope_core::open::{self, Options, decode_arriving_pickle, decode_with};
use vramscope_core::{Limits, Snapshot};

use super::document::Document;
use super::fleet::{self, Ranks};
use super::gate::Gate;
use super::live::Next;
use super::{File, fetch, opened, text};

/// Reports how much of a file is read.
fn of_reading(
    mut reporter: Reporter<'_>,
    size_bytes: u64,
) -> impl FnMut(open::Progress) -> ControlFlow<()> {
    move |progress| {
        reporter.report(Progress {
            stage: Stage::Reading,
            done_bytes: progress.file_bytes,
            total_bytes: Some(size_bytes),
            events: progress.events,
        });
        // Never broken off: to cancel, the page ends the whole worker.
        ControlFlow::Continue(())
    }
}

/// Downloads and reads the file at `url`. Reports progress and outcome to the page. `None` if it cannot be read, or answers no
/// questions.
pub(super) async fn url(name: &str, url: &str, gate: &Gate, port: &Port) -> Option<File> {
    // The size is reported at once, because the page may have to ask before anything is downloaded.
    let mut reporter = Reporter::eager(port);
    let fetched = fetch::blob(url, gate, |done_bytes, total_bytes| {
        reporter.report(Progress {
            stage: Stage::Fetching,
            done_bytes,
            total_bytes,
            events: 0,
        });
    });
    match fetched.await {
        Ok(fetched) => blob(name, fetched.into(), port).await,
        Err(failure) => fail(failure, port),
    }
}

/// Reads a blob, as [`url`] does.
pub(super) async fn blob(name: &str, blob: JsValue, port: &Port) -> Option<File> {
    port.mark("reading");
    let start_ms = clock::now_ms();
    let blob = blob.unchecked_into::<Blob>();
    let reader = match BlobReader::new(blob) {
        Ok(reader) => reader,
        Err(failure) => return fail(*failure, port),
    };
    // Of a file that cannot be read, reading it whole tells the error.
    let head = reader.head(HEAD_BYTES, FileKind::head_bytes).await.ok();
    let file = Reading {
        name,
        reader,
        port,
        start_ms,
    };
    let Some(head) = head.filter(|head| !is_plain_pickle(head)) else {
        return file.pickle().await;
    };
    match FileKind::of(&head) {
        FileKind::Graphs => {
            port.send_with(&Reply::ForPlanner, &file.reader.blob());
            None
        }
        FileKind::Fleet => ranks(file),
        FileKind::Log => read_text(file),
        FileKind::Snapshot => other_snapshot(file),
    }
}

/// Downloads and reads the next version of a file.
///
/// # Errors
/// If it cannot be had, or is no snapshot.
pub(super) async fn next(name: &str, url: &str, gate: &Gate, port: &Port) -> Result<Next, Failure> {
    let blob = fetch::blob(url, gate, |_, _| {}).await?;
    let start_ms = clock::now_ms();
    let reader = BlobReader::new(blob).map_err(|failure| *failure)?;
    let size_bytes = reader.size_bytes();
    let file = Reading {
        name,
        reader,
        port,
        start_ms,
    };
    let mut on_progress = |_: open::Progress| ControlFlow::Continue(());
    let options = file.options(&mut on_progress);
    let snapshot =
        decode_with(file.reader.clone(), options).map_err(|error| opened::failure(&error))?;
    let document = Document::new(snapshot);
    document.prepare();
    let read_ms = clock::now_ms() - start_ms;
    let opened = opened::opened(&document, name, size_bytes, read_ms);
    Ok(Next { document, opened })
}

/// What is told how far reading came.
type OnProgress<'a> = &'a mut dyn FnMut(open::Progress) -> ControlFlow<()>;

/// A file that is about to be read.
struct Reading<'a> {
    name: &'a str,
    reader: BlobReader,
    port: &'a Port,
    start_ms: f64,
}

impl Reading<'_> {
    /// Reads a plain pickle while it comes. Reports progress and outcome to the page.
    async fn pickle(self) -> Option<File> {
        let reader = self.reader.clone();
        let mut arrival = || reader.arrival();
        let mut on_progress = of_reading(Reporter::new(self.port), reader.size_bytes());
        let options = self.options(&mut on_progress);
        let decoded = decode_arriving_pickle(reader.clone(), options, &mut arrival).await;
        drop(reader);
        self.decoded(decoded)
    }

    fn options<'a>(&self, on_progress: OnProgress<'a>) -> Options<'a> {
        Options {
            limits: Limits::default(),
            file_bytes: Some(self.reader.size_bytes()),
            on_progress,
        }
    }

    /// Reports a snapshot, or why there is none, to the page.
    fn decoded(self, decoded: Result<Snapshot, vramscope_core::Error>) -> Option<File> {
        let Self {
            name,
            reader,
            port,
            start_ms,
        } = self;
        let size_bytes = reader.size_bytes();
        // Its buffers would stay beside all that is computed now.
        drop(reader);
        let snapshot = match decoded {
            Ok(snapshot) => snapshot,
            Err(error) => return fail(opened::failure(&error), port),
        };
        port.send(&Reply::Progress(Progress {
            stage: Stage::Replaying,
            done_bytes: size_bytes,
            total_bytes: Some(size_bytes),
            events: snapshot.events.len() as u64,
        }));
        port.mark("decoded");
        let document = Document::new(snapshot);
        port.mark("paired");
        let read_ms = clock::now_ms() - start_ms;
        let opened = opened::opened(&document, name, size_bytes, read_ms);
        port.send(&Reply::Opened(Box::new(opened)));
        port.mark("told");
        // The page is busy building its elements meanwhile.
        document.prepare();
        port.mark("prepared");
        Some(File::Snapshot(Box::new(document)))
    }
}

fn other_snapshot(file: Reading<'_>) -> Option<File> {
    let mut on_progress = of_reading(Reporter::new(file.port), file.reader.size_bytes());
    let options = file.options(&mut on_progress);
    let decoded = decode_with(file.reader.clone(), options);
    file.decoded(decoded)
}

/// Reads a text. Reports progress and what it tells to the page, which has no questions.
fn read_text(file: Reading<'_>) -> Option<File> {
    let Reading {
        reader,
        port,
        start_ms,
        ..
    } = file;
    let size_bytes = reader.size_bytes();
    let mut reporter = Reporter::new(port);
    let read = vramscope_text::read_from(reader, |done_bytes| {
        reporter.report(Progress {
            stage: Stage::Reading,
            done_bytes,
            total_bytes: Some(size_bytes),
            events: 0,
        });
    });
    match read {
        Err(error) => fail(fleet::unreadable(&error), port),
        Ok(reading) if reading.is_empty() => fail(text::nothing(), port),
        Ok(reading) => {
            let told = text::told(&reading);
            let read_ms = clock::now_ms() - start_ms;
            port.send(&Reply::OpenedText(Box::new(TextFile {
                file_bytes: size_bytes,
                read_ms,
                told,
            })));
            None
        }
    }
}

/// Reads a fleet. Reports the outcome to the page.
fn ranks(file: Reading<'_>) -> Option<File> {
    let Reading {
        mut reader,
        port,
        start_ms,
        ..
    } = file;
    let mut bytes = Vec::new();
    if let Err(error) = reader.read_to_end(&mut bytes) {
        return fail(fleet::unreadable(&error), port);
    }
    match Ranks::read(&bytes) {
        Ok(ranks) => {
            let read_ms = clock::now_ms() - start_ms;
            port.send(&Reply::OpenedFleet(
                ranks.opened(bytes.len() as u64, read_ms),
            ));
            Some(File::Fleet(Box::new(ranks)))
        }
        Err(failure) => fail(*failure, port),
    }
}

fn fail(failure: Failure, port: &Port) -> Option<File> {
    port.fail(failure);
    None
}
