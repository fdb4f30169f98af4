//! The strip above the timeline: active and reserved memory over the whole recording, and a brush.

use web_sys::{Element, HtmlElement};
use yew::prelude::*;

use super::commands::use_commands;
use super::hooks::{use_answer, use_plot_area};
use super::strip_picture::{self, StripLines};
use crate::engine::Session;
use crate::protocol::views::lanes::{Answer, Question, StepMarks};
use crate::protocol::{Bounds, Look, Overview, Request};
use crate::state::brush::{self, Brush};
use crate::state::{Action, Navigation, Region, Shared, lane_words};

/// Properties of [`Strip`].
#[derive(Properties, PartialEq)]
pub(super) struct StripProps {
    pub(super) session: Session,
    pub(super) look: Look,
    /// The whole of the axis.
    pub(super) bounds: Bounds,
    pub(super) region: Region,
    pub(super) overview: Option<Shared<Overview>>,
    /// The device's capacity, where it is known.
    pub(super) capacity_bytes: Option<u64>,
    /// Where the cursor is.
    pub(super) cursor_x: Option<f64>,
    /// What is selected.
    pub(super) range: Option<(f64, f64)>,
}

/// The strip.
#[component]
pub(super) fn Strip(props: &StripProps) -> Html {
    let commands = use_commands();
    let node = use_node_ref();
    let area = use_plot_area(&node);
    let width_px = area.map(|area| area.box_px().0);
    use_effect_with(
        (
            props.session.clone(),
            props.look.device,
            props.look.axis,
            width_px,
        ),
        |(session, device, axis, width_px)| {
            if let Some(columns) = *width_px {
                session.ask(&Request::Overview {
                    device: *device,
                    axis: *axis,
                    columns,
                });
            }
        },
    );
    let steps = use_steps(props);
    // Panning and zooming move the brush only.
    let picture = use_memo(
        (
            props.overview.clone(),
            steps.clone(),
            area,
            props.look.theme,
            props.capacity_bytes,
        ),
        |(overview, steps, area, theme, capacity_bytes)| {
            let (overview, area) = overview.as_ref().zip(*area)?;
            let steps = steps.as_ref().map_or(&[][..], |steps| &steps.starts);
            let lines = StripLines {
                steps,
                capacity_bytes: *capacity_bytes,
            };
            Some(Html::from_html_unchecked(
                strip_picture::svg(overview, &lines, area, *theme).into(),
            ))
        },
    );
    let held = use_mut_ref(|| None::<Brush>);
    // The pointer's place and the strip's width, CSS px.
    let at = {
        let node = node.clone();
        move |event: &PointerEvent| {
            let strip = node
                .cast::<Element>()
                .map(|strip| strip.get_bounding_client_rect());
            strip.map_or((0.0, 1.0), |strip| {
                (
                    f64::from(event.client_x()) - strip.left(),
                    strip.width().max(1.0),
                )
            })
        }
    };
    let (x_end, region) = (props.bounds.x_end, props.region);
    let shown = move |width: f64| (region.x_min / x_end * width, region.x_max / x_end * width);
    let onpointerdown = {
        let (held, at) = (held.clone(), at.clone());
        Callback::from(move |event: PointerEvent| {
            if event.button() != 0 {
                return;
            }
            let (x, width) = at(&event);
            *held.borrow_mut() = Some(Brush::press(x, shown(width), width));
            if let Some(element) = event.target_dyn_into::<HtmlElement>() {
                let _ = element.set_pointer_capture(event.pointer_id());
            }
        })
    };
    let onpointermove = {
        let (held, dispatch, at) = (held.clone(), commands.dispatch.clone(), at.clone());
        Callback::from(move |event: PointerEvent| {
            let (x, width) = at(&event);
            if let Some((from, to)) = held
                .borrow()
                .as_ref()
                .and_then(|brush| brush.moved(x, width))
            {
                let data = |css: f64| css / width * x_end;
                dispatch.emit(Action::Navigate(Navigation::ShowX(data(from), data(to))));
            }
        })
    };
    let onpointerup = {
        let (held, dispatch) = (held.clone(), commands.dispatch.clone());
        Callback::from(move |event: PointerEvent| {
            let (x, width) = at(&event);
            let Some(brush) = held.borrow_mut().take() else {
                return;
            };
            if brush.moved(x, width).is_none() {
                let (from, to) = brush::centred(x, shown(width), width);
                let data = |css: f64| css / width * x_end;
                dispatch.emit(Action::Navigate(Navigation::ShowX(data(from), data(to))));
            }
        })
    };
    // The system has taken the pointer for itself: it holds the brush no longer.
    let onlostpointercapture = {
        let held = held.clone();
        Callback::from(move |_: PointerEvent| {
            held.borrow_mut().take();
        })
    };
    let onpointercancel = onlostpointercapture.clone();
    let ondblclick = commands.on(Action::Navigate(Navigation::FitAll));
    let percent = |x: f64| format!("{}%", x / x_end * 100.0);
    let is_whole = region.x_min <= 0.0 && region.x_max >= x_end;
    html! {
        <div class="strip">
        <p class="key">
            if props.overview.as_ref().is_some_and(|overview| !overview.reserved_bytes.is_empty()) {
                <span class="reserved">{ "reserved" }</span>
            }
            <span class="active">{ "active" }</span>
            if props.capacity_bytes.is_some() {
                <span class="capacity">{ "capacity" }</span>
            }
            if let Some(title) = steps.as_ref().and_then(lane_words::steps) {
                <span class="steps" {title}>{ "steps" }</span>
            }
        </p>
        <div class="field" ref={node} role="img" title="Drag to show a range; double click shows everything"
            aria-label="Active and reserved memory over the whole recording"
            {onpointerdown} {onpointermove} {onpointerup} {onpointercancel} {onlostpointercapture} {ondblclick}>
            { (*picture).clone() }
            if let Some((from, to)) = props.range {
                <div class="selected" style={format!("left:{};width:{}", percent(from), percent(to - from))} />
            }
            if let Some(x) = props.cursor_x {
                <div class="at" style={format!("left:{}", percent(x))} />
            }
            if !is_whole {
                <div class="shade" style={format!("left:0;width:{}", percent(region.x_min))} />
                <div class="shade" style={format!("left:{};right:0", percent(region.x_max))} />
                <div class="brush" style={format!("left:{};width:{}", percent(region.x_min), percent(region.x_max - region.x_min))} />
            }
        </div>
        </div>
    }
}

/// The training steps on the axis shown.
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
