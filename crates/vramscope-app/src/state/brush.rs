//! The brush on the strip: the effect of presses and drags on the shown range, in CSS px of the strip.

/// The largest distance from an end of the range at which a press takes hold of it, CSS px.
const GRIP_PX: f64 = 6.0;
/// The longest way of the pointer that still counts as a click, CSS px.
const CLICK_SLACK_PX: f64 = 3.0;

/// The part of the brush that the pointer holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Brush {
    start: f64,
    part: Part,
    /// The range before the drag.
    range: (f64, f64),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    Left,
    Right,
    Middle,
    /// A new range, from where the pointer went down.
    New,
}

impl Brush {
    /// The brush after a press at `x` of a strip `width` px wide, while `range` is shown. A range that fills the strip
    /// cannot be moved, so a press inside begins a new one.
    #[must_use]
    pub fn press(x: f64, range: (f64, f64), width: f64) -> Self {
        let (left, right) = range;
        let near = |end: f64| (x - end).abs() <= GRIP_PX;
        let is_whole = left <= 0.0 && right >= width;
        let part = if is_whole {
            Part::New
        } else if near(left) && (x <= left || !near(right)) {
            Part::Left
        } else if near(right) {
            Part::Right
        } else if (left..right).contains(&x) {
            Part::Middle
        } else {
            Part::New
        };
        Self {
            start: x,
            part,
            range,
        }
    }

    /// The range to show when the pointer is at `x` of a strip `width` px wide; `None` while it is a click.
    #[must_use]
    pub fn moved(&self, x: f64, width: f64) -> Option<(f64, f64)> {
        if (x - self.start).abs() <= CLICK_SLACK_PX {
            return None;
        }
        let by = x - self.start;
        let (left, right) = self.range;
        Some(match self.part {
            Part::New => (self.start.min(x), self.start.max(x)),
            Part::Left => ((left + by).min(right), (left + by).max(right)),
            Part::Right => ((right + by).min(left), (right + by).max(left)),
            Part::Middle => {
                let by = by.clamp(-left, width - right);
                (left + by, right + by)
            }
        })
    }
}

/// The range moved so that `x` is its middle, for a click.
#[must_use]
pub fn centred(x: f64, (left, right): (f64, f64), width: f64) -> (f64, f64) {
    let length = right - left;
    let left = (x - length / 2.0).clamp(0.0, (width - length).max(0.0));
    (left, left + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_a_new_range_where_all_is_shown() {
        let brush = Brush::press(40.0, (0.0, 100.0), 100.0);
        assert_eq!(brush.moved(41.0, 100.0), None);
        assert_eq!(brush.moved(70.0, 100.0), Some((40.0, 70.0)));
        assert_eq!(brush.moved(10.0, 100.0), Some((10.0, 40.0)));
    }

    #[test]
    fn moves_the_middle_within_the_strip() {
        let brush = Brush::press(50.0, (40.0, 60.0), 100.0);
        assert_eq!(brush.moved(60.0, 100.0), Some((50.0, 70.0)));
        assert_eq!(brush.moved(500.0, 100.0), Some((80.0, 100.0)));
    }

    #[test]
    fn takes_hold_of_the_ends() {
        assert_eq!(
            Brush::press(38.0, (40.0, 60.0), 100.0).moved(20.0, 100.0),
            Some((22.0, 60.0))
        );
        assert_eq!(
            Brush::press(62.0, (40.0, 60.0), 100.0).moved(20.0, 100.0),
            Some((18.0, 40.0))
        );
    }

    #[test]
    fn draws_outside_the_range() {
        assert_eq!(
            Brush::press(80.0, (40.0, 60.0), 100.0).moved(90.0, 100.0),
            Some((80.0, 90.0))
        );
    }

    #[test]
    fn a_click_centres() {
        assert_eq!(centred(80.0, (40.0, 60.0), 100.0), (70.0, 90.0));
        assert_eq!(centred(99.0, (40.0, 60.0), 100.0), (80.0, 100.0));
    }
}
