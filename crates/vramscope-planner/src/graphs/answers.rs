//! Answers to the questions about graphs.

use std::fmt::Write as _;

use vramscope_inductor::{NamedOrder, Search};
use vramscope_protocol::Extra;
use vramscope_protocol::views::graph::{
    Answer, Curve, DrawGraph, Drawn, Live, MOST_ROWS, OrderKey, OrdersFacts, Placed, Question, Tip,
};
use vramscope_view::graph::bars::{draw as draw_bars, hit, place};
use vramscope_view::graph::curves::columns;
use vramscope_view::theme::Theme;

use super::lives::BarsInSight;
use super::{Graphs, Lives, Orders};

/// The largest distance at which the pointer still hits a bar, device px.
const REACH_PX: f64 = 3.0;

/// The buffers live at one step.
pub(super) struct LiveRows {
    key: OrderKey,
    step: u32,
    /// Buffers and their bytes, the largest first.
    rows: Vec<(u32, i64)>,
}

impl Graphs {
    /// The answer with its attachment; `None` if there is no such graph or buffer.
    pub(crate) fn answer(&mut self, question: &Question) -> Option<(Answer, Extra)> {
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
            Question::Nodes { key, first, count } => {
                let (graph, order) = self.find(key)?;
                let window = (first, count.min(MOST_ROWS));
                Answer::Nodes(order.nodes(graph, window, key.constant_bytes))
            }
            Question::Buffer { key, buffer } => {
                let (graph, order) = self.find(key)?;
                let details = order.buffer(graph, buffer, key.constant_bytes)?;
                Answer::Buffer(Box::new(details))
            }
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
        let facts = |order: &NamedOrder| order.facts(chosen, key.constant_bytes);
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
            uses_px: uses_px(known.uses(graph, buffer), &shown, draw.width_px),
        })
    }

    /// The memory by step as CSV: a line per step, and one for the memory left at the end.
    fn csv(&mut self, key: OrderKey) -> Option<(Answer, Extra)> {
        let orders = self.prepare(key.graph)?;
        let mut csv = String::from("step");
        for known in &orders.known {
            let _ = write!(csv, ",{}_bytes", known.name.name());
        }
        csv.push('\n');
        let rows = orders.known.first()?.timeline.memory_at_steps.len();
        for step in 0..rows {
            let _ = write!(csv, "{step}");
            for known in &orders.known {
                let bytes = known.bytes_at(step as u32, key.constant_bytes);
                let _ = write!(csv, ",{bytes}");
            }
            csv.push('\n');
        }
        let rows = rows as u64;
        Some((Answer::Csv { rows }, Extra::Bytes(csv.into_bytes())))
    }

    /// The bars of a picture; `None` if there is no such graph.
    fn shown(&mut self, draw: &DrawGraph) -> Option<BarsInSight> {
        // Added bytes change no life, so one layout serves all of them.
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
        let memory = orders.known.iter();
        let memory = memory.map(|known| (known.name, known.bytes_at(step, constant)));
        let memory = memory.collect();
        let buffer = (y_px >= 0.0)
            .then(|| hit(&shown.bars, &shown.view, (x_px, y_px), REACH_PX))
            .flatten()
            .map(|bar| shown.buffers[bar]);
        let (graph, known) = self.find(draw.key)?;
        Some(Tip {
            step,
            node: known.node_at(graph, step),
            memory,
            buffer: buffer.map(|buffer| known.whole_line(graph, buffer, constant)),
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
        let bytes = known.bytes_at(step, key.constant_bytes);
        let end = first.saturating_add(count.min(MOST_ROWS)) as usize;
        let end = end.min(live.rows.len());
        let rows = live.rows.get(first as usize..end).unwrap_or_default();
        let lines = rows
            .iter()
            .map(|&(buffer, held)| known.line(graph, buffer, held.max(0) as u64, bytes));
        let answer = Live {
            step,
            node: known.node_at(graph, step),
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
}

/// The places of `uses` in a picture, device px; at most one per pixel.
fn uses_px(uses: Vec<(u32, u32)>, shown: &BarsInSight, width_px: u32) -> Vec<f64> {
    let x = |(step, _)| shown.view.x_px(f64::from(step) + 0.5);
    let in_sight = |x: &f64| (0.0..=f64::from(width_px)).contains(x);
    let mut uses_px: Vec<f64> = uses.into_iter().map(x).filter(in_sight).collect();
    uses_px.dedup_by_key(|x| x.floor());
    uses_px
}

/// The curves of all orders in the columns of the picture, and the most memory of any order at any step.
fn curves(orders: &Orders, draw: &DrawGraph) -> (Vec<Curve>, u64) {
    let constant = draw.key.constant_bytes;
    let curve = |known: &NamedOrder| {
        let steps = 0..known.timeline.memory_at_steps.len() as u32;
        let memory: Vec<u64> = steps.map(|step| known.bytes_at(step, constant)).collect();
        Curve {
            order: known.name,
            bytes: columns(&memory, draw.x, draw.width_px),
            peak: (known.peak_bytes(constant), known.timeline.peak_step),
        }
    };
    let curves: Vec<Curve> = orders.known.iter().map(curve).collect();
    let top = curves.iter().map(|curve| curve.peak.0).max();
    (curves, top.unwrap_or(0))
}
