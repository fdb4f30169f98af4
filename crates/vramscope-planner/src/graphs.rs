//! An open file of inductor graphs: their orders, the search for better ones, and the answers to
//! [`protocol::views::graph`](vramscope_protocol::views::graph).
//!
//! Orders are computed when a graph is first asked about. The search runs while no question waits.

mod answers;
mod lives;
#[cfg(test)]
mod tests;

use std::rc::Rc;

use vramscope_inductor::{
    Export, Graph, GraphFacts, NamedOrder, OrderName, Planned, Search, Settings, Timeline, plan,
};
use vramscope_protocol::views::graph::{GraphFile, OrderKey};
use vramscope_protocol::{Note, NoteLevel};

use self::lives::Lives;

/// One open file of graphs.
pub(super) struct Graphs {
    /// In the order of the file.
    graphs: Vec<(String, Rc<Graph>)>,
    /// Warnings about the file and its graphs.
    warnings: Vec<String>,
    /// Graph → its orders, once it has been asked about.
    orders: Vec<Option<Orders>>,
    /// The lives in the order that was asked about last.
    lives: Option<(OrderKey, Lives)>,
    /// The graph of the running search.
    searched: Option<usize>,
    live: Option<answers::LiveRows>,
}

/// The orders of one graph.
struct Orders {
    /// One order for each of [`OrderName::ALL`]; for a graph with a cycle only the first.
    known: Vec<NamedOrder>,
    /// The order that PyTorch would choose.
    chosen: OrderName,
    /// The fault of the graph, in PyTorch's words.
    problem: Option<String>,
    /// The search for a better order; `None` for a graph with a cycle.
    search: Option<Box<Search<Rc<Graph>>>>,
    /// Time spent on the search, in ms.
    searched_ms: f64,
    /// Time that the search may take in all, in ms.
    search_ms: f64,
}

/// Duration of a slice of the search, in ms. Questions that come meanwhile wait.
const SLICE_MS: f64 = 12.0;

impl Orders {
    fn of(graph: &Rc<Graph>) -> Self {
        let fault = graph.validate().err().map(|invalid| invalid.to_string());
        let Ok(plan) = plan(graph, Settings::default()) else {
            let order = graph.baseline();
            let timeline = Timeline::of(graph, &order);
            return Self {
                known: vec![NamedOrder::new(graph, OrderName::Baseline, order, timeline)],
                chosen: OrderName::Baseline,
                problem: fault,
                search: None,
                searched_ms: 0.0,
                search_ms: 0.0,
            };
        };
        let known = |name, planned: &Planned| {
            NamedOrder::new(graph, name, planned.order.clone(), planned.timeline.clone())
        };
        let mut all: Vec<NamedOrder> = plan
            .orders
            .iter()
            .map(|planned| known(planned.method.into(), planned))
            .collect();
        all.push(known(OrderName::Best, plan.chosen()));
        Self {
            known: all,
            chosen: plan.chosen().method.into(),
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

    /// Searches for a slice of time.
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
            *best = NamedOrder::new(graph, OrderName::Best, order, timeline);
            best.version = version;
        }
    }

    fn get(&self, name: OrderName) -> Option<&NamedOrder> {
        self.known.iter().find(|known| known.name == name)
    }
}

impl Graphs {
    /// The graphs of a file, of which there is at least one.
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

    /// The facts of the file for the page.
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
            graphs: (self.graphs.iter())
                .map(|(name, graph)| GraphFacts::of(name, graph))
                .collect(),
            notes: self.warnings.iter().map(note).collect(),
            read_ms,
        }
    }

    /// Whether the search is under way.
    pub(super) fn is_searching(&self) -> bool {
        let orders = self
            .searched
            .and_then(|number| self.orders.get(number)?.as_ref());
        orders.is_some_and(Orders::is_searching)
    }

    /// Searches for a slice of time in the graph that was asked about last.
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

    /// Moves the search to this graph. Ends the search of the graph before if it has had its time: the memory of many
    /// searches would be much more than that of one.
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

    /// The orders of a graph, computed if they are not yet; `None` if the file has no such graph.
    fn prepare(&mut self, number: u32) -> Option<&Orders> {
        let (_, graph) = self.graphs.get(number as usize)?;
        let orders = self.orders.get_mut(number as usize)?;
        Some(orders.get_or_insert_with(|| Orders::of(graph)))
    }

    /// The graph of a question and its order, or its first order if it lacks that one; `None` if the file has no such
    /// graph.
    fn find(&mut self, key: OrderKey) -> Option<(&Graph, &NamedOrder)> {
        self.prepare(key.graph)?;
        let orders = self.orders.get(key.graph as usize)?.as_ref()?;
        let known = orders.get(key.order).or(orders.known.first())?;
        Some((self.graph(key.graph)?, known))
    }
}
