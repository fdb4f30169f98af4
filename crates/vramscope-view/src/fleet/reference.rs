//! The heat map by its definition, pixel by pixel and slowly.

use super::layout::{Layout, Mark, MarkKind};
use super::raster::{Size, shade};
use crate::colour::Rgb;
use crate::theme::Theme;

pub(super) fn pixel(
    layout: &Layout,
    order: &[u32],
    size: Size,
    theme: &Theme,
    (x, y): (u32, u32),
) -> Rgb {
    let (rows, height) = (order.len() as u32, size.height_px);
    let row_of = |y: u32| y * rows / height;
    let is_here = |row: u32| match rows <= height {
        true => row == row_of(y),
        false => row_of(y) <= row && row < row_of(y + 1),
    };
    let is_high = height >= rows * 6 * size.scale;
    if is_high && (y + 1 == height || row_of(y) != row_of(y + 1)) {
        return theme.background;
    }
    let (left, right) = (f64::from(x), f64::from(x) + 1.0);
    let px = |at: u64| at as f64 * f64::from(size.width_px) / layout.length as f64;
    let mut most = None;
    let mut marks: Vec<Mark> = Vec::new();
    for row in (0..rows).filter(|&row| is_here(row)) {
        let row = &layout.rows[order[row as usize] as usize];
        for cell in &row.cells {
            if px(cell.from) < right && px(cell.to) > left {
                most = most.max(Some(cell.bytes));
            }
        }
        marks.extend(&row.marks);
    }
    let is_at = |mark: &Mark, css: u32| {
        let middle = (px(mark.at).floor() as u32).min(size.width_px - 1);
        middle.abs_diff(x) < css * size.scale
    };
    let has = |kind: MarkKind, css: u32| {
        let of_kind = marks.iter().filter(|mark| mark.kind == kind);
        of_kind.into_iter().any(|mark| is_at(mark, css))
    };
    if has(MarkKind::Oom, 2) {
        theme.growth
    } else if has(MarkKind::Peak, 1) {
        theme.text
    } else if has(MarkKind::Oom, 3) || has(MarkKind::Peak, 2) {
        theme.background
    } else {
        most.map_or(theme.background, |bytes| {
            let highest = layout.highest_bytes.max(1) as f64;
            shade(theme, (bytes as f64 * 255.0 / highest).ceil() as u8)
        })
    }
}
