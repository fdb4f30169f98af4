//! Bitmaps made of pixels in the module's memory. They move to the page without a copy.

use wasm_bindgen::{Clamped, JsCast, JsValue};
use web_sys::{ImageBitmap, ImageData, OffscreenCanvas, OffscreenCanvasRenderingContext2d};

use vramscope_protocol::{Answer, Extra, error_text};

use crate::port::log_error;

/// Makes bitmaps, and keeps the canvas for that.
#[derive(Default)]
pub struct Bitmaps {
    canvas: Option<(OffscreenCanvas, OffscreenCanvasRenderingContext2d)>,
}

impl Bitmaps {
    /// An answer with its attachment, or with `NULL`. Without an answer if its bitmap cannot be made.
    pub fn attached(&mut self, answered: Option<(Answer, Extra)>) -> (Option<Answer>, JsValue) {
        let Some((answer, extra)) = answered else {
            return (None, JsValue::NULL);
        };
        match extra {
            Extra::Nothing => (Some(answer), JsValue::NULL),
            // The array is dropped here; its buffer moves to the page.
            Extra::Bytes(bytes) => {
                let array = js_sys::Uint8Array::from(bytes.as_slice());
                (Some(answer), array.buffer().into())
            }
            Extra::Pixels {
                width_px,
                height_px,
                rgba,
            } => match self.of_pixels(width_px, height_px, &rgba) {
                Ok(bitmap) => (Some(answer), bitmap.into()),
                Err(error) => {
                    log_error(&error_text(&error));
                    (None, JsValue::NULL)
                }
            },
        }
    }

    /// A bitmap of `width_px × height_px` pixels of R, G, B, A.
    ///
    /// # Errors
    /// The browser's error, if the canvas is too large or memory has run out, or if `rgba` has another number of pixels.
    pub fn of_pixels(
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
