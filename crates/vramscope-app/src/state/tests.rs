//! The page driven without a browser.

use std::rc::Rc;

use yew::Reducible;

use super::keys::{Command, Press, command};
use super::permalink::once_shown;
use super::*;
use crate::protocol::{
    Axes, Bounds, Details, DeviceFacts, DrawRequest, EventPlace, Failure, FileFacts, Heights, Hit,
    HitOn, Look, Note, NoteLevel, Opened, Preview, Progress, RangeFacts,
};
use vramscope_core::analysis::report::details::{
    AllocationBrief, AllocationDetails, EventMark, Life,
};
use vramscope_core::analysis::time::lifetime::Lifetime;
use vramscope_core::ids::EventId;

const EVENTS: f64 = 1_000.0;
const PEAK: u64 = 8 << 30;

/// A page, changed one action at a time.
struct Page(Rc<State>);

impl Page {
    /// With one file that has two devices, the second without times.
    fn with_file() -> Self {
        let mut page = Self(Rc::new(State::default()));
        page.act(Action::Open {
            id: SessionId(1),
            name: "a.pickle".into(),
        });
        page.reply(1, Reply::Opened(Box::new(opened())));
        page
    }

    fn act(&mut self, action: Action) {
        self.0 = self.0.clone().reduce(action);
    }

    fn reply(&mut self, id: u32, reply: Reply) {
        self.act(Action::Reply(SessionId(id), Box::new(reply)));
    }

    fn answer(&mut self, answer: Answer) {
        self.act(Action::Answer(SessionId(1), answer));
    }

    fn go(&mut self, navigation: Navigation) {
        self.act(Action::Navigate(navigation));
    }

    fn file(&self) -> &OpenFile {
        self.0.file().unwrap()
    }

    fn view(&self) -> &DeviceView {
        self.file().view().unwrap()
    }

    fn x(&self) -> (f64, f64) {
        (self.view().region.x_min, self.view().region.x_max)
    }

    fn key(&mut self, key: &str) -> Option<Command> {
        let pressed = command(
            &Press {
                key: key.into(),
                ..Press::default()
            },
            &self.0,
        );
        if let Some(Command::Act(action)) = &pressed {
            self.act(action.clone());
        }
        pressed
    }
}

fn opened() -> Opened {
    let note = |text: &str| Note {
        level: NoteLevel::Warning,
        text: text.into(),
        advice: String::new(),
        places: Vec::new(),
        moment: None,
    };
    let device = |device, times: Option<f64>| DeviceFacts {
        lines: crate::protocol::views::lanes::LineFacts::default(),
        device,
        events: 999,
        allocations: 50,
        peak_bytes: PEAK,
        peak_moment: 600,
        final_bytes: 0,
        peak_reserved_bytes: 0,
        time_span_us: None,
        axes: Axes {
            events: Bounds::new(EVENTS, PEAK),
            time: times.map(|end| Bounds::new(end, PEAK)),
        },
        heights: Heights::default(),
        ooms: 0,
        notes: vec![note("of the device")],
    };
    Opened {
        file: FileFacts {
            name: "a.pickle".into(),
            file_bytes: 1,
            decoded_bytes: 1,
            format: String::new(),
            producer: String::new(),
            events: 999,
            stacks: 1,
            model_bytes: 1,
            worker_bytes: 1,
            read_ms: 1.0,
        },
        devices: vec![device(3, Some(5e6)), device(0, None)],
        notes: vec![note("of the file")],
    }
}

/// Where the pointer is in these tests, device px.
const AT_PX: (f64, f64) = (30.0, 20.0);

impl Page {
    /// What the worker answers about a place of what is shown now.
    fn hit_at(&self, at_px: (f64, f64), on: HitOn) -> Answer {
        Answer::Hit(Box::new(Hit {
            draw: DrawRequest {
                look: Look {
                    device: self.file().facts().unwrap().device,
                    axis: self.file().axis,
                    ..Look::default()
                },
                viewport: self.view().region.viewport((640, 480)),
            },
            at_px,
            moment: None,
            on,
        }))
    }

    fn hit(&self, on: HitOn) -> Answer {
        self.hit_at(AT_PX, on)
    }

    fn hover(&mut self, on: HitOn) {
        let answer = self.hit(on);
        self.answer(answer);
    }

    fn click(&mut self) {
        self.act(Action::Click(Picture::Timeline, AT_PX));
    }

    fn pinned(&self) -> Option<u32> {
        self.view().pinned.map(|allocation| allocation.0)
    }
}

fn one(allocation: u32) -> HitOn {
    HitOn::One(Preview {
        allocation: AllocationId(allocation),
        brief: AllocationBrief {
            requested_bytes: 512,
            ..AllocationBrief::default()
        },
        user_frame: String::new(),
        remarks: String::new(),
    })
}

fn details(allocation: u32) -> Answer {
    let mark = |moment: u32| {
        Some(EventMark {
            number: moment - 1,
            event: EventId(moment - 1),
            time_us: None,
            since_start_us: Some(i64::from(moment) * 10),
        })
    };
    Answer::Details(Box::new(Details {
        known: AllocationDetails {
            device: 3,
            allocation: AllocationId(allocation),
            life: Life {
                alloc: mark(100),
                free_requested: mark(300),
                free_completed: mark(301),
                ..Life::default()
            },
            name: "b7_0".into(),
            address: 7,
            requested_bytes: 512,
            block: None,
            block_bytes_at_least: 512,
            stream: None,
            stream_index: None,
            pool: None,
            category: None,
            user_metadata: None,
            compile_context: None,
            internal_metadata: None,
            annotations: Vec::new(),
            ranges: Vec::new(),
            stack: Vec::new(),
            frames_left_out: 0,
            stack_source: None,
            forward_frames: Vec::new(),
            active_bytes_after: 512,
        },
        place: EventPlace {
            moments: (100, 301),
            time_us: None,
            edges_bytes: (1e9, 2e9),
            map_bytes: (3e9, 4e9),
        },
        properties: Vec::new(),
        free_stack: None,
    }))
}

#[test]
fn a_file_is_opened_read_and_closed() {
    let mut page = Page(Rc::new(State::default()));
    page.act(Action::Open {
        id: SessionId(1),
        name: "a".into(),
    });
    page.act(Action::Open {
        id: SessionId(2),
        name: "b".into(),
    });
    assert_eq!(page.0.tab().unwrap().name, "b");
    page.reply(
        1,
        Reply::Progress(Progress {
            done_bytes: 7,
            ..Progress::default()
        }),
    );
    assert!(matches!(
        page.0.tabs[0].phase,
        Phase::Opening(Progress { done_bytes: 7, .. })
    ));
    page.reply(
        2,
        Reply::Failed(Box::new(Failure {
            message: "no".into(),
            ..Failure::default()
        })),
    );
    assert!(matches!(&page.0.tabs[1].phase, Phase::Failed(failure) if failure.message == "no"));
    page.reply(1, Reply::Opened(Box::new(opened())));
    // A late word on progress does not take the picture away.
    page.reply(1, Reply::Progress(Progress::default()));
    assert!(page.0.tabs[0].ready().is_some());
    page.act(Action::Close(SessionId(2)));
    assert_eq!(page.0.current, Some(SessionId(1)));
    page.act(Action::Close(SessionId(1)));
    assert_eq!(page.0.current, None);
    // What a closed file's worker still says is nobody's.
    page.reply(1, Reply::Ready);
}

#[test]
fn tabs_go_round() {
    let mut page = Page::with_file();
    page.act(Action::Open {
        id: SessionId(2),
        name: "b".into(),
    });
    page.act(Action::SwitchBy(1));
    assert_eq!(page.0.current, Some(SessionId(1)));
    page.act(Action::SwitchBy(-1));
    assert_eq!(page.0.current, Some(SessionId(2)));
    page.act(Action::ShowStart);
    assert!(page.0.tab().is_none() && page.0.tabs.len() == 2);
}

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
fn a_click_pins_what_is_hovered() {
    let mut page = Page::with_file();
    page.act(Action::Details(false));
    page.hover(one(7));
    page.click();
    assert_eq!(page.view().pinned, Some(AllocationId(7)));
    assert!(page.0.details_open);
    page.answer(details(8));
    assert!(page.view().details.is_none(), "of another allocation");
    page.answer(details(7));
    assert!(page.view().details.is_some());
    page.hover(HitOn::Nothing);
    page.click();
    assert_eq!(page.view().pinned, None);
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
fn a_click_on_a_shared_pixel_goes_closer() {
    let mut page = Page::with_file();
    let before = page.view().region;
    page.hover(HitOn::Several(crate::protocol::Composition::default()));
    page.click();
    let after = page.view().region;
    assert!(after.x_max - after.x_min < (before.x_max - before.x_min) / 2.0);
    assert!(
        after.y_max_bytes - after.y_min_bytes < (before.y_max_bytes - before.y_min_bytes) / 2.0
    );
    assert_eq!(page.pinned(), None);
}

#[test]
fn the_way_to_a_failed_allocation() {
    let mut page = Page::with_file();
    page.go(Navigation::Oom(700));
    assert_eq!(page.view().cursor_x(), Some(700.0));
    assert!((page.view().region.x_min..page.view().region.x_max).contains(&700.0));
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
fn an_answer_about_another_device_is_dropped() {
    let mut page = Page::with_file();
    let stale = page.hit(one(7));
    page.click();
    page.act(Action::Device(1));
    page.click();
    page.answer(stale);
    assert_eq!(page.pinned(), None);
    assert!(page.view().hovered.is_none());
    page.act(Action::Device(0));
    assert_eq!((page.pinned(), page.view().clicked), (None, None));
}

#[test]
fn an_answer_about_another_device_keeps_to_its_picture() {
    let mut page = Page::with_file();
    page.act(Action::Pin(AllocationId(7)));
    page.go(Navigation::FitPinned);
    page.act(Action::Device(1));
    // Nothing is reserved: this picture has no height.
    page.act(Action::View(ViewKind::Segments));
    page.answer(details(7));
    let shown = page.file().views[0].region;
    assert!(shown.y_max_bytes > 2e9, "{shown:?}");
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
    assert!(!page.0.box_mode && page.view().pinned.is_some());
    page.key("Escape");
    assert!(page.view().pinned.is_none() && page.view().range.is_some());
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
fn a_device_without_times_stays_with_events() {
    let mut page = Page::with_file();
    page.key("t");
    page.act(Action::Device(1));
    assert_eq!(page.file().axis, Axis::Events);
    page.key("t");
    assert_eq!(page.file().axis, Axis::Events);
    page.act(Action::Device(9));
    assert_eq!(page.file().device, 1);
}

#[test]
fn a_closed_note_of_the_file_stays_closed_on_all_devices() {
    let mut page = Page::with_file();
    page.act(Action::DismissNote(0));
    page.act(Action::DismissNote(1));
    assert_eq!(page.file().open_notes().count(), 0);
    page.act(Action::Device(1));
    let open: Vec<_> = page
        .file()
        .open_notes()
        .map(|(_, note)| note.text.as_str())
        .collect();
    assert_eq!(open, ["of the device"]);
    page.act(Action::RestoreNotes);
    assert_eq!(page.file().open_notes().count(), 2);
}

#[test]
fn keys_mean_nothing_without_a_file_but_help_and_open() {
    let mut page = Page(Rc::new(State::default()));
    assert_eq!(page.key("p"), None);
    assert_eq!(page.key("o"), Some(Command::PickFiles));
    page.key("?");
    assert!(page.0.help_open);
    assert_eq!(page.key("o"), None, "the help is in the way");
    let with_ctrl = Press {
        key: "0".into(),
        ctrl: true,
        ..Press::default()
    };
    assert_eq!(
        command(&with_ctrl, &Page::with_file().0),
        None,
        "the browser's own zoom"
    );
}

#[test]
fn caps_lock_does_not_turn_the_search_round() {
    let mut page = Page::with_file();
    page.act(Action::Search("gradient".into()));
    let next = |key: &str, shift| {
        let press = Press {
            key: key.into(),
            shift,
            ..Press::default()
        };
        command(&press, &page.0)
    };
    for (key, shift) in [("n", false), ("N", false), ("N", true), ("n", true)] {
        let expected = Command::Act(Action::NextMatch(!shift));
        assert_eq!(next(key, shift), Some(expected), "{key}, Shift: {shift}");
    }
}

#[test]
fn the_panel_keeps_its_width_in_bounds() {
    let mut page = Page::with_file();
    page.act(Action::DetailsWidth(9_000.0));
    assert_eq!(page.0.details_width_px, DETAILS_WIDTH_PX.1);
    page.act(Action::DetailsWidth(0.0));
    assert_eq!(page.0.details_width_px, DETAILS_WIDTH_PX.0);
}

#[test]
fn themes_follow_the_system_until_told_otherwise() {
    assert_eq!(ThemeChoice::System.resolve(true), ThemeName::Dark);
    assert_eq!(ThemeChoice::Light.resolve(true), ThemeName::Light);
    assert_eq!(
        ThemeChoice::System.next(false).next(false).next(false),
        ThemeChoice::System
    );
}

#[test]
fn sentences_read_well() {
    let life = Life {
        lifetime: Lifetime {
            events: 1,
            us: Some(1_500),
            at_least: true,
        },
        ..Life::default()
    };
    assert_eq!(
        sentences::life(&life),
        "before recording → still live · more than 1 event, 1.50 ms"
    );
    assert_eq!(
        sentences::block(1_000, 1_024),
        "1.00 KiB, 24 B of it rounding"
    );
    let progress = Progress {
        done_bytes: 1 << 20,
        total_bytes: Some(4 << 20),
        ..Progress::default()
    };
    assert_eq!(
        sentences::progress(&progress),
        "Fetching · 1.00 MiB of 4.00 MiB"
    );
    assert_eq!(sentences::fraction(&progress), Some(0.25));
    let dump = sentences::hex_dump(b"\x80\x04}q\x00hello world!");
    assert_eq!(dump.lines().count(), 2);
    assert!(
        dump.starts_with(
            "00000000  80 04 7d 71 00 68 65 6c 6c 6f 20 77 6f 72 6c 64  ..}q.hello world\n"
        ),
        "{dump}"
    );
}

#[test]
fn an_address_brings_back_what_was_seen() {
    let mut page = Page::with_file();
    page.act(Action::View(ViewKind::Map));
    page.act(Action::Axis(crate::protocol::Axis::Time));
    page.go(Navigation::ShowX(1e6, 2e6));
    page.act(Action::Select(Some((1.2e6, 1.3e6))));
    page.act(Action::Pin(AllocationId(7)));
    page.act(Action::Moment(321));
    page.act(Action::Search("size>1MiB".into()));
    page.act(Action::ColourBy(ColourBy::Stream));
    let link = permalink(&page.0).unwrap();
    let text = link.to_text();

    // In another page, before its file is there, and in the same one after everything has changed.
    let mut later = Page(Rc::new(State::default()));
    later.act(Action::Restore(Box::new(Permalink::parse(&text).unwrap())));
    assert!(later.0.current.is_none() && later.0.wanted.is_some());
    later.act(Action::Open {
        id: SessionId(5),
        name: "a.pickle".into(),
    });
    later.reply(5, Reply::Opened(Box::new(opened())));
    assert!(later.0.wanted.is_none());
    page.act(Action::View(ViewKind::Timeline));
    page.act(Action::Device(1));
    page.act(Action::Search(String::new()));
    page.act(Action::Restore(Box::new(link)));
    for page in [&page, &later] {
        assert_eq!(permalink(&page.0).unwrap().to_text(), text);
        assert_eq!(page.view().pinned, Some(AllocationId(7)));
        assert_eq!(page.view().cursor_moment(), Some(321));
        assert_eq!(page.x(), (1e6, 2e6));
        assert_eq!(page.0.search.text, "size>1MiB");
    }
}

#[test]
fn the_same_file_opened_twice_is_told_apart() {
    let mut page = Page::with_file();
    page.act(Action::Open {
        id: SessionId(2),
        name: "a.pickle".into(),
    });
    page.reply(2, Reply::Opened(Box::new(opened())));
    page.act(Action::Pin(AllocationId(7)));
    let second = permalink(&page.0).unwrap();
    page.act(Action::Switch(SessionId(1)));
    let first = permalink(&page.0).unwrap();
    assert_eq!(permalink::change(&first, &second), permalink::Change::Step);
    for (link, id) in [(second.clone(), 2), (first, 1)] {
        let link = Permalink::parse(&link.to_text()).unwrap();
        page.act(Action::Restore(Box::new(link)));
        assert_eq!(page.0.current, Some(SessionId(id)));
    }
    // Elsewhere it may be open only once.
    let mut other = Page::with_file();
    other.act(Action::Restore(Box::new(second)));
    assert_eq!(other.pinned(), Some(7));
}

#[test]
fn an_address_in_other_words_is_no_step() {
    let mut page = Page::with_file();
    for text in [
        "file=a.pickle~1&device=3&v=1",
        "file=a.pickle~1&copy=9&at=4000000&v=1",
        "",
    ] {
        let link = Permalink::parse(text).unwrap_or_default();
        assert_eq!(
            once_shown(&link, &State::default()).is_some(),
            text.is_empty()
        );
        page.act(Action::Restore(Box::new(link.clone())));
        let seen = permalink(&page.0).unwrap();
        let before = once_shown(&link, &page.0).unwrap();
        assert_eq!(
            permalink::change(&before, &seen),
            permalink::Change::None,
            "{text}"
        );
    }
}

#[test]
fn an_address_of_another_file_waits_for_it() {
    let mut page = Page::with_file();
    page.act(Action::Pin(AllocationId(7)));
    let link = permalink(&page.0).unwrap();
    page.act(Action::Close(SessionId(1)));
    page.act(Action::Restore(Box::new(link)));
    // The same name, but another size.
    page.act(Action::Open {
        id: SessionId(2),
        name: "a.pickle".into(),
    });
    let mut other = opened();
    other.file.file_bytes = 2;
    page.reply(2, Reply::Opened(Box::new(other)));
    assert!(page.0.wanted.is_some() && page.view().pinned.is_none());
    page.act(Action::Restore(Box::default()));
    assert!(page.0.current.is_none() && page.0.wanted.is_none());
}

#[test]
fn an_address_that_fits_no_file_is_cut_to_what_there_is() {
    let mut page = Page::with_file();
    let text = "file=a.pickle~1&device=9&axis=time&x=-5..1e12&range=3..4&at=4000000&pin=5000&v=1";
    page.act(Action::Restore(Box::new(Permalink::parse(text).unwrap())));
    assert_eq!(page.file().device, 0);
    assert_eq!(page.x(), (0.0, 5e6));
    assert_eq!(page.view().cursor_moment(), Some(999));
    assert_eq!(page.view().pinned, None);
}

/// Keys that the help lists and that are one character do something, wherever they are said to.
#[test]
fn the_help_is_true() {
    let mut page = Page::with_file();
    page.act(Action::View(ViewKind::Timeline));
    page.act(Action::Pin(AllocationId(7)));
    page.act(Action::Search("gradient".into()));
    let topics = keys::HELP.iter().flat_map(|(_, lines)| *lines);
    let listed = topics.flat_map(|(keys, _)| *keys);
    let single = listed.filter(|key| key.chars().count() == 1 && !"…←→↑↓".contains(**key));
    let mut count = 0;
    for key in single {
        let press = Press {
            key: key.to_lowercase(),
            ..Press::default()
        };
        assert!(command(&press, &page.0).is_some(), "{key} does nothing");
        count += 1;
    }
    assert!(count > 15, "only {count} keys");
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
