//! A file that changes while it is shown.

use vramscope_protocol::{Adopt, Adopted, Carried, MomentFacts, PlaceOf, Recorded, Thing};

use super::*;
use crate::state::live::{Live, News, adoption};

/// A page with a file that its server follows.
pub(super) fn live_page() -> Page {
    let mut page = Page(Rc::new(State::default()));
    page.act(Action::Open {
        id: SessionId(1),
        name: "live.vram".to_owned(),
        linked_host: None,
        served: Some(0),
    });
    page.reply(1, Reply::Opened(Box::new(version(0.0, true))));
    page
}

/// The facts of a version that begins some events later.
fn version(grown: f64, is_running: bool) -> Opened {
    let mut opened = opened();
    opened.file.recorded = Some(Recorded {
        is_running,
        read_us: Some(5_000_000),
        ..Recorded::default()
    });
    for facts in &mut opened.devices {
        facts.axes.events.x_end += grown;
        facts.events += grown as u32;
    }
    opened
}

impl Page {
    /// Goes over to a version that has lost `events` and won `grown` more than that.
    fn adopt(&mut self, events: u32, grown: f64, carried: impl Fn(&mut Carried)) -> Adopt {
        self.reply(1, Reply::Reloaded(None));
        let asked = adoption(self.file()).unwrap();
        let carried_of = |place: &PlaceOf| {
            let mut known = Carried {
                asked: *place,
                events,
                time_us: f64::from(events) * 10.0,
                cursor: place.cursor.and_then(|moment| moment.checked_sub(events)),
                pinned: place.pinned,
            };
            carried(&mut known);
            known
        };
        self.answer(Answer::Adopt(Box::new(Adopted {
            version: asked.version,
            opened: version(grown, true),
            within: None,
            carried: asked.places.iter().map(carried_of).collect(),
        })));
        asked
    }
}

#[test]
fn all_stays_all_and_the_newest_events_stay_in_view() {
    let mut page = live_page();
    page.adopt(0, 500.0, |_| {});
    assert_eq!(page.x(), (0.0, 1500.0));
    assert_eq!(page.file().version, 1);
    page.go(Navigation::ShowX(1400.0, 1500.0));
    assert!(page.0.choices.live.follow);
    page.adopt(300, 500.0, |_| {});
    assert_eq!(page.x(), (1400.0, 1500.0));
    page.adopt(0, 800.0, |_| {});
    assert_eq!(page.x(), (1700.0, 1800.0));
}

#[test]
fn going_back_lets_go_and_the_place_in_time_stays() {
    let mut page = live_page();
    page.go(Navigation::ShowX(600.0, 700.0));
    assert!(!page.0.choices.live.follow);
    page.adopt(100, 0.0, |_| {});
    assert_eq!(page.x(), (500.0, 600.0));
    // What is gone cannot stay in view.
    page.adopt(550, 0.0, |_| {});
    assert_eq!(page.x(), (0.0, 100.0));
    assert_eq!(page.key("l"), Some(Command::Act(Action::Follow(true))));
    assert_eq!(page.x(), (900.0, 1000.0));
    page.adopt(100, 50.0, |_| {});
    assert_eq!(page.x(), (950.0, 1050.0));
    page.key("l");
    page.adopt(10, 50.0, |_| {});
    assert_eq!(page.x(), (940.0, 1040.0));
    page.key("0");
    assert!(page.0.choices.live.follow);
}

#[test]
fn cursor_range_and_pin_stay_on_what_they_are_about() {
    let mut page = live_page();
    page.act(Action::Moment(400));
    page.act(Action::Select(Some((300.0, 500.0))));
    page.act(Action::Pin(AllocationId(7)));
    page.answer(details(7));
    let asked = page.adopt(100, 0.0, |carried| {
        carried.pinned = carried.pinned.map(|_| Thing::Allocation(AllocationId(2)));
    });
    assert_eq!(asked.places[0].cursor, Some(400));
    assert_eq!(
        asked.places[0].pinned,
        Some(Thing::Allocation(AllocationId(7)))
    );
    assert_eq!(page.view().cursor_moment(), Some(300));
    assert_eq!(page.view().range, Some((200.0, 400.0)));
    assert_eq!(page.pinned(), Some(2));
    // The details stay until the worker tells the new ones, and are asked for.
    assert_eq!(
        page.view().details.as_ref().unwrap().known.allocation,
        AllocationId(2)
    );
    assert!(page.view().stale.details);
    page.answer(details(2));
    assert!(!page.view().stale.details);
    // In the end all of it is gone.
    page.adopt(500, 0.0, |carried| carried.pinned = None);
    let view = page.view();
    assert_eq!((view.cursor, view.range, page.pinned()), (None, None, None));
}

/// The user goes on while the worker carries over what was there before.
#[test]
fn what_changed_meanwhile_is_not_undone() {
    let mut page = live_page();
    page.act(Action::Moment(400));
    page.act(Action::Pin(AllocationId(7)));
    page.adopt(100, 0.0, |carried| {
        carried.asked.cursor = Some(50);
        carried.asked.pinned = Some(Thing::Allocation(AllocationId(1)));
        carried.cursor = Some(3);
    });
    assert_eq!(page.view().cursor_moment(), Some(300));
    // Its number in the next version is not known.
    assert_eq!(page.pinned(), None);
}

#[test]
fn figures_of_the_cursor_stay_until_the_new_ones_come() {
    let mut page = live_page();
    page.act(Action::Moment(400));
    let facts = MomentFacts {
        moment: 400,
        x: 400.0,
        ..MomentFacts::default()
    };
    let placed = |facts| {
        Answer::Moment(Box::new(vramscope_protocol::PlacedMoment {
            device: 3,
            axis: Axis::Events,
            facts,
        }))
    };
    page.answer(placed(facts));
    page.adopt(100, 0.0, |_| {});
    let cursor = page.view().cursor.unwrap();
    assert_eq!(
        (cursor.moment, cursor.x, cursor.facts.unwrap().moment),
        (300, Some(300.0), 300)
    );
    assert!(page.view().stale.cursor);
}

#[test]
fn a_version_that_cannot_be_read_is_tried_again_and_changes_nothing() {
    let mut page = live_page();
    page.reply(1, Reply::Reloaded(Some(Box::default())));
    page.reply(1, Reply::Reloaded(Some(Box::default())));
    assert_eq!((page.file().failures, page.file().has_next), (2, false));
    assert!(adoption(page.file()).is_none());
    page.adopt(0, 0.0, |_| {});
    assert_eq!((page.file().failures, page.file().has_next), (0, false));
}

#[test]
fn closed_notes_stay_closed_and_addresses_are_of_the_file_alone() {
    let mut page = live_page();
    page.act(Action::DismissNote(0));
    page.act(Action::Moment(400));
    page.adopt(100, 0.0, |_| {});
    assert_eq!(page.file().open_notes().count(), 1);
    let link = permalink(&page.0).unwrap();
    assert_eq!(link.file.as_ref().unwrap().bytes, None);
    assert_eq!(link.place.cursor, None);
    // Going back does not lose the place.
    page.go(Navigation::ShowX(600.0, 700.0));
    page.act(Action::Restore(Box::new(link)));
    assert_eq!(
        (page.x(), page.view().cursor_moment()),
        ((600.0, 700.0), Some(300))
    );
}

#[test]
fn the_badge_tells_age_losses_and_the_end() {
    let mut page = live_page();
    let news = |is_written| News {
        version: "1".to_owned(),
        written_us: 5_200_000.0,
        is_written,
        is_gone: false,
    };
    let live = |is_written| Live {
        is_connected: true,
        ahead_us: 1_000_000.0,
        files: vec![Some(news(is_written))],
    };
    let badge = |page: &Page, live: &Live| live.badge(page.0.tab().unwrap(), 5_200_000.0).unwrap();
    assert_eq!(badge(&page, &live(Some(true))).text, "live, 1.2 s ago");
    assert!(!badge(&page, &live(Some(false))).is_live);
    let lost = Live {
        is_connected: false,
        ..live(None)
    };
    assert_eq!(badge(&page, &lost).text, "not connected, 1.2 s ago");
    let mut gone = live(None);
    gone.files = vec![Some(News {
        is_gone: true,
        ..news(None)
    })];
    assert_eq!(badge(&page, &gone).text, "file is gone, 1.2 s ago");
    // What is half written is read a moment later.
    let failure = || Failure {
        message: "no memory snapshot".to_owned(),
        ..Failure::default()
    };
    page.reply(1, Reply::Reloaded(Some(Box::new(failure()))));
    assert!(badge(&page, &live(None)).is_live);
    page.reply(1, Reply::Reloaded(Some(Box::new(failure()))));
    let said = badge(&page, &live(None));
    assert_eq!(said.text, "not readable, 1.2 s ago");
    assert!(
        said.title.ends_with("\nNo memory snapshot"),
        "{}",
        said.title
    );
    let mut ended = version(0.0, false);
    let recorded = ended.file.recorded.as_mut().unwrap();
    (recorded.lost_records, recorded.dropped_entries) = (1234, 1);
    page.reply(1, Reply::Opened(Box::new(ended)));
    let said = badge(&page, &live(Some(false)));
    assert_eq!(said.text, "ended, 1.0 s ago · 1,234 lost");
    assert!(
        said.title.contains("1 older event was let go") && !said.is_live,
        "{}",
        said.title
    );
    assert!(!page.0.tab().unwrap().is_live());
}
