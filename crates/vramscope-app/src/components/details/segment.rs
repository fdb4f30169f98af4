//! Details of the pinned segment, and its contents at the cursor.

use vramscope_protocol::views::segments::{SegmentDetails, SegmentOf};
use yew::prelude::*;

use super::stack::Stack;
use crate::components::commands::use_commands;
use crate::components::copy_button::CopyButton;
use crate::components::hooks::use_answer;
use crate::engine::Session;
use crate::state::{Action, Navigation, ViewKind, sentences};
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
    let (dispatch, filter) = (commands.dispatch.clone(), details.filter.clone());
    let in_table = Callback::from(move |_: MouseEvent| {
        dispatch.emit(Action::Search(filter.clone()));
        dispatch.emit(Action::View(ViewKind::Table));
    });
    html! {
        <>
            <p class="size">{ display::bytes(details.bytes) }</p>
            <p class="muted">{ format!("{}, held {at}", sentences::exact_bytes(details.bytes)) }</p>
            <div class="row id">
                <span class="mono">{ display::address(details.address) }</span>
                <CopyButton text={display::address(details.address)} what="the address" />
            </div>
            <div class="row tools">
                if props.can_be_fitted {
                    <button type="button" class="outlined" title="Fit the view to it (F, or double click)"
                        onclick={commands.on(Action::Navigate(Navigation::FitPinned))}>{ "Fit" }</button>
                }
                <button type="button" class="outlined" title="The table of what was ever allocated at its addresses" onclick={in_table}>{ "Allocations" }</button>
                <button type="button" class="outlined" title="All segments and blocks at the cursor"
                    onclick={commands.on(Action::View(ViewKind::Allocator))}>{ "Allocator" }</button>
            </div>
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
