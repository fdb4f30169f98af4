//! Keys of a box chart: arrows move from box to box, Enter chooses, Backspace moves the focus up,
//! Escape resets it.

use web_sys::Element;
use yew::prelude::*;

use super::pointed::{Finder, Pointed};
use super::{BoxChartProps, Boxes, bring_in};
use vramscope_view::flame::{FlameCell, NodeKey, Step};

/// The listener for keys.
pub(super) fn on_keys<B: Boxes>(
    finder: Finder<B>,
    pointed: &UseStateHandle<Option<Pointed>>,
    props: &BoxChartProps<B>,
) -> Callback<KeyboardEvent> {
    let keys = Keys {
        finder,
        pointed: pointed.clone(),
        on_choose: props.on_choose.clone(),
        on_focus: props.on_focus.clone(),
    };
    Callback::from(move |event: KeyboardEvent| {
        if keys.press(&event.key()).is_some() {
            event.prevent_default();
        }
    })
}

struct Keys<B> {
    finder: Finder<B>,
    pointed: UseStateHandle<Option<Pointed>>,
    on_choose: Callback<FlameCell>,
    on_focus: Callback<Option<NodeKey>>,
}

impl<B: Boxes> Keys<B> {
    /// Handles a key; `None` if it has no meaning here.
    fn press(&self, key: &str) -> Option<()> {
        let boxes = self.finder.boxes.as_ref()?;
        let step = match key {
            "ArrowLeft" => Step::Left,
            "ArrowRight" => Step::Right,
            "ArrowUp" => Step::Up,
            "ArrowDown" => Step::Down,
            "Enter" | " " => {
                let place = self.finder.place((*self.pointed)?)?;
                let cell = boxes.scene()?.cells.get(place)?;
                self.on_choose.emit(cell.clone());
                return Some(());
            }
            "Backspace" => {
                let trail = boxes.trail();
                let above = trail.len().checked_sub(2)?;
                self.on_focus.emit(Some(trail[above]));
                return Some(());
            }
            "Escape" if boxes.trail().len() > 1 => {
                self.on_focus.emit(None);
                return Some(());
            }
            _ => return None,
        };
        self.step(boxes, step);
        Some(())
    }

    /// Moves to the next box, starting at the one in focus, and scrolls to it.
    fn step(&self, boxes: &B, step: Step) -> Option<()> {
        let scene = boxes.scene()?;
        let from = self.pointed.and_then(|pointed| self.finder.place(pointed));
        let place = match from {
            Some(place) => scene.step(self.finder.shape, Some(place), step)?,
            None => {
                let focus = boxes.trail().last().and_then(|key| scene.find(*key));
                focus.unwrap_or(0)
            }
        };
        let cell = scene.cells.get(place)?;
        let list = self.finder.scroller.cast::<Element>()?;
        self.pointed.set(Some(Pointed::Box(place)));
        bring_in(&list, self.finder.y_css(cell));
        Some(())
    }
}
