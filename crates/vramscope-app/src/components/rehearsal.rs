//! The page shows a tiny file out of sight before the first one is opened.
//!
//! Browsers compile a function of the module when it is first called. Showing a file takes two thousand, which would take
//! half of the time until its picture is there.

use std::rc::Rc;

use web_sys::Element;
use yew::prelude::*;

use super::commands::Commands;
use super::file_view::FileView;
use super::top_bar::TopBar;
use crate::engine::{Remove, Session};
use crate::protocol::{Opened, Reply, ThemeName};
use crate::state::{Action, Shared, State};

/// Shows a file out of sight. Returns how to remove it.
pub(super) fn rehearse(session: &Session, opened: Box<Opened>) -> Option<Remove> {
    let props = RehearsalProps {
        state: with_file(session, opened),
        session: session.clone(),
    };
    let host = out_of_sight()?;
    let shown = yew::Renderer::<Rehearsal>::with_root_and_props(host.clone(), props).render();
    Some(Box::new(move || {
        shown.destroy();
        host.remove();
    }))
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
fn with_file(session: &Session, opened: Box<Opened>) -> Rc<State> {
    let id = session.id();
    let open = Action::Open {
        id,
        name: String::new(),
        linked_host: None,
        served: None,
    };
    let state = Rc::new(State::default()).reduce(open);
    state.reduce(Action::Reply(id, Shared::new(Reply::Opened(opened))))
}

#[derive(Properties, PartialEq)]
struct RehearsalProps {
    state: Rc<State>,
    session: Session,
}

/// All that shows an open file.
#[component]
fn Rehearsal(props: &RehearsalProps) -> Html {
    let state = use_reducer_eq(|| State::clone(&props.state));
    let (session, dispatcher) = (props.session.clone(), state.dispatcher());
    let commands = Commands {
        dispatch: Callback::from(move |action| dispatcher.dispatch(action)),
        open: Callback::noop(),
        pick: Callback::noop(),
        close: Callback::noop(),
        session: Callback::from(move |_| Some(session.clone())),
    };
    let Some(tab) = state.tab().cloned() else {
        return Html::default();
    };
    html! {
        <ContextProvider<Commands> context={commands}>
            <TopBar state={state.clone()} />
            <FileView state={state.clone()} {tab} theme={ThemeName::Light} />
        </ContextProvider<Commands>>
    }
}
