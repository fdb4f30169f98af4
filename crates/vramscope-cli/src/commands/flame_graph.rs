//! `vramscope segments` and `vramscope memory`: flame graphs of the final state; also writes all other flame graphs.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::Args;
use inferno::flamegraph::{Options, from_reader};
use vramscope_core::analysis::report::block_stacks::{Beginning, Level, lines, official_lines};
use vramscope_core::model::Segment;

use super::stats::Format;
use crate::arguments::Snapshots;
use crate::destination::{self, Destination, Unfinished};
use crate::failure::Failure;
use crate::harmless::printable;
use crate::inputs;
use crate::output::{self, unwritten};
use crate::subject::Subject;

/// Draw a flame graph of every segment: its content, by call stack
///
/// Width is bytes of the final state. Free memory and rounding (`<gaps>`) are drawn too.
#[derive(Args)]
#[command(after_help = SEGMENTS_EXAMPLES)]
pub(crate) struct SegmentsOptions {
    #[command(flatten)]
    inputs: Snapshots,
    #[command(flatten)]
    drawing: Drawing,
}

const SEGMENTS_EXAMPLES: &str = "\
Examples:
  vramscope segments snapshot.pickle -o segments.svg
  vramscope segments snapshot.pickle --folded > segments.folded
  vramscope segments snapshot.pickle --folded --format torch | flamegraph.pl --countname bytes > segments.svg";

/// Draw a flame graph of the memory in the final state, by call stack
///
/// Width is bytes of the final state. Free memory and rounding (`<gaps>`) are drawn too.
#[derive(Args)]
#[command(after_help = MEMORY_EXAMPLES)]
pub(crate) struct MemoryOptions {
    #[command(flatten)]
    inputs: Snapshots,
    #[command(flatten)]
    drawing: Drawing,
}

const MEMORY_EXAMPLES: &str = "\
Examples:
  vramscope memory snapshot.pickle -o memory.svg
  vramscope memory rank*.pickle -o memory.svg
  vramscope memory snapshot.pickle --folded --format torch | flamegraph.pl --countname bytes > memory.svg";

/// Options for writing a flame graph.
#[derive(Args)]
pub(crate) struct Drawing {
    /// Where to write, instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Write collapsed stacks, a line each, instead of an SVG
    #[arg(long)]
    pub(super) folded: bool,
    /// Write the lines of torch's _memory_viz.py, byte for byte
    #[arg(long, value_name = "WHOSE", requires = "folded")]
    pub(super) format: Option<Format>,
}

pub(crate) fn run_segments(options: &SegmentsOptions) -> Result<(), Failure> {
    run(&options.inputs, &options.drawing, Level::Segment)
}

pub(crate) fn run_memory(options: &MemoryOptions) -> Result<(), Failure> {
    run(&options.inputs, &options.drawing, Level::Stream)
}

fn run(inputs: &Snapshots, drawing: &Drawing, level: Level) -> Result<(), Failure> {
    let mut target = Target::open(drawing, &inputs::files(&inputs.files)?)?;
    let mut names = Vec::new();
    let result = inputs::one_by_one(inputs, |subject, is_one_of_several| {
        names.push(subject.name.clone());
        let prefix = match is_one_of_several {
            true => format!("{};", path_label(&subject.name)),
            false => String::new(),
        };
        let rows = subject.snapshot.segments.rows.iter();
        let own = rows.filter(|segment| {
            let wanted = inputs.device.map(i64::from);
            wanted.is_none_or(|device| i64::from(segment.device) == device)
        });
        let beginning = Beginning {
            prefix: &prefix,
            level,
            names_device: subject.snapshot.devices().len() > 1,
        };
        target.add(subject, own, beginning)
    });
    // If no file could be read there is nothing to draw, and the first failure is the result.
    if result.is_err() && names.is_empty() {
        return result;
    }
    let what = match level {
        Level::Segment => "Segments",
        Level::Stream => "Memory",
    };
    let finished = target.finish(&format!("{what} of {}", names.join(", ")));
    inputs::report_all([result, finished].into_iter().filter_map(Result::err))
}

/// A file's name as a frame of the graph.
fn path_label(name: &str) -> String {
    printable(name).replace(';', ":")
}

/// Where lines are written.
pub(super) struct Target {
    format: Option<Format>,
    sink: Sink,
    /// The bytes that may still be drawn: the segments of a damaged file may add up to any number.
    room: i128,
}

enum Sink {
    Stdout,
    File(Unfinished),
    /// Collects all lines for an SVG.
    Picture(Vec<u8>, Destination),
}

impl Target {
    /// Opens the output file, if lines are written directly.
    ///
    /// # Errors
    /// When it cannot be created, is one of the inputs, or the picture would go to a terminal.
    pub(super) fn open(drawing: &Drawing, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let destination = drawing.output.as_deref().map(Destination::of);
        let destination = destination.unwrap_or(Destination::Stdout);
        destination::check([&destination], inputs)?;
        let sink = match (drawing.folded, destination) {
            (true, Destination::Stdout) => Sink::Stdout,
            (true, Destination::Path(path)) => Sink::File(Unfinished::create(&path)?),
            (false, Destination::Stdout) if io::stdout().is_terminal() => {
                return Err(Failure::Usage(
                    "an SVG is not shown on a terminal: name a file with -o, or ask for lines with --folded"
                        .to_owned(),
                ));
            }
            (false, destination) => Sink::Picture(Vec::new(), destination),
        };
        Ok(Self {
            format: drawing.format,
            sink,
            room: i128::from(i64::MAX),
        })
    }

    /// Writes the lines of some segments of a file.
    pub(super) fn add<'a>(
        &mut self,
        subject: &'a Subject,
        segments: impl Iterator<Item = &'a Segment>,
        beginning: Beginning<'_>,
    ) -> Result<(), Failure> {
        let (format, mut room) = (self.format, self.room);
        let is_picture = matches!(self.sink, Sink::Picture(..));
        let snapshot = &subject.snapshot;
        self.write(|out| {
            let mut add = |path: &str, bytes: i128| -> io::Result<()> {
                let bytes = if is_picture { bytes.min(room) } else { bytes };
                room -= bytes;
                writeln!(out, "{path} {bytes}")
            };
            match format {
                Some(Format::Torch) => official_lines(snapshot, segments, beginning, &mut add),
                None => lines(&subject.recording, segments, beginning, &mut add),
            }
        })?;
        self.room = room;
        Ok(())
    }

    fn write(
        &mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        match &mut self.sink {
            Sink::Stdout => output::stream(write),
            Sink::File(file) => file.write(|out| write(out).map_err(unwritten)),
            Sink::Picture(text, _) => write(text).map_err(Failure::io("cannot draw")),
        }
    }

    /// Draws the picture, if there is one, and completes the file.
    ///
    /// # Errors
    /// When there is nothing to draw or writing fails.
    pub(super) fn finish(self, title: &str) -> Result<(), Failure> {
        match self.sink {
            Sink::Stdout => Ok(()),
            Sink::File(file) => file.finish(),
            Sink::Picture(lines, _) if lines.is_empty() => Err(Failure::Input(
                "there is nothing to draw: no segments".to_owned(),
            )),
            Sink::Picture(lines, destination) => {
                let svg = draw(&lines, title).map_err(Failure::io("cannot draw"))?;
                destination.write(true, |out| out.write_all(&svg).map_err(unwritten))
            }
        }
    }
}

fn draw(lines: &[u8], title: &str) -> io::Result<Vec<u8>> {
    let mut options = Options::default();
    options.title = printable(title);
    options.count_name = "bytes".to_owned();
    // The same file always gives the same picture.
    options.deterministic = true;
    let mut svg = Vec::new();
    from_reader(&mut options, lines, &mut svg).map_err(io::Error::other)?;
    Ok(svg)
}
