//! The time to draw one frame of the timeline: `cargo bench -p vramscope-view -- [part of a
//! name…]`.
//!
//! Median of 15 frames of 1500 × 700 px on synthetic traces: all of it, a tenth of it, and a
//! hundredth of it at a tenth of the height. CPU time of this thread is measured where the system
//! provides it, so that other programs do not matter.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

mod traces;

use std::time::Instant;
use traces::Trace;
use vramscope_view::colour::ColourColumn;
use vramscope_view::raster::{Frame, Paint, TimelineIndex, TimelineRaster};
use vramscope_view::theme::Theme;
use vramscope_view::viewport::{Bounds, Viewport};

fn main() {
    println!(
        "{:<34} {:>9} {:>7} {:>7} {:>7} {:>7}",
        "trace", "rows", "index", "whole", "1/10", "1/100"
    );
    pick("training, 100 thousand events", || {
        traces::training(100_000)
    });
    pick("training, 1 million events", || traces::training(1_000_000));
    pick("training, 10 million events", || {
        traces::training(10_000_000)
    });
    pick("3,000 live, 30 thousand events", || {
        traces::torture(30_000, 3_000)
    });
    pick("3,000 live, 1 million events", || {
        traces::torture(1_000_000, 3_000)
    });
    pick("100,000 live, 1 million events", || {
        traces::torture(1_000_000, 100_000)
    });
}

/// Measures a trace, unless the command line names others only.
fn pick(name: &str, trace: impl FnOnce() -> Trace) {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with('-'))
        .collect();
    if wanted.is_empty() || wanted.iter().any(|part| name.contains(part)) {
        measure(name, &trace());
    }
}

fn measure(name: &str, trace: &Trace) {
    let bands = trace.bands();
    let epoch = Instant::now();
    let started = clock_ms(&epoch);
    let index = TimelineIndex::new(&bands);
    let index_ms = clock_ms(&epoch) - started;
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
    let times = [whole, tenth, hundredth].map(|view| {
        let mut times: Vec<f64> = (0..15)
            .map(|_| {
                let started = clock_ms(&epoch);
                raster.draw(&bands, &index, &view, &paint, &mut frame);
                clock_ms(&epoch) - started
            })
            .collect();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    let [whole, tenth, hundredth] = times;
    let rows = bands.rows();
    println!("{name:<34} {rows:>9} {index_ms:>7.1} {whole:>7.1} {tenth:>7.1} {hundredth:>7.1}  ms");
}

/// Milliseconds that this thread has run; wall-clock time where Linux does not provide it.
fn clock_ms(epoch: &Instant) -> f64 {
    let ran = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let ran_ns = ran.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    ran_ns.map_or_else(|| epoch.elapsed().as_secs_f64() * 1e3, |ns| ns / 1e6)
}
