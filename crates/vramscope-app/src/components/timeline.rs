//! A picture over the x axis: its canvases, their pointer handlers, and the elements over them.

use vramscope_protocol::{Answer, Bounds, DrawRequest, Hit, Look, Minimap, Picture, Viewport};
use web_sys::{HtmlCanvasElement, HtmlElement};
use yew::prelude::*;

use super::commands::{Commands, use_commands};
use super::hooks::{
    Draft, PointerHandlers, plot_area, use_moment_at, use_plot_area, use_pointer, use_seen,
    use_wheel,
};
use super::lanes::{Lines, SharedDecorations};
use super::map_labels::{MapLabelList, map_labels};
use super::marks::Marks;
use super::tooltip::Tooltip;
use crate::canvas::{BoxCss, Canvases, PlotArea, TimelineCanvas};
use crate::engine::Session;
use crate::state::gesture::{DragKind, Point};
use crate::state::{Action, DeviceView, Navigation, Shared, sentences};
use vramscope_view::map::GroupMark;

#[derive(Properties, PartialEq)]
pub(super) struct TimelineProps {
    pub(super) session: Session,
    pub(super) look: Look,
    /// The bounds of the whole picture.
    pub(super) bounds: Bounds,
    pub(super) view: DeviceView,
    /// Whether the next drag zooms to a box.
    pub(super) box_mode: bool,
    /// Whether drags measure with a ruler.
    pub(super) ruler_mode: bool,
    /// Has the failed allocations; `None` until it arrives.
    pub(super) minimap: Option<Shared<Minimap>>,
    /// Decorations of the visible part, or of an earlier one until its own arrive.
    #[prop_or_default]
    pub(super) decorations: Option<SharedDecorations>,
    /// The device's capacity; `None` if it is not drawn.
    #[prop_or_default]
    pub(super) capacity_bytes: Option<u64>,
    /// Data for the labels of pools and streams in the packing.
    #[prop_or_default]
    pub(super) groups: Vec<GroupMark>,
    /// Scale of this picture's heights, relative to `view` and `bounds`.
    #[prop_or(1.0)]
    pub(super) y_scale: f64,
}

impl TimelineProps {
    fn region(&self) -> Viewport {
        self.view.region.stretched(self.y_scale)
    }
}

/// A picture over the x axis of one device.
#[component]
pub(super) fn Timeline(props: &TimelineProps) -> Html {
    let commands = use_commands();
    let stage = use_node_ref();
    let area = use_plot_area(&stage);
    let nodes = [use_node_ref(), use_node_ref()];
    let canvas = use_canvas(&props.session, &nodes, &commands);
    let drag_mode = if props.box_mode {
        Some(DragKind::Box)
    } else {
        props.ruler_mode.then_some(DragKind::Ruler)
    };
    let stage_of = (area, props.look.picture);
    let region = props.region();
    let on_scrub = Some(use_scrub(props, &commands));
    let pointer = use_pointer(stage_of, drag_mode, on_scrub, commands.dispatch.clone());
    let (at, draft) = (*pointer.at, *pointer.draft);

    use_picture(&canvas, &stage, area, props, at);
    use_shift(&stage, area, props.view.region);
    use_wheel(&stage, area, commands.dispatch.clone());
    use_box(&canvas, draft);

    let ondblclick = commands.on(Action::Navigate(Navigation::FitPinned));
    let mode = match draft {
        Some((DragKind::Range, ..)) => Some("selecting"),
        Some((DragKind::Cursor, ..)) => Some("scrubbing"),
        _ if props.box_mode || props.ruler_mode => Some("boxing"),
        _ => pointer.is_panning.then_some("panning"),
    };
    let [picture, overlay] = nodes;
    let hovered = props.view.hovered.clone();
    let hovered = hovered.filter(|hit| hit.draw.look.picture == props.look.picture);
    let shows_tooltip = draft.is_none() && !pointer.is_panning;
    let PointerHandlers {
        onpointerdown,
        onpointermove,
        onpointerup,
        onpointercancel,
        onpointerleave,
    } = pointer.handlers;
    let label = label(props.look.picture);
    html! {
        <div class={classes!("stage", mode)} ref={stage} tabindex="0" role="application" aria-label={label}
            {onpointerdown} {onpointermove} {onpointerup} {onpointercancel} {onpointerleave} {ondblclick}>
            <canvas ref={picture} />
            <canvas ref={overlay} />
            if let Some(area) = area {
                <Lines look={props.look.clone()} y_scale={props.y_scale} {area} decorations={props.decorations.clone()}
                    capacity_bytes={props.capacity_bytes} ruler_mode={props.ruler_mode} {draft} />
                { map_labels(&[], &props.groups, &area, region) }
                if props.look.picture == Picture::Map {
                    <MapLabelList session={props.session.clone()} device={props.look.device} {area} {region} />
                }
                <Marks {area} {region} cursor_x={props.view.cursor_x()} range={props.view.range} minimap={props.minimap.clone()}
                    draft={draft.filter(|(kind, ..)| *kind == DragKind::Range)} />
                if let (true, Some(at), Some(hit)) = (shows_tooltip, at, &hovered) {
                    <Tooltip {at} room={(area.box_width_css, area.box_height_css)} hit={hit.clone()} />
                }
            }
            <p class="unseen" role="status">{ spoken(&props.view) }</p>
        </div>
    }
}

/// Moves the cursor to a part of what is visible, from 0 at its left to 1.
#[hook]
fn use_scrub(props: &TimelineProps, commands: &Commands) -> Callback<f64> {
    let on_x = use_moment_at(&props.session, &props.look, Action::Scrub);
    let (camera, region) = (commands.camera.clone(), props.region());
    on_x.reform(move |part| camera.seen().unwrap_or(region).x_at(part))
}

/// The picture's description for screen readers.
fn label(picture: Picture) -> String {
    let what = match picture {
        Picture::Timeline => "Live memory over time, one band per allocation.",
        Picture::Segments => "Reserved memory over time, one band per segment.",
        Picture::Map => "Addresses over time, one rectangle per allocation.",
        Picture::Packing => "Places in an ideal packing over time, one rectangle per allocation.",
    };
    format!("{what} Arrow keys move, W and S zoom, question mark lists all keys.")
}

/// Draws the box that the user drags.
#[hook]
fn use_box(canvas: &TimelineCanvas, draft: Option<Draft>) {
    let boxed = draft.filter(|(kind, ..)| *kind == DragKind::Box);
    use_effect_with((canvas.clone(), boxed), |(canvas, boxed)| {
        canvas.select(boxed.map(|(_, from, to)| BoxCss { from, to }));
    });
}

/// The text for screen readers: what is pinned. Announcing everything under the pointer would be
/// too much.
fn spoken(view: &DeviceView) -> String {
    view.details
        .as_ref()
        .map(|details| sentences::pinned(details))
        .unwrap_or_default()
}

/// The canvases of `session`.
#[hook]
fn use_canvas(session: &Session, nodes: &[NodeRef; 2], commands: &Commands) -> TimelineCanvas {
    let id = session.id();
    let dispatch = &commands.dispatch;
    // Of all versions of the file: the picture of the last one stays until that of the next is there.
    let canvas = use_memo(session.of_all_versions(), |session| {
        let answer = move |hit: Hit| Action::Answer(id, Shared::new(Answer::Hit(Box::new(hit))));
        TimelineCanvas::new(session, dispatch.reform(answer))
    });
    let nodes = nodes.clone();
    use_effect_with((*canvas).clone(), move |canvas| {
        let [picture, overlay] = nodes.map(|node| node.cast::<HtmlCanvasElement>());
        if let (Some(picture), Some(overlay)) = (picture, overlay) {
            canvas.attach(Canvases { picture, overlay });
        }
    });
    (*canvas).clone()
}

/// Passes changes of the properties on to the canvases.
#[hook]
fn use_picture(
    canvas: &TimelineCanvas,
    stage: &NodeRef,
    area: Option<PlotArea>,
    props: &TimelineProps,
    pointer: Option<Point>,
) {
    let shown = (area, props.look.clone(), props.view.region, props.y_scale);
    let bounds = Bounds {
        y_end_bytes: props.bounds.y_end_bytes * props.y_scale,
        ..props.bounds
    };
    let stage = stage.clone();
    let wanted = (canvas.clone(), shown.clone(), bounds);
    use_seen(
        wanted,
        move |(canvas, (area, look, _, y_scale), bounds), seen| {
            // After the first rendering the area is known, but the next one, which shows what lies over the picture, takes
            // some time. The picture is drawn meanwhile.
            if let Some(area) = area.or_else(|| plot_area(&stage)) {
                canvas.resize(area);
                canvas.show(
                    draw_of(look, &area, seen.viewport.stretched(*y_scale)),
                    *bounds,
                );
                canvas.set_moving(seen.is_moving);
            }
        },
    );
    let pinned = props.view.pinned_thing();
    use_effect_with((canvas.clone(), pinned), |(canvas, pinned)| {
        canvas.pin(*pinned);
    });
    let (look, y_scale) = (props.look.clone(), props.y_scale);
    use_effect_with(
        (canvas.clone(), props.view.clicked),
        move |(canvas, clicked)| {
            let clicked = clicked.filter(|click| click.picture == look.picture);
            if let (Some(click), Some(area)) = (clicked, area) {
                let region = click.region.stretched(y_scale);
                canvas.click(draw_of(&look, &area, region), click.at_px);
            }
        },
    );
    let hovered = props.view.hovered.as_ref();
    let elsewhere = hovered.filter(|hit| hit.draw.look.picture != props.look.picture);
    let echoed = elsewhere.and_then(|hit| hit.on.thing());
    use_effect_with((canvas.clone(), echoed), |(canvas, echoed)| {
        canvas.echo(*echoed);
    });
    // What is under a resting pointer changes with the picture.
    use_effect_with((canvas.clone(), pointer, shown), |(canvas, pointer, _)| {
        canvas.point(*pointer);
    });
}

fn draw_of(look: &Look, area: &PlotArea, region: Viewport) -> DrawRequest {
    let (width_px, height_px) = area.size_px();
    DrawRequest {
        look: look.clone(),
        viewport: region.resized(width_px, height_px),
    }
}

/// Says to the style sheet how what lies over the picture, laid out for the visible part `made`, has moved since.
#[hook]
fn use_shift(stage: &NodeRef, area: Option<PlotArea>, made: Viewport) {
    let stage = stage.clone();
    use_seen((area, made), move |(area, made), seen| {
        let Some((area, stage)) = area.zip(stage.cast::<HtmlElement>()) else {
            return;
        };
        let (width_px, height_px) = area.size_px();
        let now = seen.viewport.resized(width_px, height_px);
        for (name, value) in [
            ("--zoom-x", made.width() / now.width()),
            ("--zoom-y", made.height_bytes() / now.height_bytes()),
            ("--shift-x", now.x_px(made.x_min) / area.pixel_ratio),
            ("--shift-y", now.y_px(made.y_max_bytes) / area.pixel_ratio),
        ] {
            let _ = stage.style().set_property(name, &value.to_string());
        }
    });
}
