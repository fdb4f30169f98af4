//! The views, one below the other.

use yew::prelude::*;

use super::commands::use_commands;
use super::icons::{Glyph, Icon};
use crate::state::{Action, ViewKind};

/// Every view: its icon, its word, and the question it answers.
const VIEWS: [(ViewKind, Icon, &str, &str); 2] = [
    (
        ViewKind::Timeline,
        Icon::Timeline,
        "Timeline",
        "What was allocated when? (1)",
    ),
    (
        ViewKind::Facts,
        Icon::Facts,
        "Facts",
        "What is this file, and what does it lack? (2)",
    ),
];

/// Properties of [`Rail`].
#[derive(Properties, PartialEq)]
pub(super) struct RailProps {
    pub(super) view: ViewKind,
}

/// The rail of views.
#[component]
pub(super) fn Rail(props: &RailProps) -> Html {
    let commands = use_commands();
    let entry = |&(view, icon, word, question): &(ViewKind, Icon, &'static str, &'static str)| {
        html! {
            <button type="button" title={question} aria-current={(view == props.view).then_some("page")}
                onclick={commands.on(Action::View(view))}>
                <Glyph {icon} /> { word }
            </button>
        }
    };
    html! { <nav class="rail" aria-label="Views">{ for VIEWS.iter().map(entry) }</nav> }
}
