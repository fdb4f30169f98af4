//! The effects of keys, and their list for the help.

use vramscope_protocol::Axis;
use vramscope_protocol::views::graph::OrderName;

use super::choices::SplitChoices;
use super::{Action, Chosen, GraphAction, Navigation, OpenGraphs, State, ViewKind};

/// The way that an arrow moves the picture, as a share of its size.
const PAN_STEP: f64 = 0.1;
/// The magnification of a zoom by key.
const ZOOM_STEP: f64 = 1.5;
/// The place around which keys zoom: the middle.
const MIDDLE: (f64, f64) = (0.5, 0.5);

/// A key press, as in `KeyboardEvent`.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Press {
    /// `KeyboardEvent.key`.
    pub key: String,
    /// Shift is held.
    pub shift: bool,
    /// Control or Command is held.
    pub ctrl: bool,
    /// Alt is held.
    pub alt: bool,
}

/// The effect of a key press.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// Changes the state.
    Act(Action),
    /// Opens the browser's file picker.
    PickFiles,
    /// Puts the caret into the search box.
    FocusSearch,
    /// Gives the keyboard back to the page around this one.
    Leave,
}

/// A line of the help: keys and their effect.
pub type HelpLine = (&'static [&'static str], &'static str);

/// All keys and gestures, by topic.
pub const HELP: &[(&str, &[HelpLine])] = &[
    (
        "Look around",
        &[
            (
                &["wheel"],
                "zoom in x at the pointer; with Shift in y, with Ctrl in both",
            ),
            (
                &["drag"],
                "move the picture (one finger; two fingers pinch)",
            ),
            (&["←", "→", "↑", "↓"], "move; A and D do too"),
            (
                &["W", "S", "+", "-"],
                "zoom in x; with Shift W and S zoom in y",
            ),
            (&["B"], "then drag: zoom to a box"),
            (&["0"], "show everything"),
            (&["P"], "go to the peak"),
            (
                &["drag x axis", "Shift ←", "Shift →"],
                "move the cursor, which all views follow; its line can be dragged too",
            ),
            (
                &["G"],
                "in the timeline: the flame graph of what is selected, below it",
            ),
        ],
    ),
    (
        "Allocations",
        &[
            (
                &["hover"],
                "size, call site and life of what is under the pointer",
            ),
            (
                &["click"],
                "pin it, or what shares the pixel: everything known, with its stack",
            ),
            (
                &["double click"],
                "fit the view to it, or go closer; F does so for the pinned one",
            ),
            (
                &["[", "]"],
                "previous and next event of the pinned one; of all, if an event is pinned",
            ),
            (
                &[",", "."],
                "pin the allocation below or above, at the cursor or the peak",
            ),
            (
                &["E"],
                "pin the event at the end of the range, else at the cursor, else of the peak",
            ),
            (&["I"], "fold the details panel away, and back"),
            (
                &["Escape"],
                "let go: of help, box or ruler, pin, cursor, selection in turn",
            ),
        ],
    ),
    (
        "Select",
        &[
            (
                &["Shift drag", "Alt drag"],
                "select a range: legend, flame graph, table and comparison are about it",
            ),
            (&["M"], "then drag: measure bytes, and events or time"),
            (
                &["lanes above"],
                "click: show a named range; with Shift or Alt select it; marks: pin their event",
            ),
            (
                &["strip above"],
                "drag: show a range; drag its middle or ends: move or resize it",
            ),
        ],
    ),
    (
        "Search",
        &[
            (&["/"], "search, or filter: what does not match is dimmed"),
            (&["Tab"], "in the box: take the word offered"),
            (&["N", "Shift N"], "pin the next match, or the one before"),
        ],
    ),
    (
        "Picture",
        &[(
            &["amber stripes"],
            "pending free: freed by the program, but other streams may still use it, so that it is not free yet",
        )],
    ),
    (
        "Allocator",
        &[
            (&["↑", "↓"], "one event back or on; Page Up and Down many"),
            (&["Home", "End"], "the beginning and the end"),
            (&["click", "Enter"], "on an event: pin it, with its stack"),
            (
                &["+", "-", "Ctrl wheel"],
                "closer and farther; 0 shows all of it",
            ),
        ],
    ),
    (
        "Flame graph",
        &[
            (
                &["click"],
                "show only this and what is below it; a box above goes back there",
            ),
            (
                &["←", "→", "↑", "↓"],
                "go from box to box or row to row; open and close rows",
            ),
            (&["Enter"], "as a click"),
            (&["Backspace", "Escape"], "back by one step; all again"),
        ],
    ),
    (
        "What-if",
        &[
            (
                &["click", "Enter"],
                "on a bar: what the gap before it consists of, and what helps",
            ),
            (
                &["hover"],
                "in the ideal packing: the same allocation is outlined in the real map, and back",
            ),
        ],
    ),
    (
        "Lists and tables",
        &[
            (&["↑", "↓", "PgUp", "PgDn"], "row by row, page by page"),
            (&["Home", "End"], "to the first, to the last"),
            (&["Enter"], "pin it, or go there"),
            (
                &["←", "→", "Shift →"],
                "in trees: close, open; show each frame of a row of several",
            ),
        ],
    ),
    (
        "Inductor graphs",
        &[
            (
                &["←", "→", "↑", "↓"],
                "one step back or on; Page Up and Down twenty",
            ),
            (&["1", "…", "5"], "the orders, from left to right"),
            (&["[", "]"], "the graph before, the next one"),
            (&["P"], "the step with the most memory"),
            (
                &["hover"],
                "a buffer: it is marked in the picture and in the lists",
            ),
            (
                &["click"],
                "a curve: go to that step; a bar or row: who makes and who uses that buffer",
            ),
        ],
    ),
    (
        "Ranks of a job",
        &[
            (&["↑", "↓"], "the rank above, the rank below"),
            (
                &["click", "Enter"],
                "open its snapshot at that moment; from the table at its peak",
            ),
            (&["C"], "compare it with the rank of the median peak"),
            (
                &["/"],
                "search: 17, 8-15, odd, oom, a host, a file, or part of a call site",
            ),
            (&["Escape"], "let go of the rank"),
        ],
    ),
    (
        "Files",
        &[
            (&["O"], "open files; dropping them anywhere does too"),
            (
                &["Ctrl V"],
                "the text of an error, or a log: why memory ran out",
            ),
            (&["<", ">"], "previous and next file"),
            (&["T"], "event order or wall-clock time"),
            (
                &["L"],
                "of a running program: follow it, or stay; moving to the left stays, too",
            ),
            (
                &["1", "…", "9"],
                "the views, from the top of the rail but for the last",
            ),
            (&["R"], "the last one: facts about the recording"),
            (&["?"], "this help"),
        ],
    ),
];

/// The effect of a key press; `None` if it has none.
#[must_use]
pub fn command(press: &Press, state: &State) -> Option<Command> {
    if press.ctrl || press.alt {
        return None;
    }
    match press.key.as_str() {
        "?" => return Some(Command::Act(Action::Help(!state.help_open))),
        "Escape" if state.is_embedded && state.holds_nothing() => return Some(Command::Leave),
        "Escape" => return Some(Command::Act(Action::LetGo)),
        _ if state.help_open => return None,
        "o" | "O" if !state.is_embedded => return Some(Command::PickFiles),
        "<" => return Some(Command::Act(Action::SwitchBy(-1))),
        ">" => return Some(Command::Act(Action::SwitchBy(1))),
        _ => {}
    }
    if let Some(graphs) = state.tab().and_then(|tab| tab.graphs()) {
        return of_graphs(press, graphs).map(Command::Act);
    }
    if press.key == "/" && state.tab().is_some_and(|tab| tab.is_fleet()) {
        return Some(Command::FocusSearch);
    }
    let file = state.file()?;
    match press.key.as_str() {
        "/" => return Some(Command::FocusSearch),
        "n" | "N" if state.search.is_on() => {
            // By Shift, not by the letter: Caps Lock makes it capital without Shift.
            return Some(Command::Act(Action::NextMatch(!press.shift)));
        }
        _ => {}
    }
    if let Some(view) = view_of(&press.key) {
        return Some(Command::Act(Action::View(view)));
    }
    let action = match press.key.as_str() {
        "t" | "T" => Action::Axis(match file.axis {
            Axis::Events => Axis::Time,
            Axis::Time => Axis::Events,
        }),
        "r" | "R" => Action::View(ViewKind::Facts),
        "l" | "L" if state.tab()?.is_live() => Action::Follow(!state.choices.live.follow),
        "i" | "I" => Action::Details(!state.details_open),
        "e" | "E" => Action::ChooseEvent(state.places()?.ends().1),
        "g" | "G" if state.view == ViewKind::Timeline => {
            let split = state.choices.split;
            Action::Choose(Chosen::Split(SplitChoices {
                flame: !split.flame,
                ..split
            }))
        }
        _ if state.view.picture().is_none() => return None,
        "ArrowLeft" | "ArrowRight" if press.shift => Action::StepCursor(press.key == "ArrowRight"),
        "b" | "B" => Action::BoxMode(!state.box_mode),
        "m" | "M" => Action::RulerMode(!state.ruler_mode),
        "," => Action::StepInStack(false),
        "." => Action::StepInStack(true),
        key => Action::Navigate(navigation(key, press.shift)?),
    };
    Some(Command::Act(action))
}

/// The number of steps that the larger keys go through a graph.
const GRAPH_PAGE: i64 = 20;

/// The effect of a key on graphs, where arrows go step by step.
fn of_graphs(press: &Press, graphs: &OpenGraphs) -> Option<Action> {
    let by = |steps| Some(Action::Graph(GraphAction::StepBy(steps)));
    match press.key.as_str() {
        "ArrowLeft" | "ArrowUp" => by(-1),
        "ArrowRight" | "ArrowDown" => by(1),
        "PageUp" => by(-GRAPH_PAGE),
        "PageDown" => by(GRAPH_PAGE),
        "Home" => Some(Action::Graph(GraphAction::Step(0))),
        "End" => Some(Action::Graph(GraphAction::Step(u32::MAX))),
        "[" | "]" if graphs.facts().is_some() => {
            let count = graphs.opened.graphs.len();
            let next = if press.key == "]" { 1 } else { count - 1 };
            let number = (graphs.number() + next) % count;
            Some(Action::Graph(GraphAction::Show(number)))
        }
        digit @ ("1" | "2" | "3" | "4" | "5") => {
            let number = digit.parse::<usize>().ok()?.checked_sub(1)?;
            let order = OrderName::ALL.get(number)?;
            Some(Action::Graph(GraphAction::Order(*order)))
        }
        key @ ("a" | "A" | "d" | "D" | "w" | "W" | "s" | "S" | "+" | "=" | "-" | "_" | "0"
        | "p" | "P") => navigation(key, false).map(Action::Navigate),
        _ => None,
    }
}

/// The view that a digit shows.
fn view_of(key: &str) -> Option<ViewKind> {
    let number: usize = key.parse().ok()?;
    ViewKind::ALL.get(number.checked_sub(1)?).copied()
}

fn navigation(key: &str, shift: bool) -> Option<Navigation> {
    let zoom = |factor_x: f64, factor_y: f64| Navigation::Zoom {
        factor: (factor_x, factor_y),
        at: MIDDLE,
    };
    Some(match key {
        "ArrowLeft" | "a" | "A" => Navigation::Pan(PAN_STEP, 0.0),
        "ArrowRight" | "d" | "D" => Navigation::Pan(-PAN_STEP, 0.0),
        "ArrowUp" => Navigation::Pan(0.0, PAN_STEP),
        "ArrowDown" => Navigation::Pan(0.0, -PAN_STEP),
        "w" | "W" if shift => zoom(1.0, ZOOM_STEP),
        "s" | "S" if shift => zoom(1.0, 1.0 / ZOOM_STEP),
        // Both cases, as Caps Lock makes letters capital without Shift.
        "w" | "W" | "+" | "=" => zoom(ZOOM_STEP, 1.0),
        "s" | "S" | "-" | "_" => zoom(1.0 / ZOOM_STEP, 1.0),
        "0" => Navigation::FitAll,
        "p" | "P" => Navigation::Peak,
        "f" | "F" => Navigation::FitPinned,
        "[" => Navigation::Step(false),
        "]" => Navigation::Step(true),
        _ => return None,
    })
}
