//! A call site on one line. If space is short, its folder and its function are cut, while
//! `file:line` stays. If only the free was recorded, "freed at" precedes it.

use yew::prelude::*;

use crate::state::{sentences, stacks};

/// The label of a call site. Other labels stay as they are.
pub(super) fn site_label(label: &str) -> Html {
    let freed_at = "freed at ";
    let (is_freed, label) = match label.strip_prefix(freed_at) {
        Some(rest) => (true, rest),
        None => (false, label),
    };
    let (place, function) = stacks::split_site(label);
    if place.is_empty() {
        return html! { <span class="site-label mono"><span class="function">{ sentences::site(label) }</span></span> };
    }
    let (folder, file) = stacks::split_path(place);
    html! {
        <span class="site-label mono">
            if is_freed { <span class="file">{ "freed at\u{a0}" }</span> }
            if !folder.is_empty() { <span class="folder"><bdi>{ folder }</bdi></span> }
            <span class="file">{ file }</span>
            if !function.is_empty() { <span class="function">{ function }</span> }
        </span>
    }
}
