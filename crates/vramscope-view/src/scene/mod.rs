//! Drawings as data.
//!
//! Layout code fills a [`Scene`] with commands; a painter draws them. There is one painter per
//! target: [`svg`] and `pixels` here, the page's canvas in the app. All draw the same commands, so
//! a picture looks the same everywhere, and tests compare it as text.
//!
//! Lengths are device px from the upper left corner of the target; y grows downwards. Pictures made
//! of pixels (bands, maps) are not scenes; rasters draw them.

pub(crate) mod font;
#[cfg(feature = "font")]
mod glyphs;
#[cfg(feature = "font")]
pub(crate) mod pixels;
mod recorder;
pub mod svg;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::colour::Rgb;
use crate::theme::Theme;

/// A position, device px: x to the right, y downwards.
pub type Point = (f64, f64);

/// A colour with opacity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ink {
    /// The colour.
    pub rgb: Rgb,
    /// From 0 (transparent) to 1 (opaque).
    pub opacity: f64,
}

impl Ink {
    /// A colour with this opacity.
    #[must_use]
    pub fn faint(rgb: Rgb, opacity: f64) -> Self {
        Self { rgb, opacity }
    }
}

impl From<Rgb> for Ink {
    fn from(rgb: Rgb) -> Self {
        Self { rgb, opacity: 1.0 }
    }
}

/// Which part of a text is at its position, horizontally.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Across {
    /// Its start.
    Left,
    /// Its middle.
    Middle,
    /// Its end.
    Right,
}

/// Which part of a line of text is at its position, vertically.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Down {
    /// Its upper edge.
    Top,
    /// The middle of its letters.
    Middle,
    /// Its lower edge.
    Bottom,
}

/// Font size, weight, colour and anchor of a text.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Letters {
    /// Size of the font, device px.
    pub size_px: f64,
    /// Whether it is bold.
    pub is_bold: bool,
    /// Colour.
    pub ink: Ink,
    /// The part of the text that is at its position.
    pub anchor: (Across, Down),
}

impl Letters {
    /// The same letters in bold.
    #[must_use]
    pub fn bold(self) -> Self {
        Self {
            is_bold: true,
            ..self
        }
    }
}

/// A drawing command.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// A filled rectangle.
    Rect {
        /// Upper left corner.
        at: Point,
        /// Width and height.
        size: (f64, f64),
        /// Its colour.
        ink: Ink,
    },
    /// A line through points.
    Line {
        /// The points, in order.
        points: Vec<Point>,
        /// Whether it returns from the last point to the first.
        is_closed: bool,
        /// Its width.
        width_px: f64,
        /// Its colour.
        ink: Ink,
    },
    /// A filled polygon.
    Polygon {
        /// Its corners, in order.
        points: Vec<Point>,
        /// Its colour.
        ink: Ink,
    },
    /// A filled circle.
    Circle {
        /// Its centre.
        at: Point,
        /// Its radius.
        radius_px: f64,
        /// Its colour.
        ink: Ink,
    },
    /// A line of text.
    Text {
        /// Position; see [`Letters::anchor`].
        at: Point,
        /// The text.
        text: String,
        /// Font and anchor.
        letters: Letters,
    },
    /// Commands clipped to a rectangle.
    Clipped {
        /// The rectangle.
        area: Area,
        /// The commands.
        scene: Scene,
    },
}

/// A drawing: commands, the lowest first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Scene {
    /// The commands.
    pub commands: Vec<Command>,
}

impl Scene {
    /// Adds a filled rectangle by its upper left and lower right corner.
    pub fn rect(&mut self, (left, top): Point, (right, bottom): Point, ink: impl Into<Ink>) {
        self.commands.push(Command::Rect {
            at: (left, top),
            size: (right - left, bottom - top),
            ink: ink.into(),
        });
    }

    /// Adds a line through points.
    pub fn line(&mut self, points: Vec<Point>, width_px: f64, ink: impl Into<Ink>) {
        self.commands.push(Command::Line {
            points,
            is_closed: false,
            width_px,
            ink: ink.into(),
        });
    }

    /// Adds a closed line through points.
    pub fn outline(&mut self, points: Vec<Point>, width_px: f64, ink: impl Into<Ink>) {
        self.commands.push(Command::Line {
            points,
            is_closed: true,
            width_px,
            ink: ink.into(),
        });
    }

    /// Adds the outline of a rectangle.
    pub fn frame(
        &mut self,
        (left, top): Point,
        (right, bottom): Point,
        width_px: f64,
        ink: impl Into<Ink>,
    ) {
        let corners = vec![(left, top), (right, top), (right, bottom), (left, bottom)];
        self.outline(corners, width_px, ink);
    }

    /// Adds a filled polygon.
    pub fn polygon(&mut self, points: Vec<Point>, ink: impl Into<Ink>) {
        self.commands.push(Command::Polygon {
            points,
            ink: ink.into(),
        });
    }

    /// Adds a text.
    pub fn text(&mut self, at: Point, text: impl Into<String>, letters: Letters) {
        self.commands.push(Command::Text {
            at,
            text: text.into(),
            letters,
        });
    }

    /// Adds everything that `draw` draws, clipped to an area.
    pub fn clipped(&mut self, area: &Area, draw: impl FnOnce(&mut Self)) {
        let mut scene = Self::default();
        draw(&mut scene);
        self.commands.push(Command::Clipped { area: *area, scene });
    }
}

/// A rectangle of a picture, device px from its upper left corner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Left edge.
    pub x_px: i32,
    /// Upper edge.
    pub y_px: i32,
    /// Width.
    pub width_px: u32,
    /// Height.
    pub height_px: u32,
}

impl Area {
    pub(crate) fn right_px(&self) -> i32 {
        self.x_px.saturating_add_unsigned(self.width_px)
    }

    pub(crate) fn bottom_px(&self) -> i32 {
        self.y_px.saturating_add_unsigned(self.height_px)
    }

    pub(crate) fn origin(&self) -> Point {
        (f64::from(self.x_px), f64::from(self.y_px))
    }

    pub(crate) fn size(&self) -> (f64, f64) {
        (f64::from(self.width_px), f64::from(self.height_px))
    }
}

/// Text widths in the font of a painter.
pub trait Measure: fmt::Debug {
    /// The width of a text with this font size, px.
    fn width_px(&self, text: &str, size_px: f64, is_bold: bool) -> f64;
}

/// Estimated text widths, for when no font is available: slightly more than most text takes.
#[derive(Clone, Copy, Debug)]
pub struct Estimated;

/// Mean width of a character of a system font, in em.
pub(crate) const CHARACTER_EM: f64 = 0.57;

impl Measure for Estimated {
    fn width_px(&self, text: &str, size_px: f64, _is_bold: bool) -> f64 {
        text.chars().count() as f64 * CHARACTER_EM * size_px
    }
}

/// Colours, scale and font that all parts of a picture share.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// Colours.
    pub theme: &'a Theme,
    /// Device px per css px.
    pub pixel_ratio: f64,
    /// The text widths.
    pub measure: &'a dyn Measure,
}

impl<'a> Style<'a> {
    /// A style with estimated text widths.
    #[must_use]
    pub fn new(theme: &'a Theme, pixel_ratio: f64) -> Self {
        Self {
            theme,
            pixel_ratio,
            measure: &Estimated,
        }
    }

    /// A length in css px as whole device px.
    #[must_use]
    pub fn px(&self, css: f64) -> i32 {
        (css * self.pixel_ratio).round() as i32
    }

    /// Text style with a font size of `css` css px.
    #[must_use]
    pub fn letters(&self, css: f64, ink: impl Into<Ink>, anchor: (Across, Down)) -> Letters {
        Letters {
            size_px: css * self.pixel_ratio,
            is_bold: false,
            ink: ink.into(),
            anchor,
        }
    }

    /// The width in device px of a text with a font size of `css` css px.
    #[must_use]
    pub fn width_px(&self, text: &str, css: f64, is_bold: bool) -> f64 {
        self.measure.width_px(text, css * self.pixel_ratio, is_bold)
    }
}

/// One command per line, for people and snapshot tests.
impl fmt::Display for Scene {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "")
    }
}

impl Scene {
    fn write(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        for command in &self.commands {
            f.write_str(indent)?;
            match command {
                Command::Rect { at, size, ink } => {
                    writeln!(
                        f,
                        "rect {} {}x{} {ink}",
                        Places(&[*at]),
                        Short(size.0),
                        Short(size.1)
                    )?;
                }
                Command::Line {
                    points,
                    is_closed,
                    width_px,
                    ink,
                } => {
                    let kind = if *is_closed { "outline" } else { "line" };
                    writeln!(f, "{kind} {}px {ink} {}", Short(*width_px), Places(points))?;
                }
                Command::Polygon { points, ink } => {
                    writeln!(f, "polygon {ink} {}", Places(points))?
                }
                Command::Circle { at, radius_px, ink } => {
                    writeln!(f, "circle {} r{} {ink}", Places(&[*at]), Short(*radius_px))?;
                }
                Command::Text { at, text, letters } => {
                    let (across, down) = letters.anchor;
                    let bold = if letters.is_bold { " bold" } else { "" };
                    let (at, size, ink) = (Places(&[*at]), Short(letters.size_px), letters.ink);
                    writeln!(
                        f,
                        "text {text:?} {at} {across:?} {down:?} {size}px{bold} {ink}"
                    )?;
                }
                Command::Clipped { area, scene } => {
                    let Area {
                        x_px,
                        y_px,
                        width_px,
                        height_px,
                    } = area;
                    writeln!(f, "within {x_px},{y_px} {width_px}x{height_px}")?;
                    scene.write(f, &format!("{indent}  "))?;
                }
            }
        }
        Ok(())
    }
}

/// `#1C1E22`, followed by its opacity if that is below 1.
impl fmt::Display for Ink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [r, g, b] = self.rgb;
        write!(f, "#{r:02X}{g:02X}{b:02X}")?;
        if self.opacity < 1.0 {
            write!(f, "/{}", self.opacity)?;
        }
        Ok(())
    }
}

/// A length with at most two decimals.
pub(crate) struct Short(pub(crate) f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Adding 0 turns −0 into 0.
        write!(f, "{}", (self.0 * 100.0).round() / 100.0 + 0.0)
    }
}

struct Places<'a>(&'a [Point]);

impl fmt::Display for Places<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (x, y)) in self.0.iter().enumerate() {
            let air = if place > 0 { " " } else { "" };
            write!(f, "{air}{},{}", Short(*x), Short(*y))?;
        }
        Ok(())
    }
}
