//! Builds the text of an SVG file element by element. Uses no DOM.

use std::fmt::Write as _;

use vramscope_view::scene::Ink;

/// A rectangle in CSS px.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Box {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Box {
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }

    /// The intersection of both; empty if there is none.
    pub(super) fn within(&self, other: &Self) -> Self {
        let (x, y) = (self.x.max(other.x), self.y.max(other.y));
        let right = (self.x + self.width).min(other.x + other.width);
        let bottom = (self.y + self.height).min(other.y + other.height);
        Self {
            x,
            y,
            width: (right - x).max(0.0),
            height: (bottom - y).max(0.0),
        }
    }
}

/// A colour as attributes, `name` being `fill` or `stroke`.
fn attributes(ink: Ink, name: &str) -> String {
    let [r, g, b] = ink.rgb;
    let mut text = format!(" {name}=\"#{r:02x}{g:02x}{b:02x}\"");
    if ink.opacity < 1.0 {
        let _ = write!(text, " {name}-opacity=\"{}\"", short(ink.opacity));
    }
    text
}

/// The font of a line of text.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Font {
    pub family: String,
    pub size: String,
    pub weight: String,
    pub style: String,
}

impl Font {
    /// The font as a value of CSS's `font` property.
    pub(super) fn css(&self) -> String {
        let Self {
            family,
            size,
            weight,
            style,
        } = self;
        format!("{style} {weight} {size} {family}")
    }
}

/// An SVG file under construction.
#[derive(Default)]
pub(super) struct Svg {
    body: String,
    ids: usize,
}

impl Svg {
    pub(super) fn rect(&mut self, place: &Box, radius: f64, fill: Ink) {
        let (x, y, width, height) = (
            short(place.x),
            short(place.y),
            short(place.width),
            short(place.height),
        );
        let rx = if radius > 0.0 {
            format!(" rx=\"{}\"", short(radius))
        } else {
            String::new()
        };
        let fill = attributes(fill, "fill");
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{rx}{fill}/>"
        );
    }

    /// A new number for a definition's id.
    pub(super) fn next_id(&mut self) -> usize {
        self.ids += 1;
        self.ids
    }

    /// A rectangle filled with a definition of this `id`.
    pub(super) fn patterned(&mut self, place: &Box, id: &str) {
        let (x, y, width, height) = (
            short(place.x),
            short(place.y),
            short(place.width),
            short(place.height),
        );
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"url(#{id})\"/>"
        );
    }

    pub(super) fn frame(&mut self, place: &Box, radius: f64, line_width: f64, colour: Ink) {
        // A border is inside its box, a stroke is on both sides of its line.
        let half = line_width / 2.0;
        let inner = Box {
            x: place.x + half,
            y: place.y + half,
            width: (place.width - line_width).max(0.0),
            height: (place.height - line_width).max(0.0),
        };
        let (x, y, width, height) = (
            short(inner.x),
            short(inner.y),
            short(inner.width),
            short(inner.height),
        );
        let rx = if radius > half {
            format!(" rx=\"{}\"", short(radius - half))
        } else {
            String::new()
        };
        let stroke = attributes(colour, "stroke");
        let _ = writeln!(
            self.body,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{rx} fill=\"none\"{stroke} stroke-width=\"{}\"/>",
            short(line_width)
        );
    }

    /// Adds a line of text, stretched to its width on the page, because other programs may lack the
    /// font.
    pub(super) fn text(&mut self, place: &Box, baseline: f64, text: &str, font: &Font, fill: Ink) {
        let Font {
            family,
            size,
            weight,
            style,
        } = font;
        let fill = attributes(fill, "fill");
        let style = if style == "normal" {
            String::new()
        } else {
            format!(" font-style=\"{}\"", escaped(style))
        };
        let weight = if weight == "400" {
            String::new()
        } else {
            format!(" font-weight=\"{}\"", escaped(weight))
        };
        let _ = writeln!(
            self.body,
            "<text x=\"{}\" y=\"{}\" textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\" font-family=\"{}\" \
             font-size=\"{}\"{weight}{style}{fill} xml:space=\"preserve\">{}</text>",
            short(place.x),
            short(baseline),
            short(place.width),
            escaped(family),
            escaped(size),
            escaped(text),
        );
    }

    pub(super) fn image(&mut self, place: &Box, data_url: &str) {
        let (x, y, width, height) = (
            short(place.x),
            short(place.y),
            short(place.width),
            short(place.height),
        );
        let _ = writeln!(
            self.body,
            "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" href=\"{}\"/>",
            escaped(data_url)
        );
    }

    /// Adds text that is already SVG.
    pub(super) fn raw(&mut self, svg: &str) {
        self.body.push_str(svg);
        self.body.push('\n');
    }

    /// Clips the elements up to [`close`](Self::close) to a box.
    pub(super) fn open_clip(&mut self, place: &Box) {
        let (x, y, width, height) = (
            short(place.x),
            short(place.y),
            short(place.width),
            short(place.height),
        );
        let id = self.next_id();
        let _ = writeln!(
            self.body,
            "<clipPath id=\"c{id}\"><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"/></clipPath>\
             <g clip-path=\"url(#c{id})\">"
        );
    }

    /// Makes the elements up to [`close`](Self::close) translucent.
    pub(super) fn open_opacity(&mut self, opacity: f64) {
        let _ = writeln!(self.body, "<g opacity=\"{}\">", short(opacity));
    }

    pub(super) fn close(&mut self) {
        self.body.push_str("</g>\n");
    }

    /// The text of the whole file.
    pub(super) fn finish(self, width: f64, height: f64) -> String {
        let (width, height) = (short(width), short(height));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
             {}</svg>\n",
            self.body
        )
    }
}

/// A number with at most two decimals.
pub(super) fn short(value: f64) -> String {
    let rounded = (value * 100.0).round() / 100.0;
    // Adding 0 turns −0 into 0.
    (rounded + 0.0).to_string()
}

/// Escapes text or an attribute; characters that XML cannot hold become U+FFFD.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_break_out() {
        let mut svg = Svg::default();
        let font = Font {
            family: "\"DejaVu\", sans".to_owned(),
            size: "13px".to_owned(),
            weight: "400".to_owned(),
            style: "normal".to_owned(),
        };
        let place = Box {
            x: 1.0,
            y: 2.0,
            width: 30.004,
            height: 10.0,
        };
        let black = Ink {
            rgb: [0, 0, 0],
            opacity: 1.0,
        };
        svg.text(&place, 11.0, "</text><script>\u{0}&", &font, black);
        svg.rect(
            &place,
            0.0,
            Ink {
                rgb: [255, 0, 1],
                opacity: 0.5,
            },
        );
        assert_eq!(
            svg.finish(100.0, 50.0),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50\" viewBox=\"0 0 100 50\">\n\
             <text x=\"1\" y=\"11\" textLength=\"30\" lengthAdjust=\"spacingAndGlyphs\" font-family=\"&quot;DejaVu&quot;, sans\" \
             font-size=\"13px\" fill=\"#000000\" xml:space=\"preserve\">&lt;/text&gt;&lt;script&gt;\u{fffd}&amp;</text>\n\
             <rect x=\"1\" y=\"2\" width=\"30\" height=\"10\" fill=\"#ff0001\" fill-opacity=\"0.5\"/>\n</svg>\n"
        );
    }

    #[test]
    fn boxes() {
        let a = Box {
            x: 0.0,
            y: 0.0,
            width: 10.0,
            height: 10.0,
        };
        let b = Box {
            x: 6.0,
            y: -4.0,
            width: 10.0,
            height: 8.0,
        };
        assert_eq!(
            a.within(&b),
            Box {
                x: 6.0,
                y: 0.0,
                width: 4.0,
                height: 4.0
            }
        );
        assert!(a.overlaps(&b) && !a.overlaps(&Box { x: 10.0, ..a }));
        assert_eq!(short(-0.001), "0");
    }
}
