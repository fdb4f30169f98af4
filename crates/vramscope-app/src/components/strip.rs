//! The strip above the timeline: active and reserved memory over the whole recording, and a brush.

use std::cell::RefCell;
use std::rc::Rc;

use vramscope_protocol::views::lanes::{Answer, Question, StepMarks};
use vramscope_protocol::{Axis, Bounds, Look, Minimap, MinimapOf};
use web_sys::{Element, HtmlElement};
use yew::prelude::*;

use super::camera::Camera;
use super::commands::use_commands;
use super::hooks::{use_answer, use_plot_area, use_seen};
use super::strip_picture::{StripLines, use_strip_picture};
use crate::engine::Session;
use crate::state::brush::{self, Brush};
use crate::state::{Action, Navigation, Shared, lane_words};
use vramscope_core::model::DeviceIndex;

#[derive(Properties, PartialEq)]
pub(super) struct StripProps {
    pub(super) session: Session,
    pub(super) look: Look,
    /// Its curves; `None` until they arrive.
    pub(super) minimap: Option<Shared<Minimap>>,
    /// The bounds of the whole axis.
    pub(super) bounds: Bounds,
    /// The device's capacity; `None` if unknown.
    pub(super) capacity_bytes: Option<u64>,
    /// The cursor's position on the x axis.
    pub(super) cursor_x: Option<f64>,
    /// The selected range on the x axis.
    pub(super) range: Option<(f64, f64)>,
}

#[component]
pub(super) fn Strip(props: &StripProps) -> Html {
    let commands = use_commands();
    let node = use_node_ref();
    let area = use_plot_area(&node);
    let minimap = props.minimap.clone();
    let steps = use_steps(props);
    let lines = StripLines {
        steps: steps.clone(),
        capacity_bytes: props.capacity_bytes,
    };
    let picture = use_strip_picture(&minimap, lines, area, props.look.theme);
    let x_end = props.bounds.x_end;
    let handlers = use_brush(&node, x_end);
    let seen = use_brush_place(x_end);
    let ondblclick = commands.on(Action::Navigate(Navigation::FitAll));
    let percent = |x: f64| format!("{}%", x / x_end * 100.0);
    html! {
        <div class="strip">
        <p class="key">
            if minimap.as_ref().is_some_and(|minimap| !minimap.curves.reserved_bytes.is_empty()) {
                <span class="reserved">{ "reserved" }</span>
            }
            <span class="active">{ "live" }</span>
            if minimap.as_ref().is_some_and(|it| it.curves.shown_capacity(props.capacity_bytes).is_some()) {
                <span class="capacity">{ "capacity" }</span>
            }
            if let Some(title) = steps.as_ref().and_then(lane_words::steps) {
                <span class="steps" {title}>{ "steps" }</span>
            }
        </p>
        <div class="field" ref={node} role="img" title="Drag to show a range; double click shows everything"
            aria-label="Live and reserved memory over the whole recording"
            onpointerdown={handlers.onpointerdown} onpointermove={handlers.onpointermove} onpointerup={handlers.onpointerup}
            onpointercancel={handlers.onlostpointercapture.clone()} onlostpointercapture={handlers.onlostpointercapture} {ondblclick}>
            { (*picture).clone() }
            if let Some((from, to)) = props.range {
                <div class="selected" style={format!("left:{};width:{}", percent(from), percent(to - from))} />
            }
            if let Some(x) = props.cursor_x {
                <div class="at" style={format!("left:{}", percent(x))} />
            }
            <div class="seen" ref={seen}><div class="shade" /><div class="shade after" /><div class="brush" /></div>
        </div>
        </div>
    }
}

/// The listeners that move the brush.
struct BrushHandlers {
    onpointerdown: Callback<PointerEvent>,
    onpointermove: Callback<PointerEvent>,
    onpointerup: Callback<PointerEvent>,
    onlostpointercapture: Callback<PointerEvent>,
}

/// The node of the brush and the shades beside it, for the visible part of an axis that ends at `x_end`.
#[hook]
fn use_brush_place(x_end: f64) -> NodeRef {
    let node = use_node_ref();
    let of = node.clone();
    use_seen(x_end, move |x_end, seen| {
        let Some(element) = of.cast::<HtmlElement>() else {
            return;
        };
        let (from, to) = (seen.viewport.x_min / x_end, seen.viewport.x_max / x_end);
        for (name, share) in [("--from", from), ("--to", to)] {
            let _ = element.style().set_property(name, &share.to_string());
        }
        let _ = element.toggle_attribute_with_force("hidden", from <= 0.0 && to >= 1.0);
    });
    node
}

/// Lets the user drag the brush. A click moves it there.
#[hook]
fn use_brush(node: &NodeRef, x_end: f64) -> BrushHandlers {
    let commands = use_commands();
    let hand = Hand {
        node: node.clone(),
        held: use_mut_ref(|| None),
        x_end,
        camera: commands.camera,
        dispatch: commands.dispatch,
    };
    let listener = |listen: fn(&Hand, &PointerEvent)| {
        let hand = hand.clone();
        Callback::from(move |event: PointerEvent| listen(&hand, &event))
    };
    BrushHandlers {
        onpointerdown: listener(Hand::press),
        onpointermove: listener(Hand::drag),
        onpointerup: listener(Hand::release),
        // The browser has taken the pointer, so the brush is released.
        onlostpointercapture: listener(|hand, _| *hand.held.borrow_mut() = None),
    }
}

/// The data that all listeners share.
#[derive(Clone)]
struct Hand {
    node: NodeRef,
    held: Rc<RefCell<Option<Brush>>>,
    x_end: f64,
    camera: Camera,
    dispatch: Callback<Action>,
}

impl Hand {
    fn press(&self, event: &PointerEvent) {
        if event.button() != 0 {
            return;
        }
        let (x, width) = self.at(event);
        let shown = self.shown_css(width);
        *self.held.borrow_mut() = Some(Brush::press(x, shown, width));
        if let Some(element) = event.target_dyn_into::<HtmlElement>() {
            let _ = element.set_pointer_capture(event.pointer_id());
        }
    }

    fn drag(&self, event: &PointerEvent) {
        let (x, width) = self.at(event);
        let held = *self.held.borrow();
        if let Some(range_css) = held.and_then(|brush| brush.moved(x, width)) {
            self.show(range_css, width);
        }
    }

    /// Ends a drag. After a click without a drag, centres the brush at the pointer.
    fn release(&self, event: &PointerEvent) {
        let (x, width) = self.at(event);
        let Some(brush) = self.held.take() else {
            return;
        };
        if brush.moved(x, width).is_none() {
            self.show(brush::centred(x, self.shown_css(width), width), width);
        }
    }

    /// The pointer's position and the strip's width, CSS px.
    fn at(&self, event: &PointerEvent) -> (f64, f64) {
        let strip = self.node.cast::<Element>();
        let strip = strip.map(|strip| strip.get_bounding_client_rect());
        strip.map_or((0.0, 1.0), |strip| {
            (
                f64::from(event.client_x()) - strip.left(),
                strip.width().max(1.0),
            )
        })
    }

    /// The brush's ends on a strip of this width, CSS px.
    fn shown_css(&self, width: f64) -> (f64, f64) {
        let css = |x: f64| x / self.x_end * width;
        let seen = self.camera.seen();
        seen.map_or((0.0, width), |seen| (css(seen.x_min), css(seen.x_max)))
    }

    fn show(&self, (from, to): (f64, f64), width: f64) {
        let x = |css: f64| css / width * self.x_end;
        let range = Navigation::ShowX(x(from), x(to));
        self.dispatch.emit(Action::Navigate(range));
    }
}

/// The curves over the whole recording in `columns` columns.
#[hook]
pub(super) fn use_minimap(
    session: &Session,
    device: DeviceIndex,
    axis: Axis,
    columns: Option<u32>,
) -> Option<Shared<Minimap>> {
    let question = columns.map(|columns| MinimapOf {
        device,
        axis,
        columns,
    });
    let answered = use_answer(session, question)?;
    let asked = (answered.question.device, answered.question.axis);
    answered.answer.filter(|_| asked == (device, axis))
}

/// The training steps on the current axis.
#[hook]
fn use_steps(props: &StripProps) -> Option<StepMarks> {
    let question = Question::Steps {
        device: props.look.device,
        axis: props.look.axis,
    };
    let answered = use_answer(&props.session, Some(question.clone()))?;
    let answer = answered.answer.filter(|_| answered.question == question)?;
    match &*answer {
        Answer::Steps(steps) => Some(steps.clone()),
        _ => None,
    }
}
