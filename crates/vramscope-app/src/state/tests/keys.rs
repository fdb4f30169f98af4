//! Keys, and what the page keeps for all files.

use vramscope_protocol::ThemeName;

use super::super::keys::HELP;
use super::*;

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

/// Keys that the help lists and that are one character do something, wherever they are said to.
#[test]
fn the_help_is_true() {
    let mut page = Page::with_file();
    page.act(Action::View(ViewKind::Timeline));
    page.act(Action::Pin(AllocationId(7)));
    page.act(Action::Search("gradient".into()));
    let live = super::live::live_page();
    // The list of ranks takes its own keys.
    let topics = HELP.iter().filter(|(topic, _)| *topic != "Ranks of a job");
    let topics = topics.flat_map(|(_, lines)| *lines);
    let listed = topics.flat_map(|(keys, _)| *keys);
    let single = listed.filter(|key| key.chars().count() == 1 && !"…←→↑↓".contains(**key));
    let mut count = 0;
    for key in single {
        let press = Press {
            key: key.to_lowercase(),
            ..Press::default()
        };
        // Only a file that changes can be followed.
        let state = if *key == "L" { &live.0 } else { &page.0 };
        assert!(command(&press, state).is_some(), "{key} does nothing");
        count += 1;
    }
    assert!(count > 15, "only {count} keys");
}

#[test]
fn shift_and_an_arrow_moves_the_cursor_by_a_hundredth_of_what_is_visible() {
    let mut page = Page::with_file();
    page.act(Action::View(ViewKind::Timeline));
    let mut press = |key: &str| {
        let press = Press {
            key: key.into(),
            shift: true,
            ..Press::default()
        };
        let Some(Command::Act(action)) = command(&press, &page.0) else {
            panic!("{key} does nothing");
        };
        page.act(action);
        page.view().cursor_moment()
    };
    // From the peak, with 999 events in sight.
    assert_eq!(press("ArrowRight"), Some(610));
    assert_eq!(press("ArrowLeft"), Some(600));
    page.go(Navigation::ShowX(100.0, 120.0));
    page.act(Action::Scrub(110));
    let region = page.view().region;
    page.act(Action::StepCursor(false));
    assert_eq!(page.view().cursor_moment(), Some(109));
    page.act(Action::Scrub(4_000));
    assert_eq!(page.view().cursor_moment(), Some(999), "the last moment");
    assert_eq!(page.view().region, region, "the picture stays");
}

#[test]
fn the_flame_graph_below_the_timeline_is_in_the_address() {
    let mut page = Page::with_file();
    page.act(Action::View(ViewKind::Timeline));
    assert!(!page.0.is_split());
    page.key("g");
    assert!(page.0.is_split());
    let split = page.0.choices.split.with_percent(99.0);
    assert_eq!(split.percent, 80.0, "the timeline keeps some room");
    page.act(Action::Choose(Chosen::Split(split.with_percent(33.333))));
    let text = permalink(&page.0).unwrap().to_text();
    assert!(text.contains("split.percent=33.3") && text.contains("split.flame=!t"));
    let read = Permalink::parse(&text).unwrap();
    assert_eq!(read.choices.split, page.0.choices.split);
    page.act(Action::View(ViewKind::Map));
    assert!(!page.0.is_split(), "other views have no flame graph below");
    assert_eq!(page.key("g"), None);
}

#[test]
fn every_view_has_a_key() {
    let mut page = Page::with_file();
    let keys = (1..10).map(|number| number.to_string());
    for (key, view) in keys.chain(["r".to_owned()]).zip(ViewKind::ALL) {
        page.key(&key);
        assert_eq!(page.0.view, view, "{key}");
    }
}
