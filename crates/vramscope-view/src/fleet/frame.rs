//! The axis and the row names around the heat map.

use serde::{Deserialize, Serialize};

use super::layout::{Layout, Unit};
use crate::axes::{Tick, XUnit, x_ticks};
use crate::chart::{draw_x_ticks, most_x_ticks};
use crate::scene::{Across, Area, Down, Scene, Style};
use crate::viewport::Viewport;

/// Font size of the names, css px.
const NAME_CSS: f64 = 11.0;
/// Greatest height of a row, css px.
const ROW_CSS: f64 = 64.0;
/// Least distance between two names, css px.
const APART_CSS: f64 = 16.0;
/// Distance between names and picture, css px.
const BESIDE_CSS: f64 = 8.0;

/// The labels around a heat map.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Frame {
    /// The unit of the axis.
    pub unit: Unit,
    /// The number of the first step; 0 for other axes.
    pub first_step: u64,
    /// Length of the axis in units.
    pub length: u64,
    /// Number of rows.
    pub rows: u32,
    /// The names beside some rows, each with its row.
    pub names: Vec<(u32, String)>,
}

impl Frame {
    /// A frame with as many names as fit. `name` returns that of a row.
    #[must_use]
    pub fn of(
        layout: &Layout,
        rows: u32,
        (height_px, pixel_ratio): (u32, f64),
        name: impl Fn(u32) -> String,
    ) -> Self {
        let fit = (f64::from(height_px) / (APART_CSS * pixel_ratio)).max(1.0);
        let least = (f64::from(rows) / fit).ceil() as u32;
        let mut steps = (0..9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u32.pow(power)));
        let every = steps.find(|&every| every >= least).unwrap_or(u32::MAX);
        let named = (0..rows).step_by(every as usize);
        Self {
            unit: layout.unit,
            first_step: match layout.unit {
                Unit::Steps => layout.start.unsigned_abs(),
                _ => 0,
            },
            length: layout.length,
            rows,
            names: named.map(|row| (row, name(row))).collect(),
        }
    }

    fn ticks(&self, most: usize) -> Vec<Tick> {
        let per_label = match self.unit {
            Unit::Steps => Unit::PER_STEP as f64,
            _ => 1.0,
        };
        let first = self.first_step as f64;
        let view = Viewport {
            x_min: first,
            x_max: first + self.length as f64 / per_label,
            ..self.view(1, 1)
        };
        let unit = match self.unit {
            Unit::Time => XUnit::Time,
            Unit::Events | Unit::Steps => XUnit::Events,
        };
        let mut ticks = x_ticks(&view, unit, most);
        for tick in &mut ticks {
            tick.at = (tick.at - first) * per_label;
        }
        ticks
    }

    fn view(&self, width_px: u32, height_px: u32) -> Viewport {
        Viewport {
            x_min: 0.0,
            x_max: self.length as f64,
            y_min_bytes: 0.0,
            y_max_bytes: f64::from(self.rows.max(1)),
            width_px,
            height_px,
        }
    }
}

/// The height of a picture with so many rows, if `room_px` is available.
#[must_use]
pub fn picture_px(rows: u32, room_px: u32, pixel_ratio: f64) -> u32 {
    let most = f64::from(rows.max(1)) * ROW_CSS * pixel_ratio;
    // The cast saturates.
    room_px.min(most as u32).max(1)
}

/// The lines of pixels of a row: the first, and the one after the last.
#[must_use]
pub fn row_span(row: u32, rows: u32, height_px: u32) -> (u32, u32) {
    let (row, rows, height) = (u64::from(row), u64::from(rows.max(1)), u64::from(height_px));
    let end = ((row + 1) * height).saturating_sub(1) / rows + 1;
    let start = match rows > height {
        true => end - 1,
        false => (row * height).div_ceil(rows),
    };
    (start as u32, end as u32)
}

/// Draws axis and names around the picture in `area`.
pub fn draw(scene: &mut Scene, area: &Area, frame: &Frame, style: &Style<'_>) {
    let ticks = frame.ticks(most_x_ticks(area, style));
    let view = frame.view(area.width_px, area.height_px);
    draw_x_ticks(scene, area, &view, &ticks, style);
    let letters = style.letters(
        NAME_CSS,
        style.theme.muted_text,
        (Across::Right, Down::Middle),
    );
    let right = f64::from(area.x_px - style.px(BESIDE_CSS));
    let above = style.letters(
        NAME_CSS,
        style.theme.muted_text,
        (Across::Right, Down::Bottom),
    );
    scene.text((right, f64::from(area.y_px - style.px(4.0))), "rank", above);
    for (row, name) in &frame.names {
        let (top, bottom) = row_span(*row, frame.rows, area.height_px);
        let middle = f64::from(area.y_px) + f64::from(top + bottom) / 2.0;
        scene.text((right, middle), name.as_str(), letters);
    }
}
