//! The segment timeline and the map of every fixture: drawn, pointed at, outlined, labelled.

use std::path::Path;

use vramscope_core::analysis::time::history::NEVER;
use vramscope_protocol::views::segments::{MapLanesOf, SegmentOf};
use vramscope_protocol::{
    Axis, BandLabelsOf, DeviceFacts, DrawRequest, Hit, HitOf, HitOn, Look, OutlineOf, Picture,
    Thing, Viewport,
};

use super::document::Document;
use super::opened;
use super::painter::Painter;
use super::tests::{ask, documents};
use vramscope_core::analysis::search::filter::Filter;
use vramscope_view::raster::BandRoom;
use vramscope_view::restacked::Stacking;

const SIZE_PX: (u32, u32) = (200, 120);

#[test]
fn every_fixture_has_its_segments_and_its_map() {
    let mut drawn = 0;
    for (path, document) in documents() {
        let facts = opened::opened(&document, "x", 1, 1.0);
        let mut painter = Painter::default();
        for device in &facts.devices {
            for picture in [Picture::Segments, Picture::Map] {
                for axis in [Axis::Events, Axis::Time] {
                    let look = Look {
                        device: device.device,
                        picture,
                        axis,
                        ..Look::default()
                    };
                    drawn += check(&document, &mut painter, &look, device, &path);
                }
            }
            check_lanes(&document, &mut painter, device, &path);
        }
    }
    assert!(drawn > 50, "only {drawn} pictures have anything in them");
}

/// The text in a band is that of the allocation under it, in every order and on both axes.
#[test]
fn bands_are_labelled_with_what_is_under_them() {
    let mut labelled = 0;
    for (path, document) in documents() {
        let mut painter = Painter::default();
        for device in document.devices() {
            for (axis, by_group) in [(Axis::Events, false), (Axis::Time, true)] {
                let look = Look {
                    device: device.index(),
                    axis,
                    stacking: Stacking {
                        by_group,
                        ..Stacking::default()
                    },
                    ..Look::default()
                };
                let draw = DrawRequest {
                    look,
                    viewport: Viewport::fit_all(&device.bounds(axis), 400, 300),
                };
                labelled += check_labels(&document, &mut painter, &draw, &path);
            }
        }
    }
    assert!(labelled > 100, "only {labelled} labels");
}

/// The number of labels.
fn check_labels(
    document: &Document,
    painter: &mut Painter,
    draw: &DrawRequest,
    path: &Path,
) -> usize {
    let asked = BandLabelsOf {
        draw: draw.clone(),
        pixel_ratio: 1.0,
    };
    let found = ask(asked, document, painter).unwrap();
    for label in &found.labels {
        let BandRoom { x_px, y_px, .. } = label.room;
        for (x_px, y_px) in [(x_px.0, y_px.0), (x_px.1 - 1, y_px.1 - 1)] {
            let question = HitOf {
                draw: draw.clone(),
                at_px: (f64::from(x_px), f64::from(y_px)),
            };
            let hit = ask(question, document, painter).unwrap();
            let HitOn::One(preview) = hit.on else {
                panic!("{path:?}: {label:?}")
            };
            let known = (&preview.user_frame, preview.brief.requested_bytes);
            assert_eq!((&label.site, label.bytes), known, "{path:?}");
        }
    }
    found.labels.len()
}

/// Whether there was anything to see.
fn check(
    document: &Document,
    painter: &mut Painter,
    look: &Look,
    facts: &DeviceFacts,
    path: &Path,
) -> usize {
    let bounds = facts.bounds(look.picture, look.axis);
    let draw = DrawRequest {
        look: look.clone(),
        viewport: Viewport::fit_all(&bounds, SIZE_PX.0, SIZE_PX.1),
    };
    let frame = painter.draw(document, &draw).unwrap();
    let is_empty = frame.rgba.iter().all(|&byte| byte == 0);
    let expected = match look.picture {
        Picture::Map => facts.map_bytes == 0,
        _ => facts.peak_reserved_bytes == 0,
    };
    assert!(!expected || is_empty, "{path:?} {look:?}: nothing to draw");
    let mut seen = 0;
    // What is small or short may lie between the points of the first look.
    for (across, down) in [(40, 4), (1, 1)] {
        if seen > 0 || is_empty && across == 1 {
            break;
        }
        for x_px in (0..SIZE_PX.0).step_by(across).chain([SIZE_PX.0 - 1]) {
            for y_px in (0..SIZE_PX.1).step_by(down) {
                let question = HitOf {
                    draw: draw.clone(),
                    at_px: (f64::from(x_px), f64::from(y_px)),
                };
                let Some(hit) = ask(question, document, painter) else {
                    panic!("{path:?}")
                };
                seen += check_hit(document, painter, &hit, path);
            }
        }
    }
    assert!(
        is_empty || seen > 0,
        "{path:?} {look:?}: drawn, but not hit"
    );
    usize::from(seen > 0)
}

fn check_hit(document: &Document, painter: &mut Painter, hit: &Hit, path: &Path) -> usize {
    let device = document.device(hit.draw.look.device).unwrap();
    let segments = device.segments();
    let moment = hit.moment.map_or(0, |facts| facts.moment);
    let thing = match &hit.on {
        HitOn::Nothing | HitOn::Unmapped { .. } => return 0,
        HitOn::Several(several) => {
            assert!(several.top.count > 1, "{path:?}");
            check_pixel(document, painter, hit, path);
            return 1;
        }
        HitOn::One(preview) => Thing::Allocation(preview.allocation),
        HitOn::Segment(preview) => {
            assert!(preview.bytes >= preview.piece_bytes, "{path:?}");
            Thing::Segment(preview.piece)
        }
        HitOn::Free {
            address,
            bytes,
            segment,
        } => {
            let piece = segments.piece_at(*address, moment);
            assert!(piece.is_some(), "{path:?}: {address:#x} is not held");
            let table = &device.history.allocations;
            let mut lives = (0..table.len())
                .filter(|&row| table.born[row] <= moment && moment < table.died[row]);
            let inside = *address..address + bytes;
            let tenant = lives.find(|&row| inside.contains(&table.address[row]));
            assert_eq!(tenant, None, "{path:?}: {address:#x} is not free");
            Thing::Segment(segment.piece)
        }
    };
    let question = OutlineOf {
        draw: hit.draw.clone(),
        thing,
    };
    let Some(outline) = ask(question, document, painter) else {
        panic!("{path:?}")
    };
    assert!(outline.points_px.len() >= 4, "{path:?}: {outline:?}");
    if let Thing::Segment(piece) = thing {
        check_segment(document, painter, hit, piece, path);
    }
    1
}

/// The picture of a pixel alone shows what the pixel shows: an address tells a group so.
fn check_pixel(document: &Document, painter: &mut Painter, hit: &Hit, path: &Path) {
    let (x_px, y_px) = hit.at_px;
    let mut draw = hit.draw.clone();
    draw.viewport = draw.viewport.pixel((x_px as u32, y_px as u32));
    let at_px = (0.0, 0.0);
    let alone = ask(HitOf { draw, at_px }, document, painter).unwrap();
    assert_eq!(
        (alone.on, alone.moment),
        (hit.on.clone(), hit.moment),
        "{path:?}"
    );
}

fn check_segment(document: &Document, painter: &mut Painter, hit: &Hit, piece: u32, path: &Path) {
    let device = document.device(hit.draw.look.device).unwrap();
    let segments = device.segments();
    let moment = hit.moment.map_or(0, |facts| facts.moment);
    let question = SegmentOf {
        device: hit.draw.look.device,
        piece,
        moment: hit.moment.map(|facts| facts.moment),
    };
    let Some(details) = ask(question, document, painter) else {
        panic!("{path:?}")
    };
    assert!(Filter::parse(&details.filter).is_ok(), "{}", details.filter);
    let row = piece as usize;
    let is_mapped = segments.born[row] <= moment && moment < segments.died[row];
    assert!(
        !is_mapped || details.bytes >= segments.bytes[row],
        "{path:?}: {details:?}"
    );
    let died = segments.segment_of(row).died;
    assert_eq!(
        details.life.free_completed.is_none(),
        died == NEVER,
        "{path:?}"
    );
}

fn check_lanes(document: &Document, painter: &mut Painter, facts: &DeviceFacts, path: &Path) {
    let question = MapLanesOf {
        device: facts.device,
    };
    let Some(lanes) = ask(question, document, painter) else {
        panic!("{path:?}")
    };
    assert!(lanes.lanes.is_sorted_by(|a, b| a.y < b.y), "{path:?}");
    let top = lanes
        .lanes
        .last()
        .map_or(0.0, |lane| lane.y + lane.bytes as f64);
    assert_eq!(top as u64, facts.map_bytes, "{path:?}");
    assert_eq!(lanes.groups.is_empty(), lanes.lanes.is_empty(), "{path:?}");
}
