//! One file: its progress, its failure, or its views.

use std::rc::Rc;

use yew::prelude::*;

use super::banners::Banners;
use super::commands::use_commands;
use super::details::DetailsPanel;
use super::error_card::ErrorCard;
use super::facts_view::FactsView;
use super::opening_card::OpeningCard;
use super::rail::Rail;
use super::strip::Strip;
use super::timeline::Timeline;
use crate::engine::Session;
use crate::protocol::{Look, ThemeName};
use crate::state::{OpenFile, Phase, State, Tab, ViewKind};

/// Properties of [`FileView`].
#[derive(Properties, PartialEq)]
pub(super) struct FileViewProps {
    pub(super) state: UseReducerHandle<State>,
    pub(super) tab: Rc<Tab>,
    /// What the page is drawn in.
    pub(super) theme: ThemeName,
}

/// One file.
#[component]
pub(super) fn FileView(props: &FileViewProps) -> Html {
    let commands = use_commands();
    let tab = &props.tab;
    match &tab.phase {
        Phase::Opening(progress) => html! {
            <main class="middle"><OpeningCard id={tab.id} name={tab.name.clone()} progress={*progress} /></main>
        },
        Phase::Failed(failure) => html! {
            <main class="middle"><ErrorCard id={tab.id} name={tab.name.clone()} failure={failure.clone()} /></main>
        },
        Phase::Ready(file) => match commands.session.emit(tab.id) {
            Some(session) => html! {
                <ReadyFile key={tab.id.0} state={props.state.clone()} file={file.clone()} {session} theme={props.theme} />
            },
            None => Html::default(),
        },
    }
}

#[derive(Properties, PartialEq)]
struct ReadyFileProps {
    state: UseReducerHandle<State>,
    file: Rc<OpenFile>,
    session: Session,
    theme: ThemeName,
}

/// A file that can be looked at.
#[component]
fn ReadyFile(props: &ReadyFileProps) -> Html {
    let (state, file, session) = (&props.state, &props.file, &props.session);
    let Some((facts, view)) = file.facts().zip(file.view()) else {
        return html! {
            <main class="workspace"><Rail view={ViewKind::Facts} /><FactsView file={file.clone()} /></main>
        };
    };
    let look = Look {
        device: facts.device,
        axis: file.axis,
        colour_by: state.colour_by,
        theme: props.theme,
    };
    let bounds = facts.axes.bounds(file.axis);
    let center = match state.view {
        ViewKind::Facts => html! { <FactsView file={file.clone()} /> },
        ViewKind::Timeline => html! {
            <section class="view" aria-label="Timeline">
                <Strip session={session.clone()} {look} {bounds} region={view.region} overview={view.overview.clone()} />
                <Timeline session={session.clone()} {look} {bounds} view={view.clone()} box_mode={state.box_mode} />
            </section>
        },
    };
    html! {
        <>
            <Banners file={file.clone()} />
            <main class="workspace">
                <Rail view={state.view} />
                { center }
                <DetailsPanel session={session.clone()} {look} facts={facts.clone()} view={view.clone()}
                    is_open={state.details_open} width_px={state.details_width_px} />
            </main>
        </>
    }
}
