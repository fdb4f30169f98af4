//! Draws sample pictures of synthetic timelines and of the given snapshots: `cargo run -p
//! vramscope-view --features font --example pictures -- DIR [SNAPSHOT…]`.

#[path = "../benches/frame/traces.rs"]
mod traces;

use std::path::Path;
use traces::Trace;
use vramscope_core::analysis::groups::live_at::live_at;
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::recording::Recording;
use vramscope_view::bitset::BitSet;
use vramscope_view::colour::{ColourColumn, Leaders};
use vramscope_view::groups::{GroupTotal, Groups};
use vramscope_view::plot::{Legend, LegendLine, OverTime, Plot, PlotStyle, Stack};
use vramscope_view::raster::{Bands, TimelineIndex};
use vramscope_view::theme::Theme;

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// The visible part of the timeline.
#[derive(Clone, Copy, Default)]
struct Part {
    x: Option<(f64, f64)>,
    y_bytes: Option<(f64, f64)>,
}

fn main() -> Outcome {
    let folder = std::env::args().nth(1).unwrap_or_else(|| ".".to_owned());
    let folder = Path::new(&folder);
    for (number, snapshot) in std::env::args().skip(2).enumerate() {
        draw_snapshot(folder, number, Path::new(&snapshot))?;
    }
    let training = traces::training(60_000);
    let torture = traces::torture(30_000, 3_000);
    let middle = f64::from(training.moments()) * 0.30;
    let gib = |gib: f64| gib * f64::from(1 << 30);
    let close = Part {
        x: Some((middle, middle + 120.0)),
        y_bytes: Some((gib(4.5), gib(4.8))),
    };
    let waiting = Part {
        x: Some((middle, middle + 1_500.0)),
        y_bytes: Some((gib(4.1), gib(4.8))),
    };
    let all = Part::default();
    let (light, dark) = (Theme::light(), Theme::dark());
    draw(folder, "whole-light", &training, &light, all, false)?;
    draw(folder, "whole-dark", &training, &dark, all, false)?;
    draw(folder, "zoomed-light", &training, &light, close, false)?;
    draw(folder, "pending-dark", &training, &dark, waiting, false)?;
    draw(folder, "torture-light", &torture, &light, all, false)?;
    draw(folder, "filtered-light", &training, &light, all, true)
}

fn draw(
    folder: &Path,
    name: &str,
    trace: &Trace,
    theme: &Theme,
    part: Part,
    filtered: bool,
) -> Outcome {
    let bands = trace.bands();
    let index = TimelineIndex::new(&bands);
    let colours = ColourColumn::by_hash(theme, trace.site.iter().map(|&site| Some(hash(site))));
    let matches = BitSet::from_fn(trace.site.len(), |row| trace.site[row].is_multiple_of(7));
    let legend: Vec<LegendLine> = [101, 150, 900, 501, 303, 707, 910, 120]
        .into_iter()
        .map(|site| LegendLine {
            rgb: Leaders::default().colour(theme, Some(hash(site))),
            label: format!("models/transformer.py:{site} forward"),
            bytes: Some((site << 22) + site),
        })
        .collect();
    let peak = vramscope_view::display::bytes(index.peak_bytes());
    let subtitle = format!("device 0 · every allocation · peak {peak}");
    let content = OverTime {
        stack: Stack::Bands(&index),
        bands: &bands,
        colours: &colours,
        matches: filtered.then_some(&matches),
        names: None,
        x: part.x,
        y_bytes: part.y_bytes,
        around: None,
        capacity_bytes: None,
        is_folded: false,
    };
    let legend = Legend {
        title: "",
        lines: &legend,
    };
    let plot = Plot {
        title: name,
        subtitle: &subtitle,
        note: "",
        legend,
        content,
    };
    let style = PlotStyle {
        width_px: 1400,
        height_px: 800,
        pixel_ratio: 1.0,
        theme,
    };
    std::fs::write(folder.join(format!("{name}.png")), plot.to_png(&style)?)?;
    std::fs::write(folder.join(format!("{name}.svg")), plot.to_svg(&style)?)?;
    Ok(())
}

fn hash(site: u64) -> u64 {
    vramscope_view::colour::stable_hash(&site.to_string())
}

/// Draws every device of a snapshot by call site, alternately light over events and dark over time.
fn draw_snapshot(folder: &Path, number: usize, file: &Path) -> Outcome {
    let recording = Recording::of(vramscope_core::decode(std::fs::File::open(file)?)?);
    for device in recording.devices() {
        let history = device.history;
        let dark = number % 2 == 1;
        let theme = if dark { Theme::dark() } else { Theme::light() };
        let bands = Bands::of(history, dark);
        let index = TimelineIndex::new(&bands);
        let mode = Property::CallSite;
        let groups = Groups::of(mode, &theme, &Leaders::of_sites(device.recording), device);
        let live = live_at(history, index.peak_moment()).map(|id| id.0);
        let totals = groups.totals(&history.allocations.bytes, live);
        let line = |total: &GroupTotal| LegendLine {
            rgb: groups.rgb[total.group as usize],
            label: groups.labels[total.group as usize].clone(),
            bytes: Some(total.bytes),
        };
        let peak = vramscope_view::display::bytes_exact(index.peak_bytes());
        let content = OverTime {
            stack: Stack::Bands(&index),
            bands: &bands,
            colours: &groups.colours,
            matches: None,
            names: None,
            x: None,
            y_bytes: None,
            around: None,
            capacity_bytes: None,
            is_folded: false,
        };
        let lines: Vec<LegendLine> = totals.iter().map(line).collect();
        let legend = Legend {
            title: "live at the peak",
            lines: &lines,
        };
        let plot = Plot {
            title: "A snapshot, by call site",
            subtitle: &format!("device {} · peak {peak}", history.device),
            note: "",
            legend,
            content,
        };
        let style = PlotStyle {
            width_px: 1400,
            height_px: 800,
            pixel_ratio: 1.0,
            theme: &theme,
        };
        let name = format!("snapshot-{number}-device-{}.png", history.device);
        std::fs::write(folder.join(name), plot.to_png(&style)?)?;
    }
    Ok(())
}
