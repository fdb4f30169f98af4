//! A picture as data: what is drawn where, in which colour.
//!
//! Layout fills a [`Scene`] with commands; a painter draws them. There is one painter for each place that
//! pictures go to: [`svg`] and `pixels` here, the page's canvas in the app. All of them draw the same commands,
//! so a picture looks the same everywhere, and tests compare it as text.
//!
//! Lengths are device px from the upper left corner of what the scene is drawn on; y grows downwards. Pictures
//! made by the pixel (bands, maps) are not scenes: rasters draw those.

#[cfg(feature = "plot")]
pub(crate) mod font;
#[cfg(feature = "plot")]
pub(crate) mod pixels;
mod recorder;
pub mod svg;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::colour::Rgb;
use crate::theme::Theme;

/// A place, device px: x to the right, y downwards.
pub type Point = (f64, f64);

/// A colour, and how much it covers what lies below.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ink {
    /// The colour.
    pub rgb: Rgb,
    /// From 0 (nothing is seen) to 1 (nothing shines through).
    pub opacity: f64,
}

impl Ink {
    /// A colour of which only a part is seen.
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

/// Which part of a text stands at its place, in x.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Across {
    /// Its beginning.
    Left,
    /// Its middle.
    Middle,
    /// Its end.
    Right,
}

/// Which part of a line of text stands at its place, in y.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Down {
    /// Its upper edge.
    Top,
    /// The middle of its letters.
    Middle,
    /// Its lower edge.
    Bottom,
}

/// How a text is written.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Letters {
    /// Size of the font, device px.
    pub size_px: f64,
    /// Whether it is bold.
    pub is_bold: bool,
    /// Colour.
    pub ink: Ink,
    /// Which part stands at the text's place.
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

/// One thing to draw.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// A filled rectangle.
    Rect {
        /// Its upper left corner.
        at: Point,
        /// Its width and height.
        size: (f64, f64),
        /// Its colour.
        ink: Ink,
    },
    /// A line through points.
    Line {
        /// The points, in order.
        points: Vec<Point>,
        /// Whether it leads from the last point back to the first.
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
        /// Its place; see [`Letters::anchor`].
        at: Point,
        /// What it says.
        text: String,
        /// How it is written.
        letters: Letters,
    },
    /// Commands of which only a rectangle is seen.
    Clipped {
        /// The rectangle.
        area: Area,
        /// The commands.
        scene: Scene,
    },
}

/// What to draw, the lowest first.
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

    /// Adds a line.
    pub fn line(&mut self, points: Vec<Point>, width_px: f64, ink: impl Into<Ink>) {
        self.commands.push(Command::Line {
            points,
            is_closed: false,
            width_px,
            ink: ink.into(),
        });
    }

    /// Adds a line that ends where it begins.
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

    /// Adds what `draw` draws, cut off at the edges of an area.
    pub fn clipped(&mut self, area: &Area, draw: impl FnOnce(&mut Self)) {
        let mut scene = Self::default();
        draw(&mut scene);
        self.commands.push(Command::Clipped { area: *area, scene });
    }
}

/// A part of a picture, device px from its upper left corner.
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

    /// The upper left corner.
    pub(crate) fn origin(&self) -> Point {
        (f64::from(self.x_px), f64::from(self.y_px))
    }

    /// Width and height.
    pub(crate) fn size(&self) -> (f64, f64) {
        (f64::from(self.width_px), f64::from(self.height_px))
    }
}

/// How wide texts are in the font that a painter writes with.
pub trait Measure: fmt::Debug {
    /// The width of a text, px, in letters of this size.
    fn width_px(&self, text: &str, size_px: f64, is_bold: bool) -> f64;
}

/// Widths of texts where no font is at hand: a little more than most text takes.
#[derive(Clone, Copy, Debug)]
pub struct Estimated;

/// Mean width of a character in ems, of a system font.
pub(crate) const CHARACTER_EM: f64 = 0.57;

impl Measure for Estimated {
    fn width_px(&self, text: &str, size_px: f64, _is_bold: bool) -> f64 {
        text.chars().count() as f64 * CHARACTER_EM * size_px
    }
}

/// Colours and sizes that all parts of a picture share.
#[derive(Clone, Copy, Debug)]
pub struct Style<'a> {
    /// Colours.
    pub theme: &'a Theme,
    /// Device px per css px.
    pub pixel_ratio: f64,
    /// Widths of texts.
    pub measure: &'a dyn Measure,
}

impl<'a> Style<'a> {
    /// A style for pictures of which no text is measured.
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

    /// Letters of `css` px.
    #[must_use]
    pub fn letters(&self, css: f64, ink: impl Into<Ink>, anchor: (Across, Down)) -> Letters {
        Letters {
            size_px: css * self.pixel_ratio,
            is_bold: false,
            ink: ink.into(),
            anchor,
        }
    }

    /// How wide a text of `css` px is, device px.
    #[must_use]
    pub fn width_px(&self, text: &str, css: f64, is_bold: bool) -> f64 {
        self.measure.width_px(text, css * self.pixel_ratio, is_bold)
    }
}

/// One command a line, to be read and compared.
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

/// `#1C1E22`, with its opacity where something shines through.
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

/// A length with two decimals at most.
pub(crate) struct Short(pub(crate) f64);

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Adding 0 takes the sign from a 0.
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
