//! The root component: it holds the state and the workers, and handles what concerns the whole
//! window.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use web_sys::HtmlInputElement;
use yew::prelude::*;

use super::all_strip::AllStrip;
use super::ask_card::AskCard;
use super::camera::Camera;
use super::commands::Commands;
use super::file_view::FileView;
use super::help::Help;
use super::hooks::{
    first_theme, told, use_address, use_door, use_drop, use_host, use_keys, use_system_is_dark,
    use_theme_attribute,
};
use super::source_link::{Editor, use_editor_setting};
use super::start::Start;
use super::status_bar::StatusBar;
use super::top_bar::TopBar;
use crate::browser::{self, files};
use crate::engine::{Engine, Session, SessionId, Source};
use crate::state::linked::UNASKED_FILES;
use crate::state::{Action, Shared, State};

/// The root component's properties.
#[derive(Properties, PartialEq)]
pub struct AppProps {
    /// Starts workers.
    pub engine: Engine,
    /// The files to open at the start.
    pub sources: Vec<Source>,
}

/// The whole page.
#[component]
pub fn App(props: &AppProps) -> Html {
    // In a small window the picture comes first, so the details start closed.
    let state = use_reducer_eq(|| State {
        details_open: !(browser::is_narrow() || browser::is_low()),
        theme: first_theme(browser::url::is_embedded()),
        is_embedded: browser::url::is_embedded(),
        // From the start, so that the address is not taken for one of the start page.
        wanted: told(&props.sources).map(Rc::new),
        ..State::default()
    });
    let picker = use_node_ref();
    let commands = use_root_commands(&props.engine, &state, &picker);
    commands.camera.follow(&state);
    let is_dragged_over = use_drop((!state.is_embedded).then(|| commands.open.clone()));
    let asked_by_page = use_door(commands.open.clone(), state.is_embedded);
    use_host(&state, &commands.session);
    use_keys(state.clone(), commands.clone());
    let theme = state.theme.resolve(use_system_is_dark());
    use_theme_attribute(state.theme, state.is_embedded);
    use_address(&state, &props.sources);
    use_effect_with(state.title(), |title| {
        gloo::utils::document().set_title(title)
    });
    let editor = use_editor_setting();
    let ask = use_linked(&state, &commands, &props.sources).or(asked_by_page);
    let on_pick = commands
        .open
        .reform(|event: Event| Source::files(files::of_input(event.target())));
    let main = match state.tab() {
        _ if ask.is_some() => ask.unwrap_or_default(),
        Some(tab) => html! { <FileView state={state.clone()} tab={tab.clone()} {theme} /> },
        None if state.is_embedded => {
            html! { <main class="middle"><p class="muted">{ "No snapshot yet: the page around this one opens it." }</p></main> }
        }
        None => html! { <Start wanted={state.wanted.clone()} /> },
    };
    html! {
        <ContextProvider<Commands> context={commands}>
        <ContextProvider<Editor> context={editor}>
            <div id="app">
                <TopBar state={state.clone()} />
                <AllStrip state={state.clone()} {theme} />
                { main }
                <StatusBar tab={state.tab().cloned()} search={state.search.clone()} box_mode={state.box_mode} ruler_mode={state.ruler_mode} wanted={state.wanted.clone()} />
            </div>
            <input type="file" multiple=true class="unseen" tabindex="-1" aria-hidden="true" ref={picker} onchange={on_pick} />
            if state.help_open { <Help /> }
            if is_dragged_over { <div class="drop-veil" aria-hidden="true"><p>{ "Drop to open" }</p></div> }
        </ContextProvider<Editor>>
        </ContextProvider<Commands>>
    }
}

/// Opens the files that the page came with and those that its address names. Returns the card that asks before these
/// are many or large.
#[hook]
fn use_linked(
    state: &UseReducerHandle<State>,
    commands: &Commands,
    sources: &[Source],
) -> Option<Html> {
    let commands = commands.clone();
    let is_linked = |source: &Source| source.linked_host().is_some();
    let (linked, own): (Vec<_>, Vec<_>) = sources.iter().cloned().partition(is_linked);
    {
        let commands = commands.clone();
        use_effect_with((own, linked.clone()), move |(own, linked)| {
            commands.open.emit(own.clone());
            if linked.len() > UNASKED_FILES {
                let hosts = linked.iter().filter_map(Source::linked_host).collect();
                commands.dispatch.emit(Action::Offer(hosts));
            } else {
                commands.open.emit(linked.clone());
            }
        });
    }
    let question = state.question();
    let holds = question.as_ref().is_some_and(|asked| asked.bytes.is_some());
    let downloads: Vec<_> = state.linked_downloads().collect();
    {
        let session = commands.session.clone();
        use_effect_with((holds, downloads.clone()), move |(holds, downloads)| {
            for session in downloads.iter().filter_map(|&id| session.emit(id)) {
                session.hold(*holds);
            }
        });
    }
    let question = question?;
    let on_answer = Callback::from(move |agreed: bool| match (holds, agreed) {
        (true, true) => commands.dispatch.emit(Action::AllowLarge),
        (true, false) => downloads.iter().for_each(|&id| commands.close.emit(id)),
        (false, agreed) => {
            commands.dispatch.emit(Action::Offer(Vec::new()));
            if agreed {
                commands.open.emit(linked.clone());
            }
        }
    });
    Some(
        html! { <main class="middle"><AskCard title={question.title()} text={question.text()} {on_answer} /></main> },
    )
}

/// The page's commands. Their callbacks stay the same, so that they never cause rendering.
#[hook]
fn use_root_commands(
    engine: &Engine,
    state: &UseReducerHandle<State>,
    picker: &NodeRef,
) -> Commands {
    let sessions = use_mut_ref(BTreeMap::<SessionId, Session>::new);
    let (engine, dispatcher, picker) = (engine.clone(), state.dispatcher(), picker.clone());
    let commands = use_memo((), move |()| {
        let camera = {
            let dispatcher = dispatcher.clone();
            Camera::new(Callback::from(move |navigation| {
                dispatcher.dispatch(Action::Navigate(navigation));
            }))
        };
        let dispatch = {
            let camera = camera.clone();
            Callback::from(move |action| match action {
                Action::Navigate(navigation) if camera.go(navigation) => {}
                action => {
                    // All else is about what is visible.
                    camera.publish();
                    dispatcher.dispatch(action);
                }
            })
        };
        let open = {
            let (sessions, dispatch) = (sessions.clone(), dispatch.clone());
            Callback::from(move |sources: Vec<Source>| {
                for source in sources {
                    let session = open_one(&engine, &source, &dispatch);
                    sessions.borrow_mut().insert(session.id(), session);
                }
            })
        };
        let close = {
            let (sessions, dispatch) = (sessions.clone(), dispatch.clone());
            Callback::from(move |id| {
                if let Some(session) = sessions.borrow_mut().remove(&id) {
                    session.close();
                }
                dispatch.emit(Action::Close(id));
            })
        };
        let session = Callback::from(move |id| sessions.borrow().get(&id).map(Session::newest));
        let pick = Callback::from(move |()| {
            if let Some(input) = picker.cast::<HtmlInputElement>() {
                input.click();
            }
        });
        Commands {
            dispatch,
            camera,
            open,
            pick,
            close,
            session,
        }
    });
    (*commands).clone()
}

fn open_one(engine: &Engine, source: &Source, dispatch: &Callback<Action>) -> Session {
    // The session's number is known only after opening; no reply arrives before that.
    let id = Rc::new(Cell::new(SessionId(0)));
    let listener = {
        let (id, dispatch) = (id.clone(), dispatch.clone());
        Callback::from(move |reply| dispatch.emit(Action::Reply(id.get(), Shared::new(reply))))
    };
    let session = engine.open(source, listener);
    id.set(session.id());
    dispatch.emit(Action::Open {
        id: session.id(),
        name: session.name().to_owned(),
        linked_host: source.linked_host(),
        served: source
            .served_number()
            .filter(|_| browser::live::address().is_some()),
    });
    session
}
