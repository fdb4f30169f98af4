//! The details panel while nothing is pinned: the device's numbers and the legend.

use yew::prelude::*;

use crate::components::hooks::use_answer;
use crate::components::lanes::LineControls;
use crate::components::legend::LegendList;
use crate::engine::Session;
use crate::protocol::{DeviceFacts, LegendEntry, LegendOf, Look};
use crate::state::{LanesChoices, Shared, sentences};

/// The most entries of the legend; more than fit on a screen would not be read.
const ENTRIES: u32 = 40;

#[derive(Properties, PartialEq)]
pub(super) struct DeviceSummaryProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) facts: DeviceFacts,
    /// The choices of lines over the picture; `None` if the view has no picture.
    pub(super) lanes: Option<LanesChoices>,
    pub(super) search: AttrValue,
}

/// The device's numbers and the legend.
#[component]
pub(super) fn DeviceSummary(props: &DeviceSummaryProps) -> Html {
    let legend = use_legend(&props.session, &props.look);
    html! {
        <>
            <p class="muted">{ "Hover to see what is there, click to pin it." }</p>
            <dl class="rows">
                { for sentences::device_rows(&props.facts).into_iter().map(|(name, value)| html! { <><dt>{ name }</dt><dd>{ value }</dd></> }) }
            </dl>
            if let Some(choices) = props.lanes {
                <LineControls facts={props.facts.clone()} picture={props.look.picture} {choices} />
            }
            if let Some((of, legend)) = legend {
                <LegendList {of} {legend} search={props.search.clone()} />
            }
        </>
    }
}

/// The legend. It does not depend on axis or search.
#[hook]
fn use_legend(session: &Session, look: &Look) -> Option<(LegendOf, Shared<Vec<LegendEntry>>)> {
    let question = LegendOf {
        device: look.device,
        picture: look.picture,
        colour_by: look.colour_by,
        theme: look.theme,
        entries: ENTRIES,
    };
    let answered = use_answer(session, Some(question.clone()))?;
    let legend = answered.answer.filter(|_| answered.question == question)?;
    Some((question, legend))
}
