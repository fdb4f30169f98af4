//! Boxes in rows on a canvas that scrolls: a flame graph, whatever its boxes count. What is pointed at, by the
//! pointer or by keys, is outlined and told in a tooltip.

mod keys;
mod pointed;

use web_sys::{Element, HtmlCanvasElement};
use yew::prelude::*;

use crate::canvas::{PlotArea, draw_scene};
use crate::components::flame::window::use_keys_on_show;
use crate::components::hooks::use_plot_area;
use crate::components::tooltip;
use crate::protocol::ThemeName;
use keys::on_keys;
use pointed::{Finder, Pointed};
use vramscope_view::flame::picture::draw;
use vramscope_view::flame::{FlameCell, FlameScene, NodeKey, ROW_CSS, Shape};

/// What a chart shows: boxes that came with an answer.
pub(super) trait Boxes: Clone + PartialEq + 'static {
    /// The boxes.
    fn scene(&self) -> Option<&FlameScene>;

    /// The keys of the boxes from the root to what is in focus, both included.
    fn trail(&self) -> Vec<NodeKey>;

    /// What a box is, by its place among all.
    fn tip(&self, place: usize, cell: &FlameCell) -> Html;
}

#[derive(Properties, PartialEq)]
pub(super) struct BoxChartProps<B: Boxes> {
    /// `None` until the first answer is there.
    pub(super) boxes: Option<B>,
    pub(super) shape: Shape,
    pub(super) theme: ThemeName,
    /// The style sheet's name for the chart's surroundings.
    pub(super) class: &'static str,
    /// What the chart is, for those who do not see it.
    pub(super) label: Option<AttrValue>,
    /// What the boxes are of: with another subject the chart scrolls to its focus.
    #[prop_or_default]
    pub(super) subject: AttrValue,
    /// Whether the chart gets the keys once it is shown, as far as nothing else has them.
    #[prop_or_default]
    pub(super) takes_keys: bool,
    /// Hears how large the chart is, for which its boxes are to be asked.
    pub(super) on_area: Callback<Option<PlotArea>>,
    /// A box is chosen.
    pub(super) on_choose: Callback<FlameCell>,
    /// Another focus is wanted; `None` is everything.
    pub(super) on_focus: Callback<Option<NodeKey>>,
    /// What is said over a chart without boxes.
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
    let finder = Finder {
        boxes: props.boxes.clone(),
        scroller: stage.scroller.clone(),
        shape: props.shape,
        top_css: margin(props.shape, picture_css, box_css.1),
    };
    let over = stage
        .pointed
        .zip(scene)
        .and_then(|(pointed, scene)| Some((pointed, scene.cells.get(pointed.place)?)));
    let outline = over.map(|(_, cell)| finder.outline(cell));
    let tip = over.zip(props.boxes.as_ref());
    let tip = tip.map(|((pointed, cell), boxes)| {
        let style = tooltip::position(pointed.at, box_css);
        html! { <div class="tooltip" role="tooltip" {style}>{ boxes.tip(pointed.place, cell) }</div> }
    });
    let (onpointermove, onpointerleave) = finder.on_pointer(&stage.pointed);
    let onclick = finder.on_click(&props.on_choose);
    let onkeydown = on_keys(finder, &stage.pointed, props);
    // Each place always has a node: an optional one would shift its neighbours onto each other's elements.
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

/// Where the picture begins in its box: a flame stands on the floor.
fn margin(shape: Shape, picture_css: f64, box_css: f64) -> f64 {
    match shape {
        Shape::Icicle => 0.0,
        Shape::Flame => (box_css - picture_css).max(0.0),
    }
}

/// The elements, and what the user does with them.
struct Stage {
    scroller: NodeRef,
    canvas: NodeRef,
    area: Option<PlotArea>,
    /// How far it is scrolled, CSS px.
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
    // Other boxes, other places.
    let pointed = stage.pointed.setter();
    use_effect_with(props.boxes.clone(), move |_| pointed.set(None));
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

/// Scrolls to what is in focus when that, the shape or the subject changes: to the root at first.
#[hook]
fn use_reveal<B: Boxes>(scroller: &NodeRef, props: &BoxChartProps<B>) {
    let scroller = scroller.clone();
    let trail = props.boxes.as_ref().map(B::trail).unwrap_or_default();
    let place = props.boxes.as_ref().and_then(|boxes| {
        let row = u32::try_from(trail.len()).ok()?.checked_sub(1)?;
        Some((row, boxes.scene()?.rows))
    });
    // Once there is something to scroll in.
    let what = (trail.last().copied(), props.shape, props.subject.clone());
    use_effect_with(what, move |(_, shape, _)| {
        let Some(((row, rows), list)) = place.zip(scroller.cast::<Element>()) else {
            return;
        };
        let height = f64::from(list.client_height());
        let top = f64::from(shape.place(row, rows)) * ROW_CSS;
        // With two rows of what is above the focus.
        let scroll = match shape {
            Shape::Icicle => top - 2.0 * ROW_CSS,
            Shape::Flame => top + 3.0 * ROW_CSS - height,
        };
        list.set_scroll_top(scroll.max(0.0) as i32);
    });
}
