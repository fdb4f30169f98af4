//! The header above a picture: lanes of named ranges, and marks, over the same x axis.

mod controls;
mod lines;
mod stack_step;
mod tip;

use vramscope_protocol::views::lanes::{Answer, Decorations, LineFacts, Part, Question};
use vramscope_protocol::{Axis, Look};
use web_sys::{Element, HtmlCanvasElement};
use yew::prelude::*;

pub(super) use controls::LineControls;
pub(super) use lines::Lines;
pub(super) use stack_step::use_stack_step;

use super::commands::use_commands;
use super::hooks::{use_answer, use_seen, use_wheel};
use crate::browser;
use crate::canvas::{PlotArea, draw_scene};
use crate::engine::Session;
use crate::state::{Action, Chosen, LanesChoices, Navigation, Shared, lane_words};
use tip::Tip;
use vramscope_core::analysis::time::lanes::LaneKind;
use vramscope_view::header::{Header, Target};
use vramscope_view::marks::TRACK_CSS;
use vramscope_view::plot::views::LinesOver;
use vramscope_view::scene::Area;
use vramscope_view::viewport::Viewport;

/// Decorations, as a reference to their answer.
#[derive(Clone, PartialEq)]
pub(super) struct SharedDecorations(Shared<Answer>);

impl SharedDecorations {
    fn get(&self) -> Option<&Decorations> {
        match &*self.0 {
            Answer::Decorations(decorations) => Some(decorations),
            _ => None,
        }
    }
}

/// The decorations of the visible part, with reserved memory in the replay of some settings, if that is known. After a change of the viewport, the previous ones stay
/// until the next arrive; they are drawn at their positions in the new viewport.
#[hook]
pub(super) fn use_decorations(
    session: &Session,
    look: &Look,
    region: Viewport,
    area: Option<PlotArea>,
    lines: LinesOver,
    replay: Option<String>,
) -> Option<SharedDecorations> {
    let question = area.map(|area| {
        Question::Decorations(Part {
            device: look.device,
            axis: look.axis,
            x: (region.x_min, region.x_max),
            width_px: area.size_px().0,
            pixel_ratio: area.pixel_ratio,
            reserved: lines.reserved || lines.pools,
            pools: lines.pools,
            replay,
        })
    });
    let answered = use_answer(session, question)?;
    let Question::Decorations(part) = answered.question else {
        return None;
    };
    let is_current = (part.device, part.axis) == (look.device, look.axis);
    answered
        .answer
        .filter(|_| is_current)
        .map(SharedDecorations)
}

#[derive(Properties, PartialEq)]
pub(super) struct LanesProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) facts: LineFacts,
    pub(super) choices: LanesChoices,
    pub(super) region: Viewport,
    /// The area of the picture below, whose width the header shares; empty before layout.
    pub(super) area: PlotArea,
    /// Decorations of the visible part, or of an earlier one until its own arrive.
    pub(super) decorations: Option<SharedDecorations>,
}

/// Lanes and marks; empty if there are none.
#[component]
pub(super) fn Lanes(props: &LanesProps) -> Html {
    let commands = use_commands();
    let node = use_node_ref();
    let canvas = use_node_ref();
    let at = use_state_eq(|| None::<(f64, f64)>);
    let header = header(&props.facts, &props.choices);
    let area = PlotArea::within(
        props.area.box_width_css,
        header.height_css,
        props.area.pixel_ratio,
    );
    let view = props.region.resized(area.size_px().0, 1);
    let target = at.and_then(|at| {
        target(
            &header,
            props.decorations.as_ref().and_then(SharedDecorations::get),
            &view,
            &area,
            at,
        )
    });

    use_wheel(&node, Some(area), commands.dispatch.clone());
    use_drawing(&canvas, &header, props, area, target);

    if header.height_css <= 0.0 {
        return Html::default();
    }
    let (onpointermove, onpointerleave) = on_pointer(&node, at.setter());
    let onclick = on_click(target, &props.decorations, &commands.dispatch);
    let fold = commands.on(Action::Choose(Chosen::Lanes(LanesChoices {
        folded: !props.choices.folded,
        ..props.choices
    })));
    let (title, glyph) = if props.choices.folded {
        ("Unfold the lanes", "▸")
    } else {
        ("Fold the lanes", "▾")
    };
    html! {
        <div class="lanes" ref={node} style={format!("height:{}px", header.height_css)}
            role="group" aria-label="Named ranges and marks"
            {onpointermove} {onpointerleave} {onclick}>
            <canvas ref={canvas} class={target.is_some().then_some("over")} />
            { labels(&header, &props.facts) }
            if !props.facts.lanes.is_empty() {
                <button type="button" class="fold" {title} aria-label={title} aria-expanded={(!props.choices.folded).to_string()}
                    onclick={fold}>{ glyph }</button>
            }
            if let (Some(at), Some(target), Some(decorations)) = (*at, target, &props.decorations) {
                <Tip session={props.session.clone()} device={props.look.device} is_time={props.look.axis == Axis::Time}
                    {at} width_css={area.box_width_css} {target} decorations={decorations.clone()} />
            }
        </div>
    }
}

/// Listeners for moving and leaving of the pointer.
fn on_pointer(
    node: &NodeRef,
    at: UseStateSetter<Option<(f64, f64)>>,
) -> (Callback<PointerEvent>, Callback<PointerEvent>) {
    let (node, setter) = (node.clone(), at.clone());
    let place = move |event: &PointerEvent| {
        let element = node.cast::<Element>()?.get_bounding_client_rect();
        let (x, y) = (f64::from(event.client_x()), f64::from(event.client_y()));
        Some((x - element.left(), y - element.top()))
    };
    let onpointermove = Callback::from(move |event: PointerEvent| setter.set(place(&event)));
    let onpointerleave = Callback::from(move |_: PointerEvent| at.set(None));
    (onpointermove, onpointerleave)
}

fn on_click(
    target: Option<Target>,
    decorations: &Option<SharedDecorations>,
    dispatch: &Callback<Action>,
) -> Callback<MouseEvent> {
    let (dispatch, decorations) = (dispatch.clone(), decorations.clone());
    Callback::from(move |event: MouseEvent| {
        if let (Some(target), Some(decorations)) = (
            target,
            decorations.as_ref().and_then(SharedDecorations::get),
        ) && let Some(action) = action(target, decorations, event.alt_key() || event.shift_key())
        {
            dispatch.emit(action);
        }
    })
}

/// The layout of the header. It does not depend on the visible part. In a low window lanes are folded.
fn header(facts: &LineFacts, choices: &LanesChoices) -> Header {
    let rows: Vec<usize> = facts.lanes.iter().map(|lane| lane.rows as usize).collect();
    Header::new(&rows, choices.folded || browser::is_low(), facts.tracks)
}

fn target(
    header: &Header,
    decorations: Option<&Decorations>,
    view: &Viewport,
    area: &PlotArea,
    at: (f64, f64),
) -> Option<Target> {
    let decorations = decorations?;
    let items = |lane: usize, row: usize| {
        let row = decorations
            .lanes
            .get(lane)
            .and_then(|lane| lane.rows.get(row));
        row.into_iter().flatten().map(|item| &item.item).collect()
    };
    let x_px = area.to_px(at).0;
    header.at(
        (x_px, at.1),
        view,
        area.pixel_ratio,
        items,
        &decorations.marks,
    )
}

/// The action of a click: shows a range, or with Alt or Shift selects it; pins a mark's event, or zooms to
/// several.
fn action(target: Target, decorations: &Decorations, selects: bool) -> Option<Action> {
    match target {
        Target::Item(place) => {
            let item = decorations
                .lanes
                .get(place.lane)?
                .rows
                .get(place.row)?
                .get(place.item)?;
            let (from, to) = item.item.x;
            Some(if selects {
                Action::SelectMoments(item.moments)
            } else {
                Action::Navigate(Navigation::ShowX(from, to))
            })
        }
        Target::Mark(place) => {
            let mark = decorations.marks.get(place)?;
            Some(if mark.count == 1 {
                Action::ChooseEvent(mark.moment)
            } else {
                let air = (mark.x_last - mark.x) * 0.1;
                Action::Navigate(Navigation::ShowX(mark.x - air, mark.x_last + air))
            })
        }
    }
}

/// The names of the lanes, left of the picture.
fn labels(header: &Header, facts: &LineFacts) -> Html {
    let lanes = header.lanes.rows.iter().filter(|row| row.row == 0);
    let lanes = lanes.filter_map(|row| {
        let lane = facts.lanes.get(row.lane)?;
        let hidden = header.lanes.hidden_rows(lane.rows as usize);
        let mut title = lane_words::lane_meaning(lane);
        if hidden > 0 {
            title = format!("{title}; {hidden} deeper rows are not shown");
        }
        let mut name = lane_words::lane_name(lane).to_owned();
        let left_out = lane_words::left_out(facts);
        if lane.kind == LaneKind::Annotations && !left_out.is_empty() {
            name = format!("{name} +{}", facts.outside + facts.unplaced);
            title = format!("{title}; not shown: {left_out}");
        }
        (!header.lanes.is_folded).then(|| label(row.top_css, row.height_css, name, title))
    });
    let names = [
        ("marks", "Out of memory ▼, snapshots ◆, annotated tensors ●"),
        (
            "segments",
            "Memory taken from the device ▲ and given back ▽: segments and mappings",
        ),
    ];
    let tracks = header.tracks.iter().zip(names);
    let tracks = tracks.filter_map(|(top, (name, title))| {
        Some(label((*top)?, TRACK_CSS, name.to_owned(), title.to_owned()))
    });
    html! { <>{ for lanes }{ for tracks }</> }
}

fn label(top_css: f64, height_css: f64, name: String, title: String) -> Html {
    let style = format!("top:{top_css}px;height:{height_css}px;line-height:{height_css}px");
    html! { <span class="lane-name" {style} {title}>{ name }</span> }
}

/// Redraws the canvas after changes, and while the visible part moves.
#[hook]
fn use_drawing(
    canvas: &NodeRef,
    header: &Header,
    props: &LanesProps,
    area: PlotArea,
    target: Option<Target>,
) {
    let wanted = (
        props.decorations.clone(),
        header.clone(),
        area,
        props.look.theme,
        target,
    );
    let canvas = canvas.clone();
    use_seen(
        wanted,
        move |(decorations, header, area, theme, target), seen| {
            let canvas = canvas.cast::<HtmlCanvasElement>();
            if let (Some(canvas), Some(decorations)) = (
                canvas,
                decorations.as_ref().and_then(SharedDecorations::get),
            ) {
                let view = seen.viewport.resized(area.size_px().0, 1);
                let place = Area {
                    y_px: 0,
                    height_px: area.box_px().1,
                    ..area.picture()
                };
                draw_scene(&canvas, area, *theme, |scene, style| {
                    header.draw(scene, &place, decorations, &view, *target, style);
                });
            }
        },
    );
}
