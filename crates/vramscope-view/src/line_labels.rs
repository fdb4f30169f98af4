//! Finds places for the labels of lines over a picture: beside their line, clear of lines and other labels.

use crate::scene::Point;

/// Space between a label and its line, css px.
const AIR_CSS: f64 = 2.0;

/// The end of a line that its label should be close to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Left,
    Right,
}

/// A rectangle: its upper left and lower right corner.
type Box = (Point, Point);

/// The free places of a picture, device px.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    picture: Box,
    /// Points of each line, from left to right.
    lines: Vec<Vec<Point>>,
    labels: Vec<Box>,
    air: f64,
}

impl Room {
    /// A picture between two corners, with lines over it, each from left to right.
    pub(crate) fn new(picture: Box, lines: Vec<Vec<Point>>, pixel_ratio: f64) -> Self {
        Self {
            picture,
            lines,
            labels: Vec::new(),
            air: AIR_CSS * pixel_ratio,
        }
    }

    /// Reserves a rectangle.
    pub(crate) fn take(&mut self, taken: Box) {
        self.labels.push(taken);
    }

    /// The upper left corner of a label of this size next to a line, as close to that end as possible: above the line, or
    /// below it, over the picture, only if there is no room above. The place is then reserved. `None` if there is no room.
    pub(crate) fn beside(
        &mut self,
        line: usize,
        (width, height): (f64, f64),
        end: End,
    ) -> Option<Point> {
        let ((left, _), (right, _)) = self.picture;
        let (first, last) = (left + 2.0 * self.air, right - 2.0 * self.air - width);
        let fits = first <= last && height > 0.0;
        if !fits {
            return None;
        }
        // In steps of the label's height, because finer ones would look the same.
        let steps = ((last - first) / height) as u32;
        let found = [true, false].into_iter().find_map(|is_above| {
            (0..=steps).find_map(|step| {
                let way = f64::from(step) * height;
                let x = match end {
                    End::Left => first + way,
                    End::Right => last - way,
                };
                let (highest, lowest) = heights(&self.lines[line], (x, x + width))?;
                let y = match is_above {
                    true => highest - self.air - height,
                    false => lowest + self.air,
                };
                let is_free = self.is_free(((x, y), (x + width, y + height)));
                is_free.then_some((x, y))
            })
        })?;
        self.take((found, (found.0 + width, found.1 + height)));
        Some(found)
    }

    fn is_free(&self, place: Box) -> bool {
        let ((left, top), (right, bottom)) = place;
        let is_inside = self.picture.0.1 <= top && bottom <= self.picture.1.1;
        let meets_label = |&((x, y), (x_end, y_end)): &Box| {
            x < right && left < x_end && y < bottom && top < y_end
        };
        let meets_line = |line: &Vec<Point>| {
            heights(line, (left, right))
                .is_some_and(|(highest, lowest)| highest < bottom && top < lowest)
        };
        is_inside && !self.labels.iter().any(meets_label) && !self.lines.iter().any(meets_line)
    }
}

/// The least and the greatest y of a line, from left to right, between two x; `None` where the line does not extend.
fn heights(line: &[Point], (from, to): (f64, f64)) -> Option<(f64, f64)> {
    let (first, last) = (line.first()?, line.last()?);
    if last.0 < from || first.0 > to {
        return None;
    }
    let begin = line
        .partition_point(|point| point.0 < from)
        .saturating_sub(1);
    let end = line.partition_point(|point| point.0 <= to) + 1;
    let y = line[begin..end.min(line.len())].iter().map(|point| point.1);
    Some((
        y.clone().fold(f64::INFINITY, f64::min),
        y.fold(f64::NEG_INFINITY, f64::max),
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PICTURE: Box = ((10.0, 20.0), (410.0, 120.0));
    const SIZE: (f64, f64) = (50.0, 13.0);

    fn level(y: f64) -> Vec<Point> {
        vec![(10.0, y), (410.0, y)]
    }

    #[test]
    fn a_label_is_above_its_line_at_its_end() {
        let mut room = Room::new(PICTURE, vec![level(60.0)], 1.0);
        assert_eq!(room.beside(0, SIZE, End::Right), Some((356.0, 45.0)));
        assert_eq!(room.beside(0, SIZE, End::Left), Some((14.0, 45.0)));
        assert_eq!(
            room.beside(0, SIZE, End::Left),
            Some((66.0, 45.0)),
            "that place is taken"
        );
    }

    #[test]
    fn a_label_avoids_other_lines() {
        // Two lines close together at the top: one label fits below, the other where the lines diverge.
        let parting = vec![(10.0, 30.0), (200.0, 30.0), (200.0, 80.0), (410.0, 80.0)];
        let mut room = Room::new(PICTURE, vec![level(25.0), parting], 1.0);
        assert_eq!(room.beside(0, SIZE, End::Left), Some((209.0, 27.0)));
        assert_eq!(room.beside(1, SIZE, End::Left), Some((209.0, 65.0)));
    }

    #[test]
    fn no_room_is_no_label() {
        let mut room = Room::new(PICTURE, vec![level(21.0), level(24.0), Vec::new()], 1.0);
        assert_eq!(room.beside(0, SIZE, End::Left), None);
        assert_eq!(room.beside(2, SIZE, End::Left), None);
        assert_eq!(room.beside(1, (500.0, 13.0), End::Left), None);
        assert_eq!(room.beside(1, (f64::NAN, 13.0), End::Left), None);
    }

    proptest! {
        #[test]
        fn nothing_lies_over_anything(
            heights_of in prop::collection::vec(prop::collection::vec(0.0_f64..140.0, 1..12), 1..4),
            widths in prop::collection::vec(5.0_f64..200.0, 1..4),
        ) {
            let lines: Vec<Vec<Point>> = heights_of.iter().map(|of| {
                let x = |column: usize| 10.0 + 400.0 * column as f64 / of.len() as f64;
                let ends = |(column, &y): (usize, &f64)| [(x(column), y), (x(column + 1), y)];
                of.iter().enumerate().flat_map(ends).collect()
            }).collect();
            let mut room = Room::new(PICTURE, lines.clone(), 1.0);
            let mut placed: Vec<Box> = Vec::new();
            for (number, &width) in widths.iter().enumerate() {
                let end = if number % 2 == 0 { End::Right } else { End::Left };
                let Some((x, y)) = room.beside(number % lines.len(), (width, 13.0), end) else { continue };
                let label = ((x, y), (x + width, y + 13.0));
                prop_assert!(y >= 20.0 && y + 13.0 <= 120.0 && x >= 10.0 && x + width <= 410.0);
                for ((left, top), (right, bottom)) in &placed {
                    prop_assert!(label.1.0 <= *left || *right <= x || label.1.1 <= *top || *bottom <= y);
                }
                // Every segment of every line.
                for line in &lines {
                    for piece in line.windows(2) {
                        let over = piece[0].0 < x + width && piece[1].0 > x;
                        let (high, low) = (piece[0].1.min(piece[1].1), piece[0].1.max(piece[1].1));
                        prop_assert!(!over || low <= y || high >= y + 13.0);
                    }
                }
                placed.push(label);
            }
        }
    }
}
