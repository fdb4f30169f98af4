//! Answers about graphs: a table of all of them, or an order of one of them step by step.

use vramscope_core::units::Count;
use vramscope_inductor::{BufferKind, Graph, Method, Order, Timeline};

use super::{Answered, OrderWord};
use crate::report::{Cell, Column, Part, column, detail, sum};

/// The answer about a file's graphs. A single graph gets more detail, and its full order if requested.
pub(super) fn part(graphs: &[Answered<'_>], order: Option<OrderWord>, file: &str) -> Part {
    let mut part = Part {
        file: file.to_owned(),
        ..Part::default()
    };
    let [only] = graphs else {
        table(&mut part, graphs);
        return part;
    };
    let (nodes, timeline) = ordered(only, order.unwrap_or(OrderWord::Best));
    facts(&mut part, only);
    match order {
        Some(_) => {
            peak_facts(&mut part, only, &nodes, &timeline);
            steps(&mut part, only, &nodes, &timeline);
            live(&mut part, only, &timeline, "Live at the peak");
            table(&mut part, graphs);
        }
        None => {
            table(&mut part, graphs);
            let chosen = &only.plan.chosen().timeline;
            let title = "Live at the peak of inductor's order";
            live(&mut part, only, chosen, title);
        }
    }
    part
}

/// An order and its memory.
fn ordered(graph: &Answered<'_>, word: OrderWord) -> (Order, Timeline) {
    let planned = match word.method() {
        Some(method) => graph
            .plan
            .orders
            .iter()
            .find(|order| order.method == method),
        None if word == OrderWord::Chosen => Some(graph.plan.chosen()),
        None => None,
    };
    match planned {
        Some(planned) => (planned.order.clone(), planned.timeline.clone()),
        None => {
            let order = graph.search.order().clone();
            let timeline = Timeline::of(&graph.named.graph, &order);
            (order, timeline)
        }
    }
}

/// Says whether more time could find a better order.
fn verdict(graph: &Answered<'_>) -> &'static str {
    match (graph.search.is_optimal(), graph.search.is_done()) {
        (true, _) => "no order needs less",
        (false, false) => "a longer --time may find less",
        (false, true) => "everything was tried that memory allows",
    }
}

fn facts(part: &mut Part, only: &Answered<'_>) {
    let graph = &only.named.graph;
    let chosen = only.plan.chosen();
    let name = Cell::Text(only.named.name.clone());
    part.fact("graph", "graph", name);
    part.fact("nodes", "nodes", Cell::Number(graph.node_count() as u64));
    let written = Cell::Number(written_buffers(graph));
    part.fact_with("buffers", "buffers", written, "that its nodes write");
    let remark = match graph.input_count as u64 {
        0 => String::new(),
        count => format!("in {} that are freed after their last use", Count(count)),
    };
    let inputs = Cell::Number(graph.input_count as u64);
    part.fact("inputs", "", inputs);
    let inputs = Cell::Bytes(graph.freeable_bytes());
    part.fact_with("input_bytes", "freeable inputs", inputs, remark);
    let remark = format!("by the order that inductor takes: {}", chosen.method.name());
    let peak = Cell::Bytes(chosen.timeline.peak);
    part.fact_with("chosen_bytes", "peak", peak, remark);
    let best = Cell::Bytes(only.search.peak());
    part.fact_with("best_bytes", "best found", best, verdict(only));
    let bound = Cell::Bytes(only.search.bound());
    part.fact("bound_bytes", "any order needs", bound);
}

fn written_buffers(graph: &Graph) -> u64 {
    (graph.buffer_count() - graph.input_count) as u64
}

/// Adds facts about the peak of the shown order.
fn peak_facts(part: &mut Part, only: &Answered<'_>, order: &Order, timeline: &Timeline) {
    let peak = Cell::Bytes(timeline.peak);
    part.fact("order_peak_bytes", "peak of this order", peak);
    let node = order.0.get(timeline.peak_step as usize);
    let node = node.map_or("", |&node| &only.named.graph.node_names[node as usize]);
    let step = Cell::Number(timeline.peak_step.into());
    part.fact_with("peak_step", "at step", step, format!("when {node} runs"));
}

fn table(part: &mut Part, graphs: &[Answered<'_>]) {
    const COLUMNS: [Column; 15] = [
        column("nodes", "nodes"),
        detail("buffers"),
        detail("inputs"),
        detail("input_bytes"),
        column("baseline_bytes", "baseline"),
        column("lpmf_bytes", "lpmf"),
        column("bfs_bytes", "bfs"),
        column("dfs_bytes", "dfs"),
        column("chosen", "takes"),
        detail("chosen_bytes"),
        column("best_bytes", "best found"),
        column("change_share", "change"),
        detail("bound_bytes"),
        column("is_optimal", "optimal"),
        column("graph", "graph"),
    ];
    let row = |answered: &Answered<'_>| {
        let graph = &answered.named.graph;
        let peak = |method| {
            let mut orders = answered.plan.orders.iter();
            let planned = orders.find(|order| order.method == method);
            Cell::or_none(planned, |order| Cell::Bytes(order.timeline.peak))
        };
        let chosen = answered.plan.chosen();
        vec![
            Cell::Number(graph.node_count() as u64),
            Cell::Number(written_buffers(graph)),
            Cell::Number(graph.input_count as u64),
            Cell::Bytes(graph.freeable_bytes()),
            peak(Method::Baseline),
            peak(Method::Lpmf),
            peak(Method::Bfs),
            peak(Method::Dfs),
            Cell::Text(chosen.method.name().to_owned()),
            Cell::Bytes(chosen.timeline.peak),
            Cell::Bytes(answered.search.peak()),
            Cell::ShareChange(answered.search.change()),
            Cell::Bytes(answered.search.bound()),
            Cell::Flag(answered.search.is_optimal()),
            Cell::Text(answered.named.name.clone()),
        ]
    };
    let rows = graphs.iter().map(row).collect();
    part.table("graphs", "Peaks by order", &COLUMNS, rows);
}

fn steps(part: &mut Part, only: &Answered<'_>, order: &Order, timeline: &Timeline) {
    const COLUMNS: [Column; 5] = [
        column("step", "step"),
        column("bytes", "memory"),
        column("after_bytes", "after"),
        column("allocated_bytes", "allocates"),
        column("node", "node"),
    ];
    let graph = &only.named.graph;
    let steps = timeline.alloc_free_steps(graph);
    let row = |((step, &node), (during, after)): ((u64, &u32), (i64, i64))| {
        vec![
            Cell::Number(step),
            Cell::Bytes(during.max(0) as u64),
            Cell::Bytes(after.max(0) as u64),
            Cell::Bytes(graph.node_size(node).max(0) as u64),
            Cell::Text(graph.node_names[node as usize].clone()),
        ]
    };
    let rows = (0u64..).zip(&order.0).zip(steps).map(row).collect();
    part.table("steps", "In this order", &COLUMNS, rows);
}

fn live(part: &mut Part, only: &Answered<'_>, timeline: &Timeline, title: &str) {
    const COLUMNS: [Column; 5] = [
        sum("bytes", "bytes"),
        column("from_step", "from step"),
        column("to_step", "to step"),
        column("kind", ""),
        column("buffer", "buffer"),
    ];
    let graph = &only.named.graph;
    let row = |(b, bytes): (u32, i64)| {
        let life = timeline.lives[b as usize];
        let kind = match BufferKind::of(graph, b) {
            BufferKind::Output => "result",
            BufferKind::FreeableInput => "input",
            BufferKind::Intermediate => "",
        };
        vec![
            Cell::Bytes(bytes.max(0) as u64),
            Cell::Number(life.start.into()),
            Cell::or_none(life.end, |end| Cell::Number(end.into())),
            Cell::Text(kind.to_owned()),
            Cell::Text(graph.buffer_names[b as usize].clone()),
        ]
    };
    let live = timeline.live_at(graph, timeline.peak_step);
    let rows = live.into_iter().map(row).collect();
    part.table("live", title, &COLUMNS, rows);
}
