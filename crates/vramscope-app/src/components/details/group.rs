//! Several allocations that share a pixel, and were pinned together.

use vramscope_core::model::DeviceIndex;
use vramscope_protocol::{Preview, PreviewsOf};
use vramscope_view::display;
use yew::prelude::*;

use crate::components::commands::{Commands, use_commands};
use crate::components::hooks::use_answer;
use crate::components::site_label::site_label;
use crate::engine::Session;
use crate::state::{Action, Navigation, PinnedGroup, sentences};

#[derive(Properties, PartialEq)]
pub(super) struct GroupPanelProps {
    pub(super) session: Session,
    pub(super) device: DeviceIndex,
    pub(super) group: PinnedGroup,
}

/// Their sums by call site, and the largest of them to pin.
#[component]
pub(super) fn GroupPanel(props: &GroupPanelProps) -> Html {
    let commands = use_commands();
    let several = props.group.several.as_deref();
    let question = several.map(|several| PreviewsOf {
        device: props.device,
        allocations: several.largest.clone(),
    });
    let answered = use_answer(&props.session, question.clone());
    let listed = answered
        .filter(|answered| Some(&answered.question) == question.as_ref())
        .and_then(|answered| answered.answer);
    let Some(several) = several else {
        return html! { <p class="muted">{ "…" }</p> };
    };
    let top = &several.top;
    let unlisted = top.count.saturating_sub(several.largest.len() as u64);
    html! {
        <>
            <p class="size">{ display::bytes(top.bytes) }</p>
            <p>{ sentences::count_of(top.count, "allocation", "allocations") }<span class="muted">{ " share this pixel" }</span></p>
            <div class="row tools">
                if props.group.can_be_fitted() {
                    <button type="button" class="outlined" title="Go closer (F, or double click)"
                        onclick={commands.on(Action::Navigate(Navigation::FitPinned))}>{ "Zoom in" }</button>
                }
            </div>
            <ul class="group-sites">
                { for top.sites.iter().map(|site| html! {
                    <li><span class="grow">{ site_label(&site.label) }</span><span class="number muted">{ display::count(site.count) }{ " ×" }</span>
                        <span class="number">{ display::bytes(site.bytes) }</span></li>
                }) }
                if top.other_sites > 0 {
                    <li class="muted"><span class="grow">{ sentences::count_of(u64::from(top.other_sites), "other call site", "other call sites") }</span>
                        <span class="number">{ display::bytes(top.other_bytes) }</span></li>
                }
            </ul>
            <h3>{ "The largest" }</h3>
            <ul class="group-list">{ for listed.iter().flat_map(|list| list.iter()).map(|of| row(&commands, of)) }</ul>
            if unlisted > 0 { <p class="muted">{ format!("and {}", sentences::count_of(unlisted, "smaller one", "smaller ones")) }</p> }
        </>
    }
}

/// An allocation, which a click pins.
fn row(commands: &Commands, preview: &Preview) -> Html {
    let title = format!(
        "{} · {}",
        preview.brief.name,
        sentences::life(&preview.brief.life)
    );
    html! {
        <li><button type="button" {title} onclick={commands.on(Action::Pin(preview.allocation))}>
            <span class="number">{ display::bytes(preview.brief.requested_bytes) }</span>
            <span class="grow">{ site_label(&preview.user_frame) }<span class="muted remarks">{ &preview.remarks }</span></span>
        </button></li>
    }
}
