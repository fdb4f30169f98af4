//! The bar at the top: files, search, device, axis, colours, sharing, theme, help.

use std::rc::Rc;

use vramscope_protocol::{Axis, ColourBy};
use yew::prelude::*;

use super::choice::{Choice, Select};
use super::commands::{Commands, use_commands};
use super::file_tabs::FileTabs;
use super::hooks::use_system_is_dark;
use super::icons::{Glyph, Icon};
use super::live::live_controls;
use super::pool_choice::PoolChoice;
use super::search::SearchBox;
use super::share::ShareMenu;
use crate::browser::{self, door, frame, history};
use crate::engine::Session;
use crate::state::{Action, DeviceView, OpenFile, State, Tab, ThemeChoice, permalink, sentences};

/// The options of "Colour by", in the order of the list: names first, then scales.
fn colours() -> Vec<ColourBy> {
    let mut colours: Vec<ColourBy> = ColourBy::all().collect();
    colours.retain(|colour| colour.is_coloured());
    colours.sort_by_key(|colour| !colour.is_grouped());
    colours
}

#[derive(Properties, PartialEq)]
pub(super) struct TopBarProps {
    pub(super) state: UseReducerHandle<State>,
}

/// The bar at the top.
#[component]
pub(super) fn TopBar(props: &TopBarProps) -> Html {
    let commands = use_commands();
    let state = &props.state;
    let system_is_dark = use_system_is_dark();
    let (theme_icon, theme_word) = match state.theme {
        ThemeChoice::System => (Icon::System, "as the system"),
        ThemeChoice::Light => (Icon::Sun, "light"),
        ThemeChoice::Dark => (Icon::Moon, "dark"),
    };
    let theme_label = format!("Theme: {theme_word}");
    html! {
        <header class="topbar">
            if let Some(tab) = state.tab() { <h1 class="unseen">{ &tab.name }</h1> }
            if !state.is_embedded {
                <button type="button" class="brand" title="Start page" onclick={commands.on(Action::ShowStart)}>
                    <img class="mark" src={browser::icon()} alt="" /> { "vramscope" }
                </button>
            }
            if !state.is_embedded || state.tabs.len() > 1 {
                <FileTabs tabs={state.tabs.clone()} current={state.current} takes_files={!state.is_embedded} />
            }
            if let Some((file, view, session)) = searched(state, &commands) {
                <SearchBox {session} device={file.facts().map_or(0, |facts| facts.device)} search={state.search.clone()}
                    view={view.clone()} />
            } else {
                <span class="grow" />
            }
            if let Some(file) = state.file() {
                if let Some((file, _, session)) = searched(state, &commands) {
                    <PoolChoice session={session.within(None)} device={file.facts().map_or(0, |facts| facts.device)}
                        has_pools={file.whole_facts().is_some_and(|facts| facts.lines.has_pools)} search={state.search.clone()} />
                }
                { live_controls(state, &commands) }
                <FileChoices file={file.clone()} colour_by={state.colours()} />
                <span class="divider" />
            }
            if let Some((tab, session)) = shared(state, &commands) {
                <ShareMenu state={state.clone()} file={tab.ready().cloned()} {session} />
            }
            if state.is_embedded {
                { in_full(state, &commands) }
            } else {
            <button type="button" class="square" title={theme_label.clone()} aria-label={theme_label}
                onclick={commands.on(Action::Theme(state.theme.next(system_is_dark)))}>
                <Glyph icon={theme_icon} />
            </button>
            }
            <button type="button" class="square" title="Keys and gestures (?)" aria-label="Help"
                aria-expanded={state.help_open.to_string()} onclick={commands.on(Action::Help(!state.help_open))}>
                <Glyph icon={Icon::Help} />
            </button>
        </header>
    }
}

/// The button that shows the current file in a window of its own, beside the page around this one; where only the picture
/// with its figures is shown, all of the viewer first.
fn in_full(state: &State, commands: &Commands) -> Option<Html> {
    let session = commands.session.emit(state.tab()?.id)?;
    let place = permalink(state)?.to_text();
    let onclick = Callback::from(move |_: MouseEvent| {
        if frame::is_mini() {
            return frame::show_all_controls();
        }
        door::open_window(&history::link(session.url(), &place), session.file());
    });
    let title = match frame::is_mini() {
        true => "Open in full",
        false => "Open in a window of its own",
    };
    Some(html! {
        <button type="button" class="square in-full" {title} aria-label={title} {onclick}>
            <Glyph icon={Icon::Window} /> <span>{ "Open full" }</span>
        </button>
    })
}

/// The current file and its session within the chosen memory pools, if it has something to share.
fn shared<'a>(state: &'a State, commands: &Commands) -> Option<(&'a Tab, Session)> {
    let tab = state.tab();
    let tab = tab.filter(|tab| tab.file_bytes().is_some() && !tab.is_text())?;
    let session = commands.session.emit(tab.id)?;
    Some((tab, session.within(state.search.pool().as_deref())))
}

/// The file that the search box searches, the state of its device, and its session within the chosen memory pools.
fn searched<'a>(
    state: &'a State,
    commands: &Commands,
) -> Option<(&'a OpenFile, &'a DeviceView, Session)> {
    let session = commands.session.emit(state.tab()?.id)?;
    let session = session.within(state.search.pool().as_deref());
    let file = state.file()?;
    Some((file, file.view()?, session))
}

#[derive(Properties, PartialEq)]
struct FileChoicesProps {
    file: Rc<OpenFile>,
    colour_by: ColourBy,
}

/// The choices for an open file: device, colours, axis.
#[component]
fn FileChoices(props: &FileChoicesProps) -> Html {
    let commands = use_commands();
    let file = &props.file;
    // Of the chosen memory pools, as everything below.
    let devices: Vec<AttrValue> = file
        .devices
        .iter()
        .map(|facts| sentences::device(facts).into())
        .collect();
    let all = colours();
    let colours: Vec<AttrValue> = all.iter().map(|colour| colour.name().into()).collect();
    let has_times = file.facts().is_some_and(|facts| facts.axes.time.is_some());
    let axes = vec![
        ("events", "x: one step per event, in order (T)"),
        ("time", "x: wall-clock time since the first event (T)"),
    ];
    let on_axis = commands
        .dispatch
        .reform(|place| Action::Axis(if place == 1 { Axis::Time } else { Axis::Events }));
    html! {
        <>
            if !devices.is_empty() {
                <Select label="Device" options={devices} chosen={file.device}
                    on_choose={commands.dispatch.reform(Action::Device)} />
            }
            <Select label="Colour by" options={colours}
                chosen={all.iter().position(|&colour| colour == props.colour_by).unwrap_or(0)}
                on_choose={commands.dispatch.reform(move |place: usize| {
                    Action::ColourBy(all.get(place).copied().unwrap_or_default())
                })} />
            if has_times {
                <Choice label="Horizontal axis" options={axes} chosen={usize::from(file.axis == Axis::Time)}
                    on_choose={on_axis} />
            }
        </>
    }
}
