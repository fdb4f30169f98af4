//! Questions and their answers.

use vramscope_core::ids::AllocationId;
use vramscope_view::minimap::Minimap;
use vramscope_view::raster;

use super::describe;
use super::document::{Device, Document};
use super::opened::ooms;
use super::painter::{self, Painter};
use super::range::range_facts;
use crate::protocol::{
    Axis, Composition, DrawRequest, Hit, HitOn, OomMark, OutlineColumns, OutlineSlot, Overview,
    Reply, Request, RequestId,
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
        Request::Range {
            device: of,
            axis,
            x,
        } => Some(Reply::Range(range_facts(device(of)?, axis, x)?)),
        Request::Moment {
            device: of,
            axis,
            moment,
        } => Some(Reply::Moment {
            device: of,
            axis,
            facts: describe::moment(device(of)?, axis, moment),
        }),
        Request::Legend { look, entries } => Some(Reply::Legend(
            painter.colours.legend(document, &look, entries)?,
        )),
        // These are not answered with data of an open file.
        Request::WarmUp
        | Request::OpenBlob { .. }
        | Request::OpenUrl { .. }
        | Request::Filter { .. }
        | Request::Ask { .. }
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
        ooms: thinned(
            ooms(document, device)
                .map(|(moment, event)| {
                    let event = document.snapshot.events.get(event);
                    OomMark {
                        x: bands.moment_x(moment as usize),
                        moment,
                        requested_bytes: event.size,
                        free_bytes: event.addr,
                    }
                })
                .collect(),
            bands.x_end(),
            columns,
        ),
        peak_x: bands.moment_x(device.history.peak_moment as usize),
    }
}

/// Ascending marks; where there are more than columns, only the last of each column: a job that retries can
/// fail a million times, and the last failure is the one that ended it.
fn thinned(mut marks: Vec<OomMark>, x_end: f64, columns: u32) -> Vec<OomMark> {
    if marks.len() > columns as usize {
        marks.reverse();
        marks.dedup_by_key(|mark| (mark.x / x_end * f64::from(columns)) as u32);
        marks.reverse();
    }
    marks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_failures_are_one_per_column() {
        let mark = |x| OomMark {
            x,
            ..OomMark::default()
        };
        let thin = thinned((0..1_000_000).map(f64::from).map(mark).collect(), 1e6, 100);
        assert_eq!(thin.len(), 100);
        assert_eq!(thin[..2], [9_999.0, 19_999.0].map(mark));
        let few = vec![mark(1.0), mark(1.1)];
        assert_eq!(thinned(few.clone(), 1e6, 100), few);
    }
}
