//! An RGB picture that plotters draws on, with text.
//!
//! Plotters' own bitmap backend sets each glyph on a whole pixel and rounds its height towards the middle
//! of the line, which makes small text dance; here glyphs stand on one baseline at fractions of a pixel.

use crate::colour::Rgb;
use ab_glyph::{Font, FontRef, GlyphId, PxScale, ScaleFont, point};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontStyle, rasterizer,
};

/// A font that is built in was refused.
#[derive(Debug, thiserror::Error)]
#[error("the built-in font cannot be read: {0}")]
pub(crate) struct BitmapError(#[from] ab_glyph::InvalidFont);

/// The picture: three bytes per pixel, the top row first.
pub(crate) struct Bitmap<'a> {
    pub(crate) rgb: &'a mut [u8],
    pub(crate) width_px: u32,
    pub(crate) height_px: u32,
}

impl Bitmap<'_> {
    /// Mixes a colour into a pixel; pixels outside are left out.
    fn mix(&mut self, x_px: i32, y_px: i32, colour: Rgb, alpha: f64) {
        let (Ok(x), Ok(y)) = (u32::try_from(x_px), u32::try_from(y_px)) else {
            return;
        };
        if x >= self.width_px || y >= self.height_px {
            return;
        }
        let at = (y as usize * self.width_px as usize + x as usize) * 3;
        for (below, above) in self.rgb.iter_mut().skip(at).take(3).zip(colour) {
            let mixed = f64::from(*below) * (1.0 - alpha) + f64::from(above) * alpha;
            *below = (mixed + 0.5) as u8;
        }
    }
}

impl DrawingBackend for Bitmap<'_> {
    type ErrorType = BitmapError;

    fn get_size(&self) -> (u32, u32) {
        (self.width_px, self.height_px)
    }

    fn ensure_prepared(&mut self) -> Result<(), DrawingErrorKind<BitmapError>> {
        Ok(())
    }

    fn present(&mut self) -> Result<(), DrawingErrorKind<BitmapError>> {
        Ok(())
    }

    fn draw_pixel(
        &mut self,
        point: BackendCoord,
        color: BackendColor,
    ) -> Result<(), DrawingErrorKind<BitmapError>> {
        let (r, g, b) = color.rgb;
        self.mix(point.0, point.1, [r, g, b], color.alpha);
        Ok(())
    }

    /// Filled, without its right and lower edge: as wide as in an SVG or on a canvas.
    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<(), DrawingErrorKind<BitmapError>> {
        if !fill {
            return rasterizer::draw_rect(self, upper_left, bottom_right, style, fill);
        }
        let BackendColor {
            alpha,
            rgb: (r, g, b),
        } = style.color();
        let inside = |at: i32, most: u32| at.clamp(0, most as i32);
        let (left, right) = (upper_left.0, bottom_right.0);
        for y in inside(upper_left.1, self.height_px)..inside(bottom_right.1, self.height_px) {
            for x in inside(left, self.width_px)..inside(right, self.width_px) {
                self.mix(x, y, [r, g, b], alpha);
            }
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(
        &mut self,
        text: &str,
        style: &S,
        pos: BackendCoord,
    ) -> Result<(), DrawingErrorKind<BitmapError>> {
        let bold = matches!(style.style(), FontStyle::Bold);
        let font =
            font(bold).map_err(|error| DrawingErrorKind::DrawingError(BitmapError::from(error)))?;
        let BackendColor {
            alpha,
            rgb: (r, g, b),
        } = style.color();
        let line = Line::new(&font, text, style.size() as f32);
        let left = match style.anchor().h_pos {
            HPos::Left => 0.0,
            HPos::Right => -line.width_px,
            HPos::Center => -line.width_px / 2.0,
        };
        // Baselines below the anchor, in em: that of capitals at the top, and of digits in the middle.
        let down_em = match style.anchor().v_pos {
            VPos::Top => 0.76,
            VPos::Center => 0.36,
            VPos::Bottom => -0.24,
        };
        // A baseline on a whole pixel keeps horizontal strokes sharp.
        let baseline = (pos.1 as f32 + down_em * style.size() as f32).round();
        for (id, x_px) in line.glyphs {
            let at = point(pos.0 as f32 + left + x_px, baseline);
            let glyph = id.with_scale_and_position(line.scale, at);
            let Some(outline) = font.outline_glyph(glyph) else {
                continue;
            };
            let bounds = outline.px_bounds();
            outline.draw(|x, y, coverage| {
                let (x, y) = (
                    bounds.min.x as i32 + x as i32,
                    bounds.min.y as i32 + y as i32,
                );
                self.mix(x, y, [r, g, b], alpha * f64::from(coverage.min(1.0)));
            });
        }
        Ok(())
    }
}

/// The font: as narrow as those that screens have, so that what fits there fits here.
fn font(bold: bool) -> Result<FontRef<'static>, ab_glyph::InvalidFont> {
    FontRef::try_from_slice(if bold {
        dejavu::sans_condensed::bold()
    } else {
        dejavu::sans_condensed::regular()
    })
}

/// How wide a text of `em_px` is, px. Other fonts that an SVG may be shown with are about as wide.
pub(crate) fn text_width_px(text: &str, em_px: f64, bold: bool) -> f64 {
    // The font is built in: that it can be read is tested.
    font(bold).map_or(0.0, |font| {
        f64::from(Line::new(&font, text, em_px as f32).width_px)
    })
}

/// A line of text: where each glyph begins.
struct Line {
    scale: PxScale,
    glyphs: Vec<(GlyphId, f32)>,
    width_px: f32,
}

impl Line {
    /// Lays out `text` with an em of `em_px`.
    fn new(font: &FontRef<'_>, text: &str, em_px: f32) -> Self {
        // The crate's scale is the height of a line, not the em.
        let em_units = font.units_per_em().unwrap_or(2048.0);
        let scale = PxScale::from(em_px * font.height_unscaled() / em_units);
        let scaled = font.as_scaled(scale);
        let mut line = Self {
            scale,
            glyphs: Vec::new(),
            width_px: 0.0,
        };
        let mut before = None;
        for id in text.chars().map(|c| font.glyph_id(c)) {
            line.width_px += before.map_or(0.0, |before| scaled.kern(before, id));
            line.glyphs.push((id, line.width_px));
            line.width_px += scaled.h_advance(id);
            before = Some(id);
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_a_width() {
        let [regular, bold] = [false, true].map(|bold| text_width_px("reserved", 100.0, bold));
        assert!((300.0..500.0).contains(&regular) && bold > regular);
        assert_eq!(text_width_px("", 100.0, false), 0.0);
    }
}
