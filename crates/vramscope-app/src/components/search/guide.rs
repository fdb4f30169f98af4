//! A card that explains the search language.

use yew::prelude::*;

use vramscope_core::analysis::search::filter::keys;

/// `on_example` is called with the text of a clicked example.
#[derive(Properties, PartialEq)]
pub(super) struct GuideProps {
    pub(super) on_example: Callback<String>,
}

const SIGNS: [(&str, &str); 6] = [
    ("a b", "both: words beside each other"),
    ("a | b", "either; a or b too"),
    ("!a", "not; -a too"),
    ("(a | b) c", "brackets group"),
    (
        "\"a b\"",
        "quotes keep spaces and signs; * stands for anything outside of them",
    ),
    (
        "size>1MiB",
        "< <= > >= = and : for a number as shown; size:1MiB..4MiB for a range",
    ),
];

/// The card.
#[component]
pub(super) fn Guide(props: &GuideProps) -> Html {
    let example = |text: &'static str| {
        // Keeps the focus in the box; otherwise the card would close.
        let onmousedown = |event: MouseEvent| event.prevent_default();
        let onclick = props.on_example.reform(move |_| text.to_owned());
        html! { <button type="button" class="plain mono" tabindex="-1" {onmousedown} {onclick}>{ text }</button> }
    };
    let line = |text: &'static str, help: &'static str| {
        html! { <><dt>{ example(text) }</dt><dd>{ help }</dd></> }
    };
    html! {
        <div class="guide">
            <p class="muted">
                { "A plain word is looked for in functions, files, call sites, addresses, names like b7f5a…_3, metadata, \
                   categories and annotations." }
            </p>
            <dl>
                { for SIGNS.iter().map(|(text, help)| html! { <><dt class="mono">{ *text }</dt><dd>{ *help }</dd></> }) }
            </dl>
            <dl>
                { for keys::all().map(|key| line(key.example, key.help)) }
                { for keys::FLAGS.iter().map(|flag| line(flag.name, flag.help)) }
            </dl>
        </div>
    }
}
