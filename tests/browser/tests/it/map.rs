//! The memory map and the segment timeline: tooltips describe the memory under the pointer.

use std::fs::File;

use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::decode;
use vramscope_core::ids::AllocationId;
use vramscope_view::display;
use vramscope_view::lines::FAILURE_CSS;
use vramscope_view::map::{Lanes, MapHit, MemoryMap};
use vramscope_view::raster::Bands;
use vramscope_view::viewport::{Bounds, Viewport};

use crate::PATIENCE;
use crate::open::{Open, fixture, open_fixture};

const FIXTURE: &str = "synth/scenario-pools.pickle";

/// Left of the picture, above it, right of it and below it, in CSS px; see the page's `PlotArea`.
const MARGINS: [f64; 4] = [72.0, FAILURE_CSS, 8.0, 24.0];

fn recording() -> Recording {
    Recording::of(decode(File::open(fixture(FIXTURE)).unwrap()).unwrap())
}

/// The picture's corner on the page and its size in CSS px, which are device px here.
fn picture(open: &mut Open) -> ((f64, f64), (u32, u32)) {
    let (x, y) = open.point(0.0, 0.0);
    let (right, bottom) = open.point(1.0, 1.0);
    let [left, top, beside, below] = MARGINS;
    let size = (right - x - left - beside, bottom - y - top - below);
    ((x + left, y + top), (size.0 as u32, size.1 as u32))
}

fn tooltip(open: &mut Open, (x_px, y_px): (f64, f64), word: &str) {
    open.page.mouse_move(x_px, y_px).unwrap();
    let says = format!("(document.querySelector('.tooltip')?.innerText ?? '').includes({word:?})");
    open.page.wait_for(&says, PATIENCE).unwrap();
}

#[test]
fn the_map_shows_each_allocation_at_its_address() {
    let mut open = open_fixture(FIXTURE);
    open.repainted(|page| page.key("4", Modifiers::NONE).unwrap());
    let recording = recording();
    let device = recording.device(0).unwrap();
    let (history, segments) = (device.history, device.segments());
    let sizes = device.block_sizes();
    let held = |row| sizes.bytes(history, AllocationId::from_index(row));
    let table = &history.allocations;
    let lanes = Lanes::new(table, segments);
    let map = MemoryMap::new(table, segments, lanes, held);
    let bands = Bands::of(history, false);
    let (corner, (width_px, height_px)) = picture(&mut open);
    let bounds = Bounds::new(bands.x_end(), map.lanes.y_end() as u64);
    let view = Viewport::fit_all(&bounds, width_px, height_px);

    let (mut allocations, mut free) = (0, 0);
    for down in 1..20 {
        let at = (width_px * 7 / 10, height_px * down / 20);
        let on_page = (
            corner.0 + f64::from(at.0) + 0.5,
            corner.1 + f64::from(at.1) + 0.5,
        );
        match map.hit(table, &bands, &view, at) {
            MapHit::Allocation { row, .. } if allocations < 3 => {
                allocations += 1;
                tooltip(
                    &mut open,
                    on_page,
                    &display::bytes(table.bytes[row as usize]),
                );
            }
            MapHit::Free { range, .. } if free < 3 => {
                free += 1;
                tooltip(
                    &mut open,
                    on_page,
                    &format!("{} free", display::bytes(range.bytes)),
                );
                let address = display::address(range.address);
                let text = open.page.text(".tooltip").unwrap();
                assert!(text.contains(&address), "{text} has no {address}");
            }
            _ => {}
        }
    }
    assert!(
        allocations > 0 && free > 0,
        "{allocations} and {free} were hit"
    );
    // As many pools and streams are labelled as there is room for.
    let groups = open
        .page
        .eval("document.querySelectorAll('.lane-group').length")
        .unwrap();
    assert!(groups.as_u64().unwrap() > 2, "{groups} groups are named");
    open.check_quiet();
}

#[test]
fn a_segment_is_pinned_with_what_is_in_it() {
    let mut open = open_fixture(FIXTURE);
    open.repainted(|page| page.key("3", Modifiers::NONE).unwrap());
    let recording = recording();
    let device = recording.device(0).unwrap();
    let (history, segments) = (device.history, device.segments());
    let (corner, (width_px, height_px)) = picture(&mut open);
    let peak = history
        .reserved_steps
        .iter()
        .map(|step| step.1)
        .max()
        .unwrap();
    let bounds = Bounds::new(f64::from(history.event_count) + 1.0, peak);
    let view = Viewport::fit_all(&bounds, width_px, height_px);
    // At the end, all reserved memory is stacked from the bottom, in the order of the segments.
    let first = (0..segments.len())
        .find(|&piece| segments.died[piece] == u32::MAX)
        .unwrap();
    let middle = segments.bytes[first] as f64 / 2.0;
    let at = (
        corner.0 + f64::from(width_px) - 2.5,
        corner.1 + view.y_px(middle),
    );
    open.page.click(at.0, at.1, 1).unwrap();
    let address = display::address(segments.segment_of(first).address);
    let says = format!("document.querySelector('.details').innerText.includes({address:?})");
    open.page.wait_for(&says, PATIENCE).unwrap();
    let details = open.page.text(".details").unwrap();
    let bytes = display::bytes(segments.bytes[first]);
    for word in ["Pinned segment", &bytes, "still held", "Largest free range"] {
        assert!(details.contains(word), "no {word} in {details}");
    }
    open.page.key("Escape", Modifiers::NONE).unwrap();
    let gone = "!document.querySelector('.details').innerText.includes('Pinned segment')";
    open.page.wait_for(gone, PATIENCE).unwrap();
    open.check_quiet();
}
