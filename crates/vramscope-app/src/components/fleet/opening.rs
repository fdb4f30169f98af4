//! Opens the snapshot of a rank: from where the overview came, or else when the user drops it.

use vramscope_protocol::Axis;
use vramscope_protocol::views::fleet::{Answer, Look, Place, Question, Shown, Way, Ways};
use vramscope_view::address::{DevicePlace, FileKey};
use yew::prelude::*;

use super::FleetViewProps;
use crate::components::commands::{Commands, use_commands};
use crate::engine::Session;
use crate::state::choices::{Choices, CompareChoices, FileChoice, SideChoice, SideWhat};
use crate::state::permalink::find;
use crate::state::sides::choice_of;
use crate::state::{Action, Permalink, State, ViewKind, fleet_words};

/// A rank that is to be opened.
#[derive(Clone, PartialEq)]
pub(super) struct Wish {
    /// Its place in the fleet.
    pub(super) rank: u32,
    /// A place in the heat map; `None` for the peak.
    pub(super) at: Option<(Look, Place)>,
    /// Whether it is compared with the median rank.
    pub(super) compares: bool,
}

/// Opens ranks. Also returns what the user has to do if the page cannot reach one.
#[hook]
pub(super) fn use_opening(props: &FleetViewProps) -> (Callback<Wish>, Option<String>) {
    let commands = use_commands();
    let missing = use_state_eq(Vec::<Way>::new);
    let (state, session) = (props.state.clone(), props.session.clone());
    // What was dropped since is no longer missing.
    let still: Vec<Way> = missing
        .iter()
        .filter(|way| !is_open(&state, way))
        .cloned()
        .collect();
    let words = (!still.is_empty()).then(|| fleet_words::missing(&still));
    let set = missing.setter();
    let on_open = Callback::from(move |wish: Wish| {
        let choices = &state.choices.fleet;
        let question = Question::Ways {
            shown: Shown {
                order: choices.order,
                search: choices.search.clone(),
            },
            rank: wish.rank,
            at: wish.at,
        };
        let (state, commands, from) = (state.clone(), commands.clone(), session.clone());
        let set = set.clone();
        session.ask_once(question, move |answer: Option<Answer>, _| {
            if let Some(Answer::Ways(ways)) = answer {
                set.set(open(&ways, &wish, &state, &commands, &from));
            }
        });
    });
    (on_open, words)
}

/// Opens a rank's snapshot, and that of the median rank if they are compared. Returns those that only the user can open.
fn open(
    ways: &Ways,
    wish: &Wish,
    state: &State,
    commands: &Commands,
    session: &Session,
) -> Vec<Way> {
    let link = Box::new(link(ways, wish, state));
    // The rank comes last, so that its tab is shown.
    let median = ways.median.iter().filter(|_| wish.compares);
    let wanted = median
        .chain([&ways.rank])
        .filter(|way| !is_open(state, way));
    let (mut sources, mut missing) = (Vec::new(), Vec::new());
    for way in wanted {
        match session.beside(&way.path) {
            Some(source) => sources.push(source),
            None => missing.push(way.clone()),
        }
    }
    let is_open = is_open(state, &ways.rank);
    if !is_open {
        commands.dispatch.emit(Action::Await(link.clone()));
    }
    commands.open.emit(sources);
    if is_open {
        commands.dispatch.emit(Action::Restore(link));
    }
    missing
}

fn key(way: &Way) -> FileKey {
    FileKey {
        name: way.name.clone(),
        bytes: Some(way.file_bytes).filter(|&bytes| bytes > 0),
        copy: 0,
    }
}

fn is_open(state: &State, way: &Way) -> bool {
    find(&key(way), &state.tabs).is_some()
}

/// The file of a rank in choices: of its open tab, or else of the one that will be opened after `more` of the same name.
fn file_of(way: &Way, state: &State, more: u32) -> FileChoice {
    let tabs = &state.tabs;
    let open = find(&key(way), tabs).and_then(|tab| choice_of(tabs, tab.id));
    open.unwrap_or_else(|| {
        let same = tabs.iter().filter(|tab| tab.name == way.name).count();
        FileChoice {
            name: way.name.clone(),
            nth: same as u32 + more,
        }
    })
}

/// The place in the rank's snapshot.
fn link(ways: &Ways, wish: &Wish, state: &State) -> Permalink {
    let way = &ways.rank;
    let axis = match (way.range, way.has_times) {
        (Some(_), true) => Axis::Time,
        _ => Axis::Events,
    };
    let side = |way: &Way, file, what| SideChoice {
        file: Some(file),
        device: Some(way.device),
        what,
    };
    let mut choices: Choices = state.choices.clone();
    choices.fleet.rank = Some(wish.rank);
    let median = ways.median.as_ref().filter(|_| wish.compares);
    if let Some(median) = median {
        // The median is opened first.
        let is_before = !is_open(state, median) && median.name == way.name;
        let files = [
            file_of(median, state, 0),
            file_of(way, state, u32::from(is_before)),
        ];
        let [of_median, of_rank] = files;
        let moment = match way.range {
            Some(_) => SideWhat::SelectedLast,
            None => SideWhat::Event(way.moment),
        };
        choices.compare = CompareChoices {
            before: side(median, of_median, SideWhat::Peak),
            after: side(way, of_rank, moment),
            ..choices.compare
        };
    }
    Permalink {
        file: Some(key(way)),
        view: Some(match median {
            Some(_) => ViewKind::Compare,
            None => ViewKind::Timeline,
        }),
        colour_by: state.colour_by,
        search: state.search.text.clone(),
        choices,
        place: DevicePlace {
            device: Some(way.device),
            axis,
            range: way.range,
            cursor: way.range.is_none().then_some(way.moment),
            ..DevicePlace::default()
        },
        graph: None,
    }
}
