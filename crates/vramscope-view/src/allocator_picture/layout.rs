//! The layout of segments: lines of segments drawn to scale, under a heading for each pool and
//! stream.

use std::cmp::Reverse;
use std::ops::Range;

use vramscope_core::analysis::memory::allocator_state::{
    AllocatorState, PlacedBlock, SegmentState, StateSums,
};
use vramscope_core::units::{Bytes, Count};

/// The picture is limited to this height, because browsers cannot scroll much further.
const MOST_HEIGHT_PX: f64 = 8_000_000.0;

/// Bisection steps when searching for the scale that fits: precise to about a percent.
const FIT_STEPS: usize = 16;

/// With few segments, lines grow to at most this many quarters of their usual height.
const MOST_QUARTERS: u32 = 12;

/// The measures of a picture, in device px.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metrics {
    /// Width of the picture.
    pub width_px: u32,
    /// Height of a line of segments.
    pub line_px: u32,
    /// Gap between the bottom of a line and the top of the next.
    pub gap_px: u32,
    /// Height of a group's heading; the page writes its text there.
    pub heading_px: u32,
    /// Largest gap between two segments on one line.
    pub apart_px: f64,
}

impl Metrics {
    /// The measures for a picture of `width_px` device px, with `pixel_ratio` device px per css px.
    #[must_use]
    pub fn of_screen(width_px: u32, pixel_ratio: f64) -> Self {
        let px = |css: f64| (css * pixel_ratio).round().clamp(1.0, 1e4) as u32;
        Self {
            width_px: width_px.max(1),
            line_px: px(18.0),
            gap_px: px(4.0),
            heading_px: px(28.0),
            apart_px: 2.0 * pixel_ratio,
        }
    }

    fn pitch_px(&self) -> u32 {
        self.line_px + self.gap_px
    }
}

/// The heading of a group of segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Row of [`AllocatorState::groups`].
    pub group: u32,
    /// Top of the heading.
    pub y_px: u32,
}

/// The text of a heading: the name of the group, and its sums. The name is the stream alone where
/// `pool` is empty, as in files that do not record pools.
#[must_use]
pub fn heading_words(pool: &str, stream: &str, sums: &StateSums) -> (String, String) {
    let name = if pool.is_empty() {
        stream.to_owned()
    } else {
        format!("{pool}, {stream}")
    };
    let segments = if sums.segments == 1 {
        "segment"
    } else {
        "segments"
    };
    let facts = format!(
        "{} of {} in use in {} {segments}; free {}, largest {}",
        Bytes(sums.active_bytes()),
        Bytes(sums.reserved_bytes),
        Count(sums.segments),
        Bytes(sums.free_bytes),
        Bytes(sums.largest_free_bytes),
    );
    (name, facts)
}

/// The position of one segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Run {
    /// Row of [`AllocatorState::segments`].
    pub segment: u32,
    /// Top of its first line.
    pub y_px: u32,
    /// Left edge on that line; 0 if the segment takes several lines.
    pub x_px: f64,
    /// Number of lines.
    pub lines: u32,
}

/// The part of a segment on one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub(super) y_px: u32,
    pub(super) x_px: f64,
    /// Offsets into the segment at the left and right edge.
    pub(super) from_bytes: f64,
    pub(super) to_bytes: f64,
}

/// The content of a pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StateHit {
    /// No segment.
    Outside,
    /// One or several blocks of a segment.
    Blocks {
        /// Row of [`AllocatorState::segments`].
        segment: usize,
        /// Rows of [`SegmentState::blocks`] that reach into the pixel; never empty.
        blocks: Range<usize>,
    },
}

/// The positions of all segments.
#[derive(Clone, Debug, PartialEq)]
pub struct StateLayout {
    metrics: Metrics,
    bytes_per_px: f64,
    /// Sorted by line, then from left to right.
    runs: Vec<Run>,
    /// From top to bottom.
    pub headings: Vec<Heading>,
    /// Height of the whole picture in device px.
    pub height_px: u32,
}

impl StateLayout {
    /// Lays out a state at `bytes_per_line`, or at a larger scale if the picture would otherwise
    /// become too high.
    #[must_use]
    pub fn of(state: &AllocatorState, metrics: Metrics, bytes_per_line: f64) -> Self {
        let bytes_per_line = bounded(state, metrics, bytes_per_line);
        let mut layout = Self {
            metrics,
            bytes_per_px: bytes_per_line / f64::from(metrics.width_px),
            runs: Vec::with_capacity(state.segments.len()),
            headings: Vec::with_capacity(state.groups.len()),
            height_px: 0,
        };
        let mut order: Vec<u32> = (0..state.segments.len() as u32).collect();
        order.sort_unstable_by_key(|&row| {
            let segment = &state.segments[row as usize];
            // Expandable segments come first, so that they stay where they are while they grow.
            let bytes = Reverse(if segment.is_expandable {
                u64::MAX
            } else {
                segment.bytes
            });
            (segment.group, bytes, segment.address)
        });
        let mut pen = Pen::default();
        for row in order {
            layout.place(&mut pen, state, row);
        }
        pen.end_line(&metrics);
        layout.height_px = pen.y_px;
        layout
    }

    fn place(&mut self, pen: &mut Pen, state: &AllocatorState, row: u32) {
        let segment = &state.segments[row as usize];
        let metrics = &self.metrics;
        if self.headings.last().map(|heading| heading.group) != Some(segment.group) {
            pen.end_line(metrics);
            self.headings.push(Heading {
                group: segment.group,
                y_px: pen.y_px,
            });
            pen.y_px = pen.y_px.saturating_add(metrics.heading_px);
        }
        let line = f64::from(metrics.width_px);
        let width = segment.bytes as f64 / self.bytes_per_px;
        // A segment as wide as a line must not be broken by a rounding error.
        if pen.x_px > 0.0 && pen.x_px + width > line + 1e-6 {
            pen.end_line(metrics);
        }
        let lines = ((width / line - 1e-9).ceil()).clamp(1.0, MOST_HEIGHT_PX) as u32;
        self.runs.push(Run {
            segment: row,
            y_px: pen.y_px,
            x_px: pen.x_px,
            lines,
        });
        // Narrow segments get smaller gaps, so that many of them do not become mostly gaps.
        pen.x_px += width + metrics.apart_px.min(width / 4.0);
        pen.is_used = true;
        if lines > 1 {
            pen.y_px = pen
                .y_px
                .saturating_add((lines - 1).saturating_mul(metrics.pitch_px()));
            pen.end_line(metrics);
        }
    }

    /// The measures and the bytes per line with which a state fits into `height_px`. The scale shows as few bytes per line
    /// as possible, but only expandable segments may take several lines. If height is left at that scale, lines become
    /// higher.
    #[must_use]
    pub fn fit(state: &AllocatorState, metrics: Metrics, height_px: u32) -> (Metrics, f64) {
        let segments = state.segments.iter();
        let largest = segments
            .filter(|segment| !segment.is_expandable)
            .map(|segment| segment.bytes)
            .max();
        let (mut too_few, mut enough) = (
            largest.unwrap_or(0).max(1) as f64,
            (state.total.reserved_bytes.max(1) as f64) * 1.5,
        );
        let height = |metrics: Metrics, bytes: f64| Self::of(state, metrics, bytes).height_px;
        if height(metrics, too_few) <= height_px {
            let bytes = bounded(state, metrics, too_few);
            let higher = |times: u32| Metrics {
                line_px: metrics.line_px * times / 4,
                ..metrics
            };
            let most = (5..=MOST_QUARTERS)
                .rev()
                .map(higher)
                .find(|&metrics| height(metrics, bytes) <= height_px);
            return (most.unwrap_or(metrics), bytes);
        }
        for _ in 0..FIT_STEPS {
            let middle = (too_few * enough).sqrt();
            if height(metrics, middle) <= height_px {
                enough = middle;
            } else {
                too_few = middle;
            }
        }
        (metrics, enough)
    }

    /// The scale: bytes on one line.
    #[must_use]
    pub fn bytes_per_line(&self) -> f64 {
        self.bytes_per_px * f64::from(self.metrics.width_px)
    }

    /// The measures that the layout was computed with.
    #[must_use]
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(super) fn bytes_per_px(&self) -> f64 {
        self.bytes_per_px
    }

    /// The segments that overlap the rows of pixels `rows`.
    pub(super) fn runs_in(&self, rows: Range<u32>) -> impl Iterator<Item = &Run> {
        let first = self
            .runs
            .partition_point(|run| self.bottom_of(run) <= rows.start);
        let runs = self.runs.get(first..).unwrap_or(&[]).iter();
        runs.take_while(move |run| run.y_px < rows.end)
    }

    fn bottom_of(&self, run: &Run) -> u32 {
        run.y_px
            .saturating_add(run.lines.saturating_mul(self.metrics.pitch_px()))
    }

    /// The lines of a segment that overlap the rows of pixels `rows`.
    pub(super) fn pieces<'a>(
        &'a self,
        run: &'a Run,
        segment_bytes: u64,
        rows: Range<u32>,
    ) -> impl Iterator<Item = Piece> + 'a {
        let pitch = self.metrics.pitch_px();
        let first = rows.start.saturating_sub(run.y_px) / pitch;
        let last = rows.end.saturating_sub(run.y_px).div_ceil(pitch);
        let bytes = segment_bytes as f64;
        let per_line = self.bytes_per_line();
        (first..last.min(run.lines)).map(move |line| {
            let is_last = line + 1 == run.lines;
            let from_bytes = f64::from(line) * per_line;
            Piece {
                y_px: run.y_px + line * pitch,
                x_px: run.x_px,
                from_bytes,
                to_bytes: if is_last {
                    bytes
                } else {
                    from_bytes + per_line
                },
            }
        })
    }

    /// The blocks under a device px of the whole picture.
    #[must_use]
    pub fn hit(&self, state: &AllocatorState, x_px: f64, y_px: f64) -> StateHit {
        self.find(state, x_px, y_px).unwrap_or(StateHit::Outside)
    }

    fn find(&self, state: &AllocatorState, x_px: f64, y_px: f64) -> Option<StateHit> {
        if !(x_px >= 0.0 && y_px >= 0.0) {
            return None;
        }
        let (x_px, y_px) = (x_px.floor(), y_px as u32);
        let above = self.runs.partition_point(|run| run.y_px <= y_px);
        let top = self.runs.get(above.checked_sub(1)?)?.y_px;
        // The last segment on that line that begins before the right edge of the pixel.
        let before = self
            .runs
            .partition_point(|run| run.y_px < top || (run.y_px == top && run.x_px < x_px + 1.0));
        let run = self.runs.get(before.checked_sub(1)?)?;
        let segment = state.segments.get(run.segment as usize)?;
        let below = y_px.checked_sub(run.y_px)?;
        let pitch = self.metrics.pitch_px();
        if run.y_px != top || below / pitch >= run.lines || below % pitch >= self.metrics.line_px {
            return None;
        }
        let piece = self
            .pieces(run, segment.bytes, y_px..y_px.saturating_add(1))
            .next()?;
        let from = piece.from_bytes + (x_px - piece.x_px) * self.bytes_per_px;
        let to = (from + self.bytes_per_px).min(piece.to_bytes);
        let from = from.max(piece.from_bytes);
        let blocks = (from < to).then(|| blocks_between(segment, from, to))?;
        (!blocks.is_empty()).then_some(StateHit::Blocks {
            segment: run.segment as usize,
            blocks,
        })
    }

    /// The rectangles of a block that overlap the rows of pixels `rows`, as left, top, right,
    /// bottom in device px of the whole picture. Empty if there is no such block.
    #[must_use]
    pub fn rectangles(
        &self,
        state: &AllocatorState,
        segment: usize,
        block: usize,
        rows: Range<u32>,
    ) -> Vec<[f64; 4]> {
        let Some(found) = state.segments.get(segment) else {
            return Vec::new();
        };
        let Some(block) = found.blocks.get(block) else {
            return Vec::new();
        };
        self.rectangles_between(state, segment, offsets(found, block), rows)
    }

    /// The rectangles of a part of a segment, given by offsets in bytes; see [`Self::rectangles`].
    #[must_use]
    pub fn rectangles_between(
        &self,
        state: &AllocatorState,
        segment: usize,
        (from, to): (f64, f64),
        rows: Range<u32>,
    ) -> Vec<[f64; 4]> {
        let Some(found) = state.segments.get(segment) else {
            return Vec::new();
        };
        let mut runs = self.runs_in(rows.clone());
        let Some(run) = runs.find(|run| run.segment as usize == segment) else {
            return Vec::new();
        };
        let pieces = self.pieces(run, found.bytes, rows);
        let parts = pieces.filter(|piece| from < piece.to_bytes && to > piece.from_bytes);
        parts
            .map(|piece| {
                let x = |bytes: f64| {
                    let bytes = bytes.clamp(piece.from_bytes, piece.to_bytes);
                    piece.x_px + (bytes - piece.from_bytes) / self.bytes_per_px
                };
                let top = f64::from(piece.y_px);
                let bottom = top + f64::from(self.metrics.line_px);
                [x(from), top, x(to), bottom]
            })
            .collect()
    }

    /// Top of the line that shows this offset of a segment, in device px; `None` if there is no
    /// such segment.
    #[must_use]
    pub fn line_of(&self, segment: usize, offset_bytes: u64) -> Option<u32> {
        let mut runs = self.runs.iter();
        let run = runs.find(|run| run.segment as usize == segment)?;
        let line = ((offset_bytes as f64 / self.bytes_per_line()) as u32).min(run.lines - 1);
        Some(run.y_px + line * self.metrics.pitch_px())
    }
}

/// The position of the next segment.
#[derive(Default)]
struct Pen {
    x_px: f64,
    y_px: u32,
    /// Whether the line contains a segment.
    is_used: bool,
}

impl Pen {
    fn end_line(&mut self, metrics: &Metrics) {
        if self.is_used {
            self.y_px = self.y_px.saturating_add(metrics.pitch_px());
        }
        (self.x_px, self.is_used) = (0.0, false);
    }
}

/// Offsets of a block's start and end into its segment.
pub(super) fn offsets(segment: &SegmentState, block: &PlacedBlock) -> (f64, f64) {
    let from = block.address.wrapping_sub(segment.address);
    (from as f64, from.saturating_add(block.bytes) as f64)
}

/// The blocks that overlap a part of a segment, given by offsets.
pub(super) fn blocks_between(segment: &SegmentState, from: f64, to: f64) -> Range<usize> {
    let blocks = &segment.blocks;
    let first = blocks.partition_point(|block| offsets(segment, block).1 <= from);
    let last = blocks.partition_point(|block| offsets(segment, block).0 < to);
    first..last.max(first)
}

/// The scale, raised as far as needed to limit the height.
fn bounded(state: &AllocatorState, metrics: Metrics, bytes_per_line: f64) -> f64 {
    let lines = MOST_HEIGHT_PX / f64::from(metrics.pitch_px());
    let least = (state.total.reserved_bytes as f64 / lines).max(512.0);
    if bytes_per_line.is_finite() {
        bytes_per_line.max(least)
    } else {
        least
    }
}
