//! Questions and their answers.

use vramscope_core::analysis::live_at::live_at;
use vramscope_core::ids::AllocationId;
use vramscope_view::minimap::Minimap;
use vramscope_view::raster;

use super::describe;
use super::document::{Device, Document};
use super::opened::oom_moments;
use super::painter::{self, Painter};
use super::range::range_facts;
use crate::protocol::{
    Axis, Composition, DrawRequest, Hit, HitOn, OutlineColumns, OutlineSlot, Overview, Reply,
    Request, RequestId,
};

/// Call sites listed for what is thinner than a pixel.
const HIT_CALL_SITES: usize = 3;

/// Most columns of an overview: wider than any screen.
const MOST_COLUMNS: u32 = 16_384;

/// The answer, unless the question is about something that is not there.
pub(super) fn answer(
    question: &Request,
    document: &Document,
    painter: &mut Painter,
) -> Option<Reply> {
    let device = |device| document.device(device);
    match *question {
        Request::Overview {
            device: of,
            axis,
            columns,
        } => Some(Reply::Overview(overview(
            document,
            device(of)?,
            axis,
            columns,
        ))),
        Request::Hit {
            request,
            ref draw,
            x_px,
            y_px,
        } => {
            let hit = hit(document, painter, request, draw, (x_px, y_px))?;
            Some(Reply::Hit(Box::new(hit)))
        }
        Request::Outline {
            slot,
            draw,
            allocation,
        } => outline(document, slot, draw, allocation),
        Request::Details {
            device: of,
            allocation,
        } => {
            let details = describe::details(document, device(of)?, allocation)?;
            Some(Reply::Details(Box::new(details)))
        }
        Request::Composition {
            device: of,
            moment,
            call_sites,
        } => Some(composition(
            document,
            device(of)?,
            moment,
            call_sites as usize,
        )),
        Request::Range {
            device: of,
            axis,
            x,
        } => Some(Reply::Range(range_facts(device(of)?, axis, x)?)),
        Request::Legend { look, entries } => Some(Reply::Legend(
            painter.colours.legend(document, &look, entries)?,
        )),
        // These are not answered with data of an open file.
        Request::WarmUp
        | Request::OpenBlob { .. }
        | Request::OpenUrl { .. }
        | Request::Draw { .. } => None,
    }
}

fn outline(
    document: &Document,
    slot: OutlineSlot,
    draw: DrawRequest,
    allocation: AllocationId,
) -> Option<Reply> {
    let device = document.device(draw.look.device)?;
    let points_px = device
        .has(allocation)
        .then(|| painter::outline(device, &draw, allocation))?;
    Some(Reply::Outline(OutlineColumns {
        slot,
        draw,
        allocation,
        points_px,
    }))
}

fn composition(document: &Document, device: Device<'_>, moment: u32, limit: usize) -> Reply {
    let live = live_at(device.history, moment);
    Reply::Composition(describe::composition(document, device, moment, live, limit))
}

fn hit(
    document: &Document,
    painter: &mut Painter,
    request: RequestId,
    draw: &DrawRequest,
    (x_px, y_px): (f64, f64),
) -> Option<Hit> {
    let device = document.device(draw.look.device)?;
    let is_inside = x_px >= 0.0 && y_px >= 0.0;
    let hit = if is_inside {
        painter.hit(document, draw, x_px as u32, y_px as u32)?
    } else {
        raster::Hit::Outside
    };
    let facts = |moment| Some(describe::moment(device, draw.look.axis, moment));
    let (moment, on) = match hit {
        raster::Hit::Outside => (None, HitOn::Nothing),
        raster::Hit::Free { moment } => (facts(moment), HitOn::Nothing),
        raster::Hit::Allocation { moment, row } => {
            let preview = describe::preview(document, device, AllocationId(row));
            (facts(moment), preview.map_or(HitOn::Nothing, HitOn::One))
        }
        raster::Hit::Several {
            moment,
            composition,
        } => {
            let several = several(document, device, moment, &composition.allocations);
            (facts(moment), HitOn::Several(several))
        }
    };
    Some(Hit {
        request,
        draw: *draw,
        at_px: (x_px, y_px),
        moment,
        on,
    })
}

fn several(document: &Document, device: Device<'_>, moment: u32, rows: &[u32]) -> Composition {
    let ids = rows.iter().map(|&row| AllocationId(row));
    describe::composition(document, device, moment, ids, HIT_CALL_SITES)
}

fn overview(document: &Document, device: Device<'_>, axis: Axis, columns: u32) -> Overview {
    let (bands, index) = (device.bands(axis), device.index());
    let steps = if device.knows_segments() {
        &device.history.reserved_steps[..]
    } else {
        &[]
    };
    let columns = columns.clamp(1, MOST_COLUMNS);
    let map = Minimap::new(&bands, index, steps, columns);
    Overview {
        device: device.history.device,
        axis: if device.has_times() {
            axis
        } else {
            Axis::Events
        },
        x: (0.0, bands.x_end()),
        active_bytes: map.active_bytes,
        reserved_bytes: map.reserved_bytes,
        oom_x: thinned(
            oom_moments(document, device)
                .map(|moment| bands.moment_x(moment as usize))
                .collect(),
            bands.x_end(),
            columns,
        ),
        peak_x: bands.moment_x(device.history.peak_moment as usize),
    }
}

/// Ascending places; where there are more than columns, only the first of each column: a job that retries
/// can fail a million times.
fn thinned(mut places: Vec<f64>, x_end: f64, columns: u32) -> Vec<f64> {
    if places.len() > columns as usize {
        places.dedup_by_key(|x| (*x / x_end * f64::from(columns)) as u32);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_failures_are_one_per_column() {
        let places: Vec<_> = (0..1_000_000).map(f64::from).collect();
        let thin = thinned(places, 1e6, 100);
        assert_eq!(thin.len(), 100);
        assert_eq!(thin[..2], [0.0, 10_000.0]);
        assert_eq!(thinned(vec![1.0, 1.1], 1e6, 100), [1.0, 1.1]);
    }
}
