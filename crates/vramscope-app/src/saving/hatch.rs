//! Hatches: the style sheets' repeated gradients, as SVG patterns.

use std::fmt::Write as _;

use super::svg::{Box, short};
use crate::canvas::Probe;
use vramscope_view::scene::Ink;

/// A background with a meaningful pattern.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Hatch {
    /// Stripes: the angle as in CSS, and colours with start and end in px.
    Stripes(f64, Vec<(String, f64, f64)>),
    /// Dots: colour, and radius in px.
    Dots(String, f64),
}

impl Hatch {
    /// Parses a computed `background-image`; `None` if it is no hatch.
    pub(super) fn parse(image: &str) -> Option<Self> {
        if let Some(rest) = image.strip_prefix("repeating-linear-gradient(") {
            let mut parts = parts(rest);
            let angle = parts.next()?.strip_suffix("deg")?.parse().ok()?;
            let stops: Option<Vec<_>> = parts.map(stop).collect();
            return stops
                .filter(|stops| stops.len() > 1)
                .map(|stops| Self::Stripes(angle, stops));
        }
        let rest = image.strip_prefix("radial-gradient(")?;
        let (colour, radius, _) = parts(rest).find_map(stop)?;
        Some(Self::Dots(colour, radius))
    }

    /// The SVG definition with this id; `size_px` is the distance between dots.
    pub(super) fn definition(
        &self,
        id: &str,
        place: &Box,
        size_px: f64,
        paint: &mut Probe,
    ) -> String {
        let mut colour = |text: &str| {
            paint.colour(text).unwrap_or(Ink {
                rgb: [0; 3],
                opacity: 0.0,
            })
        };
        let mut svg = String::new();
        match self {
            Self::Stripes(angle, stops) => {
                let length = stops.last().map_or(1.0, |stop| stop.2).max(0.1);
                let (sin, cos) = angle.to_radians().sin_cos();
                let (x, y) = (place.x, place.y);
                let (x2, y2) = (short(x + sin * length), short(y - cos * length));
                let _ = write!(
                    svg,
                    "<linearGradient id=\"{id}\" gradientUnits=\"userSpaceOnUse\" spreadMethod=\"repeat\" x1=\"{}\" y1=\"{}\" x2=\"{x2}\" y2=\"{y2}\">",
                    short(x),
                    short(y)
                );
                for (text, from, to) in stops {
                    let Ink {
                        rgb: [r, g, b],
                        opacity,
                    } = colour(text);
                    for at in [from, to] {
                        let offset = short(at / length);
                        let _ = write!(
                            svg,
                            "<stop offset=\"{offset}\" stop-color=\"#{r:02x}{g:02x}{b:02x}\" stop-opacity=\"{}\"/>",
                            short(opacity)
                        );
                    }
                }
                svg.push_str("</linearGradient>");
            }
            Self::Dots(text, radius) => {
                let Ink {
                    rgb: [r, g, b],
                    opacity,
                } = colour(text);
                let (size, middle, radius) = (short(size_px), short(size_px / 2.0), short(*radius));
                let _ = write!(
                    svg,
                    "<pattern id=\"{id}\" patternUnits=\"userSpaceOnUse\" width=\"{size}\" height=\"{size}\">\
                     <circle cx=\"{middle}\" cy=\"{middle}\" r=\"{radius}\" fill=\"#{r:02x}{g:02x}{b:02x}\" fill-opacity=\"{}\"/></pattern>",
                    short(opacity)
                );
            }
        }
        svg
    }
}

/// The first gradient's arguments, split at commas outside of parentheses.
fn parts(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 1;
    let mut end = text.len();
    let mut commas = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 1 => commas.push(at),
            _ => {}
        }
        if depth == 0 {
            end = at;
            break;
        }
    }
    let starts = std::iter::once(0).chain(commas.clone().into_iter().map(|at| at + 1));
    let ends = commas.into_iter().chain([end]);
    starts.zip(ends).map(|(from, to)| text[from..to].trim())
}

/// Parses `rgb(1, 2, 3) 0px 3px`, or the same with one position only.
fn stop(text: &str) -> Option<(String, f64, f64)> {
    let number = |text: &str| text.strip_suffix("px")?.parse::<f64>().ok();
    let (before, last) = text.rsplit_once(' ')?;
    let to = number(last)?;
    match before
        .rsplit_once(' ')
        .and_then(|(colour, from)| Some((colour, number(from)?)))
    {
        Some((colour, from)) => Some((colour.to_owned(), from, to)),
        None => Some((before.to_owned(), to, to)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_and_dots_are_read() {
        let stripes = "repeating-linear-gradient(-45deg, rgb(255, 176, 0) 0px, rgb(255, 176, 0) 3px, rgba(0, 0, 0, 0) 3px 6px)";
        let amber = "rgb(255, 176, 0)".to_owned();
        let expected = vec![
            (amber.clone(), 0.0, 0.0),
            (amber.clone(), 3.0, 3.0),
            ("rgba(0, 0, 0, 0)".to_owned(), 3.0, 6.0),
        ];
        assert_eq!(Hatch::parse(stripes), Some(Hatch::Stripes(-45.0, expected)));
        let dots = "radial-gradient(circle, rgb(255, 176, 0) 1px, rgba(0, 0, 0, 0) 1.4px), none";
        assert_eq!(Hatch::parse(dots), Some(Hatch::Dots(amber, 1.0)));
        for none in [
            "none",
            "url(\"x\")",
            "repeating-linear-gradient(",
            "radial-gradient(circle)",
            "repeating-linear-gradient(1deg)",
        ] {
            assert_eq!(Hatch::parse(none), None, "{none}");
        }
    }
}
