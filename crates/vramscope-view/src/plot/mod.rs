//! Every view as a complete picture with title, axes and legend, as PNG or SVG.
//!
//! [`Plot`] is the frame that all pictures share. A [`Content`] is one view, drawn by the same
//! calls as on the page. Pixels are the same as on the page; in an SVG they are one embedded PNG,
//! while axes, boxes and text are vectors.

pub mod compare;
mod encode;
pub mod flame;
mod legend;
pub mod over_time;
pub mod state;
#[cfg(test)]
mod tests;
pub mod views;

use crate::scene::font::BuiltIn;
#[cfg(feature = "font")]
use crate::scene::pixels::Pixmap;
use crate::scene::svg::Svg;
use crate::scene::{Across, Area, Down, Scene, Style};
use crate::shortened::cut_end;
use crate::theme::Theme;

pub use compare::ComparePlot;
pub use encode::Pixels;
pub use flame::FlamePlot;
pub use legend::{Legend, LegendLine};
pub use over_time::{OverTime, Stack};
pub use state::StatePlot;

/// Least size of a picture, css px; smaller ones have no room for axes.
const LEAST_CSS: (f64, f64) = (240.0, 160.0);
/// Largest width and height, px.
const MOST_PX: u32 = 32_768;
/// Margin around the picture, css px.
const MARGIN_CSS: f64 = 16.0;
/// Top of the subtitle, and top of the content, css px.
const SUBTITLE_CSS: f64 = 34.0;
const ABOVE_CSS: f64 = 58.0;
/// Fonts of an SVG.
const FONT: &str = "Helvetica, Arial, sans-serif";

/// A view inside a picture.
pub trait Content {
    /// Positions of the view's parts, and data that is expensive to compute.
    type Layout;

    /// Lays out the view in `room`. `is_vector` is set for SVG, where shapes stay vectors.
    fn layout(&self, room: &Area, style: &Style<'_>, is_vector: bool) -> Self::Layout;

    /// The part of the view made of pixels, if any.
    fn pixels(&self, _layout: &Self::Layout, _style: &Style<'_>) -> Option<Pixels> {
        None
    }

    /// Draws below the pixels.
    fn draw_below(&self, scene: &mut Scene, layout: &Self::Layout, style: &Style<'_>);

    /// Draws above the pixels.
    fn draw_above(&self, _scene: &mut Scene, _layout: &Self::Layout, _style: &Style<'_>) {}

    /// The height in device px that the view needs at a width of `width_px`; `usual_px` is the default.
    fn height_px(&self, _width_px: u32, usual_px: u32, _style: &Style<'_>) -> u32 {
        usual_px
    }
}

/// A picture.
#[derive(Clone)]
pub struct Plot<'a, C> {
    /// First line, in bold.
    pub title: &'a str,
    /// Second line.
    pub subtitle: &'a str,
    /// Text in the middle of an empty picture; empty if the picture has content.
    pub note: &'a str,
    /// The legend.
    pub legend: Legend<'a>,
    /// The view.
    pub content: C,
}

/// Size, resolution and colours of a picture.
#[derive(Clone, Copy, Debug)]
pub struct PlotStyle<'a> {
    /// Width of the picture, device px.
    pub width_px: u32,
    /// Height of the picture, device px.
    pub height_px: u32,
    /// Device px per css px: 1, or 2 for print and dense screens.
    pub pixel_ratio: f64,
    /// Colours.
    pub theme: &'a Theme,
}

impl<'a> PlotStyle<'a> {
    fn style(&self) -> Style<'a> {
        Style {
            theme: self.theme,
            pixel_ratio: self.pixel_ratio,
            measure: &BuiltIn,
        }
    }

    fn size(&self) -> (u32, u32) {
        (self.width_px, self.height_px)
    }
}

/// Why a picture cannot be drawn.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// Too small for axes.
    #[error(
        "a picture of {width_px} × {height_px} px has no room for axes; take at least {} × {}",
        least_px(LEAST_CSS.0, *pixel_ratio), least_px(LEAST_CSS.1, *pixel_ratio)
    )]
    TooSmall {
        /// The requested width.
        width_px: u32,
        /// The requested height.
        height_px: u32,
        /// Device px per css px.
        pixel_ratio: f64,
    },
    /// Larger than 32,768 px in one direction.
    #[error(
        "a picture of {width_px} × {height_px} px is too large; 32,768 in each direction is the most"
    )]
    TooLarge {
        /// The requested width.
        width_px: u32,
        /// The requested height.
        height_px: u32,
    },
    /// The PNG encoder's error.
    #[error("encoding the PNG failed: {0}")]
    Encoding(#[from] png::EncodingError),
}

fn least_px(css: f64, pixel_ratio: f64) -> u32 {
    (css * pixel_ratio).ceil() as u32
}

impl<C: Content> Plot<'_, C> {
    /// The picture as a PNG file.
    ///
    /// # Errors
    /// If the size is out of range, or encoding fails.
    #[cfg(feature = "font")]
    pub fn to_png(&self, plot_style: &PlotStyle<'_>) -> Result<Vec<u8>, PlotError> {
        let (room, style) = (self.room(plot_style)?, plot_style.style());
        let layout = self.content.layout(&room, &style, false);
        let size = plot_style.size();
        let mut picture = vec![0; size.0 as usize * size.1 as usize * 3];
        Pixmap::new(&mut picture, size).draw(&self.below(&room, &layout, plot_style));
        if let Some(pixels) = self.content.pixels(&layout, &style) {
            pixels.blit(&mut picture, size.0 as usize);
            Pixmap::new(&mut picture, size).draw(&pixels.labels);
        }
        Pixmap::new(&mut picture, size).draw(&self.above(&room, &layout, &style));
        encode::png(&picture, size, png::ColorType::Rgb)
    }

    /// The picture as an SVG file.
    ///
    /// # Errors
    /// If the size is out of range, or encoding fails.
    pub fn to_svg(&self, plot_style: &PlotStyle<'_>) -> Result<String, PlotError> {
        let (room, style) = (self.room(plot_style)?, plot_style.style());
        let layout = self.content.layout(&room, &style, true);
        let mut svg = Svg::new(plot_style.size(), FONT, Some(BuiltIn));
        svg.draw(&self.below(&room, &layout, plot_style));
        if let Some(pixels) = self.content.pixels(&layout, &style) {
            svg.element(&pixels.to_svg()?);
            svg.draw(&pixels.labels);
        }
        svg.draw(&self.above(&room, &layout, &style));
        Ok(svg.finish())
    }

    /// The height in device px that a picture of the style's width needs; for most views the
    /// style's own height.
    #[must_use]
    pub fn height_px(&self, plot_style: &PlotStyle<'_>) -> u32 {
        let Ok(room) = self.room(plot_style) else {
            return plot_style.height_px;
        };
        let style = plot_style.style();
        let (width_px, usual_px) = (room.width_px, room.height_px);
        let wanted = self.content.height_px(width_px, usual_px, &style);
        let around = plot_style.height_px.saturating_sub(usual_px);
        let least = least_px(LEAST_CSS.1, plot_style.pixel_ratio);
        wanted.saturating_add(around).clamp(least, MOST_PX)
    }

    /// The area of the content.
    fn room(&self, style: &PlotStyle<'_>) -> Result<Area, PlotError> {
        let PlotStyle {
            width_px,
            height_px,
            pixel_ratio,
            ..
        } = *style;
        if width_px > MOST_PX || height_px > MOST_PX {
            return Err(PlotError::TooLarge {
                width_px,
                height_px,
            });
        }
        let fits = f64::from(width_px) >= LEAST_CSS.0 * pixel_ratio
            && f64::from(height_px) >= LEAST_CSS.1 * pixel_ratio;
        if !fits || pixel_ratio <= 0.0 {
            return Err(PlotError::TooSmall {
                width_px,
                height_px,
                pixel_ratio,
            });
        }
        let px = |css: f64| (css * pixel_ratio).round() as u32;
        let above = px(if self.subtitle.is_empty() {
            SUBTITLE_CSS
        } else {
            ABOVE_CSS
        });
        let below = px(MARGIN_CSS / 2.0 + self.legend.height_css(style));
        Ok(Area {
            x_px: px(MARGIN_CSS) as i32,
            y_px: above as i32,
            width_px: width_px.saturating_sub(2 * px(MARGIN_CSS)).max(1),
            height_px: height_px.saturating_sub(above + below).max(1),
        })
    }

    /// The scene below the content's pixels.
    fn below(&self, room: &Area, layout: &C::Layout, plot_style: &PlotStyle<'_>) -> Scene {
        let (style, size) = (plot_style.style(), plot_style.size());
        let theme = style.theme;
        let mut scene = Scene::default();
        let corner = (f64::from(size.0), f64::from(size.1));
        scene.rect((0.0, 0.0), corner, theme.background);
        let width = f64::from(room.width_px);
        let cut = |text: &str, css: f64, is_bold: bool| {
            cut_end(text, |text| style.width_px(text, css, is_bold) <= width)
        };
        let at = |css: f64| (f64::from(room.x_px), f64::from(style.px(css)));
        let start = (Across::Left, Down::Top);
        let bold = style.letters(16.0, theme.text, start).bold();
        scene.text(at(12.0), cut(self.title, 16.0, true), bold);
        let muted = style.letters(12.0, theme.muted_text, start);
        scene.text(at(SUBTITLE_CSS), cut(self.subtitle, 12.0, false), muted);
        self.content.draw_below(&mut scene, layout, &style);
        self.legend.draw(&mut scene, plot_style, &style);
        scene
    }

    /// The scene above the content's pixels.
    fn above(&self, room: &Area, layout: &C::Layout, style: &Style<'_>) -> Scene {
        let mut scene = Scene::default();
        self.content.draw_above(&mut scene, layout, style);
        if self.note.is_empty() {
            return scene;
        }
        let middle = (
            f64::from(room.x_px + room.width_px as i32 / 2),
            f64::from(room.y_px + room.height_px as i32 / 2),
        );
        let muted = style.theme.muted_text;
        let letters = style.letters(14.0, muted, (Across::Middle, Down::Middle));
        let width = f64::from(room.width_px);
        let note = cut_end(self.note, |note| style.width_px(note, 14.0, false) <= width);
        scene.text(middle, note, letters);
        scene
    }
}
