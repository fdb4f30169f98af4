//! Files, tabs and devices.

use super::*;

#[test]
fn a_file_is_opened_read_and_closed() {
    let mut page = Page(Rc::new(State::default()));
    page.open(1, "a");
    page.open(2, "b");
    assert_eq!(page.0.tab().unwrap().name, "b");
    assert_eq!(page.0.title(), "b – vramscope");
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
    assert_eq!(page.0.title(), "vramscope");
    // What a closed file's worker still says is nobody's.
    page.reply(1, Reply::Ready);
}

#[test]
fn tabs_go_round() {
    let mut page = Page::with_file();
    page.open(2, "b");
    page.act(Action::SwitchBy(1));
    assert_eq!(page.0.current, Some(SessionId(1)));
    page.act(Action::SwitchBy(-1));
    assert_eq!(page.0.current, Some(SessionId(2)));
    page.act(Action::ShowStart);
    assert!(page.0.tab().is_none() && page.0.tabs.len() == 2);
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
fn segments_have_colours_of_their_own() {
    let mut page = Page::with_file();
    assert_eq!(page.0.colours(), ColourBy::CallSite);
    page.act(Action::View(ViewKind::Segments));
    assert_eq!(page.0.colours(), ColourBy::Size);
}

#[test]
fn a_comparison_begins_with_the_file_that_stands_out() {
    use crate::state::choices::CompareChoices;
    use crate::state::sides::{compared, side};
    let mut page = Page(Rc::new(State::default()));
    for (id, gib) in [(1, 8), (2, 8), (3, 8), (4, 12), (5, 8)] {
        page.open(id, &format!("rank{id}"));
        let mut opened = opened();
        opened.devices.truncate(1);
        opened.devices[0].peak_bytes = gib << 30;
        page.reply(id, Reply::Opened(Box::new(opened)));
    }
    let tabs = &page.0.tabs;
    let sides = |current, tabs: &[Rc<Tab>]| {
        let choices = compared(&CompareChoices::default(), tabs, SessionId(current));
        [&choices.before, &choices.after]
            .map(|choice| side(choice, tabs, SessionId(current)).unwrap().id.0)
    };
    assert_eq!(sides(5, tabs), [5, 4]);
    assert_eq!(sides(4, tabs), [1, 4], "the median and the odd one");
    // Of two files none stands out.
    assert_eq!(sides(2, &tabs[..2]), [1, 2]);
    assert_eq!(sides(2, &tabs[..3]), [1, 2], "all alike");
}

#[test]
fn a_file_opens_where_there_is_something_to_see() {
    let view_of = |change: fn(&mut DeviceFacts)| {
        let mut page = Page(Rc::new(State::default()));
        page.open(1, "a");
        let mut opened = opened();
        opened.devices.iter_mut().for_each(change);
        page.reply(1, Reply::Opened(Box::new(opened)));
        page.0.view
    };
    assert_eq!(view_of(|_| {}), ViewKind::Timeline);
    assert_eq!(view_of(|of| of.has_trace = false), ViewKind::Overview);
    let empty = |of: &mut DeviceFacts| {
        (of.has_trace, of.allocations, of.peak_reserved_bytes) = (false, 0, 0);
    };
    assert_eq!(view_of(empty), ViewKind::Facts);
}
