//! The allocator under other settings: the changes, the memory that the model then reserves, and
//! how reliable it is.

mod chart;
mod form;
mod outcome;

use vramscope_protocol::Look;
use vramscope_protocol::views::what_if::{Answer, Question, Tries};
use yew::prelude::*;

use self::chart::Chart;
use self::form::Form;
use self::outcome::OutcomeTable;
use super::PlannedRef;
use super::replayed::{ReplayedRef, use_replay};
use crate::components::hooks::use_rounds;
use crate::engine::Session;
use crate::state::choices::{SettingChanges, WhatIfChoices};
use crate::state::typed_size::unclear;

#[derive(Properties, PartialEq)]
pub(super) struct SettingsPanelProps {
    pub(super) session: Session,
    pub(super) look: Look,
    pub(super) planned: Option<PlannedRef>,
    pub(super) choices: WhatIfChoices,
    pub(super) on_choose: Callback<WhatIfChoices>,
}

#[component]
pub(super) fn SettingsPanel(props: &SettingsPanelProps) -> Html {
    let planned = props.planned.as_ref().and_then(PlannedRef::get);
    let no_model = planned.and_then(|planned| planned.no_what_if.clone());
    let settings = &props.choices.settings;
    let unclear = unclear(&settings.capacity);
    let is_asked = no_model.is_none() && unclear.is_none();
    let known = use_replay(
        &props.session,
        &props.look,
        is_asked.then(|| settings.text()),
    );
    let replayed = known.as_ref().and_then(ReplayedRef::get);
    let refusal = unclear.or_else(|| replayed?.refusal.clone());
    let is_current = replayed.is_some_and(|of| of.refusal.is_none());
    // The last valid result stays until the next arrives, so that nothing moves.
    let kept = use_mut_ref(|| None::<ReplayedRef>);
    if is_current {
        kept.borrow_mut().clone_from(&known);
    }
    let of_device =
        |known: &&ReplayedRef| known.get().is_some_and(|of| of.device == props.look.device);
    let shown = kept.borrow().as_ref().filter(of_device).cloned();
    let tries = use_tries(props, is_current);
    if let Some(why) = no_model {
        return html! {
            <div class="hint"><p><strong>{ "No what-if for this recording" }</strong></p><p class="muted">{ why }</p></div>
        };
    }
    let on_choose = {
        let choices = props.choices.clone();
        props
            .on_choose
            .reform(move |settings: SettingChanges| WhatIfChoices {
                settings,
                ..choices.clone()
            })
    };
    let stale = match (is_current, &refusal) {
        (true, _) => None,
        (false, None) => Some("Replaying…"),
        (false, Some(_)) => Some("These settings are not replayed; below is the last replay."),
    };
    let all = shown
        .as_ref()
        .and_then(ReplayedRef::get)
        .map(|replayed| settings.as_typed(&replayed.settings));
    html! {
        <div class="try-out">
            <Form settings={settings.clone()} all={all.filter(|_| refusal.is_none())} {refusal} on_choose={on_choose.clone()} />
            <div class={classes!("outcome", stale.map(|_| "stale"))}>
                if let Some(replayed) = shown {
                    <OutcomeTable replayed={replayed.clone()} settings={settings.clone()} {tries} {stale} {on_choose} />
                    <Chart {replayed} theme={props.look.theme} />
                } else {
                    <p class="hint muted late">{ stale.unwrap_or_default() }</p>
                }
            </div>
        </div>
    }
}

/// Suggested settings, replayed while nothing else is being computed.
#[hook]
fn use_tries(props: &SettingsPanelProps, is_idle: bool) -> Tries {
    let device = props.look.device;
    let known = use_mut_ref(Tries::default);
    let answered = use_rounds(
        &props.session,
        |round| is_idle.then_some(Question::Tries { device, round }),
        |answer| matches!(answer, Answer::Tries(tries) if tries.is_done),
    );
    let answer = answered.and_then(|answered| answered.answer);
    if let Some(Answer::Tries(tries)) = answer.as_deref() {
        known.borrow_mut().clone_from(tries);
    }
    let known = known.borrow();
    if known.device == device {
        known.clone()
    } else {
        Tries::default()
    }
}
