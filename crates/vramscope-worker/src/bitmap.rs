//! Bitmaps made of pixels in the module's memory. They move to the page without a copy.

use wasm_bindgen::{Clamped, JsCast, JsValue};
use web_sys::{ImageBitmap, ImageData, OffscreenCanvas, OffscreenCanvasRenderingContext2d};

use vramscope_view::raster::Frame;

/// Makes bitmaps, and keeps the canvas for that.
#[derive(Default)]
pub(super) struct Bitmaps {
    canvas: Option<(OffscreenCanvas, OffscreenCanvasRenderingContext2d)>,
}

impl Bitmaps {
    /// A bitmap of a frame's pixels.
    ///
    /// # Errors
    /// The browser's error, if the canvas is too large or memory has run out.
    pub(super) fn bitmap(&mut self, frame: &Frame) -> Result<ImageBitmap, JsValue> {
        self.of_pixels(frame.width_px, frame.height_px, &frame.rgba)
    }

    /// A bitmap of `width_px × height_px` pixels of R, G, B, A.
    ///
    /// # Errors
    /// The browser's error as for [`Bitmaps::bitmap`], or if `rgba` has another number of pixels.
    pub(super) fn of_pixels(
        &mut self,
        width_px: u32,
        height_px: u32,
        rgba: &[u8],
    ) -> Result<ImageBitmap, JsValue> {
        let bitmap = self.transfer(width_px, height_px, rgba);
        if bitmap.is_err() {
            // The canvas may be broken now: the next bitmap gets a new one.
            self.canvas = None;
        }
        bitmap
    }

    fn transfer(
        &mut self,
        width_px: u32,
        height_px: u32,
        rgba: &[u8],
    ) -> Result<ImageBitmap, JsValue> {
        let (canvas, context) = self.canvas(width_px, height_px)?;
        let image =
            ImageData::new_with_u8_clamped_array_and_sh(Clamped(rgba), width_px, height_px)?;
        context.put_image_data(&image, 0.0, 0.0)?;
        canvas.transfer_to_image_bitmap()
    }

    fn canvas(
        &mut self,
        width_px: u32,
        height_px: u32,
    ) -> Result<&(OffscreenCanvas, OffscreenCanvasRenderingContext2d), JsValue> {
        let fits =
            |canvas: &OffscreenCanvas| canvas.width() == width_px && canvas.height() == height_px;
        if !self.canvas.as_ref().is_some_and(|(canvas, _)| fits(canvas)) {
            let canvas = OffscreenCanvas::new(width_px, height_px)?;
            let context = canvas
                .get_context("2d")?
                .ok_or("no 2d context in the worker")?;
            self.canvas = Some((canvas, context.unchecked_into()));
        }
        self.canvas
            .as_ref()
            .ok_or_else(|| JsValue::from("no canvas in the worker"))
    }
}
