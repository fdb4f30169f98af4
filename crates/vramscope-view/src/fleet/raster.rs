//! The pixels of the heat map, and their contents.

use std::cmp::Reverse;
use std::ops::Range;

use super::layout::{Cell, Layout, Mark, MarkKind, Row};
use crate::colour::{Rgb, oklch};
use crate::theme::{Theme, ThemeName};

/// Half the width of marks, and the width of their outline, in css px.
const PEAK_CSS: u32 = 1;
const OOM_CSS: u32 = 2;
const EDGE_CSS: u32 = 1;

/// Rows of at least this height, in css px, have a gap between them.
const GAP_FROM_CSS: u32 = 6;

/// The size of a picture, device px.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Size {
    /// Width.
    pub width_px: u32,
    /// Height.
    pub height_px: u32,
    /// Whole device px per css px, at least 1.
    pub scale: u32,
}

/// The contents of a pixel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit {
    /// Index of the row among those shown. If several share the pixel, the first with a mark, else the one with the most.
    pub row: usize,
    /// The position on the axis.
    pub at: u64,
    /// The most bytes there; `None` if nothing was recorded.
    pub bytes: Option<u64>,
    /// The mark at this position: its kind, exact position and moment.
    pub mark: Option<(MarkKind, u64, u32)>,
}

/// The colour for a share of the most bytes; `level` is from 0 to 255.
#[must_use]
pub fn shade(theme: &Theme, level: u8) -> Rgb {
    let share = f64::from(level) / 255.0;
    let between = |from: f64, to: f64| from + (to - from) * share;
    match theme.name {
        ThemeName::Light => oklch(
            between(0.96, 0.36),
            between(0.02, 0.16),
            between(220.0, 300.0),
        ),
        ThemeName::Dark => oklch(
            between(0.30, 0.93),
            between(0.05, 0.14),
            between(290.0, 95.0),
        ),
    }
}

/// The rows that share a line of pixels.
pub(super) fn rows_at(y: u32, rows: usize, height_px: u32) -> Range<usize> {
    let (rows, height) = (rows as u64, u64::from(height_px.max(1)));
    let edge = |y: u64| (y * rows / height) as usize;
    let first = edge(y.into());
    first..edge(u64::from(y) + 1).max(first + 1).min(rows as usize)
}

/// Whether a line of pixels is the gap below a row.
pub(super) fn is_gap(y: u32, rows: usize, size: Size) -> bool {
    let is_high = u64::from(size.height_px) >= rows as u64 * u64::from(GAP_FROM_CSS * size.scale);
    is_high && rows_at(y, rows, size.height_px) != rows_at(y + 1, rows, size.height_px)
}

impl Layout {
    fn column(&self, at: u64, width_px: u32) -> u32 {
        let column = u128::from(at) * u128::from(width_px) / u128::from(self.length);
        (column as u32).min(width_px.saturating_sub(1))
    }

    /// The columns that a cell touches.
    fn columns(&self, cell: &Cell, width_px: u32) -> Range<usize> {
        let end = u128::from(cell.to) * u128::from(width_px);
        let end = end.div_ceil(self.length.into()).min(width_px.into());
        self.column(cell.from, width_px) as usize..end as usize
    }

    pub(super) fn level(&self, bytes: u64) -> u8 {
        let highest = u128::from(self.highest_bytes.max(1));
        // At most 255, because no cell exceeds the highest value.
        (u128::from(bytes) * 255).div_ceil(highest).min(255) as u8
    }

    fn shown<'a>(&'a self, order: &'a [u32], rows: Range<usize>) -> impl Iterator<Item = &'a Row> {
        let order = order.get(rows).unwrap_or_default();
        order
            .iter()
            .filter_map(|&rank| self.rows.get(rank as usize))
    }
}

/// The ink of a mark at this distance from its middle, in device px, as a number of [`mark_inks`] from 1; higher numbers
/// cover lower ones. `None` outside of the mark.
pub(super) fn mark_at(mark: &Mark, off_px: u32, scale: u32) -> Option<u8> {
    let half = scale
        * match mark.kind {
            MarkKind::Peak => PEAK_CSS,
            MarkKind::Oom => OOM_CSS,
        };
    match (mark.kind, off_px) {
        (MarkKind::Oom, off) if off < half => Some(3),
        (MarkKind::Peak, off) if off < half => Some(2),
        (_, off) if off < half + EDGE_CSS * scale => Some(1),
        _ => None,
    }
}

/// The colours of marks: of the outline, of a peak and of a failed request.
pub(super) fn mark_inks(theme: &Theme) -> [Rgb; 3] {
    [theme.background, theme.text, theme.growth]
}

/// The pixels of the ranks in `order`, from top to bottom: R, G, B, A, the top line first.
#[must_use]
pub fn pixels(layout: &Layout, order: &[u32], size: Size, theme: &Theme) -> Vec<u8> {
    let (width, height) = (size.width_px as usize, size.height_px);
    let shades: Vec<Rgb> = (0..=255).map(|level| shade(theme, level)).collect();
    let inks = mark_inks(theme);
    let mut rgba = Vec::with_capacity(width * height as usize * 4);
    let mut line: Vec<Rgb> = Vec::new();
    let mut shown = None;
    for y in 0..height {
        let rows = rows_at(y, order.len(), height);
        if shown.as_ref() != Some(&rows) {
            line = line_of(layout, order, rows.clone(), size, theme, (&shades, inks));
            shown = Some(rows);
        }
        let is_gap = is_gap(y, order.len(), size);
        for &[r, g, b] in &line {
            let [r, g, b] = if is_gap { theme.background } else { [r, g, b] };
            rgba.extend([r, g, b, 255]);
        }
    }
    rgba
}

fn line_of(
    layout: &Layout,
    order: &[u32],
    rows: Range<usize>,
    size: Size,
    theme: &Theme,
    (shades, inks): (&[Rgb], [Rgb; 3]),
) -> Vec<Rgb> {
    let width = size.width_px as usize;
    // Per column: the most bytes, or nothing.
    let mut most: Vec<Option<u64>> = vec![None; width];
    let mut marks = vec![0_u8; width];
    for row in layout.shown(order, rows) {
        for cell in &row.cells {
            for column in &mut most[layout.columns(cell, size.width_px)] {
                *column = (*column).max(Some(cell.bytes));
            }
        }
        for mark in &row.marks {
            let middle = layout.column(mark.at, size.width_px);
            let reach = (OOM_CSS + EDGE_CSS) * size.scale;
            let end = middle.saturating_add(reach).min(size.width_px);
            for x in middle.saturating_sub(reach)..end {
                let kind = mark_at(mark, x.abs_diff(middle), size.scale).unwrap_or(0);
                let at = &mut marks[x as usize];
                *at = (*at).max(kind);
            }
        }
    }
    let colour = |(bytes, mark): (Option<u64>, u8)| match (mark, bytes) {
        (0, None) => theme.background,
        (0, Some(bytes)) => shades[usize::from(layout.level(bytes))],
        (mark, _) => inks[usize::from(mark - 1)],
    };
    most.into_iter().zip(marks).map(colour).collect()
}

/// The contents of a pixel; `None` outside of the picture and without rows.
#[must_use]
pub fn hit(layout: &Layout, order: &[u32], size: Size, (x, y): (u32, u32)) -> Option<Hit> {
    if x >= size.width_px || y >= size.height_px || order.is_empty() {
        return None;
    }
    let rows = rows_at(y, order.len(), size.height_px);
    let bytes = |row: &Row| {
        let cells = row.cells.iter();
        let here = cells.filter(|cell| layout.columns(cell, size.width_px).contains(&(x as usize)));
        here.map(|cell| cell.bytes).max()
    };
    let mark = |row: &Row| {
        let reach = (OOM_CSS + EDGE_CSS) * size.scale;
        let off = |mark: &Mark| layout.column(mark.at, size.width_px).abs_diff(x);
        let near = row.marks.iter().filter(|mark| off(mark) <= reach);
        let mark = near.max_by_key(|mark| (mark.kind, Reverse(off(mark))))?;
        Some((mark.kind, mark.at, mark.moment))
    };
    let known = rows.clone().zip(layout.shown(order, rows.clone()));
    let found = known.map(|(place, row)| (mark(row), bytes(row), place));
    // Whatever is drawn there: a mark, else the most bytes.
    let (mark, bytes, row) = found.max_by_key(|&(mark, bytes, place)| {
        let kind = mark.map(|(kind, _, _): (MarkKind, u64, u32)| kind);
        (kind, bytes, Reverse(place))
    })?;
    let at = u128::from(x) * u128::from(layout.length) / u128::from(size.width_px);
    Some(Hit {
        row,
        at: at as u64,
        bytes,
        mark,
    })
}
