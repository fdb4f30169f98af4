//! The card of a file that cannot be read: its format, the position of the error, and advice.

use vramscope_protocol::Failure;
use yew::prelude::*;

use super::commands::use_commands;
use super::copy_button::CopyButton;
use super::icons::{Glyph, Icon};
use crate::engine::SessionId;
use crate::state::{Shared, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct ErrorCardProps {
    pub(super) id: SessionId,
    pub(super) name: AttrValue,
    pub(super) failure: Shared<Failure>,
    /// Whether the user can choose other files.
    pub(super) takes_files: bool,
}

#[component]
pub(super) fn ErrorCard(props: &ErrorCardProps) -> Html {
    let commands = use_commands();
    let (id, failure) = (props.id, &props.failure);
    let places = sentences::failure_places(failure);
    html! {
        <section class="card failed" role="alert">
            <h2><Glyph icon={Icon::Warning} /> <span>{ props.name.clone() }</span></h2>
            <p class="what">{ sentences::capital(&failure.message) }</p>
            if !failure.advice.is_empty() { <p>{ &failure.advice }</p> }
            if !places.is_empty() {
                <dl class="rows">
                    { for places.iter().map(|(name, value)| html! { <><dt>{ *name }</dt><dd class="mono">{ value }</dd></> }) }
                </dl>
            }
            if !failure.head.is_empty() {
                <details>
                    <summary>{ "The first bytes" }</summary>
                    <pre class="hex" tabindex="0">{ sentences::hex_dump(&failure.head) }</pre>
                </details>
            }
            <div class="row">
                <CopyButton text={sentences::failure_text(&props.name, failure)} what="this message" with_word=true />
                <span class="grow" />
                if props.takes_files {
                    <button type="button" class="outlined" onclick={commands.close.reform(move |_| id)}>{ "Close" }</button>
                    <button type="button" class="primary" onclick={commands.pick.reform(|_| ())}>{ "Open another file" }</button>
                }
            </div>
        </section>
    }
}
