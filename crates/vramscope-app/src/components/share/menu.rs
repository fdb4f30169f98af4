//! The list of exports, which opens below its button in the top bar.

use std::rc::Rc;

use vramscope_protocol::views::export::{Answer, Question};
use vramscope_protocol::views::{flame, graph};
use vramscope_protocol::{Ask, ColourBy, ThemeName};
use wasm_bindgen::JsCast;
use web_sys::Element;
use yew::prelude::*;

use super::carry::CarryItem;
use super::one_file::OneFileItems;
use super::picture::Seen;
use crate::browser::{download, history};
use crate::components::commands::use_commands;
use crate::components::copy_button::CopyButton;
use crate::components::hooks::{use_answer, use_system_is_dark};
use crate::components::icons::{Glyph, Icon};
use crate::engine::Session;
use crate::state::{OpenFile, OpenGraphs, State, permalink, sentences};
use vramscope_view::display;

const MENU_ID: &str = "share-menu";

#[derive(Properties, PartialEq)]
pub(in crate::components) struct ShareMenuProps {
    pub(in crate::components) state: UseReducerHandle<State>,
    /// The snapshot; `None` if the file holds graphs.
    pub(in crate::components) file: Option<Rc<OpenFile>>,
    pub(in crate::components) session: Session,
}

/// The button with its list.
#[component]
pub(in crate::components) fn ShareMenu(props: &ShareMenuProps) -> Html {
    let is_open = use_state_eq(|| false);
    let ontoggle = {
        let is_open = is_open.clone();
        Callback::from(move |event: Event| {
            let element = event
                .target()
                .and_then(|target| target.dyn_into::<Element>().ok());
            is_open.set(
                element.is_some_and(|element| element.matches(":popover-open").unwrap_or(false)),
            );
        })
    };
    html! {
        <div class="share" onkeydown={Callback::from(keep_escape(*is_open))}>
            <button type="button" class="square" popovertarget={MENU_ID} title="Link and downloads" aria-label="Link and downloads">
                <Glyph icon={Icon::Share} />
            </button>
            <div id={MENU_ID} popover="auto" class="popover" {ontoggle}>
                if *is_open { <Items key={props.session.id().0} ..props.clone() /> }
            </div>
        </div>
    }
}

impl Clone for ShareMenuProps {
    fn clone(&self) -> Self {
        Self {
            state: self.state.clone(),
            file: self.file.clone(),
            session: self.session.clone(),
        }
    }
}

/// Escape only closes the open list.
fn keep_escape(is_open: bool) -> impl Fn(KeyboardEvent) {
    move |event| {
        if is_open && event.key() == "Escape" {
            event.stop_propagation();
        }
    }
}

#[component]
fn Items(props: &ShareMenuProps) -> Html {
    let ShareMenuProps {
        state,
        file,
        session,
    } = props;
    let name = &stem(session.name());
    let view = match file {
        Some(_) => state.view.name(),
        None => "graph",
    };
    let pictured = format!("{name}.{view}");
    let png_failed = use_state_eq(|| false);
    let seen = Seen {
        state: state.clone(),
        session: session.clone(),
        commands: use_commands(),
        theme: state.theme.resolve(use_system_is_dark()),
    };
    let on_png = {
        let (seen, name, png_failed) =
            (seen.clone(), format!("{pictured}.png"), png_failed.clone());
        Callback::from(move |_: MouseEvent| {
            let png_failed = png_failed.clone();
            seen.save_png(name.clone(), move |worked| png_failed.set(!worked));
        })
    };
    let is_picture = seen.is_picture();
    let on_svg = Callback::from(move |_: MouseEvent| seen.save_svg(format!("{pictured}.svg")));
    let link = permalink(state).map(|link| history::link(session.url(), &link.to_text()));
    html! {
        <>
            if let Some(link) = link { { link_item(link, session.url().is_some()) } }
            if let (Some(place), Some(_)) = (permalink(state), session.file()) {
                <CarryItem session={session.clone()} fragment={place.to_text()} />
            }
            if let Some(place) = permalink(state).filter(|_| file.is_some() || session.file().is_some()) {
                <OneFileItems session={session.clone()} {place} name={name.clone()} is_snapshot={file.is_some()} />
            }
            if is_picture {
                <h3>{ "What is seen" }</h3>
                { item("Picture (PNG)", if *png_failed { "the browser could not make it" } else { "with axes and texts, for documents" }, Some(on_png)) }
                { item("Picture (SVG)", "text stays text; opens in drawing programs", Some(on_svg)) }
            }
            if let Some(file) = file { <SnapshotItems file={file.clone()} session={session.clone()} name={name.clone()} flame={state.flame()} /> }
            if let Some(graphs) = state.tab().and_then(|tab| tab.graphs()) {
                <h3>{ "Numbers" }</h3>
                { item("Memory by step (CSV)", &steps_text(graphs), Some(on_steps(graphs, session))) }
            }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct SnapshotItemsProps {
    file: Rc<OpenFile>,
    session: Session,
    /// The start of file names.
    name: AttrValue,
    /// The flame graph that is shown.
    flame: Option<(flame::About, flame::TreeKind)>,
}

/// The exports of a snapshot.
#[component]
fn SnapshotItems(props: &SnapshotItemsProps) -> Html {
    let SnapshotItemsProps {
        file,
        session,
        name,
        flame,
    } = props;
    let Some((facts, view)) = file.facts().zip(file.view()) else {
        return html! { <p class="muted">{ "This file has nothing else." }</p> };
    };
    let device = facts.device;
    let moments = view.moments();
    let size = use_answer(
        session,
        moments.map(|moments| Question::Snapshot {
            device,
            moments,
            only_size: true,
        }),
    );
    let size_bytes = size.and_then(|size| match size.answer.as_deref() {
        Some(Answer::Snapshot { bytes, .. }) => Some(*bytes),
        _ => None,
    });
    let whole = (0, facts.events);
    let on_curves = {
        let question = Question::Curves {
            device,
            moments: moments.unwrap_or(whole),
        };
        fetch(session, question, format!("{name}.curves.csv"), "text/csv")
    };
    let on_cut = moments.map(|(from, to)| {
        let question = Question::Snapshot {
            device,
            moments: (from, to),
            only_size: false,
        };
        let name = format!("{name}.events-{}-{to}.pickle", from + 1);
        fetch(session, question, name, "application/octet-stream")
    });
    let folded = flame.as_ref().map(|of| on_folded(of, session, name));
    html! {
        <>
            <h3>{ "Numbers" }</h3>
            if folded.is_some() { { item("Folded stacks", "of the flame graph, for other programs that draw them", folded) } }
            { item("Memory over time (CSV)", &of_what(moments, facts.events), Some(on_curves)) }
            <h3>{ "A part of the file" }</h3>
            { item("Selected range as a snapshot", &cut_text(moments, size_bytes), on_cut) }
        </>
    }
}

/// Saves the flame graph's stacks as lines of text.
fn on_folded(
    (about, tree): &(flame::About, flame::TreeKind),
    session: &Session,
    name: &str,
) -> Callback<MouseEvent> {
    let question = flame::Question {
        about: about.clone(),
        theme: ThemeName::default(),
        colour_by: ColourBy::default(),
        wanted: flame::TreeQuestion::Folded { tree: tree.clone() },
    };
    fetch(
        session,
        question,
        format!("{name}.folded.txt"),
        "text/plain",
    )
}

fn link_item(link: String, has_source: bool) -> Html {
    let what = if has_source {
        "opens this file at what is seen"
    } else {
        "shows the same view to anybody who has the file: the link does not hold it"
    };
    html! {
        <div class="item link">
            <span class="grow"><strong>{ "Link" }</strong><span class="muted">{ what }</span></span>
            <CopyButton text={link} what="the link" with_word=true />
        </div>
    }
}

fn item(title: &str, what: &str, onclick: Option<Callback<MouseEvent>>) -> Html {
    html! {
        <button type="button" class="item" disabled={onclick.is_none()} {onclick}>
            <strong>{ title.to_owned() }</strong><span class="muted">{ what.to_owned() }</span>
        </button>
    }
}

/// What [`on_steps`] saves, in words.
fn steps_text(graphs: &OpenGraphs) -> String {
    let steps = graphs.facts().map_or(0, |facts| facts.nodes);
    let steps = sentences::count_of(u64::from(steps), "step", "steps");
    format!("of the shown graph in every order, {steps}")
}

/// Saves memory by step of all orders as CSV.
fn on_steps(graphs: &OpenGraphs, session: &Session) -> Callback<MouseEvent> {
    let question = graph::Question::Csv { key: graphs.key() };
    let name = graphs.facts().map_or("graph", |facts| &facts.name);
    fetch(session, question, format!("{name}.steps.csv"), "text/csv")
}

fn of_what(moments: Option<(u32, u32)>, events: u32) -> String {
    match moments {
        Some((from, to)) => {
            let count = sentences::count_of(u64::from(to - from), "event", "events");
            format!("live and reserved, {count} of the range")
        }
        None => {
            let count = sentences::count_of(u64::from(events), "event", "events");
            format!("live and reserved, {count}")
        }
    }
}

fn cut_text(moments: Option<(u32, u32)>, bytes: Option<u64>) -> String {
    match (moments, bytes) {
        (None, _) => "select a range first: Alt and drag".to_owned(),
        (Some((from, to)), bytes) => {
            let events = sentences::count_of(u64::from(to - from), "event", "events");
            let size = bytes.map_or_else(|| "…".to_owned(), display::bytes);
            format!("{events}, {size}; torch's tools read it too")
        }
    }
}

/// Requests a file and downloads it when it arrives.
fn fetch(
    session: &Session,
    question: impl Ask + 'static,
    name: String,
    content_type: &'static str,
) -> Callback<MouseEvent> {
    let session = session.clone();
    Callback::from(move |_| {
        let name = name.clone();
        session.ask_once(question.clone(), move |answer, content| {
            if answer.is_some() && !content.is_null() {
                download::save(&name, content_type, &content);
            }
        });
    })
}

/// A file name without its endings.
fn stem(name: &str) -> String {
    let endings = [
        ".gz", ".zst", ".zstd", ".zip", ".vram", ".pickle", ".pkl", ".json", ".html", ".pt",
    ];
    let mut stem = name;
    while let Some(shorter) = endings.iter().find_map(|ending| stem.strip_suffix(ending)) {
        stem = shorter;
    }
    if stem.is_empty() {
        "snapshot".to_owned()
    } else {
        stem.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::stem;

    #[test]
    fn stems() {
        for (name, expected) in [
            ("a.b.pickle.gz", "a.b"),
            ("run", "run"),
            (".json", "snapshot"),
            ("x.html", "x"),
            ("run.vram", "run"),
        ] {
            assert_eq!(stem(name), expected);
        }
    }
}
