//! A complete picture of a timeline: title, axes, every allocation, legend; as PNG or SVG.
//!
//! The bands are the same pixels as on the page. In an SVG they are one embedded PNG, axes and text stay
//! text.

use crate::axes::XUnit;
use crate::bitmap::Bitmap;
use crate::bitset::BitSet;
use crate::chart::{Area, Style, draw_axes, rgb};
use crate::colour::{ColourColumn, Rgb};
use crate::display;
use crate::raster::{Bands, Frame, Paint, TimelineIndex, TimelineRaster};
use crate::theme::Theme;
use crate::viewport::{Bounds, Viewport};
use base64::Engine as _;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Least size of a picture, css px: below it there is no room for axes.
const LEAST_CSS: (f64, f64) = (240.0, 160.0);
/// What is left free around the timeline, css px.
const MARGIN_CSS: (f64, f64, f64) = (76.0, 16.0, 26.0); // left, right, below
/// Height of a line of the legend, css px.
const LEGEND_LINE_CSS: f64 = 18.0;
const FONT: &str = "sans-serif";

/// One line of the legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegendLine {
    /// Colour of the swatch.
    pub rgb: Rgb,
    /// What has it.
    pub label: String,
    /// How much has it.
    pub bytes: u64,
}

/// What to draw.
#[derive(Clone, Debug)]
pub struct Plot<'a> {
    /// The timeline; whether it has times decides the x axis.
    pub bands: &'a Bands<'a>,
    /// Its index.
    pub index: &'a TimelineIndex,
    /// Colour of each allocation.
    pub colours: &'a ColourColumn,
    /// Allocations not to be dimmed; `None` = all.
    pub matches: Option<&'a BitSet>,
    /// Part of the x axis to show; `None` = all of it.
    pub x: Option<(f64, f64)>,
    /// Part of the y axis to show, bytes; `None` = all of it.
    pub y_bytes: Option<(f64, f64)>,
    /// First line, in bold.
    pub title: &'a str,
    /// Second line.
    pub subtitle: &'a str,
    /// The colours to explain, in order; as many as there is room for are drawn.
    pub legend: &'a [LegendLine],
}

/// How large, and in which colours.
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

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PlotError {
    /// No room for axes.
    #[error(
        "a picture of {width_px} × {height_px} px has no room for axes; take at least 240 × 160"
    )]
    TooSmall {
        /// Width asked for.
        width_px: u32,
        /// Height asked for.
        height_px: u32,
    },
    /// More pixels than can be held.
    #[error(
        "a picture of {width_px} × {height_px} px is too large; 32,768 in each direction is the most"
    )]
    TooLarge {
        /// Width asked for.
        width_px: u32,
        /// Height asked for.
        height_px: u32,
    },
    /// The drawing library's error.
    #[error("drawing failed: {0}")]
    Drawing(String),
    /// The PNG encoder's error.
    #[error("encoding the PNG failed: {0}")]
    Encoding(#[from] png::EncodingError),
}

impl Plot<'_> {
    /// The picture as a PNG file.
    ///
    /// # Errors
    /// If the size is out of range, or drawing or encoding fails.
    pub fn to_png(&self, style: &PlotStyle<'_>) -> Result<Vec<u8>, PlotError> {
        let area = self.area(style)?;
        let size = (style.width_px, style.height_px);
        let mut pixels = vec![0; size.0 as usize * size.1 as usize * 3];
        let root = Bitmap {
            rgb: &mut pixels,
            width_px: size.0,
            height_px: size.1,
        };
        let root = root.into_drawing_area();
        self.draw_around(&root, &area, style)?;
        drop(root);
        let frame = self.draw_bands(&area, style);
        blit(&frame, &area, &mut pixels, size.0 as usize);
        encode_png(&pixels, size, png::ColorType::Rgb)
    }

    /// The picture as an SVG file.
    ///
    /// # Errors
    /// If the size is out of range, or drawing or encoding fails.
    pub fn to_svg(&self, style: &PlotStyle<'_>) -> Result<String, PlotError> {
        let area = self.area(style)?;
        let mut svg = String::new();
        let root = SVGBackend::with_string(&mut svg, (style.width_px, style.height_px))
            .into_drawing_area();
        self.draw_around(&root, &area, style)?;
        drop(root);
        let frame = self.draw_bands(&area, style);
        let size = (frame.width_px, frame.height_px);
        let image = encode_png(&frame.rgba, size, png::ColorType::Rgba)?;
        let image = base64::engine::general_purpose::STANDARD.encode(image);
        let Area {
            x_px,
            y_px,
            width_px,
            height_px,
        } = area;
        let element = format!(
            "<image x=\"{x_px}\" y=\"{y_px}\" width=\"{width_px}\" height=\"{height_px}\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{image}\"/>\n"
        );
        let end = svg.rfind("</svg>").unwrap_or(svg.len());
        svg.insert_str(end, &element);
        Ok(svg)
    }

    /// Where the bands go.
    fn area(&self, style: &PlotStyle<'_>) -> Result<Area, PlotError> {
        let PlotStyle {
            width_px,
            height_px,
            pixel_ratio,
            ..
        } = *style;
        if width_px > 32_768 || height_px > 32_768 {
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
            });
        }
        let px = |css: f64| (css * pixel_ratio).round() as u32;
        let (left, right, below) = MARGIN_CSS;
        let legend = self.legend_lines(style) as f64 * LEGEND_LINE_CSS;
        let above = px(if self.subtitle.is_empty() { 40.0 } else { 58.0 });
        let below = px(below + if legend > 0.0 { legend + 24.0 } else { 6.0 });
        Ok(Area {
            x_px: px(left) as i32,
            y_px: above as i32,
            width_px: width_px - px(left + right),
            height_px: height_px.saturating_sub(above + below).max(1),
        })
    }

    /// Lines of the legend, of two entries each: all, as long as they take less than a third.
    fn legend_lines(&self, style: &PlotStyle<'_>) -> usize {
        let height_css = f64::from(style.height_px) / style.pixel_ratio;
        let room = (height_css / 3.0 / LEGEND_LINE_CSS) as usize;
        self.legend.len().div_ceil(2).min(room.min(8))
    }

    fn viewport(&self, area: &Area) -> Viewport {
        let bounds = Bounds::new(self.bands.x_end(), self.index.peak_bytes());
        let whole = Viewport::fit_all(&bounds, area.width_px, area.height_px);
        let x = self.x.unwrap_or((whole.x_min, whole.x_max));
        let y = self
            .y_bytes
            .unwrap_or((whole.y_min_bytes, whole.y_max_bytes));
        whole.fit_box(x, y, &bounds)
    }

    fn draw_bands(&self, area: &Area, style: &PlotStyle<'_>) -> Frame {
        let paint = Paint {
            colours: self.colours,
            matches: self.matches,
            theme: style.theme,
        };
        let mut frame = Frame::default();
        let viewport = self.viewport(area);
        TimelineRaster::new().draw(self.bands, self.index, &viewport, &paint, &mut frame);
        frame
    }

    /// Everything but the bands.
    fn draw_around<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        area: &Area,
        plot_style: &PlotStyle<'_>,
    ) -> Result<(), PlotError> {
        let PlotStyle {
            theme, pixel_ratio, ..
        } = *plot_style;
        let style = Style {
            theme,
            font: FONT,
            pixel_ratio,
        };
        let unit = if self.bands.moment_start_us.is_some() {
            XUnit::Time
        } else {
            XUnit::Events
        };
        let draw = || {
            root.fill(&rgb(theme.background))?;
            let start = Pos::new(HPos::Left, VPos::Top);
            let bold = style.text(16.0, theme.text, start);
            let bold = TextStyle {
                font: bold.font.style(FontStyle::Bold),
                ..bold
            };
            let x = style.px(16.0);
            root.draw(&Text::new(self.title, (x, style.px(12.0)), bold))?;
            let muted = style.text(12.0, theme.muted_text, start);
            root.draw(&Text::new(self.subtitle, (x, style.px(34.0)), muted))?;
            draw_axes(root, area, &self.viewport(area), unit, &style)?;
            self.draw_legend(root, area, plot_style, &style)
        };
        draw()
            .and_then(|()| root.present())
            .map_err(|error| PlotError::Drawing(error.to_string()))
    }

    /// The legend in two columns below the timeline: swatch, size, label.
    fn draw_legend<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        area: &Area,
        plot_style: &PlotStyle<'_>,
        style: &Style<'_>,
    ) -> Result<(), crate::chart::ChartError<DB>> {
        let lines = self.legend_lines(plot_style);
        let top = area.y_px + area.height_px as i32 + style.px(MARGIN_CSS.2 + 12.0);
        let (swatch, size_width) = (style.px(10.0), style.px(66.0));
        let column_width = (area.width_px / 2) as i32;
        let right = Pos::new(HPos::Right, VPos::Center);
        let left = Pos::new(HPos::Left, VPos::Center);
        for (i, line) in self.legend.iter().take(lines * 2).enumerate() {
            let x = area.x_px + (i / lines) as i32 * column_width;
            let y = top + style.px(((i % lines) as f64 + 0.5) * LEGEND_LINE_CSS);
            let corners = [(x, y - swatch / 2), (x + swatch, y + swatch - swatch / 2)];
            root.draw(&Rectangle::new(corners, rgb(line.rgb).filled()))?;
            let size = style.text(11.0, style.theme.text, right);
            let size_x = x + swatch + size_width;
            root.draw(&Text::new(display::bytes(line.bytes), (size_x, y), size))?;
            let room_px = f64::from(column_width - swatch - size_width - style.px(20.0));
            let label = shorten(&line.label, (room_px / (6.6 * style.pixel_ratio)) as usize);
            let text = style.text(11.0, style.theme.muted_text, left);
            root.draw(&Text::new(label, (size_x + style.px(10.0), y), text))?;
        }
        Ok(())
    }
}

/// A text of at most `most` characters; of one too long the end stays, where file and function are.
fn shorten(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().skip(length - most.saturating_sub(1)).collect();
    format!("…{kept}")
}

/// Puts the bands over the picture's pixels, which have no alpha.
fn blit(frame: &Frame, area: &Area, pixels: &mut [u8], width_px: usize) {
    let (left, top) = (area.x_px.max(0) as usize, area.y_px.max(0) as usize);
    for (y, row) in frame
        .rgba
        .chunks_exact(frame.width_px.max(1) as usize * 4)
        .enumerate()
    {
        let start = ((top + y) * width_px + left) * 3;
        let target = pixels.get_mut(start..).unwrap_or_default();
        for (below, above) in target.chunks_exact_mut(3).zip(row.chunks_exact(4)) {
            let alpha = u32::from(above[3]);
            for (low, &high) in below.iter_mut().zip(above) {
                let sum = u32::from(high) * alpha + u32::from(*low) * (255 - alpha);
                *low = ((sum + 127) / 255) as u8;
            }
        }
    }
}

fn encode_png(
    pixels: &[u8],
    (width_px, height_px): (u32, u32),
    colour: png::ColorType,
) -> Result<Vec<u8>, PlotError> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width_px, height_px);
    encoder.set_color(colour);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::raster::NEVER;

    fn with_plot<T>(legend: &[LegendLine], check: impl FnOnce(&Plot<'_>) -> T) -> T {
        let bands = Bands {
            born: &[0, 2],
            died: &[NEVER, 5],
            free_requested: &[NEVER, 4],
            bytes: &[1 << 30, 2 << 30],
            total_bytes: &[1 << 30, 1 << 30, 3 << 30, 3 << 30, 3 << 30, 1 << 30],
            moment_start_us: None,
        };
        let index = TimelineIndex::new(&bands);
        let colours = ColourColumn::by_hash(&Theme::light(), [Some(1), Some(2)]);
        check(&Plot {
            bands: &bands,
            index: &index,
            colours: &colours,
            matches: None,
            x: None,
            y_bytes: None,
            title: "tiny <file>",
            subtitle: "device 0",
            legend,
        })
    }

    fn style(theme: &Theme) -> PlotStyle<'_> {
        PlotStyle {
            width_px: 640,
            height_px: 360,
            pixel_ratio: 1.0,
            theme,
        }
    }

    #[test]
    fn svg_has_text_and_one_image() {
        let theme = Theme::light();
        let line = LegendLine {
            rgb: [1, 2, 3],
            label: "a.py:1 f".into(),
            bytes: 1 << 30,
        };
        let svg = with_plot(&[line], |plot| plot.to_svg(&style(&theme))).unwrap();
        for part in [
            "tiny &lt;file&gt;",
            "2 GiB",
            "a.py:1 f",
            "1.00 GiB",
            "data:image/png;base64,",
        ] {
            assert!(svg.contains(part), "{part} is missing");
        }
        assert!(svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn png_reads_back_in_its_size() {
        let theme = Theme::dark();
        let file = with_plot(&[], |plot| plot.to_png(&style(&theme))).unwrap();
        let reader = png::Decoder::new(std::io::Cursor::new(file))
            .read_info()
            .unwrap();
        assert_eq!((reader.info().width, reader.info().height), (640, 360));
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        let theme = Theme::light();
        for (width_px, height_px) in [(0, 0), (239, 500), (1_000, 159), (40_000, 500)] {
            let style = PlotStyle {
                width_px,
                height_px,
                ..style(&theme)
            };
            assert!(with_plot(&[], |plot| plot.to_png(&style)).is_err());
        }
    }

    #[test]
    fn long_labels_keep_their_end() {
        assert_eq!(shorten("model.py:12 forward", 8), "…forward");
        assert_eq!(shorten("short", 8), "short");
        assert_eq!(shorten("abc", 0), "…");
    }
}
