//! The page's address: there and back.

use super::*;
use vramscope_protocol::{SegmentPreview, Thing};
use vramscope_view::address::Pinned;

#[test]
fn an_address_brings_back_what_was_seen() {
    let mut page = Page::with_file();
    page.act(Action::View(ViewKind::Map));
    page.act(Action::Axis(vramscope_protocol::Axis::Time));
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
    later.open(5, "a.pickle");
    later.reply(5, Reply::Opened(Box::new(opened())));
    assert!(later.0.wanted.is_none());
    page.act(Action::View(ViewKind::Timeline));
    page.act(Action::Device(1));
    page.act(Action::Search(String::new()));
    page.act(Action::Restore(Box::new(link)));
    for page in [&page, &later] {
        assert_eq!(permalink(&page.0).unwrap().to_text(), text);
        assert_eq!(page.view().pinned(), Some(AllocationId(7)));
        assert_eq!(page.view().cursor_moment(), Some(321));
        assert_eq!(page.x(), (1e6, 2e6));
        assert_eq!(page.0.search.text, "size>1MiB");
    }
}

#[test]
fn a_pinned_event_is_told_and_brought_back() {
    let mut page = Page::with_file();
    page.act(Action::ChooseEvent(321));
    let link = permalink(&page.0).unwrap();
    page.key("Escape");
    page.act(Action::Restore(Box::new(link)));
    assert_eq!(page.view().pinned_event(), Some(321));
}

#[test]
fn a_pinned_segment_is_told_and_brought_back() {
    let mut page = Page::with_file();
    page.hover(HitOn::Segment(Box::new(SegmentPreview {
        piece: 12,
        x: (10.0, 20.0),
        y: (0.0, 4096.0),
        ..SegmentPreview::default()
    })));
    page.click();
    let pin = page.view().pin.clone();
    let link = permalink(&page.0).unwrap();
    assert!(link.to_text().contains("&pin=segment:12&"));
    page.act(Action::Restore(Box::new(link.clone())));
    assert_eq!(page.view().pin, pin, "with its place");
    page.key("Escape");
    page.act(Action::Restore(Box::new(link)));
    assert_eq!(page.view().pinned_thing(), Some(Thing::Segment(12)));
    let before = page.view().region;
    page.go(Navigation::FitPinned);
    assert_eq!(page.view().region, before, "its place is not known");
}

#[test]
fn a_pinned_group_is_told_and_brought_back() {
    let several = || HitOn::Several(vramscope_protocol::Composition::default());
    let mut page = Page::with_file();
    page.hover(several());
    page.click();
    let link = permalink(&page.0).unwrap();
    let pixel = match link.place.pinned {
        Some(Pinned::Group(pixel)) => pixel,
        other => panic!("{other:?}"),
    };
    let answer = |on| {
        let mut hit = match page.hit(on) {
            Answer::Hit(hit) => hit,
            other => panic!("{other:?}"),
        };
        (hit.draw.viewport, hit.at_px) = (picture_of(pixel), (0.0, 0.0));
        Answer::Hit(hit)
    };
    for (on, pinned) in [
        (several(), Some("group")),
        (one(7), Some("7")),
        (HitOn::Nothing, None),
    ] {
        let mut later = Page::with_file();
        later.act(Action::Restore(Box::new(link.clone())));
        assert_eq!(later.view().unknown_group(), Some(pixel));
        let cursor = later.view().cursor;
        assert_eq!(permalink(&later.0).unwrap().place.pinned, link.place.pinned);
        later.answer(answer(on));
        assert_eq!(
            (later.view().unknown_group(), later.view().cursor),
            (None, cursor)
        );
        let text = permalink(&later.0).unwrap().to_text();
        let told = text.split('&').find_map(|word| word.strip_prefix("pin="));
        assert_eq!(told.map(|told| told.split(':').next().unwrap()), pinned);
        if pinned == Some("group") {
            let before = later.view().region;
            later.go(Navigation::FitPinned);
            let after = later.view().region;
            assert!(after.x_min <= pixel.x.0 && pixel.x.1 <= after.x_max && after != before);
        }
    }
}

#[test]
fn the_same_file_opened_twice_is_told_apart() {
    let mut page = Page::with_file();
    page.open(2, "a.pickle");
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
    page.open(2, "a.pickle");
    let mut other = opened();
    other.file.file_bytes = 2;
    page.reply(2, Reply::Opened(Box::new(other)));
    assert!(page.0.wanted.is_some() && page.view().pinned().is_none());
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
    assert_eq!(page.view().pinned(), None);
}

#[test]
fn a_link_waits_for_its_own_file() {
    let mut link = permalink(&Page::with_file().0).unwrap();
    link.file.as_mut().unwrap().name = "other.pickle".to_owned();
    let mut page = Page(Rc::new(State::default()));
    page.act(Action::Restore(Box::new(link)));
    page.open(1, "a.pickle");
    page.reply(1, Reply::Opened(Box::new(opened())));
    assert!(page.0.wanted.is_some());
}
