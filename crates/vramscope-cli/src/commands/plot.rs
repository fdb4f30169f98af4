//! `vramscope plot`: every view of the page as a picture.

mod arguments;
mod compare;
mod targets;
mod views;

use std::path::{Path, PathBuf};

use clap::Args;
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::recording;
use vramscope_core::analysis::search::filter::{Filter, Pointed, matches};
use vramscope_core::bitset::BitSet;
use vramscope_view::colour::{self, Leaders};
use vramscope_view::plot::PlotError;
use vramscope_view::plot::views::{Search, Sheet, Subject as Pictured};
use vramscope_view::views::ViewKind;

use self::arguments::{
    Axis, Form, Format, Frames, Left, Size, Surroundings, What, Width, parse_size,
};
use self::targets::targets;
use super::find;
use crate::arguments::{Inputs, parse_view, property};
use crate::destination;
use crate::failure::Failure;
use crate::inputs::{self, Source};
use crate::subject::{Device, Subject};

/// The default size.
const USUAL: Size = Size {
    width_px: 1600,
    height_px: 900,
};

/// The views that can be drawn.
const DRAWN: [ViewKind; 6] = [
    ViewKind::Timeline,
    ViewKind::Segments,
    ViewKind::Map,
    ViewKind::Allocator,
    ViewKind::Flame,
    ViewKind::Compare,
];

/// Draw a view of the page as PNG or SVG: timeline, segments, map, allocator, flame graph, comparison
///
/// A picture shows one device: the one with the highest peak, or the one given by --device. Several files give several
/// pictures, in a folder. With --view compare, two files, or one file and two moments, give one picture.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// The picture to write (its extension decides the format: .png or .svg), a folder for several, or `-`
    #[arg(short, long, value_name = "PICTURE")]
    output: PathBuf,
    /// Picture format in a folder or on standard output
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// View to draw
    #[arg(long, value_parser = parse_view(DRAWN), default_value = ViewKind::default().name())]
    view: ViewKind,
    /// Width and height in pixels; by default 1600x900, and flame graphs as high as needed
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: Option<Size>,
    /// Pixels per unit of text size and line width: 2 for dense screens and print
    #[arg(long, value_name = "N", default_value_t = 1)]
    scale: u8,
    /// Colours for light or dark surroundings
    #[arg(long, value_enum, default_value_t)]
    theme: Surroundings,
    /// The part to draw: 1000..2000 (events), 0.5s.., NAME (an annotated range), NAME..oom. With --view compare
    /// the two moments
    #[arg(long, value_name = "A..B")]
    range: Option<String>,
    /// The moment to draw: peak, end, oom, 1234 (after that event), 2.5s, NAME (the end of an annotated range) [default:
    /// peak]
    #[arg(long, value_name = "MOMENT")]
    at: Option<String>,
    /// Unit of the x axis [default: event]
    #[arg(long, value_enum)]
    axis: Option<Axis>,
    /// Meaning of the colours [default: role where most are known, else call-site; of segments call-site, else size]
    #[arg(long, visible_alias = "color", value_name = "WHAT", value_parser = property(Property::is_coloured))]
    colour: Option<Property>,
    /// Dim allocations that do not match a filter (see `vramscope find`); its words cursor and range mean --at and --range
    ///
    /// A memory pool that it names (pool:1,0) is drawn alone.
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// Stack allocations of one colour together, the largest at the bottom [default: in the order of birth]
    #[arg(long)]
    by_colour: bool,
    /// Stack only allocations that match the filter, instead of dimming the others
    #[arg(long, requires = "filter")]
    only_found: bool,
    /// Draw reserved memory, private pools and the device's capacity even if they leave little room for the rest
    #[arg(long)]
    reserved: bool,
    /// Allocations in a flame graph [default: live; with --range allocated]
    #[arg(long, value_enum)]
    what: Option<What>,
    /// Merge frames of a flame graph that share this [default: line]
    #[arg(long, value_enum)]
    group_by: Option<Frames>,
    /// Frames to leave out of a flame graph [default: runtime]
    #[arg(long, value_enum)]
    fold: Option<Left>,
    /// Meaning of a box's width [default: bytes]
    #[arg(long, value_enum)]
    weight: Option<Width>,
    /// Orientation of a flame graph [default: icicle]
    #[arg(long, value_enum)]
    shape: Option<Form>,
    /// Start a flame graph at the allocating frame, followed by its callers
    #[arg(long)]
    inverted: bool,
    /// Start a flame graph at the memory pools, followed by stream and size of requests, segment, and callers
    #[arg(long, conflicts_with = "inverted")]
    by_place: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope plot snapshot.pickle -o timeline.png
  vramscope plot snapshot.pickle -o step.svg --range 12000..18000 --colour stream
  vramscope plot snapshot.pickle -o peak.png --axis time --range 1.2s..1.5s --theme dark --size 3200x1800 --scale 2
  vramscope plot snapshot.pickle -o pools.png --reserved --colour pool
  vramscope plot snapshot.pickle -o oom.png --view allocator --at oom
  vramscope plot snapshot.pickle -o step3.svg --view flame --what retained --range 'ProfilerStep*[3]'
  vramscope plot before.pickle after.pickle -o grown.png --view compare
  vramscope plot rank*.pickle -o pictures/ --view segments";

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    options.check()?;
    if options.view == ViewKind::Compare {
        source.must_be_files("--view compare")?;
    }
    if let Source::Open { subjects, answer } = source {
        let format = options.format.unwrap_or_default();
        for subject in *subjects {
            let subject = subject.narrowed(options.inputs.device)?;
            let written = answer.write_all(&options.draw(&subject, format)?);
            written.map_err(Failure::io("cannot hold the picture"))?;
        }
        return Ok(());
    }
    let files = inputs::files(&options.inputs.files)?;
    let pictured = match options.view {
        ViewKind::Compare => &files[..1],
        _ => &files,
    };
    let targets = targets(options, pictured)?;
    destination::check(targets.iter().map(|target| &target.destination), &files)?;
    if options.view == ViewKind::Compare {
        let format = targets[0].format.format();
        let picture = compare::draw(options, &files, &options.sheet(), format)?;
        return targets[0].write(&picture);
    }
    let draw = |place: usize, file: &Path| {
        let target = &targets[place];
        let subject = Subject::load(file, options.inputs.device)?;
        target.write(&options.draw(&subject, target.format)?)
    };
    inputs::each(&files, options.inputs.memory, draw, |results| {
        inputs::report_all(results.filter_map(Result::err))
    })
}

impl Options {
    fn sheet(&self) -> Sheet {
        let size = self.size.unwrap_or(USUAL);
        Sheet {
            width_px: size.width_px,
            height_px: size.height_px,
            is_flexible: self.size.is_none(),
            pixel_ratio: f64::from(self.scale.max(1)),
            theme: self.theme.name(),
        }
    }

    fn draw(&self, whole: &Subject, format: Format) -> Result<Vec<u8>, Failure> {
        let usual = self.usual_colours(*main_device(whole)?);
        let filter = self.filter.as_deref().map(find::parse).transpose()?;
        let narrowed = filter.as_ref().and_then(|of| whole.within_pools(of));
        let subject = narrowed.as_ref().unwrap_or(whole);
        let device = main_device(subject)?;
        let found = filter.as_ref().map(|of| self.found(of, &device));
        let found = found.transpose()?.flatten();
        let pictured = Pictured {
            file: &title(&subject.name),
            device: *device,
            leaders: &Leaders::of_sites(whole),
            search: found.as_ref().map(|(text, found)| Search { text, found }),
            replayed_steps: &[],
        };
        let view = views::view(self, &device, usual)?;
        written(view.file(&pictured, &self.sheet(), format.format()))
    }

    /// The default meaning of the colours, which is the page's.
    fn usual_colours(&self, device: recording::Device<'_>) -> Property {
        if self.view == ViewKind::Segments {
            colour::usual_of_segments(device)
        } else {
            colour::usual(device)
        }
    }

    /// The filter, and the allocations that match it; `None` if all do.
    fn found(
        &self,
        filter: &Filter,
        device: &Device<'_>,
    ) -> Result<Option<(&str, BitSet)>, Failure> {
        let (at, range) = (self.at.as_deref(), self.range.as_deref());
        let pointed = Pointed {
            cursor: at.map(|at| device.moment(at)).transpose()?,
            range: range.map(|range| device.range(range)).transpose()?,
        };
        let found = matches(filter, **device, pointed).set;
        let text = self.filter.as_deref().filter(|_| !filter.is_empty());
        Ok(text.map(|text| (text, found)))
    }

    /// Fails for options that have no meaning in the view.
    fn check(&self) -> Result<(), Failure> {
        use ViewKind::{Allocator, Compare, Flame, Map, Segments, Timeline};
        let over_time = [Timeline, Segments, Map];
        let given: [(&str, bool, &[ViewKind]); 15] = [
            (
                "range",
                self.range.is_some(),
                &[Timeline, Segments, Map, Flame, Compare],
            ),
            ("at", self.at.is_some(), &[Allocator, Flame, Compare]),
            (
                "axis",
                self.axis.is_some(),
                &[Timeline, Segments, Map, Compare],
            ),
            (
                "colour",
                self.colour.is_some(),
                &[Timeline, Segments, Map, Allocator, Flame],
            ),
            (
                "filter",
                self.filter.is_some(),
                &[Timeline, Map, Allocator, Flame],
            ),
            ("by-colour", self.by_colour, &[Timeline]),
            ("only-found", self.only_found, &[Timeline]),
            ("reserved", self.reserved, &[Timeline]),
            ("what", self.what.is_some(), &[Flame]),
            ("group-by", self.group_by.is_some(), &[Flame, Compare]),
            ("fold", self.fold.is_some(), &[Flame, Compare]),
            ("weight", self.weight.is_some(), &[Flame]),
            ("shape", self.shape.is_some(), &[Flame]),
            ("inverted", self.inverted, &[Flame]),
            ("by-place", self.by_place, &[Flame]),
        ];
        let misplaced = given
            .into_iter()
            .find(|(_, is_given, views)| *is_given && !views.contains(&self.view));
        if let Some((name, _, views)) = misplaced {
            let names: Vec<&str> = views.iter().map(|view| view.name()).collect();
            return Err(Failure::Usage(format!(
                "--{name} means nothing with --view {}; it is for {}",
                self.view.name(),
                names.join(", ")
            )));
        }
        if self.at.is_some() && self.range.is_some() && !over_time.contains(&self.view) {
            let text = "--at and --range contradict each other: one is a moment, the other two";
            return Err(Failure::Usage(text.to_owned()));
        }
        Ok(())
    }
}

/// The requested device, or else the one with the highest peak (the first among equals).
fn main_device(subject: &Subject) -> Result<Device<'_>, Failure> {
    subject.main_device().ok_or_else(|| {
        Failure::Input(format!(
            "{}: the file holds no device, so there is nothing to draw",
            subject.name
        ))
    })
}

/// The file's name without its folders: a picture may be shown to others.
fn title(name: &str) -> String {
    let name_only = Path::new(name).file_name();
    name_only.map_or_else(
        || name.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn written(picture: Result<Vec<u8>, PlotError>) -> Result<Vec<u8>, Failure> {
    picture.map_err(|error| match error {
        PlotError::TooSmall { .. } | PlotError::TooLarge { .. } => {
            Failure::Usage(error.to_string())
        }
        other => Failure::Input(other.to_string()),
    })
}
