//! Changes of the program: where live memory would peak with each, and whether that fits into a device.

use vramscope_core::model::DeviceIndex;
use vramscope_view::display;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use crate::components::hooks::use_answer;
use crate::engine::Session;
use crate::protocol::views::what_if::{Answer, Question};
use crate::state::choices::{SettingChanges, WhatIfChoices};
use crate::state::sentences;
use crate::state::typed_size::typed_bytes;

#[derive(Properties, PartialEq)]
pub(super) struct ProgramPanelProps {
    pub(super) session: Session,
    pub(super) device: DeviceIndex,
    pub(super) choices: WhatIfChoices,
    pub(super) on_choose: Callback<WhatIfChoices>,
}

#[component]
pub(super) fn ProgramPanel(props: &ProgramPanelProps) -> Html {
    let device = props.device;
    let answered = use_answer(&props.session, Some(Question::Program { device }));
    let answer = answered.and_then(|answered| answered.answer);
    let Some(Answer::Program(known)) = answer.as_deref() else {
        return Html::default();
    };
    let typed = typed_bytes(&props.choices.settings.capacity);
    let capacity_bytes = typed.as_ref().ok().copied().filter(|&bytes| bytes > 0);
    let fits = |bytes: u64| capacity_bytes.map(|capacity| bytes <= capacity);
    html! {
        <div class="places program" tabindex="0" data-scrolls="">
            { memory_field(props, typed.err()) }
            <table>
                <thead><tr>
                    <th scope="col">{ "change of the program" }</th>
                    <th scope="col" title="The most that is live at once: the allocator reserves more, by what is idle">{ "peak of live memory" }</th>
                    <th scope="col">{ "saved" }</th>
                    if capacity_bytes.is_some() { <th scope="col">{ "live memory fits" }</th> }
                    <th scope="col" class="because">{ "what it rests on" }</th>
                </tr></thead>
                <tbody>
                    { row("as recorded", known.peak_bytes, fits(known.peak_bytes), None) }
                    { for known.rows.iter().map(|(saved, change)| row(&change.title, change.peak_bytes, fits(change.peak_bytes), Some((*saved, &change.because)))) }
                </tbody>
            </table>
            <p class="muted">{ match known.rows.len() {
                0 => "Nothing was found that would lower this peak: no block repeats, and no pass or step of an optimizer holds much.",
                _ => "Estimates, from when the recorded allocations were made and freed. The allocator reserves more than is live: see the bars above.",
            } }</p>
        </div>
    }
}

/// The field for the memory that a device has. It is that of the settings, so that both panels ask about one device.
fn memory_field(props: &ProgramPanelProps, wrong: Option<String>) -> Html {
    let onchange = {
        let choices = props.choices.clone();
        props.on_choose.reform(move |event: Event| {
            let input = event.target_dyn_into::<HtmlInputElement>();
            let capacity = input.map(|input| input.value()).unwrap_or_default();
            let settings = SettingChanges {
                capacity: capacity.trim().to_owned(),
                ..choices.settings.clone()
            };
            WhatIfChoices {
                settings,
                ..choices.clone()
            }
        })
    };
    html! {
        <p><label>{ "What fits into " }
            <input type="text" size="9" value={props.choices.settings.capacity.clone()} placeholder="e.g. 24GiB"
                aria-label="Memory of the device" aria-invalid={wrong.is_some().then_some("true")} {onchange} /></label>
            if let Some(wrong) = wrong { <span class="refusal" role="alert">{ " " }{ wrong }</span> }
        </p>
    }
}

/// A row: the peak, whether it fits if that is asked, and what is saved and why if something is.
fn row(title: &str, peak_bytes: u64, fits: Option<bool>, saved: Option<(u64, &str)>) -> Html {
    let (saved, because) = saved.unzip();
    html! {
        <tr>
            <th scope="row">{ title }</th>
            <td title={sentences::exact_bytes(peak_bytes)}>{ display::bytes(peak_bytes) }</td>
            <td title={saved.map(sentences::exact_bytes)}>{ for saved.map(display::bytes) }</td>
            if let Some(fits) = fits { <td class={if fits { "less" } else { "more-bytes" }}>{ if fits { "yes" } else { "no" } }</td> }
            <td class="because">{ because }</td>
        </tr>
    }
}
