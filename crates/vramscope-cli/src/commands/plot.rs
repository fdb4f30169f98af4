//! `vramscope plot`: the timeline as a picture.

mod arguments;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use vramscope_core::Snapshot;
use vramscope_core::analysis::call_sites::CallSites;
use vramscope_core::analysis::frames::FrameClasses;
use vramscope_core::analysis::history::History;
use vramscope_core::analysis::live_at::live_at;
use vramscope_core::model::DeviceIndex;
use vramscope_core::units::{Bytes, Count};
use vramscope_view::colour::ColourMode;
use vramscope_view::groups::Groups;
use vramscope_view::plot::{LegendLine, Plot, PlotError, PlotStyle};
use vramscope_view::raster::{Bands, TimelineIndex};
use vramscope_view::theme::{Theme, ThemeName};

use self::arguments::{Range, Size, parse_range, parse_size};
use crate::failure::Failure;
use crate::input::{Loaded, load};

/// Draw the active-memory timeline, every allocation of it, as PNG or SVG
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// The snapshot; `-` reads standard input
    file: PathBuf,
    /// The picture to write; its ending (.png, .svg) decides what it is
    #[arg(short, long, value_name = "PICTURE")]
    output: PathBuf,
    /// The device to draw; the one with the highest peak if not given
    #[arg(long, value_name = "N")]
    device: Option<DeviceIndex>,
    /// What to draw
    #[arg(long, value_enum, default_value_t)]
    view: View,
    /// Width and height in pixels
    #[arg(long, value_name = "WxH", default_value = "1600x900", value_parser = parse_size)]
    size: Size,
    /// Pixels per unit of text size and line width: 2 for dense screens and print
    #[arg(long, value_name = "N", default_value_t = 1)]
    scale: u8,
    /// The part to draw: events (1000..2000, 1000..) or seconds from the start (0.5..0.75)
    #[arg(long, value_name = "A..B", value_parser = parse_range)]
    range: Option<Range>,
    /// What the x axis counts
    #[arg(long, value_enum, default_value_t)]
    axis: Axis,
    /// For which surroundings
    #[arg(long, value_enum, default_value_t)]
    theme: Surroundings,
    /// What the colours say
    #[arg(long, visible_alias = "color", value_enum, default_value_t)]
    colour: Colour,
}

const EXAMPLES: &str = "\
Examples:
  vramscope plot snapshot.pickle -o timeline.png
  vramscope plot snapshot.pickle -o step.svg --range 12000..18000 --colour stream
  vramscope plot snapshot.pickle -o peak.png --axis time --range 1.2..1.5 --theme dark --size 3200x1800 --scale 2";

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum View {
    /// Live allocations, stacked in order of allocation
    #[default]
    Timeline,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Axis {
    /// Events, evenly spaced
    #[default]
    Event,
    /// The wall clock
    Time,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Surroundings {
    /// Dark ink on a light ground
    #[default]
    Light,
    /// Light ink on a dark ground
    Dark,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
enum Colour {
    /// Where in the code it was allocated
    #[default]
    Site,
    /// How large it is
    Size,
    /// Which stream it was allocated on
    Stream,
    /// Which memory pool it comes from
    Pool,
    /// Which category the profiler gave it
    Category,
    /// When it was allocated
    Age,
}

impl Colour {
    fn mode(self) -> ColourMode {
        match self {
            Self::Site => ColourMode::CallSite,
            Self::Size => ColourMode::Size,
            Self::Stream => ColourMode::Stream,
            Self::Pool => ColourMode::Pool,
            Self::Category => ColourMode::Category,
            Self::Age => ColourMode::Age,
        }
    }
}

/// Kinds of picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Format {
    Png,
    Svg,
}

impl Format {
    fn of(output: &Path) -> Result<Self, Failure> {
        let ending = output
            .extension()
            .map(|ending| ending.to_string_lossy().to_ascii_lowercase());
        match ending.as_deref() {
            Some("png") => Ok(Self::Png),
            Some("svg") => Ok(Self::Svg),
            _ => Err(Failure::Usage(format!(
                "{}: a picture ends in .png or .svg",
                output.display()
            ))),
        }
    }
}

/// Draws the picture.
///
/// # Errors
/// When the file cannot be read, has nothing of what is asked for, or the picture cannot be written.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let format = Format::of(&options.output)?;
    let loaded = load(&options.file)?;
    let picture = draw(options, format, &loaded)?;
    let doing = format!("cannot write {}", options.output.display());
    std::fs::write(&options.output, picture).map_err(Failure::io(doing))
}

fn draw(options: &Options, format: Format, loaded: &Loaded) -> Result<Vec<u8>, Failure> {
    let View::Timeline = options.view;
    let Loaded {
        snapshot,
        histories,
        ..
    } = loaded;
    let history = pick_device(histories, options.device)?;
    if options.axis == Axis::Time && history.moment_start_us.is_empty() {
        let text = format!(
            "{}: the events have no times; use --axis event",
            loaded.name
        );
        return Err(Failure::Input(text));
    }
    let theme = Theme::of(match options.theme {
        Surroundings::Light => ThemeName::Light,
        Surroundings::Dark => ThemeName::Dark,
    });
    let bands = Bands::of(history, options.axis == Axis::Time);
    let index = TimelineIndex::new(&bands);
    let x = options
        .range
        .map(|range| on_axis(range, &bands))
        .transpose()?;
    let (from_x, to_x) = x.unwrap_or((0.0, bands.x_end()));
    let shown = bands.moments_in(from_x, to_x).unwrap_or(0..=0);
    let peak_moment = index.highest_in(&bands, shown);
    let groups = groups(options.colour, &theme, snapshot, histories, history);
    let plot = Plot {
        bands: &bands,
        index: &index,
        colours: &groups.colours,
        matches: None,
        x,
        y_bytes: None,
        title: &title(loaded),
        subtitle: &subtitle(history, peak_moment),
        legend: &legend(&groups, &theme, history, peak_moment),
    };
    let style = PlotStyle {
        width_px: options.size.width_px,
        height_px: options.size.height_px,
        pixel_ratio: f64::from(options.scale.max(1)),
        theme: &theme,
    };
    let picture = match format {
        Format::Png => plot.to_png(&style),
        Format::Svg => plot.to_svg(&style).map(String::into_bytes),
    };
    picture.map_err(|error| match error {
        PlotError::TooSmall { .. } | PlotError::TooLarge { .. } => {
            Failure::Usage(error.to_string())
        }
        other => Failure::Input(other.to_string()),
    })
}

/// The device asked for, else the one with the highest peak (the first of equals).
fn pick_device(histories: &[History], device: Option<DeviceIndex>) -> Result<&History, Failure> {
    if let Some(device) = device {
        return histories
            .iter()
            .find(|history| history.device == device)
            .ok_or_else(|| {
                let known: Vec<_> = histories
                    .iter()
                    .map(|history| history.device.to_string())
                    .collect();
                let known = if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                };
                Failure::Input(format!(
                    "there is no device {device} in this file; it has {known}"
                ))
            });
    }
    let peak = |history: &History| history.active_bytes.iter().copied().max().unwrap_or(0);
    let highest = histories
        .iter()
        .max_by_key(|history| (peak(history), std::cmp::Reverse(history.device)));
    highest.ok_or_else(|| {
        Failure::Input("the file holds no device, so there is nothing to draw".to_owned())
    })
}

/// A range in the axis's own unit: events, or µs from the start.
fn on_axis(range: Range, bands: &Bands<'_>) -> Result<(f64, f64), Failure> {
    let is_time = bands.moment_start_us.is_some();
    let unit = if is_time { 1e6 } else { 1.0 };
    let end = bands.x_end();
    let from = range.from.map_or(0.0, |from| from * unit);
    let to = range.to.map_or(end, |to| (to * unit).min(end));
    if from >= to {
        let end = if is_time {
            format!("{} s", end / 1e6)
        } else {
            format!("event {end}")
        };
        return Err(Failure::Input(format!(
            "nothing lies in that range: the trace ends at {end}"
        )));
    }
    Ok((from, to))
}

fn groups(
    colour: Colour,
    theme: &Theme,
    snapshot: &Snapshot,
    histories: &[History],
    history: &History,
) -> Groups {
    let classes = FrameClasses::of(snapshot);
    let sites = CallSites::of(snapshot, &classes, histories);
    let site_of = sites.of_allocations(snapshot, history);
    Groups::of(colour.mode(), theme, snapshot, history, &sites, &site_of)
}

/// The file without its folder: a picture is shown to others.
fn title(loaded: &Loaded) -> String {
    let name = Path::new(&loaded.name).file_name();
    name.map_or_else(
        || loaded.name.clone(),
        |name| name.to_string_lossy().into_owned(),
    )
}

fn subtitle(history: &History, peak_moment: u32) -> String {
    let active = history
        .active_bytes
        .get(peak_moment as usize)
        .copied()
        .unwrap_or(0);
    let moment = match peak_moment {
        0 => "from the start".to_owned(),
        moment => format!("after event {}", Count(u64::from(moment))),
    };
    let allocations = Count(history.allocations.len() as u64);
    format!(
        "device {} · {allocations} allocations · peak {} {moment}",
        history.device,
        Bytes(active)
    )
}

/// The groups that are live at the peak of what is shown, the largest first; the last line sums up
/// those for which there is no line.
fn legend(groups: &Groups, theme: &Theme, history: &History, peak_moment: u32) -> Vec<LegendLine> {
    /// As many as a picture of usual height has room for.
    const LINES: usize = 16;
    let live = live_at(history, peak_moment).map(|id| id.0);
    let mut totals = groups.totals(&history.allocations.bytes, live);
    let further = if totals.len() > LINES {
        totals.split_off(LINES - 1)
    } else {
        Vec::new()
    };
    let lines = totals.into_iter().filter_map(|total| {
        let group = total.group as usize;
        let (rgb, label) = (*groups.rgb.get(group)?, groups.labels.get(group)?.clone());
        Some(LegendLine {
            rgb,
            label,
            bytes: total.bytes,
        })
    });
    let bytes = further
        .iter()
        .fold(0_u64, |sum, total| sum.saturating_add(total.bytes));
    let rest = (!further.is_empty()).then(|| LegendLine {
        rgb: theme.grid,
        label: format!("{} further", Count(further.len() as u64)),
        bytes,
    });
    lines.chain(rest).collect()
}
