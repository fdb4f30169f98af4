//! The rail: the list of views.

use yew::prelude::*;

use super::commands::use_commands;
use super::icons::{Glyph, Icon};
use crate::state::{Action, ViewKind};

pub(super) fn icon(view: ViewKind) -> Icon {
    match view {
        ViewKind::Overview => Icon::Overview,
        ViewKind::Timeline => Icon::Timeline,
        ViewKind::Segments => Icon::Segments,
        ViewKind::Map => Icon::Map,
        ViewKind::Allocator => Icon::Allocator,
        ViewKind::Flame => Icon::Flame,
        ViewKind::Table => Icon::Table,
        ViewKind::Compare => Icon::Compare,
        ViewKind::WhatIf => Icon::WhatIf,
        ViewKind::Facts => Icon::Facts,
    }
}

#[derive(Properties, PartialEq)]
pub(super) struct RailProps {
    pub(super) view: ViewKind,
}

/// The rail of views.
#[component]
pub(super) fn Rail(props: &RailProps) -> Html {
    let commands = use_commands();
    let button = |(number, &view): (usize, &ViewKind)| {
        let (icon, question) = (icon(view), view.question());
        let title = match number {
            0..9 => format!("{question} ({})", number + 1),
            _ => format!("{question} (R)"),
        };
        html! {
            <button type="button" {title} aria-current={(view == props.view).then_some("page")}
                data-view={view.name()} onclick={commands.on(Action::View(view))}>
                <Glyph {icon} /> { view.word() }
            </button>
        }
    };
    html! { <nav class="rail" aria-label="Views">{ for ViewKind::ALL.iter().enumerate().map(button) }</nav> }
}
