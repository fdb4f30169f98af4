//! The segments with their blocks: a canvas that stays in sight, with headings and outlines that scroll.

use std::cell::RefCell;
use std::rc::Rc;

use gloo::events::{EventListener, EventListenerOptions};
use vramscope_protocol::Look;
use vramscope_protocol::views::allocator::{
    Answer, DrawState, Drawn, Outline, Question, RectCss, Tip, TipOn, Window,
};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlCanvasElement, ImageBitmap, MouseEvent, WheelEvent};
use yew::prelude::*;

use super::notes::Notes;
use super::summary::{Summary, group_head};
use super::tip::tip;
use crate::canvas::{PlotArea, show_bitmap};
use crate::components::commands::use_commands;
use crate::components::hooks::{
    Answered, use_answer, use_answer_ahead, use_painted, use_plot_area,
};
use crate::components::tooltip;
use crate::engine::Session;
use crate::state::choices::AllocatorChoices;
use crate::state::{Action, PinnedGroup, Shared, Walk};
use vramscope_core::ids::AllocationId;

/// Zoom factor of a click where several blocks share the pixel.
const CLOSER: f64 = 8.0;
/// Zoom factor of one notch of the wheel.
const NOTCH: f64 = 1.25;
/// Space around a line that is scrolled into view, CSS px.
const AIR_CSS: f64 = 32.0;

#[derive(Properties, PartialEq)]
pub(super) struct StatePictureProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) moment: u32,
    /// The last moment.
    pub(super) last: u32,
    pub(super) pinned: Option<AllocationId>,
    pub(super) choices: AllocatorChoices,
    pub(super) choose: Callback<AllocatorChoices>,
}

/// The latest picture from the worker.
#[derive(Clone, PartialEq)]
struct DrawnPicture {
    draw: DrawState,
    answer: Shared<Answer>,
    bitmap: Option<ImageBitmap>,
}

impl DrawnPicture {
    fn of(answered: Answered<Question>) -> Option<Self> {
        let Question::Draw(draw) = answered.question else {
            return None;
        };
        Some(Self {
            draw,
            answer: answered.answer?,
            bitmap: answered.attachment.dyn_into().ok(),
        })
    }

    fn drawn(&self) -> Option<&Drawn> {
        match &*self.answer {
            Answer::Drawn(drawn) => Some(drawn),
            _ => None,
        }
    }
}

#[component]
pub(super) fn StatePicture(props: &StatePictureProps) -> Html {
    let commands = use_commands();
    let (scroller, canvas) = (use_node_ref(), use_node_ref());
    let area = use_plot_area(&scroller);
    let top = use_state_eq(|| 0.0_f64);
    let at = use_state_eq(|| None::<(f64, f64)>);
    // The top to scroll to, once the picture is drawn at another scale.
    let wanted_top = use_mut_ref(|| None::<f64>);

    let draw = area.map(|area| draw_state(props, area, *top));
    let shown = use_drawn_picture(props, draw.clone());
    use_canvas(&canvas, area, &shown, *top);
    use_scrolling(&scroller, props, &shown, wanted_top.clone());

    let hovered = use_hovered(props, *at, area, draw);
    let tip_now = hovered.as_deref().and_then(|answer| match answer {
        Answer::Tip(tip) => tip.as_deref(),
        _ => None,
    });
    let zoom = on_zoom(props, *top, wanted_top);
    use_wheel_zoom(&scroller, zoom.clone());
    let onscroll = on_scroll(&scroller, top.setter());
    let (onpointermove, onpointerleave) = on_pointer(&scroller, at.setter());
    let onclick = on_click(tip_now, &commands.dispatch);
    let ondblclick = on_double_click(tip_now, &zoom, &scroller);
    let drawn = shown.as_ref().and_then(DrawnPicture::drawn);
    let box_css = area.map_or((0.0, 0.0), |area| (area.box_width_css, area.box_height_css));
    let height_css = drawn.map_or(0.0, |drawn| drawn.height_css).max(box_css.1);
    let middle = box_css.1 / 2.0;
    let on_zoom = zoom.reform(move |factor: f64| (factor, middle));
    html! {
        <div class="state-picture">
            if let Some(drawn) = drawn {
                <Summary total={drawn.total} zoom={props.choices.zoom} {on_zoom} />
                <Notes misfits={drawn.misfits} check={drawn.check} has_segments={drawn.total.segments > 0} />
            }
            <div class="state-box">
                <div class="state-scroll" ref={scroller} tabindex="0" role="img" aria-label={drawn.map_or_else(|| "The allocator's state".to_owned(), described)}
                    data-moment={drawn.map(|drawn| drawn.moment.to_string())}
                    data-reserved={drawn.map(|drawn| drawn.total.reserved_bytes.to_string())}
                    {onscroll} {onpointermove} {onpointerleave} {onclick} {ondblclick}>
                    <div class="state-content" style={format!("height:{height_css}px")}>
                        <canvas ref={canvas} style={format!("height:{}px", box_css.1)} />
                        if let Some(drawn) = drawn {
                            { for drawn.groups.iter().map(group_head) }
                            { outline(&drawn.changed, "changed") }
                            { outline(&drawn.pinned, "pinned") }
                        }
                        if let Some(tip) = tip_now { { rects(&tip.rects, "hovered") } }
                    </div>
                </div>
                if let (Some(at), Some(now)) = (*at, tip_now) {
                    <div class="tooltip state-tip" role="tooltip" style={tooltip::position(at, box_css)}>{ tip(now) }</div>
                }
            </div>
        </div>
    }
}

/// The latest picture of the current device. That of the next step is drawn ahead.
#[hook]
fn use_drawn_picture(props: &StatePictureProps, draw: Option<DrawState>) -> Option<DrawnPicture> {
    let walk = use_mut_ref(Walk::default);
    let next = walk.borrow_mut().next(props.moment);
    let next = next.filter(|&moment| moment <= props.last);
    let ahead = (draw.clone().zip(next)).map(|(draw, moment)| DrawState { moment, ..draw });
    let (question, ahead) = (draw.map(Question::Draw), ahead.map(Question::Draw));
    let answered = use_answer_ahead(&props.session, question, ahead);
    // In another device, the same rows are other allocations.
    let is_of_device = |question: &Question| matches!(question, Question::Draw(draw) if draw.look.device == props.look.device);
    let shown = answered
        .filter(|answered| is_of_device(&answered.question))
        .and_then(DrawnPicture::of);
    use_painted(
        "allocator",
        shown.as_ref().map(|shown| shown.answer.clone()),
    );
    shown
}

/// What is under the pointer. Answers for another position or moment are ignored, so that they are
/// never clicked.
#[hook]
fn use_hovered(
    props: &StatePictureProps,
    at: Option<(f64, f64)>,
    area: Option<PlotArea>,
    draw: Option<DrawState>,
) -> Option<Shared<Answer>> {
    let hit = at
        .zip(area)
        .zip(draw)
        .map(|((at, area), draw)| Question::Hit {
            draw,
            at_px: (at.0 * area.pixel_ratio, at.1 * area.pixel_ratio),
        });
    let hovered = use_answer(&props.session, hit.clone())?;
    hovered
        .answer
        .filter(|_| Some(&hovered.question) == hit.as_ref())
}

/// Zooms by a factor. The lines at a position of the box (CSS px) stay where they are.
fn on_zoom(
    props: &StatePictureProps,
    top: f64,
    wanted_top: Rc<RefCell<Option<f64>>>,
) -> Callback<(f64, f64)> {
    let (choices, choose) = (props.choices.clone(), props.choose.clone());
    Callback::from(move |(factor, y_css): (f64, f64)| {
        let next = choices.zoomed(factor);
        *wanted_top.borrow_mut() = Some((top + y_css) * next.zoom / choices.zoom - y_css);
        choose.emit(next);
    })
}

fn on_scroll(scroller: &NodeRef, top: UseStateSetter<f64>) -> Callback<Event> {
    let scroller = scroller.clone();
    Callback::from(move |_: Event| {
        let place = scroller.cast::<Element>();
        top.set(f64::from(place.map_or(0, |place| place.scroll_top())));
    })
}

/// Listeners for moving and leaving of the pointer.
fn on_pointer(
    scroller: &NodeRef,
    at: UseStateSetter<Option<(f64, f64)>>,
) -> (Callback<PointerEvent>, Callback<PointerEvent>) {
    let (scroller, setter) = (scroller.clone(), at.clone());
    let onpointermove =
        Callback::from(move |event: PointerEvent| setter.set(place(&scroller, &event)));
    let onpointerleave = Callback::from(move |_: PointerEvent| at.set(None));
    (onpointermove, onpointerleave)
}

fn draw_state(props: &StatePictureProps, area: PlotArea, top: f64) -> DrawState {
    let (width_px, height_px) = area.box_px();
    DrawState {
        look: props.look.clone(),
        moment: props.moment,
        window: Window {
            width_px,
            height_px,
            pixel_ratio: area.pixel_ratio,
            zoom: props.choices.zoom,
            top_px: (top * area.pixel_ratio).round() as u32,
        },
        pinned: props.pinned,
    }
}

/// A description of the picture for screen readers.
fn described(drawn: &Drawn) -> String {
    super::summary::sentence(&drawn.total)
}

fn place(scroller: &NodeRef, event: &MouseEvent) -> Option<(f64, f64)> {
    let bounds = scroller.cast::<Element>()?.get_bounding_client_rect();
    Some((
        f64::from(event.client_x()) - bounds.left(),
        f64::from(event.client_y()) - bounds.top(),
    ))
}

/// Pins the clicked block, or the blocks that share the pixel.
fn on_click(tip: Option<&Tip>, dispatch: &Callback<Action>) -> Callback<MouseEvent> {
    match tip.map(|tip| &tip.on) {
        Some(TipOn::Block { preview, .. }) => {
            let id = preview.allocation;
            dispatch.reform(move |_| Action::Pin(id))
        }
        Some(TipOn::Several { composition, .. }) if composition.top.count > 0 => {
            let group = PinnedGroup::of(composition.clone());
            dispatch.reform(move |_| Action::PinGroup(group.clone()))
        }
        _ => Callback::noop(),
    }
}

/// Goes closer where several blocks share the pixel.
fn on_double_click(
    tip: Option<&Tip>,
    zoom: &Callback<(f64, f64)>,
    scroller: &NodeRef,
) -> Callback<MouseEvent> {
    let is_shared = tip.is_some_and(|tip| matches!(tip.on, TipOn::Several { .. }));
    let (zoom, scroller) = (zoom.clone(), scroller.clone());
    Callback::from(move |event: MouseEvent| {
        if let Some((_, y_css)) = place(&scroller, &event).filter(|_| is_shared) {
            zoom.emit((CLOSER, y_css));
        }
    })
}

fn outline(outline: &Outline, class: &'static str) -> Html {
    rects(&outline.rects, class)
}

fn rects(rects: &[RectCss], class: &'static str) -> Html {
    let rect = |[left, top, right, bottom]: &RectCss| {
        let style = format!(
            "left:{left}px;top:{top}px;width:{}px;height:{}px",
            (right - left).max(2.0),
            bottom - top
        );
        html! { <div class={classes!("state-outline", class)} {style} /> }
    };
    html! { { for rects.iter().map(rect) } }
}

/// Draws the bitmap on the canvas, shifted by the distance scrolled since it was requested.
#[hook]
fn use_canvas(canvas: &NodeRef, area: Option<PlotArea>, shown: &Option<DrawnPicture>, top: f64) {
    let canvas = canvas.clone();
    use_effect_with((area, shown.clone(), top), move |(area, shown, top)| {
        let canvas = canvas.cast::<HtmlCanvasElement>();
        let (Some(canvas), Some(area), Some(shown)) = (canvas, area, shown) else {
            return;
        };
        if let Some(bitmap) = &shown.bitmap {
            let now = (top * area.pixel_ratio).round();
            let down_px = f64::from(shown.draw.window.top_px) - now;
            show_bitmap(&canvas, area.box_px(), bitmap, down_px);
        }
    });
}

/// Scrolls after zooming so that the pointer stays over the same lines; and scrolls to what was
/// pinned or changed by a step.
#[hook]
fn use_scrolling(
    scroller: &NodeRef,
    props: &StatePictureProps,
    shown: &Option<DrawnPicture>,
    wanted_top: Rc<RefCell<Option<f64>>>,
) {
    let node = scroller.clone();
    let zoom = shown.as_ref().map(|shown| shown.draw.window.zoom);
    use_effect_with(zoom, move |_| {
        let wanted = wanted_top.borrow_mut().take();
        if let (Some(top), Some(element)) = (wanted, node.cast::<Element>()) {
            element.set_scroll_top(top.max(0.0) as i32);
        }
    });
    let drawn = shown.as_ref().and_then(DrawnPicture::drawn);
    let is_now = drawn.is_some_and(|drawn| drawn.moment == props.moment);
    let changed = drawn
        .filter(|_| is_now)
        .map(|drawn| (drawn.moment, drawn.changed.line_css));
    let node = scroller.clone();
    // A step scrolls to its change, but the first picture stays at its top.
    let is_first = use_mut_ref(|| true);
    use_effect_with(changed, move |changed| {
        if let Some((_, Some(line))) = changed
            && !std::mem::replace(&mut *is_first.borrow_mut(), false)
        {
            reveal(&node, *line);
        }
    });
    let pinned = shown.as_ref().and_then(|shown| {
        let drawn = shown.drawn()?;
        Some((shown.draw.pinned?, drawn.pinned.line_css?))
    });
    let node = scroller.clone();
    use_effect_with(pinned.map(|(id, _)| id), move |_| {
        if let Some((_, line)) = pinned {
            reveal(&node, line);
        }
    });
}

fn reveal(scroller: &NodeRef, (from, to): (f64, f64)) {
    let Some(element) = scroller.cast::<Element>() else {
        return;
    };
    let (top, height) = (
        f64::from(element.scroll_top()),
        f64::from(element.client_height()),
    );
    if from < top {
        element.set_scroll_top((from - AIR_CSS).max(0.0) as i32);
    } else if to > top + height {
        element.set_scroll_top((to + AIR_CSS - height) as i32);
    }
}

/// The wheel zooms with Ctrl, or by a pinch on a touchpad; otherwise it scrolls.
#[hook]
fn use_wheel_zoom(scroller: &NodeRef, zoom: Callback<(f64, f64)>) {
    let latest = use_mut_ref(|| zoom.clone());
    *latest.borrow_mut() = zoom;
    let node = scroller.clone();
    use_effect_with((), move |()| {
        // Yew's own listener is passive and cannot keep the browser from zooming the page.
        let options = EventListenerOptions::enable_prevent_default();
        let listener = node.cast::<Element>().map(|element| {
            EventListener::new_with_options(&element, "wheel", options, move |event| {
                let Some(event) = event.dyn_ref::<WheelEvent>() else {
                    return;
                };
                if !(event.ctrl_key() || event.meta_key()) {
                    return;
                }
                event.prevent_default();
                if let Some((_, y_css)) = place(&node, event) {
                    let notches = (-event.delta_y() / 100.0).clamp(-4.0, 4.0);
                    latest.borrow().emit((NOTCH.powf(notches), y_css));
                }
            })
        });
        move || drop(listener)
    });
}
