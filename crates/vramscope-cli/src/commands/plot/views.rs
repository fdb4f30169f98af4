//! Turns the options into the description of a view.

use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::search::filter::parse_decimal;
use vramscope_core::analysis::time::selection::Selection;
use vramscope_view::axes::XUnit;
use vramscope_view::flame::NodeKey;
use vramscope_view::plot::views::{AllocatorView, FlameView, LinesOver, OverTimeView, View};
use vramscope_view::raster::Bands;
use vramscope_view::restacked::Stacking;
use vramscope_view::views::{Picture, ViewKind};

use super::Options;
use super::arguments::What;
use crate::failure::Failure;
use crate::subject::Device;

/// The view of a device that the options describe.
pub(super) fn view(
    options: &Options,
    device: &Device<'_>,
    usual: Property,
) -> Result<View, Failure> {
    Ok(match options.view {
        ViewKind::Allocator => View::Allocator(AllocatorView {
            moment: device.moment(options.at.as_deref().unwrap_or("peak"))?,
            colour_by: colours(options, usual, None),
        }),
        ViewKind::Flame => View::Flame(flame(options, device, usual)?),
        view => View::OverTime(over_time(
            options,
            view.picture().unwrap_or_default(),
            device,
            usual,
        )?),
    })
}

/// What the colours mean: the user's choice, or else the page's default.
fn colours(options: &Options, usual: Property, picture: Option<Picture>) -> Property {
    match options.colour {
        Some(chosen) => chosen,
        None if picture == Some(Picture::Segments) => Property::CallSite,
        None => usual,
    }
}

fn over_time(
    options: &Options,
    picture: Picture,
    device: &Device<'_>,
    usual: Property,
) -> Result<OverTimeView, Failure> {
    let axis = options.axis.unwrap_or_default().unit();
    if axis == XUnit::Time && !device.has_times() {
        return Err(Failure::Input(format!(
            "{}: the events have no times; use --axis event",
            device.subject.name
        )));
    }
    let range = options.range.as_deref();
    Ok(OverTimeView {
        picture,
        axis,
        colour_by: colours(options, usual, Some(picture)),
        x: range
            .map(|range| on_axis(range, device, axis))
            .transpose()?,
        y_bytes: None,
        lines: LinesOver::of(**device, picture, options.reserved),
        is_folded: false,
        stacking: Stacking {
            by_group: options.by_colour,
            only_found: options.only_found,
        },
    })
}

/// Converts a range to the axis's unit: events, or µs from the start.
fn on_axis(range: &str, device: &Device<'_>, axis: XUnit) -> Result<(f64, f64), Failure> {
    let bands = Bands::of(device.history, axis == XUnit::Time);
    let range = match axis {
        XUnit::Time => in_seconds(range),
        XUnit::Events => range.to_owned(),
    };
    let (from, to) = device.range(&range)?;
    let x = |moment: u32| bands.moment_x(moment as usize);
    let end = if to >= device.history.event_count {
        bands.x_end()
    } else {
        // An empty range is widened to the next event, so that it can be seen.
        x(to).max(x(from + 1))
    };
    Ok((x(from), end))
}

/// On a time axis, plain numbers are seconds.
fn in_seconds(range: &str) -> String {
    let end = |text: &str| match parse_decimal(text) {
        Some(seconds) => format!("{seconds}s"),
        None => text.to_owned(),
    };
    match range.split_once("..") {
        Some((from, to)) => format!("{}..{}", end(from), end(to)),
        None => range.to_owned(),
    }
}

fn flame(options: &Options, device: &Device<'_>, usual: Property) -> Result<FlameView, Failure> {
    Ok(FlameView {
        selection: selection(options, device)?,
        colour_by: colours(options, usual, None),
        weight: options.weight.unwrap_or_default().weight(),
        grouping: options.group_by.unwrap_or_default().grouping(),
        fold: options.fold.unwrap_or_default().fold(),
        patterns: String::new(),
        is_inverted: options.inverted,
        by_place: options.by_place,
        shape: options.shape.unwrap_or_default().shape(),
        focus: NodeKey::ROOT,
    })
}

/// The allocations of a flame graph.
fn selection(options: &Options, device: &Device<'_>) -> Result<Selection, Failure> {
    let what = match (options.what, &options.range) {
        (Some(what), _) => what,
        (None, Some(_)) => What::Allocated,
        (None, None) => What::Live,
    };
    let misplaced = |option: &str, instead: &str| {
        let text = format!("--{option} means nothing with this --what; it is for {instead}");
        Err(Failure::Usage(text))
    };
    if what == What::Live {
        if options.range.is_some() {
            return misplaced("range", "--what allocated and retained");
        }
        let name = options.at.as_deref().unwrap_or("peak");
        return Ok(Selection::LiveAt(device.moment(name)?));
    }
    if options.at.is_some() {
        return misplaced("at", "--what live");
    }
    let range = device.range(options.range.as_deref().unwrap_or("all"))?;
    Ok(match what {
        What::Retained => Selection::RetainedFrom(range),
        What::Live | What::Allocated => Selection::AllocatedIn(range),
    })
}
