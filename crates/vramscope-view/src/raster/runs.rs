//! Columns of pixels as runs, and how they are written into an image.
//!
//! An image is stored row by row but painted column by column, and a band fills many pixels of a column. So a column is a
//! list of runs, and rows are assembled from many adjacent columns: where no run ends, a row is a copy of the one below.

use super::{Frame, NONE};

/// Number of columns whose runs are compared at once.
const BESIDE: usize = 16;

/// Neighbouring pixels of a column that look the same and belong to the same allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// The first pixel above the run, counted from the bottom.
    end_px: u32,
    rgba: u32,
    id: u32,
}

/// Several adjacent columns, each complete from bottom to top.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    /// Number of pixels in the open column so far.
    open_px: u32,
    /// End of each column in `runs`.
    ends: Vec<usize>,
    /// For each column, the index of its run in the current row; then that run's contents.
    at: Vec<usize>,
    end_px: Vec<u32>,
    rgba: Vec<u32>,
    ids: Vec<u32>,
}

impl Runs {
    /// Removes all columns.
    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.ends.clear();
    }

    /// Removes all columns but the last.
    pub(super) fn keep_last(&mut self) {
        let first = self.column_before();
        self.runs.drain(..first);
        self.ends.clear();
        if !self.runs.is_empty() {
            self.ends.push(self.runs.len());
        }
    }

    /// Start of the last complete column.
    fn column_before(&self) -> usize {
        let before = self.ends.len().checked_sub(2);
        before.map_or(0, |place| self.ends[place])
    }

    /// Begins a column whose pixels below `from_px` equal those of the last.
    pub(super) fn begin(&mut self, from_px: usize) {
        let (first, end) = (self.column_before(), self.ends.last().copied().unwrap_or(0));
        let below = &self.runs[first..end];
        let whole = below.partition_point(|run| run.end_px as usize <= from_px);
        let cut = below.get(whole).copied();
        self.open_px = match whole {
            0 => 0,
            whole => below[whole - 1].end_px,
        };
        self.runs.extend_from_within(first..first + whole);
        if let Some(run) = cut {
            self.fill(from_px, run.rgba, run.id);
        }
    }

    /// Fills the open column up to a pixel.
    #[inline]
    pub(super) fn fill(&mut self, end_px: usize, rgba: u32, id: u32) {
        let end_px = end_px as u32;
        if end_px > self.open_px {
            self.open_px = end_px;
            self.runs.push(Run { end_px, rgba, id });
        }
    }

    /// Completes the open column; it is empty above its runs.
    pub(super) fn end(&mut self, height_px: usize) {
        self.fill(height_px, 0, NONE);
        self.ends.push(self.runs.len());
    }

    /// Writes the last `width` columns into the frame, from column `first_px` on.
    pub(super) fn emit(&mut self, first_px: usize, width: usize, frame: &mut Frame) {
        let (frame_width, height) = (frame.width_px as usize, frame.height_px as usize);
        let before = self.ends.len() - width;
        let begin = before.checked_sub(1).map_or(0, |place| self.ends[place]);
        self.at.clear();
        self.at.push(begin);
        self.at
            .extend(&self.ends[before..self.ends.len().saturating_sub(1)]);
        for column in [&mut self.end_px, &mut self.rgba, &mut self.ids] {
            column.clear();
            // Every run ends above this, so the first row loads the first run of each column.
            column.resize(width, 0);
        }
        for y_px in 0..height {
            self.climb(y_px as u32);
            let start = (height - 1 - y_px) * frame_width + first_px;
            let pixels = &mut frame.rgba[start * 4..(start + width) * 4];
            for (pixel, rgba) in pixels.chunks_exact_mut(4).zip(&self.rgba) {
                pixel.copy_from_slice(&rgba.to_le_bytes());
            }
            frame.ids[start..start + width].copy_from_slice(&self.ids);
        }
    }

    /// Advances to the next run in the columns whose run ends below this row.
    fn climb(&mut self, y_px: u32) {
        let columns = self
            .end_px
            .chunks_mut(BESIDE)
            .zip(self.at.chunks_mut(BESIDE));
        let looks = self
            .rgba
            .chunks_mut(BESIDE)
            .zip(self.ids.chunks_mut(BESIDE));
        for ((ends, at), (rgba, ids)) in columns.zip(looks) {
            // A sum instead of `any`, because it is vectorised.
            let changes = ends
                .iter()
                .fold(0_u32, |sum, &end| sum + u32::from(end == y_px));
            if changes == 0 {
                continue;
            }
            for (i, end) in ends.iter_mut().enumerate().filter(|(_, end)| **end == y_px) {
                let Some(run) = self.runs.get(at[i]) else {
                    continue;
                };
                at[i] += 1;
                *end = run.end_px;
                rgba[i] = run.rgba;
                ids[i] = run.id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Columns of pixels from the bottom up, each given by the position of its first difference from the previous one.
    fn columns() -> impl Strategy<Value = (usize, Vec<(usize, Vec<u32>)>)> {
        (1_usize..20).prop_flat_map(|height| {
            let column = (0..height, prop::collection::vec(0_u32..3, height));
            (Just(height), prop::collection::vec(column, 1..50))
        })
    }

    proptest! {
        #[test]
        fn rows_are_the_columns_pixel_by_pixel((height, columns) in columns(), tile in 1_usize..40) {
            let width = columns.len();
            let mut frame = Frame::default();
            frame.reset(width as u32, height as u32);
            let mut expected: Vec<Vec<u32>> = Vec::new();
            let mut runs = Runs::default();
            for (first, tile) in columns.chunks(tile).enumerate().map(|(i, of)| (i * tile, of)) {
                runs.keep_last();
                for (from_px, pixels) in tile {
                    let mut column = expected.last().cloned().unwrap_or_else(|| vec![NONE; height]);
                    let from_px = if expected.is_empty() { 0 } else { *from_px };
                    column[from_px..].copy_from_slice(&pixels[from_px..]);
                    runs.begin(from_px);
                    prop_assert_eq!(runs.open_px as usize, from_px);
                    for (y, &id) in pixels.iter().enumerate().skip(from_px) {
                        runs.fill(y + 1, id * 7, id);
                    }
                    runs.end(height);
                    expected.push(column);
                }
                runs.emit(first, tile.len(), &mut frame);
            }
            for (x, column) in expected.iter().enumerate() {
                for (y, &id) in column.iter().enumerate() {
                    let at = (height - 1 - y) * width + x;
                    prop_assert_eq!(frame.ids[at], id);
                    prop_assert_eq!(&frame.rgba[at * 4..at * 4 + 4], (id * 7).to_le_bytes());
                }
            }
        }
    }
}
