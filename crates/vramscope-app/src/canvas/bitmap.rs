//! Bitmaps from the worker, on canvases of their own.

use web_sys::{HtmlCanvasElement, ImageBitmap};

use super::painter::emptied;

/// Shows a bitmap on a canvas of this size (device px), `down_px` below its upper edge.
pub(crate) fn show_bitmap(
    canvas: &HtmlCanvasElement,
    size_px: (u32, u32),
    bitmap: &ImageBitmap,
    down_px: f64,
) {
    if let Some(context) = emptied(canvas, size_px) {
        // Fails only for a bitmap without pixels, which shows nothing anyway.
        let _ = context.draw_image_with_image_bitmap(bitmap, 0.0, down_px);
    }
}
