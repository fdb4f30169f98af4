//! The details panel while nothing is pinned: the device's numbers, and the lines over the picture.

use vramscope_protocol::{DeviceFacts, Picture};
use yew::prelude::*;

use crate::components::commands::use_commands;
use crate::components::lanes::LineControls;
use crate::state::{Action, LanesChoices, sentences};
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct DeviceSummaryProps {
    pub(super) picture: Picture,
    pub(super) facts: DeviceFacts,
    /// The choices of lines over the picture; `None` if the view has no picture.
    pub(super) lanes: Option<LanesChoices>,
    /// The settings to replay with; empty if there are none.
    pub(super) replay: AttrValue,
    /// The cursor's moment.
    pub(super) cursor: Option<u32>,
}

/// The device's numbers.
#[component]
pub(super) fn DeviceSummary(props: &DeviceSummaryProps) -> Html {
    let commands = use_commands();
    let event = props.cursor.filter(|&moment| moment > 0).map(|moment| {
        let onclick = commands.on(Action::ChooseEvent(moment));
        let word = sentences::capital(&display::event(u64::from(moment)));
        html! { <button type="button" class="outlined" title="What happened there, with its stack" {onclick}>{ word }</button> }
    });
    html! {
        <>
            <p class="muted">{ "Hover to see what is there, click to pin it." }</p>
            <dl class="rows">
                { for sentences::device_rows(&props.facts).into_iter().map(|(name, value)| html! { <><dt>{ name }</dt><dd>{ value }</dd></> }) }
                if let Some(event) = event { <dt>{ "Cursor" }</dt><dd>{ event }</dd> }
            </dl>
            if let Some(choices) = props.lanes {
                <LineControls facts={props.facts.clone()} picture={props.picture} {choices} replay={props.replay.clone()} />
            }
        </>
    }
}
