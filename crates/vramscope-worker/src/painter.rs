//! Draws pictures, and finds things under their pixels and outlines in them.

use vramscope_protocol::{Axis, BandLabelsOf, DrawRequest, Look, Picture, Thing};
use vramscope_view::band_labels::{BandLabels, BandNames, DrawnBands};
use vramscope_view::extent::column_spans;
use vramscope_view::map::{MapHit, MapRaster};
use vramscope_view::raster::{Bands, ColumnSpan, Frame, Hit, Paint, TimelineRaster};
use vramscope_view::restacked::{Restacked, Stacking, pieces_in_pool};
use vramscope_view::theme::Theme;
use vramscope_view::viewport::Viewport;

use super::colours::Colours;
use super::document::{Device, Document};
use super::reserved;

/// Draws pictures. Keeps buffers, colours and the last frame.
#[derive(Default)]
pub(super) struct Painter {
    raster: TimelineRaster,
    map_raster: MapRaster,
    frame: Frame,
    /// The picture in `frame`; `None` while there is none.
    drawn: Option<DrawRequest>,
    pub(super) colours: Colours,
    /// A frame of one pixel, for places in other pictures than the last.
    probe: Frame,
    /// The timeline in the order that the look asks for, if that is not the order of birth.
    restacked: Option<(Look, Option<Restacked>)>,
}

/// The thing under a pixel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Under {
    /// A hit in a stack of bands, whose rows are allocations, or pieces in the segment timeline.
    Band(Hit),
    Map(MapHit),
}

impl Painter {
    /// Draws a picture; `None` if there is no such device.
    pub(super) fn draw(&mut self, document: &Document, draw: &DrawRequest) -> Option<&Frame> {
        let device = document.device(draw.look.device)?;
        self.drawn = None;
        let mut frame = std::mem::take(&mut self.frame);
        self.paint(document, device, draw, &mut frame);
        self.frame = frame;
        self.drawn = Some(draw.clone());
        Some(&self.frame)
    }

    /// The thing at device px (`x_px`, `y_px`) of a picture; `None` if there is no such device.
    pub(super) fn hit(
        &mut self,
        document: &Document,
        draw: &DrawRequest,
        x_px: u32,
        y_px: u32,
    ) -> Option<Under> {
        let device = document.device(draw.look.device)?;
        let view = &draw.viewport;
        if draw.look.picture.is_map() {
            return Some(Under::Map(map_hit(device, draw, (x_px, y_px))));
        }
        self.restack(document, device, &draw.look);
        let test = |restacked: Option<&Restacked>, frame: &Frame, view: &Viewport, x_px, y_px| {
            let bands = stack(device, &draw.look);
            match restacked {
                None => Hit::test(&bands, frame, view, x_px, y_px),
                Some(of) => of.named(Hit::test(&of.bands(bands), frame, view, x_px, y_px)),
            }
        };
        if self.drawn.as_ref() == Some(draw) {
            let hit = test(self.restacked(), &self.frame, view, x_px, y_px);
            return Some(Under::Band(hit));
        }
        // The page still shows another picture, stretched. One pixel of the asked one is drawn on its own.
        let pixel = view.pixel((x_px, y_px));
        let mut probe = std::mem::take(&mut self.probe);
        let draw = DrawRequest {
            look: draw.look.clone(),
            viewport: pixel,
        };
        self.paint(document, device, &draw, &mut probe);
        let hit = test(self.restacked(), &probe, &pixel, 0, 0);
        self.probe = probe;
        Some(Under::Band(hit))
    }

    /// Stacks the timeline as the look asks for, unless it is so already.
    fn restack(&mut self, document: &Document, device: Device<'_>, look: &Look) {
        // The order is the same on both axes, whatever is lit.
        let of = Look {
            axis: Axis::default(),
            lit: None,
            ..look.clone()
        };
        if self
            .restacked
            .as_ref()
            .is_some_and(|(known, _)| *known == of)
        {
            return;
        }
        let restacked = match look.stacking == Stacking::default() {
            true => None,
            false => restacked(&mut self.colours, document, device, look),
        };
        self.restacked = Some((of, restacked));
    }

    /// The timeline as it was stacked last; `None` if that is the order of birth.
    fn restacked(&self) -> Option<&Restacked> {
        self.restacked.as_ref()?.1.as_ref()
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
            return draw_segments(self, device, draw, frame);
        }
        self.restack(document, device, look);
        if let Some((_, Some(of))) = &self.restacked
            && look.picture == Picture::Timeline
        {
            let lit = look.lit.as_ref().and_then(|_| document.lit(device, look));
            let lit = lit.map(|lit| of.rows_of(&lit));
            let paint = paint(&of.colours, lit.as_ref().or(of.matches.as_ref()));
            let bands = of.bands(bands);
            self.raster.draw(&bands, &of.index, viewport, &paint, frame);
            return;
        }
        let matches = document.lit(device, look);
        let colours = &self.colours.of(device, look).colours;
        let paint = paint(colours, matches.as_deref());
        if look.picture.is_map() {
            return draw_map(&mut self.map_raster, device, draw, &paint, frame);
        }
        let index = device.timeline();
        self.raster.draw(&bands, index, viewport, &paint, frame);
    }
}

fn restacked(
    colours: &mut Colours,
    document: &Document,
    device: Device<'_>,
    look: &Look,
) -> Option<Restacked> {
    let found = document.matches(device, look.filter.as_ref());
    let groups = colours.of(device, look);
    let bands = device.bands(Axis::Events);
    Restacked::new(&bands, groups, found.as_deref(), look.stacking)
}

fn draw_segments(painter: &mut Painter, device: Device<'_>, draw: &DrawRequest, frame: &mut Frame) {
    let DrawRequest { look, viewport } = draw;
    let search = look.filter.as_ref();
    let in_pool = search.and_then(|search| pieces_in_pool(device.segments(), &search.text));
    let paint = Paint {
        colours: &painter.colours.of_segments(device, look).colours,
        matches: in_pool.as_ref(),
        theme: &Theme::of(look.theme),
    };
    let bands = stack(device, look);
    painter
        .raster
        .draw(&bands, &device.reserved().index, viewport, &paint, frame);
}

fn draw_map(
    raster: &mut MapRaster,
    device: Device<'_>,
    draw: &DrawRequest,
    paint: &Paint<'_>,
    frame: &mut Frame,
) {
    let bands = device.bands(draw.look.axis);
    let packed;
    let map = match draw.look.picture {
        Picture::Packing => {
            packed = device.packed().unwrap_or_default();
            &packed.map
        }
        _ => device.map(),
    };
    raster.draw(map, &bands, &draw.viewport, paint, frame);
}

fn map_hit(device: Device<'_>, draw: &DrawRequest, at_px: (u32, u32)) -> MapHit {
    let (bands, view) = (device.bands(draw.look.axis), &draw.viewport);
    match draw.look.picture {
        Picture::Packing => {
            let packed = device.packed();
            packed.map_or(MapHit::Outside, |packed| packed.hit(&bands, view, at_px))
        }
        _ => device
            .map()
            .hit(&device.history.allocations, &bands, view, at_px),
    }
}

/// The corners of a thing in a map; none if it is not in it.
fn map_outline(device: Device<'_>, draw: &DrawRequest, thing: Thing) -> Vec<(f64, f64)> {
    let bands = device.bands(draw.look.axis);
    let place = match (draw.look.picture, thing) {
        (Picture::Packing, Thing::Segment(_)) => None,
        (Picture::Packing, Thing::Allocation(id)) => {
            let packed = device.packed().unwrap_or_default();
            packed.place_of(&bands, id.index())
        }
        (_, Thing::Allocation(id)) => {
            let allocations = &device.history.allocations;
            device.map().place_of(allocations, &bands, id.index())
        }
        (_, Thing::Segment(piece)) => device.map().place_of_piece(&bands, piece as usize),
    };
    place.map_or_else(Vec::new, |place| rectangle(&draw.viewport, place))
}

/// The bands of a picture: pieces of segments in the segment timeline, else allocations.
fn stack<'a>(device: Device<'a>, look: &Look) -> Bands<'a> {
    match look.picture {
        Picture::Segments => reserved::bands(device, look.axis),
        Picture::Timeline | Picture::Map | Picture::Packing => device.bands(look.axis),
    }
}

impl Painter {
    /// The texts in the bands of a timeline; `None` if there is no such device.
    pub(super) fn labels(
        &mut self,
        document: &Document,
        asked: &BandLabelsOf,
    ) -> Option<BandLabels> {
        let BandLabelsOf { draw, pixel_ratio } = asked;
        let device = document.device(draw.look.device)?;
        if self.drawn.as_ref() != Some(draw) {
            self.draw(document, draw)?;
        }
        self.restack(document, device, &draw.look);
        let lit = document.lit(device, &draw.look);
        let groups = self.colours.of(device, &draw.look);
        let restacked = self.restacked.as_ref().and_then(|(_, of)| of.as_ref());
        let axis = stack(device, &draw.look);
        let rows = restacked.zip(lit.as_ref()).map(|(of, lit)| of.rows_of(lit));
        let paint = Paint {
            colours: restacked.map_or(&groups.colours, |of| &of.colours),
            matches: rows.as_ref().or(lit.as_deref()),
            theme: &Theme::of(draw.look.theme),
        };
        let drawn = DrawnBands {
            frame: &self.frame,
            view: draw.viewport,
            bands: &restacked.map_or(axis, |of| of.bands(axis)),
            paint: &paint,
        };
        let names = BandNames {
            device: *device,
            restacked,
        };
        Some(BandLabels::of(names, &drawn, *pixel_ratio))
    }

    /// The outline of a thing in a picture, in its device px; empty if it is not in it.
    pub(super) fn outline(
        &mut self,
        document: &Document,
        draw: &DrawRequest,
        thing: Thing,
    ) -> Vec<(f64, f64)> {
        let DrawRequest { look, viewport } = draw;
        let Some(device) = document.device(look.device) else {
            return Vec::new();
        };
        self.restack(document, device, look);
        let (Some(of), Thing::Allocation(id)) = (self.restacked(), thing) else {
            return outline(device, draw, thing);
        };
        let bands = of.bands(stack(device, look));
        let rows = of.row_of(id.index()).map_or(0..0, |row| row..row + 1);
        ColumnSpan::outline(&column_spans(&bands, &of.index, viewport, rows))
    }
}

/// The outline of a thing in a picture that is stacked in the order of birth.
fn outline(device: Device<'_>, draw: &DrawRequest, thing: Thing) -> Vec<(f64, f64)> {
    let DrawRequest { look, viewport } = draw;
    let bands = stack(device, look);
    let rows = match (look.picture, thing) {
        (Picture::Timeline, Thing::Allocation(id)) => id.index()..id.index() + 1,
        (Picture::Timeline, Thing::Segment(_)) => 0..0,
        // This picture has no allocations: the segment around it is outlined instead.
        (Picture::Segments, Thing::Allocation(id)) => reserved::rows_around(device, id.index()),
        (Picture::Segments, Thing::Segment(piece)) => {
            let segments = device.segments();
            let is_known = (piece as usize) < segments.len();
            is_known.then(|| segments.segment_of(piece as usize).rows())
        }
        .unwrap_or(0..0),
        (Picture::Map | Picture::Packing, thing) => return map_outline(device, draw, thing),
    };
    let index = match look.picture {
        Picture::Segments => &device.reserved().index,
        Picture::Timeline | Picture::Map | Picture::Packing => device.timeline(),
    };
    ColumnSpan::outline(&column_spans(&bands, index, viewport, rows))
}

/// The corners of a rectangle in device px, at least a pixel wide and high so that it is seen.
fn rectangle(view: &Viewport, (x, y): ((f64, f64), (f64, f64))) -> Vec<(f64, f64)> {
    let (left, top) = (view.x_px(x.0), view.y_px(y.1));
    let right = view.x_px(x.1).max(left + 1.0);
    let bottom = view.y_px(y.0).max(top + 1.0);
    vec![(left, top), (right, top), (right, bottom), (left, bottom)]
}
