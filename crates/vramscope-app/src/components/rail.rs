//! The views, one below the other.

use yew::prelude::*;

use super::commands::use_commands;
use super::icons::{Glyph, Icon};
use crate::state::{Action, ViewKind};

/// A view's icon, its word, and the question it answers.
fn entry(view: ViewKind) -> (Icon, &'static str, &'static str) {
    match view {
        ViewKind::Overview => (
            Icon::Overview,
            "Overview",
            "What is wrong, and what held the memory?",
        ),
        ViewKind::Timeline => (Icon::Timeline, "Timeline", "What was allocated when?"),
        ViewKind::Segments => (
            Icon::Segments,
            "Segments",
            "What was reserved from CUDA when?",
        ),
        ViewKind::Map => (
            Icon::Map,
            "Map",
            "Where did everything lie? How did memory fragment?",
        ),
        ViewKind::Allocator => (
            Icon::Allocator,
            "State",
            "What did the allocator hold at one event?",
        ),
        ViewKind::Flame => (Icon::Flame, "Flame", "Which code holds the memory?"),
        ViewKind::Table => (Icon::Table, "Table", "Which allocations are there?"),
        ViewKind::Compare => (
            Icon::Compare,
            "Compare",
            "What differs between two moments, devices or files?",
        ),
        ViewKind::WhatIf => (
            Icon::WhatIf,
            "What-if",
            "How little memory would do, and under which settings?",
        ),
        ViewKind::Facts => (
            Icon::Facts,
            "Facts",
            "What is this file, and what does it lack?",
        ),
    }
}

/// Properties of [`Rail`].
#[derive(Properties, PartialEq)]
pub(super) struct RailProps {
    pub(super) view: ViewKind,
}

/// The rail of views.
#[component]
pub(super) fn Rail(props: &RailProps) -> Html {
    let commands = use_commands();
    let button = |(number, &view): (usize, &ViewKind)| {
        let (icon, word, question) = entry(view);
        let title = match number {
            0..9 => format!("{question} ({})", number + 1),
            _ => question.to_owned(),
        };
        html! {
            <button type="button" {title} aria-current={(view == props.view).then_some("page")}
                data-view={view.name()} onclick={commands.on(Action::View(view))}>
                <Glyph {icon} /> { word }
            </button>
        }
    };
    html! { <nav class="rail" aria-label="Views">{ for ViewKind::ALL.iter().enumerate().map(button) }</nav> }
}
