//! Call trees.

use yew::prelude::*;

use super::view_props::ViewProps;

/// See the module.
#[component]
pub(super) fn FlameView(props: &ViewProps) -> Html {
    let _ = &props.session;
    html! { <section class="view flame" aria-label="Flame graph" /> }
}
