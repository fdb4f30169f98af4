//! The lives of buffers in one order as bars: in a row each, or in a packing.

use std::sync::Arc;

use vramscope_inductor::{BufferKind, Graph, Life, Timeline};
use vramscope_plan::packing::{Packer, Packing, Problem};
use vramscope_protocol::views::graph::{Bars, DrawGraph};
use vramscope_view::colour::Rgb;
use vramscope_view::graph::bars::{Bar, kind_colour};
use vramscope_view::graph::curves::bars_viewport;
use vramscope_view::theme::Theme;
use vramscope_view::viewport::Viewport;

use vramscope_core::sorting::SortFew;

/// The lives of one order.
pub(super) struct Lives {
    /// Buffer → its first step, and the step after its last.
    spans: Vec<(u32, u32)>,
    /// Buffers by their first step, the freeable inputs before all others.
    by_birth: Vec<u32>,
    kinds: Vec<BufferKind>,
    packed: Option<Packed>,
}

/// The packing of the buffers.
struct Packed {
    /// The buffers with memory of their own, in the order of `sizes` and of the packing.
    buffers: Vec<u32>,
    sizes: Vec<u64>,
    packing: Packing,
}

/// The bars of a part of the picture, with their buffers.
pub(super) struct BarsInSight {
    pub(super) bars: Vec<Bar>,
    pub(super) buffers: Vec<u32>,
    pub(super) view: Viewport,
    /// Height of the packing; `None` for rows.
    pub(super) packed_bytes: Option<u64>,
}

impl Lives {
    pub(super) fn of(graph: &Graph, timeline: &Timeline) -> Self {
        // Buffers left at the end are drawn up to one place after the last step.
        let end = graph.node_count() as u32 + 1;
        let span = |life: &Life| {
            let after = life.end.map_or(end, |last| last + 1);
            (life.start, after.min(end))
        };
        let spans: Vec<_> = timeline.lives.iter().map(span).collect();
        let mut by_birth: Vec<u32> = (0..spans.len() as u32).collect();
        by_birth.sort_few_by_key(|&buffer| {
            let is_made = buffer as usize >= graph.input_count;
            (is_made, spans[buffer as usize].0)
        });
        Self {
            kinds: (0..spans.len() as u32)
                .map(|buffer| BufferKind::of(graph, buffer))
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

    /// The bars of a picture.
    pub(super) fn shown(&mut self, graph: &Graph, draw: &DrawGraph) -> BarsInSight {
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

    /// A row for each buffer that lives at a step that is seen, the first on top.
    fn rows(&self, draw: &DrawGraph, colour: impl Fn(u32) -> Rgb) -> BarsInSight {
        let in_sight = self.by_birth.iter().copied();
        let buffers: Vec<u32> = in_sight
            .filter(|&buffer| self.is_in_sight(buffer, draw.x))
            .collect();
        // A few rows would look odd if they filled the picture.
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
        BarsInSight {
            bars: buffers.iter().enumerate().map(bar).collect(),
            view: bars_viewport(draw.x, height, (draw.width_px, draw.height_px)),
            buffers,
            packed_bytes: None,
        }
    }

    fn placed(&self, draw: &DrawGraph, colour: impl Fn(u32) -> Rgb) -> BarsInSight {
        let mut shown = BarsInSight {
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

/// How often a run of the packer may ask whether its time is over. It asks at least once in a ms.
const MOST_ASKED: u32 = 150;
/// The largest height of a row, device px.
const MOST_ROW_PX: f64 = 18.0;
/// Height from which on rows have a gap of a pixel, device px.
const GAP_FROM_PX: f64 = 4.0;

/// Packs the buffers with memory of their own. A buffer that takes over a part of another one's memory is not packed;
/// the other one keeps its place as long as its parts live.
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
    // The picture waits for this, so the first packing is good enough.
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
