//! The built-in font, DejaVu Sans Condensed, for PNG files.
//!
//! All glyphs of a line are on one baseline, at fractions of a pixel. Plotters' own bitmap backend
//! places each glyph on a whole pixel and rounds its height, which makes small text uneven.

use ab_glyph::{Font, FontRef, GlyphId, InvalidFont, PxScale, ScaleFont, point};

use super::{Across, Down, Letters, Point};

/// Calls `mix` with each pixel that a text covers, and its coverage from 0 to 1.
pub(super) fn draw(text: &str, at: Point, letters: &Letters, mut mix: impl FnMut(i32, i32, f64)) {
    let Ok(font) = font(letters.is_bold) else {
        return;
    };
    let em_px = letters.size_px as f32;
    let line = Line::new(&font, text, em_px);
    let left = match letters.anchor.0 {
        Across::Left => 0.0,
        Across::Right => -line.width_px,
        Across::Middle => -line.width_px / 2.0,
    };
    // Distance from the anchor down to the baseline, in em: of capitals for the top, of digits for
    // the middle.
    let down_em = match letters.anchor.1 {
        Down::Top => 0.76,
        Down::Middle => 0.36,
        Down::Bottom => -0.24,
    };
    // A baseline on a whole pixel keeps horizontal strokes sharp.
    let baseline = (at.1 as f32 + down_em * em_px).round();
    for (id, x_px) in line.glyphs {
        let place = point(at.0 as f32 + left + x_px, baseline);
        let glyph = id.with_scale_and_position(line.scale, place);
        let Some(outline) = font.outline_glyph(glyph) else {
            continue;
        };
        let corner = outline.px_bounds().min;
        outline.draw(|x, y, coverage| {
            let (x, y) = (corner.x as i32 + x as i32, corner.y as i32 + y as i32);
            mix(x, y, f64::from(coverage.min(1.0)));
        });
    }
}

fn font(is_bold: bool) -> Result<FontRef<'static>, InvalidFont> {
    FontRef::try_from_slice(if is_bold {
        dejavu::sans_condensed::bold()
    } else {
        dejavu::sans_condensed::regular()
    })
}

/// A line of text: the x position of each glyph.
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
    use crate::scene::Measure;
    use crate::scene::font::BuiltIn;

    #[test]
    fn texts_are_measured_as_wide_as_the_font_has_them() {
        for is_bold in [false, true] {
            let font = font(is_bold).unwrap();
            for c in (' '..='~').chain(['·', '…']) {
                let text = c.to_string();
                let (drawn, measured) = (
                    f64::from(Line::new(&font, &text, 2048.0).width_px),
                    BuiltIn.width_px(&text, 2048.0, is_bold),
                );
                assert!((drawn - measured).abs() < 0.01, "{c}: {drawn}, {measured}");
            }
        }
    }
}
