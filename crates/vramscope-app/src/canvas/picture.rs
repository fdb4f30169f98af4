//! The bitmaps of a picture: the last sharp one, stretched to the wanted viewport, over the whole
//! range.

use std::rc::Rc;

use vramscope_protocol::{DrawRequest, DrawnFrame, Look};
use web_sys::{CanvasRenderingContext2d, ImageBitmap};

use super::placement::{RectPx, place};

/// A bitmap whose memory is freed when it is dropped, without waiting for the browser's
/// garbage collector.
pub(super) struct Picture {
    pub(super) frame: DrawnFrame,
    pub(super) bitmap: ImageBitmap,
    /// The picture's number among those of its canvas.
    pub(super) number: u32,
}

impl Picture {
    pub(super) fn draw(&self) -> &DrawRequest {
        &self.frame.draw
    }
}

impl Drop for Picture {
    fn drop(&mut self) {
        self.bitmap.close();
    }
}

/// The bitmaps available for drawing.
#[derive(Default)]
pub(super) struct Pictures {
    sharp: Option<Rc<Picture>>,
    whole: Option<Rc<Picture>>,
}

impl Pictures {
    /// Adds a bitmap. `is_whole` if it shows the whole range, `is_shown` if it is to be drawn as
    /// the sharp one.
    pub(super) fn take(&mut self, picture: Picture, is_whole: bool, is_shown: bool) {
        let look = &picture.draw().look;
        if self
            .whole
            .as_ref()
            .is_some_and(|whole| whole.draw().look != *look)
        {
            self.whole = None;
        }
        let picture = Rc::new(picture);
        if is_whole {
            self.whole = Some(picture.clone());
        }
        if is_shown {
            self.sharp = Some(picture);
        }
    }

    /// Drops bitmaps of another device, axis or picture than `look`'s. Those in other colours stay
    /// until the right ones arrive, which is better than a flash of nothing.
    pub(super) fn keep_only(&mut self, look: &Look) {
        for slot in [&mut self.sharp, &mut self.whole] {
            let is_elsewhere = slot.as_ref().is_some_and(|picture| {
                let shown = &picture.draw().look;
                (shown.device, shown.axis, shown.picture) != (look.device, look.axis, look.picture)
            });
            if is_elsewhere {
                *slot = None;
            }
        }
    }

    /// Whether there is a bitmap of the whole range with this look.
    pub(super) fn has_whole(&self, look: &Look) -> bool {
        self.whole
            .as_ref()
            .is_some_and(|whole| whole.draw().look == *look)
    }

    /// Whether there is anything to show.
    pub(super) fn is_empty(&self) -> bool {
        self.sharp.is_none() && self.whole.is_none()
    }

    /// The bitmap of exactly this request.
    pub(super) fn sharp(&self, wanted: &DrawRequest) -> Option<&Picture> {
        self.sharp
            .as_deref()
            .filter(|picture| picture.draw() == wanted)
    }

    /// Draws the bitmaps stretched to `wanted`, with the picture's upper left corner at `origin`.
    pub(super) fn present(
        &self,
        context: &CanvasRenderingContext2d,
        wanted: &DrawRequest,
        origin: (f64, f64),
    ) {
        let sharp = self.sharp.as_deref();
        if self.sharp(wanted).is_none()
            && let Some(whole) = &self.whole
        {
            stretch(context, whole, wanted, origin);
        }
        if let Some(sharp) = sharp {
            stretch(context, sharp, wanted, origin);
        }
    }
}

fn stretch(
    context: &CanvasRenderingContext2d,
    picture: &Picture,
    wanted: &DrawRequest,
    origin: (f64, f64),
) {
    let Some(placement) = place(&picture.draw().viewport, &wanted.viewport) else {
        return;
    };
    let RectPx {
        x,
        y,
        width,
        height,
    } = placement.target;
    let (x, y) = (x + origin.0, y + origin.1);
    // Free memory is transparent: the coarser picture must not show through.
    context.clear_rect(x, y, width, height);
    let source = placement.source;
    let drawn = context.draw_image_with_image_bitmap_and_sw_and_sh_and_dx_and_dy_and_dw_and_dh(
        &picture.bitmap,
        source.x,
        source.y,
        source.width,
        source.height,
        x,
        y,
        width,
        height,
    );
    // Fails only for a bitmap without pixels, which shows nothing anyway.
    let _ = drawn;
}
