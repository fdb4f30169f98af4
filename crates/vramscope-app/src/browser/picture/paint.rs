//! Colours and fonts as the browser computes them.

use std::collections::HashMap;

use wasm_bindgen::{JsCast, JsValue};
use web_sys::{CanvasRenderingContext2d, CssStyleDeclaration, HtmlCanvasElement};

use super::svg::{Colour, Font};

/// A property's value.
pub(super) fn value(style: &CssStyleDeclaration, property: &str) -> String {
    style.get_property_value(property).unwrap_or_default()
}

/// A length in px; 0 where there is none.
pub(super) fn px(style: &CssStyleDeclaration, property: &str) -> f64 {
    let text = value(style, property);
    text.strip_suffix("px")
        .and_then(|number| number.parse().ok())
        .unwrap_or(0.0)
}

/// The font of an element's text.
pub(super) fn font(style: &CssStyleDeclaration) -> Font {
    Font {
        family: value(style, "font-family"),
        size: value(style, "font-size"),
        weight: value(style, "font-weight"),
        style: value(style, "font-style"),
    }
}

/// Knows colours in any notation and where the baselines of fonts are: it asks a canvas of one pixel.
pub(super) struct Paint {
    context: CanvasRenderingContext2d,
    colours: HashMap<String, Option<Colour>>,
    baselines: HashMap<String, f64>,
}

impl Paint {
    pub(super) fn new() -> Option<Self> {
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

    /// A colour; `None` if nothing of it is seen.
    pub(super) fn colour(&mut self, text: &str) -> Option<Colour> {
        if let Some(&known) = self.colours.get(text) {
            return known;
        }
        let found = self.look_at(text).filter(|colour| colour.alpha > 0.0);
        self.colours.insert(text.to_owned(), found);
        found
    }

    fn look_at(&self, text: &str) -> Option<Colour> {
        let context = &self.context;
        context.clear_rect(0.0, 0.0, 1.0, 1.0);
        // What is no colour leaves this one.
        context.set_fill_style_str("rgba(0, 0, 0, 0)");
        context.set_fill_style_str(text);
        context.fill_rect(0.0, 0.0, 1.0, 1.0);
        let data = context.get_image_data(0.0, 0.0, 1.0, 1.0).ok()?.data();
        match data.0.as_slice() {
            &[r, g, b, alpha, ..] => Some(Colour {
                rgb: [r, g, b],
                alpha: f64::from(alpha) / 255.0,
            }),
            _ => None,
        }
    }

    /// Where the baseline is: how much of a line's height is above it.
    pub(super) fn baseline(&mut self, font: &Font) -> f64 {
        let Font {
            family,
            size,
            weight,
            style,
        } = font;
        let text = format!("{style} {weight} {size} {family}");
        if let Some(&known) = self.baselines.get(&text) {
            return known;
        }
        self.context.set_font(&text);
        let share = self.context.measure_text("x").map_or(0.8, |metrics| {
            let above = metrics.font_bounding_box_ascent();
            above / (above + metrics.font_bounding_box_descent())
        });
        let share = if share.is_finite() { share } else { 0.8 };
        self.baselines.insert(text, share);
        share
    }
}
