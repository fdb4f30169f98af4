//! Answers about graphs.

use std::fmt::Write as _;

use vramscope_core::analysis::compare::changes::relative_change;
use vramscope_inductor::{Graph, Life, Method, Search};
use vramscope_view::graph::bars::{draw as draw_bars, hit, place};
use vramscope_view::graph::curves::columns;
use vramscope_view::theme::Theme;

use super::lives::Shown;
use super::{Graphs, Known, Lives, Orders};
use crate::protocol::Extra;
use crate::protocol::views::graph::{
    Answer, BufferFacts, BufferKind, Curve, DrawGraph, Drawn, Live, LiveLine, MOST_OUTPUTS,
    MOST_ROWS, MOST_USERS, NodeLine, OrderFacts, OrderKey, OrderName, OrdersFacts, Placed,
    Question, Tip,
};

/// How far from a bar it is still meant, device px.
const REACH_PX: f64 = 3.0;

/// What is live at one step.
pub(super) struct LiveRows {
    key: OrderKey,
    step: u32,
    /// Buffers and their bytes, the largest first.
    rows: Vec<(u32, i64)>,
}

impl Graphs {
    /// The answer, with what travels beside it; `None` if there is nothing to say.
    pub(in crate::worker) fn answer(&mut self, question: &Question) -> Option<(Answer, Extra)> {
        let answer = match *question {
            Question::Orders { key, search_ms, .. } => Answer::Orders(self.orders(key, search_ms)?),
            Question::Place { draw, buffer } => Answer::Placed(self.placed(&draw, buffer)?),
            Question::Csv { key } => return self.csv(key),
            Question::Draw(draw) => return self.draw(&draw),
            Question::Hit { draw, x_px, y_px } => Answer::Tip(self.tip(&draw, (x_px, y_px))?),
            Question::Live {
                key,
                step,
                first,
                count,
                locate,
            } => Answer::Live(self.live(key, step, (first, count), locate)?),
            Question::Nodes { key, first, count } => Answer::Nodes(self.nodes(key, first, count)?),
            Question::Buffer { key, buffer } => Answer::Buffer(Box::new(self.buffer(key, buffer)?)),
        };
        Some((answer, Extra::Nothing))
    }

    fn orders(&mut self, key: OrderKey, search_ms: u32) -> Option<OrdersFacts> {
        self.prepare(key.graph)?;
        self.look_at(key.graph as usize);
        let orders = self.orders.get_mut(key.graph as usize)?.as_mut()?;
        orders.search_ms = f64::from(search_ms);
        let search = orders.search.as_deref();
        let chosen = orders.get(orders.chosen)?.timeline.peak;
        let facts = |known: &Known| order_facts(known, chosen, key.constant_bytes);
        Some(OrdersFacts {
            orders: orders.known.iter().map(facts).collect(),
            chosen: orders.chosen,
            bound_bytes: search
                .map_or(0, Search::bound)
                .saturating_add(key.constant_bytes),
            is_proved: search.is_some_and(Search::is_optimal),
            is_searching: orders.is_searching(),
            can_search: search.is_some_and(|search| !search.is_done()),
            // The cast saturates.
            searched_ms: orders.searched_ms as u32,
            problem: orders.problem.clone(),
        })
    }

    fn draw(&mut self, draw: &DrawGraph) -> Option<(Answer, Extra)> {
        let shown = self.shown(draw)?;
        let orders = self.prepare(draw.key.graph)?;
        let (curves, top_bytes) = curves(orders, draw);
        let drawn = Drawn {
            curves,
            top_bytes,
            bars: shown.bars.len() as u32,
            packed_bytes: shown.packed_bytes,
        };
        let background = Theme::of(draw.theme).background;
        let pixels = Extra::Pixels {
            width_px: draw.width_px,
            height_px: draw.height_px,
            rgba: draw_bars(&shown.bars, &shown.view, background),
        };
        Some((Answer::Drawn(drawn), pixels))
    }

    fn placed(&mut self, draw: &DrawGraph, buffer: u32) -> Option<Placed> {
        let shown = self.shown(draw)?;
        let (graph, known) = self.find(draw.key)?;
        if buffer as usize >= graph.buffer_count() {
            return None;
        }
        let bar = shown.buffers.iter().position(|&known| known == buffer);
        Some(Placed {
            outline: bar.and_then(|bar| place(&shown.bars[bar], &shown.view)),
            uses_px: uses_px(uses(graph, known, buffer), &shown, draw.width_px),
        })
    }

    /// A line per step, and one for what is left at the end.
    fn csv(&mut self, key: OrderKey) -> Option<(Answer, Extra)> {
        let orders = self.prepare(key.graph)?;
        let mut csv = String::from("step");
        for known in &orders.known {
            let _ = write!(csv, ",{}_bytes", name_of(known.name));
        }
        csv.push('\n');
        let rows = orders.known.first()?.timeline.memory_at_steps.len();
        for step in 0..rows {
            let _ = write!(csv, "{step}");
            for known in &orders.known {
                let bytes = known.timeline.memory_at_steps.get(step).copied();
                let _ = write!(csv, ",{}", added(bytes.unwrap_or(0), key.constant_bytes));
            }
            csv.push('\n');
        }
        let rows = rows as u64;
        Some((Answer::Csv { rows }, Extra::Bytes(csv.into_bytes())))
    }

    /// The bars of a picture.
    fn shown(&mut self, draw: &DrawGraph) -> Option<Shown> {
        // What is added changes no life.
        let key = OrderKey {
            constant_bytes: 0,
            ..draw.key
        };
        let kept = self.lives.take().filter(|(kept, _)| *kept == key);
        let (graph, known) = self.find(key)?;
        let mut lives = match kept {
            Some((_, lives)) => lives,
            None => Lives::of(graph, &known.timeline),
        };
        let shown = lives.shown(graph, draw);
        self.lives = Some((key, lives));
        Some(shown)
    }

    fn tip(&mut self, draw: &DrawGraph, (x_px, y_px): (f64, f64)) -> Option<Tip> {
        let shown = self.shown(draw)?;
        let orders = self.prepare(draw.key.graph)?;
        let step = shown.view.x_at(x_px).floor();
        let last = orders.known.first()?.order.0.len() as u32;
        // The cast saturates.
        let step = (step as u32).min(last);
        let constant = draw.key.constant_bytes;
        let memory = orders.known.iter().map(|known| {
            let bytes = known.timeline.memory_at_steps.get(step as usize);
            (known.name, added(bytes.copied().unwrap_or(0), constant))
        });
        let memory = memory.collect();
        let buffer = (y_px >= 0.0)
            .then(|| hit(&shown.bars, &shown.view, (x_px, y_px), REACH_PX))
            .flatten()
            .map(|bar| shown.buffers[bar]);
        let (graph, known) = self.find(draw.key)?;
        let whole = added(known.timeline.peak as i64, constant);
        Some(Tip {
            step,
            node: node_at(graph, known, step),
            memory,
            buffer: buffer.map(|buffer| {
                let bytes = bytes_of(graph, buffer);
                line(graph, known, buffer, bytes, whole)
            }),
        })
    }

    fn live(
        &mut self,
        key: OrderKey,
        step: Option<u32>,
        (first, count): (u32, u32),
        locate: Option<u32>,
    ) -> Option<Live> {
        let kept = self.live.take();
        let (graph, known) = self.find(key)?;
        let last = graph.node_count() as u32;
        let step = step.unwrap_or(known.timeline.peak_step).min(last);
        let kept = kept.filter(|kept| (kept.key, kept.step) == (key, step));
        let live = kept.unwrap_or_else(|| LiveRows {
            key,
            step,
            rows: known.timeline.live_at(graph, step),
        });
        let memory = known.timeline.memory_at_steps.get(step as usize);
        let bytes = added(memory.copied().unwrap_or(0), key.constant_bytes);
        let end = first.saturating_add(count.min(MOST_ROWS)) as usize;
        let end = end.min(live.rows.len());
        let rows = live.rows.get(first as usize..end).unwrap_or_default();
        let lines = rows
            .iter()
            .map(|&(buffer, held)| line(graph, known, buffer, added(held, 0), bytes));
        let answer = Live {
            step,
            node: node_at(graph, known, step),
            bytes,
            constant_bytes: key.constant_bytes,
            all_rows: live.rows.len() as u32,
            first,
            lines: lines.collect(),
            place: locate.and_then(|wanted| {
                let place = live.rows.iter().position(|&(buffer, _)| buffer == wanted);
                place.map(|place| place as u32)
            }),
        };
        self.live = Some(live);
        Some(answer)
    }

    fn nodes(&mut self, key: OrderKey, first: u32, count: u32) -> Option<Vec<NodeLine>> {
        let (graph, known) = self.find(key)?;
        let end = first.saturating_add(count.min(MOST_ROWS)) as usize;
        let end = end.min(known.order.0.len());
        let nodes = known.order.0.get(first as usize..end).unwrap_or_default();
        let node = |(step, &node): (u32, &u32)| {
            let all = graph.outputs.get(node as usize);
            let outputs = all.iter().take(MOST_OUTPUTS);
            let outputs =
                outputs.map(|&buffer| (buffer, graph.buffer_names[buffer as usize].clone()));
            let during = known.timeline.memory_at_steps.get(step as usize);
            let after = known.after.get(step as usize);
            NodeLine {
                step,
                name: graph.node_names[node as usize].clone(),
                outputs: outputs.collect(),
                all_outputs: all.len() as u32,
                bytes: added(graph.node_size(node), 0),
                during_bytes: added(during.copied().unwrap_or(0), key.constant_bytes),
                after_bytes: added(after.copied().unwrap_or(0), key.constant_bytes),
            }
        };
        Some((first..).zip(nodes).map(node).collect())
    }

    fn buffer(&mut self, key: OrderKey, buffer: u32) -> Option<BufferFacts> {
        let (graph, known) = self.find(key)?;
        let row = buffer as usize;
        if row >= graph.buffer_count() {
            return None;
        }
        let whole = added(known.timeline.peak as i64, key.constant_bytes);
        let mut users = uses(graph, known, buffer);
        users.sort_unstable();
        let all_users = users.len() as u32;
        users.truncate(MOST_USERS);
        let is_input = row < graph.input_count;
        let name = |(step, node): (u32, u32)| (step, graph.node_names[node as usize].clone());
        Some(BufferFacts {
            line: line(graph, known, buffer, bytes_of(graph, buffer), whole),
            allocated_bytes: if is_input { 0 } else { graph.size_alloc[row] },
            freed_bytes: graph.size_free[row],
            made_at: (!is_input).then(|| known.timeline.lives[row].start),
            origin: graph.origin[row]
                .map(|origin| (origin, graph.buffer_names[origin as usize].clone())),
            users: users.into_iter().map(name).collect(),
            all_users,
        })
    }
}

/// Where the steps of `uses` are seen, device px: one of those in a pixel.
fn uses_px(mut uses: Vec<(u32, u32)>, shown: &Shown, width_px: u32) -> Vec<f64> {
    uses.sort_unstable();
    let x = |(step, _)| shown.view.x_px(f64::from(step) + 0.5);
    let in_sight = |x: &f64| (0.0..=f64::from(width_px)).contains(x);
    let mut uses_px: Vec<f64> = uses.into_iter().map(x).filter(in_sight).collect();
    uses_px.dedup_by_key(|x| x.floor());
    uses_px
}

/// Every order's memory in the columns of the picture, and the highest anywhere.
fn curves(orders: &Orders, draw: &DrawGraph) -> (Vec<Curve>, u64) {
    let constant = draw.key.constant_bytes;
    let curve = |known: &Known| {
        let memory = known.timeline.memory_at_steps.iter();
        let memory: Vec<u64> = memory.map(|&bytes| added(bytes, constant)).collect();
        Curve {
            order: known.name,
            bytes: columns(&memory, draw.x, draw.width_px),
            peak: (
                added(known.timeline.peak as i64, constant),
                known.timeline.peak_step,
            ),
        }
    };
    let curves: Vec<Curve> = orders.known.iter().map(curve).collect();
    let top = curves.iter().map(|curve| curve.peak.0).max();
    (curves, top.unwrap_or(0))
}

/// Bytes with the constant; damaged graphs can go below 0.
fn added(bytes: i64, constant_bytes: u64) -> u64 {
    constant_bytes.saturating_add_signed(bytes)
}

fn order_facts(known: &Known, chosen: u64, constant_bytes: u64) -> OrderFacts {
    let peak_bytes = known.timeline.peak.saturating_add(constant_bytes);
    OrderFacts {
        order: known.name,
        version: known.version,
        peak_bytes,
        peak_step: known.timeline.peak_step,
        change_share: relative_change(chosen.saturating_add(constant_bytes), peak_bytes),
    }
}

/// What an order is called in files.
fn name_of(order: OrderName) -> &'static str {
    match order {
        OrderName::Baseline => Method::Baseline.name(),
        OrderName::Lpmf => Method::Lpmf.name(),
        OrderName::Bfs => Method::Bfs.name(),
        OrderName::Dfs => Method::Dfs.name(),
        OrderName::Best => "best",
    }
}

fn node_at(graph: &Graph, known: &Known, step: u32) -> String {
    let node = known.order.0.get(step as usize);
    node.map_or_else(String::new, |&node| graph.node_names[node as usize].clone())
}

pub(super) fn kind_of(graph: &Graph, buffer: u32) -> BufferKind {
    let row = buffer as usize;
    if graph.is_output[row] {
        BufferKind::Output
    } else if row < graph.input_count {
        BufferKind::FreeableInput
    } else {
        BufferKind::Intermediate
    }
}

/// The larger of what appears and what goes with a buffer: of one with several outputs, all of them.
fn bytes_of(graph: &Graph, buffer: u32) -> u64 {
    graph.size_alloc[buffer as usize].max(graph.size_free[buffer as usize])
}

/// The steps at which a buffer is used, and by which nodes.
fn uses(graph: &Graph, known: &Known, buffer: u32) -> Vec<(u32, u32)> {
    let readers = graph.readers.get(buffer as usize).iter();
    readers
        .map(|&node| (known.steps[node as usize], node))
        .collect()
}

fn line(graph: &Graph, known: &Known, buffer: u32, bytes: u64, of_bytes: u64) -> LiveLine {
    let row = buffer as usize;
    let Life { start, end } = known.timeline.lives[row];
    let is_made = row >= graph.input_count;
    let share = u128::from(bytes) * 1_000 / u128::from(of_bytes.max(1));
    LiveLine {
        buffer,
        name: graph.buffer_names[row].clone(),
        bytes,
        share_per_mille: u32::try_from(share).unwrap_or(u32::MAX),
        kind: kind_of(graph, buffer),
        node: if is_made {
            node_at(graph, known, start)
        } else {
            String::new()
        },
        start,
        end,
    }
}
