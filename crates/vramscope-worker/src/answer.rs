//! Answers about pictures over the x axis: the thing under a pixel, outlines, the curves of the strip.

use vramscope_core::ids::AllocationId;
use vramscope_protocol::{
    Composition, Curve, DrawRequest, Hit, HitOf, HitOn, MinimapOf, OutlineColumns, OutlineOf,
    Picture, ReservedOf, Thing,
};
use vramscope_view::map::MapHit;
use vramscope_view::minimap::Minimap;
use vramscope_view::oom_marks::oom_marks;
use vramscope_view::raster;
use vramscope_view::reserved::curve;

use super::describe;
use super::document::{Device, Document};
use super::painter::{Painter, Under};
use super::reserved;

/// The most call sites listed for allocations that share a pixel.
const HIT_CALL_SITES: usize = 3;

/// The most columns of a minimap: wider than any screen.
const MOST_COLUMNS: u32 = 16_384;

pub(super) fn outline(
    document: &Document,
    painter: &mut Painter,
    asked: &OutlineOf,
) -> Option<OutlineColumns> {
    let OutlineOf { draw, thing } = asked;
    let device = document.device(draw.look.device)?;
    let is_known = match *thing {
        Thing::Allocation(allocation) => device.has(allocation),
        Thing::Segment(piece) => (piece as usize) < device.segments().len(),
    };
    let points_px = is_known.then(|| painter.outline(document, draw, *thing))?;
    Some(OutlineColumns {
        draw: draw.clone(),
        thing: *thing,
        points_px,
    })
}

pub(super) fn hit(document: &Document, painter: &mut Painter, asked: &HitOf) -> Option<Hit> {
    let HitOf { draw, at_px } = asked;
    let (x_px, y_px) = *at_px;
    let device = document.device(draw.look.device)?;
    let is_inside = x_px >= 0.0 && y_px >= 0.0;
    let under = if is_inside {
        painter.hit(document, draw, x_px as u32, y_px as u32)?
    } else {
        Under::Band(raster::Hit::Outside)
    };
    let (moment, on) = match under {
        Under::Band(hit) => on_band(document, device, draw, hit),
        Under::Map(hit) => on_map(document, device, draw, hit),
    };
    Some(Hit {
        draw: draw.clone(),
        at_px: *at_px,
        moment: moment.map(|moment| describe::moment(device, draw.look.axis, moment)),
        on,
    })
}

fn on_band(
    document: &Document,
    device: Device<'_>,
    draw: &DrawRequest,
    hit: raster::Hit,
) -> (Option<u32>, HitOn) {
    let is_segment = draw.look.picture == Picture::Segments;
    match hit {
        raster::Hit::Outside => (None, HitOn::Nothing),
        raster::Hit::Free { moment } => (Some(moment), HitOn::Nothing),
        raster::Hit::Allocation { moment, row } if is_segment => {
            (Some(moment), segment(document, device, draw, row, moment))
        }
        raster::Hit::Allocation { moment, row } => (Some(moment), one(document, device, row)),
        raster::Hit::Several {
            moment,
            composition,
        } if is_segment => {
            // Segments that share a pixel are too thin to be told apart. The largest stands for all.
            let bytes = &device.segments().bytes;
            let pieces = composition.allocations.iter().copied();
            let largest = pieces.max_by_key(|&piece| bytes.get(piece as usize));
            let on = largest.map_or(HitOn::Nothing, |piece| {
                segment(document, device, draw, piece, moment)
            });
            (Some(moment), on)
        }
        raster::Hit::Several {
            moment,
            composition,
        } => {
            let several = several(device, &composition.allocations);
            (Some(moment), HitOn::Several(several))
        }
    }
}

fn on_map(
    document: &Document,
    device: Device<'_>,
    draw: &DrawRequest,
    hit: MapHit,
) -> (Option<u32>, HitOn) {
    match hit {
        MapHit::Outside => (None, HitOn::Nothing),
        MapHit::Between { moment } => (Some(moment), HitOn::Nothing),
        // A packing has neither addresses nor segments.
        MapHit::Unmapped { moment, .. } | MapHit::Free { moment, .. }
            if draw.look.picture == Picture::Packing =>
        {
            (Some(moment), HitOn::Nothing)
        }
        MapHit::Unmapped {
            moment, address, ..
        } => (Some(moment), HitOn::Unmapped { address }),
        MapHit::Free { moment, range, .. } => {
            let segment = reserved::preview(document, device, draw, range.piece, moment);
            let on = segment.map_or(HitOn::Nothing, |segment| HitOn::Free {
                address: range.address,
                bytes: range.bytes,
                segment: Box::new(segment),
            });
            (Some(moment), on)
        }
        MapHit::Allocation { moment, row, .. } => (Some(moment), one(document, device, row)),
        MapHit::Several {
            moment,
            composition,
            ..
        } => {
            let several = several(device, &composition.allocations);
            (Some(moment), HitOn::Several(several))
        }
    }
}

fn one(document: &Document, device: Device<'_>, row: u32) -> HitOn {
    describe::preview(document, device, AllocationId(row))
        .map_or(HitOn::Nothing, |preview| HitOn::One(Box::new(preview)))
}

fn segment(
    document: &Document,
    device: Device<'_>,
    draw: &DrawRequest,
    piece: u32,
    moment: u32,
) -> HitOn {
    let preview = reserved::preview(document, device, draw, piece, moment);
    preview.map_or(HitOn::Nothing, |preview| HitOn::Segment(Box::new(preview)))
}

fn several(device: Device<'_>, rows: &[u32]) -> Composition {
    let ids = rows.iter().map(|&row| AllocationId(row));
    describe::composition(device, ids, HIT_CALL_SITES)
}

pub(super) fn reserved(document: &Document, asked: &ReservedOf) -> Option<Curve> {
    let device = document.device(asked.device)?;
    let (steps, bands) = (&device.history.reserved_steps, device.bands(asked.axis));
    Some(curve(steps, &bands, &asked.viewport))
}

pub(super) fn minimap(
    document: &Document,
    asked: &MinimapOf,
) -> Option<vramscope_protocol::Minimap> {
    let (device, axis) = (document.device(asked.device)?, asked.axis);
    let (bands, index) = (device.bands(axis), device.timeline());
    let steps = if device.knows_segments() {
        &device.history.reserved_steps[..]
    } else {
        &[]
    };
    let columns = asked.columns.clamp(1, MOST_COLUMNS);
    Some(vramscope_protocol::Minimap {
        x: (0.0, bands.x_end()),
        curves: Minimap::new(&bands, index, steps, columns),
        ooms: oom_marks(*device, &bands, columns),
        peak_x: bands.moment_x(device.history.peak_moment as usize),
    })
}
