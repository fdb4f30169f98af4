//! The ideal packing beside the real memory map: the same time, the same scale of bytes, the same colours.

use vramscope_core::analysis::plan::StepKind;
use vramscope_view::display;
use yew::prelude::*;

use super::PlannedRef;
use crate::components::timeline::Timeline;
use crate::components::view_props::ViewProps;
use crate::protocol::views::what_if::{Planned, Stage};
use crate::protocol::{Look, Picture};
use crate::state::sentences;

/// Properties of [`PackingPanel`].
#[derive(Properties, PartialEq)]
pub(super) struct PackingPanelProps {
    pub(super) planned: Option<PlannedRef>,
    pub(super) given: ViewProps,
    /// Search on.
    pub(super) on_longer: Callback<()>,
}

/// See the module.
#[component]
pub(super) fn PackingPanel(props: &PackingPanelProps) -> Html {
    let Some(planned) = props.planned.as_ref().and_then(PlannedRef::get) else {
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
        ..look
    };
    let packed = of(Picture::Packing, planned.packing);
    let real = of(Picture::Map, 0);
    html! {
        <>
        <div class="twins">
            <figure aria-label="Ideal packing">
                <figcaption>{ packing_words(planned) }
                    if can_search_on(planned) {
                        <button type="button" class="plain" title="Search half a minute longer for a better packing"
                            onclick={props.on_longer.reform(|_: MouseEvent| ())}>{ "search on" }</button>
                    }
                </figcaption>
                if planned.packing > 0 {
                    <Timeline session={session.clone()} look={packed} {bounds} view={view.clone()} {box_mode} {ruler_mode}
                        groups={planned.groups.clone()} />
                } else {
                    <p class="hint muted late">{ "Packing…" }</p>
                }
            </figure>
            <figure aria-label="Real memory map">
                <figcaption>{ real_words(planned) }</figcaption>
                <Timeline {session} look={real} {bounds} {view} {box_mode} {ruler_mode} />
            </figure>
        </div>
        <p class="foot muted">
            { "To see what another order of operations could save, drop an inductor graph export or a TORCH_TRACE log: a snapshot has no dataflow." }
        </p>
        </>
    }
}

fn packing_words(planned: &Planned) -> Html {
    let Some(bytes) = planned.plan.bytes(StepKind::Placement) else {
        return html! { <span>{ "Ideal packing" }</span> };
    };
    let remark = match planned.above_lowest_bytes {
        None | Some(0) => "nothing lower exists".to_owned(),
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
    let steps = &planned.plan.steps;
    let is_real = |kind| matches!(kind, StepKind::Model | StepKind::Kept);
    let reserved = steps.iter().find(|step| is_real(step.kind));
    html! {
        <span><strong>{ "Real memory map" }</strong>
            if let Some(step) = reserved {
                { " " }<span title={sentences::exact_bytes(step.bytes)}>{ display::bytes(step.bytes) }</span>
                <span class="muted">{ " reserved at most" }</span>
            } else {
                <span class="muted">{ " · how much was reserved is not known" }</span>
            }
        </span>
    }
}
