//! Where the pointer is over an element.

use web_sys::Element;
use yew::prelude::*;

use crate::state::gesture::Point;

/// The pointer's place in the element, in CSS px, and the listeners that the element needs for it: of moves, and of leaving.
#[hook]
pub(crate) fn use_position(
    node: &NodeRef,
) -> (
    Option<Point>,
    Callback<PointerEvent>,
    Callback<PointerEvent>,
) {
    let at = use_state_eq(|| None::<Point>);
    let (set, node) = (at.setter(), node.clone());
    let moved = Callback::from(move |event: PointerEvent| {
        let element = node.cast::<Element>();
        let bounds = element.map(|element| element.get_bounding_client_rect());
        set.set(bounds.map(|bounds| {
            let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
            (x - bounds.left(), y - bounds.top())
        }));
    });
    let set = at.setter();
    let left = Callback::from(move |_: PointerEvent| set.set(None));
    (*at, moved, left)
}
