//! Links from findings to their evidence.

use vramscope_core::analysis::report::findings::Evidence;
use vramscope_core::analysis::time::selection::Selection;
use yew::Callback;

use crate::state::choices::{FlameChoices, FlameWhat, SettingChanges, WhatIfChoices, WhatIfPanel};
use crate::state::{Action, Chosen, ViewKind};

/// The actions that show a piece of evidence. The view comes first, because the others apply to it.
fn actions(evidence: &Evidence, choices: &FlameChoices) -> Vec<Action> {
    let mut actions = vec![Action::View(ViewKind::showing(evidence.of))];
    if let Some(filter) = &evidence.filter {
        actions.push(Action::Search(filter.clone()));
    }
    if let Some(range) = evidence.range {
        actions.push(Action::SelectMoments(range));
    }
    if let Some(moment) = evidence.moment {
        actions.push(Action::Moment(moment));
    }
    let what = evidence.selection.map(|selection| match selection {
        Selection::LiveAt(_) => FlameWhat::Cursor,
        Selection::RetainedFrom(_) => FlameWhat::Retained,
        Selection::All | Selection::AllocatedIn(_) | Selection::FreedIn(_) => FlameWhat::Allocated,
    });
    if let Some(what) = what {
        actions.push(Action::Choose(Chosen::Flame(FlameChoices {
            what,
            ..choices.clone()
        })));
    }
    if let Some(settings) = &evidence.settings {
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
