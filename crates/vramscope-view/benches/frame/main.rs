//! The time to draw one frame: `cargo bench -p vramscope-view --bench frame -- [part of a name…]`.
//!
//! First the timeline alone, of synthetic traces without a file: 1500 × 700 px. Then all that the page draws per frame,
//! of generated snapshots: at 1500 × 900 and at 3840 × 2160. All of the data, a tenth of it, and a hundredth of it at a
//! tenth of the height.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod pictures;
mod traces;

use std::time::Instant;
use traces::Trace;
use vramscope_view::colour::ColourColumn;
use vramscope_view::raster::{Frame, Paint, TimelineIndex, TimelineRaster};
use vramscope_view::theme::Theme;
use vramscope_view::viewport::{Bounds, Viewport};

fn main() {
    println!(
        "{:<40} {:>8} {:>24} {:>24} {:>24}",
        "best | median | 95 %, ms", "index", "whole", "1/10", "1/100"
    );
    pick("trace: training, 100 thousand events", || {
        traces::training(100_000)
    });
    pick("trace: training, 1 million events", || {
        traces::training(1_000_000)
    });
    pick("trace: training, 10 million events", || {
        traces::training(10_000_000)
    });
    pick("trace: 3,000 live, 30 thousand events", || {
        traces::torture(30_000, 3_000)
    });
    pick("trace: 3,000 live, 1 million events", || {
        traces::torture(1_000_000, 3_000)
    });
    pick("trace: 100,000 live, 1 million events", || {
        traces::torture(1_000_000, 100_000)
    });
    pictures::measure_all(is_wanted);
}

/// Whether the command line names this measurement, or none at all.
fn is_wanted(name: &str) -> bool {
    let mut parts = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .peekable();
    parts.peek().is_none() || parts.any(|part| name.contains(&part))
}

/// Measures a trace, unless the command line names only others.
fn pick(name: &str, trace: impl FnOnce() -> Trace) {
    if is_wanted(name) {
        measure(name, &trace());
    }
}

fn measure(name: &str, trace: &Trace) {
    let bands = trace.bands();
    let started = Instant::now();
    let index = TimelineIndex::new(&bands);
    let index_ms = started.elapsed().as_secs_f64() * 1e3;
    let theme = Theme::light();
    let colours = ColourColumn::by_hash(&theme, trace.site.iter().map(|&site| Some(site)));
    let paint = Paint {
        colours: &colours,
        matches: None,
        theme: &theme,
    };
    let bounds = Bounds::new(bands.x_end(), index.peak_bytes());
    let whole = Viewport::fit_all(&bounds, 1500, 700);
    let tenth = whole.zoomed(10.0, 1.0, (750.0, 350.0), &bounds);
    let hundredth = whole.zoomed(100.0, 10.0, (750.0, 350.0), &bounds);
    let mut raster = TimelineRaster::new();
    let mut frame = Frame::default();
    let [whole, tenth, hundredth] = [whole, tenth, hundredth].map(|view| {
        pictures::summary(pictures::frames(|| {
            raster.draw(&bands, &index, &view, &paint, &mut frame);
        }))
    });
    println!("{name:<40} {index_ms:>8.1} {whole:>24} {tenth:>24} {hundredth:>24}");
}
