//! The allocator under other settings: what is changed, what its model then reserves, and how far to trust that.

mod chart;
mod form;
mod outcome;

use yew::prelude::*;

use self::chart::Chart;
use self::form::Form;
use self::outcome::OutcomeTable;
use super::PlannedRef;
use crate::components::hooks::use_answer;
use crate::engine::Session;
use crate::protocol::Look;
use crate::protocol::views::what_if::{Answer, Question, Replayed};
use crate::state::Shared;
use crate::state::choices::WhatIfChoices;

/// Columns of each curve.
const COLUMNS: u32 = 1_200;

/// Properties of [`SettingsPanel`].
#[derive(Properties, PartialEq)]
pub(super) struct SettingsPanelProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) planned: Option<PlannedRef>,
    pub(super) choices: WhatIfChoices,
    pub(super) on_choose: Callback<WhatIfChoices>,
}

/// Replays, shared with the answer that they came in.
#[derive(Clone, PartialEq)]
struct ReplayedRef(Shared<Answer>);

impl ReplayedRef {
    /// The replays; `None` never.
    fn get(&self) -> Option<&Replayed> {
        match &*self.0 {
            Answer::Replay(replayed) => Some(replayed),
            Answer::Plan(_) | Answer::Groups(_) | Answer::Places(_) => None,
        }
    }
}

/// See the module.
#[component]
pub(super) fn SettingsPanel(props: &SettingsPanelProps) -> Html {
    let planned = props.planned.as_ref().and_then(PlannedRef::get);
    let no_model = planned.and_then(|planned| planned.no_what_if.clone());
    let changes = props.choices.settings.text();
    let (known, suggestions) = use_replays(props, &changes, no_model.is_none());
    if let Some(why) = no_model {
        return html! {
            <div class="hint"><p><strong>{ "No what-if for this recording" }</strong></p><p class="muted">{ why }</p></div>
        };
    }
    let replayed = known.as_ref().and_then(ReplayedRef::get);
    let refusal = replayed.and_then(|replayed| replayed.refusal.clone());
    let settings = replayed.map(|replayed| replayed.settings.clone());
    html! {
        <div class="try-out">
            <Form choices={props.choices.clone()} {suggestions} {settings} refusal={refusal.clone()} on_choose={props.on_choose.clone()} />
            <div class="outcome">
                if let Some(known) = known.clone().filter(|_| refusal.is_none()) {
                    <OutcomeTable replayed={known.clone()} />
                    <Chart replayed={known} theme={props.look.theme} />
                } else if refusal.is_none() {
                    <p class="hint muted late">{ "Replaying…" }</p>
                } else {
                    <p class="hint muted">{ "Nothing is replayed with these settings." }</p>
                }
            </div>
        </div>
    }
}

/// Asks for replays until all that are needed are there; what is known of the shown device, and what is worth a try.
#[hook]
fn use_replays(
    props: &SettingsPanelProps,
    changes: &str,
    has_model: bool,
) -> (Option<ReplayedRef>, Vec<String>) {
    let round = use_state_eq(|| 0_u32);
    let question = has_model.then(|| Question::Replay {
        device: props.look.device,
        changes: changes.to_owned(),
        axis: props.look.axis,
        columns: COLUMNS,
        round: *round,
    });
    let answered = use_answer(&props.session, question.clone());
    let is_newest = answered
        .as_ref()
        .is_some_and(|answered| Some(&answered.question) == question.as_ref());
    // What other settings would do is no answer.
    let is_asked = answered.as_ref().is_some_and(|answered| {
        matches!(&answered.question, Question::Replay { changes: of, .. } if of == changes)
    });
    let known = answered.and_then(|answered| answered.answer.map(ReplayedRef));
    let of_device = |known: &ReplayedRef| known.get().map(|replayed| replayed.device);
    let known = known.filter(|known| of_device(known) == Some(props.look.device));
    let suggestions = known.as_ref().and_then(ReplayedRef::get);
    let suggestions = suggestions.map(|replayed| replayed.suggestions.clone());
    let known = known.filter(|_| is_asked);
    let is_done = known
        .as_ref()
        .and_then(ReplayedRef::get)
        .is_none_or(|replayed| replayed.is_done);
    use_effect_with((question, is_newest && !is_done), move |(_, goes_on)| {
        if *goes_on {
            round.set(round.wrapping_add(1));
        }
    });
    (known, suggestions.unwrap_or_default())
}
