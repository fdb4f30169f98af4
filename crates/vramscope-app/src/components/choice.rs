//! Small choices: a row of alternatives, and a drop-down list.

use web_sys::{HtmlElement, HtmlSelectElement};
use yew::prelude::*;

#[derive(Properties, PartialEq)]
pub(super) struct ChoiceProps {
    /// The name of the choice, for screen readers.
    pub(super) label: AttrValue,
    /// The alternatives: text and explanation.
    pub(super) options: Vec<(&'static str, &'static str)>,
    /// Index of the chosen alternative.
    pub(super) chosen: usize,
    /// Called with the index of the user's choice.
    pub(super) on_choose: Callback<usize>,
}

/// A row of alternatives, of which one is chosen.
#[component]
pub(super) fn Choice(props: &ChoiceProps) -> Html {
    let option = |(place, (word, meaning)): (usize, &(&'static str, &'static str))| {
        let onchange = props.on_choose.reform(move |event: Event| {
            give_keys_back(&event);
            place
        });
        html! {
            <label title={*meaning}>
                <input type="radio" name={props.label.clone()} checked={place == props.chosen} {onchange} />
                { word }
            </label>
        }
    };
    html! {
        <div class="choice" role="radiogroup" aria-label={props.label.clone()}>
            { for props.options.iter().enumerate().map(option) }
        </div>
    }
}

#[derive(Properties, PartialEq)]
pub(super) struct SelectProps {
    /// The name of the choice.
    pub(super) label: AttrValue,
    /// The alternatives.
    pub(super) options: Vec<AttrValue>,
    /// Index of the chosen alternative.
    pub(super) chosen: usize,
    /// More about the chosen one, as a tooltip.
    #[prop_or_default]
    pub(super) about: Option<AttrValue>,
    /// Called with the index of the user's choice.
    pub(super) on_choose: Callback<usize>,
}

/// A drop-down list.
#[component]
pub(super) fn Select(props: &SelectProps) -> Html {
    let onchange = props.on_choose.reform(|event: Event| {
        give_keys_back(&event);
        let select = event.target_dyn_into::<HtmlSelectElement>();
        usize::try_from(select.map_or(0, |select| select.selected_index())).unwrap_or(0)
    });
    let option = |(place, text): (usize, &AttrValue)| {
        html! { <option selected={place == props.chosen}>{ text.clone() }</option> }
    };
    // A narrow list cuts what is chosen.
    let chosen = props.options.get(props.chosen);
    let chosen = chosen.map_or_else(String::new, |text| format!(": {text}"));
    let about = props.about.as_ref();
    let about = about.map_or_else(String::new, |about| format!("\n{about}"));
    html! {
        <label title={format!("{}{chosen}{about}", props.label)}>
            <span>{ props.label.clone() }</span>
            <select {onchange}>{ for props.options.iter().enumerate().map(option) }</select>
        </label>
    }
}

/// Releases the focus after a click, so that the timeline's keys work again. With the keyboard, the
/// focus stays.
fn give_keys_back(event: &Event) {
    if let Some(element) = event.target_dyn_into::<HtmlElement>()
        && !element.matches(":focus-visible").unwrap_or(true)
    {
        let _ = element.blur();
    }
}
