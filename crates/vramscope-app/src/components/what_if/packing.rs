//! The ideal packing beside the real memory map: on the same time axis, with the same colours, and
//! on the same scale of bytes unless one of them is much higher.

use vramscope_core::analysis::report::overview::SegmentsKnown;
use vramscope_plan::StepKind;
use vramscope_protocol::views::what_if::{Answer, Planned, Question, Stage};
use vramscope_protocol::{DeviceFacts, Look, Picture};
use vramscope_view::display;
use vramscope_view::map::GroupMark;
use yew::prelude::*;

use super::PlannedRef;
use crate::components::commands::use_commands;
use crate::components::hooks::use_answer;
use crate::components::strip::use_minimap;
use crate::components::timeline::Timeline;
use crate::components::view_props::ViewProps;
use crate::engine::Session;
use crate::state::{Action, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct PackingPanelProps {
    pub(super) planned: Option<PlannedRef>,
    pub(super) given: ViewProps,
    /// Called to continue the search.
    pub(super) on_longer: Callback<()>,
}

#[component]
pub(super) fn PackingPanel(props: &PackingPanelProps) -> Html {
    let planned = props.planned.as_ref().and_then(PlannedRef::get);
    let groups = use_groups(&props.given.session, planned);
    use_height(planned);
    let look = &props.given.look;
    let minimap = use_minimap(&props.given.session, look.device, look.axis, Some(COLUMNS));
    let Some(planned) = planned else {
        return Html::default();
    };
    let ViewProps {
        session,
        look,
        bounds,
        view,
        box_mode,
        ruler_mode,
        ..
    } = props.given.clone();
    let of = |picture, packing| Look {
        picture,
        packing,
        ..look.clone()
    };
    let packed = of(Picture::Packing, planned.packing);
    let real = of(Picture::Map, 0);
    let map_scale = map_scale(planned, props.given.file.facts());
    let own_scale = own_scale(planned, bounds.y_end_bytes * map_scale);
    html! {
        <>
        <div class="twins">
            <figure aria-label="Ideal packing">
                <figcaption>{ packing_words(planned) }
                    if own_scale < 1.0 { <span class="muted" title="The map is too high for the same scale">{ "· own scale" }</span> }
                    if can_search_on(planned) {
                        <button type="button" class="plain" title="Search half a minute longer for a better packing"
                            onclick={props.on_longer.reform(|_: MouseEvent| ())}>{ "search on" }</button>
                    }
                </figcaption>
                if planned.packing > 0 {
                    <Timeline session={session.clone()} look={packed} {bounds} view={view.clone()} {box_mode} {ruler_mode}
                        {groups} y_scale={own_scale * map_scale} minimap={minimap.clone()} />
                } else {
                    <p class="hint muted late">{ "Packing…" }</p>
                }
            </figure>
            <figure aria-label="Real memory map">
                <figcaption>{ real_words(planned) }</figcaption>
                <Timeline {session} look={real} {bounds} {view} {box_mode} {ruler_mode} y_scale={map_scale} {minimap} />
            </figure>
        </div>
        <p class="foot muted">
            { "To see what another order of operations could save, drop an inductor graph export or a TORCH_TRACE log: a snapshot has no dataflow." }
        </p>
        </>
    }
}

/// Columns in which failed allocations are gathered: about the width of a picture.
const COLUMNS: u32 = 512;
/// If the map is more times as high as this, the packing gets its own scale.
const MOST_TIMES: f64 = 3.0;
/// Space above a packing on its own scale, as a factor of its height.
const AIR: f64 = 1.1;

/// Scale of the map's heights relative to that of the whole device: below 1 within a memory pool.
fn map_scale(planned: &Planned, facts: Option<&DeviceFacts>) -> f64 {
    let whole = facts.map_or(0, |facts| facts.map_bytes);
    match planned.map_bytes < whole {
        true => planned.map_bytes.max(1) as f64 / whole as f64,
        false => 1.0,
    }
}

/// Scale of the packing's heights relative to the map's; 1 if they share a scale.
fn own_scale(planned: &Planned, map_bytes: f64) -> f64 {
    let bytes = planned.plan.bytes(StepKind::Placement);
    let share = bytes.map_or(1.0, |bytes| bytes.max(1) as f64 * AIR / map_bytes);
    if share * MOST_TIMES < AIR { share } else { 1.0 }
}

/// Data for the labels of pools and streams in the packing.
#[hook]
fn use_groups(session: &Session, planned: Option<&Planned>) -> Vec<GroupMark> {
    let question = planned.map(|planned| Question::Groups {
        device: planned.plan.device,
        packing: planned.packing,
    });
    let answered = use_answer(session, question.clone());
    let answered = answered.filter(|answered| Some(&answered.question) == question.as_ref());
    let answer = answered.and_then(|answered| answered.answer);
    match answer.as_deref() {
        Some(Answer::Groups(groups)) => groups.clone(),
        _ => Vec::new(),
    }
}

/// Reports the height of the packing to the state, so that all of it can be shown.
#[hook]
fn use_height(planned: Option<&Planned>) {
    let commands = use_commands();
    let height = planned.and_then(|planned| {
        let bytes = planned.plan.bytes(StepKind::Placement)?;
        Some((planned.plan.device, bytes))
    });
    use_effect_with(height, move |height| {
        if let Some((device, bytes)) = *height {
            commands.dispatch.emit(Action::Packed(device, bytes));
        }
    });
}

fn packing_words(planned: &Planned) -> Html {
    let Some(bytes) = planned.plan.bytes(StepKind::Placement) else {
        return html! { <span>{ "Ideal packing" }</span> };
    };
    let remark = match planned.above_lowest_bytes {
        None | Some(0) if planned.plan.reserved_bytes.is_some_and(|real| real < bytes) => {
            "no packing is lower; what was real gave segments back in between".to_owned()
        }
        None | Some(0) => "no packing is lower".to_owned(),
        Some(missing) => format!("at most {} above the lowest", display::bytes(missing)),
    };
    html! {
        <span><strong>{ "Ideal packing " }</strong><span title={sentences::exact_bytes(bytes)}>{ display::bytes(bytes) }</span>
            <span class="muted">{ " · " }{ remark }</span></span>
    }
}

fn can_search_on(planned: &Planned) -> bool {
    planned.stage == Stage::Done && !planned.plan.is_done
}

fn real_words(planned: &Planned) -> Html {
    html! {
        <span><strong>{ "Real memory map" }</strong>
            if let Some(reserved) = planned.plan.reserved_bytes {
                { " " }<span title={sentences::exact_bytes(reserved)}>{ display::bytes(reserved) }</span>
                <span class="muted">{ " reserved at most, by address" }</span>
            } else {
                <span class="muted">{ if planned.plan.segments == SegmentsKnown::Doubtful { " · segments not all recorded" } else { " · how much was reserved is not known" } }</span>
            }
        </span>
    }
}
