//! Details of the pinned segment, and its contents at the cursor.

use yew::prelude::*;

use super::stack::Stack;
use crate::components::commands::use_commands;
use crate::components::copy_button::CopyButton;
use crate::components::hooks::use_answer;
use crate::engine::Session;
use crate::protocol::views::segments::{SegmentDetails, SegmentOf};
use crate::state::{Action, Navigation, sentences};
use vramscope_core::model::DeviceIndex;
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct SegmentPanelProps {
    pub(super) session: Session,
    pub(super) device: DeviceIndex,
    pub(super) piece: u32,
    /// Whether the picture can be fitted to it.
    pub(super) can_be_fitted: bool,
    /// The cursor's moment; `None` for the end.
    pub(super) moment: Option<u32>,
}

/// Its size, address, life, contents and stack.
#[component]
pub(super) fn SegmentPanel(props: &SegmentPanelProps) -> Html {
    let commands = use_commands();
    let question = SegmentOf {
        device: props.device,
        piece: props.piece,
        moment: props.moment,
    };
    let answered = use_answer(&props.session, Some(question));
    let segment = (props.device, props.piece);
    let answer = answered
        .filter(|answered| (answered.question.device, answered.question.piece) == segment)
        .and_then(|answered| answered.answer);
    let Some(details) = answer.as_deref() else {
        return html! { <p class="muted">{ "…" }</p> };
    };
    let at = match props.moment {
        Some(moment) => sentences::at_moment(moment),
        None => "at the end".to_owned(),
    };
    html! {
        <>
            <p class="size">{ display::bytes(details.bytes) }</p>
            <p class="muted">{ format!("{}, held {at}", sentences::exact_bytes(details.bytes)) }</p>
            <div class="row id">
                <span class="mono">{ display::address(details.address) }</span>
                <CopyButton text={display::address(details.address)} what="the address" />
            </div>
            if props.can_be_fitted {
                <div class="row tools">
                    <button type="button" class="outlined" title="Fit the view to it (F, or double click)"
                        onclick={commands.on(Action::Navigate(Navigation::FitPinned))}>{ "Fit" }</button>
                </div>
            }
            { rows(details) }
            if let Some(stack) = &details.stack {
                <Stack title="The allocator asked CUDA for it in" frames={stack.clone()} />
            }
        </>
    }
}

fn rows(details: &SegmentDetails) -> Html {
    let kind = if details.is_expandable {
        "expandable segment"
    } else {
        "segment"
    };
    let row = |(name, value): &(String, String)| html! { <><dt>{ name }</dt><dd>{ value }</dd></> };
    html! {
        <dl class="rows">
            <dt>{ "Kind" }</dt><dd>{ kind }</dd>
            <dt>{ "Held" }</dt><dd>{ sentences::held(&details.life) }</dd>
            { for details.properties.iter().map(row) }
        </dl>
    }
}
