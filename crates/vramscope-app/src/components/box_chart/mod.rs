//! A chart of boxes in rows on a canvas that scrolls: a flame graph of any kind. The box under the
//! pointer, or the one that keys have moved to, is outlined and has a tooltip.

mod keys;
mod pointed;

use vramscope_protocol::ThemeName;
use web_sys::{Element, HtmlCanvasElement};
use yew::prelude::*;

use crate::canvas::{PlotArea, draw_scene};
use crate::components::flame::window::use_keys_on_show;
use crate::components::hooks::use_plot_area;
use crate::components::tooltip;
use keys::on_keys;
use pointed::{Finder, Pointed};
use vramscope_core::ids::AllocationId;
use vramscope_view::flame::picture::draw;
use vramscope_view::flame::{FlameCell, FlameScene, NodeKey, ROW_CSS, Shape};

/// The boxes of a chart, from an answer of the worker.
pub(super) trait Boxes: Clone + PartialEq + 'static {
    /// The boxes.
    fn scene(&self) -> Option<&FlameScene>;

    /// The keys of the boxes from the root to the focus, both included.
    fn trail(&self) -> Vec<NodeKey>;

    /// The allocation whose path is marked; `None` without one.
    fn marked(&self) -> Option<AllocationId> {
        None
    }

    /// The tooltip of a box, given by its index.
    fn tip(&self, place: usize, cell: &FlameCell) -> Html;
}

#[derive(Properties, PartialEq)]
pub(super) struct BoxChartProps<B: Boxes> {
    /// `None` before the first answer.
    pub(super) boxes: Option<B>,
    pub(super) shape: Shape,
    pub(super) theme: ThemeName,
    /// The style class of the chart.
    pub(super) class: &'static str,
    /// The chart's description for screen readers.
    pub(super) label: Option<AttrValue>,
    /// An identifier of the data. When it changes, the chart scrolls to its focus.
    #[prop_or_default]
    pub(super) subject: AttrValue,
    /// Whether the chart takes the keyboard focus when it appears, unless another element has it.
    #[prop_or_default]
    pub(super) takes_keys: bool,
    /// Called with the size of the chart, for which boxes are to be requested.
    pub(super) on_area: Callback<Option<PlotArea>>,
    /// Called when a box is chosen.
    pub(super) on_choose: Callback<FlameCell>,
    /// Called when the focus is to change; `None` is everything.
    pub(super) on_focus: Callback<Option<NodeKey>>,
    /// Called with the box that is pointed at, when that changes or there are other boxes.
    #[prop_or_default]
    pub(super) on_point: Callback<Option<FlameCell>>,
    /// The content shown over an empty chart.
    #[prop_or_default]
    pub(super) children: Html,
}

#[component]
pub(super) fn BoxChart<B: Boxes>(props: &BoxChartProps<B>) -> Html {
    let stage = use_stage(props);
    use_drawing(&stage, props);
    use_reveal(&stage.scroller, props);
    let scene = props.boxes.as_ref().and_then(B::scene);
    let picture_css = scene.map_or(0.0, |scene| f64::from(scene.rows) * ROW_CSS);
    let box_css = stage.box_css();
    use_mark(&stage.scroller, props);
    let finder = Finder {
        boxes: props.boxes.clone(),
        scroller: stage.scroller.clone(),
        shape: props.shape,
        top_css: margin(props.shape, picture_css, box_css.1),
        scroll_css: *stage.scroll,
    };
    let over = stage.pointed.zip(scene).and_then(|(pointed, scene)| {
        let place = finder.place(pointed)?;
        Some((pointed, place, scene.cells.get(place)?))
    });
    use_pointed(over.map(|(_, _, cell)| cell.clone()), props);
    let outline = over.map(|(_, _, cell)| finder.outline(cell));
    let tip = over.zip(props.boxes.as_ref());
    let tip = tip.map(|((pointed, place, cell), boxes)| {
        let style = tooltip::position(finder.tip_css(pointed, cell), box_css);
        html! { <div class="tooltip" role="tooltip" {style}>{ boxes.tip(place, cell) }</div> }
    });
    let (onpointermove, onpointerleave) = finder.on_pointer(&stage.pointed);
    let onclick = finder.on_click(&props.on_choose);
    let onkeydown = on_keys(finder, &stage.pointed, props);
    // Every child is always present. An optional child would shift its neighbours, and Yew would
    // reuse their elements for others.
    html! {
        <div class={props.class}>
            <div class="flame-scroll" ref={stage.scroller.clone()} tabindex="0" data-scrolls="" role="img"
                aria-label={props.label.clone()} data-boxes={scene.map(|scene| scene.cells.len().to_string())}
                onscroll={stage.on_scroll()} {onpointermove} {onpointerleave} {onclick} {onkeydown}>
                <div class="flame-content" style={format!("height:{}px", picture_css.max(box_css.1))}>
                    <canvas ref={stage.canvas.clone()} style={format!("height:{}px", box_css.1)} />
                    { outline.unwrap_or_default() }
                </div>
            </div>
            { tip.unwrap_or_default() }
            { props.children.clone() }
        </div>
    }
}

/// Distance of the picture from the top of its box: a flame is aligned to the bottom.
fn margin(shape: Shape, picture_css: f64, box_css: f64) -> f64 {
    match shape {
        Shape::Icicle => 0.0,
        Shape::Flame => (box_css - picture_css).max(0.0),
    }
}

/// References to the elements, and their state.
struct Stage {
    scroller: NodeRef,
    canvas: NodeRef,
    area: Option<PlotArea>,
    /// Scroll position, CSS px.
    scroll: UseStateHandle<f64>,
    pointed: UseStateHandle<Option<Pointed>>,
}

#[hook]
fn use_stage<B: Boxes>(props: &BoxChartProps<B>) -> Stage {
    let (scroller, canvas) = (use_node_ref(), use_node_ref());
    use_keys_on_show(&scroller, props.takes_keys);
    let area = use_plot_area(&scroller);
    let stage = Stage {
        scroller,
        canvas,
        area,
        scroll: use_state_eq(|| 0.0_f64),
        pointed: use_state_eq(|| None::<Pointed>),
    };
    let on_area = props.on_area.clone();
    use_effect_with(area, move |area| on_area.emit(*area));
    // With other boxes, the index of the box is no longer valid.
    let pointed = stage.pointed.clone();
    use_effect_with(props.boxes.clone(), move |_| {
        if matches!(*pointed, Some(Pointed::Box(_))) {
            pointed.set(None);
        }
    });
    stage
}

impl Stage {
    fn box_css(&self) -> (f64, f64) {
        self.area
            .map_or((0.0, 0.0), |area| (area.box_width_css, area.box_height_css))
    }

    fn on_scroll(&self) -> Callback<Event> {
        let (scroll, scroller) = (self.scroll.setter(), self.scroller.clone());
        Callback::from(move |_: Event| {
            let top = scroller
                .cast::<Element>()
                .map_or(0, |list| list.scroll_top());
            scroll.set(f64::from(top));
        })
    }
}

/// Tells the box that is pointed at; `None` when the chart goes.
#[hook]
fn use_pointed<B: Boxes>(over: Option<FlameCell>, props: &BoxChartProps<B>) {
    let on_point = props.on_point.clone();
    use_effect_with((over, props.boxes.clone()), move |(over, _)| {
        on_point.emit(over.clone())
    });
    let on_point = props.on_point.clone();
    use_effect_with((), move |()| move || on_point.emit(None));
}

#[hook]
fn use_drawing<B: Boxes>(stage: &Stage, props: &BoxChartProps<B>) {
    let canvas = stage.canvas.clone();
    let look = (*stage.scroll, props.shape, props.theme);
    let what = (stage.area, props.boxes.clone(), look);
    use_effect_with(what, move |(area, boxes, (scroll_css, shape, theme))| {
        let canvas = canvas.cast::<HtmlCanvasElement>();
        let flame = boxes.as_ref().and_then(B::scene);
        if let (Some(canvas), Some(area), Some(flame)) = (canvas, area, flame) {
            let picture_css = f64::from(flame.rows) * ROW_CSS;
            let from_css = scroll_css - margin(*shape, picture_css, area.box_height_css);
            draw_scene(&canvas, area, *theme, |scene, style| {
                draw(scene, &area.whole(), flame, *shape, from_css, style);
            });
        }
    });
}

/// Scrolls to the focus when the focus, the shape or the subject changes; at first, to the root.
#[hook]
fn use_reveal<B: Boxes>(scroller: &NodeRef, props: &BoxChartProps<B>) {
    let scroller = scroller.clone();
    let trail = props.boxes.as_ref().map(B::trail).unwrap_or_default();
    let place = props.boxes.as_ref().and_then(|boxes| {
        let row = u32::try_from(trail.len()).ok()?.checked_sub(1)?;
        Some((row, boxes.scene()?.rows))
    });
    // Runs when the first boxes arrive, because before that there is nothing to scroll.
    let what = (trail.last().copied(), props.shape, props.subject.clone());
    use_effect_with(what, move |(_, shape, _)| {
        let Some(((row, rows), list)) = place.zip(scroller.cast::<Element>()) else {
            return;
        };
        let height = f64::from(list.client_height());
        let top = f64::from(shape.place(row, rows)) * ROW_CSS;
        // Two rows of ancestors stay visible.
        let scroll = match shape {
            Shape::Icicle => top - 2.0 * ROW_CSS,
            Shape::Flame => top + 3.0 * ROW_CSS - height,
        };
        list.set_scroll_top(scroll.max(0.0) as i32);
    });
}

/// Scrolls to the innermost marked box when another allocation is marked.
#[hook]
fn use_mark<B: Boxes>(scroller: &NodeRef, props: &BoxChartProps<B>) {
    let (scroller, shape) = (scroller.clone(), props.shape);
    let scene = props.boxes.as_ref().and_then(B::scene);
    let place = scene.and_then(|scene| Some((scene.marked_row()?, scene.rows)));
    let marked = props.boxes.as_ref().and_then(B::marked);
    use_effect_with(marked, move |_| {
        if let Some(((row, rows), list)) = place.zip(scroller.cast::<Element>()) {
            bring_in(&list, f64::from(shape.place(row, rows)) * ROW_CSS);
        }
    });
}

/// Scrolls no further than it takes to show the row at `y_css` of the picture.
fn bring_in(list: &Element, y_css: f64) {
    let (top, height) = (
        f64::from(list.scroll_top()),
        f64::from(list.client_height()),
    );
    if y_css < top {
        list.set_scroll_top(y_css as i32);
    } else if y_css + ROW_CSS > top + height {
        list.set_scroll_top((y_css + ROW_CSS - height).ceil() as i32);
    }
}
