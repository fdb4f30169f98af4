//! Drags, clicks and pinches, recognised from the raw events of pointers.
//!
//! All places are CSS px from the picture's top left corner.

use super::Navigation;

/// A place, in CSS px.
pub type Point = (f64, f64);

/// The longest way of a pointer that still counts as a click, CSS px: hands shake.
const CLICK_SLACK_PX: f64 = 3.0;

/// The effect of a drag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DragKind {
    /// Moves the picture.
    Pan,
    /// Selects a range of x.
    Range,
    /// Zooms to a box.
    Box,
    /// Measures.
    Ruler,
    /// Moves the cursor.
    Cursor,
}

/// The gesture of the pointers that are down.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Gesture {
    /// The pointers that are down, with their last places, in the order in which they came down.
    down: Vec<(i32, Point)>,
    drag: Option<Drag>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Drag {
    kind: DragKind,
    start: Point,
    moved: bool,
}

/// The effect of a pointer's event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Outcome {
    /// Nothing so far.
    Nothing,
    /// The picture moves by this way to the right and down.
    Pan(f64, f64),
    /// Two fingers moved: the picture is zoomed around a place, which moves along.
    Pinch {
        /// Magnification; above 1 = closer.
        factor: f64,
        /// The middle between the fingers before the move.
        around: Point,
        /// The way of that middle.
        by: (f64, f64),
    },
    /// A range or box is being drawn, from one corner to the other.
    Draft(DragKind, Point, Point),
    /// The range or box is finished.
    Drawn(DragKind, Point, Point),
    /// A press and release in one place.
    Click(Point),
}

impl Gesture {
    /// Whether a pointer is down, so that hovering must change nothing.
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.down.is_empty()
    }

    /// Whether the picture is being moved.
    #[must_use]
    pub fn is_panning(&self) -> bool {
        let drags = |drag: Drag| drag.kind == DragKind::Pan && drag.moved;
        self.down.len() > 1 || self.drag.is_some_and(drags)
    }

    /// Takes a pointer that goes down, to do `kind`.
    pub fn press(&mut self, pointer: i32, at: Point, kind: DragKind) {
        self.down.retain(|(id, _)| *id != pointer);
        self.down.push((pointer, at));
        // Two fingers always pinch, whatever the first one was about to do.
        self.drag = (self.down.len() == 1).then_some(Drag {
            kind,
            start: at,
            moved: false,
        });
    }

    pub fn moved(&mut self, pointer: i32, to: Point) -> Outcome {
        let Some(index) = self.down.iter().position(|(id, _)| *id == pointer) else {
            return Outcome::Nothing;
        };
        let from = std::mem::replace(&mut self.down[index].1, to);
        if let [(_, first), (_, second)] = self.down[..] {
            let still = if index == 0 { second } else { first };
            return pinch(from, to, still);
        }
        let Some(drag) = &mut self.drag else {
            return Outcome::Nothing;
        };
        // The first move beyond the slack includes the way within it, so that the picture stays under the pointer.
        let from = if drag.moved { from } else { drag.start };
        drag.moved |= distance(drag.start, to) > CLICK_SLACK_PX;
        match drag.kind {
            _ if !drag.moved => Outcome::Nothing,
            DragKind::Pan => Outcome::Pan(to.0 - from.0, to.1 - from.1),
            kind => Outcome::Draft(kind, drag.start, to),
        }
    }

    /// Takes a pointer that goes up.
    pub fn release(&mut self, pointer: i32, at: Point) -> Outcome {
        let before = self.down.len();
        self.down.retain(|(id, _)| *id != pointer);
        if self.down.len() == before {
            return Outcome::Nothing;
        }
        match (self.drag.take(), &self.down[..]) {
            (Some(drag), []) if !drag.moved => Outcome::Click(drag.start),
            (
                Some(Drag {
                    kind:
                        kind @ (DragKind::Range | DragKind::Box | DragKind::Ruler | DragKind::Cursor),
                    start,
                    ..
                }),
                [],
            ) => Outcome::Drawn(kind, start, at),
            // The remaining finger continues as a pan.
            (None, &[(_, start)]) => {
                self.drag = Some(Drag {
                    kind: DragKind::Pan,
                    start,
                    moved: true,
                });
                Outcome::Nothing
            }
            _ => Outcome::Nothing,
        }
    }

    /// Drops the gesture, as the browser takes over the pointer or Escape was pressed.
    pub fn cancel(&mut self) {
        *self = Self::default();
    }
}

/// A turn of the wheel.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Wheel {
    /// The event's `deltaX`.
    pub right: f64,
    /// The event's `deltaY`.
    pub down: f64,
    /// The event's `deltaMode`: 0 = px, 1 = lines, 2 = pages.
    pub unit: u32,
    /// Shift is held.
    pub shift: bool,
    /// Ctrl or Command is held, or two fingers pinch on a touchpad.
    pub ctrl: bool,
    /// The pointer's place, as fractions of the picture.
    pub at: Point,
    /// The picture's width, CSS px.
    pub width_css: f64,
}

/// The effect of a turn of the wheel: zooms x at the pointer, with Shift y, with Ctrl both; a sideways turn pans.
#[must_use]
pub fn wheel(turn: Wheel) -> Navigation {
    let px = match turn.unit {
        0 => 1.0,
        1 => 16.0,
        _ => 400.0,
    };
    let (right, down) = (turn.right * px, turn.down * px);
    // With Shift, browsers report a turn of the wheel as a sideways one.
    if !turn.shift && !turn.ctrl && right.abs() > down.abs() {
        return Navigation::Pan(-right / turn.width_css.max(1.0), 0.0);
    }
    let travel = if turn.shift && down == 0.0 {
        right
    } else {
        down
    };
    // One notch of a common mouse is 100 px or 120 px; pinches on touchpads come in small numbers.
    let gain = if turn.ctrl && travel.abs() < 40.0 {
        0.01
    } else {
        0.0025
    };
    let factor = (-travel * gain).clamp(-2.0, 2.0).exp();
    let factor = match (turn.ctrl, turn.shift) {
        (true, _) => (factor, factor),
        (false, true) => (1.0, factor),
        (false, false) => (factor, 1.0),
    };
    Navigation::Zoom {
        factor,
        at: turn.at,
    }
}

fn pinch(from: Point, to: Point, still: Point) -> Outcome {
    let middle = |a: Point, b: Point| ((a.0 + b.0) / 2.0, (a.1 + b.1) / 2.0);
    let (old, new) = (middle(from, still), middle(to, still));
    // Fingers that touch have no distance. The floor keeps the factor finite.
    let factor = distance(to, still).max(1.0) / distance(from, still).max(1.0);
    Outcome::Pinch {
        factor,
        around: old,
        by: (new.0 - old.0, new.1 - old.1),
    }
}

fn distance(a: Point, b: Point) -> f64 {
    (a.0 - b.0).hypot(a.1 - b.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shaky_press_is_a_click() {
        let mut gesture = Gesture::default();
        gesture.press(1, (10.0, 10.0), DragKind::Pan);
        assert_eq!(gesture.moved(1, (12.0, 11.0)), Outcome::Nothing);
        assert!(!gesture.is_panning());
        assert_eq!(
            gesture.release(1, (12.0, 11.0)),
            Outcome::Click((10.0, 10.0))
        );
        assert!(!gesture.is_active());
    }

    #[test]
    fn a_drag_pans_by_all_of_its_way() {
        let mut gesture = Gesture::default();
        gesture.press(1, (10.0, 10.0), DragKind::Pan);
        assert_eq!(gesture.moved(1, (12.0, 10.0)), Outcome::Nothing);
        assert_eq!(gesture.moved(1, (20.0, 10.0)), Outcome::Pan(10.0, 0.0));
        assert_eq!(gesture.moved(1, (21.0, 12.0)), Outcome::Pan(1.0, 2.0));
        assert_eq!(gesture.release(1, (21.0, 12.0)), Outcome::Nothing);
    }

    #[test]
    fn a_range_is_drafted_then_drawn() {
        let mut gesture = Gesture::default();
        gesture.press(1, (10.0, 10.0), DragKind::Range);
        let draft = gesture.moved(1, (50.0, 20.0));
        assert_eq!(
            draft,
            Outcome::Draft(DragKind::Range, (10.0, 10.0), (50.0, 20.0))
        );
        let drawn = gesture.release(1, (51.0, 20.0));
        assert_eq!(
            drawn,
            Outcome::Drawn(DragKind::Range, (10.0, 10.0), (51.0, 20.0))
        );
    }

    #[test]
    fn two_fingers_pinch_and_the_last_one_pans() {
        let mut gesture = Gesture::default();
        gesture.press(1, (0.0, 0.0), DragKind::Box);
        gesture.press(2, (100.0, 0.0), DragKind::Pan);
        assert_eq!(
            gesture.moved(2, (200.0, 0.0)),
            Outcome::Pinch {
                factor: 2.0,
                around: (50.0, 0.0),
                by: (50.0, 0.0)
            }
        );
        assert_eq!(gesture.release(1, (0.0, 0.0)), Outcome::Nothing);
        assert_eq!(gesture.moved(2, (190.0, 0.0)), Outcome::Pan(-10.0, 0.0));
        assert_eq!(gesture.release(2, (190.0, 0.0)), Outcome::Nothing);
    }

    #[test]
    fn the_wheel_zooms_where_the_keys_say() {
        let turn = Wheel {
            right: 0.0,
            down: -100.0,
            unit: 0,
            shift: false,
            ctrl: false,
            at: (0.25, 0.5),
            width_css: 1_000.0,
        };
        let factor = |turn| match wheel(turn) {
            Navigation::Zoom {
                factor,
                at: (0.25, 0.5),
            } => factor,
            other => panic!("{other:?}"),
        };
        let (x, y) = factor(turn);
        assert!(x > 1.2 && y == 1.0);
        // With Shift, browsers send the turn as a sideways one.
        let (x, y) = factor(Wheel {
            shift: true,
            right: -100.0,
            down: 0.0,
            ..turn
        });
        assert!(x == 1.0 && y > 1.2);
        let (x, y) = factor(Wheel {
            ctrl: true,
            down: 100.0,
            ..turn
        });
        assert!(x < 0.9 && x == y);
        assert_eq!(
            wheel(Wheel {
                right: 100.0,
                down: 5.0,
                ..turn
            }),
            Navigation::Pan(-0.1, 0.0)
        );
    }

    #[test]
    fn strangers_are_ignored() {
        let mut gesture = Gesture::default();
        assert_eq!(gesture.moved(7, (1.0, 1.0)), Outcome::Nothing);
        assert_eq!(gesture.release(7, (1.0, 1.0)), Outcome::Nothing);
        gesture.press(1, (0.0, 0.0), DragKind::Pan);
        gesture.cancel();
        assert_eq!(gesture.release(1, (0.0, 0.0)), Outcome::Nothing);
    }
}
