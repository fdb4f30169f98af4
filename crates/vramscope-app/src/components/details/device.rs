//! What a device held, while nothing is pinned: its numbers, and what the colours mean.

use yew::prelude::*;

use crate::components::lanes::LineControls;
use crate::components::legend::LegendList;
use crate::engine::Session;
use crate::protocol::{DeviceFacts, Legend, Look, Request};
use crate::state::{LanesChoices, Shared, sentences};

/// Entries of the legend asked for: more than fit on a screen are not read.
const ENTRIES: u32 = 40;

#[derive(Properties, PartialEq)]
pub(super) struct DeviceSummaryProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) facts: DeviceFacts,
    /// What is drawn over the picture, where one is shown.
    pub(super) lanes: Option<LanesChoices>,
    pub(super) search: AttrValue,
    pub(super) legend: Option<Shared<Legend>>,
}

/// The device's numbers and the legend.
#[component]
pub(super) fn DeviceSummary(props: &DeviceSummaryProps) -> Html {
    use_effect_with((props.session.clone(), props.look), |(session, look)| {
        session.ask(&Request::Legend {
            look: *look,
            entries: ENTRIES,
        });
    });
    let legend = props
        .legend
        .as_ref()
        .filter(|legend| has_same_colours(&legend.look, &props.look));
    html! {
        <>
            <p class="muted">{ "Hover to see what is there, click to pin it." }</p>
            <dl class="rows">
                { for sentences::device_rows(&props.facts).into_iter().map(|(name, value)| html! { <><dt>{ name }</dt><dd>{ value }</dd></> }) }
            </dl>
            if let Some(choices) = props.lanes {
                <LineControls facts={props.facts.clone()} picture={props.look.picture} {choices} />
            }
            if let Some(legend) = legend {
                <LegendList legend={legend.clone()} search={props.search.clone()} />
            }
        </>
    }
}

/// Whether the colours mean the same: they do so on both axes, whatever is searched for.
fn has_same_colours(a: &Look, b: &Look) -> bool {
    let colours = |look: &Look| (look.device, look.picture, look.colour_by, look.theme);
    colours(a) == colours(b)
}
