//! Inductor graphs: memory by step under several orders, lifetimes of buffers, what is live, and
//! the nodes.

mod buffer;
mod head;
mod live;
mod nodes;
mod orders;
mod picture;
mod stage;

use std::collections::BTreeMap;
use std::rc::Rc;

use gloo::timers::callback::Timeout;
use vramscope_protocol::ThemeName;
use vramscope_protocol::views::graph::{Answer, OrderKey, OrdersFacts, Question};
use yew::prelude::*;

use self::buffer::BufferStrip;
use self::head::Head;
use self::live::LiveList;
use self::nodes::NodeList;
use self::orders::Orders;
use self::stage::Stage;
use super::commands::use_commands;
use super::hooks::use_answer;
use crate::engine::Session;
use crate::state::{Action, GraphAction, KnownOrder, OpenGraphs};

/// Delay between an answer and the next question about the search's result, in ms.
const AGAIN_MS: u32 = 250;
/// How long a better order is searched for initially, in ms of work.
const SEARCH_MS: u32 = 20_000;
/// How much longer a click lets the search continue, in ms of work.
const LONGER_MS: u32 = 30_000;

#[derive(Clone, Properties, PartialEq)]
pub(super) struct GraphViewProps {
    pub(super) session: Session,
    pub(super) graphs: Rc<OpenGraphs>,
    pub(super) theme: ThemeName,
}

/// The properties of all parts of the view.
#[derive(Properties, PartialEq, Clone)]
struct PartProps {
    session: Session,
    graphs: Rc<OpenGraphs>,
    theme: ThemeName,
    shown: OrderKey,
}

#[component]
pub(super) fn GraphView(props: &GraphViewProps) -> Html {
    let graphs = &props.graphs;
    // Search time per graph, because a click prolongs the search of one graph only.
    let search_ms = use_state_eq(BTreeMap::<usize, u32>::new);
    let number = graphs.number();
    let of_graph = search_ms.get(&number).copied().unwrap_or(SEARCH_MS);
    let orders = use_orders(props, of_graph);
    let on_search = {
        let searched_ms = orders.as_ref().map_or(0, |orders| orders.searched_ms);
        Callback::from(move |goes_on: bool| {
            let longer_ms = if goes_on { LONGER_MS } else { 0 };
            let mut all = (*search_ms).clone();
            all.insert(number, searched_ms.saturating_add(longer_ms));
            search_ms.set(all);
        })
    };
    let shown = orders.as_ref().and_then(|orders| shown(graphs, orders));
    use_known(orders.as_ref(), shown);
    let part = shown.map(|shown| PartProps {
        session: props.session.clone(),
        graphs: graphs.clone(),
        theme: props.theme,
        shown,
    });
    html! {
        <main class="workspace graph-file">
            <section class="view graph" aria-label="Inductor graph">
                <Head graphs={graphs.clone()} theme={props.theme} />
                if let (Some(orders), Some(part)) = (orders, part) {
                    <div class="graph-main">
                        <Orders orders={orders.clone()} shown={part.shown.order} theme={props.theme} search_ms={of_graph} {on_search} />
                        <Stage ..part.clone() />
                        <BufferStrip ..part.clone() />
                    </div>
                    <div class="graph-side">
                        <LiveList ..part.clone() />
                        <NodeList ..part />
                    </div>
                } else {
                    <p class="muted wait">{ "Working out the orders…" }</p>
                }
            </section>
        </main>
    }
}

/// The shown order: the chosen one, or by default the one that PyTorch chooses.
fn shown(graphs: &OpenGraphs, orders: &OrdersFacts) -> Option<OrderKey> {
    let wanted = graphs.place.order.unwrap_or(orders.chosen);
    let facts = orders.orders.iter().find(|facts| facts.order == wanted);
    let facts = facts.or(orders.orders.first())?;
    Some(OrderKey {
        order: facts.order,
        version: facts.version,
        ..graphs.key()
    })
}

/// The orders of the current graph. Asks again while the search continues.
#[hook]
fn use_orders(props: &GraphViewProps, search_ms: u32) -> Option<OrdersFacts> {
    let round = use_state_eq(|| 0_u32);
    let key = props.graphs.key();
    let question = Question::Orders {
        key,
        round: *round,
        search_ms,
    };
    let answered = use_answer(&props.session, Some(question));
    let is_current = |question: &Question| matches!(question, Question::Orders { key: asked, .. } if asked.graph == key.graph);
    let answered = answered.filter(|answered| is_current(&answered.question));
    let orders = answered
        .as_ref()
        .and_then(|answered| match answered.answer.as_deref() {
            Some(Answer::Orders(orders)) => Some(orders.clone()),
            _ => None,
        });
    let is_searching = orders.as_ref().is_some_and(|orders| orders.is_searching);
    let answer = answered.and_then(|answered| answered.answer);
    use_effect_with((answer, is_searching), move |&(_, is_searching)| {
        let next = *round + 1;
        let timer = is_searching.then(|| Timeout::new(AGAIN_MS, move || round.set(next)));
        move || drop(timer)
    });
    orders
}

/// Reports the peak step of the shown order to the state, from where keys move.
#[hook]
fn use_known(orders: Option<&OrdersFacts>, shown: Option<OrderKey>) {
    let commands = use_commands();
    let known = orders.zip(shown).and_then(|(orders, shown)| {
        let facts = orders
            .orders
            .iter()
            .find(|facts| facts.order == shown.order)?;
        Some(KnownOrder {
            order: facts.order,
            peak_step: facts.peak_step,
        })
    });
    let graph = shown.map(|shown| shown.graph);
    use_effect_with((graph, known), move |&(_, known)| {
        if let Some(known) = known {
            commands
                .dispatch
                .emit(Action::Graph(GraphAction::Know(known)));
        }
    });
}
