//! `vramscope plot`: every view of the page as a picture.

mod arguments;
mod compare;
mod flame;
mod over_time;
mod sheet;
mod state;
mod targets;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use self::arguments::{
    Axis, Colour, Form, Format, Frames, Left, Size, Surroundings, View, What, Width, parse_size,
};
use self::sheet::Sheet;
use self::targets::{Target, targets};
use crate::arguments::Inputs;
use crate::destination;
use crate::failure::Failure;
use crate::inputs;
use crate::subject::{Device, Subject};

/// Draw a view of the page as PNG or SVG: timeline, segments, map, state, flame graph, comparison
///
/// A picture is of one device: the one with the highest peak, if --device names no other. Several files make
/// several pictures, in a folder; with --view compare two files, or one and two moments of it, make one.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    /// The picture to write (its ending, .png or .svg, decides what it is), a folder for several, or `-`
    #[arg(short, long, value_name = "PICTURE")]
    output: PathBuf,
    /// What to write into a folder or to standard output
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// What to draw
    #[arg(long, value_enum, default_value_t)]
    view: View,
    /// Width and height in pixels; if not given 1600x900, flame graphs as high as they are
    #[arg(long, value_name = "WxH", value_parser = parse_size)]
    size: Option<Size>,
    /// Pixels per unit of text size and line width: 2 for dense screens and print
    #[arg(long, value_name = "N", default_value_t = 1)]
    scale: u8,
    /// For which surroundings
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
    /// What the x axis counts [default: event]
    #[arg(long, value_enum)]
    axis: Option<Axis>,
    /// What the colours say [default: site]
    #[arg(long, visible_alias = "color", value_enum)]
    colour: Option<Colour>,
    /// Draw reserved memory, private pools and the device's capacity also where they leave little room for the rest
    #[arg(long)]
    reserved: bool,
    /// Which allocations a flame graph is of [default: live; with --range allocated]
    #[arg(long, value_enum)]
    what: Option<What>,
    /// What makes two frames of a flame graph one [default: line]
    #[arg(long, value_enum)]
    group_by: Option<Frames>,
    /// Whose frames are left out [default: runtime]
    #[arg(long, value_enum)]
    fold: Option<Left>,
    /// What the width of a box says [default: bytes]
    #[arg(long, value_enum)]
    weight: Option<Width>,
    /// Which way up a flame graph is [default: icicle]
    #[arg(long, value_enum)]
    shape: Option<Form>,
    /// Begin a flame graph where memory was allocated, with its callers behind
    #[arg(long)]
    inverted: bool,
}

const EXAMPLES: &str = "\
Examples:
  vramscope plot snapshot.pickle -o timeline.png
  vramscope plot snapshot.pickle -o step.svg --range 12000..18000 --colour stream
  vramscope plot snapshot.pickle -o peak.png --axis time --range 1.2s..1.5s --theme dark --size 3200x1800 --scale 2
  vramscope plot snapshot.pickle -o pools.png --reserved --colour pool
  vramscope plot snapshot.pickle -o state.png --view state --at oom
  vramscope plot snapshot.pickle -o step3.svg --view flame --what retained --range 'ProfilerStep*[3]'
  vramscope plot before.pickle after.pickle -o grown.png --view compare
  vramscope plot rank*.pickle -o pictures/ --view segments";

/// Draws the pictures.
///
/// # Errors
/// When a file cannot be read, has nothing of what is asked for, or a picture cannot be written.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    options.check()?;
    let files = inputs::files(&options.inputs.files)?;
    let theme = options.theme.theme();
    let sheet = |target: &Target| Sheet {
        format: target.format,
        size: options.size,
        scale: f64::from(options.scale.max(1)),
        theme: &theme,
    };
    let pictured = match options.view {
        View::Compare => &files[..1],
        _ => &files,
    };
    let targets = targets(options, pictured)?;
    destination::check(targets.iter().map(|target| &target.destination), &files)?;
    if options.view == View::Compare {
        let picture = compare::draw(options, &files, &sheet(&targets[0]))?;
        return targets[0].write(&picture);
    }
    let results = inputs::each(&files, options.inputs.memory, |place, file| {
        let target = &targets[place];
        target.write(&options.draw(file, &sheet(target))?)
    });
    inputs::report_all(results.into_iter().filter_map(Result::err).collect())
}

impl Options {
    fn draw(&self, file: &Path, sheet: &Sheet<'_>) -> Result<Vec<u8>, Failure> {
        let subject = Subject::load(file, self.inputs.device)?;
        let device = main_device(&subject)?;
        match self.view {
            View::State => state::draw(self, &device, sheet),
            View::Flame => flame::draw(self, &device, sheet),
            _ => over_time::draw(self, &device, sheet),
        }
    }

    /// Refuses options that mean nothing in the view.
    fn check(&self) -> Result<(), Failure> {
        use View::{Compare, Flame, Map, Segments, State, Timeline};
        let over_time = [Timeline, Segments, Map];
        let given: [(&str, bool, &[View]); 11] = [
            (
                "range",
                self.range.is_some(),
                &[Timeline, Segments, Map, Flame, Compare],
            ),
            ("at", self.at.is_some(), &[State, Flame, Compare]),
            (
                "axis",
                self.axis.is_some(),
                &[Timeline, Segments, Map, Compare],
            ),
            (
                "colour",
                self.colour.is_some(),
                &[Timeline, Segments, Map, State],
            ),
            ("reserved", self.reserved, &[Timeline]),
            ("what", self.what.is_some(), &[Flame]),
            ("group-by", self.group_by.is_some(), &[Flame, Compare]),
            ("fold", self.fold.is_some(), &[Flame, Compare]),
            ("weight", self.weight.is_some(), &[Flame]),
            ("shape", self.shape.is_some(), &[Flame]),
            ("inverted", self.inverted, &[Flame]),
        ];
        let misplaced = given
            .into_iter()
            .find(|(_, is_given, views)| *is_given && !views.contains(&self.view));
        if let Some((name, _, views)) = misplaced {
            let names: Vec<String> = views.iter().map(|&view| name_of(view)).collect();
            return Err(Failure::Usage(format!(
                "--{name} means nothing with --view {}; it is for {}",
                name_of(self.view),
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

fn name_of(view: View) -> String {
    let value = view.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// The device asked for, else the one with the highest peak (the first of equals).
fn main_device(subject: &Subject) -> Result<Device<'_>, Failure> {
    subject.main_device().ok_or_else(|| {
        Failure::Input(format!(
            "{}: the file holds no device, so there is nothing to draw",
            subject.name
        ))
    })
}

/// The file without its folder: a picture is shown to others.
fn title(name: &str) -> String {
    let name_only = Path::new(name).file_name();
    name_only.map_or_else(
        || name.to_owned(),
        |name| name.to_string_lossy().into_owned(),
    )
}

/// `after event 1,234`, `from the start`.
fn moment_words(moment: u32) -> String {
    match moment {
        0 => "from the start".to_owned(),
        moment => format!(
            "after event {}",
            vramscope_core::units::Count(u64::from(moment))
        ),
    }
}
