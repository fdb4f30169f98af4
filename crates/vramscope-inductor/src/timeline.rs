//! The life of each buffer in an order, and the memory at each step.

use super::{Graph, Order};
use vramscope_core::sorting::SortFew;

/// The life of a buffer in steps, first and last included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Life {
    /// The step that writes it; 0 for a freeable input.
    pub start: u32,
    /// The last step that needs it; `None` if it is never freed: a result of the graph, or a freeable input without
    /// readers.
    pub end: Option<u32>,
}

/// Memory over the steps of an order.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// Live bytes at each step, including the buffers that it reads and writes, and one more value: the bytes that remain
    /// after the last step. Negative only in damaged graphs, which free more than they allocate.
    pub memory_at_steps: Vec<i64>,
    /// The most bytes at any step.
    pub peak: u64,
    /// The first step with `peak` bytes.
    pub peak_step: u32,
    /// The life of each buffer of the graph.
    pub lives: Vec<Life>,
}

impl Timeline {
    /// The memory if the nodes run in this order (`estimate_peak_memory`).
    ///
    /// `order` must contain every node once.
    #[must_use]
    pub fn of(graph: &Graph, order: &Order) -> Self {
        let lives = lives(graph, order);
        let mut change = vec![0; graph.node_count() + 1];
        for (b, life) in (0u32..).zip(&lives) {
            change[life.start as usize] += appears(graph, b);
            if let Some(end) = life.end {
                change[end as usize + 1] -= graph.free(b);
            }
        }
        let mut memory = 0;
        for bytes in &mut change {
            memory += *bytes;
            *bytes = memory;
        }
        let highest = change.iter().copied().max().unwrap_or(0).max(0);
        let first = change.iter().position(|&bytes| bytes == highest);
        Self {
            peak: highest as u64,
            peak_step: first.unwrap_or(0) as u32,
            memory_at_steps: change,
            lives,
        }
    }

    /// Live bytes after each step's allocations and after its frees (`estimate_peak_memory_allocfree`), computed
    /// independently. The first equal [`memory_at_steps`](Self::memory_at_steps), so both estimates have the same peak.
    #[must_use]
    pub fn alloc_free_steps(&self, graph: &Graph) -> Vec<(i64, i64)> {
        let mut changes = vec![(0, 0); graph.node_count()];
        for (b, life) in (0u32..).zip(&self.lives) {
            changes[life.start as usize].0 += appears(graph, b);
            if let Some(end) = life.end {
                changes[end as usize].1 += graph.free(b);
            }
        }
        let mut memory = 0;
        let mut after = |bytes: i64| {
            memory += bytes;
            memory
        };
        let steps = changes.into_iter();
        steps
            .map(|(alloc, free)| (after(alloc), after(-free)))
            .collect()
    }

    /// Live bytes before each step and after the last (`live_memory_before_steps`).
    #[must_use]
    pub fn live_before_steps(&self, graph: &Graph) -> Vec<i64> {
        let after = self
            .alloc_free_steps(graph)
            .into_iter()
            .map(|(_, free)| free);
        [graph.input_bytes()].into_iter().chain(after).collect()
    }

    /// The buffers live at a step, each with its bytes at that time, largest first. Their sum is
    /// [`memory_at_steps`](Self::memory_at_steps).
    #[must_use]
    pub fn live_at(&self, graph: &Graph, step: u32) -> Vec<(u32, i64)> {
        let mut held = vec![0; graph.buffer_count()];
        for (b, life) in (0u32..).zip(&self.lives) {
            if life.start > step {
                continue;
            }
            held[b as usize] += appears(graph, b);
            // An output takes its part from the buffer that was allocated for all outputs.
            if let Some(whole) = graph.origin[b as usize] {
                held[whole as usize] -= graph.free(b);
                held[b as usize] += graph.free(b);
            }
            if life.end.is_some_and(|end| end < step) {
                held[b as usize] -= graph.free(b);
            }
        }
        let held = (0u32..).zip(held);
        let mut live: Vec<(u32, i64)> = held.filter(|&(_, bytes)| bytes != 0).collect();
        live.sort_few_by_key(|&(b, bytes)| (-bytes, b));
        live
    }
}

/// Bytes that become live with a buffer.
fn appears(graph: &Graph, buffer: u32) -> i64 {
    if (buffer as usize) < graph.input_count {
        graph.free(buffer)
    } else {
        graph.alloc(buffer)
    }
}

/// `compute_memory_timeline`.
fn lives(graph: &Graph, order: &Order) -> Vec<Life> {
    let step = order.steps();
    let mut start = vec![0; graph.buffer_count()];
    for (t, &n) in (0u32..).zip(&order.0) {
        for &b in graph.outputs.get(n as usize) {
            start[b as usize] = t;
        }
    }
    let life = |(b, start): (usize, u32)| {
        let last = graph.readers.get(b).iter().map(|&n| step[n as usize]).max();
        Life {
            start,
            end: (!graph.stays(b)).then(|| last.unwrap_or(start)),
        }
    };
    start.into_iter().enumerate().map(life).collect()
}
