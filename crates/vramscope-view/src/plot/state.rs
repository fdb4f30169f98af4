//! The allocator's segments and blocks at one moment.

use vramscope_core::analysis::memory::allocator_state::{
    AllocatorState, BlockUse, PlacedBlock, SegmentState,
};

use super::{Content, Pixels};
use crate::allocator_picture::{
    Heading, Metrics, StateLayout, StatePicture, StateRaster, heading_words,
};
use crate::bitset::BitSet;
use crate::colour::{ColourColumn, Rgb};
use crate::raster::Paint;
use crate::scene::{Across, Area, Down, Point, Scene, Style};
use crate::shortened::cut_end;

/// Font size, css px.
const LETTER_CSS: f64 = 12.0;
/// Gap between the two parts of a heading, css px.
const GAP_CSS: f64 = 10.0;
/// If there are more blocks, an SVG contains them as pixels.
const MOST_SHAPES: usize = 2_000;
/// If a block is narrower than this, in device px, an SVG contains pixels, because shapes would hide each other.
const LEAST_SHAPE_PX: f64 = 2.0;
/// Distance between stripes of pending frees and rounding, css px.
const STRIPE_CSS: f64 = 5.0;
/// Width of a stripe, css px.
const STRIPE_WIDTH_CSS: f64 = 1.5;

/// The allocator's state at one moment.
#[derive(Clone, Debug)]
pub struct StatePlot<'a> {
    /// The state at the moment.
    pub state: &'a AllocatorState,
    /// The moment with the most reserved memory. Its scale is used, so that pictures of several
    /// moments can be compared.
    pub fullest: &'a AllocatorState,
    /// Colour of each allocation.
    pub colours: &'a ColourColumn,
    /// Allocations that match the filter; the others are dimmed. `None` if all match.
    pub matches: Option<&'a BitSet>,
    /// Per group of the state, its pool (empty if unknown) and its stream.
    pub groups: &'a [(String, String)],
}

/// The positions of the parts.
#[derive(Clone, Debug)]
pub struct Layout {
    room: Area,
    state: StateLayout,
    /// Whether blocks are drawn as shapes.
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
        // A state with fewer bytes may still have more segments.
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
            matches: self.matches,
            theme: style.theme,
        };
        let mut picture = StatePicture::default();
        let rows = 0..layout.room.height_px;
        StateRaster::new().draw(self.state, &layout.state, rows, &paint, &mut picture);
        Some(Pixels {
            area: layout.room,
            rgba: picture.rgba,
            labels: Scene::default(),
        })
    }

    fn draw_below(&self, scene: &mut Scene, layout: &Layout, style: &Style<'_>) {
        let least = layout.state.metrics().heading_px + layout.state.metrics().line_px;
        for heading in &layout.state.headings {
            if heading.y_px + least <= layout.room.height_px {
                self.draw_heading(scene, layout, heading, style);
            }
        }
        if layout.is_vector {
            for (row, segment) in self.state.segments.iter().enumerate() {
                for block in &segment.blocks {
                    self.draw_block(scene, layout, (row, segment), block, style);
                }
            }
        }
    }

    fn height_px(&self, width_px: u32, usual_px: u32, style: &Style<'_>) -> u32 {
        let metrics = Metrics::of_screen(width_px, style.pixel_ratio);
        // The headings and one line for each, which do not shrink with the scale.
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

    fn draw_heading(
        &self,
        scene: &mut Scene,
        layout: &Layout,
        heading: &Heading,
        style: &Style<'_>,
    ) {
        let row = heading.group as usize;
        let (Some(group), Some((pool, stream))) =
            (self.state.groups.get(row), self.groups.get(row))
        else {
            return;
        };
        let (name, facts) = heading_words(pool, stream, &group.sums);
        let room_px = f64::from(layout.room.width_px);
        let name = cut_end(&name, |name| {
            style.width_px(name, LETTER_CSS, true) <= room_px
        });
        let name_px = style.width_px(&name, LETTER_CSS, true);
        // Close to the segments below.
        let x = layout.room.x_px;
        let y = layout.room.y_px + (heading.y_px + layout.state.metrics().heading_px) as i32
            - style.px(5.0);
        let letters = style.letters(LETTER_CSS, style.theme.text, (Across::Left, Down::Bottom));
        scene.text((f64::from(x), f64::from(y)), name, letters.bold());
        let beside = name_px + GAP_CSS * style.pixel_ratio;
        let facts = cut_end(&facts, |facts| {
            beside + style.width_px(facts, LETTER_CSS, false) <= room_px
        });
        if facts == "…" {
            return;
        }
        let muted = style.theme.muted_text;
        let letters = style.letters(LETTER_CSS, muted, (Across::Left, Down::Bottom));
        scene.text((f64::from(x) + beside.ceil(), f64::from(y)), facts, letters);
    }

    fn draw_block(
        &self,
        scene: &mut Scene,
        layout: &Layout,
        (row, segment): (usize, &SegmentState),
        block: &PlacedBlock,
        style: &Style<'_>,
    ) {
        let theme = style.theme;
        let from = block.address.wrapping_sub(segment.address) as f64;
        let (used, to) = (
            from + block.requested_bytes as f64,
            from + block.bytes as f64,
        );
        let used_by = block.allocation.filter(|_| block.usage != BlockUse::Free);
        let Some(id) = used_by else {
            return self.draw_part(scene, layout, (row, from, to), (theme.grid, None), style);
        };
        let is_lit = self
            .matches
            .is_none_or(|matches| matches.contains(id.index()));
        let shade = |rgb: Rgb| if is_lit { rgb } else { theme.dim(rgb) };
        let own = shade(self.colours.rgb(id.index()));
        let stripes = (block.usage == BlockUse::PendingFree).then(|| shade(theme.pending_free));
        self.draw_part(scene, layout, (row, from, used), (own, stripes), style);
        let rounding = (theme.grid, Some(shade(theme.rounding)));
        self.draw_part(scene, layout, (row, used, to), rounding, style);
    }

    /// Draws a part of a segment, given by offsets in bytes.
    fn draw_part(
        &self,
        scene: &mut Scene,
        layout: &Layout,
        (segment, from, to): (usize, f64, f64),
        (fill, stripes): (Rgb, Option<Rgb>),
        style: &Style<'_>,
    ) {
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
            // A gap separates neighbours.
            let gap = if right - left > 4 { style.px(1.0) } else { 0 };
            let corners = [(left, top), (right - gap, bottom)];
            let [from, to] = corners.map(point);
            scene.rect(from, to, fill);
            let Some(colour) = stripes else { continue };
            for stripe in stripes_in(corners, style.px(STRIPE_CSS).max(2)) {
                let width_px = f64::from(style.px(STRIPE_WIDTH_CSS).max(1));
                scene.line(stripe.map(point).to_vec(), width_px, colour);
            }
        }
    }
}

fn point((x, y): (i32, i32)) -> Point {
    (f64::from(x), f64::from(y))
}

/// Diagonal lines within a rectangle, `apart` px from each other.
fn stripes_in([(left, top), (right, bottom)]: [(i32, i32); 2], apart: i32) -> Vec<[(i32, i32); 2]> {
    let (width, height) = (right - left, bottom - top);
    let mut stripes = Vec::new();
    // Each line follows x + y = sum.
    let mut sum = apart;
    while sum < width + height {
        let low = (left + (sum - height).max(0), top + sum.min(height));
        let high = (left + sum.min(width), top + (sum - width).max(0));
        stripes.push([low, high]);
        sum += apart;
    }
    stripes
}
