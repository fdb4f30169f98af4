//! The allocator's state: the page shows core's result for a moment, however the moment was chosen.

use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::memory::allocator_state::AllocatorState;
use vramscope_core::analysis::recording::Recording;

use crate::PATIENCE;
use crate::open::{Open, fixture, open_fixture};

const FIXTURE: &str = "torch-2.15.0/streams_pending.pickle";

/// The states of the fixture's first device after every event.
fn states() -> Vec<AllocatorState> {
    let bytes = std::fs::read(fixture(FIXTURE)).unwrap();
    let recording = Recording::of(vramscope_core::decode(&bytes[..]).unwrap());
    let device = recording.device(0).unwrap();
    (0..=device.history.event_count)
        .map(|moment| device.state_at(moment))
        .collect()
}

fn open_state() -> Open {
    let mut open = open_fixture(FIXTURE);
    open.page.key("5", Modifiers::NONE).unwrap();
    open.page
        .wait_for(
            "!!document.querySelector('.state-scroll[data-moment]')",
            PATIENCE,
        )
        .unwrap();
    open
}

/// Waits until the picture shows a moment, and checks the page's figures for it.
fn check(open: &mut Open, states: &[AllocatorState], moment: usize) {
    let shows = format!("document.querySelector('.state-scroll').dataset.moment === '{moment}'");
    open.page.wait_for(&shows, PATIENCE).unwrap();
    let total = &states[moment].total;
    let said = open
        .page
        .eval("document.querySelector('.state-scroll').dataset.reserved")
        .unwrap();
    assert_eq!(said, total.reserved_bytes.to_string(), "moment {moment}");
    let summary = open.page.text(".state-summary").unwrap();
    let sizes = [
        total.allocated_bytes,
        total.reserved_bytes,
        total.rounding_bytes(),
        total.free_bytes,
        total.largest_free_bytes,
    ];
    for bytes in sizes {
        let size = vramscope_core::units::Bytes(bytes).to_string();
        assert!(
            summary.contains(&size),
            "moment {moment}: no {size} in {summary}"
        );
    }
    let headings = open
        .page
        .eval("document.querySelectorAll('.state-head').length")
        .unwrap();
    assert_eq!(headings, states[moment].groups.len(), "moment {moment}");
    let active = open
        .page
        .eval("document.querySelector('.state-events .vrow.active').id");
    assert_eq!(active.unwrap(), format!("vrow-{moment}"));
}

#[test]
fn keys_step_from_event_to_event() {
    let states = states();
    let last = states.len() - 1;
    let mut open = open_state();
    open.page.key("End", Modifiers::NONE).unwrap();
    check(&mut open, &states, last);
    for back in 1..=3 {
        open.page.key("ArrowUp", Modifiers::NONE).unwrap();
        check(&mut open, &states, last - back);
    }
    open.page.key("ArrowDown", Modifiers::NONE).unwrap();
    check(&mut open, &states, last - 2);
    // A typed number, and a clicked row.
    open.page.click_on(".state-number input").unwrap();
    open.page.key("a", Modifiers::CONTROL).unwrap();
    open.page.type_text("5").unwrap();
    open.page.key("Enter", Modifiers::NONE).unwrap();
    check(&mut open, &states, 5);
    open.page.click_on("#vrow-9").unwrap();
    check(&mut open, &states, 9);
    open.check_quiet();
}

#[test]
fn a_block_is_told_of_and_pinned() {
    let states = states();
    let mut open = open_state();
    open.page.key("End", Modifiers::NONE).unwrap();
    check(&mut open, &states, states.len() - 1);
    // The first line begins with the first block of the largest segment.
    let at = open
        .page
        .eval("(() => { const box = document.querySelector('.state-scroll').getBoundingClientRect(); return [box.x + 12, box.y + 36]; })()")
        .unwrap();
    let (x_px, y_px) = (at[0].as_f64().unwrap(), at[1].as_f64().unwrap());
    open.page.mouse_move(x_px, y_px).unwrap();
    open.page
        .wait_for("!!document.querySelector('.state-tip')", PATIENCE)
        .unwrap();
    let tip = open.page.text(".state-tip").unwrap();
    let last = &states[states.len() - 1];
    let largest = last
        .segments
        .iter()
        .filter(|segment| segment.group == 0)
        .max_by_key(|segment| (segment.bytes, std::cmp::Reverse(segment.address)))
        .unwrap();
    let size = |bytes: u64| vramscope_core::units::Bytes(bytes).to_string();
    for words in [
        size(largest.blocks[0].requested_bytes),
        size(largest.bytes),
        format!("{} free", size(largest.sums.free_bytes)),
        format!("{:#x}", largest.address),
    ] {
        assert!(tip.contains(&words), "no {words} in {tip}");
    }
    open.page.click(x_px, y_px, 1).unwrap();
    open.page
        .wait_for(
            "!!document.querySelector('.state-outline.pinned')",
            PATIENCE,
        )
        .unwrap();
    let name = format!("b{:x}_", largest.blocks[0].address);
    open.page
        .wait_for(
            &format!("document.querySelector('.details').textContent.includes('{name}')"),
            PATIENCE,
        )
        .unwrap();
    open.check_quiet();
}
