//! `cargo xtask bench shapes`: what each count of a file costs. One count of a middling file is changed at a time, and
//! the slopes say what one more frame, stack or event takes.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::{first_picture, make, native, print_row, shown};

/// The counts that are changed, by their flags of `vramscope-synth shape`, with their values.
const COUNTS: [(&str, &[u32]); 10] = [
    ("events", &[100_000, 300_000, 1_000_000]),
    ("frames", &[500, 10_000, 40_000, 75_000]),
    ("stacks", &[50, 10_000, 100_000]),
    ("depth", &[5, 100, 400]),
    ("name-bytes", &[10, 500, 4_000]),
    ("live", &[100, 10_000, 50_000]),
    ("devices", &[4, 16, 64]),
    ("streams", &[8, 64]),
    ("pools", &[8, 64]),
    ("annotations", &[1_000, 10_000, 100_000]),
];

/// What is measured, with its place in the figures, and how many ms their unit is.
const STAGES: [(&str, &str, f64); 5] = [
    ("native decode", "/native/decode_s", 1e3),
    ("native facts", "/native/facts_s", 1e3),
    ("page: decode", "/page/stages/decode_ms", 1.0),
    ("page: facts", "/page/stages/facts_ms", 1.0),
    ("page: first picture", "/page/paint_ms", 1.0),
];

/// Measures all shapes, and prints their times in ms and the slopes in ns. Without a browser, the page's are `NaN`.
pub(super) fn measure(browser: Option<&(PathBuf, PathBuf)>) -> Result<()> {
    print_row("ms", STAGES.map(|(name, ..)| name.to_owned()).into_iter());
    let mut slopes = Vec::new();
    for (count, values) in COUNTS {
        let mut points = Vec::new();
        for &value in values {
            let words = ["shape", &format!("--{count}"), &value.to_string()];
            let file = make(&format!("shape-{count}-{value}"), &words)?;
            let page = browser.map(|(page, chromium)| first_picture(&file, page, chromium));
            let figures = json!({"native": native(&file)?, "page": page.transpose()?});
            let ms = |(_, place, unit): (_, &str, f64)| {
                let figure = figures.pointer(place).and_then(Value::as_f64);
                figure.map_or(f64::NAN, |figure| figure * unit)
            };
            let times = STAGES.map(ms);
            print_row(&format!("{count} {value}"), times.into_iter().map(shown));
            points.push((f64::from(value), times));
        }
        slopes.push((count, points));
    }
    println!();
    print_row(
        "ns for one more",
        STAGES.map(|(name, ..)| name.to_owned()).into_iter(),
    );
    for (count, points) in slopes {
        let of = |stage: usize| {
            let points = points.iter().map(|(value, times)| (*value, times[stage]));
            shown(slope(&points.collect::<Vec<_>>()) * 1e6)
        };
        print_row(count, (0..STAGES.len()).map(of));
    }
    Ok(())
}

/// By how much the second numbers grow with the first, by least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let mean =
        |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / points.len() as f64;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let over = points.iter().map(|point| (point.0 - x) * (point.1 - y));
    over.sum::<f64>()
        / points
            .iter()
            .map(|point| (point.0 - x).powi(2))
            .sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn a_slope_is_found_through_noise() {
        assert!((slope(&[(1.0, 5.0), (3.0, 9.0)]) - 2.0).abs() < 1e-9);
        assert!((slope(&[(0.0, 1.0), (1.0, 0.0), (2.0, 5.0)]) - 2.0).abs() < 1e-9);
    }
}
