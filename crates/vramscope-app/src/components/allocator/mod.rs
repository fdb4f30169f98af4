//! The allocator at one moment.

use yew::prelude::*;

use super::view_props::ViewProps;

/// See the module.
#[component]
pub(super) fn AllocatorView(props: &ViewProps) -> Html {
    let _ = &props.session;
    html! { <section class="view allocator" aria-label="State" /> }
}
