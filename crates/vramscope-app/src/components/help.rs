//! The list of all keys and gestures.

use web_sys::HtmlElement;
use yew::prelude::*;

use super::commands::use_commands;
use super::icons::{Glyph, Icon};
use crate::browser;
use crate::state::Action;
use crate::state::keys::{HELP, HelpLine};

/// The help dialog.
#[component]
pub(super) fn Help() -> Html {
    let commands = use_commands();
    let node = use_node_ref();
    {
        let node = node.clone();
        use_effect_with((), move |()| {
            let before = gloo::utils::document().active_element().and_then(to_html);
            if let Some(dialog) = node.cast::<HtmlElement>() {
                let _ = dialog.focus();
            }
            // Returns the focus to the element that had it.
            move || {
                if let Some(element) = before {
                    let _ = element.focus();
                }
            }
        });
    }
    let close = commands.on(Action::Help(false));
    let line = |(keys, text): &HelpLine| {
        html! { <><dt>{ for keys.iter().map(|key| html! { <kbd>{ *key }</kbd> }) }</dt><dd>{ *text }</dd></> }
    };
    let topic = |(title, lines): &(&'static str, &'static [HelpLine])| {
        html! { <section><h3>{ *title }</h3><dl>{ for lines.iter().map(line) }</dl></section> }
    };
    html! {
        <div class="veil" onclick={close.clone()}>
            <div class="dialog" role="dialog" aria-modal="true" aria-labelledby="help-title" tabindex="-1" ref={node}
                onclick={Callback::from(|event: MouseEvent| event.stop_propagation())}>
                <div class="row">
                    <h2 id="help-title" class="grow">{ "Keys and gestures" }</h2>
                    <button type="button" class="square" aria-label="Close" title="Close (Escape)" onclick={close}>
                        <Glyph icon={Icon::Close} />
                    </button>
                </div>
                <div class="topics">{ for HELP.iter().map(topic) }</div>
                { about() }
            </div>
        </div>
    }
}

/// Which version this is, and where more is said of it.
pub(super) fn about() -> Html {
    let documentation = browser::documentation().map(|href| {
        html! { <>{ " · " }<a {href} target="_blank" rel="noopener">{ "Documentation" }</a></> }
    });
    html! { <p class="about muted">{ "vramscope " }{ env!("CARGO_PKG_VERSION") }{ documentation.unwrap_or_default() }</p> }
}

fn to_html(element: web_sys::Element) -> Option<HtmlElement> {
    use wasm_bindgen::JsCast;
    element.dyn_into().ok()
}
