//! Scenes as SVG with shapes and texts.

use std::fmt::Write as _;

use vramscope_core::invisible;

use super::font::BuiltIn;
use super::{Across, Area, Command, Down, Ink, Letters, Point, Scene, Short};

/// An SVG file under construction.
pub(crate) struct Svg {
    text: String,
    /// The widths that texts were laid out with; `None` if they were laid out with the font of the SVG.
    measure: Option<BuiltIn>,
    clips: usize,
}

impl Scene {
    /// The scene as an SVG file of this size in device px. `font` is a CSS font family.
    #[must_use]
    pub fn to_svg(&self, size_px: (u32, u32), font: &str) -> String {
        let mut svg = Svg::new(size_px, font, None);
        svg.draw(self);
        svg.finish()
    }
}

impl Svg {
    pub(crate) fn new(
        (width_px, height_px): (u32, u32),
        font: &str,
        measure: Option<BuiltIn>,
    ) -> Self {
        Self {
            text: format!(
                "<svg width=\"{width_px}\" height=\"{height_px}\" viewBox=\"0 0 {width_px} {height_px}\" \
                 font-family=\"{font}\" xmlns=\"http://www.w3.org/2000/svg\">\n"
            ),
            measure,
            clips: 0,
        }
    }

    pub(crate) fn draw(&mut self, scene: &Scene) {
        for command in &scene.commands {
            self.command(command);
        }
    }

    pub(crate) fn element(&mut self, element: &str) {
        self.text.push_str(element);
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }

    fn command(&mut self, command: &Command) {
        match command {
            Command::Rect { at, size, ink } => {
                let (paint, opacity) = paint(*ink);
                let (x, y) = (Short(at.0), Short(at.1));
                let (width, height) = (Short(size.0.max(0.0)), Short(size.1.max(0.0)));
                let place = format!("x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"");
                self.tag(&format!(
                    "rect {place} opacity=\"{opacity}\" fill=\"{paint}\" stroke=\"none\""
                ));
            }
            Command::Line {
                points,
                is_closed,
                width_px,
                ink,
            } => {
                let (paint, opacity) = paint(*ink);
                let kind = if *is_closed { "polygon" } else { "polyline" };
                let (width, points) = (Short(*width_px), places(points));
                let look =
                    format!("opacity=\"{opacity}\" stroke=\"{paint}\" stroke-width=\"{width}\"");
                self.tag(&format!("{kind} fill=\"none\" {look} points=\"{points}\""));
            }
            Command::Polygon { points, ink } => {
                let (paint, opacity) = paint(*ink);
                let points = places(points);
                self.tag(&format!(
                    "polygon opacity=\"{opacity}\" fill=\"{paint}\" points=\"{points}\""
                ));
            }
            Command::Circle { at, radius_px, ink } => {
                let (paint, opacity) = paint(*ink);
                let place = format!(
                    "cx=\"{}\" cy=\"{}\" r=\"{}\"",
                    Short(at.0),
                    Short(at.1),
                    Short(*radius_px)
                );
                self.tag(&format!(
                    "circle {place} opacity=\"{opacity}\" fill=\"{paint}\" stroke=\"none\""
                ));
            }
            Command::Text { at, text, letters } => self.words(*at, text, letters),
            Command::Clipped { area, scene } => self.clipped(area, scene),
        }
    }

    fn tag(&mut self, inner: &str) {
        let _ = writeln!(self.text, "<{inner}/>");
    }

    fn words(&mut self, at: Point, text: &str, letters: &Letters) {
        let anchor = match letters.anchor.0 {
            Across::Left => "start",
            Across::Middle => "middle",
            Across::Right => "end",
        };
        // Distance from the position to the baseline.
        let dy = match letters.anchor.1 {
            Down::Top => "0.76em",
            Down::Middle => "0.5ex",
            Down::Bottom => "-0.5ex",
        };
        let (paint, opacity) = paint(letters.ink);
        let weight = if letters.is_bold {
            " font-weight=\"bold\""
        } else {
            ""
        };
        // Otherwise a wider font would make texts overlap.
        let length = self
            .measure
            .and_then(|measure| measure.exact_px(text, letters.size_px, letters.is_bold));
        let length = length.map_or(String::new(), |px| {
            let px = Short(px);
            format!(" textLength=\"{px}\" lengthAdjust=\"spacingAndGlyphs\"")
        });
        let _ = writeln!(
            self.text,
            "<text x=\"{}\" y=\"{}\" dy=\"{dy}\" text-anchor=\"{anchor}\" font-size=\"{:.1}\" \
             opacity=\"{opacity}\" fill=\"{paint}\"{weight}{length}>",
            Short(at.0),
            Short(at.1),
            letters.size_px
        );
        escape(&mut self.text, text);
        self.text.push_str("\n</text>\n");
    }

    fn clipped(&mut self, area: &Area, scene: &Scene) {
        if scene.commands.is_empty() {
            return;
        }
        self.clips += 1;
        let id = self.clips;
        let Area {
            x_px,
            y_px,
            width_px,
            height_px,
        } = area;
        let place =
            format!("x=\"{x_px}\" y=\"{y_px}\" width=\"{width_px}\" height=\"{height_px}\"");
        let _ = writeln!(
            self.text,
            "<clipPath id=\"clip{id}\"><rect {place}/></clipPath>"
        );
        let _ = writeln!(self.text, "<g clip-path=\"url(#clip{id})\">");
        self.draw(scene);
        self.text.push_str("</g>\n");
    }
}

fn paint(ink: Ink) -> (String, f64) {
    let [r, g, b] = ink.rgb;
    (format!("#{r:02X}{g:02X}{b:02X}"), ink.opacity)
}

/// Points in SVG syntax. A point that is written the same as the previous one is skipped: curves have many per pixel.
fn places(points: &[Point]) -> String {
    let places = points
        .iter()
        .map(|(x, y)| format!("{},{} ", Short(*x), Short(*y)));
    let mut places: Vec<_> = places.collect();
    places.dedup();
    places.concat()
}

/// Escapes text, because names from files may contain XML's special characters, characters that XML does not allow, and
/// characters that reorder adjacent text.
fn escape(svg: &mut String, text: &str) {
    for character in invisible::escaped(text).chars() {
        match character {
            '<' => svg.push_str("&lt;"),
            '>' => svg.push_str("&gt;"),
            '&' => svg.push_str("&amp;"),
            '"' => svg.push_str("&quot;"),
            '\'' => svg.push_str("&apos;"),
            '\t' => svg.push(character),
            '\u{fffe}' | '\u{ffff}' => {}
            _ if character.is_control() => {}
            _ => svg.push(character),
        }
    }
}
