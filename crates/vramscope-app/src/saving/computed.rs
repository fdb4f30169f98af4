//! Lengths and fonts as the browser computes them.

use web_sys::CssStyleDeclaration;

use super::svg::Font;

/// A property's value.
pub(super) fn value(style: &CssStyleDeclaration, property: &str) -> String {
    style.get_property_value(property).unwrap_or_default()
}

/// A length in px; 0 if the property is not a length.
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
