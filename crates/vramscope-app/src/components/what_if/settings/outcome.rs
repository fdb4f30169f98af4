//! What the model reserves under the chosen and the suggested settings, beside the recording, and
//! how reliable it is.

use vramscope_plan::what_if::{Verdict, WhatIf};
use vramscope_protocol::views::what_if::{Replayed, Tries};
use vramscope_view::display;
use yew::prelude::*;

use super::super::replayed::ReplayedRef;
use crate::components::commands::use_commands;
use crate::state::choices::SettingChanges;
use crate::state::{Action, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct OutcomeTableProps {
    pub(super) replayed: ReplayedRef,
    pub(super) tries: Tries,
    /// The chosen settings.
    pub(super) settings: SettingChanges,
    /// Why the replay is not of the chosen settings; `None` if it is.
    pub(super) stale: Option<&'static str>,
    pub(super) on_choose: Callback<SettingChanges>,
}

#[component]
pub(super) fn OutcomeTable(props: &OutcomeTableProps) -> Html {
    let commands = use_commands();
    let Some(replayed) = props.replayed.get() else {
        return Html::default();
    };
    let says = match props.stale {
        Some(why) => html! { <span class="muted">{ why }</span> },
        None => verdict_words(replayed),
    };
    let is_changed = replayed.changed.is_some() && props.stale.is_none();
    let over_time =
        is_changed.then(|| commands.on(Action::DrawReplay(Box::new(props.settings.clone()))));
    html! {
        <div class="modelled">
            <p class="verdict" role="status">{ says }
                if let Some(onclick) = over_time { { " " }<button type="button" class="outlined" {onclick}
                    title="Draw what the model reserves over the timeline">{ "Over the timeline" }</button> }</p>
            <table>
                <thead><tr>
                    <th scope="col">{ "settings" }</th>
                    <th scope="col">{ "peak reserved" }</th>
                    <th scope="col" title="Compared with the model under the recorded settings">{ "change" }</th>
                    <th scope="col">{ "verdict" }</th>
                    <th scope="col" class="more" title="Free memory in segments at the peak">{ "free then" }</th>
                    <th scope="col" class="more" title="Requests that fail: out of memory">{ "refused" }</th>
                    <th scope="col" class="more" title="How often cached segments had to be given back to the device before a request could be served">{ "retries" }</th>
                </tr></thead>
                <tbody>
                    <tr><th scope="row"><i class="key real" />{ "measured" }</th>
                        <td title={sentences::exact_bytes(replayed.real_bytes)}>{ display::bytes(replayed.real_bytes) }</td>
                        <td /><td /><td class="more" /><td class="more" /><td class="more" /></tr>
                    { for rows(props, replayed).iter().map(|of| row(of, replayed, props)) }
                </tbody>
            </table>
            { error_words(replayed) }
        </div>
    }
}

/// The model's result with some settings.
struct Row {
    /// The changed settings, in torch's syntax.
    changes: String,
    settings: SettingChanges,
    outcome: Option<WhatIf>,
}

/// The rows: as recorded, the suggested settings, and the chosen ones if they are neither.
fn rows(props: &OutcomeTableProps, replayed: &Replayed) -> Vec<Row> {
    let chosen = replayed.changed.as_ref().filter(|_| props.stale.is_none());
    let mut rows = vec![Row {
        changes: String::new(),
        settings: SettingChanges::default(),
        outcome: replayed.own.clone(),
    }];
    rows.extend(props.tries.rows.iter().map(|of| {
        let settings = SettingChanges::of(&of.changes);
        let is_chosen = settings == props.settings;
        Row {
            changes: of.changes.clone(),
            outcome: of
                .outcome
                .as_ref()
                .or(chosen.filter(|_| is_chosen))
                .cloned(),
            settings,
        }
    }));
    if rows.iter().all(|row| row.settings != props.settings) {
        rows.push(Row {
            changes: props.settings.text(),
            settings: props.settings.clone(),
            outcome: chosen.cloned(),
        });
    }
    rows
}

fn row(of: &Row, replayed: &Replayed, props: &OutcomeTableProps) -> Html {
    let is_chosen = of.settings == props.settings;
    let is_own = of.changes.is_empty();
    let class = match (is_own, is_chosen) {
        (true, _) => "own",
        (false, true) => "changed",
        (false, false) => "tried",
    };
    let onclick = {
        let settings = of.settings.clone();
        props
            .on_choose
            .reform(move |_: MouseEvent| settings.clone())
    };
    let name = if is_own {
        "model, same settings"
    } else {
        &of.changes
    };
    let cells = match &of.outcome {
        Some(outcome) => cells(outcome, replayed.own.as_ref().filter(|_| !is_own)),
        None if is_chosen && props.stale.is_none() => {
            html! { <td class="muted" colspan="6">{ "the same as recorded" }</td> }
        }
        None => html! { <td class="muted" colspan="6">{ "…" }</td> },
    };
    html! {
        <tr key={of.changes.clone()} data-of={class} class={is_chosen.then_some("chosen")} {onclick}>
            <th scope="row"><button type="button" class="bare" aria-pressed={is_chosen.to_string()} title={name.to_owned()}>
                <i class={classes!("key", class)} />{ for name.split_inclusive(',').map(|part| html! { <>{ part }<wbr /></> }) }</button></th>
            { cells }
        </tr>
    }
}

/// The cells of a row, compared with `own`.
fn cells(of: &WhatIf, own: Option<&WhatIf>) -> Html {
    // Where more requests fail, the peak says nothing.
    let compared = own.filter(|_| of.verdict != Verdict::OutOfMemory);
    let change =
        compared.map(|own| display::bytes_change(own.peak_reserved_bytes, of.peak_reserved_bytes));
    html! {
        <>
            <td title={sentences::exact_bytes(of.peak_reserved_bytes)}>{ display::bytes(of.peak_reserved_bytes) }</td>
            <td>{ change }</td>
            <td class={verdict_class(of)}>{ if own.is_some() { of.verdict_label() } else if of.refused > 0 { "fails" } else { "" } }</td>
            <td class="more" title={sentences::exact_bytes(of.free_bytes_at_peak)}>{ display::bytes(of.free_bytes_at_peak) }</td>
            <td class={classes!("more", (of.refused > 0).then_some("bad"))}>{ display::count(of.refused) }</td>
            <td class="more">{ display::count(of.retries) }</td>
        </>
    }
}

fn verdict_class(of: &WhatIf) -> &'static str {
    match of.verdict {
        _ if of.refused > 0 => "more-bytes",
        _ if of.rescued > 0 => "less",
        Verdict::Same | Verdict::WithinError => "same",
        Verdict::Less => "less",
        Verdict::More | Verdict::TooClose | Verdict::OutOfMemory => "more-bytes",
    }
}

/// The effect of the settings, in a sentence.
fn verdict_words(replayed: &Replayed) -> Html {
    let Some(changed) = &replayed.changed else {
        let words = "Choose a row, or change settings: the trace is replayed with them.";
        return html! { <span class="muted">{ words }</span> };
    };
    html! { <><strong class={verdict_class(changed)}>{ &changed.says }</strong><span>{ " " }{ &changed.remark }</span></> }
}

/// How reliable the model is.
fn error_words(replayed: &Replayed) -> Html {
    let mut notes = replayed.trust.iter().chain(&replayed.not_modelled);
    let first = notes.next();
    let more: Vec<Html> = notes
        .map(|note| html! { <span>{ note }{ " " }</span> })
        .collect();
    html! {
        <div class="error muted">
            { for first }
            if !more.is_empty() { <details><summary>{ "How this was checked" }</summary>{ more }</details> }
        </div>
    }
}
