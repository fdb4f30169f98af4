//! The legend below a picture: swatch, size and label per line, in columns.

use vramscope_core::units::Count;

use super::{MARGIN_CSS, PlotStyle};
use crate::colour::Rgb;
use crate::display;
use crate::scene::{Across, Down, Scene, Style};
use crate::shortened::cut_site;

/// Height of a line, css px.
const LINE_CSS: f64 = 18.0;
/// Gap between the picture and the legend, css px.
const GAP_CSS: f64 = 12.0;
/// Least width of a column, css px.
const COLUMN_CSS: f64 = 380.0;
/// Most columns.
const MOST_COLUMNS: usize = 4;
/// Most lines per column.
const MOST_LINES: usize = 8;
/// Side of a swatch; right edge of the sizes; left edge of the labels, css px from the column's
/// left edge.
const SWATCH_CSS: f64 = 10.0;
const SIZE_CSS: f64 = 74.0;
const NAME_CSS: f64 = 84.0;
/// Font size, css px.
const LETTER_CSS: f64 = 11.0;

/// A line of a legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LegendLine {
    /// Colour of the swatch.
    pub rgb: Rgb,
    /// The group with this colour.
    pub label: String,
    /// Bytes of this colour; 0 if the legend's totals do not count it although it is in the picture; `None` to show no size.
    pub bytes: Option<u64>,
}

/// A legend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Legend<'a> {
    /// The meaning of the sizes; empty for no title.
    pub title: &'a str,
    /// Most important first. If there is too little room, the last ones are summed up.
    pub lines: &'a [LegendLine],
}

impl Legend<'_> {
    /// Number of columns, and of lines per column, so that the legend takes less than a third of
    /// the height.
    fn grid(&self, style: &PlotStyle<'_>) -> (usize, usize) {
        let (width_css, height_css) = (
            f64::from(style.width_px) / style.pixel_ratio,
            f64::from(style.height_px) / style.pixel_ratio,
        );
        let columns = ((width_css / COLUMN_CSS) as usize).clamp(1, MOST_COLUMNS);
        let room = (height_css / 3.0 / LINE_CSS) as usize;
        let room = room.saturating_sub(self.title_lines()).min(MOST_LINES);
        (columns, self.lines.len().div_ceil(columns).min(room))
    }

    fn title_lines(&self) -> usize {
        usize::from(!self.title.is_empty())
    }

    /// Height of the legend, with the gap above; 0 without lines.
    pub(super) fn height_css(&self, style: &PlotStyle<'_>) -> f64 {
        match self.grid(style).1 {
            0 => 0.0,
            lines => GAP_CSS + (lines + self.title_lines()) as f64 * LINE_CSS,
        }
    }

    /// The first `most` lines; if there are more, the last one is the sum of the rest.
    fn shown(&self, most: usize) -> Vec<LegendLine> {
        let mut shown = self.lines.to_vec();
        if shown.len() > most && most > 0 {
            let rest = shown.split_off(most - 1);
            let bytes = rest.iter().filter_map(|line| line.bytes);
            shown.push(LegendLine {
                rgb: [128; 3],
                label: format!("{} further", Count(rest.len() as u64)),
                bytes: bytes.reduce(u64::saturating_add),
            });
        }
        shown.truncate(most);
        shown
    }

    /// Draws the legend at the bottom of the picture.
    pub(super) fn draw(&self, scene: &mut Scene, plot_style: &PlotStyle<'_>, style: &Style<'_>) {
        let (columns, lines) = self.grid(plot_style);
        let shown = self.shown(columns * lines);
        if shown.is_empty() {
            return;
        }
        let height = style.px(self.height_css(plot_style) - GAP_CSS + MARGIN_CSS / 2.0);
        let (mut top, left) = (plot_style.height_px as i32 - height, style.px(MARGIN_CSS));
        let middle = |line: f64| style.px((line + 0.5) * LINE_CSS);
        if !self.title.is_empty() {
            let at = (f64::from(left), f64::from(top + middle(0.0)));
            let muted = style.theme.muted_text;
            let letters = style.letters(LETTER_CSS, muted, (Across::Left, Down::Middle));
            scene.text(at, self.title, letters);
            top += style.px(LINE_CSS);
        }
        let column_px = (plot_style.width_px as i32 - 2 * left) / columns as i32;
        for (i, line) in shown.iter().enumerate() {
            let x = left + (i / lines) as i32 * column_px;
            let y = top + middle((i % lines) as f64);
            draw_line(scene, line, (x, y), column_px - style.px(16.0), style);
        }
    }
}

fn draw_line(
    scene: &mut Scene,
    line: &LegendLine,
    (x, y): (i32, i32),
    width_px: i32,
    style: &Style<'_>,
) {
    let point = |x: i32, y: i32| (f64::from(x), f64::from(y));
    let swatch = style.px(SWATCH_CSS);
    let top = y - swatch / 2;
    scene.rect(point(x, top), point(x + swatch, top + swatch), line.rgb);
    let mut name_css = SWATCH_CSS + 8.0;
    if let Some(bytes) = line.bytes {
        let letters = style.letters(LETTER_CSS, style.theme.text, (Across::Right, Down::Middle));
        let at = point(x + style.px(SIZE_CSS), y);
        let size = match bytes {
            0 => "-".to_owned(),
            bytes => display::bytes(bytes),
        };
        scene.text(at, size, letters);
        name_css = NAME_CSS;
    }
    let room_px = f64::from(width_px - style.px(name_css));
    let label = cut_site(&line.label, |label| {
        style.width_px(label, LETTER_CSS, false) <= room_px
    });
    let muted = style.theme.muted_text;
    let letters = style.letters(LETTER_CSS, muted, (Across::Left, Down::Middle));
    scene.text(point(x + style.px(name_css), y), label, letters);
}
