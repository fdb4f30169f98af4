//! What is wrong, in words, with the evidence one click away.

use yew::prelude::*;

use super::view_props::ViewProps;

/// See the module.
#[component]
pub(super) fn OverviewView(props: &ViewProps) -> Html {
    let _ = &props.session;
    html! { <section class="view overview" aria-label="Overview" /> }
}
