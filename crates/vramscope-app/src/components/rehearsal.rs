//! The page shows a tiny file out of sight before the first one is opened.
//!
//! Browsers compile a function of the module when it is first called. Showing a file takes two thousand, which would take
//! half of the time until its picture is there.

use std::rc::Rc;

use web_sys::Element;
use yew::prelude::*;

use super::commands::Commands;
use super::file_view::FileView;
use super::source_link::{Editor, use_editor_setting};
use super::status_bar::StatusBar;
use super::top_bar::TopBar;
use crate::engine::{Engine, Session};
use crate::protocol::{Opened, Reply, ThemeName};
use crate::state::{Action, State};

/// Shows the spare worker's tiny file out of sight once the browser is idle.
pub fn rehearse(engine: &Engine) {
    engine.rehearse(|session, opened| {
        let props = RehearsalProps {
            state: with_file(session, opened),
            session: session.clone(),
        };
        let host = out_of_sight()?;
        let renderer =
            yew::Renderer::<Rehearsal>::with_root_and_props(host.clone(), props).render();
        Some(Box::new(move || {
            renderer.destroy();
            host.remove();
        }))
    });
}

fn out_of_sight() -> Option<Element> {
    let document = gloo::utils::document();
    let host = document.create_element("div").ok()?;
    host.set_class_name("rehearsal");
    host.set_attribute("inert", "").ok()?;
    document.body()?.append_child(&host).ok()?;
    Some(host)
}

/// The page with a file.
fn with_file(session: &Session, opened: Box<Opened>) -> State {
    let id = session.id();
    let open = Action::Open {
        id,
        name: String::new(),
        linked_host: None,
    };
    let state = Rc::new(State::default()).reduce(open);
    let state = state.reduce(Action::Reply(id, Box::new(Reply::Opened(opened))));
    Rc::unwrap_or_clone(state)
}

#[derive(Properties, PartialEq)]
struct RehearsalProps {
    state: State,
    session: Session,
}

/// All that shows an open file.
#[component]
fn Rehearsal(props: &RehearsalProps) -> Html {
    let state = use_reducer_eq(|| props.state.clone());
    let (session, dispatcher) = (props.session.clone(), state.dispatcher());
    let commands = Commands {
        dispatch: Callback::from(move |action| dispatcher.dispatch(action)),
        open: Callback::noop(),
        pick: Callback::noop(),
        close: Callback::noop(),
        session: Callback::from(move |_| Some(session.clone())),
    };
    let editor = use_editor_setting();
    let Some(tab) = state.tab().cloned() else {
        return Html::default();
    };
    html! {
        <ContextProvider<Commands> context={commands}>
        <ContextProvider<Editor> context={editor}>
            <TopBar state={state.clone()} />
            <FileView state={state.clone()} tab={tab.clone()} theme={ThemeName::Light} />
            <StatusBar {tab} search={state.search.clone()} box_mode=false ruler_mode=false wanted={None} />
        </ContextProvider<Editor>>
        </ContextProvider<Commands>>
    }
}
