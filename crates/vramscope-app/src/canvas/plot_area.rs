//! The picture's rectangle in the timeline's box, and conversion between css px and device px.

use vramscope_view::lines::FAILURE_CSS;
use vramscope_view::scene::Area;
use web_sys::Element;

/// Left margin, css px: room for `1,023 MiB` and ticks.
const LEFT_CSS: f64 = 72.0;
/// Bottom margin, css px: room for one line of tick labels.
const BOTTOM_CSS: f64 = 24.0;
/// Top margin, css px: room for the labels of failed allocations.
const TOP_CSS: f64 = FAILURE_CSS;
/// Right margin, css px: half a tick label.
const RIGHT_CSS: f64 = 8.0;

/// The picture's rectangle in the timeline's box.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PlotArea {
    /// Width of the box, css px.
    pub box_width_css: f64,
    /// Height of the box, css px.
    pub box_height_css: f64,
    /// Device px per css px.
    pub pixel_ratio: f64,
}

impl PlotArea {
    /// The picture in an element's box as it is now; `None` before layout.
    #[must_use]
    pub fn of(element: &Element) -> Option<Self> {
        let scale = gloo::utils::window().device_pixel_ratio();
        let (width, height) = (element.client_width(), element.client_height());
        (width > 0 && height > 0).then(|| Self::within(f64::from(width), f64::from(height), scale))
    }

    /// The picture in a box of this size.
    #[must_use]
    pub fn within(box_width_css: f64, box_height_css: f64, pixel_ratio: f64) -> Self {
        let pixel_ratio = if pixel_ratio > 0.0 { pixel_ratio } else { 1.0 };
        Self {
            box_width_css,
            box_height_css,
            pixel_ratio,
        }
    }

    /// The whole box in device px.
    #[must_use]
    pub fn box_px(&self) -> (u32, u32) {
        let px = |css: f64| (css * self.pixel_ratio).round().max(1.0) as u32;
        (px(self.box_width_css), px(self.box_height_css))
    }

    /// The picture's top left corner in the box, device px.
    #[must_use]
    pub fn origin_px(&self) -> (u32, u32) {
        (
            (LEFT_CSS * self.pixel_ratio).round() as u32,
            (TOP_CSS * self.pixel_ratio).round() as u32,
        )
    }

    /// The picture's size in device px; at least 1 × 1.
    #[must_use]
    pub fn size_px(&self) -> (u32, u32) {
        let (left, top) = self.origin_px();
        let (width, height) = self.box_px();
        let px = |css: f64| (css * self.pixel_ratio).round() as u32;
        let used = (left + px(RIGHT_CSS), top + px(BOTTOM_CSS));
        (
            width.saturating_sub(used.0).max(1),
            height.saturating_sub(used.1).max(1),
        )
    }

    /// The picture's rectangle in the box, device px.
    #[must_use]
    pub fn picture(&self) -> Area {
        let ((left, top), (width_px, height_px)) = (self.origin_px(), self.size_px());
        Area {
            x_px: left.cast_signed(),
            y_px: top.cast_signed(),
            width_px,
            height_px,
        }
    }

    /// The whole box, device px.
    #[must_use]
    pub fn whole(&self) -> Area {
        let (width_px, height_px) = self.box_px();
        Area {
            x_px: 0,
            y_px: 0,
            width_px,
            height_px,
        }
    }

    /// Converts a position in the box (css px) to one in the picture (device px). Outside the
    /// picture it is negative or beyond [`size_px`](Self::size_px).
    #[must_use]
    pub fn to_px(&self, (x_css, y_css): (f64, f64)) -> (f64, f64) {
        let (left, top) = self.origin_px();
        (
            x_css * self.pixel_ratio - f64::from(left),
            y_css * self.pixel_ratio - f64::from(top),
        )
    }

    /// Converts a position in the picture (device px) to one in the box (css px).
    #[must_use]
    pub fn to_css(&self, (x_px, y_px): (f64, f64)) -> (f64, f64) {
        let (left, top) = self.origin_px();
        (
            (x_px + f64::from(left)) / self.pixel_ratio,
            (y_px + f64::from(top)) / self.pixel_ratio,
        )
    }

    /// Whether a position in the box (css px) is within the picture.
    #[must_use]
    pub fn contains(&self, at_css: (f64, f64)) -> bool {
        let ((x_px, y_px), (width, height)) = (self.to_px(at_css), self.size_px());
        (0.0..f64::from(width)).contains(&x_px) && (0.0..f64::from(height)).contains(&y_px)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn css_and_device_px_are_inverse() {
        let area = PlotArea::within(1_280.0, 600.0, 1.5);
        let (x_css, y_css) = area.to_css(area.to_px((300.0, 200.0)));
        assert!((x_css - 300.0).abs() < 1e-9 && (y_css - 200.0).abs() < 1e-9);
        assert!(area.contains((300.0, 200.0)));
        assert!(!area.contains((10.0, 200.0)) && !area.contains((300.0, 595.0)));
    }

    #[test]
    fn a_box_too_small_still_has_a_pixel() {
        assert_eq!(PlotArea::within(0.0, 0.0, 2.0).size_px(), (1, 1));
        assert_eq!(PlotArea::within(1.0, 1.0, f64::NAN).pixel_ratio, 1.0);
    }
}
