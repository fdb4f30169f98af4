//! A call site on one line: where there is no room for all of it, its folder and its function give way, and
//! `file:line` stays, and that it is where memory was freed, if nobody knows who allocated it.

use yew::prelude::*;

use crate::state::{sentences, stacks};

/// A call site, or another label as it is.
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
