//! Pictures: which are drawn, what is under a pixel, where a band runs.

use std::ops::Range;

use vramscope_core::ids::AllocationId;
use vramscope_view::map::{MapHit, MapRaster};
use vramscope_view::raster::{
    Bands, ColumnSpan, Frame, Hit, NONE, Paint, TimelineIndex, TimelineRaster,
};
use vramscope_view::theme::Theme;
use vramscope_view::viewport::{Bounds, Viewport};

use super::colours::Colours;
use super::document::{Device, Document};
use super::reserved;
use crate::protocol::{Axis, DrawRequest, EventPlace, Look, Picture, Thing};

/// Columns by which a band's lowest and highest edges are found.
const FIT_COLUMNS: u32 = 1_024;

/// Draws; keeps buffers, colours and the last frame.
#[derive(Default)]
pub(super) struct Painter {
    raster: TimelineRaster,
    map_raster: MapRaster,
    frame: Frame,
    /// What `frame` shows.
    drawn: Option<DrawRequest>,
    pub(super) colours: Colours,
    /// One pixel, for places that the last frame does not show.
    probe: Frame,
}

/// What is under a pixel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Under {
    /// Of a stack of bands: a row is an allocation, or a piece in the segment timeline.
    Band(Hit),
    Map(MapHit),
}

impl Painter {
    /// Draws a picture.
    pub(super) fn draw(&mut self, document: &Document, draw: &DrawRequest) -> Option<&Frame> {
        let device = document.device(draw.look.device)?;
        self.drawn = None;
        let mut frame = std::mem::take(&mut self.frame);
        self.paint(document, device, draw, &mut frame);
        self.frame = frame;
        self.drawn = Some(draw.clone());
        Some(&self.frame)
    }

    /// What is at device px (`x_px`, `y_px`) of a picture.
    pub(super) fn hit(
        &mut self,
        document: &Document,
        draw: &DrawRequest,
        x_px: u32,
        y_px: u32,
    ) -> Option<Under> {
        let device = document.device(draw.look.device)?;
        let view = &draw.viewport;
        if draw.look.picture == Picture::Map {
            let (map, bands) = (device.map(), device.bands(draw.look.axis));
            let hit = map.hit(&device.history.allocations, &bands, view, (x_px, y_px));
            return Some(Under::Map(hit));
        }
        if draw.look.picture == Picture::Packing {
            let packed = device.packed();
            let hit = packed.map_or(MapHit::Outside, |packed| {
                packed.hit(&device.bands(draw.look.axis), view, (x_px, y_px))
            });
            return Some(Under::Map(hit));
        }
        let bands = stack(device, &draw.look);
        if self.drawn.as_ref() == Some(draw) {
            let hit = Hit::test(&bands, &self.frame, view, x_px, y_px);
            return Some(Under::Band(hit));
        }
        // The page shows a stretched picture: draw the one pixel as it will be.
        let pixel = Viewport {
            x_min: view.x_at(f64::from(x_px)),
            x_max: view.x_at(f64::from(x_px) + 1.0),
            y_min_bytes: view.bytes_at(f64::from(y_px) + 1.0),
            y_max_bytes: view.bytes_at(f64::from(y_px)),
            width_px: 1,
            height_px: 1,
        };
        let mut probe = std::mem::take(&mut self.probe);
        let draw = DrawRequest {
            look: draw.look.clone(),
            viewport: pixel,
        };
        self.paint(document, device, &draw, &mut probe);
        let hit = Hit::test(&bands, &probe, &pixel, 0, 0);
        self.probe = probe;
        Some(Under::Band(hit))
    }

    fn paint(
        &mut self,
        document: &Document,
        device: Device<'_>,
        draw: &DrawRequest,
        frame: &mut Frame,
    ) {
        let DrawRequest { look, viewport } = draw;
        let bands = stack(device, look);
        let theme = Theme::of(look.theme);
        let paint = |colours, matches| Paint {
            colours,
            matches,
            theme: &theme,
        };
        if look.picture == Picture::Segments {
            let colours = &self.colours.of_segments(device, look).colours;
            let index = &device.reserved().index;
            self.raster
                .draw(&bands, index, viewport, &paint(colours, None), frame);
            return;
        }
        let matches = document.matches(device, look.filter.as_ref());
        let colours = &self.colours.of(device, look).colours;
        let paint = paint(colours, matches.as_deref());
        let packed;
        let map = match look.picture {
            Picture::Map => device.map(),
            Picture::Packing => {
                packed = device.packed().unwrap_or_default();
                &packed.map
            }
            Picture::Timeline | Picture::Segments => {
                let index = device.timeline();
                return self.raster.draw(&bands, index, viewport, &paint, frame);
            }
        };
        self.map_raster.draw(map, &bands, viewport, &paint, frame);
    }
}

/// The columns of a picture: pieces of segments in the segment timeline, else allocations.
fn stack<'a>(device: Device<'a>, look: &Look) -> Bands<'a> {
    match look.picture {
        Picture::Segments => reserved::bands(device, look.axis),
        Picture::Timeline | Picture::Map | Picture::Packing => device.bands(look.axis),
    }
}

/// The outline of a thing in a picture, in its device px; empty if it is not in it.
pub(super) fn outline(device: Device<'_>, draw: &DrawRequest, thing: Thing) -> Vec<(f64, f64)> {
    let DrawRequest { look, viewport } = draw;
    let bands = stack(device, look);
    let rows = match (look.picture, thing) {
        (Picture::Timeline, Thing::Allocation(id)) => id.index()..id.index() + 1,
        (Picture::Timeline, Thing::Segment(_)) => 0..0,
        // An allocation is outlined by the segment that it lives in.
        (Picture::Segments, Thing::Allocation(id)) => reserved::rows_around(device, id.index()),
        (Picture::Segments, Thing::Segment(piece)) => {
            let segments = device.segments();
            let is_known = (piece as usize) < segments.len();
            is_known.then(|| segments.segment_of(piece as usize).rows())
        }
        .unwrap_or(0..0),
        (Picture::Map, thing) => {
            let map = device.map();
            let place = match thing {
                Thing::Allocation(id) => {
                    map.place_of(&device.history.allocations, &bands, id.index())
                }
                Thing::Segment(piece) => map.place_of_piece(&bands, piece as usize),
            };
            return place.map_or_else(Vec::new, |place| rectangle(viewport, place));
        }
        (Picture::Packing, Thing::Segment(_)) => 0..0,
        (Picture::Packing, Thing::Allocation(id)) => {
            let packed = device.packed().unwrap_or_default();
            let place = packed.place_of(&bands, id.index());
            return place.map_or_else(Vec::new, |place| rectangle(viewport, place));
        }
    };
    let index = match look.picture {
        Picture::Segments => &device.reserved().index,
        Picture::Timeline | Picture::Map | Picture::Packing => device.timeline(),
    };
    ColumnSpan::outline(&spans(&bands, index, viewport, rows))
}

/// A rectangle's corners in device px, at least a pixel wide and high.
fn rectangle(view: &Viewport, (x, y): ((f64, f64), (f64, f64))) -> Vec<(f64, f64)> {
    let (left, top) = (view.x_px(x.0), view.y_px(y.1));
    let right = view.x_px(x.1).max(left + 1.0);
    let bottom = view.y_px(y.0).max(top + 1.0);
    vec![(left, top), (right, top), (right, bottom), (left, bottom)]
}

/// Where an allocation lies in the whole of the timeline and of the map.
pub(super) fn place(device: Device<'_>, allocation: AllocationId) -> EventPlace {
    let table = &device.history.allocations;
    let row = allocation.index();
    let moments = device.history.active_bytes.len() as u32;
    let (born, died) = (table.born[row], table.died[row].min(moments));
    let bands = device.bands(Axis::Events);
    let times = device.bands(Axis::Time);
    let x = |moment: u32| times.moment_x(moment as usize);
    EventPlace {
        moments: (born, died),
        time_us: device.has_times().then(|| (x(born), x(died))),
        edges_bytes: edges(&bands, device.timeline(), row..row + 1, (born, died)),
        map_bytes: device
            .map_lanes()
            .span(table.address[row], table.bytes[row]),
    }
}

/// The lowest and the highest edge of neighbouring rows over their life.
pub(super) fn edges(
    bands: &Bands<'_>,
    index: &TimelineIndex,
    rows: Range<usize>,
    (born, died): (u32, u32),
) -> (f64, f64) {
    let died = died.min(bands.moments() as u32);
    let bands = Bands {
        moment_start_us: None,
        ..*bands
    };
    let life = Viewport {
        x_min: f64::from(born),
        x_max: f64::from(died.max(born + 1)),
        y_min_bytes: 0.0,
        y_max_bytes: Bounds::new(1.0, index.peak_bytes()).y_end_bytes,
        width_px: FIT_COLUMNS.min(died.saturating_sub(born)).max(1),
        height_px: 1,
    };
    let spans = spans(&bands, index, &life, rows);
    let lowest = spans
        .iter()
        .map(|span| life.bytes_at(span.bottom_px))
        .fold(f64::INFINITY, f64::min);
    let highest = spans
        .iter()
        .map(|span| life.bytes_at(span.top_px))
        .fold(0.0, f64::max);
    (lowest.min(highest), highest)
}

fn spans(
    bands: &Bands<'_>,
    index: &TimelineIndex,
    viewport: &Viewport,
    rows: Range<usize>,
) -> Vec<ColumnSpan> {
    let moment = |x_px: u32| {
        let (from, to) = (
            viewport.x_at(f64::from(x_px)),
            viewport.x_at(f64::from(x_px + 1)),
        );
        bands
            .moments_in(from, to)
            .map_or(NONE, |moments| index.highest_in(bands, moments))
    };
    let moments: Vec<_> = (0..viewport.width_px).map(moment).collect();
    ColumnSpan::of_rows(bands, &moments, viewport, rows)
}
