//! Two moments, devices or files beside each other.

use yew::prelude::*;

use super::view_props::ViewProps;

/// See the module.
#[component]
pub(super) fn CompareView(props: &ViewProps) -> Html {
    let _ = &props.session;
    html! { <section class="view compare" aria-label="Compare" /> }
}
