//! Values that only a canvas provides: colours in any CSS notation, baselines of fonts, pixels of
//! images.

use std::collections::HashMap;

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, HtmlImageElement};

use super::context_2d;
use vramscope_view::scene::Ink;

/// Reads colours in any notation and the baselines of fonts from a canvas of one pixel.
pub(crate) struct Probe {
    context: CanvasRenderingContext2d,
    colours: HashMap<String, Option<Ink>>,
    baselines: HashMap<String, f64>,
}

impl Probe {
    pub(crate) fn new() -> Option<Self> {
        let document = web_sys::window()?.document()?;
        let canvas: HtmlCanvasElement = document.create_element("canvas").ok()?.dyn_into().ok()?;
        canvas.set_width(1);
        canvas.set_height(1);
        let options = js_sys::Object::new();
        let _ = js_sys::Reflect::set(&options, &"willReadFrequently".into(), &JsValue::TRUE);
        let context = canvas
            .get_context_with_context_options("2d", &options)
            .ok()??;
        Some(Self {
            context: context.dyn_into().ok()?,
            colours: HashMap::new(),
            baselines: HashMap::new(),
        })
    }

    /// Parses a colour; `None` if it is transparent.
    pub(crate) fn colour(&mut self, text: &str) -> Option<Ink> {
        if let Some(&known) = self.colours.get(text) {
            return known;
        }
        let found = self.look_at(text).filter(|colour| colour.opacity > 0.0);
        self.colours.insert(text.to_owned(), found);
        found
    }

    fn look_at(&self, text: &str) -> Option<Ink> {
        let context = &self.context;
        context.clear_rect(0.0, 0.0, 1.0, 1.0);
        // A text that is no colour leaves this transparent one in place.
        context.set_fill_style_str("rgba(0, 0, 0, 0)");
        context.set_fill_style_str(text);
        context.fill_rect(0.0, 0.0, 1.0, 1.0);
        let data = context.get_image_data(0.0, 0.0, 1.0, 1.0).ok()?.data();
        match data.0.as_slice() {
            &[r, g, b, alpha, ..] => Some(Ink {
                rgb: [r, g, b],
                opacity: f64::from(alpha) / 255.0,
            }),
            _ => None,
        }
    }

    /// The share of a line's height that is above the baseline of a font; the font is named as in CSS.
    pub(crate) fn baseline(&mut self, font: &str) -> f64 {
        if let Some(&known) = self.baselines.get(font) {
            return known;
        }
        self.context.set_font(font);
        let share = self.context.measure_text("x").map_or(0.8, |metrics| {
            let above = metrics.font_bounding_box_ascent();
            above / (above + metrics.font_bounding_box_descent())
        });
        let share = if share.is_finite() { share } else { 0.8 };
        self.baselines.insert(font.to_owned(), share);
        share
    }
}

/// Draws an image with `pixel_ratio` pixels for each of its CSS px.
///
/// # Errors
/// The browser's exception.
pub(crate) fn pixels_of(
    image: &HtmlImageElement,
    pixel_ratio: f64,
) -> Result<HtmlCanvasElement, JsValue> {
    let document = web_sys::window().and_then(|window| window.document());
    let document = document.ok_or(JsValue::NULL)?;
    let canvas: HtmlCanvasElement = document.create_element("canvas")?.unchecked_into();
    let (width_css, height_css) = (f64::from(image.width()), f64::from(image.height()));
    canvas.set_width((width_css * pixel_ratio) as u32);
    canvas.set_height((height_css * pixel_ratio) as u32);
    let context = context_2d(&canvas).ok_or(JsValue::NULL)?;
    context.scale(pixel_ratio, pixel_ratio)?;
    context.draw_image_with_html_image_element(image, 0.0, 0.0)?;
    Ok(canvas)
}
