//! The card of a file that is being read: its progress, and a cancel button.

use vramscope_protocol::Progress;
use yew::prelude::*;

use super::commands::use_commands;
use crate::engine::SessionId;
use crate::state::sentences;

#[derive(Properties, PartialEq)]
pub(super) struct OpeningCardProps {
    pub(super) id: SessionId,
    pub(super) name: AttrValue,
    pub(super) progress: Progress,
}

/// A progress bar with the stage and a cancel button.
#[component]
pub(super) fn OpeningCard(props: &OpeningCardProps) -> Html {
    let commands = use_commands();
    let id = props.id;
    let fraction = sentences::fraction(&props.progress);
    html! {
        <section class="card" aria-label={format!("Opening {}", props.name)}>
            <h2>{ props.name.clone() }</h2>
            <progress value={fraction.map(|done| done.to_string())} max="1"
                aria-label={sentences::stage(props.progress.stage)} />
            <div class="row">
                <p class="grow muted">{ sentences::progress(&props.progress) }</p>
                <button type="button" class="outlined" onclick={commands.close.reform(move |_| id)}>{ "Cancel" }</button>
            </div>
        </section>
    }
}
