//! The visible part of the data: panning, zooming, clamping, and conversion between spaces.
//!
//! There are three spaces: *data* (x in events or in µs since the first moment, y in bytes), *css
//! px* (the unit of mouse events) and *device px* (the unit of drawing: css px × the device pixel
//! ratio). A viewport relates data and device px. In data, y grows upwards; in px, downwards.

use serde::{Deserialize, Serialize};

/// Least width of the view: one event or one µs. Zooming further would show nothing new.
pub const MIN_WIDTH: f64 = 1.0;
/// Least height of the view: the allocator rounds every size up to a multiple of 512 bytes.
pub const MIN_HEIGHT_BYTES: f64 = 512.0;

/// The ends of the axes; they begin at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// End of the x axis: events, or µs since the first moment.
    pub x_end: f64,
    /// Upper end of the y axis.
    pub y_end_bytes: f64,
}

impl Bounds {
    /// Bounds of data up to `peak_bytes`, with a small margin above.
    #[must_use]
    pub fn new(x_end: f64, peak_bytes: u64) -> Self {
        Self {
            x_end: x_end.max(MIN_WIDTH),
            y_end_bytes: (peak_bytes as f64 * 1.04).max(MIN_HEIGHT_BYTES),
        }
    }
}

/// The visible part of the data and the size of the canvas it is drawn on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Viewport {
    /// Left edge, data.
    pub x_min: f64,
    /// Right edge, data.
    pub x_max: f64,
    /// Lower edge, data.
    pub y_min_bytes: f64,
    /// Upper edge, data.
    pub y_max_bytes: f64,
    /// Canvas width, device px.
    pub width_px: u32,
    /// Canvas height, device px.
    pub height_px: u32,
}

impl Viewport {
    /// The viewport of a single pixel of this one.
    #[must_use]
    pub fn pixel(&self, (x_px, y_px): (u32, u32)) -> Self {
        Self {
            x_min: self.x_at(f64::from(x_px)),
            x_max: self.x_at(f64::from(x_px) + 1.0),
            y_min_bytes: self.bytes_at(f64::from(y_px) + 1.0),
            y_max_bytes: self.bytes_at(f64::from(y_px)),
            width_px: 1,
            height_px: 1,
        }
    }

    /// The viewport that shows all data.
    #[must_use]
    pub fn fit_all(bounds: &Bounds, width_px: u32, height_px: u32) -> Self {
        Self {
            x_min: 0.0,
            x_max: bounds.x_end,
            y_min_bytes: 0.0,
            y_max_bytes: bounds.y_end_bytes,
            width_px,
            height_px,
        }
    }

    /// The viewport for the same data on a canvas of another size.
    #[must_use]
    pub fn resized(self, width_px: u32, height_px: u32) -> Self {
        Self {
            width_px,
            height_px,
            ..self
        }
    }

    /// The viewport with all heights times `factor`.
    #[must_use]
    pub fn stretched(self, factor: f64) -> Self {
        Self {
            y_min_bytes: self.y_min_bytes * factor,
            y_max_bytes: self.y_max_bytes * factor,
            ..self
        }
    }

    /// Visible width, in the x axis's unit.
    #[must_use]
    pub fn width(&self) -> f64 {
        self.x_max - self.x_min
    }

    /// Visible height in bytes.
    #[must_use]
    pub fn height_bytes(&self) -> f64 {
        self.y_max_bytes - self.y_min_bytes
    }

    /// Data x at device px `x_px` from the left.
    #[must_use]
    pub fn x_at(&self, x_px: f64) -> f64 {
        self.x_min + self.width() * (x_px / f64::from(self.width_px.max(1)))
    }

    /// Device px from the left at data x.
    #[must_use]
    pub fn x_px(&self, x: f64) -> f64 {
        (x - self.x_min) / self.width() * f64::from(self.width_px)
    }

    /// Bytes at device px `y_px` from the top.
    #[must_use]
    pub fn bytes_at(&self, y_px: f64) -> f64 {
        self.y_max_bytes - self.height_bytes() * (y_px / f64::from(self.height_px.max(1)))
    }

    /// Device px from the top at `bytes`.
    #[must_use]
    pub fn y_px(&self, bytes: f64) -> f64 {
        (self.y_max_bytes - bytes) / self.height_bytes() * f64::from(self.height_px)
    }

    /// Zooms by `factor_x` and `factor_y` (above 1 zooms in). The data under the device px (`x_px`, `y_px`) stays in place
    /// as far as the bounds allow.
    #[must_use]
    pub fn zoomed(
        self,
        factor_x: f64,
        factor_y: f64,
        (x_px, y_px): (f64, f64),
        bounds: &Bounds,
    ) -> Self {
        let (x, y) = (self.x_at(x_px), self.bytes_at(y_px));
        let width = clamp_length(self.width() / factor_x, MIN_WIDTH, bounds.x_end);
        let height = clamp_length(
            self.height_bytes() / factor_y,
            MIN_HEIGHT_BYTES,
            bounds.y_end_bytes,
        );
        let x_min = x - (x - self.x_min) * (width / self.width());
        let y_min_bytes = y - (y - self.y_min_bytes) * (height / self.height_bytes());
        Self {
            x_min,
            x_max: x_min + width,
            y_min_bytes,
            y_max_bytes: y_min_bytes + height,
            ..self
        }
        .clamped(bounds)
    }

    /// Moves the data by device px, to the right and downwards, as dragging does.
    #[must_use]
    pub fn panned(self, dx_px: f64, dy_px: f64, bounds: &Bounds) -> Self {
        let dx = dx_px * self.width() / f64::from(self.width_px.max(1));
        let dy = dy_px * self.height_bytes() / f64::from(self.height_px.max(1));
        Self {
            x_min: self.x_min - dx,
            x_max: self.x_max - dx,
            y_min_bytes: self.y_min_bytes + dy,
            y_max_bytes: self.y_max_bytes + dy,
            ..self
        }
        .clamped(bounds)
    }

    /// Shows the range `from` to `to` in x; y stays.
    #[must_use]
    pub fn fit_x(self, from: f64, to: f64, bounds: &Bounds) -> Self {
        Self {
            x_min: from.min(to),
            x_max: from.max(to),
            ..self
        }
        .clamped(bounds)
    }

    /// Shows a range of x and a range of y.
    #[must_use]
    pub fn fit_box(self, x: (f64, f64), y_bytes: (f64, f64), bounds: &Bounds) -> Self {
        Self {
            x_min: x.0.min(x.1),
            x_max: x.0.max(x.1),
            y_min_bytes: y_bytes.0.min(y_bytes.1),
            y_max_bytes: y_bytes.0.max(y_bytes.1),
            ..self
        }
        .clamped(bounds)
    }

    /// Shows one allocation with space around it: its life takes 70 % of the width, and its band,
    /// which is between `low_bytes` and `high_bytes`, 40 % of the height.
    #[must_use]
    pub fn fit_allocation(
        self,
        (born_x, died_x): (f64, f64),
        (low_bytes, high_bytes): (f64, f64),
        bounds: &Bounds,
    ) -> Self {
        let air_x = (died_x - born_x).max(MIN_WIDTH) * (0.5 / 0.7 - 0.5);
        let air_y = (high_bytes - low_bytes).max(MIN_HEIGHT_BYTES) * (0.5 / 0.4 - 0.5);
        let x = (born_x - air_x, died_x + air_x);
        self.fit_box(x, (low_bytes - air_y, high_bytes + air_y), bounds)
    }

    /// The nearest viewport within the bounds, neither smaller than [`MIN_WIDTH`] and
    /// [`MIN_HEIGHT_BYTES`] nor larger than the data. Ranges that are not finite become the whole
    /// axis.
    #[must_use]
    pub fn clamped(self, bounds: &Bounds) -> Self {
        let (x_min, x_max) = clamp_range((self.x_min, self.x_max), MIN_WIDTH, bounds.x_end);
        let (y_min_bytes, y_max_bytes) = clamp_range(
            (self.y_min_bytes, self.y_max_bytes),
            MIN_HEIGHT_BYTES,
            bounds.y_end_bytes,
        );
        Self {
            x_min,
            x_max,
            y_min_bytes,
            y_max_bytes,
            ..self
        }
    }
}

/// Clamps a length to `least..=most`; `most` wins if they contradict.
fn clamp_length(length: f64, least: f64, most: f64) -> f64 {
    if length.is_nan() {
        most
    } else {
        length.max(least).min(most)
    }
}

/// Moves and shrinks a range into `[0, end]`.
fn clamp_range((min, max): (f64, f64), least: f64, end: f64) -> (f64, f64) {
    if !min.is_finite() || !max.is_finite() {
        return (0.0, end);
    }
    let length = clamp_length(max - min, least, end);
    // Too short a range grows on both sides; too long a range is cut at its right end.
    let grown = if max - min < length {
        (min + max - length) / 2.0
    } else {
        min
    };
    let start = grown.min(end - length).max(0.0);
    // Rounding errors must not exceed the data.
    (start, (start + length).min(end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOUNDS: Bounds = Bounds {
        x_end: 1e6,
        y_end_bytes: 3.2e10,
    };

    fn viewports() -> impl Strategy<Value = Viewport> {
        (
            0.0..0.9,
            0.001..1.0,
            0.0..0.9,
            0.001..1.0,
            1_u32..4_000,
            1_u32..2_000,
        )
            .prop_map(|(x, w, y, h, width_px, height_px)| {
                Viewport {
                    x_min: x * BOUNDS.x_end,
                    x_max: (x + w) * BOUNDS.x_end,
                    y_min_bytes: y * BOUNDS.y_end_bytes,
                    y_max_bytes: (y + h) * BOUNDS.y_end_bytes,
                    width_px,
                    height_px,
                }
                .clamped(&BOUNDS)
            })
    }

    fn within(view: &Viewport, bounds: &Bounds) -> bool {
        view.x_min >= 0.0
            && view.x_max <= bounds.x_end
            && view.y_min_bytes >= 0.0
            && view.y_max_bytes <= bounds.y_end_bytes
            && view.width() > 0.0
            && view.height_bytes() > 0.0
    }

    proptest! {
        #[test]
        fn px_and_data_are_inverse(view in viewports(), x in 0.0..1.0, y in 0.0..1.0) {
            let (x_px, y_px) = (x * f64::from(view.width_px), y * f64::from(view.height_px));
            prop_assert!((view.x_px(view.x_at(x_px)) - x_px).abs() < 1e-6);
            prop_assert!((view.y_px(view.bytes_at(y_px)) - y_px).abs() < 1e-6);
        }

        #[test]
        fn zooming_in_keeps_the_point_and_out_again_returns(
            view in viewports(), x in 0.0..1.0, y in 0.0..1.0, factor in 1.0..1.9
        ) {
            prop_assume!(view.width() > 2.0 && view.height_bytes() > 1024.0);
            let at = (x * f64::from(view.width_px), y * f64::from(view.height_px));
            let closer = view.zoomed(factor, factor, at, &BOUNDS);
            prop_assert!((closer.x_at(at.0) - view.x_at(at.0)).abs() < 1e-6 * BOUNDS.x_end);
            prop_assert!((closer.bytes_at(at.1) - view.bytes_at(at.1)).abs() < 1e-6 * BOUNDS.y_end_bytes);
            let back = closer.zoomed(1.0 / factor, 1.0 / factor, at, &BOUNDS);
            prop_assert!((back.x_min - view.x_min).abs() < 1e-6 * BOUNDS.x_end);
            prop_assert!((back.y_max_bytes - view.y_max_bytes).abs() < 1e-6 * BOUNDS.y_end_bytes);
        }

        #[test]
        fn nothing_leads_out_of_the_bounds(
            view in viewports(), fx in 1e-9..1e9, fy in 1e-9..1e9, dx in -1e5..1e5, dy in -1e5..1e5
        ) {
            prop_assert!(within(&view.zoomed(fx, fy, (dx, dy), &BOUNDS), &BOUNDS));
            prop_assert!(within(&view.panned(dx, dy, &BOUNDS), &BOUNDS));
        }

        #[test]
        fn panning_there_and_back_returns(view in viewports(), dx in -9.0..9.0, dy in -9.0..9.0) {
            let there = view.panned(dx, dy, &BOUNDS);
            prop_assert!((there.width() - view.width()).abs() < 1e-6 * BOUNDS.x_end);
            let clamped = there.x_min <= 0.0 || there.x_max >= BOUNDS.x_end
                || there.y_min_bytes <= 0.0 || there.y_max_bytes >= BOUNDS.y_end_bytes;
            if !clamped {
                let back = there.panned(-dx, -dy, &BOUNDS);
                prop_assert!((back.x_min - view.x_min).abs() < 1e-6 * BOUNDS.x_end);
            }
        }
    }

    #[test]
    fn data_smaller_than_the_least_view_is_shown_whole() {
        let bounds = Bounds::new(1.0, 0);
        assert_eq!(bounds.y_end_bytes, MIN_HEIGHT_BYTES);
        let view = Viewport::fit_all(&bounds, 100, 50);
        assert_eq!(view.zoomed(8.0, 8.0, (3.0, 3.0), &bounds), view);
    }

    #[test]
    fn fitting_an_allocation_leaves_air() {
        let view = Viewport::fit_all(&BOUNDS, 1_000, 500);
        let fit = view.fit_allocation((1_000.0, 1_700.0), (1e9, 2e9), &BOUNDS);
        assert!((fit.width() - 1_000.0).abs() < 1e-6);
        assert!((fit.height_bytes() - 2.5e9).abs() < 1.0);
        assert!((fit.x_px(1_000.0) - 150.0).abs() < 1e-6);
    }
}
