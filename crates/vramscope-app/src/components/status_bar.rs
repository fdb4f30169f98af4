//! The bar at the bottom: the moment under the pointer, and the selection.

use std::rc::Rc;

use yew::prelude::*;

use super::commands::{Commands, use_commands};
use super::search::FoundStatus;
use crate::state::{
    Action, OpenFile, OpenGraphs, Permalink, Phase, Search, Tab, ViewKind, graph_words, sentences,
};
use vramscope_view::display;

#[derive(Properties, PartialEq)]
pub(super) struct StatusBarProps {
    pub(super) tab: Option<Rc<Tab>>,
    pub(super) search: Search,
    pub(super) box_mode: bool,
    pub(super) ruler_mode: bool,
    /// The link whose file is not open yet, if there is one.
    pub(super) wanted: Option<Rc<Permalink>>,
}

/// The bar at the bottom.
#[component]
pub(super) fn StatusBar(props: &StatusBarProps) -> Html {
    let commands = use_commands();
    let news = props.tab.as_ref().map_or("", |tab| news(tab));
    let linked = props.wanted.as_ref().and_then(|link| link.file.as_ref());
    let linked = linked.filter(|_| props.tab.as_ref().is_some_and(|tab| tab.ready().is_some()));
    html! {
        <footer class="statusbar">
            { props.tab.as_ref().and_then(|tab| place(tab)) }
            { props.tab.as_ref().and_then(|tab| tab.graphs()).and_then(|graphs| step(graphs)) }
            { props.tab.as_ref().and_then(|tab| found(tab, &props.search, &commands)) }
            if props.box_mode { <span class="hint">{ "Drag a box to zoom to it · Escape cancels" }</span> }
            if props.ruler_mode { <span class="hint">{ "Drag to measure · M or Escape ends" }</span> }
            <span class="grow" />
            if let Some(file) = linked {
                <span class="muted" title={sentences::wanted(&file.name, file.bytes)}>{ format!("This is not the file of the link, {}", file.name) }</span>
            }
            { props.tab.as_ref().and_then(|tab| tab.ready()).and_then(|file| notes(file, &commands)) }
            if props.tab.is_none() { <span class="muted">{ "Nothing leaves this page" }</span> }
            <span class="unseen" role="status" aria-live="polite">{ news }</span>
        </footer>
    }
}

/// How much the search matches.
fn found(tab: &Tab, search: &Search, commands: &Commands) -> Option<Html> {
    let session = commands.session.emit(tab.id)?;
    let session = session.within(search.pool().as_deref());
    let file = tab.ready()?;
    let (facts, view) = file.facts().zip(file.view())?;
    search.is_on().then(|| {
        let when = sentences::live_when(facts, view);
        html! {
            <FoundStatus key={tab.id.0} {session} device={facts.device} search={search.clone()} view={view.clone()} {when} />
        }
    })
}

/// The number of notes, as a button that shows them.
fn notes(file: &OpenFile, commands: &Commands) -> Option<Html> {
    let count = file.notes().count() as u64;
    (count > 0).then(|| {
        html! {
            <button type="button" title="What this file holds and lacks" onclick={commands.on(Action::View(ViewKind::Facts))}>
                { sentences::count_of(count, "note", "notes") }
            </button>
        }
    })
}

/// The progress of opening the file, for screen readers.
fn news(tab: &Tab) -> &'static str {
    match &tab.phase {
        Phase::Opening(progress) => sentences::stage(progress.stage),
        Phase::Failed(_) => "The file cannot be shown",
        Phase::Ready(_) | Phase::Graphs(_) | Phase::Fleet(_) | Phase::Text(_) => "The file is open",
    }
}

/// The cursor's step in a graph.
fn step(graphs: &OpenGraphs) -> Option<Html> {
    let text = graph_words::step(graphs.step()?, graphs.facts()?);
    Some(html! { <span>{ text }</span> })
}

/// The moment under the pointer, else the cursor's, else totals of the device; then the selection.
fn place(tab: &Tab) -> Option<Html> {
    let file = tab.ready()?;
    let (facts, view) = file.facts().zip(file.view())?;
    let mut parts = Vec::new();
    let hovered = view.hovered.as_ref().and_then(|hit| hit.moment);
    match hovered.or(view.cursor.and_then(|cursor| cursor.facts)) {
        Some(moment) => {
            parts.push(sentences::moment(&moment, facts.events));
            parts.extend(moment.since_start_us.map(display::offset));
            parts.extend(moment.time_us.map(display::time_of_day));
            parts.push(format!("live {}", display::bytes(moment.active_bytes)));
            parts.extend(
                moment
                    .reserved_bytes
                    .map(|bytes| format!("reserved {}", display::bytes(bytes))),
            );
        }
        None => parts.extend(sentences::totals(facts, file.pools.is_some())),
    }
    let selection = view.selection.as_ref().map(|facts| {
        let text = sentences::selection(facts);
        html! { <span class="selection" title={text.clone()}>{ text }</span> }
    });
    Some(html! {
        <>
            { for parts.into_iter().map(|part| html! { <span>{ part }</span> }) }
            { selection }
        </>
    })
}
