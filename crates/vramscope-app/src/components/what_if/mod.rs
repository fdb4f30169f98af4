//! How little memory would be enough: with another program and on which card, under other settings of the allocator, and
//! in detail the steps from ideal to real and the ideal packing beside the real map.
//!
//! The plan is computed where it is looked at, by a planner that runs as long as the view is there: bars appear one by one.

mod arenas;
mod bars;
mod packing;
mod program;
mod replayed;
mod settings;

use std::collections::BTreeMap;

use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::what_if::{Answer, Planned, Question, Stage};
use yew::prelude::*;

use self::arenas::ArenasPanel;
use self::bars::Bars;
use self::packing::PackingPanel;
use self::program::ProgramPanel;
pub(super) use self::replayed::{use_conclusion, use_replay};
use self::settings::SettingsPanel;
use super::choice::Choice;
use super::commands::use_commands;
use super::hooks::{use_painted, use_planner, use_rounds};
use super::view_props::ViewProps;
use crate::state::choices::{WhatIfChoices, WhatIfPanel};
use crate::state::{Action, Chosen, Shared, ViewKind};

/// How long better packings are searched for initially, in ms of work.
const SEARCH_MS: u32 = 10_000;
/// How much longer a click lets the search continue, in ms of work.
const LONGER_MS: u32 = 30_000;

/// A plan, as a reference to its answer.
#[derive(Clone, PartialEq)]
pub(super) struct PlannedRef(Shared<Answer>);

impl PlannedRef {
    /// The plan. Never `None`, because only such answers become plans.
    fn get(&self) -> Option<&Planned> {
        match &*self.0 {
            Answer::Plan(planned) => Some(planned),
            _ => None,
        }
    }
}

#[component]
pub(super) fn WhatIfView(props: &ViewProps) -> Html {
    let commands = use_commands();
    let choices = &props.choices.what_if;
    // Additional search time per device, because a click prolongs the search of one device only.
    let longer_ms = use_state_eq(BTreeMap::<DeviceIndex, u32>::new);
    let device = props.look.device;
    let more_ms = longer_ms.get(&device).copied().unwrap_or(0);
    let is_of_program = choices.panel == WhatIfPanel::Program;
    let search_ms = SEARCH_MS.saturating_add(more_ms);
    use_planner(&props.session, true);
    let known = use_plan(props, (!is_of_program).then_some(search_ms));
    use_painted("what-if", known.clone());
    let is_planned = (known.as_ref().and_then(PlannedRef::get))
        .is_some_and(|of| matches!(of.stage, Stage::Searching | Stage::Done));
    let concluded = use_conclusion(&props.session, device, is_planned || is_of_program);
    let conclusion = concluded.map(|found| AttrValue::from(found.title));
    let choose = commands
        .dispatch
        .reform(|choices| Action::Choose(Chosen::WhatIf(choices)));
    let on_longer = {
        let longer_ms = longer_ms.clone();
        Callback::from(move |()| {
            let mut longer = (*longer_ms).clone();
            longer.insert(device, more_ms.saturating_add(LONGER_MS));
            longer_ms.set(longer);
        })
    };
    let planned = known.as_ref().and_then(PlannedRef::get);
    let has_arenas = planned.is_some_and(|planned| planned.arenas > 1);
    let panel = match (choices.panel, planned) {
        (WhatIfPanel::Program, _) => html! {
            <ProgramPanel session={props.session.clone()} {device} {conclusion} choices={choices.clone()} on_choose={choose.clone()} />
        },
        (_, None) => waiting(props.session.planner_fault()),
        (_, Some(planned)) if planned.plan.buffers == 0 => {
            html! { <p class="hint muted">{ NOTHING }</p> }
        }
        (WhatIfPanel::Settings, _) => html! {
            <SettingsPanel session={props.session.clone()} look={props.look.clone()} planned={known.clone()} choices={choices.clone()}
                on_choose={choose.clone()} />
        },
        (WhatIfPanel::Places, _) if has_arenas => {
            html! { <ArenasPanel session={props.session.clone()} planned={known.clone()} /> }
        }
        _ => html! {
            <>
                <Bars planned={known.clone()} {conclusion} choices={choices.clone()} on_choose={choose.clone()} />
                <PackingPanel planned={known.clone()} given={props.clone()} {on_longer} />
            </>
        },
    };
    html! {
        <section class="view what-if" aria-label="What-if" data-stage={planned.map(|planned| stage_name(planned.stage))}>
            { props.scope_note(ViewKind::WhatIf) }
            <PanelBar {has_arenas} choices={choices.clone()} on_choose={choose} />
            { panel }
        </section>
    }
}

/// What is said before there is a plan: why there will be none, if that is known.
fn waiting(fault: Option<String>) -> Html {
    match fault {
        Some(fault) => html! { <p class="hint refusal" role="alert">{ fault }</p> },
        None => html! { <p class="hint muted late">{ "Gathering the buffers…" }</p> },
    }
}

/// What is said where there is nothing to look at.
const NOTHING: &str = "No memory was allocated here: nothing could be saved.";

/// The name of a stage, for style sheets and tests.
fn stage_name(stage: Stage) -> &'static str {
    match stage {
        Stage::Packing => "packing",
        Stage::Modelling => "modelling",
        Stage::Searching => "searching",
        Stage::Done => "done",
    }
}

/// Asks for the plan of the current device until it is complete, with so long a search; returns the latest answer. `None`
/// asks for nothing.
#[hook]
fn use_plan(props: &ViewProps, search_ms: Option<u32>) -> Option<PlannedRef> {
    let device = props.look.device;
    let question = |round| {
        search_ms.map(|search_ms| Question::Plan {
            device,
            round,
            search_ms,
        })
    };
    let answered = use_rounds(
        &props.session,
        question,
        |answer| matches!(answer, Answer::Plan(planned) if planned.stage == Stage::Done),
    );
    let known = answered.and_then(|answered| answered.answer.map(PlannedRef));
    let of_device = |known: &PlannedRef| known.get().map(|planned| planned.plan.device);
    known.filter(|known| of_device(known) == Some(device))
}

#[derive(Properties, PartialEq)]
struct PanelBarProps {
    has_arenas: bool,
    choices: WhatIfChoices,
    on_choose: Callback<WhatIfChoices>,
}

/// The choice of what is shown.
#[component]
fn PanelBar(props: &PanelBarProps) -> Html {
    const PANELS: [WhatIfPanel; 4] = [
        WhatIfPanel::Program,
        WhatIfPanel::Settings,
        WhatIfPanel::Packing,
        WhatIfPanel::Places,
    ];
    let mut options = vec![
        (
            "change the program",
            "where live memory would peak with checkpointing, half the batch, another optimizer, and which card has that much",
        ),
        (
            "other settings",
            "what the allocator would have reserved under other settings, by a model of it",
        ),
        (
            "details",
            "the steps from what was needed to what was reserved, and where everything would lie if all lives were known beforehand",
        ),
    ];
    if props.has_arenas {
        options.push((
            "pools and streams",
            "the same figures for each: they cannot use each other's memory",
        ));
    }
    let chosen = PANELS
        .iter()
        .position(|panel| *panel == props.choices.panel)
        .filter(|place| *place < options.len())
        .unwrap_or(0);
    let on_panel = {
        let choices = props.choices.clone();
        props.on_choose.reform(move |place: usize| WhatIfChoices {
            panel: PANELS.get(place).copied().unwrap_or_default(),
            ..choices.clone()
        })
    };
    html! {
        <div class="panel-bar"><Choice label="Shown" {options} {chosen} on_choose={on_panel} /></div>
    }
}
