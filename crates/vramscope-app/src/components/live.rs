//! Files that change while they are shown: hears of new versions, has them read, and shows how old the picture is.

use std::rc::Rc;

use gloo::timers::callback::Interval;
use vramscope_protocol::{Adopted, Answer, Failure, Reply};
use yew::prelude::*;

use super::commands::{Commands, use_commands};
use crate::browser::clock;
use crate::browser::live::{self, Listener};
use crate::engine::{Session, SessionId};
use crate::state::live::{Live, News, adoption};
use crate::state::{Action, OpenFile, Shared, State, Tab};

/// The time after which a version that could not be read is tried again, in ms.
const RETRY_AFTER_MS: i32 = 2_000;
/// The time between two looks at the clock, in ms.
const TICK_MS: u32 = 500;

/// What follows the shown file. It shows nothing.
pub(super) fn follower(
    session: &Session,
    state: &State,
    tab: &Tab,
    file: &Rc<OpenFile>,
) -> Option<Html> {
    tab.served.is_some().then(|| {
        let wanted = state.live.of(tab).map(|news| news.version.clone());
        html! { <Follower session={session.clone()} id={tab.id} file={file.clone()} {wanted} /> }
    })
}

#[derive(Properties, PartialEq)]
struct FollowerProps {
    session: Session,
    id: SessionId,
    file: Rc<OpenFile>,
    /// The newest version, as the server tells it.
    wanted: Option<String>,
}

/// Follows a file, if its server tells of its versions: at most one is on its way, and the next is asked for after this
/// one was drawn. What is not looked at is not followed.
#[component]
fn Follower(props: &FollowerProps) -> Html {
    let commands = use_commands();
    let (id, file) = (props.id, &props.file);
    {
        let dispatch = commands.dispatch.clone();
        use_effect_with((), move |()| {
            let listener = listen(dispatch);
            move || drop(listener)
        });
    }
    let on_its_way = use_mut_ref(|| (None::<String>, None::<(u32, u32)>));
    let known = (file.version, file.failures);
    {
        let session = props.session.clone();
        use_effect_with((props.wanted.clone(), known), move |(wanted, known)| {
            let (asked, from) = &mut *on_its_way.borrow_mut();
            let is_new = wanted.is_some() && (asked != wanted || known.1 > 0);
            if !is_new || *from == Some(*known) {
                return;
            }
            (*asked, *from) = (wanted.clone(), Some(*known));
            if known.1 > 0 {
                clock::later(RETRY_AFTER_MS, move || session.reload());
            } else {
                // Pages that are out of sight draw no frames.
                clock::next_frame(move |_| session.reload());
            }
        });
    }
    let (session, file) = (props.session.clone(), file.clone());
    use_effect_with((file.has_next, file.version), move |_| {
        let Some(question) = adoption(&file) else {
            return;
        };
        let asked = session.clone();
        session.ask_once(question, move |adopted, _| {
            let dispatch = &commands.dispatch;
            dispatch.emit(match adopted {
                Some(adopted) => {
                    mark(&adopted);
                    asked.set_version(adopted.version);
                    Action::Answer(id, Shared::new(Answer::Adopt(Box::new(adopted))))
                }
                // To be read again.
                None => Action::Reply(
                    id,
                    Shared::new(Reply::Reloaded(Some(Box::new(Failure::default())))),
                ),
            });
        });
    });
    Html::default()
}

fn listen(dispatch: Callback<Action>) -> Option<Listener> {
    let take = move |message: Option<String>| {
        let live = message.and_then(|message| told(&message, clock::epoch_ms() * 1e3));
        dispatch.emit(Action::News(live.map(Box::new)));
    };
    Some(Listener::new(&live::address()?, take))
}

/// Sets the User Timing mark `vramscope:adopted`: tests and benchmarks wait for it.
fn mark(adopted: &Adopted) {
    let recorded = adopted.opened.file.recorded;
    let read_us = recorded.and_then(|it| it.read_us).unwrap_or(0) as f64;
    let detail = [
        ("version", adopted.version.into()),
        ("readUs", read_us.into()),
    ];
    clock::mark_with("vramscope:adopted", &detail);
}

/// What the server tells in a message that came at a time of the page, in µs since the Unix epoch.
fn told(message: &str, now_us: f64) -> Option<Live> {
    #[derive(serde::Deserialize)]
    struct Message {
        now_us: f64,
        files: Vec<Option<News>>,
    }
    let Message {
        now_us: server_us,
        files,
    } = serde_json::from_str(message).ok()?;
    Some(Live {
        is_connected: true,
        ahead_us: server_us - now_us,
        files,
    })
}

/// The badge and the switch of the shown file, if it changes.
pub(super) fn live_controls(state: &UseReducerHandle<State>, commands: &Commands) -> Option<Html> {
    let tab = state.tab()?;
    state.live.of(tab)?;
    Some(controls(state, tab, commands))
}

fn controls(state: &State, tab: &Rc<Tab>, commands: &Commands) -> Html {
    let follow = state.choices.live.follow;
    let title = match follow {
        true => "The picture goes along with the newest events. Stay here (L)",
        false => "The picture stays where it is. Go along with the newest events (L)",
    };
    html! {
        <>
            <LiveBadge live={state.live.clone()} tab={tab.clone()} />
            if tab.is_live() {
                <button type="button" class="follow" {title} aria-pressed={follow.to_string()} onclick={commands.on(Action::Follow(!follow))}>
                    { "Follow" }
                </button>
            }
        </>
    }
}

#[derive(Properties, PartialEq)]
struct LiveBadgeProps {
    live: Live,
    tab: Rc<Tab>,
}

/// How old the picture is, and whether more may come.
#[component]
fn LiveBadge(props: &LiveBadgeProps) -> Html {
    let redraw = use_force_update();
    use_effect_with((), move |()| {
        let ticks = Interval::new(TICK_MS, move || redraw.force_update());
        move || drop(ticks)
    });
    let badge = props.live.badge(&props.tab, clock::epoch_ms() * 1e3);
    let Some(badge) = badge else {
        return Html::default();
    };
    html! {
        <span class={classes!("live", badge.is_live.then_some("on"))} title={badge.title}>{ badge.text }</span>
    }
}
