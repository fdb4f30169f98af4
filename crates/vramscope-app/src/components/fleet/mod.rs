//! The ranks of a job: memory over time as a heat map, and tables of ranks and call sites.

mod opening;
mod picture;
mod ranks;
mod sites;

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::fleet::{Answer, FleetFile, Look, Order, Question, Shown};
use wasm_bindgen::JsValue;
use web_sys::HtmlInputElement;
use yew::prelude::*;

use self::opening::{Wish, use_opening};
use self::picture::HeatMap;
use self::ranks::RankTable;
use self::sites::SiteTable;
use super::choice::Choice;
use super::commands::{Commands, use_commands};
use super::hooks::use_answer;
use super::icons::{Glyph, Icon};
use super::search::BOX_ID;
use crate::engine::Session;
use crate::state::choices::FleetChoices;
use crate::state::{Action, Chosen, Shared, State, fleet_words};

#[derive(Clone, Properties, PartialEq)]
pub(super) struct FleetViewProps {
    pub(super) state: UseReducerHandle<State>,
    pub(super) file: FleetFile,
    pub(super) session: Session,
    pub(super) theme: ThemeName,
}

/// The properties of all parts of the view.
#[derive(Clone, Properties, PartialEq)]
struct PartProps {
    session: Session,
    file: FleetFile,
    choices: FleetChoices,
    theme: ThemeName,
    on_open: Callback<Wish>,
}

impl PartProps {
    fn shown(&self) -> Shown {
        Shown {
            order: self.choices.order,
            search: self.choices.search.clone(),
        }
    }

    fn look(&self) -> Look {
        Look {
            memory: self.choices.memory,
            along: self.choices.along,
        }
    }
}

#[component]
pub(super) fn FleetView(props: &FleetViewProps) -> Html {
    let choices = props.state.choices.fleet.clone();
    let (on_open, missing) = use_opening(props);
    let part = PartProps {
        session: props.session.clone(),
        file: props.file,
        choices: choices.clone(),
        theme: props.theme,
        on_open: on_open.clone(),
    };
    let onkeydown = Callback::from(move |event: KeyboardEvent| {
        let is_plain = !event.ctrl_key() && !event.meta_key() && !event.alt_key();
        let is_typed = event.target_dyn_into::<HtmlInputElement>().is_some();
        if let (true, false, "c" | "C", Some(rank)) =
            (is_plain, is_typed, event.key().as_str(), choices.rank)
        {
            event.prevent_default();
            on_open.emit(Wish {
                rank,
                at: None,
                compares: true,
            });
        }
    });
    html! {
        <main class="workspace fleet-file">
            <section class="view fleet" aria-label="Ranks" {onkeydown}>
                <Head ..part.clone() />
                if let Some(words) = missing { <p class="fleet-missing" role="alert"><Glyph icon={Icon::Info} /> <span>{ words }</span></p> }
                <div class="fleet-main">
                    <HeatMap ..part.clone() />
                    if part.choices.sites { <SiteTable ..part /> } else { <RankTable ..part /> }
                </div>
            </section>
        </main>
    }
}

/// Asks a question of the fleet. Returns the latest answer with its attachment.
#[hook]
fn use_fleet(
    session: &Session,
    question: Option<Question>,
) -> Option<(Option<Shared<Answer>>, JsValue)> {
    let answered = use_answer(session, question)?;
    Some((answered.answer, answered.attachment))
}

/// What the place of an alternative, of those from which the user chooses, changes.
type Edit = fn(&mut FleetChoices, usize);

/// A callback that changes a choice.
fn on_choose(commands: &Commands, choices: &FleetChoices, edit: Edit) -> Callback<usize> {
    let choices = choices.clone();
    commands.dispatch.reform(move |place| {
        let mut choices = choices.clone();
        edit(&mut choices, place);
        Action::Choose(Chosen::Fleet(choices))
    })
}

/// Keys of the search: Enter chooses the first rank that is found, Escape leaves.
#[hook]
fn use_search_keys(props: &PartProps) -> Callback<KeyboardEvent> {
    let commands = use_commands();
    let props = props.clone();
    Callback::from(move |event: KeyboardEvent| {
        let key = event.key();
        if !matches!(key.as_str(), "Enter" | "Escape") {
            return;
        }
        if let Some(input) = event.target_dyn_into::<HtmlInputElement>() {
            let _ = input.blur();
            event.stop_propagation();
        }
        if key == "Escape" {
            return;
        }
        let question = Question::Ranks {
            shown: props.shown(),
            first: 0,
            count: 1,
            locate: None,
        };
        let (dispatch, choices) = (commands.dispatch.clone(), props.choices.clone());
        let choose = move |answer: Option<Answer>, _| {
            if let Some(Answer::Ranks(ranks)) = answer
                && let Some(rank) = ranks.rows.first()
            {
                dispatch.emit(Action::Choose(Chosen::Fleet(choices.with_rank(rank.id))));
            }
        };
        props.session.ask_once(question, choose);
    })
}

/// The search, and what the tables show.
#[component]
fn Head(props: &PartProps) -> Html {
    let commands = use_commands();
    let choices = &props.choices;
    let choose = |edit: Edit| on_choose(&commands, choices, edit);
    let oninput = {
        let choices = choices.clone();
        commands.dispatch.reform(move |event: InputEvent| {
            let input = event.target_dyn_into::<HtmlInputElement>();
            Action::Choose(Chosen::Fleet(FleetChoices {
                search: input.map(|input| input.value()).unwrap_or_default(),
                ..choices.clone()
            }))
        })
    };
    let onkeydown = use_search_keys(props);
    let orders = vec![
        ("rank", "Ranks by their numbers"),
        ("peak", "The highest peak first"),
        (
            "odd",
            "First those that differ most from the ranks of the same job and step",
        ),
    ];
    let tables = vec![
        ("Ranks", "Figures of each rank"),
        (
            "Call sites",
            "What each call site holds at the peaks of the ranks, and how much that differs",
        ),
    ];
    html! {
        <div class="fleet-head">
            <span class="facts">{ fleet_words::file(&props.file) }</span>
            <input id={BOX_ID} type="search" value={choices.search.clone()} {oninput} {onkeydown} placeholder="17, 8-15, odd, oom, host, file or call site  ( / )"
                aria-label="Search ranks and call sites" autocomplete="off" spellcheck="false" autocapitalize="off" />
            <span class="grow" />
            <span class="muted">{ "Order" }</span>
            <Choice label="Order of ranks" options={orders} chosen={choices.order as usize}
                on_choose={choose(|choices, place| choices.order = [Order::Rank, Order::Peak, Order::Odd][place.min(2)])} />
            <Choice label="Table" options={tables} chosen={usize::from(choices.sites)} on_choose={choose(|choices, place| choices.sites = place == 1)} />
        </div>
    }
}
