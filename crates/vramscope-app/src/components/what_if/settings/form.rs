//! What is changed: settings worth a try, a switch, fields, and the text to copy.

use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use crate::components::choice::Select;
use crate::components::copy_button::CopyButton;
use crate::state::choices::{FIELDS, Field, SettingChanges, WhatIfChoices};

/// Properties of [`Form`].
#[derive(Properties, PartialEq)]
pub(super) struct FormProps {
    pub(super) choices: WhatIfChoices,
    /// Settings worth a try, as torch's variable has them.
    pub(super) suggestions: Vec<String>,
    /// All settings as torch reads them; `None` while they are not known.
    pub(super) settings: Option<String>,
    /// What is wrong with them.
    pub(super) refusal: Option<String>,
    pub(super) on_choose: Callback<WhatIfChoices>,
}

/// See the module.
#[component]
pub(super) fn Form(props: &FormProps) -> Html {
    let settings = &props.choices.settings;
    let choose = {
        let choices = props.choices.clone();
        props.on_choose.reform(move |settings| WhatIfChoices {
            settings,
            ..choices.clone()
        })
    };
    html! {
        <form class="changes" aria-label="Settings of the allocator" onsubmit={|event: SubmitEvent| event.prevent_default()}>
            { worth_a_try(&props.suggestions, settings, &choose) }
            { expandable(settings, &choose) }
            { for FIELDS.iter().enumerate().map(|(place, field)| text_field(place, field, settings, &choose)) }
            if let Some(refusal) = &props.refusal { <p class="refusal" role="alert">{ refusal }</p> }
            { conf(props) }
        </form>
    }
}

/// What others would try first.
fn worth_a_try(
    suggestions: &[String],
    settings: &SettingChanges,
    choose: &Callback<SettingChanges>,
) -> Html {
    let none = SettingChanges::default();
    let mut all = vec![none.clone()];
    all.extend(suggestions.iter().map(|text| SettingChanges::of(text)));
    let mut options: Vec<AttrValue> = vec!["as recorded".into()];
    options.extend(
        suggestions
            .iter()
            .map(|text| text.replace(',', ", ").into()),
    );
    let chosen = all.iter().position(|of| of == settings);
    if chosen.is_none() {
        // Choosing what is chosen changes nothing.
        all.push(settings.clone());
        options.push("as below".into());
    }
    let chosen = chosen.unwrap_or(all.len() - 1);
    let on_choose = choose.reform(move |place: usize| all.get(place).unwrap_or(&none).clone());
    html! { <div class="presets"><Select label="Try" {options} {chosen} {on_choose} /></div> }
}

fn expandable(settings: &SettingChanges, choose: &Callback<SettingChanges>) -> Html {
    const VALUES: [Option<bool>; 3] = [None, Some(true), Some(false)];
    let onchange = {
        let settings = settings.clone();
        choose.reform(move |event: Event| {
            let select = event.target_dyn_into::<HtmlSelectElement>();
            let place = select.map_or(0, |select| select.selected_index());
            let value = usize::try_from(place)
                .ok()
                .and_then(|place| VALUES.get(place));
            SettingChanges {
                expandable_segments: value.copied().flatten(),
                ..settings.clone()
            }
        })
    };
    let option = |value: &Option<bool>| {
        let word = match value {
            None => "as recorded",
            Some(true) => "True",
            Some(false) => "False",
        };
        html! { <option selected={*value == settings.expandable_segments}>{ word }</option> }
    };
    html! {
        <label title="Segments that grow page by page, so that free memory at their ends is never in pieces">
            <span class="mono">{ "expandable_segments" }</span>
            <select {onchange}>{ for VALUES.iter().map(option) }</select>
        </label>
    }
}

fn text_field(
    place: usize,
    field: &Field,
    settings: &SettingChanges,
    choose: &Callback<SettingChanges>,
) -> Html {
    let onchange = {
        let settings = settings.clone();
        choose.reform(move |event: Event| {
            let input = event.target_dyn_into::<HtmlInputElement>();
            let text = input.map(|input| input.value()).unwrap_or_default();
            settings.with_field(place, &text)
        })
    };
    html! {
        <label title={field.meaning}>
            <span class="mono">{ field.key }</span>
            <input type="text" size="9" value={settings.field(place).to_owned()} placeholder={field.example} {onchange} />
        </label>
    }
}

/// The line to start the program with.
fn conf(props: &FormProps) -> Html {
    let Some(settings) = props.settings.as_ref().filter(|_| props.refusal.is_none()) else {
        return Html::default();
    };
    let text = format!("PYTORCH_CUDA_ALLOC_CONF={settings}");
    html! {
        <div class="conf">
            if settings.is_empty() {
                <p class="muted">{ "These are PyTorch's defaults: nothing need be set." }</p>
            } else {
                <code>{ "PYTORCH_CUDA_ALLOC_CONF=" }{ for settings.split_inclusive(',').map(|setting| html! { <><wbr />{ setting }</> }) }</code><CopyButton text={text.clone()} what="setting" />
            }
        </div>
    }
}
