//! A button that copies a text and reports the result.

use yew::prelude::*;

use super::icons::{Glyph, Icon};
use gloo::timers::callback::Timeout;

use crate::browser::clipboard;

/// How long the result is shown, in ms.
const SAID_MS: u32 = 1_500;

/// A copy button's properties.
#[derive(Properties, PartialEq)]
pub(super) struct CopyButtonProps {
    /// The text to copy.
    pub(super) text: AttrValue,
    /// A word for the text, e.g. `stack`.
    pub(super) what: AttrValue,
    /// Shows a word beside the icon.
    #[prop_or_default]
    pub(super) with_word: bool,
}

/// Copies a text to the clipboard.
#[component]
pub(super) fn CopyButton(props: &CopyButtonProps) -> Html {
    // Whether copying worked, for a moment after a click.
    let outcome = use_state_eq(|| None::<bool>);
    let onclick = {
        let (text, outcome) = (props.text.clone(), outcome.clone());
        Callback::from(move |_: MouseEvent| {
            let outcome = outcome.clone();
            clipboard::copy(&text, move |worked| {
                outcome.set(Some(worked));
                Timeout::new(SAID_MS, move || outcome.set(None)).forget();
            });
        })
    };
    let word = match *outcome {
        None => "Copy",
        Some(true) => "Copied",
        Some(false) => "The browser did not allow it",
    };
    let label = if outcome.is_none() {
        format!("Copy {}", props.what)
    } else {
        word.to_owned()
    };
    let icon = if *outcome == Some(true) {
        Icon::Done
    } else {
        Icon::Copy
    };
    html! {
        <button type="button" class="copy" {onclick} title={label.clone()} aria-label={label}>
            <Glyph {icon} />
            if props.with_word || *outcome == Some(false) { <span>{ word }</span> }
            <span class="unseen" role="status">{ if outcome.is_some() { word } else { "" } }</span>
        </button>
    }
}
