//! An open file of inductor graphs: their orders, what the search for a better one has found, and the answers to
//! [`protocol::views::graph`](crate::protocol::views::graph).
//!
//! Orders are worked out when a graph is first looked at; the search goes on while nothing is asked.

mod answers;
mod lives;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use vramscope_inductor::{Export, Graph, Method, Order, Planned, Search, Settings, Timeline, plan};

use self::lives::Lives;
use crate::protocol::views::graph::{GraphFacts, GraphFile, OrderKey, OrderName};
use crate::protocol::{Note, NoteLevel};

/// One open file of graphs.
pub(super) struct Graphs {
    /// In the order of the file.
    graphs: Vec<(String, Rc<Graph>)>,
    /// What the user should know of the file.
    warnings: Vec<String>,
    /// Of each graph, once it has been looked at.
    orders: Vec<Option<Orders>>,
    /// Of the order that was asked about last.
    lives: Option<(OrderKey, Lives)>,
    /// The graph that a better order is searched for.
    searched: Option<usize>,
    live: Option<answers::LiveRows>,
}

/// The orders of one graph.
struct Orders {
    /// As [`OrderName::ALL`]; of a graph with a cycle only the first.
    known: Vec<Known>,
    /// What PyTorch would choose.
    chosen: OrderName,
    /// What is wrong with the graph, in PyTorch's words.
    problem: Option<String>,
    /// The search for a better order; `None` where there is none.
    search: Option<Box<Search<Rc<Graph>>>>,
    /// How long it has searched, in ms.
    searched_ms: f64,
    /// How long it is to search, in ms.
    search_ms: f64,
}

/// How long at once, in ms: what is asked meanwhile waits.
const SLICE_MS: f64 = 12.0;

/// One order.
struct Known {
    name: OrderName,
    order: Order,
    /// Per node: its step.
    steps: Vec<u32>,
    timeline: Timeline,
    /// Bytes after each step, what is used no more being freed.
    after: Vec<i64>,
    /// Counts its changes.
    version: u32,
}

impl Known {
    fn new(graph: &Graph, name: OrderName, order: Order, timeline: Timeline) -> Self {
        let after = timeline.alloc_free_steps(graph).into_iter();
        Self {
            name,
            steps: order.steps(),
            after: after.map(|(_, after)| after).collect(),
            order,
            timeline,
            version: 0,
        }
    }
}

impl Orders {
    fn of(graph: &Rc<Graph>) -> Self {
        let fault = graph.validate().err().map(|invalid| invalid.to_string());
        let Ok(plan) = plan(graph, Settings::default()) else {
            let order = graph.baseline();
            let timeline = Timeline::of(graph, &order);
            return Self {
                known: vec![Known::new(graph, OrderName::Baseline, order, timeline)],
                chosen: OrderName::Baseline,
                problem: fault,
                search: None,
                searched_ms: 0.0,
                search_ms: 0.0,
            };
        };
        let known = |name, planned: &Planned| {
            Known::new(graph, name, planned.order.clone(), planned.timeline.clone())
        };
        let mut all: Vec<Known> = plan
            .orders
            .iter()
            .map(|planned| known(name_of(planned.method), planned))
            .collect();
        all.push(known(OrderName::Best, plan.chosen()));
        Self {
            known: all,
            chosen: name_of(plan.chosen().method),
            problem: fault,
            search: Some(Box::new(Search::new(graph.clone(), &plan))),
            searched_ms: 0.0,
            search_ms: 0.0,
        }
    }

    fn is_searching(&self) -> bool {
        let is_done = |search: &Search<_>| search.is_done() || self.searched_ms >= self.search_ms;
        self.search
            .as_deref()
            .is_some_and(|search| !is_done(search))
    }

    /// Searches on for a moment.
    fn search(&mut self, graph: &Graph, now_ms: fn() -> f64) {
        let Some(search) = &mut self.search else {
            return;
        };
        let start_ms = now_ms();
        search.run(&mut || now_ms() - start_ms > SLICE_MS);
        self.searched_ms += now_ms() - start_ms;
        let best = self
            .known
            .iter_mut()
            .find(|known| known.name == OrderName::Best);
        if let Some(best) = best
            && search.peak() < best.timeline.peak
        {
            let order = search.order().clone();
            let timeline = Timeline::of(graph, &order);
            let version = best.version + 1;
            *best = Known::new(graph, OrderName::Best, order, timeline);
            best.version = version;
        }
    }

    fn get(&self, name: OrderName) -> Option<&Known> {
        self.known.iter().find(|known| known.name == name)
    }
}

fn name_of(method: Method) -> OrderName {
    match method {
        Method::Baseline => OrderName::Baseline,
        Method::Lpmf => OrderName::Lpmf,
        Method::Bfs => OrderName::Bfs,
        Method::Dfs => OrderName::Dfs,
    }
}

impl Graphs {
    /// The graphs of a file; there is at least one.
    pub(super) fn new(export: Export) -> Self {
        let Export { graphs, warnings } = export;
        let of_graphs = graphs.iter().flat_map(|graph| {
            let said = graph.warnings.iter();
            said.map(|text| format!("{}: {text}", graph.name))
        });
        let warnings: Vec<String> = warnings.iter().cloned().chain(of_graphs).collect();
        Self {
            orders: graphs.iter().map(|_| None).collect(),
            searched: None,
            warnings,
            graphs: graphs
                .into_iter()
                .map(|named| (named.name, Rc::new(named.graph)))
                .collect(),
            lives: None,
            live: None,
        }
    }

    /// What the page is told once they are read.
    pub(super) fn opened(&self, name: &str, file_bytes: u64, read_ms: f64) -> GraphFile {
        let note = |text: &String| Note {
            level: NoteLevel::Warning,
            text: text.clone(),
            advice: String::new(),
            places: Vec::new(),
            moment: None,
        };
        GraphFile {
            name: name.to_owned(),
            file_bytes,
            graphs: self.graphs.iter().map(facts).collect(),
            notes: self.warnings.iter().map(note).collect(),
            read_ms,
        }
    }

    /// Whether there is something left to search for.
    pub(super) fn is_searching(&self) -> bool {
        let orders = self
            .searched
            .and_then(|number| self.orders.get(number)?.as_ref());
        orders.is_some_and(Orders::is_searching)
    }

    /// Searches on for a moment, for the graph that was asked about last.
    pub(super) fn search(&mut self, now_ms: fn() -> f64) {
        let Some(number) = self.searched.filter(|_| self.is_searching()) else {
            return;
        };
        if let (Some((_, graph)), Some(Some(orders))) =
            (self.graphs.get(number), self.orders.get_mut(number))
        {
            orders.search(graph, now_ms);
        }
    }

    /// This graph is searched from now on. Of the one before, a search that has had its time goes on no more: many
    /// graphs would hold much more memory than one.
    fn look_at(&mut self, number: usize) {
        let before = self.searched.replace(number);
        let Some(before) = before.filter(|&before| before != number) else {
            return;
        };
        let orders = self.orders.get_mut(before).and_then(Option::as_mut);
        if let Some(orders) = orders.filter(|orders| !orders.is_searching())
            && let Some(search) = &mut orders.search
        {
            search.end();
        }
    }

    fn graph(&self, number: u32) -> Option<&Graph> {
        let (_, graph) = self.graphs.get(number as usize)?;
        Some(graph)
    }

    /// The orders of a graph, worked out if they are not yet.
    fn prepare(&mut self, number: u32) -> Option<&Orders> {
        let (_, graph) = self.graphs.get(number as usize)?;
        let orders = self.orders.get_mut(number as usize)?;
        Some(orders.get_or_insert_with(|| Orders::of(graph)))
    }

    /// The graph of a question and its order; the first order where the graph has no such.
    fn find(&mut self, key: OrderKey) -> Option<(&Graph, &Known)> {
        self.prepare(key.graph)?;
        let orders = self.orders.get(key.graph as usize)?.as_ref()?;
        let known = orders.get(key.order).or(orders.known.first())?;
        Some((self.graph(key.graph)?, known))
    }
}

fn facts((name, graph): &(String, Rc<Graph>)) -> GraphFacts {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    GraphFacts {
        name: name.clone(),
        nodes: count(graph.node_count()),
        buffers: count(graph.buffer_count() - graph.input_count),
        freeable_inputs: count(graph.input_count),
        freeable_bytes: graph.freeable_bytes(),
    }
}
