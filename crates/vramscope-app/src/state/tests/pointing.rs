//! Hovering, pinning and selecting.

use super::*;
use crate::state::selected::OfRange;
use vramscope_core::analysis::time::selection::Selection;

#[test]
fn a_click_pins_what_is_hovered() {
    let mut page = Page::with_file();
    page.act(Action::Details(false));
    page.hover(one(7));
    page.click();
    assert_eq!(page.view().pinned(), Some(AllocationId(7)));
    assert!(page.0.details_open);
    page.answer(details(8));
    assert!(page.view().details.is_none(), "of another allocation");
    page.answer(details(7));
    assert!(page.view().details.is_some());
    page.hover(HitOn::Nothing);
    page.click();
    assert_eq!(page.view().pinned(), None);
}

#[test]
fn a_tap_pins_what_it_turns_out_to_be_on() {
    let mut page = Page::with_file();
    page.act(Action::Details(false));
    page.click();
    assert!(!page.0.details_open, "nothing to show yet");
    // A finger that is lifted leaves.
    page.act(Action::Point(false));
    page.hover(one(7));
    assert_eq!(page.pinned(), Some(7));
    assert!(page.0.details_open);
    assert!(page.view().hovered.is_none(), "the finger is gone");
    page.act(Action::Point(true));
    page.hover(one(8));
    assert_eq!(page.pinned(), Some(7), "only the tap pins");
    assert!(page.view().hovered.is_some());
}

#[test]
fn a_click_on_a_shared_pixel_pins_all_and_a_second_one_goes_closer() {
    let mut page = Page::with_file();
    page.act(Action::Details(false));
    let before = page.view().region;
    page.hover(HitOn::Several(vramscope_protocol::Composition::default()));
    page.click();
    assert!(matches!(page.view().pin, Some(Pin::Group(_))));
    assert!(page.0.details_open);
    assert_eq!((page.view().region, page.pinned()), (before, None));
    page.go(Navigation::FitPinned);
    let after = page.view().region;
    assert!(after.x_max - after.x_min < (before.x_max - before.x_min) / 2.0);
    assert!(
        after.y_max_bytes - after.y_min_bytes < (before.y_max_bytes - before.y_min_bytes) / 2.0
    );
    page.key("Escape");
    assert_eq!(page.view().pin, None);
}

#[test]
fn a_double_click_may_come_before_the_answer_to_the_first() {
    let mut page = Page::with_file();
    let before = page.view().region;
    page.click();
    page.go(Navigation::FitPinned);
    page.hover(HitOn::Several(vramscope_protocol::Composition::default()));
    assert!(page.view().region.x_max - page.view().region.x_min < before.x_max / 2.0);
    page.go(Navigation::FitAll);
    page.hover(one(7));
    page.click();
    page.go(Navigation::FitPinned);
    page.answer(details(7));
    assert_eq!(page.pinned(), Some(7));
    assert!(page.view().region.x_max < before.x_max / 2.0);
}

/// What was pinned before stays where it is until the answer comes.
#[test]
fn a_double_click_is_about_what_was_clicked() {
    let mut page = Page::with_file();
    page.act(Action::Pin(AllocationId(7)));
    page.answer(details(7));
    let before = page.view().region;
    page.click();
    page.go(Navigation::FitPinned);
    assert_eq!(page.view().region, before);
    page.hover(HitOn::Several(vramscope_protocol::Composition::default()));
    assert!(matches!(page.view().pin, Some(Pin::Group(_))));
    assert!(page.view().region.x_max - page.view().region.x_min < before.x_max / 2.0);
}

/// So an answer that comes late, or never, takes nothing away.
#[test]
fn what_is_pinned_or_cleared_or_shown_later_ends_a_click() {
    let later: [fn(&mut Page); 3] = [
        |page| page.act(Action::Pin(AllocationId(8))),
        |page| drop(page.key("Escape")),
        |page| {
            page.act(Action::View(ViewKind::Map));
            page.act(Action::View(ViewKind::Timeline));
        },
    ];
    for later in later {
        let mut page = Page::with_file();
        page.act(Action::Pin(AllocationId(7)));
        page.answer(details(7));
        page.click();
        page.go(Navigation::FitPinned);
        later(&mut page);
        let (before, pinned) = (page.view().region, page.pinned());
        page.hover(one(9));
        assert_eq!((page.view().region, page.pinned()), (before, pinned));
        page.click();
        page.answer(details(9));
        let now = (page.view().region, page.pinned());
        assert_eq!(now, (before, Some(9)), "one click fits nothing");
    }
}

#[test]
fn a_chosen_event_is_pinned_and_follows_the_cursor() {
    let mut page = Page::with_file();
    page.act(Action::Details(false));
    page.act(Action::ChooseEvent(400));
    assert!(page.0.details_open);
    assert_eq!(page.view().pinned_event(), Some(400));
    page.go(Navigation::Step(true));
    assert_eq!(page.view().pinned_event(), Some(401));
    page.act(Action::Moment(12));
    assert_eq!(page.view().pinned_event(), Some(12));
    page.act(Action::Pin(AllocationId(7)));
    assert_eq!((page.view().pinned_event(), page.pinned()), (None, Some(7)));
    page.key("e");
    assert_eq!(page.view().pinned_event(), Some(12));
    page.act(Action::ChooseEvent(5_000));
    assert_eq!(page.view().pinned_event(), Some(999), "the last there is");
    page.go(Navigation::Step(true));
    assert_eq!(page.view().pinned_event(), Some(999));
    page.key("Escape");
    assert_eq!(page.view().pin, None);
    assert_eq!(page.view().cursor_moment(), Some(999), "the place stays");
    page.key("Escape");
    assert_eq!(page.view().cursor, None);
}

#[test]
fn what_is_selected_is_the_range_else_the_cursor_else_the_peak() {
    let mut page = Page::with_file();
    let selected = |page: &Page| page.0.places().unwrap().selected();
    assert_eq!(selected(&page), Selection::LiveAt(600));
    page.act(Action::Moment(321));
    assert_eq!(selected(&page), Selection::LiveAt(321));
    page.act(Action::Select(Some((10.0, 20.0))));
    page.answer(Answer::Range(Box::new(RangeFacts {
        device: 3,
        x: (10.0, 20.0),
        moments: (10, 20),
        ..RangeFacts::default()
    })));
    assert_eq!(selected(&page), Selection::AllocatedIn((10, 20)));
    page.act(Action::Choose(Chosen::Range(RangeChoices {
        of: OfRange::Retained,
    })));
    assert_eq!(selected(&page), Selection::RetainedFrom((10, 20)));
}

#[test]
fn a_click_pins_what_is_there_now() {
    let mut page = Page::with_file();
    page.hover(one(7));
    let stale = page.hit(one(7));
    let zoom = Navigation::Zoom {
        factor: (2.0, 1.0),
        at: (0.5, 0.5),
    };
    page.go(zoom);
    assert!(page.view().hovered.is_none());
    page.click();
    page.answer(stale);
    assert_eq!(page.pinned(), None, "of the view before the zoom");
    assert!(page.view().hovered.is_none());
    let elsewhere = page.hit_at((31.0, 20.0), one(8));
    page.answer(elsewhere);
    assert_eq!(page.pinned(), None, "of where the mouse has gone since");
    let clicked = page.hit(one(9));
    page.go(zoom);
    page.answer(clicked);
    assert_eq!(page.pinned(), Some(9), "the answer may come after a zoom");
}

#[test]
fn what_moves_nothing_changes_nothing_under_the_pointer() {
    let mut page = Page::with_file();
    page.hover(one(7));
    page.go(Navigation::FitAll);
    assert!(page.view().hovered.is_some());
}

#[test]
fn escape_lets_go_of_one_thing_at_a_time() {
    let mut page = Page::with_file();
    page.act(Action::SelectBetween(0.75, 0.25));
    assert_eq!(page.view().range, Some((250.0, 750.0)));
    page.act(Action::Pin(AllocationId(7)));
    page.act(Action::BoxMode(true));
    page.act(Action::Help(true));
    page.key("Escape");
    assert!(!page.0.help_open && page.0.box_mode);
    page.key("Escape");
    assert!(!page.0.box_mode && page.view().pinned().is_some());
    page.key("Escape");
    assert!(page.view().pinned().is_none() && page.view().range.is_some());
    page.key("Escape");
    assert!(page.view().range.is_none());
}

#[test]
fn what_a_selection_holds_is_that_of_the_newest() {
    let mut page = Page::with_file();
    let facts = |x| {
        Answer::Range(Box::new(RangeFacts {
            device: 3,
            x,
            allocated: 9,
            ..RangeFacts::default()
        }))
    };
    page.act(Action::Select(Some((10.0, 20.0))));
    page.answer(facts((1.0, 2.0)));
    assert_eq!(page.view().selection, None);
    page.answer(facts((10.0, 20.0)));
    assert_eq!(page.view().selection.unwrap().allocated, 9);
    page.act(Action::Select(Some((10.0, 30.0))));
    assert_eq!(page.view().selection, None);
}

#[test]
fn a_search_says_where_its_cursor_and_range_are() {
    let mut page = Page::with_file();
    let filter = |page: &Page| page.0.search.filter(page.file().view());
    assert!(!page.0.search.is_on() && filter(&page).is_none());
    page.act(Action::Search("size>1MiB".into()));
    let before = filter(&page);
    page.act(Action::Moment(321));
    assert_eq!(filter(&page), before, "it is not about the cursor");
    page.act(Action::Search("live@cursor".into()));
    assert_eq!(filter(&page).unwrap().cursor, Some(321));
    page.act(Action::Search("size>".into()));
    assert!(
        page.0.search.is_on() && filter(&page).is_none(),
        "a wrong one"
    );
}

/// What the worker answers about pools that have a quarter of the memory, and their peak at moment 100.
fn quarter(pools: &str) -> Answer {
    let narrowed = |facts: DeviceFacts| DeviceFacts {
        allocations: 5,
        peak_bytes: PEAK / 4,
        peak_moment: 100,
        axes: Axes {
            events: Bounds::new(EVENTS, PEAK / 4),
            time: facts
                .axes
                .time
                .map(|time| Bounds::new(time.x_end, PEAK / 4)),
        },
        colour_by: ColourBy::Role,
        notes: Vec::new(),
        ..facts
    };
    Answer::Devices(Box::new(vramscope_protocol::DevicesOfPools {
        pools: pools.to_owned(),
        devices: opened().devices.into_iter().map(narrowed).collect(),
    }))
}

#[test]
fn the_findings_are_gone_to_only_where_they_were_asked_for() {
    let mut page = Page::with_file();
    for asked in 1..3 {
        page.act(Action::Explain);
        assert_eq!((page.0.view, page.0.explained), (ViewKind::Overview, asked));
    }
    page.act(Action::View(ViewKind::Flame));
    page.act(Action::View(ViewKind::Overview));
    assert_eq!(page.0.explained, 0);
}

#[test]
fn a_chosen_pool_is_what_all_views_are_about() {
    let mut page = Page::with_file();
    page.act(Action::Pin(AllocationId(40)));
    page.answer(details(40));
    let top = |page: &Page| page.view().region.y_max_bytes;
    let (whole, colours) = (top(&page), page.0.colours());
    page.answer(quarter("pool:0,2"));
    assert_eq!(page.0.places().unwrap().peak, 600, "nobody asked for that");
    page.act(Action::Search("pool:0,2 size>1".into()));
    page.answer(quarter("pool:0,2"));
    assert_eq!(page.0.places().unwrap().peak, 100);
    assert!(top(&page) < whole / 3.0, "its own scale");
    assert_eq!(page.pinned(), Some(40), "by its number in the whole file");
    assert!(page.view().details.is_none(), "its place is another one");
    assert_eq!(page.0.colours(), colours);
    assert_eq!(page.file().notes().count(), 2);
    page.go(Navigation::Peak);
    assert_eq!(page.view().cursor_moment(), Some(100));
    page.act(Action::Device(1));
    assert_eq!(page.0.places().unwrap().peak, 100, "on any device");
    page.act(Action::Device(0));
    page.act(Action::Search("size>1".into()));
    assert_eq!((page.0.places().unwrap().peak, top(&page)), (600, whole));
    assert_eq!(page.view().cursor_moment(), Some(100), "moments stay");
    page.answer(quarter("pool:0,2"));
    assert_eq!(page.0.places().unwrap().peak, 600, "too late");
}

#[test]
fn an_address_may_pin_what_is_in_another_pool() {
    let mut page = Page::with_file();
    page.act(Action::Search("pool:0,2".into()));
    page.answer(quarter("pool:0,2"));
    page.act(Action::Pin(AllocationId(40)));
    let link = permalink(&page.0).unwrap();
    page.act(Action::LetGo);
    page.act(Action::Restore(Box::new(link)));
    assert_eq!(page.pinned(), Some(40));
}

#[test]
fn a_search_names_a_pool_and_says_what_figures_are_of() {
    let mut page = Page::with_file();
    page.act(Action::Search("a | b".into()));
    assert!(page.0.search.pool().is_none());
    let narrowed = page.0.search.in_pool(Some("pool:0,2"));
    assert_eq!(narrowed, "pool:0,2 (a | b)");
    page.act(Action::Search(narrowed));
    assert_eq!(page.0.search.pool().as_deref(), Some("pool:0,2"));
    assert_eq!(
        page.0.search.in_pool(Some("pool:default")),
        "pool:default (a | b)"
    );
    let said = |page: &Page, view| sentences::scope(view, &page.0.search, false);
    for view in ViewKind::ALL {
        let is_of_all = matches!(
            view,
            ViewKind::Overview | ViewKind::Compare | ViewKind::WhatIf
        );
        let sentence = said(&page, view);
        assert_eq!(
            sentence.is_some_and(|sentence| sentence.contains("of pool:0,2 alone")
                && sentence.contains("rest of the search")),
            is_of_all
        );
    }
    page.act(Action::Search(page.0.search.in_pool(None)));
    assert_eq!(page.0.search.text, "a | b");
    assert!(
        said(&page, ViewKind::Overview)
            .is_some_and(|sentence| sentence.contains("all allocations"))
    );
}
