//! Training runs of any length, for the benchmarks.
//!
//! A transformer of two towers trains with AdamW. The seed decides everything, so the run is
//! simulated twice: once to find the final segments, which come first in the file, and once
//! to write the trace. Ten million events need little more memory than the memo.

mod model;
mod sites;

use std::io::{self, Write};

pub use model::Scale;

use crate::pickle::Dialect;
use crate::recorder::{Counter, Recorder, Sink};
use crate::snapshot::{Producer, Snapshot, TraceEntry, TraceWriter, WriteOptions, write_parts};
use crate::stacks::{Depth, StackBook};
use model::Run;
use sites::Sites;

/// Options of the run and of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Number of events to record; the trace may have two more or fewer.
    pub events: usize,
    /// Seed of everything that varies.
    pub seed: u64,
    /// The producer to imitate.
    pub producer: Producer,
    /// Python's pickle protocol; the C++ producer ignores it.
    pub protocol: u8,
    pub scale: Scale,
    pub depth: Depth,
    /// Whether frees carry a stack of their own instead of sharing their allocation's.
    pub own_free_stacks: bool,
    pub habit: Habit,
}

/// What a run does besides training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Habit {
    #[default]
    Nothing,
    /// Every step keeps a tensor for ever.
    Leaks,
    /// Every step leaves small blocks between large free ones, for the next two steps.
    Fragments,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            events: 100_000,
            seed: 1,
            producer: Producer::Python(2, 8),
            protocol: 4,
            scale: Scale::LARGE,
            depth: Depth::All,
            own_free_stacks: false,
            habit: Habit::Nothing,
        }
    }
}

impl Options {
    fn write_options(&self) -> WriteOptions {
        WriteOptions::new(self.producer).protocol(self.protocol)
    }

    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.write_options().dialect
    }
}

/// Runs the training and keeps the snapshot.
#[must_use]
pub fn snapshot(options: &Options) -> Snapshot {
    let mut book = StackBook::new();
    let sites = Sites::new(&mut book, options.depth);
    let (mut head, recorder) = simulate(options, &sites, Vec::new());
    head.device_traces = vec![recorder.sink];
    head.stacks = book.table;
    head
}

/// Runs the training twice and streams the snapshot to `out`.
///
/// # Errors
/// When the sink refuses bytes.
pub fn write<W: Write>(options: &Options, out: W) -> io::Result<W> {
    let mut book = StackBook::new();
    let sites = Sites::new(&mut book, options.depth);
    let (mut head, counted) = simulate(options, &sites, Counter::default());
    head.stacks = book.table;
    let how = options.write_options();
    write_parts(&head, &how, 1, out, |p, _device| {
        let trace = TraceWriter::begin(p, how, &head.stacks, counted.sink.0)?;
        let (_, written) = simulate(
            options,
            &sites,
            Stream {
                trace,
                failed: None,
            },
        );
        let Stream { trace, failed } = written.sink;
        match failed {
            Some(error) => Err(error),
            None => trace.end(),
        }
    })
}

/// Writes entries at once, and keeps the first error for the end.
struct Stream<'a, W> {
    trace: TraceWriter<'a, W>,
    failed: Option<io::Error>,
}

impl<W: Write> Sink for Stream<'_, W> {
    fn entry(&mut self, entry: &TraceEntry) {
        if self.failed.is_none() {
            self.failed = self.trace.entry(entry).err();
        }
    }
}

/// One pass: the snapshot without its trace, and the recorder with its sink.
fn simulate<S: Sink>(options: &Options, sites: &Sites, sink: S) -> (Snapshot, Recorder<S>) {
    let mut run = Run::new(options, sites, sink);
    run.train();
    let (recorder, annotations) = run.finish();
    let head = Snapshot {
        segments: recorder.heap.segments(0),
        external_annotations: annotations,
        ..Snapshot::default()
    };
    (head, recorder)
}

#[cfg(test)]
mod tests;
