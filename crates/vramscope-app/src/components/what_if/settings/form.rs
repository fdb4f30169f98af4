//! The form of changed settings: a switch, fields, and the text to copy.

use web_sys::{HtmlInputElement, HtmlSelectElement};
use yew::prelude::*;

use crate::components::copy_button::CopyButton;
use crate::state::choices::{FIELDS, Field, SettingChanges};

#[derive(Properties, PartialEq)]
pub(super) struct FormProps {
    pub(super) settings: SettingChanges,
    /// All settings in torch's syntax; `None` if they are not known.
    pub(super) all: Option<String>,
    /// An error in the settings.
    pub(super) refusal: Option<String>,
    pub(super) on_choose: Callback<SettingChanges>,
}

#[component]
pub(super) fn Form(props: &FormProps) -> Html {
    let FormProps {
        settings,
        on_choose,
        ..
    } = props;
    let is_refused = props.refusal.is_some();
    let fields = FIELDS.iter().enumerate();
    let fields = fields.map(|(place, field)| {
        let is_wrong = is_refused && settings.is_wrong(place);
        text_field(place, field, settings, is_wrong, on_choose)
    });
    html! {
        <form class="changes" aria-label="Settings of the allocator" onsubmit={|event: SubmitEvent| event.prevent_default()}>
            { expandable(settings, on_choose) }
            { for fields }
            if let Some(refusal) = &props.refusal {
                <p class="refusal" role="alert">{ refusal }</p>
            } else {
                { for props.all.as_deref().map(conf) }
            }
        </form>
    }
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
    is_wrong: bool,
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
            <input type="text" size="9" value={settings.field(place).to_owned()} placeholder={field.example}
                aria-invalid={is_wrong.then_some("true")} {onchange} />
        </label>
    }
}

/// The environment variable that sets the settings.
fn conf(settings: &str) -> Html {
    // Quoted, because brackets have a meaning in a shell.
    let quote = if settings.contains('[') { "'" } else { "" };
    let text = format!("PYTORCH_CUDA_ALLOC_CONF={quote}{settings}{quote}");
    html! {
        <div class="conf">
            if settings.is_empty() {
                <p class="muted">{ "These are PyTorch's defaults: nothing need be set." }</p>
            } else {
                <code>{ for text.split_inclusive(['=', ',']).map(|setting| html! { <><wbr />{ setting }</> }) }</code><CopyButton text={text.clone()} what="setting" />
            }
        </div>
    }
}
