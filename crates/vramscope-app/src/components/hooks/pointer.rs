//! Pointers over a picture: their positions, gestures, and the resulting actions.

use std::cell::RefCell;
use std::rc::Rc;

use vramscope_protocol::Picture;
use web_sys::Element;
use yew::prelude::*;

use crate::canvas::PlotArea;
use crate::state::gesture::{DragKind, Gesture, Outcome, Point};
use crate::state::{Action, Navigation};

/// A range, box or ruler that is being dragged: its kind and both ends.
pub(crate) type Draft = (DragKind, Point, Point);

/// The pointers over a stage.
pub(crate) struct Pointer {
    /// Position of the last pointer, CSS px of the stage; `None` outside.
    pub(crate) at: UseStateHandle<Option<Point>>,
    /// The drag in progress; `None` without one.
    pub(crate) draft: UseStateHandle<Option<Draft>>,
    /// Whether a drag is panning the picture.
    pub(crate) is_panning: bool,
    /// The listeners for the stage.
    pub(crate) handlers: PointerHandlers,
}

/// Listeners for the stage.
pub(crate) struct PointerHandlers {
    pub(crate) onpointerdown: Callback<PointerEvent>,
    pub(crate) onpointermove: Callback<PointerEvent>,
    pub(crate) onpointerup: Callback<PointerEvent>,
    pub(crate) onpointercancel: Callback<PointerEvent>,
    pub(crate) onpointerleave: Callback<PointerEvent>,
}

/// The data that all listeners share.
#[derive(Clone)]
struct Hand {
    gesture: Rc<RefCell<Gesture>>,
    at: UseStateSetter<Option<Point>>,
    /// Whether no pointer was over the stage before.
    was_away: bool,
    draft: UseStateSetter<Option<Draft>>,
    area: Option<PlotArea>,
    picture: Picture,
    on_scrub: Option<Callback<f64>>,
    dispatch: Callback<Action>,
}

/// Follows the pointers over the stage of a picture. `mode` is what a drag draws instead of panning. `on_scrub` is
/// called with places of the cursor that is dragged, by its line or along the x axis, as shares of the width.
#[hook]
pub(crate) fn use_pointer(
    stage: (Option<PlotArea>, Picture),
    mode: Option<DragKind>,
    on_scrub: Option<Callback<f64>>,
    dispatch: Callback<Action>,
) -> Pointer {
    let (area, picture) = stage;
    let at = use_state_eq(|| None);
    let draft = use_state_eq(|| None);
    let gesture = use_mut_ref(Gesture::default);
    let hand = Hand {
        gesture: gesture.clone(),
        at: at.setter(),
        was_away: at.is_none(),
        draft: draft.setter(),
        area,
        picture,
        on_scrub,
        dispatch,
    };
    let listener = |listen: fn(&Hand, &PointerEvent)| {
        let hand = hand.clone();
        Callback::from(move |event: PointerEvent| listen(&hand, &event))
    };
    let onpointerdown = {
        let hand = hand.clone();
        Callback::from(move |event: PointerEvent| hand.press(&event, mode))
    };
    let handlers = PointerHandlers {
        onpointerdown,
        onpointermove: listener(Hand::moved),
        onpointerup: listener(Hand::release),
        onpointercancel: listener(Hand::cancel),
        onpointerleave: listener(Hand::leave),
    };
    let is_panning = gesture.borrow().is_panning();
    Pointer {
        at,
        draft,
        is_panning,
        handlers,
    }
}

impl Hand {
    fn press(&self, event: &PointerEvent, mode: Option<DragKind>) {
        let Some(at) = place(event).filter(|_| event.button() == 0) else {
            return;
        };
        let plain = if self.is_on_cursor(event, at) {
            DragKind::Cursor
        } else if event.alt_key() || event.shift_key() {
            DragKind::Range
        } else {
            DragKind::Pan
        };
        let kind = mode.unwrap_or(plain);
        self.gesture
            .borrow_mut()
            .press(event.pointer_id(), at, kind);
        // Touch does not hover, so the position is reported when it is pressed.
        self.point(at);
        if let Some(stage) = stage(event) {
            let _ = stage.set_pointer_capture(event.pointer_id());
        }
    }

    /// Whether a drag from here moves the cursor: from its line, or from the x axis.
    fn is_on_cursor(&self, event: &PointerEvent, at: Point) -> bool {
        let on_line = event
            .target_dyn_into::<Element>()
            .is_some_and(|target| target.matches(".cursor").unwrap_or(false));
        self.on_scrub.is_some() && (on_line || self.is_on_axis(at))
    }

    fn is_on_axis(&self, at: Point) -> bool {
        self.area
            .is_some_and(|area| area.to_px(at).1 >= f64::from(area.size_px().1))
    }

    fn scrub(&self, area: &PlotArea, to: Point) {
        if let Some(on_scrub) = &self.on_scrub {
            on_scrub.emit(fractions(area, to).0.clamp(0.0, 1.0));
        }
    }

    fn moved(&self, event: &PointerEvent) {
        let Some(at) = place(event) else { return };
        let outcome = self.gesture.borrow_mut().moved(event.pointer_id(), at);
        if self.gesture.borrow().is_panning() {
            // What is under the pointer moves along with it.
            self.at.set(None);
        } else {
            self.point(at);
        }
        if self.gesture.borrow().is_active() {
            self.apply(outcome);
        }
    }

    fn release(&self, event: &PointerEvent) {
        let Some(at) = place(event) else { return };
        let outcome = self.gesture.borrow_mut().release(event.pointer_id(), at);
        self.point(at);
        self.apply(outcome);
    }

    fn cancel(&self, _: &PointerEvent) {
        self.gesture.borrow_mut().cancel();
        self.draft.set(None);
    }

    fn leave(&self, _: &PointerEvent) {
        if !self.gesture.borrow().is_active() {
            self.at.set(None);
            self.dispatch.emit(Action::Point(false));
        }
    }

    fn point(&self, at: Point) {
        self.at.set(Some(at));
        if self.was_away {
            self.dispatch.emit(Action::Point(true));
        }
    }

    fn apply(&self, outcome: Outcome) {
        let Some(area) = self.area else { return };
        self.draft.set(match outcome {
            Outcome::Draft(kind, from, to) => Some((kind, from, to)),
            _ => None,
        });
        match outcome {
            Outcome::Draft(DragKind::Cursor, _, to) | Outcome::Drawn(DragKind::Cursor, _, to) => {
                self.scrub(&area, to);
            }
            Outcome::Click(at) if self.on_scrub.is_some() && self.is_on_axis(at) => {
                self.scrub(&area, at);
            }
            outcome => act_on(outcome, &area, self.picture, &self.dispatch),
        }
    }
}

/// The pointer's position, in CSS px of the stage.
fn place(event: &PointerEvent) -> Option<Point> {
    let stage = stage(event)?.get_bounding_client_rect();
    Some((
        f64::from(event.client_x()) - stage.left(),
        f64::from(event.client_y()) - stage.top(),
    ))
}

/// The stage of an event. Yew listens at the root, so it is not the current target.
fn stage(event: &PointerEvent) -> Option<Element> {
    let target = event.target_dyn_into::<Element>()?;
    target.closest(".stage").ok()?
}

/// A position in the stage as fractions of the picture's size.
fn fractions(area: &PlotArea, at: Point) -> (f64, f64) {
    let ((x_px, y_px), (width_px, height_px)) = (area.to_px(at), area.size_px());
    (x_px / f64::from(width_px), y_px / f64::from(height_px))
}

/// Dispatches the actions of a gesture.
fn act_on(outcome: Outcome, area: &PlotArea, picture: Picture, dispatch: &Callback<Action>) {
    let by = |(right, down): (f64, f64)| {
        let (from, to) = (fractions(area, (0.0, 0.0)), fractions(area, (right, down)));
        Navigation::Pan(to.0 - from.0, to.1 - from.1)
    };
    match outcome {
        // A ruler only affects the overlay.
        Outcome::Nothing | Outcome::Draft(..) | Outcome::Drawn(DragKind::Ruler, ..) => {}
        Outcome::Pan(right, down) => dispatch.emit(Action::Navigate(by((right, down)))),
        Outcome::Pinch {
            factor,
            around,
            by: moved,
        } => {
            let at = fractions(area, around);
            dispatch.emit(Action::Navigate(Navigation::Zoom {
                factor: (factor, factor),
                at,
            }));
            dispatch.emit(Action::Navigate(by(moved)));
        }
        Outcome::Drawn(DragKind::Range, from, to) => {
            dispatch.emit(Action::SelectBetween(
                fractions(area, from).0,
                fractions(area, to).0,
            ));
        }
        Outcome::Drawn(_, from, to) => {
            let corners = (fractions(area, from), fractions(area, to));
            dispatch.emit(Action::Navigate(Navigation::ShowBox(corners.0, corners.1)));
        }
        Outcome::Click(at) => {
            dispatch.emit(Action::Click(picture, area.to_px(at)));
        }
    }
}
