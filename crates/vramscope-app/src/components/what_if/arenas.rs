//! Figures by pool and stream.

use vramscope_plan::ArenaPlan;
use vramscope_protocol::views::what_if::{Answer, Question};
use vramscope_view::display;
use yew::prelude::*;

use super::PlannedRef;
use crate::components::hooks::use_answer;
use crate::engine::Session;
use crate::state::sentences;

#[derive(Properties, PartialEq)]
pub(super) struct ArenasPanelProps {
    pub(super) session: Session,
    pub(super) planned: Option<PlannedRef>,
}

/// The table, with a row per pool and stream.
#[component]
pub(super) fn ArenasPanel(props: &ArenasPanelProps) -> Html {
    let planned = props.planned.as_ref().and_then(PlannedRef::get);
    let question = planned.map(|planned| Question::Arenas {
        device: planned.plan.device,
        packing: planned.packing,
        stage: planned.stage,
    });
    let answered = use_answer(&props.session, question);
    let answer = answered.and_then(|answered| answered.answer);
    let Some(Answer::Arenas(known)) = answer.as_deref() else {
        return Html::default();
    };
    let Some(planned) = planned.filter(|planned| planned.plan.device == known.device) else {
        return Html::default();
    };
    let is_modelled = planned.plan.has_all_bars || planned.plan.no_model.is_some();
    html! {
        <div class="places" tabindex="0" data-scrolls="">
            <table>
                <thead><tr>
                    <th scope="col">{ "pool and stream" }</th>
                    <th scope="col">{ "buffers" }</th>
                    <th scope="col" title="The most requested bytes that were live at once">{ "requested" }</th>
                    <th scope="col" title="The same, each request aligned to a multiple of 512 B, or as roundup_power2_divisions says; no packing needs less">{ "aligned" }</th>
                    <th scope="col">{ "best packing" }</th>
                    <th scope="col" title="How far the packing may be from the lowest">{ "at most above the lowest" }</th>
                    <th scope="col" title="What torch.compile's memory planner would need for the same buffers">{ "inductor's pools" }</th>
                    <th scope="col" title="The most that the model of PyTorch's allocator reserves, starting empty">{ "allocator model" }</th>
                    <th scope="col" title="The most that was reserved in its segments">{ "reserved" }</th>
                </tr></thead>
                <tbody>{ for known.arenas.iter().map(|arena| row(arena, is_modelled)) }</tbody>
            </table>
            if known.left_out > 0 {
                <p class="muted">{ format!("and {}", sentences::count_of(known.left_out, "smaller one", "smaller ones")) }</p>
            }
        </div>
    }
}

/// A row. `is_modelled` is set once the model has finished, so that a missing figure is final.
fn row(arena: &ArenaPlan, is_modelled: bool) -> Html {
    let cell = |bytes: Option<u64>, none: &'static str| match bytes {
        Some(bytes) => {
            html! { <td title={sentences::exact_bytes(bytes)}>{ display::bytes(bytes) }</td> }
        }
        None => html! { <td class="zero">{ none }</td> },
    };
    let above = arena.packed.map(|packed| packed.above_lowest_bytes());
    html! {
        <tr>
            <th scope="row">{ &arena.label }</th>
            <td>{ display::count(arena.buffers) }</td>
            { cell(Some(arena.requested_bytes), "") }
            { cell(Some(arena.aligned_bytes), "") }
            { cell(arena.packed.map(|packed| packed.bytes), "…") }
            { cell(above.filter(|&above| above > 0), "nothing") }
            { cell(arena.pools_bytes, "not worked out") }
            { cell(arena.modelled_bytes, if is_modelled { "none" } else { "…" }) }
            { cell(arena.reserved_bytes, "not known") }
        </tr>
    }
}
