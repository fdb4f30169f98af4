//! Sizes of elements, and device px per CSS px.

use wasm_bindgen::JsCast;
use wasm_bindgen::closure::Closure;
use web_sys::{Element, ResizeObserver};
use yew::prelude::*;

use crate::canvas::PlotArea;

/// The size of the element's box, kept up to date; `None` before layout.
#[hook]
pub(crate) fn use_plot_area(node: &NodeRef) -> Option<PlotArea> {
    let area = use_state_eq(|| None);
    {
        let (area, node) = (area.clone(), node.clone());
        use_effect_with((), move |()| {
            let element = node.cast::<Element>();
            let measure = {
                let element = element.clone();
                move || {
                    let Some(element) = &element else { return };
                    let scale = gloo::utils::window().device_pixel_ratio();
                    let (width, height) = (element.client_width(), element.client_height());
                    if width > 0 && height > 0 {
                        area.set(Some(PlotArea::within(
                            f64::from(width),
                            f64::from(height),
                            scale,
                        )));
                    }
                }
            };
            measure();
            // The pixel ratio can change alone, when the page is zoomed or moved to another screen.
            // The window then has a resize event.
            let on_window = gloo::events::EventListener::new(&gloo::utils::window(), "resize", {
                let measure = measure.clone();
                move |_| measure()
            });
            let on_change = Closure::<dyn FnMut()>::new(measure);
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
    *area
}

/// The height of the element's inner box in CSS px, kept up to date; `None` before layout.
#[hook]
pub(crate) fn use_height(node: &NodeRef) -> Option<f64> {
    let height = use_state_eq(|| None);
    {
        let (height, node) = (height.clone(), node.clone());
        use_effect_with((), move |()| {
            let element = node.cast::<Element>();
            let measure = {
                let element = element.clone();
                move || {
                    if let Some(element) = &element {
                        height.set(Some(f64::from(element.client_height())));
                    }
                }
            };
            measure();
            let on_change = Closure::<dyn FnMut()>::new(measure);
            let observer = ResizeObserver::new(on_change.as_ref().unchecked_ref()).ok();
            if let (Some(observer), Some(element)) = (&observer, &element) {
                observer.observe(element);
            }
            move || {
                if let Some(observer) = observer {
                    observer.disconnect();
                }
                drop(on_change);
            }
        });
    }
    *height
}
