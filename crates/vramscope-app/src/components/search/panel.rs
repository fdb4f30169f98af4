//! The panel below the search box: an error, completions, or the guide.

use yew::prelude::*;

use vramscope_core::analysis::search::filter::{Candidate, CandidateKind};

use super::guide::Guide;

#[derive(Properties, PartialEq)]
pub(super) struct PanelProps {
    /// The error in the text, or what is still missing at its end.
    pub(super) error: Option<AttrValue>,
    pub(super) is_unfinished: bool,
    /// Why parts of the filter match nothing.
    pub(super) notes: Vec<String>,
    /// The completions.
    pub(super) candidates: Vec<Candidate>,
    /// Index of the completion that Enter inserts.
    pub(super) chosen: Option<usize>,
    pub(super) has_guide: bool,
    /// Called with the index of the clicked completion.
    pub(super) on_candidate: Callback<usize>,
    /// Called with the text of a clicked example.
    pub(super) on_example: Callback<String>,
}

/// The panel; nothing if it would be empty.
#[component]
pub(super) fn Panel(props: &PanelProps) -> Html {
    let list = use_node_ref();
    use_effect_with((props.chosen, list.clone()), |(chosen, list)| {
        let item = chosen.and_then(|chosen| {
            let list = list.cast::<web_sys::Element>()?;
            list.children().item(chosen as u32)
        });
        if let Some(item) = item {
            let options = web_sys::ScrollIntoViewOptions::new();
            options.set_block(web_sys::ScrollLogicalPosition::Nearest);
            item.scroll_into_view_with_scroll_into_view_options(&options);
        }
    });
    let is_empty = props.error.is_none()
        && props.notes.is_empty()
        && props.candidates.is_empty()
        && !props.has_guide;
    if is_empty {
        return Html::default();
    }
    let candidate = |(place, candidate): (usize, &Candidate)| {
        let is_chosen = props.chosen == Some(place);
        let kind = match candidate.kind {
            CandidateKind::Key => "key",
            CandidateKind::Term => "term",
        };
        html! {
            <li id={format!("search-option-{place}")} role="option" class={classes!(kind, is_chosen.then_some("chosen"))}
                aria-selected={is_chosen.to_string()} onclick={props.on_candidate.reform(move |_| place)}
                onmousedown={|event: MouseEvent| event.prevent_default()}>
                <span class="mono">{ &candidate.text }</span>
                <span class="muted">{ &candidate.help }</span>
            </li>
        }
    };
    html! {
        <div class="search-panel">
            if let Some(error) = &props.error {
                <p class={if props.is_unfinished { "search-note" } else { "search-error" }} role={(!props.is_unfinished).then_some("alert")}>{ error }</p>
            }
            { for props.notes.iter().map(|note| html! { <p class="search-note">{ note }</p> }) }
            if !props.candidates.is_empty() {
                <ul id="search-options" role="listbox" aria-label="Completions" ref={list}>
                    { for props.candidates.iter().enumerate().map(candidate) }
                </ul>
            }
            if props.has_guide { <Guide on_example={props.on_example.clone()} /> }
        </div>
    }
}
