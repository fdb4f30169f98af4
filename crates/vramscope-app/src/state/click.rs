//! A click that waits for what is under it.

use super::navigation::Region;
use crate::protocol::{Axis, DrawRequest, Hit, Picture};

/// A click in a picture.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Click {
    /// The place, device px of the picture.
    pub at_px: (f64, f64),
    /// The visible part at that time.
    pub region: Region,
    /// The axis of that part.
    pub axis: Axis,
    pub picture: Picture,
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

/// Whether a picture shows this part.
pub(super) fn shows(draw: &DrawRequest, region: Region) -> bool {
    let size = (draw.viewport.width_px, draw.viewport.height_px);
    draw.viewport == region.viewport(size)
}
