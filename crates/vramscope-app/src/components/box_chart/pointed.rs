//! The box under the pointer.

use web_sys::Element;
use yew::prelude::*;

use super::Boxes;
use vramscope_view::flame::{FlameCell, ROW_CSS, Shape};

/// Largest distance of a tooltip from the left edge of a box that keys have moved to, CSS px.
const TIP_CSS: f64 = 60.0;

/// What is pointed at.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Pointed {
    /// The pointer's position in the chart, CSS px. The box there changes as the chart scrolls.
    At((f64, f64)),
    /// The box that keys have moved to, by its index.
    Box(usize),
}

/// Finds boxes in a chart by position.
#[derive(Clone)]
pub(super) struct Finder<B> {
    pub(super) boxes: Option<B>,
    pub(super) scroller: NodeRef,
    pub(super) shape: Shape,
    /// Distance of the picture from the top of its box, CSS px.
    pub(super) top_css: f64,
    /// Scroll position, CSS px.
    pub(super) scroll_css: f64,
}

impl<B: Boxes> Finder<B> {
    /// Upper edge of a box within the picture that scrolls, CSS px.
    pub(super) fn y_css(&self, cell: &FlameCell) -> f64 {
        let scene = self.boxes.as_ref().and_then(B::scene);
        let rows = scene.map_or(0, |scene| scene.rows);
        f64::from(self.shape.place(cell.row, rows)) * ROW_CSS + self.top_css
    }

    /// The index of the box that is pointed at.
    pub(super) fn place(&self, pointed: Pointed) -> Option<usize> {
        let scene = self.boxes.as_ref()?.scene()?;
        match pointed {
            Pointed::At((x, y)) => scene.hit(self.shape, x, y + self.scroll_css - self.top_css),
            Pointed::Box(place) => (place < scene.cells.len()).then_some(place),
        }
    }

    /// The position in the chart that a tooltip belongs to, CSS px.
    pub(super) fn tip_css(&self, pointed: Pointed, cell: &FlameCell) -> (f64, f64) {
        match pointed {
            Pointed::At(at) => at,
            Pointed::Box(_) => (
                cell.x_px + (cell.width_px / 2.0).min(TIP_CSS),
                self.y_css(cell) - self.scroll_css + ROW_CSS / 2.0,
            ),
        }
    }

    /// The pointer's position in the chart, CSS px.
    fn at_css(&self, event: &MouseEvent) -> Option<(f64, f64)> {
        let bounds = self.scroller.cast::<Element>()?.get_bounding_client_rect();
        Some((
            f64::from(event.client_x()) - bounds.left(),
            f64::from(event.client_y()) - bounds.top(),
        ))
    }

    /// Listeners for moving and leaving of the pointer.
    pub(super) fn on_pointer(
        &self,
        pointed: &UseStateHandle<Option<Pointed>>,
    ) -> (Callback<PointerEvent>, Callback<PointerEvent>) {
        let (finder, setter) = (self.clone(), pointed.setter());
        let onpointermove = Callback::from(move |event: PointerEvent| {
            setter.set(finder.at_css(&event).map(Pointed::At));
        });
        let setter = pointed.setter();
        let onpointerleave = Callback::from(move |_: PointerEvent| setter.set(None));
        (onpointermove, onpointerleave)
    }

    pub(super) fn on_click(&self, on_choose: &Callback<FlameCell>) -> Callback<MouseEvent> {
        let (finder, on_choose) = (self.clone(), on_choose.clone());
        Callback::from(move |event: MouseEvent| {
            let place = finder.at_css(&event).map(Pointed::At);
            let place = place.and_then(|at| finder.place(at));
            let scene = finder.boxes.as_ref().and_then(B::scene);
            if let Some((place, scene)) = place.zip(scene) {
                on_choose.emit(scene.cells[place].clone());
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
