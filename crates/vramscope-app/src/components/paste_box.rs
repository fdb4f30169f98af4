//! The box of the start page for the text of an error.

use web_sys::HtmlTextAreaElement;
use yew::prelude::*;

use super::commands::use_commands;
use crate::browser::files;
use crate::engine::Source;

/// A box, and a button that reads what stands in it. What is pasted is read at once: see
/// [`use_drop`](super::hooks::use_drop).
#[component]
pub(super) fn PasteBox() -> Html {
    let commands = use_commands();
    let node = use_node_ref();
    let onclick = {
        let node = node.clone();
        Callback::from(move |_: MouseEvent| {
            let Some(field) = node.cast::<HtmlTextAreaElement>() else {
                return;
            };
            match files::of_text(&field.value()) {
                Some(file) => commands.open.emit(Source::files(vec![file])),
                None => drop(field.focus()),
            }
        })
    };
    html! {
        <div class="paste-box">
            <textarea id="paste" ref={node} data-paste="" rows="2" spellcheck="false" autocomplete="off" autocapitalize="off"
                aria-label="Or paste the text of the error, or a log" placeholder="or paste the error, or the log that it stands in (Ctrl+V anywhere)" />
            <button type="button" class="outlined" {onclick}>{ "Say why" }</button>
        </div>
    }
}
