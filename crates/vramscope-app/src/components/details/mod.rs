//! The panel on the right: details of what is pinned, else of the selected range, else of the device; and below the
//! legend, whose sums are those of what is selected.

mod device;
mod event;
mod group;
mod legend;
mod life;
mod pinned;
mod range;
mod segment;
mod stack;

use vramscope_protocol::{DeviceFacts, Look};
use yew::prelude::*;

use super::commands::use_commands;
use super::divider::Divider;
use super::icons::{Glyph, Icon};
use crate::browser::frame;
use crate::engine::Session;
use crate::state::choices::CompareChoices;
use crate::state::selected::Places;
use crate::state::{
    Action, DETAILS_WIDTH_PX, DeviceView, LanesChoices, Pin, Search, ViewKind, sentences,
};
use device::DeviceSummary;
use event::EventPanel;
use group::GroupPanel;
use legend::{Legend, LegendLine};
use pinned::Pinned;
use range::RangePanel;
use segment::SegmentPanel;

#[derive(Clone, Properties, PartialEq)]
pub(super) struct DetailsPanelProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) facts: DeviceFacts,
    pub(super) view: DeviceView,
    /// What is selected.
    pub(super) places: Places,
    /// The view of the page.
    pub(super) shown: ViewKind,
    pub(super) lanes: LanesChoices,
    /// The settings to replay with; empty if there are none.
    pub(super) replay: AttrValue,
    pub(super) compare: CompareChoices,
    pub(super) search: Search,
    pub(super) is_open: bool,
    pub(super) width_px: f64,
}

/// The panel, or the button that opens it.
#[component]
pub(super) fn DetailsPanel(props: &DetailsPanelProps) -> Html {
    let commands = use_commands();
    if !props.is_open || frame::is_picture_alone() {
        let has_colours = props.shown.picture().is_some() || props.shown == ViewKind::Allocator;
        return html! {
            <>
                <button type="button" class="unfold" title="Details (I)" aria-label="Unfold the details"
                    aria-expanded="false" onclick={commands.on(Action::Details(true))}><Glyph icon={Icon::Chevron} /></button>
                if has_colours {
                    <LegendLine session={props.session.clone()} look={props.look.clone()} places={props.places} search={props.search.text.clone()} />
                }
            </>
        };
    }
    let is_pinned = props.view.pin.is_some();
    let (title, content) = match &props.view.pin {
        Some(pin) => (pinned_title(pin), pinned(props, pin)),
        None => unpinned(props),
    };
    html! {
        <aside class={classes!("details", is_pinned.then_some("pinned"))} aria-label="Details"
            style={format!("width:{}px", props.width_px)}>
            <Divider label="Width of the details" value={props.width_px} range={DETAILS_WIDTH_PX} per_px={-1.0}
                on_change={commands.dispatch.reform(Action::DetailsWidth)} />
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
            if let Some(pools) = props.search.pool().filter(|_| !props.shown.follows_pools_only()) {
                <p class="note-line">{ sentences::of_pools(&pools) }</p>
            }
            <div class="scroll">
                { content }
                <Legend session={props.session.clone()} look={props.look.clone()} places={props.places} search={props.search.text.clone()} />
            </div>
        </aside>
    }
}

/// The title of what is pinned.
fn pinned_title(pin: &Pin) -> &'static str {
    match pin {
        Pin::Allocation(_) => "Pinned allocation",
        Pin::Segment(_) => "Pinned segment",
        Pin::Event => "Pinned event",
        Pin::Group(_) => "Pinned group",
    }
}

/// The details of what is pinned.
fn pinned(props: &DetailsPanelProps, pin: &Pin) -> Html {
    let (session, device) = (props.session.clone(), props.look.device);
    let cursor = props.view.cursor_moment();
    match pin {
        Pin::Allocation(_) => match &props.view.details {
            Some(details) => {
                html! { <Pinned key={details.known.name.clone()} details={details.clone()} /> }
            }
            None => html! { <p class="muted">{ "…" }</p> },
        },
        Pin::Segment(segment) => {
            html! { <SegmentPanel {session} {device} piece={segment.piece} can_be_fitted={segment.can_be_fitted()} moment={cursor} /> }
        }
        Pin::Event => {
            html! { <EventPanel {session} {device} moment={cursor.unwrap_or(0)} view={props.shown} /> }
        }
        Pin::Group(group) => html! { <GroupPanel {session} {device} group={group.clone()} /> },
    }
}

/// The title and the details while nothing is pinned.
fn unpinned(props: &DetailsPanelProps) -> (&'static str, Html) {
    let has_picture = props.shown.picture().is_some();
    if let Some(facts) = props.view.selection {
        let range = html! {
            <RangePanel {facts} of_range={props.places.of_range} compare={props.compare.clone()} {has_picture} />
        };
        return ("Range", range);
    }
    let device = html! {
        <DeviceSummary picture={props.look.picture} facts={props.facts.clone()} lanes={has_picture.then_some(props.lanes)} replay={props.replay.clone()}
            cursor={props.places.cursor} />
    };
    ("Device", device)
}
