//! Lists of any length behind a scrollbar: the visible rows and their positions.
//!
//! Browsers do not lay out elements higher than some tens of millions of pixels (Firefox 17.8
//! million, Chromium 33.5 million); a million rows of a readable height exceed that. The scrollbar
//! of a longer list is stretched: one pixel of it stands for more than one pixel of the list. The
//! state is the *top*: the distance from the list's upper edge to the visible part's, in px of the
//! list.

use std::ops::Range;

/// Largest height of the scrolled element, css px.
const TALLEST_PX: f64 = 12_000_000.0;

/// A list and the box in which it scrolls, in css px.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Scroll {
    /// Number of rows.
    pub rows: u32,
    /// Height of a row.
    pub row_px: f64,
    /// Height of the box.
    pub view_px: f64,
}

impl Scroll {
    fn list_px(&self) -> f64 {
        f64::from(self.rows) * self.row_px
    }

    /// Height of the scrolled element.
    #[must_use]
    pub fn content_px(&self) -> f64 {
        self.list_px().min(TALLEST_PX)
    }

    /// Whether a pixel of the scrollbar stands for more than a pixel of the list.
    #[must_use]
    pub fn is_stretched(&self) -> bool {
        self.list_px() > TALLEST_PX
    }

    /// The top with the last row at the box's lower edge.
    #[must_use]
    pub fn last_top(&self) -> f64 {
        (self.list_px() - self.view_px).max(0.0)
    }

    /// The nearest top within the list.
    #[must_use]
    pub fn clamp(&self, top: f64) -> f64 {
        top.clamp(0.0, self.last_top())
    }

    /// The top for a scroll position.
    #[must_use]
    pub fn top_of(&self, scroll_px: f64) -> f64 {
        let range_px = self.content_px() - self.view_px;
        if !self.is_stretched() || range_px <= 0.0 {
            return self.clamp(scroll_px);
        }
        self.clamp(scroll_px / range_px * self.last_top())
    }

    /// The scroll position for a top.
    #[must_use]
    pub fn scroll_of(&self, top: f64) -> f64 {
        let top = self.clamp(top);
        if !self.is_stretched() {
            return top;
        }
        top / self.last_top() * (self.content_px() - self.view_px)
    }

    /// The rows that are at least partly visible, and `more` rows on both sides.
    #[must_use]
    pub fn window(&self, top: f64, more: u32) -> Range<u32> {
        if self.row_px <= 0.0 {
            return 0..0;
        }
        let top = self.clamp(top);
        let first = (top / self.row_px).floor() as u32;
        let end = ((top + self.view_px) / self.row_px).ceil() as u32;
        first.saturating_sub(more).min(self.rows)..end.saturating_add(more).min(self.rows)
    }

    /// The nearest top at which a row is completely visible.
    #[must_use]
    pub fn reveal(&self, top: f64, row: u32) -> f64 {
        let start = f64::from(row) * self.row_px;
        let end = start + self.row_px;
        self.clamp(top.min(start).max(end - self.view_px))
    }

    /// The top at which a row is in the middle.
    #[must_use]
    pub fn centre(&self, row: u32) -> f64 {
        let middle = (f64::from(row) + 0.5) * self.row_px;
        self.clamp(middle - self.view_px / 2.0)
    }

    /// Rows to move by a page up or down: one less than completely fit, at least 1.
    #[must_use]
    pub fn page(&self) -> u32 {
        ((self.view_px / self.row_px.max(1.0)) as u32)
            .saturating_sub(1)
            .max(1)
    }

    /// The position of a row in the scrolled element, when the element is scrolled to [`scroll_of`](Self::scroll_of) the
    /// top.
    #[must_use]
    pub fn place_px(&self, top: f64, row: u32) -> f64 {
        self.scroll_of(top) + f64::from(row) * self.row_px - self.clamp(top)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LONG: Scroll = Scroll {
        rows: 1_000_000,
        row_px: 24.0,
        view_px: 600.0,
    };

    #[test]
    fn short_lists_scroll_as_they_are() {
        let short = Scroll { rows: 100, ..LONG };
        assert_eq!((short.content_px(), short.is_stretched()), (2400.0, false));
        assert_eq!(short.top_of(120.0), 120.0);
        assert_eq!(short.window(120.0, 0), 5..30);
        assert_eq!(short.window(121.0, 2), 3..33);
        assert_eq!(short.place_px(120.0, 5), 120.0);
        let few = Scroll { rows: 3, ..LONG };
        assert_eq!((few.window(50.0, 5), few.last_top()), (0..3, 0.0));
    }

    #[test]
    fn long_lists_reach_both_ends() {
        assert_eq!(LONG.content_px(), TALLEST_PX);
        assert_eq!(LONG.window(LONG.top_of(0.0), 0).start, 0);
        let end = LONG.top_of(LONG.content_px() - LONG.view_px);
        assert_eq!(LONG.window(end, 0).end, LONG.rows);
    }

    proptest! {
        #[test]
        fn what_is_revealed_is_seen(rows in 1..3_000_000_u32, row in any::<prop::sample::Index>(), top in 0.0..8e7_f64) {
            let list = Scroll { rows, ..LONG };
            let row = row.index(rows as usize) as u32;
            for top in [list.reveal(top, row), list.centre(row)] {
                prop_assert!(list.window(top, 0).contains(&row));
                let back = list.top_of(list.scroll_of(top));
                prop_assert!((back - top).abs() < 1e-3, "{back} {top}");
                // The row's position in the element is within the visible part.
                let at = list.place_px(top, row) - list.scroll_of(top);
                prop_assert!(at >= -1e-3 && at + list.row_px <= list.view_px + 1e-3);
                prop_assert!(list.scroll_of(top) + list.view_px <= list.content_px().max(list.view_px) + 1e-3);
            }
        }
    }
}
