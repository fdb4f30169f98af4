//! Segments in the words and figures that the page shows.

use std::ops::Range;

use vramscope_core::analysis::memory::segment_contents::SegmentContents;
use vramscope_core::analysis::memory::segment_history::{SegmentHistory, SegmentLife};
use vramscope_core::analysis::report::details::{EventMark, Life, frame_details};
use vramscope_core::analysis::search::filter::rows;
use vramscope_core::analysis::time::history::NEVER;
use vramscope_core::analysis::time::lifetime::Lifetime;
use vramscope_core::ids::EventId;
use vramscope_core::model::SegmentKind;
use vramscope_core::units::{Bytes, Count, Percent};
use vramscope_protocol::views::segments::SegmentDetails;
use vramscope_protocol::{Axis, DrawRequest, Picture, SegmentPreview};
use vramscope_view::extent::edges;
use vramscope_view::raster::Bands;

use super::describe;
use super::document::{Device, Document};

/// The bands of the segment timeline, whose rows are pieces.
pub(super) fn bands<'a>(device: Device<'a>, axis: Axis) -> Bands<'a> {
    let segments = device.segments();
    device.reserved().bands(segments, device.bands(axis))
}

/// The pieces of the segment around an allocation; empty if it is not known.
pub(super) fn rows_around(device: Device<'_>, allocation: usize) -> Range<usize> {
    let table = &device.history.allocations;
    let segments = device.segments();
    let piece = segments.piece_at(table.address[allocation], table.born[allocation]);
    piece.map_or(0..0, |piece| segments.segment_of(piece).rows())
}

/// A piece and its segment in a few lines, with the segment's place in a picture; `None` if there is no such piece.
pub(super) fn preview(
    document: &Document,
    device: Device<'_>,
    draw: &DrawRequest,
    piece: u32,
    moment: u32,
) -> Option<SegmentPreview> {
    let segments = device.segments();
    let row = piece as usize;
    let &piece_bytes = segments.bytes.get(row)?;
    let segment = segments.segment_of(row);
    let sites = document.call_sites();
    let stack = segments.stack(&document.snapshot, device.history, row);
    let site = sites.of_stack(stack);
    let (x, y) = place(device, draw, segment);
    Some(SegmentPreview {
        piece,
        address: segment.address,
        piece_bytes,
        bytes: mapped_bytes(segments, segment, moment),
        is_expandable: segment.is_expandable,
        life: life(device, segments.born[row], segments.died[row]),
        user_frame: match site.index() {
            0 => String::new(),
            _ => sites.get(site).label.clone(),
        },
        remarks: remarks(document, segment),
        x,
        y,
    })
}

/// The segment of a piece in full, with its contents at a moment; `None` if there is no such piece.
pub(super) fn details(
    document: &Document,
    device: Device<'_>,
    piece: u32,
    moment: Option<u32>,
) -> Option<SegmentDetails> {
    let segments = device.segments();
    let row = piece as usize;
    (row < segments.len()).then_some(())?;
    let segment = segments.segment_of(row);
    let moment = moment.unwrap_or(device.history.event_count);
    let stack = segments.stack(&document.snapshot, device.history, row);
    let frames = document.snapshot.stacks.frames(stack);
    let frames = frames.map(|frame| frame_details(document, frame));
    Some(SegmentDetails {
        address: segment.address,
        bytes: mapped_bytes(segments, segment, moment),
        filter: rows::of_addresses(segment.address, segment.extent_bytes).to_string(),
        is_expandable: segment.is_expandable,
        life: life(device, segment.born, segment.died),
        properties: properties(document, device, row, moment),
        stack: stack.has_frames().then(|| frames.collect()),
    })
}

fn properties(
    document: &Document,
    device: Device<'_>,
    piece: usize,
    moment: u32,
) -> Vec<(String, String)> {
    let segments = device.segments();
    let segment = segments.segment_of(piece);
    let inside = SegmentContents::at(device.history, segments, segment, moment);
    let serves = match segment.kind {
        Some(SegmentKind::Small) => Some("requests up to 1 MiB".to_owned()),
        Some(SegmentKind::Large) => Some("requests above 1 MiB".to_owned()),
        Some(SegmentKind::Other(word)) => Some(document.snapshot.strings.get(word).to_owned()),
        None => None,
    };
    let piece_text = segment.is_expandable.then(|| {
        let (address, bytes) = (segments.address[piece], segments.bytes[piece]);
        format!("{} at 0x{address:x}", Bytes(bytes))
    });
    let extent = segment
        .is_expandable
        .then(|| Bytes(segment.extent_bytes).to_string());
    let pool = segment.pool.and_then(|pool| document.pools().get(pool));
    let kept_for = pool.and_then(|pool| pool.kind.kept_for());
    let is_partly_free = inside.mapped_bytes > inside.requested_bytes;
    let rows = [
        ("Ever mapped", extent),
        ("This piece", piece_text),
        ("Serves", serves),
        ("Stream", Some(document.streams().label(segment.stream))),
        (
            "Pool",
            segment.pool.map(|pool| describe::pool(document, pool)),
        ),
        ("Allocations in it", requested(&inside)),
        (
            "Largest free range",
            (inside.mapped_bytes > 0).then(|| Bytes(inside.largest_free_bytes).to_string()),
        ),
        (
            "What is free",
            kept_for.filter(|_| is_partly_free).map(str::to_owned),
        ),
    ];
    rows.into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

/// The allocations in a segment, e.g. `3, 12.0 MiB (60.2 % of it)`; `None` if nothing of it is mapped.
fn requested(inside: &SegmentContents) -> Option<String> {
    if inside.mapped_bytes == 0 {
        return None;
    }
    let share = Percent {
        part: inside.requested_bytes,
        whole: inside.mapped_bytes,
    };
    Some(format!(
        "{}, {} ({share} of it)",
        Count(inside.allocations),
        Bytes(inside.requested_bytes)
    ))
}

fn mapped_bytes(segments: &SegmentHistory, segment: &SegmentLife, moment: u32) -> u64 {
    let is_mapped = |&row: &usize| segments.born[row] <= moment && moment < segments.died[row];
    let mapped = segment.rows().filter(is_mapped);
    mapped.fold(0, |sum, row| sum.saturating_add(segments.bytes[row]))
}

fn remarks(document: &Document, segment: &SegmentLife) -> String {
    let kind = match segment.kind {
        Some(SegmentKind::Small) => Some("for requests up to 1 MiB".to_owned()),
        _ => None,
    };
    let pool = segment.pool.filter(|pool| pool.is_private());
    let remarks = [
        kind,
        (segment.stream != 0).then(|| document.streams().label(segment.stream)),
        pool.map(|pool| document.pools().label(pool)),
    ];
    remarks.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn life(device: Device<'_>, born: u32, died: u32) -> Life {
    let history = device.history;
    let mark = |moment: u32| {
        let is_event = (1..=history.event_count).contains(&moment);
        let (time_us, since_start_us) = device.time(moment).unzip();
        is_event.then(|| EventMark {
            number: moment - 1,
            event: EventId(history.first_event + moment - 1),
            time_us,
            since_start_us,
        })
    };
    let at = |moment: u32| device.time(moment).map(|(time, _)| time);
    let length = |from: u32, to: u32| Some(at(to)?.saturating_sub(at(from)?));
    let end = died.min(history.event_count);
    Life {
        alloc: mark(born),
        free_requested: None,
        free_completed: mark(died),
        lifetime: Lifetime {
            events: end.saturating_sub(born),
            us: length(born, end),
            at_least: born == 0 || died == NEVER,
        },
    }
}

/// Left, right, lower and upper edge of a segment in a picture, over its whole life.
fn place(
    device: Device<'_>,
    draw: &DrawRequest,
    segment: &SegmentLife,
) -> ((f64, f64), (f64, f64)) {
    let bands = bands(device, draw.look.axis);
    let x = |moment: u32| bands.moment_x(moment as usize);
    let y = match draw.look.picture {
        Picture::Map => {
            let lanes = device.map_lanes();
            lanes.span(segment.address, segment.extent_bytes)
        }
        _ => edges(
            &bands,
            &device.reserved().index,
            segment.rows(),
            (segment.born, segment.died),
        ),
    };
    ((x(segment.born), x(segment.died)), y)
}
