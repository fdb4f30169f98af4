//! Memory over time of two recordings, one above the other on the same axes, for comparison by eye:
//! equal distances are equal bytes and equal events (or µs since the start). Two moments of one
//! recording are two marks on one row.

use crate::axes::XUnit;
use crate::chart::{draw_curves, draw_x_axis, draw_y_axis, rgb};
use crate::scene::{Area, Scene, Style};
use crate::shortened::cut_end;
use crate::viewport::{Bounds, Viewport};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use vramscope_core::analysis::time::curves::{CurveAxis, Curves};
use vramscope_core::sorting::SortFew;

/// Width of the labels of bytes, css px.
const LEFT_CSS: f64 = 64.0;
/// Width of half a flag, css px.
const RIGHT_CSS: f64 = 8.0;
/// Height of the labels of events or time, css px.
const BOTTOM_CSS: f64 = 22.0;
/// Space above each row for its title and flags, css px.
const GAP_CSS: f64 = 20.0;
/// Font size, css px.
const LETTER_CSS: f64 = 11.0;

/// Columns of the curves: about the width of most pictures in pixels.
pub const COLUMNS: u32 = 2_000;

/// The row of one recording.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// Title above the row.
    pub title: &'a str,
    /// Its memory.
    pub curves: &'a Curves,
    /// Marked moments.
    pub marks: Vec<Mark<'a>>,
}

/// A marked moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Mark<'a> {
    /// Position, in the unit of the curves' axis.
    pub at: u64,
    /// The letter of its side, at its flag.
    pub letter: &'a str,
}

/// The contents of a point of the chart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hit<'a> {
    /// Index of the row.
    pub row: usize,
    /// The moment with the highest active memory in that column.
    pub moment: u32,
    /// The letter of the row's nearest mark; empty if it has none.
    pub letter: &'a str,
}

/// The areas of the rows in a chart of this size, from top to bottom, all equally large.
#[must_use]
pub fn places(width_px: u32, height_px: u32, rows: usize, style: &Style<'_>) -> Vec<Area> {
    let px = |css: f64| style.px(css).max(0);
    let count = i32::try_from(rows).unwrap_or(1).max(1);
    let width = u32::try_from(width_px as i32 - px(LEFT_CSS) - px(RIGHT_CSS)).unwrap_or(0);
    let free = height_px as i32 - px(BOTTOM_CSS) - count * px(GAP_CSS);
    let height = u32::try_from(free / count).unwrap_or(0);
    let place = |row: i32| Area {
        x_px: px(LEFT_CSS),
        y_px: px(GAP_CSS) + row * (height as i32 + px(GAP_CSS)),
        width_px: width,
        height_px: height,
    };
    (0..count).map(place).collect()
}

/// The bounds of both rows: the unit of the x axis, its end, and the highest bytes with a margin.
#[must_use]
pub fn bounds(rows: &[Row<'_>]) -> (XUnit, Bounds) {
    let time = rows.iter().all(|row| row.curves.axis == CurveAxis::Time);
    let unit = if time { XUnit::Time } else { XUnit::Events };
    let end = rows.iter().map(|row| row.curves.end).max().unwrap_or(1);
    let top = rows.iter().map(|row| row.curves.highest_bytes()).max();
    (unit, Bounds::new(end as f64, top.unwrap_or(0)))
}

/// The contents of a point of the chart, in device px; `None` outside the rows.
#[must_use]
pub fn hit<'a>(
    (width_px, height_px): (u32, u32),
    rows: &[Row<'a>],
    style: &Style<'_>,
    (x_px, y_px): (f64, f64),
) -> Option<Hit<'a>> {
    let (_, bounds) = bounds(rows);
    let places = places(width_px, height_px, rows.len(), style);
    let is_in = |place: &Area| {
        let (x, y) = (x_px - f64::from(place.x_px), y_px - f64::from(place.y_px));
        (0.0..f64::from(place.height_px)).contains(&y)
            && (0.0..=f64::from(place.width_px)).contains(&x)
    };
    let which = places.iter().position(is_in)?;
    let (row, place) = (rows.get(which)?, &places[which]);
    let at = (x_px - f64::from(place.x_px)) / f64::from(place.width_px.max(1)) * bounds.x_end;
    let moments = &row.curves.peak_moments;
    let column = (at / row.curves.end.max(1) as f64 * moments.len() as f64) as usize;
    // Right of a shorter recording, its last moment; for a column without a moment, the moment before it.
    let until = &moments[..column.saturating_add(1).min(moments.len())];
    let moment = until
        .iter()
        .rev()
        .copied()
        .find(|&moment| moment != u32::MAX)?;
    let distance = |mark: &&Mark<'a>| (mark.at as f64 - at).abs() as u64;
    Some(Hit {
        row: which,
        moment,
        letter: row
            .marks
            .iter()
            .min_by_key(distance)
            .map_or("", |mark| mark.letter),
    })
}

/// Draws the rows with their axes and marks into a box of this upper left corner and size.
pub fn draw(
    scene: &mut Scene,
    (left, top): (i32, i32),
    (width_px, height_px): (u32, u32),
    rows: &[Row<'_>],
    style: &Style<'_>,
) {
    let (unit, bounds) = bounds(rows);
    let mut places = places(width_px, height_px, rows.len(), style);
    for place in &mut places {
        (place.x_px, place.y_px) = (place.x_px + left, place.y_px + top);
    }
    for (row, place) in rows.iter().zip(&places) {
        if place.width_px == 0 || place.height_px == 0 {
            continue;
        }
        let view = Viewport::fit_all(&bounds, place.width_px, place.height_px);
        draw_y_axis(scene, place, &view, style);
        draw_row(scene, place, row, &bounds, style);
    }
    if let Some(last) = places
        .last()
        .filter(|last| last.width_px > 0 && last.height_px > 0)
    {
        let view = Viewport::fit_all(&bounds, last.width_px, last.height_px);
        draw_x_axis(scene, last, &view, unit, style);
    }
}

fn draw_row(scene: &mut Scene, place: &Area, row: &Row<'_>, bounds: &Bounds, style: &Style<'_>) {
    let curves = row.curves;
    let share = (curves.end as f64 / bounds.x_end).clamp(0.0, 1.0);
    let own = Area {
        // At least one px, so that a very short recording stays visible.
        width_px: ((share * f64::from(place.width_px)).round() as u32).max(1),
        ..*place
    };
    let values = (&curves.active_bytes[..], &curves.reserved_bytes[..]);
    draw_curves(scene, &own, values, bounds.y_end_bytes, style);
    let (top, bottom) = (
        place.y_px,
        place.y_px.saturating_add_unsigned(place.height_px),
    );
    let x = |mark: &Mark<'_>| {
        let at = (mark.at as f64 / bounds.x_end).clamp(0.0, 1.0);
        place.x_px + (at * f64::from(place.width_px)).round() as i32
    };
    let marks: Vec<i32> = row.marks.iter().map(x).collect();
    let flags = flags(&marks, place, style);
    for (mark, flag) in row.marks.iter().zip(&flags) {
        draw_flag(scene, mark, flag, (top, bottom), style);
    }
    let taken: Vec<(i32, i32)> = flags.iter().map(Flag::span).collect();
    let (from, to) = gap(row.title, &taken, place, style);
    let room_px = f64::from(to - from);
    let title = cut_end(row.title, |title| {
        style.width_px(title, LETTER_CSS, false) <= room_px
    });
    let pos = Pos::new(HPos::Left, VPos::Bottom);
    let text = style.chart_text(LETTER_CSS, style.theme.muted_text, pos);
    let at = (from, top - style.px(2.0));
    scene.chart().draw(&Text::new(title, at, text));
}

/// The flag above a marked moment, device px.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Flag {
    x: i32,
    half: i32,
    /// Left and right end of the letter beside the flag.
    letter: (i32, i32),
}

impl Flag {
    /// Left and right end of flag and letter.
    fn span(&self) -> (i32, i32) {
        let (from, to) = (self.x - self.half, self.x + self.half);
        (from.min(self.letter.0), to.max(self.letter.1))
    }
}

/// The flags of marks at these x. A letter is to the right of its flag, or to the left if a flag, a letter or the end of
/// the row is in the way.
fn flags(marks: &[i32], place: &Area, style: &Style<'_>) -> Vec<Flag> {
    let (half, width) = (style.px(4.0).max(2), style.px(10.0));
    let meets = |a: (i32, i32), b: (i32, i32)| a.0 < b.1 && b.0 < a.1;
    let mut flags: Vec<Flag> = Vec::new();
    for &x in marks {
        let right = (x + half, x + half + width);
        let left = (x - half - width, x - half);
        let is_free = |letter: &(i32, i32)| {
            letter.1 <= place.right_px() + style.px(RIGHT_CSS)
                && !marks
                    .iter()
                    .any(|mark| meets((mark - half, mark + half), *letter))
                && !flags.iter().any(|flag| meets(flag.letter, *letter))
        };
        let letter = [right, left].into_iter().find(is_free).unwrap_or(right);
        flags.push(Flag { x, half, letter });
    }
    flags
}

/// Left and right end of the first gap between flags that fits the title, else of the widest gap.
fn gap(title: &str, taken: &[(i32, i32)], place: &Area, style: &Style<'_>) -> (i32, i32) {
    let air = style.px(4.0);
    let mut taken = taken.to_vec();
    taken.sort_few_by(Ord::cmp);
    let (mut from, mut gaps) = (place.x_px + 2 * air, Vec::new());
    for (left, right) in taken {
        gaps.push((from, left - air));
        from = from.max(right + air);
    }
    gaps.push((from, place.right_px()));
    let width = style.width_px(title, LETTER_CSS, false).ceil() as i32;
    let holds = gaps.iter().find(|(from, to)| to - from >= width);
    let widest = || gaps.iter().rev().max_by_key(|(from, to)| to - from);
    holds.or_else(widest).copied().unwrap_or((from, from))
}

/// Draws a line, and above it a flag with the mark's letter beside it.
fn draw_flag(
    scene: &mut Scene,
    mark: &Mark<'_>,
    flag: &Flag,
    (top, bottom): (i32, i32),
    style: &Style<'_>,
) {
    let (x, half, ink) = (flag.x, flag.half, rgb(style.theme.accent));
    let line = ink.stroke_width(style.px(1.5).max(1) as u32);
    let ends = vec![(x, top), (x, bottom)];
    scene.chart().draw(&PathElement::new(ends, line));
    let corners = vec![(x - half, top - half), (x + half, top - half), (x, top)];
    scene.chart().draw(&Polygon::new(corners, ink.filled()));
    let pos = Pos::new(HPos::Center, VPos::Bottom);
    let text = style.chart_text(LETTER_CSS, style.theme.accent, pos);
    let middle = (flag.letter.0 + flag.letter.1) / 2;
    let at = (middle, top - style.px(1.0));
    scene.chart().draw(&Text::new(mark.letter, at, text));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::Theme;

    fn curves(end: u64, active: &[u64], axis: CurveAxis) -> Curves {
        Curves {
            axis,
            end,
            active_bytes: active.to_vec(),
            peak_moments: vec![0; active.len()],
            reserved_bytes: active.iter().map(|bytes| bytes * 2).collect(),
        }
    }

    fn mark(at: u64) -> Mark<'static> {
        Mark { at, letter: "A" }
    }

    fn scene(rows: &[Row<'_>], size_px: (u32, u32)) -> Scene {
        let mut scene = Scene::default();
        draw(
            &mut scene,
            (0, 0),
            size_px,
            rows,
            &Style::new(&Theme::light(), 1.0),
        );
        scene
    }

    #[test]
    fn the_shorter_recording_ends_earlier_and_marks_stand_where_they_belong() {
        let long = curves(1_000, &[1 << 30, 2 << 30], CurveAxis::Time);
        let short = curves(500, &[1 << 30], CurveAxis::Events);
        let rows = [
            Row {
                title: "A",
                curves: &long,
                marks: vec![mark(1_000)],
            },
            Row {
                title: "B",
                curves: &short,
                marks: vec![mark(0), mark(250)],
            },
        ];
        let (unit, bounds) = bounds(&rows);
        assert_eq!(unit, XUnit::Events, "what both have");
        assert_eq!(bounds.x_end, 1_000.0);
        // The margin is 64 px and the chart 600 px wide: B's curve ends in the middle.
        insta::assert_snapshot!(scene(&rows, (672, 200)));
    }

    #[test]
    fn letters_and_titles_lie_beside_each_other() {
        let theme = Theme::light();
        let style = Style::new(&theme, 1.0);
        let place = Area {
            x_px: 64,
            y_px: 20,
            width_px: 600,
            height_px: 70,
        };
        for marks in [
            vec![64],
            vec![64, 64],
            vec![664, 664],
            vec![64, 70],
            vec![300, 310, 320],
            vec![200, 400],
        ] {
            let flags = flags(&marks, &place, &style);
            let mut spans: Vec<_> = flags.iter().map(|flag| flag.letter).collect();
            spans.extend(marks.iter().map(|x| (x - 4, x + 4)));
            for title in [
                "run",
                "a name that is about as long as half of the row is wide, or longer",
                "",
            ] {
                let taken: Vec<_> = flags.iter().map(Flag::span).collect();
                let (from, to) = gap(title, &taken, &place, &style);
                assert!(place.x_px <= from && to <= place.right_px(), "{marks:?}");
                let meets = |span: &&(i32, i32)| span.0 < to && from < span.1;
                assert_eq!(spans.iter().find(meets), None, "{marks:?} {title:?}");
            }
            let letters: Vec<_> = flags.iter().map(|flag| flag.letter).collect();
            for (number, a) in letters.iter().enumerate() {
                let meets = |b: &&(i32, i32)| a.0 < b.1 && b.0 < a.1;
                assert_eq!(letters[number + 1..].iter().find(meets), None, "{marks:?}");
            }
        }
    }

    #[test]
    fn a_point_is_a_moment_of_its_row() {
        let mut long = curves(1_000, &[1, 2, 3, 4], CurveAxis::Events);
        long.peak_moments = vec![3, u32::MAX, 600, 800];
        let short = Curves {
            end: 500,
            ..long.clone()
        };
        let rows = [
            Row {
                title: "",
                curves: &long,
                marks: vec![],
            },
            Row {
                title: "",
                curves: &short,
                marks: vec![],
            },
        ];
        let theme = Theme::light();
        let style = Style::new(&theme, 1.0);
        let at = |x, y| {
            let hit = hit((672, 200), &rows, &style, (x, y))?;
            Some((hit.row, hit.moment))
        };
        assert_eq!(at(70.0, 50.0), Some((0, 3)));
        assert_eq!(
            at(64.0 + 200.0, 50.0),
            Some((0, 3)),
            "an empty column shows what was before"
        );
        assert_eq!(at(64.0 + 590.0, 50.0), Some((0, 800)));
        assert_eq!(at(64.0 + 160.0, 150.0), Some((1, 600)));
        assert_eq!(at(64.0 + 590.0, 150.0), Some((1, 800)), "behind its end");
        assert_eq!(
            (at(10.0, 50.0), at(300.0, 5.0), at(300.0, 199.0)),
            (None, None, None)
        );
    }

    #[test]
    fn nothing_and_no_room_do_no_harm() {
        let none = Curves::default();
        let row = Row {
            title: "",
            curves: &none,
            marks: vec![mark(7), mark(u64::MAX)],
        };
        let rows = [row.clone(), row];
        for size in [(0, 0), (1, 1), (80, 50), (300, 90)] {
            for count in 0..=2 {
                scene(&rows[..count], size);
            }
        }
    }

    #[test]
    fn two_moments_of_one_recording_are_two_marks() {
        let curves = curves(1_000, &[1, 2], CurveAxis::Events);
        let marks = [(100, "A"), (900, "B")].map(|(at, letter)| Mark { at, letter });
        let rows = [Row {
            title: "",
            curves: &curves,
            marks: marks.to_vec(),
        }];
        let theme = Theme::light();
        let style = Style::new(&theme, 1.0);
        let letter = |x| hit((672, 120), &rows, &style, (x, 50.0)).map(|hit| hit.letter);
        assert_eq!((letter(64.0), letter(600.0)), (Some("A"), Some("B")));
    }
}
