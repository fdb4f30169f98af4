//! A ruler over a view: the bytes, events or time between its ends.

use serde::{Deserialize, Serialize};
use vramscope_core::units::{Bytes, Count};

use crate::axes::XUnit;
use crate::display;
use crate::viewport::Viewport;

/// A ruler, in data units.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Ruler {
    /// Both ends, in the axis's unit, in the order in which they were set.
    pub x: (f64, f64),
    /// Both ends, in bytes.
    pub bytes: (f64, f64),
}

impl Ruler {
    /// The ruler between two positions of the view, device px, both clamped to it.
    #[must_use]
    pub fn between(view: &Viewport, from_px: (f64, f64), to_px: (f64, f64)) -> Self {
        let inside = |(x, y): (f64, f64)| {
            let (width, height) = (f64::from(view.width_px), f64::from(view.height_px));
            (x.clamp(0.0, width), y.clamp(0.0, height))
        };
        let (from, to) = (inside(from_px), inside(to_px));
        Self {
            x: (view.x_at(from.0), view.x_at(to.0)),
            bytes: (view.bytes_at(from.1), view.bytes_at(to.1)),
        }
    }

    /// Bytes between the ends.
    #[must_use]
    pub fn height_bytes(&self) -> u64 {
        (self.bytes.1 - self.bytes.0).abs().round() as u64
    }

    /// The text of the ruler: `512 MiB` and, along the axis, `1,234 events` or `12.5 ms`.
    #[must_use]
    pub fn words(&self, unit: XUnit) -> (String, String) {
        let length = (self.x.1 - self.x.0).abs().round();
        let along = match unit {
            XUnit::Events => {
                let plural = if length == 1.0 { "event" } else { "events" };
                format!("{} {plural}", Count(length as u64))
            }
            XUnit::Time => display::duration(length as i64),
        };
        (Bytes(self.height_bytes()).to_string(), along)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_say_the_same() {
        let view = Viewport {
            x_min: 1_000.0,
            x_max: 2_000.0,
            y_min_bytes: 0.0,
            y_max_bytes: 1024.0 * 1024.0,
            width_px: 500,
            height_px: 256,
        };
        let words = |from, to, unit| Ruler::between(&view, from, to).words(unit);
        let expected = ("512 KiB".to_owned(), "400 events".to_owned());
        assert_eq!(words((100.0, 0.0), (300.0, 128.0), XUnit::Events), expected);
        assert_eq!(words((300.0, 128.0), (100.0, 0.0), XUnit::Events), expected);
        assert_eq!(words((0.0, 0.0), (1e9, 0.0), XUnit::Time).1, "1.00 ms");
        assert_eq!(words((0.0, 0.0), (0.4, 0.0), XUnit::Events).1, "1 event");
        assert_eq!(
            words((f64::NAN, 0.0), (0.4, f64::NAN), XUnit::Events).0,
            "0 B"
        );
    }
}
