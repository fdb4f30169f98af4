//! Links from findings to their evidence.

use vramscope_core::analysis::report::findings::{Evidence, EvidenceOf};
use vramscope_core::analysis::time::selection::Selection;
use yew::Callback;

use crate::state::choices::{FlameChoices, FlameWhat, SettingChanges, WhatIfChoices, WhatIfPanel};
use crate::state::selected::OfRange;
use crate::state::{Action, Chosen, RangeChoices, ViewKind};

/// The actions that show a piece of evidence. The view comes first, because the others apply to it.
fn actions(evidence: &Evidence, choices: &FlameChoices) -> Vec<Action> {
    let mut actions = vec![Action::View(ViewKind::showing(evidence.of))];
    if let Some(filter) = &evidence.filter {
        actions.push(Action::Search(filter.clone()));
    }
    match (evidence.range, evidence.moment) {
        (Some(range), _) => actions.push(Action::SelectMoments(range)),
        // A range goes before the cursor.
        (None, Some(_)) => actions.push(Action::Select(None)),
        (None, None) => {}
    }
    if let Some(moment) = evidence.moment {
        actions.push(Action::Moment(moment));
    }
    if let Some(selection) = evidence.selection {
        let of = match selection {
            Selection::RetainedFrom(_) => OfRange::Retained,
            Selection::FreedIn(_) => OfRange::Freed,
            Selection::All | Selection::LiveAt(_) | Selection::AllocatedIn(_) => OfRange::Allocated,
        };
        let is_selected = evidence.range.is_some() || evidence.moment.is_some();
        let what = match selection {
            _ if is_selected => FlameWhat::Selected,
            Selection::RetainedFrom(_) => FlameWhat::Retained,
            _ => FlameWhat::Allocated,
        };
        actions.push(Action::Choose(Chosen::Range(RangeChoices { of })));
        actions.push(Action::Choose(Chosen::Flame(FlameChoices {
            what,
            ..choices.clone()
        })));
    }
    if let Some(settings) = &evidence.settings
        && evidence.of == EvidenceOf::LiveMemory
    {
        actions.push(Action::DrawReplay(Box::new(SettingChanges::of(settings))));
    } else if let Some(settings) = &evidence.settings {
        actions.push(Action::Choose(Chosen::WhatIf(WhatIfChoices {
            panel: WhatIfPanel::Settings,
            step: None,
            settings: SettingChanges::of(settings),
        })));
    }
    actions
}

/// A callback that shows the evidence.
pub(super) fn show<E: 'static>(
    dispatch: &Callback<Action>,
    evidence: &Evidence,
    choices: &FlameChoices,
) -> Callback<E> {
    let actions = actions(evidence, choices);
    let dispatch = dispatch.clone();
    Callback::from(move |_| {
        for action in actions.clone() {
            dispatch.emit(action);
        }
    })
}
