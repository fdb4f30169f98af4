//! Every allocation in a table.

use yew::prelude::*;

use super::view_props::ViewProps;

/// See the module.
#[component]
pub(super) fn TableView(props: &ViewProps) -> Html {
    let _ = &props.session;
    html! { <section class="view table" aria-label="Allocations" /> }
}
