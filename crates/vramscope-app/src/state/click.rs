//! A click that waits for what is under it.

use vramscope_protocol::{Axis, DrawRequest, Hit, Picture, Viewport};
use vramscope_view::address::Pixel;

/// A click in a picture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Click {
    /// The place, device px of the picture.
    pub at_px: (f64, f64),
    /// The visible part at that time.
    pub region: Viewport,
    /// The axis of that part.
    pub axis: Axis,
    pub picture: Picture,
    /// Whether the view is to be fitted to what is there, as a double click asks.
    pub wants_fit: bool,
}

impl Click {
    /// Whether an answer is about this place.
    pub(super) fn is_at(&self, hit: &Hit) -> bool {
        let look = &hit.draw.look;
        self.at_px == hit.at_px
            && (look.axis, look.picture) == (self.axis, self.picture)
            && shows(&hit.draw, self.region)
    }
}

/// The picture of one pixel.
#[must_use]
pub fn picture_of(pixel: Pixel) -> Viewport {
    Viewport {
        x_min: pixel.x.0,
        x_max: pixel.x.1,
        y_min_bytes: pixel.y_bytes.0,
        y_max_bytes: pixel.y_bytes.1,
        width_px: 1,
        height_px: 1,
    }
}

/// Whether an answer is about the picture of this pixel.
pub(super) fn is_of(hit: &Hit, pixel: Pixel) -> bool {
    let (look, viewport) = (&hit.draw.look, hit.draw.viewport);
    (look.picture, look.axis) == (pixel.picture, pixel.axis) && viewport == picture_of(pixel)
}

/// Whether a picture shows this part.
pub(super) fn shows(draw: &DrawRequest, region: Viewport) -> bool {
    let (width_px, height_px) = (draw.viewport.width_px, draw.viewport.height_px);
    draw.viewport == region.resized(width_px, height_px)
}
