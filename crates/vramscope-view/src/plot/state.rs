//! The allocator's segments and blocks at one moment.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use vramscope_core::analysis::allocator_state::{
    AllocatorState, BlockUse, PlacedBlock, SegmentState,
};

use super::{Content, Pixels, text};
use crate::allocator_picture::{
    Heading, Metrics, StateLayout, StatePicture, StateRaster, heading_words,
};
use crate::chart::{Area, ChartError, Style, rgb};
use crate::colour::{ColourColumn, Rgb};
use crate::raster::Paint;

/// Size of letters, css px.
const LETTER_CSS: f64 = 12.0;
/// Between a heading's two parts, css px.
const GAP_CSS: f64 = 10.0;
/// More blocks than this are drawn by the pixel, also in an SVG.
const MOST_SHAPES: usize = 2_000;
/// Blocks that are narrower than this, device px, are drawn by the pixel: shapes would hide each other.
const LEAST_SHAPE_PX: f64 = 2.0;
/// Between the stripes of what is pending free or lost to rounding, css px.
const STRIPE_CSS: f64 = 5.0;

/// The allocator at one moment.
#[derive(Clone, Debug)]
pub struct StatePlot<'a> {
    /// The moment's state.
    pub state: &'a AllocatorState,
    /// The state with the most segments: the scale is the one at which it fits, so that pictures of
    /// several moments can be compared.
    pub fullest: &'a AllocatorState,
    /// Colour of each allocation.
    pub colours: &'a ColourColumn,
    /// Of each of the state's groups, its pool (empty: not known) and its stream.
    pub groups: &'a [(String, String)],
}

/// Where things are.
#[derive(Clone, Debug)]
pub struct Layout {
    room: Area,
    state: StateLayout,
    /// Whether blocks are shapes.
    is_vector: bool,
}

impl Content for StatePlot<'_> {
    type Layout = Layout;

    fn layout(&self, room: &Area, style: &Style<'_>, is_vector: bool) -> Layout {
        let metrics = Metrics::of_screen(room.width_px, style.pixel_ratio);
        let fit = |state| {
            let (metrics, bytes_per_line) = StateLayout::fit(state, metrics, room.height_px);
            StateLayout::of(self.state, metrics, bytes_per_line)
        };
        let mut state = fit(self.fullest);
        // With fewer bytes it may still have more segments.
        if state.height_px > room.height_px {
            state = fit(self.state);
        }
        let is_vector = is_vector && self.fits_shapes(&state);
        Layout {
            room: *room,
            state,
            is_vector,
        }
    }

    fn pixels(&self, layout: &Layout, style: &Style<'_>) -> Option<Pixels> {
        if layout.is_vector {
            return None;
        }
        let paint = Paint {
            colours: self.colours,
            matches: None,
            theme: style.theme,
        };
        let mut picture = StatePicture::default();
        let rows = 0..layout.room.height_px;
        StateRaster::new().draw(self.state, &layout.state, rows, &paint, &mut picture);
        Some(Pixels {
            area: layout.room,
            rgba: picture.rgba,
        })
    }

    fn draw_below<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        layout: &Layout,
        style: &Style<'_>,
    ) -> Result<(), ChartError<DB>> {
        let least = layout.state.metrics().heading_px + layout.state.metrics().line_px;
        for heading in &layout.state.headings {
            if heading.y_px + least <= layout.room.height_px {
                self.draw_heading(root, layout, heading, style)?;
            }
        }
        if layout.is_vector {
            for (row, segment) in self.state.segments.iter().enumerate() {
                for block in &segment.blocks {
                    self.draw_block(root, layout, (row, segment), block, style)?;
                }
            }
        }
        Ok(())
    }

    fn height_px(&self, width_px: u32, usual_px: u32, style: &Style<'_>) -> u32 {
        let metrics = Metrics::of_screen(width_px, style.pixel_ratio);
        // With every heading and a line for each: what a scale cannot make smaller.
        let groups = self.state.groups.len().max(self.fullest.groups.len()) as u32;
        let pitch = metrics.heading_px + metrics.line_px + metrics.gap_px;
        groups.saturating_mul(2 * pitch).max(usual_px)
    }
}

impl StatePlot<'_> {
    fn fits_shapes(&self, layout: &StateLayout) -> bool {
        let blocks: usize = (self.state.segments.iter())
            .map(|segment| segment.blocks.len())
            .sum();
        let bytes_per_px = layout.bytes_per_line() / f64::from(layout.metrics().width_px);
        let least = bytes_per_px * LEAST_SHAPE_PX;
        let mut all = self
            .state
            .segments
            .iter()
            .flat_map(|segment| &segment.blocks);
        blocks <= MOST_SHAPES && all.all(|block| block.bytes as f64 >= least)
    }

    fn draw_heading<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        layout: &Layout,
        heading: &Heading,
        style: &Style<'_>,
    ) -> Result<(), ChartError<DB>> {
        let row = heading.group as usize;
        let (Some(group), Some((pool, stream))) =
            (self.state.groups.get(row), self.groups.get(row))
        else {
            return Ok(());
        };
        let (name, facts) = heading_words(pool, stream, &group.sums);
        let room_px = f64::from(layout.room.width_px);
        let name = text::cut_end(&name, |name| {
            text::width_px(name, LETTER_CSS, true, style) <= room_px
        });
        let name_px = text::width_px(&name, LETTER_CSS, true, style);
        // Near what it is the heading of.
        let x = layout.room.x_px;
        let y = layout.room.y_px + (heading.y_px + layout.state.metrics().heading_px) as i32
            - style.px(5.0);
        let pos = Pos::new(HPos::Left, VPos::Bottom);
        let ink = style.text(LETTER_CSS, style.theme.text, pos);
        let bold = TextStyle {
            font: ink.font.style(FontStyle::Bold),
            ..ink
        };
        root.draw(&Text::new(name, (x, y), bold))?;
        let beside = name_px + GAP_CSS * style.pixel_ratio;
        let facts = text::cut_end(&facts, |facts| {
            beside + text::width_px(facts, LETTER_CSS, false, style) <= room_px
        });
        if facts == "…" {
            return Ok(());
        }
        let muted = style.text(LETTER_CSS, style.theme.muted_text, pos);
        root.draw(&Text::new(facts, (x + beside.ceil() as i32, y), muted))
    }

    fn draw_block<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        layout: &Layout,
        (row, segment): (usize, &SegmentState),
        block: &PlacedBlock,
        style: &Style<'_>,
    ) -> Result<(), ChartError<DB>> {
        let theme = style.theme;
        let from = block.address.wrapping_sub(segment.address) as f64;
        let (used, to) = (
            from + block.requested_bytes as f64,
            from + block.bytes as f64,
        );
        let own = block.allocation.map(|id| self.colours.rgb(id.index()));
        let Some(own) = own.filter(|_| block.usage != BlockUse::Free) else {
            return self.draw_part(root, layout, (row, from, to), (theme.grid, None), style);
        };
        let stripes = (block.usage == BlockUse::PendingFree).then_some(theme.pending_free);
        self.draw_part(root, layout, (row, from, used), (own, stripes), style)?;
        let rounding = (theme.grid, Some(theme.rounding));
        self.draw_part(root, layout, (row, used, to), rounding, style)
    }

    /// Draws a part of a segment, by offsets in bytes.
    fn draw_part<DB: DrawingBackend>(
        &self,
        root: &DrawingArea<DB, Shift>,
        layout: &Layout,
        (segment, from, to): (usize, f64, f64),
        (fill, stripes): (Rgb, Option<Rgb>),
        style: &Style<'_>,
    ) -> Result<(), ChartError<DB>> {
        let rows = 0..layout.room.height_px;
        let px = |px: f64| px.round() as i32;
        for [left, top, right, bottom] in
            layout
                .state
                .rectangles_between(self.state, segment, (from, to), rows.clone())
        {
            let (left, right) = (layout.room.x_px + px(left), layout.room.x_px + px(right));
            let (top, bottom) = (layout.room.y_px + px(top), layout.room.y_px + px(bottom));
            if right <= left {
                continue;
            }
            // A line of ground tells neighbours apart.
            let gap = if right - left > 4 { style.px(1.0) } else { 0 };
            let corners = [(left, top), (right - gap, bottom)];
            root.draw(&Rectangle::new(corners, rgb(fill).filled()))?;
            let Some(colour) = stripes else { continue };
            for stripe in stripes_in(corners, style.px(STRIPE_CSS).max(2)) {
                root.draw(&PathElement::new(
                    stripe.to_vec(),
                    style.stroke(colour, 1.5),
                ))?;
            }
        }
        Ok(())
    }
}

/// Diagonal lines within a rectangle, so many px apart.
fn stripes_in([(left, top), (right, bottom)]: [(i32, i32); 2], apart: i32) -> Vec<[(i32, i32); 2]> {
    let (width, height) = (right - left, bottom - top);
    let mut stripes = Vec::new();
    // Along x + y = sum.
    let mut sum = apart;
    while sum < width + height {
        let low = (left + (sum - height).max(0), top + sum.min(height));
        let high = (left + sum.min(width), top + (sum - width).max(0));
        stripes.push([low, high]);
        sum += apart;
    }
    stripes
}
