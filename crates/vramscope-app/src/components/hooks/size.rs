//! Sizes of elements, and device px per CSS px.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, ResizeObserver};
use yew::prelude::*;

use crate::canvas::PlotArea;

/// The size of the element's box, kept up to date; `None` before layout.
#[hook]
pub(crate) fn use_plot_area(node: &NodeRef) -> Option<PlotArea> {
    use_measure(node, PlotArea::of)
}

/// The size of the element's box now; `None` before layout.
pub(crate) fn plot_area(node: &NodeRef) -> Option<PlotArea> {
    PlotArea::of(&node.cast::<Element>()?)
}

/// The height of the element's inner box in CSS px, kept up to date; `None` before layout.
#[hook]
pub(crate) fn use_height(node: &NodeRef) -> Option<f64> {
    use_measure(node, |element| Some(f64::from(element.client_height())))
}

/// A measure of the element, taken again when its size may have changed. While it is `None`, the previous one stays.
#[hook]
fn use_measure<T>(node: &NodeRef, measure: fn(&Element) -> Option<T>) -> Option<T>
where
    T: Copy + PartialEq + 'static,
{
    let measured = use_state_eq(|| None);
    {
        let (measured, node) = (measured.setter(), node.clone());
        use_effect_with((), move |()| {
            let element = node.cast::<Element>();
            let update = {
                let element = element.clone();
                move || {
                    if let Some(now) = element.as_ref().and_then(measure) {
                        measured.set(Some(now));
                    }
                }
            };
            update();
            // The pixel ratio can change alone, when the page is zoomed or moved to another screen.
            // The window then has a resize event.
            let on_window = gloo::events::EventListener::new(&gloo::utils::window(), "resize", {
                let update = update.clone();
                move |_| update()
            });
            let on_change = Closure::<dyn FnMut()>::new(update);
            let observer = ResizeObserver::new(on_change.as_ref().unchecked_ref()).ok();
            if let (Some(observer), Some(element)) = (&observer, &element) {
                observer.observe(element);
            }
            move || {
                if let Some(observer) = observer {
                    observer.disconnect();
                }
                drop((on_window, on_change));
            }
        });
    }
    *measured
}
