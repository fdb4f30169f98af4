//! The timeline: canvases, what pointers do to them, and what floats above.

use web_sys::{HtmlCanvasElement, HtmlElement};
use yew::prelude::*;

use super::commands::use_commands;
use super::hooks::{use_plot_area, use_wheel};
use super::marks::Marks;
use super::tooltip::Tooltip;
use crate::canvas::{BoxCss, Canvases, PlotArea, TimelineCanvas};
use crate::engine::Session;
use crate::protocol::{Bounds, DrawRequest, Look, Request};
use crate::state::gesture::{DragKind, Gesture, Outcome, Point};
use crate::state::{Action, DeviceView, Navigation, sentences};

/// Properties of [`Timeline`].
#[derive(Properties, PartialEq)]
pub(super) struct TimelineProps {
    pub(super) session: Session,
    pub(super) look: Look,
    /// The whole of the axis.
    pub(super) bounds: Bounds,
    pub(super) view: DeviceView,
    /// Whether the next drag zooms to a box.
    pub(super) box_mode: bool,
}

/// The timeline of one device.
#[component]
pub(super) fn Timeline(props: &TimelineProps) -> Html {
    let commands = use_commands();
    let stage = use_node_ref();
    let area = use_plot_area(&stage);
    let nodes = [use_node_ref(), use_node_ref(), use_node_ref()];
    let canvas = use_canvas(&props.session, &nodes);
    let pointer = use_state_eq(|| None::<Point>);
    let draft = use_state_eq(|| None::<(DragKind, Point, Point)>);
    let gesture = use_mut_ref(Gesture::default);

    use_picture(&canvas, area, props, *pointer);
    use_wheel(&stage, area, commands.dispatch.clone());
    {
        let boxed = draft.filter(|(kind, ..)| *kind == DragKind::Box);
        use_effect_with((canvas.clone(), boxed), |(canvas, boxed)| {
            if let Some(canvas) = &**canvas {
                canvas.select(boxed.map(|(_, from, to)| BoxCss { from, to }));
            }
        });
    }

    use_effect_with(
        (props.session.clone(), props.look.device, props.look.axis, props.view.range),
        |(session, device, axis, range)| {
            if let Some(x) = *range {
                session.ask(&Request::Range { device: *device, axis: *axis, x });
            }
        },
    );
    use_effect_with(
        (props.session.clone(), props.look.device, props.view.came_from),
        |(session, device, came_from)| {
            if let Some((axis, x)) = *came_from {
                session.ask(&Request::Range { device: *device, axis, x });
            }
        },
    );

    let apply = {
        let (dispatch, draft) = (commands.dispatch.clone(), draft.clone());
        move |outcome: Outcome| {
            if let Some(area) = area {
                draft.set(match outcome {
                    Outcome::Draft(kind, from, to) => Some((kind, from, to)),
                    _ => None,
                });
                act_on(outcome, &area, &dispatch);
            }
        }
    };
    let onpointerdown = {
        let (gesture, pointer, box_mode) = (gesture.clone(), pointer.clone(), props.box_mode);
        Callback::from(move |event: PointerEvent| {
            let Some(at) = place(&event).filter(|_| event.button() == 0) else { return };
            let kind = match (box_mode, event.alt_key()) {
                (true, _) => DragKind::Box,
                (false, true) => DragKind::Range,
                (false, false) => DragKind::Pan,
            };
            gesture.borrow_mut().press(event.pointer_id(), at, kind);
            // A finger has not hovered: what it taps must be asked for.
            pointer.set(Some(at));
            if let Some(element) = event.target_dyn_into::<HtmlElement>() {
                let _ = element.set_pointer_capture(event.pointer_id());
            }
        })
    };
    let onpointermove = {
        let (gesture, pointer, apply) = (gesture.clone(), pointer.clone(), apply.clone());
        Callback::from(move |event: PointerEvent| {
            let Some(at) = place(&event) else { return };
            pointer.set(Some(at));
            if gesture.borrow().is_active() {
                let outcome = gesture.borrow_mut().moved(event.pointer_id(), at);
                apply(outcome);
            }
        })
    };
    let onpointerup = {
        let (gesture, apply) = (gesture.clone(), apply.clone());
        Callback::from(move |event: PointerEvent| {
            let Some(at) = place(&event) else { return };
            let outcome = gesture.borrow_mut().release(event.pointer_id(), at);
            apply(outcome);
        })
    };
    let onpointercancel = {
        let (gesture, draft) = (gesture.clone(), draft.clone());
        Callback::from(move |_: PointerEvent| {
            gesture.borrow_mut().cancel();
            draft.set(None);
        })
    };
    let onpointerleave = {
        let (gesture, pointer, dispatch) = (gesture.clone(), pointer.clone(), commands.dispatch.clone());
        Callback::from(move |_: PointerEvent| {
            if !gesture.borrow().is_active() {
                pointer.set(None);
                dispatch.emit(Action::Leave);
            }
        })
    };
    let ondblclick = commands.on(Action::Navigate(Navigation::FitPinned));
    let mode = match *draft {
        Some((DragKind::Range, ..)) => Some("selecting"),
        _ if props.box_mode => Some("boxing"),
        _ => gesture.borrow().is_panning().then_some("panning"),
    };
    let [picture, axes, overlay] = nodes;
    let shows_tooltip = draft.is_none() && !gesture.borrow().is_panning();
    let label = "Active memory over time, one band per allocation. Arrow keys move, W and S zoom, question mark lists all keys.";
    html! {
        <div class={classes!("stage", mode)} ref={stage} tabindex="0" role="application" aria-label={label}
            {onpointerdown} {onpointermove} {onpointerup} {onpointercancel} {onpointerleave} {ondblclick}>
            <canvas ref={axes} />
            <canvas ref={picture} />
            <canvas ref={overlay} />
            if let Some(area) = area {
                <Marks {area} region={props.view.region} cursor_x={props.view.cursor_x}
                    range={props.view.range} draft={(*draft).filter(|(kind, ..)| *kind == DragKind::Range)} />
                if let (true, Some(at), Some(hit)) = (shows_tooltip, *pointer, &props.view.hovered) {
                    <Tooltip {at} room={(area.box_width_css, area.box_height_css)} hit={hit.clone()} />
                }
            }
            <p class="unseen" role="status">{ spoken(&props.view) }</p>
        </div>
    }
}

/// What a screen reader is told: the pin; the pointer's things would be too many.
fn spoken(view: &DeviceView) -> String {
    view.details.as_ref().map(|details| sentences::pinned(details)).unwrap_or_default()
}

/// The canvases of `session`, once they are in the document.
#[hook]
fn use_canvas(session: &Session, nodes: &[NodeRef; 3]) -> UseStateHandle<Option<TimelineCanvas>> {
    let canvas = use_state_eq(|| None);
    {
        let (canvas, nodes) = (canvas.clone(), nodes.clone());
        use_effect_with(session.clone(), move |session| {
            let [picture, axes, overlay] = nodes.map(|node| node.cast::<HtmlCanvasElement>());
            if let (Some(picture), Some(axes), Some(overlay)) = (picture, axes, overlay) {
                canvas.set(Some(TimelineCanvas::new(session, Canvases { picture, axes, overlay })));
            }
        });
    }
    canvas
}

/// Keeps the canvases at what is to be seen.
#[hook]
fn use_picture(
    canvas: &UseStateHandle<Option<TimelineCanvas>>,
    area: Option<PlotArea>,
    props: &TimelineProps,
    pointer: Option<Point>,
) {
    let draw = area.map(|area| DrawRequest {
        look: props.look,
        viewport: props.view.region.viewport(area.size_px()),
    });
    use_effect_with((canvas.clone(), area), |(canvas, area)| {
        if let (Some(canvas), Some(area)) = (&**canvas, area) {
            canvas.resize(*area);
        }
    });
    use_effect_with((canvas.clone(), draw, props.bounds), |(canvas, draw, bounds)| {
        if let (Some(canvas), Some(draw)) = (&**canvas, draw) {
            canvas.show(*draw, *bounds);
        }
    });
    use_effect_with((canvas.clone(), props.view.pinned), |(canvas, pinned)| {
        if let Some(canvas) = &**canvas {
            canvas.pin(*pinned);
        }
    });
    // What is under a still pointer changes with the picture.
    use_effect_with((canvas.clone(), pointer, draw), |(canvas, pointer, _)| {
        if let Some(canvas) = &**canvas {
            canvas.point(*pointer);
        }
    });
}

/// Where a pointer is, in CSS px of the stage.
fn place(event: &PointerEvent) -> Option<Point> {
    // Yew listens at the root: the current target is there, not here.
    let stage = event.target()?;
    let stage = wasm_bindgen::JsCast::dyn_into::<web_sys::Element>(stage).ok()?;
    let stage = stage.closest(".stage").ok()??.get_bounding_client_rect();
    Some((f64::from(event.client_x()) - stage.left(), f64::from(event.client_y()) - stage.top()))
}

/// A place of the stage as fractions of the picture.
pub(super) fn fractions(area: &PlotArea, at: Point) -> (f64, f64) {
    let ((x_px, y_px), (width_px, height_px)) = (area.to_px(at), area.size_px());
    (x_px / f64::from(width_px), y_px / f64::from(height_px))
}

/// Turns a gesture into actions.
fn act_on(outcome: Outcome, area: &PlotArea, dispatch: &Callback<Action>) {
    let by = |(right, down): (f64, f64)| {
        let (from, to) = (fractions(area, (0.0, 0.0)), fractions(area, (right, down)));
        Navigation::Pan(to.0 - from.0, to.1 - from.1)
    };
    match outcome {
        Outcome::Nothing | Outcome::Draft(..) => {}
        Outcome::Pan(right, down) => dispatch.emit(Action::Navigate(by((right, down)))),
        Outcome::Pinch { factor, around, by: moved } => {
            let at = fractions(area, around);
            dispatch.emit(Action::Navigate(Navigation::Zoom { factor: (factor, factor), at }));
            dispatch.emit(Action::Navigate(by(moved)));
        }
        Outcome::Drawn(DragKind::Range, from, to) => {
            dispatch.emit(Action::SelectBetween(fractions(area, from).0, fractions(area, to).0));
        }
        Outcome::Drawn(_, from, to) => {
            let corners = (fractions(area, from), fractions(area, to));
            dispatch.emit(Action::Navigate(Navigation::ShowBox(corners.0, corners.1)));
        }
        Outcome::Click(_) => dispatch.emit(Action::PinHovered),
    }
}
