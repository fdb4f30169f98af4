//! One file: its progress, its failure, or its views.

use std::rc::Rc;

use vramscope_protocol::{Axis, DetailsOf, DrawRequest, HitOf, Look, MomentOf, RangeOf, ThemeName};
use yew::prelude::*;

use super::allocator::AllocatorView;
use super::banners::Banners;
use super::commands::use_commands;
use super::compare::CompareView;
use super::details::DetailsPanel;
use super::error_card::ErrorCard;
use super::facts_view::FactsView;
use super::flame::FlameView;
use super::fleet::FleetView;
use super::graph::GraphView;
use super::hooks::{use_known, use_pools};
use super::live::follower;
use super::opening_card::OpeningCard;
use super::overview::OverviewView;
use super::pictured::PicturedView;
use super::rail::Rail;
use super::table::TableView;
use super::text::TextView;
use super::view_props::ViewProps;
use super::what_if::WhatIfView;
use crate::engine::Session;
use crate::state::{DeviceView, OpenFile, Phase, State, Tab, ViewKind, picture_of};

#[derive(Properties, PartialEq)]
pub(super) struct FileViewProps {
    pub(super) state: UseReducerHandle<State>,
    pub(super) tab: Rc<Tab>,
    /// The theme of the page.
    pub(super) theme: ThemeName,
}

#[component]
pub(super) fn FileView(props: &FileViewProps) -> Html {
    let commands = use_commands();
    let tab = &props.tab;
    match &tab.phase {
        Phase::Opening(progress) => html! {
            <main class="middle"><OpeningCard id={tab.id} name={tab.name.clone()} progress={*progress} /></main>
        },
        Phase::Failed(failure) => html! {
            <main class="middle"><ErrorCard id={tab.id} name={tab.name.clone()} failure={failure.clone()} takes_files={!props.state.is_embedded} /></main>
        },
        Phase::Ready(file) => match commands.session.emit(tab.id) {
            // All views ask about the chosen memory pools alone.
            Some(session) => html! {
                <ReadyFile key={tab.id.0} state={props.state.clone()} file={file.clone()} session={session.within(props.state.search.pool().as_deref())} tab={tab.clone()} theme={props.theme} />
            },
            None => Html::default(),
        },
        Phase::Graphs(graphs) => match commands.session.emit(tab.id) {
            Some(session) => html! {
                <GraphView key={tab.id.0} graphs={graphs.clone()} {session} theme={props.theme} />
            },
            None => Html::default(),
        },
        Phase::Fleet(file) => match commands.session.emit(tab.id) {
            Some(session) => html! {
                <FleetView key={tab.id.0} state={props.state.clone()} file={*file} {session} theme={props.theme} />
            },
            None => Html::default(),
        },
        Phase::Text(file) => match commands.session.emit(tab.id) {
            Some(session) => html! {
                <TextView key={tab.id.0} file={file.clone()} {session} theme={props.theme} />
            },
            None => Html::default(),
        },
    }
}

#[derive(Properties, PartialEq)]
struct ReadyFileProps {
    state: UseReducerHandle<State>,
    file: Rc<OpenFile>,
    /// The file within the chosen memory pools.
    session: Session,
    tab: Rc<Tab>,
    theme: ThemeName,
}

/// How the pictures of the shown device look.
fn look(state: &State, file: &OpenFile, theme: ThemeName) -> Look {
    Look {
        device: file.facts().map_or(0, |facts| facts.device),
        // Views without a picture over the x axis have the timeline's legend.
        picture: state.view.picture().unwrap_or_default(),
        filter: state.search.filter(file.view()),
        lit: file
            .view()
            .and_then(|view| view.lit.clone())
            .filter(|_| state.is_split()),
        packing: 0,
        version: file.version,
        axis: file.axis,
        is_state: file.facts().is_some_and(|facts| !facts.has_trace),
        colour_by: state.colours(),
        theme,
        stacking: state.choices.lanes.stacking(state.view.picture()),
    }
}

/// The views of a file that is ready.
#[component]
fn ReadyFile(props: &ReadyFileProps) -> Html {
    let (state, file, session) = (&props.state, &props.file, &props.session);
    let look = look(state, file, props.theme);
    use_pools(session, file.pools.as_deref(), state.search.pool());
    let follower = follower(session, state, &props.tab, file);
    use_questions(session, &look, file.view());
    use_group(session, state, &look, file.view());
    let Some((facts, view)) = file.facts().zip(file.view()) else {
        let (session, file) = (session.clone(), file.clone());
        return html! {
            <>{ follower }<main class="workspace"><Rail view={ViewKind::Facts} /><FactsView {session} {file} /></main></>
        };
    };
    let places = state.places().unwrap_or_default();
    let all = facts.bounds(file.picture, file.axis);
    let bounds = file.bounds().unwrap_or(all);
    let given = ViewProps {
        session: session.clone(),
        id: props.tab.id,
        file: file.clone(),
        look: look.clone(),
        bounds,
        view: view.clone(),
        places,
        search: state.search.clone(),
        choices: state.choices.clone(),
        box_mode: state.box_mode,
        explained: state.explained,
        ruler_mode: state.ruler_mode,
        tabs: state.tabs.clone(),
    };
    let center = shown(state.view, given);
    // The overview is about the device itself.
    let has_details =
        state.view != ViewKind::Overview || view.pin.is_some() || places.chosen().is_some();
    html! {
        <>
            { follower }
            // One node as above, so that the follower stays.
            <>
                <Banners file={file.clone()} session={session.clone()} view={state.view} />
                <main class="workspace">
                    <Rail view={state.view} />
                    { center }
                    if has_details {
                        <DetailsPanel session={session.clone()} {look} facts={facts.clone()} view={view.clone()} {places} shown={state.view} lanes={state.choices.lanes} replay={state.choices.what_if.settings.text()} compare={state.choices.compare.clone()}
                            search={state.search.clone()} is_open={state.details_open} width_px={state.details_width_px} />
                    }
                </main>
            </>
        </>
    }
}

/// A view.
fn shown(view: ViewKind, given: ViewProps) -> Html {
    match view {
        ViewKind::Timeline | ViewKind::Segments | ViewKind::Map => {
            html! { <PicturedView ..given /> }
        }
        ViewKind::Overview => html! { <OverviewView ..given /> },
        ViewKind::Allocator => html! { <AllocatorView ..given /> },
        ViewKind::Flame => html! { <FlameView {given} /> },
        ViewKind::Table => html! { <TableView ..given /> },
        ViewKind::Compare => html! { <CompareView ..given /> },
        ViewKind::WhatIf => html! { <WhatIfView ..given /> },
        ViewKind::Facts => {
            html! { <FactsView session={given.session} file={given.file} /> }
        }
    }
}

/// Asks what shares the pixel that an address tells.
#[hook]
fn use_group(session: &Session, state: &State, look: &Look, view: Option<&DeviceView>) {
    let pixel = view.and_then(DeviceView::unknown_group);
    let question = pixel.map(|pixel| HitOf {
        draw: DrawRequest {
            look: Look {
                picture: pixel.picture,
                axis: pixel.axis,
                lit: None,
                stacking: state.choices.lanes.stacking(Some(pixel.picture)),
                ..look.clone()
            },
            viewport: picture_of(pixel),
        },
        at_px: (0.0, 0.0),
    });
    use_known(session, question, false);
}

/// Asks for facts that the state needs about the device: about the cursor, the range and the pinned
/// item, and where the range and the visible part are after a change of the axis.
#[hook]
fn use_questions(session: &Session, look: &Look, view: Option<&DeviceView>) {
    let (device, axis) = (look.device, look.axis);
    let cursor = view.and_then(|view| view.cursor);
    let moment = cursor.map(|cursor| MomentOf {
        device,
        axis,
        moment: cursor.moment,
    });
    let stale = view.map(|view| view.stale).unwrap_or_default();
    let is_known = cursor.is_some_and(|cursor| cursor.facts.is_some()) && !stale.cursor;
    use_known(session, moment, is_known);
    let range = |of: Option<(Axis, (f64, f64))>| of.map(|(axis, x)| RangeOf { device, axis, x });
    let selected = view.and_then(|view| Some((axis, view.range?)));
    let is_known = view.is_some_and(|view| view.selection.is_some()) && !stale.range;
    use_known(session, range(selected), is_known);
    let selected_before = view.and_then(|view| view.range_from);
    use_known(session, range(selected_before), false);
    let visible_before = view.and_then(|view| view.came_from);
    use_known(session, range(visible_before), false);
    let pinned = view.and_then(DeviceView::pinned);
    let details = pinned.map(|allocation| DetailsOf { device, allocation });
    let is_known = view.is_some_and(|view| view.details.is_some()) && !stale.details;
    use_known(session, details, is_known);
}
