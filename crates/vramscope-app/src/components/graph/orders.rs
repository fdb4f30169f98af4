//! The orders with their peaks, to choose from, and the lowest possible peak.

use vramscope_protocol::ThemeName;
use vramscope_protocol::views::graph::{OrderFacts, OrderName, OrdersFacts};
use yew::prelude::*;

use vramscope_view::display;
use vramscope_view::graph::curves::ink;
use vramscope_view::theme::Theme;

use crate::components::commands::use_commands;
use crate::components::icons::{Glyph, Icon};
use crate::state::{Action, GraphAction, graph_words};

#[derive(Properties, PartialEq)]
pub(super) struct OrdersProps {
    pub(super) orders: OrdersFacts,
    pub(super) shown: OrderName,
    pub(super) theme: ThemeName,
    /// How long the search runs, in ms of work.
    pub(super) search_ms: u32,
    /// Called to continue the search (true) or to stop it (false).
    pub(super) on_search: Callback<bool>,
}

#[component]
pub(super) fn Orders(props: &OrdersProps) -> Html {
    let commands = use_commands();
    let orders = &props.orders;
    let (chosen, better) = graph_words::verdict(orders);
    let of_choice = |facts: &&OrderFacts| facts.order == orders.chosen;
    let chosen_bytes = orders.orders.iter().find(of_choice);
    let chosen_bytes = chosen_bytes.map_or(0, |facts| facts.peak_bytes);
    let theme = Theme::of(props.theme);
    let one = |(place, facts): (usize, &OrderFacts)| {
        let [r, g, b] = ink(&theme, place);
        let order = facts.order;
        let go = {
            let (dispatch, step) = (commands.dispatch.clone(), facts.peak_step);
            Callback::from(move |_: MouseEvent| {
                dispatch.emit(Action::Graph(GraphAction::Order(order)));
                dispatch.emit(Action::Graph(GraphAction::Step(step)));
            })
        };
        let is_shown = order == props.shown;
        let is_chosen = order == orders.chosen;
        let marks = match &orders.problem {
            Some(_) => String::new(),
            None if is_chosen => "PyTorch's choice".to_owned(),
            None => graph_words::compared(facts, chosen_bytes),
        };
        html! {
            <button type="button" role="radio" aria-checked={is_shown.to_string()} class={classes!("order", is_shown.then_some("shown"))}
                title={graph_words::order_meaning(order)} onclick={commands.on(Action::Graph(GraphAction::Order(order)))} ondblclick={go}>
                <span class="name"><i class="swatch" style={format!("background:rgb({r} {g} {b})")} />{ graph_words::order(order) }</span>
                <span class="peak" title={display::bytes_exact(facts.peak_bytes)}>{ display::bytes(facts.peak_bytes) }</span>
                <span class={classes!("saved", (facts.peak_bytes < chosen_bytes).then_some("less"))}>{ marks }</span>
            </button>
        }
    };
    html! {
        <div class="graph-orders">
            if let Some(problem) = &orders.problem {
                <p class="problem" role="alert"><Glyph icon={Icon::Warning} /> <span><strong>{ "No graph that PyTorch would accept: " }</strong>{ problem }</span></p>
            } else {
                <div class="verdict">
                    <p class="grow" aria-live="polite"><b>{ chosen }</b>{ " " }<span>{ better }</span></p>
                    { search(props) }
                </div>
            }
            <div class="orders" role="radiogroup" aria-label="Order of the nodes">{ for orders.orders.iter().enumerate().map(one) }</div>
        </div>
    }
}

/// The progress of the search, and buttons to stop or continue it.
fn search(props: &OrdersProps) -> Html {
    let orders = &props.orders;
    let on_search = |goes_on: bool| props.on_search.reform(move |_: MouseEvent| goes_on);
    if orders.is_searching {
        html! {
            <span class="search-state muted">
                <progress max={props.search_ms.to_string()} value={orders.searched_ms.to_string()} aria-label="Search for a better order" />
                <button type="button" class="plain" title="Stop searching: what was found stays" onclick={on_search(false)}>{ "stop" }</button>
            </span>
        }
    } else if orders.can_search {
        html! {
            <span class="search-state">
                <button type="button" class="plain" title="Search half a minute longer for a better order" onclick={on_search(true)}>{ "search on" }</button>
            </span>
        }
    } else {
        Html::default()
    }
}
