//! `cargo xtask bench shapes`: what each count of a file costs. One count of a middling file is changed at a time, and
//! the slopes say what one more frame, stack or event takes.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::Value;

use super::{first_picture, make, native, shown};

/// The counts that are changed, by their flags of `vramscope-synth shape`, with their values. The first row is the
/// middling file.
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

/// What is measured, by where it is in the figures of the native program or, after it, of the page, in these units.
const STAGES: [(&str, &str, f64); 8] = [
    ("decode", "/native/decode_s", 1e3),
    ("pair", "/native/pair_s", 1e3),
    ("facts", "/native/facts_s", 1e3),
    ("page: decode", "/page/stages/decode_ms", 1.0),
    ("pair", "/page/stages/pair_ms", 1.0),
    ("facts", "/page/stages/facts_ms", 1.0),
    ("draw", "/page/stages/raster_ms", 1.0),
    ("picture", "/page/paint_ms", 1.0),
];

/// Measures all shapes, and prints their times in ms, then the slopes.
pub(super) fn measure(browser: Option<&(PathBuf, PathBuf)>) -> Result<()> {
    let mut slopes = Vec::new();
    println!(
        "{}",
        row("ms", STAGES.iter().map(|(name, ..)| (*name).to_owned()))
    );
    for (count, values) in COUNTS {
        let mut points = Vec::new();
        for value in values {
            let (flag, value) = (format!("--{count}"), value.to_string());
            let file = make(&format!("shape-{count}-{value}"), &["shape", &flag, &value])?;
            let times = times(&file, browser)?;
            println!(
                "{}",
                row(&format!("{count} {value}"), times.iter().copied().map(cell))
            );
            points.push((value.parse::<f64>()?, times));
        }
        slopes.push((count, points));
    }
    println!(
        "\n{}",
        row(
            "ns each",
            STAGES.iter().map(|(name, ..)| (*name).to_owned())
        )
    );
    for (count, points) in slopes {
        let of = |stage: usize| {
            let points = points
                .iter()
                .filter_map(|(value, times)| Some((*value, times[stage]?)));
            slope(&points.collect::<Vec<_>>()).map(|ms| ms * 1e6)
        };
        println!(
            "{}",
            row(count, (0..STAGES.len()).map(|stage| cell(of(stage))))
        );
    }
    Ok(())
}

/// Milliseconds of each of [`STAGES`].
fn times(file: &Path, browser: Option<&(PathBuf, PathBuf)>) -> Result<Vec<Option<f64>>> {
    let page = match browser {
        Some((page, chromium)) => first_picture(file, page, chromium)?,
        None => Value::Null,
    };
    let figures = serde_json::json!({"native": native(file)?, "page": page});
    let ms = |&(_, place, unit): &(_, &str, f64)| Some(figures.pointer(place)?.as_f64()? * unit);
    Ok(STAGES.iter().map(ms).collect())
}

/// By how much the second numbers grow with the first, by least squares; `None` for fewer than two.
fn slope(points: &[(f64, f64)]) -> Option<f64> {
    let number = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / number;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let over = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum::<f64>();
    let square = points
        .iter()
        .map(|point| (point.0 - x).powi(2))
        .sum::<f64>();
    (square > 0.0).then(|| over / square)
}

fn cell(value: Option<f64>) -> String {
    value.map_or("-".to_owned(), shown)
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: String = cells.map(|cell| format!("{cell:>14}")).collect();
    format!("{name:<20}{cells}")
}

#[cfg(test)]
mod tests {
    use super::slope;

    #[test]
    fn a_slope_is_found_through_noise() {
        assert_eq!(slope(&[(1.0, 5.0), (3.0, 9.0)]), Some(2.0));
        assert_eq!(slope(&[(0.0, 1.0), (1.0, 0.0), (2.0, 5.0)]), Some(2.0));
        assert_eq!(slope(&[(1.0, 5.0)]), None);
    }
}
