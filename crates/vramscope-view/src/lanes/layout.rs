//! The layout of lanes and their ranges, and hit testing.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::roles::Role;

use super::{Item, LEAST_CSS};
use crate::colour::{Rgb, distinct_colour, role_colour, stable_hash};
use crate::theme::{Theme, contrast};
use crate::viewport::Viewport;

/// Height of a row with the gap below it, css px.
pub const ROW_CSS: f64 = 17.0;
/// Height of a row of folded lanes, css px.
const FOLDED_CSS: f64 = 6.0;
/// Gap between lanes, css px.
const LANE_GAP_CSS: f64 = 3.0;
/// Most rows shown of one lane; further rows are only counted.
pub const MOST_ROWS: usize = 6;
/// Padding left and right of a label, css px.
const LABEL_AIR_CSS: f64 = 4.0;
/// Mean width of a character of a label, css px.
const LETTER_CSS: f64 = 6.0;

/// The position of a row.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct LayoutRow {
    /// Index of the lane.
    pub lane: usize,
    /// Row within the lane.
    pub row: usize,
    /// Upper edge, css px.
    pub top_css: f64,
    /// Height, css px.
    pub height_css: f64,
}

/// The positions of all rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct LaneLayout {
    /// From top to bottom.
    pub rows: Vec<LayoutRow>,
    /// Height of all rows, css px; 0 without lanes.
    pub height_css: f64,
    /// Whether lanes are folded to thin rows without labels.
    pub is_folded: bool,
}

/// An item of a lane, by indices.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ItemPosition {
    /// Index of the lane.
    pub lane: usize,
    /// Row within the lane.
    pub row: usize,
    /// Index of the item in the row.
    pub item: usize,
}

impl LaneLayout {
    /// Lays out lanes, given their numbers of rows. A folded lane is one thin row without labels:
    /// its outermost ranges.
    #[must_use]
    pub fn new(rows_of_lanes: &[usize], is_folded: bool) -> Self {
        let (most_rows, height_css) = if is_folded {
            (1, FOLDED_CSS)
        } else {
            (MOST_ROWS, ROW_CSS)
        };
        let mut layout = Self {
            is_folded,
            ..Self::default()
        };
        for (lane, &rows) in rows_of_lanes.iter().enumerate() {
            if !layout.rows.is_empty() {
                layout.height_css += LANE_GAP_CSS;
            }
            for row in 0..rows.min(most_rows) {
                layout.rows.push(LayoutRow {
                    lane,
                    row,
                    top_css: layout.height_css,
                    height_css,
                });
                layout.height_css += height_css;
            }
        }
        layout
    }

    /// How many rows of a lane of `rows` rows are not shown.
    #[must_use]
    pub fn hidden_rows(&self, rows: usize) -> usize {
        rows.saturating_sub(if self.is_folded { 1 } else { MOST_ROWS })
    }

    /// The item at (`x_px`, `y_css`): device px from the left of the picture, css px from the top
    /// of the lanes. `items` returns the items of a row, given the numbers of lane and row. Narrow
    /// items are hit within their drawn width.
    #[must_use]
    pub fn at<'a>(
        &self,
        (x_px, y_css): (f64, f64),
        view: &Viewport,
        pixel_ratio: f64,
        items: impl Fn(usize, usize) -> Vec<&'a Item>,
    ) -> Option<ItemPosition> {
        let inside =
            |row: &&LayoutRow| (row.top_css..row.top_css + row.height_css).contains(&y_css);
        let row = self.rows.iter().find(inside)?;
        let found = items(row.lane, row.row).iter().position(|item| {
            let (from, to) = drawn_px(item, view, pixel_ratio);
            (from..to).contains(&x_px)
        })?;
        Some(ItemPosition {
            lane: row.lane,
            row: row.row,
            item: found,
        })
    }
}

/// Left and right edge of an item as drawn, in whole device px; wide enough to be seen and hit.
#[must_use]
pub fn drawn_px(item: &Item, view: &Viewport, pixel_ratio: f64) -> (f64, f64) {
    let width = f64::from(view.width_px);
    let least = (LEAST_CSS * pixel_ratio).round().max(1.0);
    let from = view.x_px(item.x.0).clamp(-least, width + least).round();
    let to = view.x_px(item.x.1).clamp(-least, width + least).round();
    // A gap of one css px separates neighbours.
    let gap = pixel_ratio.round().max(1.0);
    (from, (to - gap).max(from + least - gap))
}

/// Fewest letters, ellipsis included, that are still informative.
const LEAST_LETTERS: usize = 5;

/// A label shortened to a width: in full, cut with an ellipsis, or `None` if there is too little
/// room.
#[must_use]
pub fn elided(label: &str, width_css: f64) -> Option<String> {
    let letters = ((width_css - 2.0 * LABEL_AIR_CSS) / LETTER_CSS).floor();
    let letters = if letters > 0.0 { letters as usize } else { 0 };
    // Long labels are not counted to their end.
    let length = label.chars().take(letters + 1).count();
    if length <= letters {
        return (length > 0).then(|| label.to_owned());
    }
    if letters < LEAST_LETTERS {
        return None;
    }
    // A label that ends in a number, such as a step's, is cut at the front, because the number is more informative than the
    // name.
    let is_tail = |c: char| c.is_ascii_digit() || c == '#';
    let tail_bytes = label.len() - label.trim_end_matches(is_tail).len();
    if tail_bytes > 0 && !label.contains('·') {
        let tail: Vec<char> = label.chars().rev().take(letters - 1).collect();
        return Some(['…'].into_iter().chain(tail.into_iter().rev()).collect());
    }
    Some(label.chars().take(letters - 1).chain(['…']).collect())
}

/// The fill of a range, and the colour of the line at its start. A colour given by the program is used, adjusted to
/// contrast with the theme's background. Otherwise equal names have equal colours; digits are ignored, so all steps look
/// alike. The fill is pale enough for the theme's text.
#[must_use]
pub fn lane_fill(theme: &Theme, name: &str, given: Option<Rgb>) -> (Rgb, Rgb) {
    let pattern: String = name.chars().filter(|c| !c.is_ascii_digit()).collect();
    let full = match (given, pattern.as_str()) {
        (Some(given), _) => standing_out(theme, given),
        // The same colour as the role that most memory of the phase has in the picture below.
        (None, "forward") => role_colour(theme, Role::Activation),
        (None, "backward") => role_colour(theme, Role::Gradient),
        (None, "optimizer") => role_colour(theme, Role::OptimizerState),
        (None, _) => distinct_colour(theme, stable_hash(&pattern)),
    };
    (mixed(theme.background, full, 32), full)
}

/// A colour with as much of the text's colour mixed in as it needs to contrast with the background.
fn standing_out(theme: &Theme, colour: Rgb) -> Rgb {
    /// Contrast of a line that is noticed without searching for it.
    const LEAST: f64 = 2.0;
    let mut inks = (0..=10).map(|tenths| mixed(colour, theme.text, tenths * 10));
    let found = inks.find(|&ink| contrast(ink, theme.background) >= LEAST);
    found.unwrap_or(theme.text)
}

/// A mix of two colours, with this share of the second in per cent.
fn mixed(one: Rgb, other: Rgb, share: u32) -> Rgb {
    std::array::from_fn(|c| {
        let (one, other) = (u32::from(one[c]), u32::from(other[c]));
        ((one * (100 - share) + other * share) / 100) as u8
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: Viewport = Viewport {
        x_min: 0.0,
        x_max: 100.0,
        y_min_bytes: 0.0,
        y_max_bytes: 1.0,
        width_px: 200,
        height_px: 1,
    };

    fn item(from: f64, to: f64) -> Item {
        Item {
            x: (from, to),
            first: 0,
            count: 1,
        }
    }

    #[test]
    fn rows_follow_each_other_and_deep_ones_are_counted() {
        let layout = LaneLayout::new(&[2, 9], false);
        assert_eq!(layout.rows.len(), 2 + MOST_ROWS);
        assert_eq!(layout.hidden_rows(9), 3);
        let overlaps = |pair: &[LayoutRow]| pair[0].top_css + pair[0].height_css > pair[1].top_css;
        assert!(!layout.rows.windows(2).any(overlaps));
        let last = layout.rows[layout.rows.len() - 1];
        assert_eq!(layout.height_css, last.top_css + last.height_css);
        let folded = LaneLayout::new(&[2, 9], true);
        assert!(folded.rows.len() == 2 && folded.height_css < 20.0);
        assert_eq!(LaneLayout::new(&[], false).height_css, 0.0);
    }

    #[test]
    fn the_pointer_finds_what_is_drawn() {
        let layout = LaneLayout::new(&[2], false);
        let rows = [
            vec![item(0.0, 50.0), item(50.0, 50.0)],
            vec![item(10.0, 20.0)],
        ];
        let at = |x_px, y_css| {
            layout.at((x_px, y_css), &VIEW, 1.0, |_, row| {
                rows[row].iter().collect()
            })
        };
        let place = |row, item| Some(ItemPosition { lane: 0, row, item });
        assert_eq!(at(10.0, 5.0), place(0, 0));
        assert_eq!(at(101.0, 5.0), place(0, 1), "of no length, but drawn");
        assert_eq!(at(30.0, ROW_CSS + 2.0), place(1, 0));
        assert_eq!(at(90.0, ROW_CSS + 2.0), None);
        assert_eq!(at(10.0, 500.0), None);
    }

    #[test]
    fn labels_fit_or_are_left_out() {
        assert_eq!(elided("forward", 80.0).as_deref(), Some("forward"));
        assert_eq!(
            elided("Optimizer.step#AdamW.step", 80.0).as_deref(),
            Some("Optimizer.s…")
        );
        assert_eq!(elided("train_step 12", 38.0).as_deref(), Some("…p 12"));
        assert_eq!(elided("forward", 20.0), None);
        assert_eq!(elided("AdamW.step", 32.0), None, "two letters tell nothing");
        assert_eq!(elided("", 80.0), None);
        assert_eq!(elided("a", f64::NAN), None);
    }

    #[test]
    fn text_is_legible_on_every_fill() {
        for theme in [Theme::light(), Theme::dark()] {
            for name in 0..200 {
                let (fill, line) = lane_fill(
                    &theme,
                    &format!("{}", (b'a' + name % 26) as char).repeat(1 + name as usize / 26),
                    None,
                );
                assert!(contrast(theme.text, fill) >= 4.5);
                assert_ne!(fill, line);
            }
        }
        let steps = [
            lane_fill(&Theme::light(), "step 1", None),
            lane_fill(&Theme::light(), "step 23", None),
        ];
        assert_eq!(steps[0], steps[1]);
    }

    #[test]
    fn colours_of_programs_are_seen_on_every_ground_and_under_text() {
        let parts = [0, 0x40, 0x80, 0xff];
        for theme in [Theme::light(), Theme::dark()] {
            for number in 0..64 {
                let given = [parts[number / 16], parts[number / 4 % 4], parts[number % 4]];
                let (fill, line) = lane_fill(&theme, "forward", Some(given));
                assert!(contrast(theme.text, fill) >= 4.5, "{given:?}: {fill:?}");
                assert!(
                    contrast(line, theme.background) >= 2.0,
                    "{given:?}: {line:?}"
                );
                assert_ne!(fill, theme.background);
            }
            let green = [0, 0x90, 0];
            assert_eq!(
                lane_fill(&theme, "", Some(green)).1,
                green,
                "it is kept if it can be"
            );
        }
    }
}
