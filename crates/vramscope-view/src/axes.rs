//! The ticks of axes and their labels.

use crate::viewport::Viewport;
use serde::{Deserialize, Serialize};
use vramscope_core::analysis::time::selection::Moments;
use vramscope_core::units::Count;

/// The unit of the x axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XUnit {
    /// Number of events, from 0.
    #[default]
    Events,
    /// Time since the first moment, µs.
    Time,
}

/// The range on the axis of events that covers the events between two moments. Moment `m` covers
/// `m` to `m + 1` and begins with its event.
#[must_use]
pub fn events_between((from, to): Moments) -> (f64, f64) {
    (f64::from(from) + 1.0, f64::from(to) + 1.0)
}

/// One tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// Position, in the axis's unit.
    pub at: f64,
    /// Text of the label.
    pub label: String,
}

const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];

/// At most `most` ticks (at least 2) of the y axis, whose labels all have the same unit. They are powers of two bytes apart
/// and so fall on round numbers of KiB, MiB or GiB. If these had five digits or more, round decimals of the next unit are
/// used instead.
#[must_use]
pub fn y_ticks(view: &Viewport, most: usize) -> Vec<Tick> {
    let (min, max) = (view.y_min_bytes.max(0.0), view.y_max_bytes);
    if !max.is_finite() || max <= min {
        return Vec::new();
    }
    let least = (max - min) / most.max(2) as f64;
    // Not computed with `powf`, whose tables would add 4 KiB to the page.
    let (mut step, mut doublings) = (1.0, 0);
    while step < least {
        step *= 2.0;
        doublings += 1;
    }
    // A step of 512 MiB reads well in GiB (0.5, 1, 1.5), a step of 64 MiB does not.
    let mut unit = ((doublings + 2) / 10).min(UNITS.len() - 1);
    let mut unit_bytes = 1024_f64.powi(unit as i32);
    let mut digits = None;
    if max / unit_bytes >= 10_000.0 && unit + 1 < UNITS.len() {
        unit += 1;
        unit_bytes *= 1024.0;
        let of_unit = nice_step(least / unit_bytes);
        step = of_unit * unit_bytes;
        digits = Some((-of_unit.log10()).ceil().clamp(0.0, 9.0) as usize);
    }
    let label = |at: f64| match digits {
        None => decimal(at / unit_bytes),
        Some(digits) => format!("{:.digits$}", at / unit_bytes),
    };
    multiples(min, max, step)
        .map(|at| Tick {
            at,
            label: format!("{} {}", label(at), UNITS[unit]),
        })
        .collect()
}

/// At most `most` ticks (at least 2) of the x axis.
#[must_use]
pub fn x_ticks(view: &Viewport, unit: XUnit, most: usize) -> Vec<Tick> {
    let (min, max) = (view.x_min.max(0.0), view.x_max);
    if !max.is_finite() || max <= min {
        return Vec::new();
    }
    let least = (max - min) / most.max(2) as f64;
    match unit {
        XUnit::Events => {
            let step = nice_step(least).max(1.0);
            let label = |at: f64| Count(at as u64).to_string();
            multiples(min, max, step)
                .map(|at| Tick {
                    at,
                    label: label(at),
                })
                .collect()
        }
        XUnit::Time => {
            let step = nice_time_step(least);
            multiples(min, max, step)
                .map(|at| Tick {
                    at,
                    label: time_label(at, step, max),
                })
                .collect()
        }
    }
}

/// The multiples of `step` from `min` to `max`.
fn multiples(min: f64, max: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = (min / step).ceil();
    // Multiplied rather than summed, so that rounding errors do not accumulate.
    let count = ((max / step).floor() - first + 1.0).clamp(0.0, 1_000.0) as u32;
    (0..count).map(move |i| (first + f64::from(i)) * step)
}

/// The smallest number of the series 1, 2, 5, 10, 20, 50, … that is at least `least`.
fn nice_step(least: f64) -> f64 {
    let power = 10_f64.powi(least.max(f64::MIN_POSITIVE).log10().floor() as i32);
    let fits = [1.0, 2.0, 5.0]
        .into_iter()
        .map(|digit| digit * power)
        .find(|&step| step >= least);
    fits.unwrap_or(10.0 * power)
}

/// Like [`nice_step`] in µs, but with the steps of a clock from 15 s on.
fn nice_time_step(least_us: f64) -> f64 {
    const MINUTE: f64 = 60e6;
    const STEPS: [f64; 14] = [
        15e6,
        30e6,
        MINUTE,
        2.0 * MINUTE,
        5.0 * MINUTE,
        10.0 * MINUTE,
        15.0 * MINUTE,
        30.0 * MINUTE,
        60.0 * MINUTE,
        120.0 * MINUTE,
        180.0 * MINUTE,
        360.0 * MINUTE,
        720.0 * MINUTE,
        1_440.0 * MINUTE,
    ];
    if least_us <= 10e6 {
        return nice_step(least_us).max(1.0);
    }
    let day = 1_440.0 * MINUTE;
    STEPS
        .into_iter()
        .find(|&step| step >= least_us)
        .unwrap_or_else(|| nice_step(least_us / day) * day)
}

/// A time since the start, in the unit that suits `max`, with as many decimals as `step` needs.
fn time_label(us: f64, step: f64, max: f64) -> String {
    let (unit_us, name) = match max {
        ..1e3 => (1.0, "µs"),
        ..1e6 => (1e3, "ms"),
        _ if step >= 15e6 || max >= 600e6 => return clock_label(us, step),
        _ => (1e6, "s"),
    };
    let digits = (unit_us / step).log10().ceil().clamp(0.0, 6.0) as usize;
    format!("{:.digits$} {name}", us / unit_us)
}

/// `2:05`, `1:02:03`, with as many decimals of the seconds as `step` needs.
fn clock_label(us: f64, step: f64) -> String {
    let digits = (1e6 / step).log10().ceil().clamp(0.0, 6.0) as usize;
    let (minutes, seconds) = ((us / 60e6).floor(), us.rem_euclid(60e6) / 1e6);
    let width = if digits == 0 { 2 } else { 3 + digits };
    let (hours, minutes) = ((minutes / 60.0).floor(), minutes % 60.0);
    if hours > 0.0 {
        format!("{hours}:{minutes:02}:{seconds:0width$.digits$}")
    } else {
        format!("{minutes}:{seconds:0width$.digits$}")
    }
}

/// A number with thousands separators and up to three decimals, without trailing zeros.
fn decimal(value: f64) -> String {
    let thousandths = (value * 1_000.0).round();
    let whole = Count((thousandths / 1_000.0).floor() as u64).to_string();
    let rest = (thousandths % 1_000.0) as u32;
    if rest == 0 {
        return whole;
    }
    format!("{whole}.{rest:03}")
        .trim_end_matches('0')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GIB: f64 = (1_u64 << 30) as f64;

    fn view(x: (f64, f64), y: (f64, f64)) -> Viewport {
        Viewport {
            x_min: x.0,
            x_max: x.1,
            y_min_bytes: y.0,
            y_max_bytes: y.1,
            width_px: 1_000,
            height_px: 500,
        }
    }

    fn labels(ticks: Vec<Tick>) -> Vec<String> {
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    fn y(min: f64, max: f64) -> Vec<String> {
        labels(y_ticks(&view((0.0, 1.0), (min, max)), 6))
    }

    fn x(unit: XUnit, min: f64, max: f64) -> Vec<String> {
        labels(x_ticks(&view((min, max), (0.0, 1.0)), unit, 6))
    }

    #[test]
    fn bytes_are_round_in_binary() {
        assert_eq!(
            y(0.0, 33.0 * GIB),
            ["0 GiB", "8 GiB", "16 GiB", "24 GiB", "32 GiB"]
        );
        assert_eq!(y(0.0, 1.6 * GIB), ["0 GiB", "0.5 GiB", "1 GiB", "1.5 GiB"]);
        assert_eq!(y(3.0 * GIB, 3.2 * GIB)[..2], ["3,072 MiB", "3,136 MiB"]);
        assert_eq!(y(18.28 * GIB, 18.6 * GIB)[..2], ["18.3 GiB", "18.4 GiB"]);
        assert_eq!(
            y(18.28 * GIB, 18.283 * GIB)[1..3],
            ["18.281 GiB", "18.282 GiB"]
        );
        assert_eq!(y(0.0, 512.0), ["0 B", "128 B", "256 B", "384 B", "512 B"]);
    }

    #[test]
    fn events_are_whole() {
        assert_eq!(x(XUnit::Events, 0.0, 1e6)[1], "200,000");
        assert_eq!(x(XUnit::Events, 17.2, 19.0), ["18", "19"]);
        assert_eq!(x(XUnit::Events, 0.0, 1.0), ["0", "1"]);
    }

    #[test]
    fn times_take_the_unit_that_suits() {
        assert_eq!(x(XUnit::Time, 0.0, 900.0)[1], "200 µs");
        assert_eq!(x(XUnit::Time, 0.0, 3_000.0)[1], "0.5 ms");
        assert_eq!(x(XUnit::Time, 0.0, 12e6)[1], "2 s");
        assert_eq!(x(XUnit::Time, 12_000_000.0, 12_000_030.0)[1], "12.000005 s");
        assert_eq!(x(XUnit::Time, 0.0, 3_600e6)[1], "10:00");
        assert_eq!(x(XUnit::Time, 0.0, 6.0 * 3_600e6)[3], "3:00:00");
        assert_eq!(x(XUnit::Time, 700e6, 701e6)[1], "11:40.2");
    }

    proptest! {
        #[test]
        fn ticks_are_within_and_not_too_many(
            min in 0.0..1e12, span in 1.0..1e13, most in 2_usize..20, time in any::<bool>()
        ) {
            let view = view((min, min + span), (min, min + span));
            let unit = if time { XUnit::Time } else { XUnit::Events };
            for ticks in [y_ticks(&view, most), x_ticks(&view, unit, most)] {
                prop_assert!(ticks.len() <= most + 1);
                prop_assert!(ticks.iter().all(|tick| (min..=min + span).contains(&tick.at)));
                prop_assert!(ticks.windows(2).all(|pair| pair[0].label != pair[1].label));
            }
        }
    }
}
