//! The shown device in one sentence, above all views: why it ran out of memory, or what its peak is made of.

use vramscope_core::analysis::report::findings::is_calm;
use vramscope_core::analysis::report::overview::Overview;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::overview::OverviewOf;
use yew::prelude::*;

use super::commands::use_commands;
use super::hooks::use_answer;
use super::icons::{Glyph, Icon};
use super::what_if::use_conclusion;
use crate::browser::clock;
use crate::engine::Session;
use crate::state::{Action, Navigation, ViewKind};

/// The time from the first picture, which nothing may delay, to the question, in ms.
const AFTER_MS: i32 = 300;

#[derive(Clone, Properties, PartialEq)]
pub(super) struct VerdictProps {
    /// The file within the chosen memory pools.
    pub(super) session: Session,
    pub(super) device: DeviceIndex,
    /// The last request that failed: its moment, and what is known of it from the start.
    pub(super) failure: Option<(u32, AttrValue)>,
}

/// The sentence; until it is known, what failed.
#[component]
pub(super) fn Verdict(props: &VerdictProps) -> Html {
    let is_later = use_state_eq(|| false);
    {
        let is_later = is_later.setter();
        use_effect_with((), move |()| {
            clock::later(AFTER_MS, move || {
                clock::when_idle(move || is_later.set(true))
            });
        });
    }
    match *is_later {
        true => html! { <Concluded ..props.clone() /> },
        false => html! { <Line given={props.clone()} sentence={None::<AttrValue>} /> },
    }
}

/// The sentence, once the overview is computed, and again after the replays that it may depend on.
#[component]
fn Concluded(props: &VerdictProps) -> Html {
    let device = props.device;
    let answered = use_answer(&props.session, Some(OverviewOf { device }));
    let found = answered.and_then(|answered| answered.answer);
    let found = found.filter(|found| found.device == device);
    let depends = found
        .as_ref()
        .is_some_and(|found| !is_calm(&found.findings));
    let concluded = use_conclusion(&props.session, device, depends);
    let sentence = found.map(|found| {
        let mut found = Overview::clone(&found);
        if let Some(concluded) = concluded {
            found.conclude(concluded);
        }
        AttrValue::from(found.verdict())
    });
    html! { <Line given={props.clone()} {sentence} /> }
}

#[derive(Properties, PartialEq)]
struct LineProps {
    given: VerdictProps,
    sentence: Option<AttrValue>,
}

#[component]
fn Line(props: &LineProps) -> Html {
    let commands = use_commands();
    let failure = props.given.failure.as_ref();
    let go = failure.map(|&(moment, _)| {
        let dispatch = commands.dispatch.clone();
        Callback::from(move |_: MouseEvent| {
            dispatch.emit(Action::View(ViewKind::Timeline));
            dispatch.emit(Action::Navigate(Navigation::Event(moment)));
        })
    });
    let known = props.sentence.as_ref().or(failure.map(|(_, text)| text));
    html! {
        <div class={classes!("banner", "verdict", failure.map(|_| "problem"))}>
            if failure.is_some() { <Glyph icon={Icon::Warning} /> }
            <p role="status">{ known.cloned().unwrap_or(AttrValue::Static("…")) }</p>
            <button type="button" class="plain" onclick={commands.on_explain()}>{ "Explain" }</button>
            if let Some(onclick) = go { <button type="button" class="plain" {onclick}>{ "Go there" }</button> }
        </div>
    }
}
