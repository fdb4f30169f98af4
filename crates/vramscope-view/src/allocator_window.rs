//! The visible part of the allocator's picture, and outlines in it.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::memory::allocator_state::AllocatorState;

use crate::allocator_picture::StateLayout;

/// Most device px of a window in either direction: larger than any screen.
pub const MOST_PX: u32 = 16_384;

/// Most rectangles of an outline: more than anyone can see.
const MOST_RECTS: usize = 500;

/// A rectangle in css px of the whole picture: left, top, right, bottom.
pub type RectCss = [f64; 4];

/// The visible part of the picture.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Window {
    /// Width in device px.
    pub width_px: u32,
    /// Height in device px.
    pub height_px: u32,
    /// Device px per css px.
    pub pixel_ratio: f64,
    /// Magnification of widths: 1 if everything fits.
    pub zoom: f64,
    /// Device px above the window.
    pub top_px: u32,
}

impl Window {
    /// The visible rows of pixels.
    #[must_use]
    pub fn rows(&self) -> Range<u32> {
        self.top_px..self.top_px.saturating_add(self.height_px.min(MOST_PX))
    }

    /// Converts rectangles from device px to css px.
    #[must_use]
    pub fn in_css(&self, rects: Vec<[f64; 4]>) -> Vec<RectCss> {
        let rects = rects.into_iter().take(MOST_RECTS);
        let css = 1.0 / self.pixel_ratio;
        rects.map(|rect| rect.map(|px| px * css)).collect()
    }
}

/// The outline of a range of addresses in the whole picture.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Outline {
    /// The visible rectangles.
    pub rects: Vec<RectCss>,
    /// Top and bottom of the line on which the range begins, css px; `None` if it is not in a segment.
    pub line_css: Option<(f64, f64)>,
}

impl Outline {
    /// The outline of some bytes from an address on.
    #[must_use]
    pub fn of(
        state: &AllocatorState,
        layout: &StateLayout,
        window: &Window,
        (address, bytes): (u64, u64),
    ) -> Self {
        let Some(row) = state.segment_at(address) else {
            return Self::default();
        };
        let segment = &state.segments[row];
        let offset = address - segment.address;
        let ends = (
            offset as f64,
            offset.saturating_add(bytes).min(segment.bytes) as f64,
        );
        let rects = layout.rectangles_between(state, row, ends, window.rows());
        let css = 1.0 / window.pixel_ratio;
        let line = layout.line_of(row, offset).map(f64::from);
        let height = f64::from(layout.metrics().line_px);
        Self {
            rects: window.in_css(rects),
            line_css: line.map(|top| (top * css, (top + height) * css)),
        }
    }
}
