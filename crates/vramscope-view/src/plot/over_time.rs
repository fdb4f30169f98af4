//! Memory over time: the timeline, the segment timeline and the map, with header and lines.

use vramscope_core::analysis::time::markers::MarkerKind;

use super::{Content, Pixels};
use crate::axes::XUnit;
use crate::band_labels::{BandLabels, BandNames, DrawnBands};
use crate::bitset::BitSet;
use crate::chart::{draw_axes, draw_x_axis, draw_y_axis};
use crate::colour::ColourColumn;
use crate::decorations::{Decorations, Sources};
use crate::header::Header;
use crate::lines::{FAILURE_CSS, Lines};
use crate::map::{GroupMark, LaneMark, MapLabel, MapLabels, MapRaster, MemoryMap};
use crate::marks::track;
use crate::raster::{Bands, Frame, Paint, TimelineIndex, TimelineRaster};
use crate::scene::{Across, Area, Down, Ink, Scene, Style};
use crate::shortened::cut_end;
use crate::viewport::{Bounds, Viewport};

/// Width of the labels of bytes or addresses, css px.
const LEFT_CSS: f64 = 62.0;
/// Height of the labels of events or time, css px.
const BELOW_CSS: f64 = 24.0;
/// Gap between header and picture, css px.
const GAP_CSS: f64 = 2.0;
/// Font size, css px.
const LETTER_CSS: f64 = 11.0;

/// Lanes are folded if the header would exceed this share of the height.
const MOST_OF_HEIGHT: f64 = 0.3;

/// The kind of picture.
#[derive(Clone, Copy, Debug)]
pub enum Stack<'a> {
    /// Stacked bands: allocations or parts of segments, with their index.
    Bands(&'a TimelineIndex),
    /// The memory map.
    Map {
        /// The map.
        map: &'a MemoryMap,
        /// Data for the labels of lanes.
        lanes: &'a [LaneMark],
        /// Data for the labels of pools and streams.
        groups: &'a [GroupMark],
    },
}

/// A picture of memory over time.
#[derive(Clone)]
pub struct OverTime<'a> {
    /// The kind of picture.
    pub stack: Stack<'a>,
    /// The bands; for the map, the timeline's. The x axis is time if they have times, events
    /// otherwise.
    pub bands: &'a Bands<'a>,
    /// Colour of each allocation or part of a segment.
    pub colours: &'a ColourColumn,
    /// Rows that match the filter; the others are dimmed. `None` if all match.
    pub matches: Option<&'a BitSet>,
    /// Names written into the bands; `None` for none.
    pub names: Option<BandNames<'a>>,
    /// Visible range of the x axis, in its unit; `None` for all of it.
    pub x: Option<(f64, f64)>,
    /// Visible range of the y axis, bytes; `None` for all of it.
    pub y_bytes: Option<(f64, f64)>,
    /// Sources of the header and the lines; `None` for neither.
    pub around: Option<Sources<'a>>,
    /// The device's capacity; `None` if it is not drawn.
    pub capacity_bytes: Option<u64>,
    /// Whether lanes are folded although they have room.
    pub is_folded: bool,
}

/// The positions of the parts, and the contents of header and lines.
#[derive(Clone, Debug)]
pub struct Layout {
    area: Area,
    viewport: Viewport,
    header: Header,
    header_top_px: i32,
    decorations: Decorations,
}

impl OverTime<'_> {
    fn unit(&self) -> XUnit {
        if self.bands.moment_start_us.is_some() {
            XUnit::Time
        } else {
            XUnit::Events
        }
    }

    fn viewport(&self, area: &Area) -> Viewport {
        let mut bounds = match self.stack {
            Stack::Bands(index) => Bounds::new(self.bands.x_end(), index.peak_bytes()),
            // A map needs no margin above, because lanes use the full height.
            Stack::Map { map, .. } => Bounds::new(self.bands.x_end(), map.lanes.y_end() as u64),
        };
        let held = self.around.map(|around| around.most_held_bytes());
        if let Some(top) = held.into_iter().chain(self.capacity_bytes).max() {
            let grown = Bounds::new(bounds.x_end, top).y_end_bytes;
            bounds.y_end_bytes = bounds.y_end_bytes.max(grown);
        }
        let whole = Viewport::fit_all(&bounds, area.width_px, area.height_px);
        let x = self.x.unwrap_or((whole.x_min, whole.x_max));
        let y = self
            .y_bytes
            .unwrap_or((whole.y_min_bytes, whole.y_max_bytes));
        whole.fit_box(x, y, &bounds)
    }

    fn header(&self, height_css: f64) -> Header {
        let Some(around) = self.around else {
            return Header::default();
        };
        let lanes = around.device.lanes().lanes.iter();
        let rows: Vec<usize> = lanes.map(|lane| lane.rows.len()).collect();
        let has = |on: usize| {
            let mut kinds = MarkerKind::ALL.into_iter();
            kinds.any(|kind| track(kind) == on && !around.device.markers().column(kind).is_empty())
        };
        header_layout(&rows, self.is_folded, [has(0), has(1)], height_css)
    }
}

impl Content for OverTime<'_> {
    type Layout = Layout;

    fn layout(&self, room: &Area, style: &Style<'_>, _is_vector: bool) -> Layout {
        let header = self.header(f64::from(room.height_px) / style.pixel_ratio);
        let above = match header.height_css {
            0.0 => 0,
            height => style.px(height + GAP_CSS),
        };
        let has_failures = self.around.is_some_and(|around| {
            let failures = around.device.markers().column(MarkerKind::Oom);
            !failures.is_empty()
        });
        let above = above
            + if has_failures {
                style.px(FAILURE_CSS)
            } else {
                0
            };
        let left = style.px(LEFT_CSS);
        let size = |px: u32, taken: i32| px.saturating_sub(taken.max(0) as u32).max(1);
        let area = Area {
            x_px: room.x_px + left,
            y_px: room.y_px + above,
            width_px: size(room.width_px, left),
            height_px: size(room.height_px, above + style.px(BELOW_CSS)),
        };
        let viewport = self.viewport(&area);
        let decorations = self
            .around
            .map(|around| Decorations::of(around, &viewport, style.pixel_ratio));
        Layout {
            area,
            viewport,
            header,
            header_top_px: room.y_px,
            decorations: decorations.unwrap_or_default(),
        }
    }

    fn pixels(&self, layout: &Layout, style: &Style<'_>) -> Option<Pixels> {
        let paint = Paint {
            colours: self.colours,
            matches: self.matches,
            theme: style.theme,
        };
        let mut frame = Frame::default();
        let (bands, view) = (self.bands, &layout.viewport);
        match self.stack {
            Stack::Bands(index) => {
                TimelineRaster::new().draw(bands, index, view, &paint, &mut frame);
            }
            Stack::Map { map, .. } => MapRaster::new().draw(map, bands, view, &paint, &mut frame),
        }
        let mut labels = Scene::default();
        if let Some(names) = self.names {
            let drawn = DrawnBands {
                frame: &frame,
                view: *view,
                bands,
                paint: &paint,
            };
            BandLabels::of(names, &drawn, style.pixel_ratio).draw(
                &mut labels,
                &layout.area,
                view,
                style,
            );
        }
        Some(Pixels {
            area: layout.area,
            rgba: frame.rgba,
            labels,
        })
    }

    fn draw_below(&self, scene: &mut Scene, layout: &Layout, style: &Style<'_>) {
        let Layout {
            area,
            viewport,
            header,
            decorations,
            ..
        } = layout;
        // A file with only a final state has no order of events.
        let has_x_axis = self.bands.total_bytes.moments() > 2;
        match self.stack {
            Stack::Bands(_) if !has_x_axis => draw_y_axis(scene, area, viewport, style),
            Stack::Bands(_) => draw_axes(scene, area, viewport, self.unit(), style),
            Stack::Map { lanes, groups, .. } => {
                if has_x_axis {
                    draw_x_axis(scene, area, viewport, self.unit(), style);
                }
                let labels = labels(lanes, groups, layout, style);
                draw_lane_labels(scene, area, &labels.lanes, style);
            }
        }
        let above = Area {
            y_px: layout.header_top_px,
            height_px: style.px(header.height_css).max(0) as u32,
            ..*area
        };
        header.draw(scene, &above, decorations, viewport, None, style);
    }

    fn draw_above(&self, scene: &mut Scene, layout: &Layout, style: &Style<'_>) {
        if let Stack::Map { lanes, groups, .. } = self.stack {
            let labels = labels(lanes, groups, layout, style);
            draw_group_labels(scene, &layout.area, &labels.groups, style);
        }
        let lines = Lines {
            decorations: Some(&layout.decorations),
            capacity_bytes: self.capacity_bytes,
            rulers: &[],
            view: layout.viewport,
            unit: self.unit(),
            has_failures: true,
        };
        lines.draw(scene, &layout.area, style);
    }
}

/// The layout of the header: folded if it would otherwise be too high, empty if it is too high even then.
fn header_layout(
    rows_of_lanes: &[usize],
    is_folded: bool,
    tracks: [bool; 2],
    height_css: f64,
) -> Header {
    let fits = |header: &Header| header.height_css <= height_css * MOST_OF_HEIGHT;
    let layouts = [is_folded, true].map(|is_folded| Header::new(rows_of_lanes, is_folded, tracks));
    layouts.into_iter().find(fits).unwrap_or_default()
}

/// Labels are laid out in css px, as on the page.
fn labels(
    lanes: &[LaneMark],
    groups: &[GroupMark],
    layout: &Layout,
    style: &Style<'_>,
) -> MapLabels {
    let height_css = f64::from(layout.area.height_px) / style.pixel_ratio;
    let view = layout
        .viewport
        .resized(1, (height_css.round() as u32).max(1));
    MapLabels::of(lanes, groups, &view)
}

fn draw_lane_labels(scene: &mut Scene, area: &Area, labels: &[MapLabel], style: &Style<'_>) {
    let muted = style.theme.muted_text;
    let letters = style.letters(LETTER_CSS, muted, (Across::Right, Down::Middle));
    for label in labels {
        let (x, y) = (area.x_px - style.px(6.0), area.y_px + style.px(label.y_px));
        scene.text((f64::from(x), f64::from(y)), label.text.as_str(), letters);
    }
}

/// Names of pools and streams over the picture, on a background that makes them legible.
fn draw_group_labels(scene: &mut Scene, area: &Area, labels: &[MapLabel], style: &Style<'_>) {
    let letters = style.letters(LETTER_CSS, style.theme.text, (Across::Left, Down::Middle));
    let (pad, line) = (style.px(4.0), style.px(15.0));
    let room_px = f64::from(area.width_px) - f64::from(4 * pad);
    for label in labels {
        let name = cut_end(&label.text, |name| {
            style.width_px(name, LETTER_CSS, false) <= room_px
        });
        let width = style.width_px(&name, LETTER_CSS, false).ceil() as i32;
        let (x, y) = (
            area.x_px + pad,
            area.y_px + style.px(label.y_px) + style.px(2.0),
        );
        let point = |x: i32, y: i32| (f64::from(x), f64::from(y));
        let paper = Ink::faint(style.theme.background, 0.8);
        scene.rect(point(x, y), point(x + width + 2 * pad, y + line), paper);
        scene.text(point(x + pad, y + line / 2), name, letters);
    }
}
