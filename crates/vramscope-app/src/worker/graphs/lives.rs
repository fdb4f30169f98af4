//! Buffers' lives in one order as bars: a row each, or where a packing puts them.

use std::sync::Arc;

use vramscope_inductor::{Graph, Life, Timeline};
use vramscope_plan::packing::{Packer, Packing, Problem};
use vramscope_view::colour::Rgb;
use vramscope_view::graph::bars::{Bar, kind_colour};
use vramscope_view::graph::curves::bars_viewport;
use vramscope_view::theme::Theme;
use vramscope_view::viewport::Viewport;

use super::answers::kind_of;
use crate::protocol::views::graph::{Bars, BufferKind, DrawGraph};

/// The lives of one order.
pub(super) struct Lives {
    /// Per buffer: from its first step to the end of its last.
    spans: Vec<(u32, u32)>,
    /// Buffers by birth, the freeable inputs first.
    by_birth: Vec<u32>,
    kinds: Vec<BufferKind>,
    packed: Option<Packed>,
}

/// Where a packing puts them.
struct Packed {
    /// Those that have memory of their own.
    buffers: Vec<u32>,
    sizes: Vec<u64>,
    packing: Packing,
}

/// Bars in sight, and whose they are.
pub(super) struct Shown {
    pub(super) bars: Vec<Bar>,
    pub(super) buffers: Vec<u32>,
    pub(super) view: Viewport,
    /// Height of the packing; `None` for rows.
    pub(super) packed_bytes: Option<u64>,
}

impl Lives {
    pub(super) fn of(graph: &Graph, timeline: &Timeline) -> Self {
        // What is left at the end is seen in the place behind the last step.
        let end = graph.node_count() as u32 + 1;
        let span = |life: &Life| {
            let after = life.end.map_or(end, |last| last + 1);
            (life.start, after.min(end))
        };
        let spans: Vec<_> = timeline.lives.iter().map(span).collect();
        let mut by_birth: Vec<u32> = (0..spans.len() as u32).collect();
        by_birth.sort_by_key(|&buffer| {
            let is_made = buffer as usize >= graph.input_count;
            (is_made, spans[buffer as usize].0)
        });
        Self {
            kinds: (0..spans.len() as u32)
                .map(|buffer| kind_of(graph, buffer))
                .collect(),
            spans,
            by_birth,
            packed: None,
        }
    }

    fn packed(&mut self, graph: &Graph) -> &Packed {
        let spans = &self.spans;
        self.packed.get_or_insert_with(|| pack(graph, spans))
    }

    /// What a picture shows.
    pub(super) fn shown(&mut self, graph: &Graph, draw: &DrawGraph) -> Shown {
        let theme = Theme::of(draw.theme);
        let kinds = self.kinds.clone();
        let colour = |buffer: u32| {
            let kind = kinds[buffer as usize] as usize;
            kind_colour(&theme, kind, buffer % 2 == 1)
        };
        match draw.bars {
            Bars::Rows => self.rows(draw, colour),
            Bars::Packed => {
                self.packed(graph);
                self.placed(draw, colour)
            }
        }
    }

    fn is_in_sight(&self, buffer: u32, (from, to): (f64, f64)) -> bool {
        let (start, end) = self.spans[buffer as usize];
        f64::from(end) > from && f64::from(start) < to
    }

    fn bar(&self, buffer: u32, y: (f64, f64), colour: Rgb) -> Bar {
        let (start, end) = self.spans[buffer as usize];
        Bar {
            x: (f64::from(start), f64::from(end)),
            y,
            colour,
        }
    }

    /// A row for each buffer that lives in what is shown, the first on top.
    fn rows(&self, draw: &DrawGraph, colour: impl Fn(u32) -> Rgb) -> Shown {
        let in_sight = self.by_birth.iter().copied();
        let buffers: Vec<u32> = in_sight
            .filter(|&buffer| self.is_in_sight(buffer, draw.x))
            .collect();
        // Few rows are not blown up to fill the picture.
        let most_px = f64::from(draw.height_px) / MOST_ROW_PX;
        let height = (buffers.len() as f64).max(most_px).max(1.0);
        let row_px = f64::from(draw.height_px) / height;
        let gap = if row_px >= GAP_FROM_PX {
            1.0 / row_px
        } else {
            0.0
        };
        let bar = |(row, &buffer): (usize, &u32)| {
            let top = height - row as f64;
            self.bar(buffer, (top - 1.0 + gap, top), colour(buffer))
        };
        Shown {
            bars: buffers.iter().enumerate().map(bar).collect(),
            view: bars_viewport(draw.x, height, (draw.width_px, draw.height_px)),
            buffers,
            packed_bytes: None,
        }
    }

    fn placed(&self, draw: &DrawGraph, colour: impl Fn(u32) -> Rgb) -> Shown {
        let mut shown = Shown {
            bars: Vec::new(),
            buffers: Vec::new(),
            view: bars_viewport(draw.x, 0.0, (draw.width_px, draw.height_px)),
            packed_bytes: Some(0),
        };
        let Some(packed) = &self.packed else {
            return shown;
        };
        let height = packed.packing.height;
        shown.view = bars_viewport(draw.x, height as f64, (draw.width_px, draw.height_px));
        shown.packed_bytes = Some(height);
        let offsets = packed.packing.offset.iter().zip(&packed.sizes);
        for (&buffer, (&offset, &size)) in packed.buffers.iter().zip(offsets) {
            if self.is_in_sight(buffer, draw.x) {
                let y = (offset as f64, offset as f64 + size as f64);
                shown.bars.push(self.bar(buffer, y, colour(buffer)));
                shown.buffers.push(buffer);
            }
        }
        shown
    }
}

/// How often a packer may ask whether its time is over: at most a ms each.
const MOST_ASKED: u32 = 150;
/// A row is at most so high, device px.
const MOST_ROW_PX: f64 = 18.0;
/// Rows at least so high have a pixel between them.
const GAP_FROM_PX: f64 = 4.0;

/// Places what has memory of its own; what takes over a part of another buffer's memory lies in there, so that the
/// other one stays as long as its parts.
fn pack(graph: &Graph, spans: &[(u32, u32)]) -> Packed {
    let mut upper: Vec<u32> = spans.iter().map(|span| span.1).collect();
    for (buffer, origin) in graph.origin.iter().enumerate() {
        if let Some(origin) = *origin {
            let end = spans[buffer].1;
            let of_whole = &mut upper[origin as usize];
            *of_whole = (*of_whole).max(end);
        }
    }
    let size = |buffer: usize| {
        if buffer < graph.input_count {
            graph.size_free[buffer]
        } else {
            graph.size_alloc[buffer]
        }
    };
    let buffers: Vec<u32> = (0..spans.len())
        .filter(|&buffer| size(buffer) > 0)
        .map(|buffer| buffer as u32)
        .collect();
    let sizes: Vec<u64> = buffers.iter().map(|&b| size(b as usize)).collect();
    let problem = Problem {
        lower: buffers
            .iter()
            .map(|&b| u64::from(spans[b as usize].0))
            .collect(),
        upper: buffers
            .iter()
            .map(|&b| u64::from(upper[b as usize]))
            .collect(),
        size: sizes.clone(),
        alignment: Vec::new(),
    };
    let mut packer = Packer::new(Arc::new(problem));
    // A picture waits for the first packing, and for little more.
    loop {
        let mut asked = 0;
        let is_done = packer.run(&mut || {
            asked += 1;
            asked > MOST_ASKED
        });
        if is_done || packer.best().is_some() {
            break;
        }
    }
    let packing = packer
        .best()
        .map(|best| best.packing.clone())
        .unwrap_or_default();
    Packed {
        buffers,
        sizes,
        packing,
    }
}
