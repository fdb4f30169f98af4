//! The course of one quantity in log lines over the text, in few points.

use serde::Serialize;

const MOST_POINTS: usize = 256;

/// A quantity over a text. If there are many lines, a point is the highest of several consecutive ones.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Course {
    /// Line and bytes of each point; the line is the first one of the point, counted from 1.
    points: Vec<(u64, u64)>,
    /// A point covers two to the power of this many lines, the last one the lines that remain.
    doublings: u32,
    /// Number of lines covered by the last point.
    in_last: u64,
}

impl Course {
    /// Adds the value of the next line.
    pub(crate) fn add(&mut self, line: u64, bytes: u64) {
        let is_full = self.in_last >> self.doublings > 0;
        if let Some(last) = self.points.last_mut().filter(|_| !is_full) {
            last.1 = last.1.max(bytes);
            self.in_last += 1;
            return;
        }
        if self.points.len() == MOST_POINTS {
            let pairs = self.points.chunks(2).map(|pair| match *pair {
                [(line, one), (_, other)] => (line, one.max(other)),
                _ => pair[0],
            });
            self.points = pairs.collect();
            self.doublings += 1;
        }
        self.points.push((line, bytes));
        self.in_last = 1;
    }

    /// The line and the bytes of each point, in the order of the text.
    #[must_use]
    pub fn points(&self) -> &[(u64, u64)] {
        &self.points
    }

    /// The highest bytes in each of so many columns over a text of `lines` lines: a value holds until the next one. `None`
    /// before the first.
    #[must_use]
    pub fn columns(&self, lines: u64, columns: usize) -> Vec<Option<u64>> {
        let column_of = |line: u64| {
            let share = line.saturating_sub(1) as f64 / lines.max(1) as f64;
            ((share * columns as f64) as usize).min(columns.saturating_sub(1))
        };
        let (mut points, mut now) = (self.points.iter().peekable(), None);
        let column = |column: usize| {
            let mut highest = now;
            while let Some(&(_, bytes)) = points.next_if(|(line, _)| column_of(*line) <= column) {
                highest = highest.max(Some(bytes));
                now = Some(bytes);
            }
            highest
        };
        (0..columns).map(column).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(line: u64) -> u64 {
        line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
    }

    fn course(lines: u64) -> Course {
        let mut course = Course::default();
        (1..=lines).for_each(|line| course.add(line, bytes(line)));
        course
    }

    #[test]
    fn a_point_is_the_highest_of_its_lines() {
        for lines in [0, 1, 2, 255, 256, 257, 511, 512, 513, 5_000, 100_000] {
            let mut each = 1;
            while lines > each * MOST_POINTS as u64 {
                each *= 2;
            }
            let all: Vec<_> = (1..=lines).map(|line| (line, bytes(line))).collect();
            let highest = |chunk: &[(u64, u64)]| {
                let highest = chunk.iter().map(|(_, bytes)| *bytes).max();
                (chunk[0].0, highest.unwrap())
            };
            let expected: Vec<_> = all.chunks(each as usize).map(highest).collect();
            assert_eq!(course(lines).points(), expected, "{lines}");
        }
    }

    #[test]
    fn columns_go_on_with_what_was_told_last() {
        let mut course = Course::default();
        for (line, bytes) in [(3, 7), (4, 9), (4, 2), (9, 5)] {
            course.add(line, bytes);
        }
        let none = None;
        let expected = [none, none, Some(7), Some(9), Some(2), Some(2)];
        let expected = [&expected[..], &[Some(2), Some(2), Some(5), Some(5)]].concat();
        assert_eq!(course.columns(10, 10), expected);
        assert_eq!(course.columns(10, 2), [Some(9), Some(5)]);
        assert_eq!(course.columns(0, 1), [Some(9)]);
        assert_eq!(course.columns(10, 0), [none; 0]);
        assert_eq!(Course::default().columns(10, 2), [none; 2]);
    }
}
