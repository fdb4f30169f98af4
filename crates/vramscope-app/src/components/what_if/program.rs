//! Changes of the program: where live memory would peak with each, and which cards have as much.

use vramscope_core::cards::{CARDS, Card, smallest_with};
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::what_if::{ProgramOf, ProgramRows};
use vramscope_view::display;
use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use super::NOTHING;
use crate::components::hooks::{use_answer, use_painted};
use crate::engine::Session;
use crate::state::choices::{SettingChanges, WhatIfChoices};
use crate::state::sentences;
use crate::state::typed_size::typed_bytes;

#[derive(Properties, PartialEq)]
pub(super) struct ProgramPanelProps {
    pub(super) session: Session,
    pub(super) device: DeviceIndex,
    /// What replays with other settings amount to, in a line; `None` until they are over.
    pub(super) conclusion: Option<AttrValue>,
    pub(super) choices: WhatIfChoices,
    pub(super) on_choose: Callback<WhatIfChoices>,
}

#[component]
pub(super) fn ProgramPanel(props: &ProgramPanelProps) -> Html {
    let device = props.device;
    let answered = use_answer(&props.session, Some(ProgramOf { device }));
    let answer = answered.and_then(|answered| answered.answer);
    use_painted("what-if", answer.clone());
    let Some(known) = answer.as_deref() else {
        return html! { <p class="hint muted late">{ "Looking for what would save memory…" }</p> };
    };
    if known.peak_bytes == 0 {
        return html! { <p class="hint muted">{ NOTHING }</p> };
    }
    let typed = typed_bytes(&props.choices.settings.capacity);
    let capacity_bytes = typed.as_ref().ok().copied().filter(|&bytes| bytes > 0);
    let row = |title: &str, peak_bytes, saved| row(title, peak_bytes, capacity_bytes, saved);
    let card = match capacity_bytes {
        Some(_) => "live memory fits",
        None => "smallest card for it",
    };
    html! {
        <div class="places program" tabindex="0" data-scrolls="">
            { card_fields(props, typed.err()) }
            <table>
                <thead><tr>
                    <th scope="col">{ "change of the program" }</th>
                    <th scope="col" title="The most that is live at once: the allocator reserves more, by what is idle">{ "peak of live memory" }</th>
                    <th scope="col">{ "saved" }</th>
                    <th scope="col" class="of-card" title="By live memory alone: what is idle, and what CUDA itself takes, come on top">{ card }</th>
                    <th scope="col" class="because">{ "what it rests on" }</th>
                </tr></thead>
                <tbody>
                    { row("as recorded", known.peak_bytes, None) }
                    { for known.rows.iter().map(|(saved, change)| row(&change.title, change.peak_bytes, Some((*saved, &change.because)))) }
                </tbody>
            </table>
            <p class="muted">{ remark(known) }</p>
            if let Some(dry_run) = &known.dry_run { <p>{ dry_run }</p> }
            if let Some(conclusion) = &props.conclusion { <p>{ "Without a change of the program: " }{ conclusion }{ "." }</p> }
        </div>
    }
}

/// How far to believe the rows.
fn remark(known: &ProgramRows) -> String {
    let reserved = match known.reserved_bytes {
        reserved if reserved > known.peak_bytes => format!(
            " The allocator reserves more than is live: here it was {}.",
            display::bytes(reserved)
        ),
        _ => String::new(),
    };
    let rows = match known.rows.len() {
        0 => {
            "Nothing was found that would lower this peak: no block repeats, and no pass or step of an optimizer holds much."
        }
        _ => "Estimates, from when the recorded allocations were made and freed.",
    };
    format!("{rows}{reserved}")
}

/// The choice of a card, and the field for another size. The size is that of the settings, so that both panels ask about
/// one device.
fn card_fields(props: &ProgramPanelProps, wrong: Option<String>) -> Html {
    let capacity = &props.choices.settings.capacity;
    let choose = {
        let choices = props.choices.clone();
        props
            .on_choose
            .reform(move |capacity: String| WhatIfChoices {
                settings: SettingChanges {
                    capacity,
                    ..choices.settings.clone()
                },
                ..choices.clone()
            })
    };
    let on_card = choose.reform(|event: Event| {
        let select = event.target_dyn_into::<HtmlSelectElement>();
        let place = usize::try_from(select.map_or(0, |select| select.selected_index()));
        let card = place
            .ok()
            .and_then(|place| CARDS.get(place.checked_sub(1)?));
        card.map_or_else(String::new, Card::typed)
    });
    let on_size = choose.reform(|event: Event| {
        let input = event.target_dyn_into::<HtmlInputElement>();
        let size = input.map(|input| input.value()).unwrap_or_default();
        size.trim().to_owned()
    });
    let is_card = CARDS.iter().any(|card| card.typed() == *capacity);
    let option = |card: &Card| {
        let words = format!("{} ({})", card.name, display::bytes(card.bytes()));
        html! { <option selected={card.typed() == *capacity}>{ words }</option> }
    };
    html! {
        <p class="card-fields">
            <label>{ "Which card? " }
                <select aria-label="Card" onchange={on_card}>
                    <option selected={!is_card}>{ if capacity.is_empty() { "any" } else { "another" } }</option>
                    { for CARDS.iter().map(option) }
                </select></label>
            <label>{ "or its memory " }
                <input type="text" size="9" value={capacity.clone()} placeholder="e.g. 24GiB"
                    aria-label="Memory of the device" aria-invalid={wrong.is_some().then_some("true")} onchange={on_size} /></label>
            if let Some(wrong) = wrong { <span class="refusal" role="alert">{ wrong }</span> }
        </p>
    }
}

/// A row: the peak, the cards that it fits into or whether it fits into the chosen one, and what is saved and why if
/// something is.
fn row(
    title: &str,
    peak_bytes: u64,
    capacity_bytes: Option<u64>,
    saved: Option<(u64, &str)>,
) -> Html {
    let (saved, because) = saved.unzip();
    let card = match capacity_bytes {
        Some(capacity) if peak_bytes <= capacity => {
            html! { <td class="of-card less">{ "yes" }</td> }
        }
        Some(_) => html! { <td class="of-card more-bytes">{ "no" }</td> },
        None => {
            html! { <td class="of-card">{ smallest_with(peak_bytes).map_or("none known", |card| card.name) }</td> }
        }
    };
    html! {
        <tr>
            <th scope="row">{ title }</th>
            <td title={sentences::exact_bytes(peak_bytes)}>{ display::bytes(peak_bytes) }</td>
            <td title={saved.map(sentences::exact_bytes)}>{ for saved.map(display::bytes) }</td>
            { card }
            <td class="because">{ because }</td>
        </tr>
    }
}
