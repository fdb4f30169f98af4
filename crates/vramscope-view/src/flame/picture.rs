//! Draws a flame graph.

use super::label::{fit, fit_opening};
use super::scene::{FlameCell, FlameScene};
use super::{ROW_CSS, Shape};
use crate::colour::Rgb;
use crate::scene::{Across, Area, Down, Scene, Style};
use crate::theme::Theme;

const FONT_CSS: f64 = 12.0;
/// Padding between a box's edge and its text, css px.
const PAD_CSS: f64 = 5.0;
/// Gap between boxes, css px.
const GAP_CSS: f64 = 1.0;
/// Height of the bar that shows which share of a box matches, css px.
const LIT_CSS: f64 = 4.0;

/// Width of the outline around boxes that the marked allocation counts in, css px.
const MARK_CSS: f64 = 2.0;

/// Draws the boxes of a flame graph that are visible in an area scrolled down by `scroll_css`.
pub fn draw(
    scene: &mut Scene,
    area: &Area,
    flame: &FlameScene,
    shape: Shape,
    scroll_css: f64,
    style: &Style<'_>,
) {
    let height_css = f64::from(area.height_px) / style.pixel_ratio;
    for cell in &flame.cells {
        let top_css = f64::from(shape.place(cell.row, flame.rows)) * ROW_CSS - scroll_css;
        if top_css + ROW_CSS > 0.0 && top_css < height_css {
            draw_cell(scene, area, cell, top_css, style);
        }
    }
}

fn draw_cell(scene: &mut Scene, area: &Area, cell: &FlameCell, top_css: f64, style: &Style<'_>) {
    let theme = style.theme;
    let (x, y) = (
        |css: f64| area.x_px + style.px(css),
        |css: f64| area.y_px + style.px(css),
    );
    let (left, right) = (x(cell.x_px), x(cell.x_px + cell.width_px));
    let (top, bottom) = (y(top_css), y(top_css + ROW_CSS - GAP_CSS));
    // Boxes up to 3 px wide have no gap, which would leave little of them.
    let gap = if right - left > 3 {
        style.px(GAP_CSS)
    } else {
        0
    };
    let right = right.max(left + 1) - gap;
    let point = |x: i32, y: i32| (f64::from(x), f64::from(y));
    let ground = ground(cell, theme);
    scene.rect(point(left, top), point(right, bottom), ground);
    if cell.lit < 1.0 && cell.lit > 0.0 {
        let until = left + (f64::from(right - left) * cell.lit).ceil() as i32;
        let above = bottom - style.px(LIT_CSS);
        scene.rect(point(left, above), point(until, bottom), cell.fill);
    } else {
        draw_parts(scene, cell, ((left, right), bottom), style);
    }
    // The root always contains the marked allocation.
    if cell.is_marked && cell.row > 0 && right - left > 2 {
        let line = f64::from(style.px(MARK_CSS));
        let ((left, top), (right, bottom)) = (point(left, top), point(right, bottom));
        let inner = (left + line / 2.0, top + line / 2.0);
        let corners = vec![
            inner,
            (right - line / 2.0, inner.1),
            (right - line / 2.0, bottom - line / 2.0),
            (inner.0, bottom - line / 2.0),
        ];
        scene.outline(corners, line, theme.ink_on(ground));
    }
    let room_css = cell.width_px - 2.0 * PAD_CSS;
    let text = if cell.joined > 1 {
        fit_opening(&cell.label, room_css, FONT_CSS)
    } else {
        fit(&cell.label, room_css, FONT_CSS)
    };
    if text.is_empty() {
        return;
    }
    let letters = style.letters(FONT_CSS, theme.ink_on(ground), (Across::Left, Down::Middle));
    // Slightly lower, because letters extend further above their middle than below.
    let at = point(left + style.px(PAD_CSS), (top + bottom) / 2 + style.px(1.0));
    scene.text(at, text, letters);
}

/// Draws the groups of a box as a bar at its bottom edge, if there are several.
fn draw_parts(
    scene: &mut Scene,
    cell: &FlameCell,
    ((left, right), bottom): ((i32, i32), i32),
    style: &Style<'_>,
) {
    let known = cell.parts.len() > 1 && cell.sums.weight > 0;
    if !known || right - left <= 3 {
        return;
    }
    let above = f64::from(bottom - style.px(LIT_CSS));
    let per_weight = f64::from(right - left) / cell.sums.weight as f64;
    let mut from = f64::from(left);
    for part in &cell.parts {
        let until = (from + part.weight as f64 * per_weight).min(f64::from(right));
        let rgb = if is_dim(cell) {
            style.theme.dim(part.rgb)
        } else {
            part.rgb
        };
        scene.rect((from, above), (until, f64::from(bottom)), rgb);
        from = until;
    }
}

/// Ancestors of the focus are dimmed too, because they weigh more than what is shown.
fn is_dim(cell: &FlameCell) -> bool {
    cell.is_above || cell.lit < 1.0
}

/// The fill of a box: its own colour if all of it matches, dimmed otherwise.
fn ground(cell: &FlameCell, theme: &Theme) -> Rgb {
    if is_dim(cell) {
        theme.dim(cell.fill)
    } else {
        cell.fill
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::colour::{Leaders, ordinal_colour};
    use crate::theme::contrast;

    #[test]
    fn text_is_legible_on_every_box() {
        for theme in [Theme::light(), Theme::dark()] {
            let leaders = Leaders::default();
            let fills = (0..64).map(|hash| leaders.colour(&theme, Some(hash)));
            let fills = fills.chain((0..9).map(|number| ordinal_colour(&theme, number)));
            for fill in fills.chain([theme.unknown]) {
                for ground in [fill, theme.dim(fill)] {
                    let ratio = contrast(theme.ink_on(ground), ground);
                    assert!(ratio >= 4.5, "{:?}: {ground:?} has {ratio:.2}", theme.name);
                }
            }
        }
    }
}
