//! The box under the pointer.

use web_sys::Element;
use yew::prelude::*;

use super::Boxes;
use vramscope_view::flame::{FlameCell, ROW_CSS, Shape};

/// The box under the pointer, by its index, and the pointer's position in the chart, CSS px.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Pointed {
    pub(super) place: usize,
    pub(super) at: (f64, f64),
}

/// Finds boxes in a chart by position.
#[derive(Clone)]
pub(super) struct Finder<B> {
    pub(super) boxes: Option<B>,
    pub(super) scroller: NodeRef,
    pub(super) shape: Shape,
    /// Distance of the picture from the top of its box, CSS px.
    pub(super) top_css: f64,
}

impl<B: Boxes> Finder<B> {
    /// Upper edge of a box within the chart, CSS px.
    pub(super) fn y_css(&self, cell: &FlameCell) -> f64 {
        let scene = self.boxes.as_ref().and_then(B::scene);
        let rows = scene.map_or(0, |scene| scene.rows);
        f64::from(self.shape.place(cell.row, rows)) * ROW_CSS + self.top_css
    }

    /// The box under the pointer.
    fn at(&self, event: &MouseEvent) -> Option<(Pointed, FlameCell)> {
        let (scene, list) = (
            self.boxes.as_ref()?.scene()?,
            self.scroller.cast::<Element>()?,
        );
        let bounds = list.get_bounding_client_rect();
        let at = (
            f64::from(event.client_x()) - bounds.left(),
            f64::from(event.client_y()) - bounds.top(),
        );
        let y_css = at.1 + f64::from(list.scroll_top()) - self.top_css;
        let place = scene.hit(self.shape, at.0, y_css)?;
        Some((Pointed { place, at }, scene.cells[place].clone()))
    }

    /// Listeners for moving and leaving of the pointer.
    pub(super) fn on_pointer(
        &self,
        pointed: &UseStateHandle<Option<Pointed>>,
    ) -> (Callback<PointerEvent>, Callback<PointerEvent>) {
        let (finder, setter) = (self.clone(), pointed.setter());
        let onpointermove = Callback::from(move |event: PointerEvent| {
            setter.set(finder.at(&event).map(|(pointed, _)| pointed));
        });
        let setter = pointed.setter();
        let onpointerleave = Callback::from(move |_: PointerEvent| setter.set(None));
        (onpointermove, onpointerleave)
    }

    pub(super) fn on_click(&self, on_choose: &Callback<FlameCell>) -> Callback<MouseEvent> {
        let (finder, on_choose) = (self.clone(), on_choose.clone());
        Callback::from(move |event: MouseEvent| {
            if let Some((_, cell)) = finder.at(&event) {
                on_choose.emit(cell);
            }
        })
    }

    pub(super) fn outline(&self, cell: &FlameCell) -> Html {
        let style = format!(
            "left:{}px;top:{}px;width:{}px;height:{}px",
            cell.x_px,
            self.y_css(cell),
            cell.width_px.max(2.0),
            ROW_CSS - 1.0
        );
        html! { <div class="flame-outline" {style} /> }
    }
}
