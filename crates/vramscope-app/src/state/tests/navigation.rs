//! What part of a picture is seen.

use super::*;

#[test]
fn zooming_keeps_the_place_and_zero_shows_all() {
    let mut page = Page::with_file();
    page.go(Navigation::Zoom {
        factor: (4.0, 1.0),
        at: (0.25, 0.5),
    });
    assert_eq!(page.x(), (EVENTS * 0.25 - EVENTS * 0.0625, EVENTS * 0.4375));
    page.go(Navigation::Pan(1.0, 0.0));
    assert_eq!(page.x().0, 0.0);
    page.key("0");
    assert_eq!(page.x(), (0.0, EVENTS));
}

#[test]
fn a_box_is_drawn_once() {
    let mut page = Page::with_file();
    page.key("b");
    assert!(page.0.box_mode);
    page.go(Navigation::ShowBox((0.5, 1.0), (1.0, 0.5)));
    assert_eq!(page.x(), (500.0, 1_000.0));
    assert_eq!(page.view().region.y_min_bytes, 0.0);
    assert!(!page.0.box_mode);
}

#[test]
fn the_peak_comes_to_the_middle() {
    let mut page = Page::with_file();
    page.key("p");
    assert_eq!(page.x(), (600.0 - 62.5, 600.0 + 62.5));
    assert_eq!(page.view().cursor_x(), Some(600.0));
}

#[test]
fn the_way_to_a_failed_allocation() {
    let mut page = Page::with_file();
    page.go(Navigation::Event(700));
    assert_eq!(page.view().cursor_x(), Some(700.0));
    assert!((page.view().region.x_min..page.view().region.x_max).contains(&700.0));
}

#[test]
fn another_axis_shows_the_same_part() {
    let mut page = Page::with_file();
    page.go(Navigation::ShowX(100.0, 200.0));
    page.key("t");
    assert_eq!(page.file().axis, Axis::Time);
    assert_eq!(page.view().came_from, Some((Axis::Events, (100.0, 200.0))));
    page.answer(Answer::Range(Box::new(RangeFacts {
        device: 3,
        axis: Axis::Events,
        x: (100.0, 200.0),
        events_x: (100.0, 200.0),
        time_x: Some((7.0, 9_000.0)),
        ..RangeFacts::default()
    })));
    assert_eq!(page.x(), (7.0, 9_000.0));
    assert_eq!(page.view().came_from, None);
}

#[test]
fn an_axis_toggled_twice_before_the_answer_keeps_the_zoom() {
    let mut page = Page::with_file();
    page.go(Navigation::ShowX(100.0, 200.0));
    page.key("t");
    page.key("t");
    assert_eq!(page.file().axis, Axis::Events);
    assert_eq!(page.x(), (100.0, 200.0));
    assert_eq!(page.view().came_from, None);
    // Where the user has gone meanwhile counts for more than where he came from.
    page.key("t");
    page.go(Navigation::ShowX(1e6, 2e6));
    page.key("t");
    assert_eq!(page.view().came_from, Some((Axis::Time, (1e6, 2e6))));
}

#[test]
fn all_of_a_packing_is_shown_however_high_it_is() {
    let mut page = Page::with_file();
    page.act(Action::View(ViewKind::WhatIf));
    let top = |page: &Page| page.view().region.y_max_bytes;
    let before = top(&page);
    // One that fits leaves the picture as it is.
    page.act(Action::Packed(3, 1 << 20));
    assert_eq!(top(&page), before);
    page.act(Action::Packed(3, 100 << 30));
    assert!(top(&page) >= (100_u64 << 30) as f64);
    // A better one is shown on the same scale.
    page.act(Action::Packed(3, 90 << 30));
    assert!(top(&page) >= (100_u64 << 30) as f64);
    // Other pictures are as high as they were.
    page.act(Action::View(ViewKind::Timeline));
    assert!(top(&page) < (100_u64 << 30) as f64);
}

#[test]
fn a_double_click_fits_as_soon_as_the_place_is_known() {
    let mut page = Page::with_file();
    page.act(Action::Pin(AllocationId(7)));
    page.go(Navigation::FitPinned);
    assert_eq!(page.x(), (0.0, EVENTS));
    page.answer(details(7));
    let (from, to) = page.x();
    assert!(
        from < 100.0 && to > 301.0 && to - from < 300.0,
        "{from} to {to}"
    );
}

#[test]
fn brackets_step_through_a_life() {
    let mut page = Page::with_file();
    page.act(Action::Pin(AllocationId(7)));
    page.answer(details(7));
    let mut at = Vec::new();
    for key in ["]", "]", "]", "]", "[", "["] {
        page.key(key);
        at.push(page.view().cursor_x().unwrap());
    }
    assert_eq!(at, [100.0, 300.0, 301.0, 301.0, 300.0, 100.0]);
}

#[test]
fn a_walk_goes_on_as_it_went() {
    let mut walk = Walk::default();
    let mut next = |moment| walk.next(moment);
    assert_eq!(next(500), Some(501), "at first the next event");
    assert_eq!((next(499), next(499)), (Some(498), Some(498)));
    assert_eq!(next(599), Some(699), "a page");
    assert_eq!(next(90_000), Some(90_001), "a jump");
    assert_eq!((next(89_999), next(50)), (Some(89_998), Some(51)));
    assert_eq!(
        (next(20), next(0)),
        (None, None),
        "nothing is before the first"
    );
}

#[test]
fn the_state_learns_of_a_motion_when_it_rests() {
    let mut page = Page::with_file();
    let mut motion = Motion::default();
    let closer = Navigation::Zoom {
        factor: (2.0, 1.0),
        at: (0.0, 0.5),
    };
    assert!(!motion.go(closer), "there is no picture yet");
    motion.follow(&page.0);
    assert!(motion.go(closer) && motion.go(closer));
    // Something else is rendered meanwhile.
    page.act(Action::Help(true));
    motion.follow(&page.0);
    assert_eq!(page.x(), (0.0, EVENTS));
    page.go(motion.rest().unwrap());
    assert_eq!(page.x(), (0.0, EVENTS / 4.0));
    assert_eq!(motion.rest(), None);
    assert!(!motion.go(Navigation::Peak), "a jump");
}

#[test]
fn a_jump_of_the_state_ends_a_motion() {
    let mut page = Page::with_file();
    let mut motion = Motion::default();
    motion.follow(&page.0);
    assert!(motion.go(Navigation::ShowX(10.0, 20.0)));
    page.key("p");
    motion.follow(&page.0);
    assert_eq!(motion.seen(), Some(page.view().region));
    assert_eq!(motion.rest(), None);
}
