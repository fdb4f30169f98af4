//! `vramscope html` and torch's three plots: one file with the viewer and the data inside.
//!
//! ```text
//! FILE ─> decode ─> pack ─> zstd ─┐
//! the page built into this program ┴─> html/page ─> one file
//! ```

mod page;
mod place;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use clap::Args;
use vramscope_core::Snapshot;
use vramscope_core::analysis::properties::Property;
use vramscope_core::cut::without_freed;
use vramscope_core::model::DeviceIndex;
use vramscope_core::units::Bytes;
use vramscope_core::vram_format;
use vramscope_serve::Page;
use vramscope_view::address::Address;
use vramscope_view::one_file::Embedded;
use vramscope_view::views::ViewKind;

use super::inductor::files::{holds_graphs, read as read_graphs};
use crate::arguments::parse_view;
use crate::destination::{self, Destination};
use crate::failure::Failure;
use crate::harmless::printable;
use crate::input::{display_name, is_stdin, read};
use crate::inputs::{self, Source};
use crate::output::{self, unwritten};
use crate::subject::Subject;
use page::one_file;
use place::{place, unless_first};

/// zstd's level: a million events take seconds, and higher levels save little more.
const LEVEL: i32 = 15;

/// Write one HTML file with the viewer and the files inside: it opens from disk, without any network
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Snapshots, or folders of them (one per rank), or graphs of torch.compile; `-` reads a snapshot from standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// View to open first
    #[arg(long, value_parser = parse_view(ViewKind::ALL), default_value = ViewKind::Overview.name())]
    view: ViewKind,
    /// Show this device of the first file instead of the one with the highest peak
    #[arg(long, value_name = "N")]
    device: Option<DeviceIndex>,
    /// Put the cursor at this moment: peak, end, oom, an event's number, 2.5s, an annotation's name, ...
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// Select this range: A..B of such moments, or an annotation's name
    #[arg(long, value_name = "RANGE")]
    range: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  vramscope html snapshot.pickle -o report.html
  vramscope html snapshot.pickle -o oom.html --view allocator --at oom
  vramscope html rank0.pickle rank1.pickle -o ranks.html --view timeline --range 'step[3]'
  vramscope html graph.json -o graph.html

Double-click the file: any browser of the last two years shows it, and it asks no network for anything.
It holds the whole files, source paths and all, and vramscope reads the first snapshot from it again:
vramscope info report.html";

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    if let Source::Open { subjects, answer } = source {
        let html = of_open(options, subjects)?;
        let written = answer.write_all(html.as_bytes());
        return written.map_err(Failure::io("cannot hold the page"));
    }
    let files = inputs::files(&options.files)?;
    let mut report = Report::new(&options.output, &files, showing(options.view))?;
    let mut failures = Vec::new();
    for file in &files {
        let place = options
            .are_placed()
            .then_some(options)
            .filter(|_| report.files.is_empty());
        failures.extend(report.read(file, place).err());
    }
    if !report.files.is_empty() {
        failures.extend(report.write().err());
    }
    inputs::report_all(failures)
}

impl Options {
    /// Whether the options name a place in the first file.
    fn are_placed(&self) -> bool {
        self.device.is_some() || self.at.is_some() || self.range.is_some()
    }
}

/// The page with open snapshots.
fn of_open(options: &Options, subjects: &[Arc<Subject>]) -> Result<String, Failure> {
    let page = crate::page::of_program()?;
    let mut shown = showing(options.view);
    let mut files = Vec::new();
    for subject in subjects {
        if files.is_empty() && options.are_placed() {
            let subject = subject.narrowed(options.device)?;
            shown.place = place(&subject, options.at.as_deref(), options.range.as_deref())?;
        }
        files.push(embedded(Path::new(&subject.name), &subject.snapshot)?);
    }
    shown.file = files.first().map(Embedded::key);
    one_file(&page, &files, &shown.to_text())
}

/// The page without any file, for a page that sends it snapshots.
pub(crate) fn viewer() -> Result<String, Failure> {
    one_file(&crate::page::of_program()?, &[], "")
}

/// The address of a view on the file's first device.
fn showing(view: ViewKind) -> Address {
    Address {
        view: Some(view),
        ..Address::default()
    }
}

/// The content of an input file.
enum Content {
    Snapshot(Box<Snapshot>),
    /// Graphs of torch.compile: the file unchanged.
    Graphs(Vec<u8>),
}

impl Content {
    /// Reads a file and recognises its content.
    fn of(path: &Path) -> Result<Self, Failure> {
        if is_stdin(path) || !holds_graphs(path) {
            return Ok(Self::Snapshot(Box::new(read(path)?)));
        }
        read_graphs(path)?;
        let bytes = fs::read(path).map_err(|error| Failure::unread(path, error))?;
        Ok(Self::Graphs(bytes))
    }
}

/// The arguments that torch's three plots share.
#[derive(Args)]
struct Plot {
    /// The snapshot; `-` reads standard input
    file: PathBuf,
    /// Where to write; `-` is standard output
    #[arg(short, long, value_name = "FILE", default_value = "output.html")]
    output: PathBuf,
    /// Show this device instead of the one with the highest peak
    #[arg(short, long, value_name = "N")]
    device: Option<DeviceIndex>,
}

impl Plot {
    fn write(
        &self,
        shown: Address,
        prepare: impl FnOnce(Snapshot) -> Result<Snapshot, Failure>,
    ) -> Result<(), Failure> {
        let mut report = Report::new(&self.output, slice::from_ref(&self.file), shown)?;
        let snapshot = prepare(read(&self.file)?)?;
        if let Some(device) = self.device {
            // Fails if there is no such device.
            let subject = Subject::of(display_name(&self.file), snapshot, self.device)?;
            report.shown.place.device = unless_first(&subject, device);
            report.add(&self.file, &subject.snapshot)?;
        } else {
            report.add(&self.file, &snapshot)?;
        }
        report.write()
    }
}

/// Write the timeline as one HTML file, as torch's trace_plot does
#[derive(Args)]
#[command(after_help = "\
Examples:
  vramscope trace-plot snapshot.pickle
  vramscope trace-plot snapshot.pickle -o memory.html --filter-freed
  vramscope trace-plot snapshot.pickle --segments

The same as `vramscope html --view timeline`: all other views are in the file too.")]
pub(crate) struct TracePlotOptions {
    #[command(flatten)]
    plot: Plot,
    /// Show reserved memory, segment by segment, instead of allocated memory
    #[arg(short, long)]
    segments: bool,
    /// Leave out what was allocated and freed again within the recording
    #[arg(short, long, visible_alias = "filter_freed")]
    filter_freed: bool,
}

pub(crate) fn run_trace_plot(options: &TracePlotOptions) -> Result<(), Failure> {
    let view = match options.segments {
        true => ViewKind::Segments,
        false => ViewKind::Timeline,
    };
    options.plot.write(showing(view), |snapshot| {
        Ok(match options.filter_freed {
            true => without_freed(&snapshot),
            false => snapshot,
        })
    })
}

/// Write the allocator's state at every event as one HTML file, as torch's segment_plot does
#[derive(Args)]
#[command(after_help = "\
Examples:
  vramscope segment-plot snapshot.pickle
  vramscope segment-plot snapshot.pickle -o state.html --device 1

The same as `vramscope html --view allocator`: all other views are in the file too.")]
pub(crate) struct SegmentPlotOptions {
    #[command(flatten)]
    plot: Plot,
}

pub(crate) fn run_segment_plot(options: &SegmentPlotOptions) -> Result<(), Failure> {
    options.plot.write(showing(ViewKind::Allocator), Ok)
}

/// Write a profiler run's timeline by category as one HTML file, as torch's profile_plot does
#[derive(Args)]
#[command(after_help = "\
Examples:
  vramscope profile-plot profile.pickle
  vramscope profile-plot profile.pickle -o categories.html

The file is what torch's own tools make of a profiler run, with the category of each tensor:
  with torch.profiler.profile(profile_memory=True, record_shapes=True, with_stack=True) as profile:
      train()
  snapshot = torch.cuda._memory_viz._profile_to_snapshot(profile)
  pickle.dump(snapshot, open(\"profile.pickle\", \"wb\"))")]
pub(crate) struct ProfilePlotOptions {
    #[command(flatten)]
    plot: Plot,
}

pub(crate) fn run_profile_plot(options: &ProfilePlotOptions) -> Result<(), Failure> {
    let by_category = Address {
        colour_by: Some(Property::Category),
        ..showing(ViewKind::Timeline)
    };
    options.plot.write(by_category, |snapshot| {
        if snapshot.contexts.rows().iter().any(|context| context.category.is_some()) {
            return Ok(snapshot);
        }
        let name = display_name(&options.plot.file);
        Err(Failure::Input(format!(
            "{name} has no categories (parameter, gradient, activation, ...): these come from torch.profiler, by \
             way of _profile_to_snapshot; `vramscope profile-plot --help` shows how."
        ))
        .followed_by([format!(
            "For the timeline of this file, run: vramscope trace-plot {name}"
        )]))
    })
}

/// The HTML file being made.
struct Report {
    page: Page,
    output: Destination,
    /// The address that the page opens first, on the first file.
    shown: Address,
    files: Vec<Embedded>,
    /// The size of the input files, in bytes.
    read_bytes: u64,
}

impl Report {
    fn new(output: &Path, inputs: &[PathBuf], shown: Address) -> Result<Self, Failure> {
        // Checked before minutes of work.
        let output = Destination::of(output);
        destination::check([&output], inputs)?;
        Ok(Self {
            page: crate::page::of_program()?,
            output,
            shown,
            files: Vec::new(),
            read_bytes: 0,
        })
    }

    /// Reads a file and embeds it; the page opens it at the place that `options` name.
    fn read(&mut self, path: &Path, options: Option<&Options>) -> Result<(), Failure> {
        let snapshot = match Content::of(path)? {
            Content::Snapshot(snapshot) => *snapshot,
            Content::Graphs(bytes) if options.is_none() => return self.add_graphs(path, &bytes),
            Content::Graphs(_) => {
                let name = display_name(path);
                return Err(Failure::Usage(format!(
                    "--device, --at and --range are about snapshots, and {name} holds graphs: name a snapshot first"
                )));
            }
        };
        if let Some(options) = options {
            let subject = Subject::of(display_name(path), snapshot, options.device)?;
            self.shown.place = place(&subject, options.at.as_deref(), options.range.as_deref())?;
            return self.add(path, &subject.snapshot);
        }
        self.add(path, &snapshot)
    }

    fn add(&mut self, path: &Path, snapshot: &Snapshot) -> Result<(), Failure> {
        self.files.push(embedded(path, snapshot)?);
        self.count(snapshot.source.file_bytes);
        Ok(())
    }

    /// Embeds graphs unchanged: the page reads them.
    fn add_graphs(&mut self, path: &Path, bytes: &[u8]) -> Result<(), Failure> {
        self.files.push(packed(path, compressed(bytes))?);
        self.count(bytes.len() as u64);
        Ok(())
    }

    fn count(&mut self, read_bytes: u64) {
        self.read_bytes = self.read_bytes.saturating_add(read_bytes);
    }

    fn write(mut self) -> Result<(), Failure> {
        self.shown.file = self.files.first().map(Embedded::key);
        let html = one_file(&self.page, &self.files, &self.shown.to_text())?;
        // A page is not text: a terminal would fill with the viewer's program.
        self.output.write(false, |out| {
            out.write_all(html.as_bytes()).map_err(unwritten)
        })?;
        if self.output == Destination::Stdout {
            return Ok(());
        }
        let data = self.files.iter().map(Embedded::base64_bytes).sum::<u64>();
        let whole = html.len() as u64;
        output::note(&format!(
            "{}: {}, of which {} are data (read: {}) and {} the viewer\n",
            printable(&self.output.name()),
            Bytes(whole),
            Bytes(data),
            Bytes(self.read_bytes),
            Bytes(whole.saturating_sub(data)),
        ));
        Ok(())
    }
}

/// A snapshot under its path's name.
fn embedded(path: &Path, snapshot: &Snapshot) -> Result<Embedded, Failure> {
    let mut bytes = Vec::new();
    let written = vram_format::write(snapshot, &mut bytes);
    packed(path, written.and_then(|()| compressed(&bytes)))
}

fn packed(path: &Path, packed: io::Result<Vec<u8>>) -> Result<Embedded, Failure> {
    let name = path.file_name().filter(|_| !is_stdin(path));
    let name = name.map_or("stdin".into(), |name| name.to_string_lossy());
    let doing = format!("cannot pack {}", display_name(path));
    Ok(Embedded {
        name: name.into_owned(),
        packed: packed.map_err(Failure::io(doing))?,
    })
}

fn compressed(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut zstd = zstd::Encoder::new(Vec::new(), LEVEL)?;
    zstd.include_checksum(true)?;
    // For an unknown size zstd prepares tables of many MB, which takes longer than compressing a small file.
    zstd.set_pledged_src_size(Some(bytes.len() as u64))?;
    zstd.write_all(bytes)?;
    zstd.finish()
}
