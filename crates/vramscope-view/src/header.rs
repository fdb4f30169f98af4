//! The header above a picture: lanes of named ranges, then tracks of marks.

mod scene;

use serde::{Deserialize, Serialize};

use crate::lanes::{Item, ItemPosition, LaneLayout};
use crate::marks::{self, CELL_CSS, Mark, TRACK_CSS};
use crate::viewport::Viewport;

/// Padding above and below, css px.
const AIR_CSS: f64 = 2.0;

/// The layout of a header, in css px from its top.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Header {
    /// The lanes.
    pub lanes: LaneLayout,
    /// Upper edges of the two tracks; `None` if a track has no marks.
    pub tracks: [Option<f64>; 2],
    /// Height of the header; 0 if it is empty.
    pub height_css: f64,
}

/// The object under the pointer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// An item of a lane.
    Item(ItemPosition),
    /// A mark, by its index in the list.
    Mark(usize),
}

impl Header {
    /// Lays out lanes, given their numbers of rows, and the tracks that have marks.
    #[must_use]
    pub fn new(rows_of_lanes: &[usize], is_folded: bool, has_track: [bool; 2]) -> Self {
        let mut lanes = LaneLayout::new(rows_of_lanes, is_folded);
        if lanes.rows.is_empty() && has_track == [false; 2] {
            return Self::default();
        }
        for row in &mut lanes.rows {
            row.top_css += AIR_CSS;
        }
        let mut height_css = AIR_CSS + lanes.height_css;
        let tracks = has_track.map(|has| {
            let top = height_css;
            height_css += if has { TRACK_CSS } else { 0.0 };
            has.then_some(top)
        });
        Self {
            lanes,
            tracks,
            height_css: height_css + AIR_CSS,
        }
    }

    /// The object at (`x_px`, `y_css`): device px from the left of the picture, css px from the top of the header. `items`
    /// returns the items of a row, given the numbers of lane and row.
    #[must_use]
    pub fn at<'a>(
        &self,
        (x_px, y_css): (f64, f64),
        view: &Viewport,
        pixel_ratio: f64,
        items: impl Fn(usize, usize) -> Vec<&'a Item>,
        all_marks: &[Mark],
    ) -> Option<Target> {
        if !(0.0..=f64::from(view.width_px)).contains(&x_px) {
            return None;
        }
        let in_track =
            |top: &Option<f64>| top.is_some_and(|top| (top..top + TRACK_CSS).contains(&y_css));
        if let Some(on) = self.tracks.iter().position(in_track) {
            let cell_px = CELL_CSS * pixel_ratio;
            return marks::at(all_marks, on, x_px, view, cell_px).map(Target::Mark);
        }
        let place = self.lanes.at((x_px, y_css), view, pixel_ratio, items)?;
        Some(Target::Item(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_takes_no_room() {
        assert_eq!(Header::new(&[], false, [false; 2]).height_css, 0.0);
    }

    #[test]
    fn tracks_stand_below_the_lanes() {
        let header = Header::new(&[2, 1], false, [true, true]);
        let [Some(first), Some(second)] = header.tracks else {
            panic!("{header:?}");
        };
        assert!(first >= header.lanes.height_css && second == first + TRACK_CSS);
        assert!(header.height_css > second + TRACK_CSS);
        let only_second = Header::new(&[], false, [false, true]);
        assert_eq!(only_second.tracks[0], None);
        assert!(only_second.height_css < 20.0);
    }
}
