//! The panel on the right: details of what is pinned, else of the device.

mod device;
mod life;
mod pinned;
mod resizer;
mod segment;
mod stack;

use yew::prelude::*;

use super::commands::use_commands;
use super::icons::{Glyph, Icon};
use crate::engine::Session;
use crate::protocol::{DeviceFacts, Look};
use crate::state::{Action, DeviceView, LanesChoices};
use device::DeviceSummary;
use pinned::Pinned;
use resizer::Resizer;
use segment::SegmentPanel;

#[derive(Properties, PartialEq)]
pub(super) struct DetailsPanelProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) facts: DeviceFacts,
    pub(super) view: DeviceView,
    /// The choices of lines over the picture; `None` if the view has no picture.
    pub(super) lanes: Option<LanesChoices>,
    /// The search text.
    pub(super) search: AttrValue,
    pub(super) is_open: bool,
    pub(super) width_px: f64,
}

/// The panel, or the button that opens it.
#[component]
pub(super) fn DetailsPanel(props: &DetailsPanelProps) -> Html {
    let commands = use_commands();
    let view = &props.view;
    if !props.is_open {
        return html! {
            <button type="button" class="unfold" title="Details (I)" aria-label="Unfold the details"
                aria-expanded="false" onclick={commands.on(Action::Details(true))}><Glyph icon={Icon::Chevron} /></button>
        };
    }
    let (title, content) = match (&view.pinned, &view.details) {
        (Some(_), Some(details)) => (
            "Pinned allocation",
            html! { <Pinned key={details.known.name.clone()} details={details.clone()} /> },
        ),
        (Some(_), None) => ("Pinned allocation", html! { <p class="muted">{ "…" }</p> }),
        (None, _) if view.pinned_segment.is_some() => {
            let segment = view.pinned_segment.iter().map(|segment| html! {
                <SegmentPanel session={props.session.clone()} device={props.look.device} piece={segment.piece}
                    moment={view.cursor_moment()} />
            });
            ("Pinned segment", html! { <>{ for segment }</> })
        }
        (None, _) => (
            "Device",
            html! {
                <DeviceSummary session={props.session.clone()} look={props.look.clone()} facts={props.facts.clone()}
                    lanes={props.lanes} search={props.search.clone()} />
            },
        ),
    };
    let is_pinned = view.pinned_thing().is_some();
    html! {
        <aside class={classes!("details", is_pinned.then_some("pinned"))} aria-label="Details"
            style={format!("width:{}px", props.width_px)}>
            <Resizer width_px={props.width_px} />
            <div class="row head">
                <h2 class="grow">{ title }</h2>
                if is_pinned {
                    <button type="button" class="plain" title="Deselect (Escape)" onclick={commands.on(Action::LetGo)}>
                        { "Unpin" }
                    </button>
                }
                <button type="button" class="square fold" title="Fold away (I)" aria-label="Fold the details away"
                    aria-expanded="true" onclick={commands.on(Action::Details(false))}><Glyph icon={Icon::Chevron} /></button>
            </div>
            <div class="scroll">{ content }</div>
        </aside>
    }
}
