//! The strip above the timeline: the highest active and reserved memory per column.

use plotters::prelude::*;

use crate::chart::{draw_curves, rgb, y_of};
use crate::raster::{Bands, TimelineIndex};
use crate::reserved::leaves_room;
use crate::scene::{Area, Scene, Style};
use serde::{Deserialize, Serialize};

/// Curves over the whole x axis, in columns of equal width.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Minimap {
    /// Per column, the highest active bytes.
    pub active_bytes: Vec<u64>,
    /// Per column, the highest reserved bytes; empty if segments are not recorded.
    pub reserved_bytes: Vec<u64>,
}

impl Minimap {
    /// The curves of a timeline in `columns` columns.
    ///
    /// `reserved_steps` are (first moment, bytes from there on), ascending; empty if not recorded.
    #[must_use]
    pub fn new(
        bands: &Bands<'_>,
        index: &TimelineIndex,
        reserved_steps: &[(u32, u64)],
        columns: u32,
    ) -> Self {
        let mut map = Self::default();
        let width = bands.x_end() / f64::from(columns.max(1));
        for column in 0..columns {
            let from = width * f64::from(column);
            let Some(moments) = bands.moments_in(from, from + width) else {
                break;
            };
            let (first, last) = (*moments.start(), *moments.end());
            let highest = index.highest_in(bands, moments);
            map.active_bytes.push(bands.total_bytes.at(highest));
            if !reserved_steps.is_empty() {
                // The last step before the column's first moment still applies there.
                let begin = reserved_steps
                    .partition_point(|step| step.0 <= first)
                    .saturating_sub(1);
                let end = reserved_steps
                    .partition_point(|step| step.0 <= last)
                    .max(begin + 1);
                let steps = &reserved_steps[begin..end];
                map.reserved_bytes
                    .push(steps.iter().map(|step| step.1).max().unwrap_or(0));
            }
        }
        map
    }

    /// The highest value of either curve.
    #[must_use]
    pub fn highest_bytes(&self) -> u64 {
        self.active_bytes
            .iter()
            .chain(&self.reserved_bytes)
            .copied()
            .max()
            .unwrap_or(0)
    }

    /// The device's capacity, if drawing its line leaves enough of the height to the curves.
    #[must_use]
    pub fn shown_capacity(&self, capacity_bytes: Option<u64>) -> Option<u64> {
        let highest = self.highest_bytes();
        capacity_bytes.filter(|&bytes| leaves_room(bytes, highest, LEAST_BELOW_CAPACITY))
    }
}

/// Least share of the height for the curves below the line of the capacity.
const LEAST_BELOW_CAPACITY: f64 = 0.25;
/// Space above the highest value, as a share of the strip's height; otherwise a line at the top
/// would be cut off.
const AIR: f64 = 0.08;
/// Ticks of training steps closer than this on average are left out, because they would only turn the strip grey.
const LEAST_STEP_CSS: f64 = 4.0;

/// The contents of the strip.
#[derive(Clone, Debug)]
pub struct Strip<'a> {
    /// The curves.
    pub curves: &'a Minimap,
    /// Both ends of the x axis, in its unit.
    pub x: (f64, f64),
    /// The beginnings of the training steps, in the axis's unit.
    pub steps: &'a [f64],
    /// Positions of failed allocations, in the axis's unit.
    pub failures: &'a [f64],
    /// The device's capacity; `None` if unknown.
    pub capacity_bytes: Option<u64>,
}

impl Strip<'_> {
    /// Draws active memory as an area, reserved memory and capacity as lines, failed allocations as
    /// marks, and the starts of training steps as ticks.
    #[must_use]
    pub fn scene(&self, (width_px, height_px): (u32, u32), style: &Style<'_>) -> Scene {
        let air_px = (f64::from(height_px) * AIR).round() as u32;
        let area = Area {
            x_px: 0,
            y_px: air_px as i32,
            width_px,
            height_px: height_px - air_px,
        };
        let mut scene = Scene::default();
        self.draw_lines(&mut scene, &area, style);
        let (from, to) = self.x;
        let x_px =
            |x: f64| ((x - from) / (to - from).max(1.0) * f64::from(width_px)).round() as i32;
        let (top, bottom) = (0, height_px as i32);
        let theme = style.theme;
        let width_of_steps = LEAST_STEP_CSS * style.pixel_ratio * self.steps.len() as f64;
        if width_of_steps <= f64::from(width_px) {
            for x in self.steps.iter().map(|&x| x_px(x)) {
                let tick = [(x, bottom - style.px(5.0)), (x, bottom)];
                let line = style.stroke(theme.muted_text, 1.0);
                scene.chart().draw(&PathElement::new(tick, line));
            }
        }
        for x in self.failures.iter().map(|&x| x_px(x)) {
            let line = style.stroke(theme.growth, 1.0);
            scene
                .chart()
                .draw(&PathElement::new([(x, top), (x, bottom)], line));
            let half = style.px(4.0);
            let corners = vec![(x - half, top), (x + half, top), (x, style.px(7.0))];
            scene
                .chart()
                .draw(&Polygon::new(corners, rgb(theme.growth).filled()));
        }
        scene
    }

    fn draw_lines(&self, scene: &mut Scene, area: &Area, style: &Style<'_>) {
        let highest = self.curves.highest_bytes();
        let capacity = self.curves.shown_capacity(self.capacity_bytes);
        let top_bytes = highest.max(capacity.unwrap_or(0)).max(1) as f64;
        let values = (
            &self.curves.active_bytes[..],
            &self.curves.reserved_bytes[..],
        );
        draw_curves(scene, area, values, top_bytes, style);
        if let Some(capacity) = capacity {
            let y = y_of(area, top_bytes, capacity);
            let ends = vec![(area.x_px, y), (area.right_px(), y)];
            let line = style.stroke(style.theme.capacity, 1.0);
            scene.chart().draw(&PathElement::new(ends, line));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::Totals;
    use crate::theme::Theme;

    #[test]
    fn every_curve_is_in_the_picture() {
        let curves = Minimap {
            active_bytes: vec![1, 5, 2],
            reserved_bytes: vec![4, 8, 8],
        };
        let strip = Strip {
            curves: &curves,
            x: (0.0, 100.0),
            steps: &[10.0],
            failures: &[50.0],
            capacity_bytes: Some(20),
        };
        let scene = strip.scene((600, 100), &Style::new(&Theme::light(), 2.0));
        insta::assert_snapshot!(scene);
    }

    #[test]
    fn a_capacity_far_above_the_curves_is_not_drawn() {
        let curves = Minimap {
            active_bytes: vec![1, 5, 2],
            reserved_bytes: vec![8],
        };
        assert_eq!(curves.shown_capacity(Some(32)), Some(32));
        assert_eq!(curves.shown_capacity(Some(33)), None);
        assert_eq!(curves.shown_capacity(None), None);
    }

    #[test]
    fn peaks_of_both_curves_survive() {
        let total_bytes = [0, 9, 1, 1, 1, 1, 1, 1];
        let bands = Bands {
            born: &[],
            died: &[],
            free_requested: &[],
            bytes: &[],
            total_bytes: Totals::Each(&total_bytes),
            moment_start_us: None,
        };
        let index = TimelineIndex::new(&bands);
        let map = Minimap::new(&bands, &index, &[(0, 10), (3, 99), (4, 20)], 4);
        assert_eq!(map.active_bytes, [9, 1, 1, 1]);
        assert_eq!(map.reserved_bytes, [10, 99, 20, 20]);
        assert_eq!(map.highest_bytes(), 99);
        assert!(
            Minimap::new(&bands, &index, &[], 4)
                .reserved_bytes
                .is_empty()
        );
        assert_eq!(Minimap::new(&bands, &index, &[], 0), Minimap::default());
    }
}
