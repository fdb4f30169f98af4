//! Everything above the timeline: lanes, marks, lines, rulers, keyboard steps from band to band.

use std::fs::File;

use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::lanes::{LaneKind, LaneRange, Lanes, steps};
use vramscope_core::analysis::time::markers::{MarkerKind, Markers};
use vramscope_core::analysis::time::range_totals::RangeSums;
use vramscope_core::{Snapshot, decode};
use vramscope_view::display;
use vramscope_view::header::Header;

use crate::PATIENCE;
use crate::open::{Open, fixture, open_fixture};

const ANNOTATED: &str = "synth/scenario-annotated.pickle";

fn read(name: &str) -> (Snapshot, History) {
    let snapshot = decode(File::open(fixture(name)).unwrap()).unwrap();
    let history = History::of(&snapshot, 0);
    (snapshot, history)
}

/// The `n`th range of this name, and its row among the annotations.
fn nth_range(snapshot: &Snapshot, lanes: &Lanes, name: &str, n: usize) -> (usize, LaneRange) {
    let lane = lanes.of_kind(LaneKind::Annotations).next().unwrap();
    let rows = lane.rows.iter().enumerate();
    let mut ranges = rows.flat_map(|(row, ranges)| ranges.iter().map(move |range| (row, *range)));
    let is_called = |range: &LaneRange| range.name.text(&snapshot.strings) == name;
    ranges
        .find_map({
            let mut left = n;
            move |(row, range)| {
                if !is_called(&range) {
                    return None;
                }
                left = left.checked_sub(1).unwrap_or(usize::MAX);
                (left == usize::MAX).then_some((row, range))
            }
        })
        .unwrap()
}

/// The position on the page of a range's middle, while everything is in view.
fn middle_of(
    open: &mut Open,
    history: &History,
    lanes: &Lanes,
    row: usize,
    range: &LaneRange,
) -> (f64, f64) {
    let rows: Vec<usize> = lanes.lanes.iter().map(|lane| lane.rows.len()).collect();
    let header = Header::new(&rows, false, [true, true]);
    let place = header
        .lanes
        .rows
        .iter()
        .find(|place| (place.lane, place.row) == (0, row))
        .unwrap();
    let x = f64::from(range.from + range.to) / 2.0 + 1.0;
    let part = x / f64::from(history.event_count + 1);
    // The strip's field has the picture's margins.
    let script = "(() => { const field = document.querySelector('.strip .field').getBoundingClientRect(), \
        lanes = document.querySelector('.lanes').getBoundingClientRect(); return [field.x, field.width, lanes.y] })()";
    let sides = open.page.eval(script).unwrap();
    let side = |index: usize| sides[index].as_f64().unwrap();
    (
        side(0) + side(1) * part,
        side(2) + place.top_css + place.height_css / 2.0,
    )
}

fn wait_for_text(open: &mut Open, selector: &str, text: &str) {
    let script = format!("document.querySelector('{selector}')?.innerText.includes({text:?})");
    open.page.wait_for(&script, PATIENCE).unwrap();
}

#[test]
fn a_range_tells_its_numbers_and_a_click_shows_it() {
    let (snapshot, history) = read(ANNOTATED);
    let lanes = Lanes::of(&snapshot, &history);
    let (row, range) = nth_range(&snapshot, &lanes, "backward", 3);
    let totals = RangeSums::of(&history).totals(&history, range.moments());
    let mut open = open_fixture(ANNOTATED);
    let at = middle_of(&mut open, &history, &lanes, row, &range);
    open.page.mouse_move(at.0, at.1).unwrap();
    wait_for_text(&mut open, ".lanes .tooltip", "allocated in");
    let text = open.page.text(".lanes .tooltip").unwrap();
    for expected in [
        "backward".to_owned(),
        format!("{} events", totals.events),
        display::bytes_change(totals.before_bytes, totals.after_bytes),
        format!("peak {}", display::bytes(totals.peak_bytes)),
        format!(
            "{} allocated in {} allocations",
            display::bytes(totals.allocated_bytes),
            totals.allocations
        ),
        format!("{} freed", display::bytes(totals.freed_bytes)),
    ] {
        assert!(text.contains(&expected), "no {expected:?} in {text}");
    }
    open.repainted(|page| page.click(at.0, at.1, 1).unwrap());
    let part = f64::from(totals.events) / f64::from(history.event_count + 1);
    assert!(
        (open.shown_part() - part).abs() < 0.01,
        "{} of {part}",
        open.shown_part()
    );
    open.check_quiet();
}

#[test]
fn alt_click_selects_a_range_for_all_views() {
    let (snapshot, history) = read(ANNOTATED);
    let lanes = Lanes::of(&snapshot, &history);
    let (row, range) = nth_range(&snapshot, &lanes, "forward", 2);
    let totals = RangeSums::of(&history).totals(&history, range.moments());
    let mut open = open_fixture(ANNOTATED);
    let at = middle_of(&mut open, &history, &lanes, row, &range);
    open.page.drag(at, at, 1, Modifiers::ALT).unwrap();
    open.page
        .wait_for("!!document.querySelector('.stage .range')", PATIENCE)
        .unwrap();
    let allocations = format!("{} allocations", totals.allocations);
    wait_for_text(&mut open, ".statusbar .selection", &allocations);
    assert!(
        open.page
            .eval("!!document.querySelector('.strip .selected')")
            .unwrap()
            == true
    );
    open.check_quiet();
}

#[test]
fn the_strip_names_the_steps_and_the_capacity_is_the_analysis() {
    let (snapshot, history) = read(ANNOTATED);
    let sums = RangeSums::of(&history);
    let found = steps(&snapshot, &history, &Lanes::of(&snapshot, &history), &sums).unwrap();
    let mut open = open_fixture(ANNOTATED);
    let title = "document.querySelector('.strip .key .steps')?.title";
    open.page.wait_for(title, PATIENCE).unwrap();
    let title = open.page.eval(title).unwrap();
    let expected = format!("{} steps named {}", found.steps.len(), found.pattern);
    assert_eq!(title, expected);

    let (snapshot, _) = read("torch-2.15.0/oom_after.pickle");
    let recording = Recording::of(snapshot);
    let capacity = recording.device(0).unwrap().capacity().unwrap();
    let mut open = open_fixture("torch-2.15.0/oom_after.pickle");
    let field = "document.querySelector('.line-controls input.bytes').value";
    assert_eq!(
        open.page.eval(field).unwrap(),
        display::bytes(capacity.bytes)
    );
    open.check_quiet();
}

#[test]
fn marks_say_what_happened() {
    let (snapshot, history) = read(ANNOTATED);
    let markers = Markers::of(&snapshot, &history);
    let lanes = Lanes::of(&snapshot, &history);
    // The last one stands alone.
    let moment = *markers.column(MarkerKind::Annotate).moments.last().unwrap();
    let mut open = open_fixture(ANNOTATED);
    let range = LaneRange {
        from: moment - 1,
        to: moment - 1,
        ..nth_range(&snapshot, &lanes, "forward", 0).1
    };
    let (x_px, top) = middle_of(&mut open, &history, &lanes, 0, &range);
    let rows: Vec<usize> = lanes.lanes.iter().map(|lane| lane.rows.len()).collect();
    let header = Header::new(&rows, false, [true, true]);
    let y_px = top - header.lanes.rows[0].top_css - header.lanes.rows[0].height_css / 2.0
        + header.tracks[0].unwrap()
        + 6.0;
    open.page.mouse_move(x_px, y_px).unwrap();
    wait_for_text(
        &mut open,
        ".lanes .tooltip",
        "attention scores, step by step",
    );
    open.check_quiet();
}

#[test]
fn keys_walk_the_bands_and_measure() {
    let mut open = open_fixture(ANNOTATED);
    let pinned = "document.querySelector('.details .id')?.innerText";
    open.page.key(".", Modifiers::NONE).unwrap();
    open.page.wait_for(pinned, PATIENCE).unwrap();
    let first = open.page.eval(pinned).unwrap();
    open.page.key(".", Modifiers::NONE).unwrap();
    let differs = format!("{pinned} && {pinned} !== {first}");
    open.page.wait_for(&differs, PATIENCE).unwrap();
    open.page.key(",", Modifiers::NONE).unwrap();
    open.page
        .wait_for(&format!("{pinned} === {first}"), PATIENCE)
        .unwrap();

    open.page.key("m", Modifiers::NONE).unwrap();
    wait_for_text(&mut open, ".statusbar", "Drag to measure");
    let (from, to) = (open.point(0.3, 0.3), open.point(0.6, 0.6));
    open.page.drag(from, to, 4, Modifiers::NONE).unwrap();
    assert!(open.shown_part() > 0.99, "measuring moves nothing");
    open.page.key("Escape", Modifiers::NONE).unwrap();
    let ended = "!document.querySelector('.statusbar').innerText.includes('Drag to measure')";
    open.page.wait_for(ended, PATIENCE).unwrap();
    open.check_quiet();
}
