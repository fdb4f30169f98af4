//! What the model reserves under the settings, beside reality, and how far to trust the difference.

use vramscope_core::analysis::plan::what_if::Verdict;
use vramscope_view::display;
use yew::prelude::*;

use super::ReplayedRef;
use crate::protocol::views::what_if::{ModelFigures, Replayed};
use crate::state::sentences;

/// Properties of [`OutcomeTable`].
#[derive(Properties, PartialEq)]
pub(super) struct OutcomeTableProps {
    pub(super) replayed: ReplayedRef,
}

/// See the module.
#[component]
pub(super) fn OutcomeTable(props: &OutcomeTableProps) -> Html {
    let Some(replayed) = props.replayed.get() else {
        return Html::default();
    };
    html! {
        <div class="modelled">
            <p class="verdict" role="status">{ verdict_words(replayed) }</p>
            <table>
                <thead><tr>
                    <th scope="col" />
                    <th scope="col">{ "peak reserved" }</th>
                    <th scope="col" title="Free memory in segments at the peak">{ "free at the peak" }</th>
                    <th scope="col" title="Requests that fail: out of memory">{ "refused" }</th>
                    <th scope="col" title="How often cached segments had to be given back to CUDA before a request could be served">{ "retries" }</th>
                </tr></thead>
                <tbody>
                    <tr><th scope="row"><i class="key real" />{ "really" }</th>
                        <td title={sentences::exact_bytes(replayed.real_bytes)}>{ display::bytes(replayed.real_bytes) }</td><td /><td /><td /></tr>
                    { row("own", "model, as recorded", replayed.own.as_ref(), "replaying…") }
                    { row("changed", "model, these settings", replayed.changed.as_ref(), if replayed.is_as_recorded() { "none are chosen" } else { "replaying…" }) }
                </tbody>
            </table>
            { error_words(replayed) }
        </div>
    }
}

fn row(
    class: &'static str,
    name: &'static str,
    figures: Option<&ModelFigures>,
    otherwise: &'static str,
) -> Html {
    let cells = figures.map(|of| {
        html! {
            <>
                <td title={sentences::exact_bytes(of.peak_bytes)}>{ display::bytes(of.peak_bytes) }</td>
                <td title={sentences::exact_bytes(of.free_bytes)}>{ display::bytes(of.free_bytes) }</td>
                <td class={(of.refused > 0).then_some("bad")}>{ display::count(of.refused) }</td>
                <td>{ display::count(of.retries) }</td>
            </>
        }
    });
    let cells = cells.unwrap_or_else(|| html! { <td class="muted" colspan="4">{ otherwise }</td> });
    html! { <tr data-of={class}><th scope="row"><i class={classes!("key", class)} />{ name }</th>{ cells }</tr> }
}

/// What the settings would do, in a sentence.
fn verdict_words(replayed: &Replayed) -> Html {
    let Some(told) = &replayed.verdict else {
        let words = if replayed.is_as_recorded() {
            "Choose settings on the left: the trace is replayed with them."
        } else {
            "Replaying…"
        };
        return html! { <span class="muted">{ words }</span> };
    };
    let class = match told.verdict {
        Verdict::Same | Verdict::WithinError => "same",
        Verdict::Less => "less",
        Verdict::More | Verdict::TooClose | Verdict::OutOfMemory => "more",
    };
    html! { <><strong class={class}>{ &told.says }</strong><span>{ " " }{ &told.remark }</span></> }
}

/// How far to trust the model.
fn error_words(replayed: &Replayed) -> Html {
    let notes = replayed.trust.iter().chain(&replayed.not_modelled);
    html! {
        <p class="error muted">{ for notes.map(|note| html! { <span>{ note }{ " " }</span> }) }</p>
    }
}
