//! The page saves the pictures that `vramscope plot` draws: both are compared with the same snapshots.

use std::path::Path;
use std::rc::Rc;

use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::ids::AllocationId;
use vramscope_protocol::views::compare::{self, CurveAxis, Naming, SideData, SideSpec};
use vramscope_protocol::views::what_if::{Found, What};
use vramscope_protocol::{Answer, ColourBy, Extra, Question, Reply, ThemeName};
use vramscope_view::plot::views::Sheet;
use vramscope_view::stacked_curves::COLUMNS;
use vramscope_worker::Native;
use yew::Reducible;

use crate::engine::SessionId;
use crate::state::choices::{
    CompareChoices, ComparePanel, FlameChoices, FlameForm, LanesChoices, SettingChanges,
};
use crate::state::saved::Saved;
use crate::state::{Action, Chosen, Shared, State, ViewKind};

/// An open file: the state of the page and of its worker.
struct Page {
    worker: Native,
    state: Rc<State>,
}

impl Page {
    fn open(fixture: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
        let bytes = std::fs::read(folder.join(fixture)).unwrap();
        let worker = Native::new(vramscope_core::decode(&bytes[..]).unwrap());
        let name = fixture.rsplit('/').next().unwrap();
        let opened = worker.opened(name);
        let mut page = Self {
            worker,
            state: Rc::new(State::default()),
        };
        let (id, name) = (SessionId(1), name.to_owned());
        page.act(Action::Open {
            id,
            name,
            linked_host: None,
            served: None,
        });
        page.act(Action::Reply(
            id,
            Shared::new(Reply::Opened(Box::new(opened))),
        ));
        page
    }

    fn act(&mut self, action: Action) {
        self.state = self.state.clone().reduce(action);
    }

    fn ask(&mut self, question: &Question) -> Option<Extra> {
        Some(self.worker.answer(question)?.1)
    }

    /// Chooses memory pools, as a search.
    fn narrow(&mut self, pools: &str) {
        self.act(Action::Search(pools.to_owned()));
        let devices = self.worker.narrow(pools).unwrap();
        let answer = Answer::Devices(Box::new(devices));
        self.act(Action::Answer(SessionId(1), Shared::new(answer)));
    }

    /// The SVG file that the page saves.
    fn saved(&mut self) -> String {
        let sheet = Sheet {
            width_px: 640,
            height_px: 400,
            is_flexible: false,
            pixel_ratio: 1.0,
            theme: ThemeName::Light,
        };
        let question: Question = match Saved::of(&self.state, sheet) {
            Some(Saved::View(question)) => question.into(),
            Some(Saved::Comparison(_, question)) => question.into(),
            None => panic!("no picture of {:?}", self.state.view),
        };
        match self.ask(&question) {
            Some(Extra::Bytes(svg)) => String::from_utf8(svg).unwrap(),
            other => panic!("{other:?}"),
        }
    }
}

/// Compares an SVG with the snapshot of the command line's test of that name, which leaves out embedded images.
fn assert_plotted(svg: &str, test: &str) {
    let name = format!("../vramscope-cli/tests/it/snapshots/it__plot__{test}.snap");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let snapshot = std::fs::read_to_string(path).unwrap();
    let plotted = snapshot.splitn(3, "---\n").nth(2).unwrap();
    let mut parts = svg.split("data:image/png;base64,");
    let mut text = parts.next().unwrap().to_owned();
    for part in parts {
        let (_, rest) = part.split_once('"').unwrap();
        text.push_str("PNG\"");
        text.push_str(rest);
    }
    assert!(
        text.trim_end() == plotted.trim_end(),
        "{test}: the page saves\n{text}"
    );
}

#[test]
fn timelines() {
    for (fixture, test) in [
        (
            "synth/scenario-annotated.pickle",
            "timeline_with_annotations_and_reserved_memory",
        ),
        ("torch-2.15.0/oom_observer.pickle", "timeline_of_a_failure"),
    ] {
        let mut page = Page::open(fixture);
        page.act(Action::View(ViewKind::Timeline));
        assert_plotted(&page.saved(), test);
    }
}

#[test]
fn a_timeline_of_a_pool() {
    let mut page = Page::open("synth/scenario-pools.pickle");
    page.act(Action::View(ViewKind::Timeline));
    page.narrow("pool:1,0");
    assert_plotted(&page.saved(), "timeline_of_a_pool");
}

#[test]
fn a_timeline_with_lines_that_the_user_asks_for() {
    let mut page = Page::open("torch-2.15.0/private_pools.pickle");
    page.act(Action::View(ViewKind::Timeline));
    page.act(Action::ColourBy(ColourBy::Pool));
    page.act(Action::Choose(Chosen::Lanes(LanesChoices {
        reserved: Some(true),
        capacity: Some(true),
        ..LanesChoices::default()
    })));
    assert_plotted(&page.saved(), "timeline_of_private_pools");
}

#[test]
fn a_timeline_with_a_replay() {
    let mut page = Page::open("torch-2.15.0/private_pools.pickle");
    page.act(Action::View(ViewKind::Timeline));
    let plain = page.saved();
    let settings = SettingChanges {
        expandable_segments: Some(true),
        ..SettingChanges::default()
    };
    let found = Found {
        within: None,
        device: page.worker.recording().histories[0].device,
        what: What::Replay {
            changes: settings.text(),
            reserved_steps: vec![(0, 2 << 20), (9, 40 << 20)],
        },
    };
    page.act(Action::DrawReplay(Box::new(settings)));
    assert_eq!(page.saved(), plain, "it is not known yet");
    page.worker.take(found);
    let drawn = page.saved();
    assert!(drawn != plain && drawn.contains("reserved, replayed"));
    page.act(Action::View(ViewKind::Map));
    assert!(!page.saved().contains("replayed"));
}

#[test]
fn segments_and_map() {
    let mut page = Page::open("torch-2.15.0/expandable_grown.pickle");
    page.act(Action::View(ViewKind::Segments));
    assert_plotted(&page.saved(), "segments_that_expand");
    let mut page = Page::open("torch-2.15.0/streams_pending.pickle");
    page.act(Action::View(ViewKind::Map));
    assert_plotted(&page.saved(), "map_of_two_streams");
}

#[test]
fn the_allocator_at_the_cursor() {
    let mut page = Page::open("torch-2.15.0/streams_pending.pickle");
    page.act(Action::View(ViewKind::Allocator));
    page.act(Action::Moment(
        page.worker.recording().histories[0].event_count,
    ));
    assert_plotted(&page.saved(), "state_with_its_blocks_as_shapes");
}

#[test]
fn a_flame_graph() {
    let mut page = Page::open("torch-2.15.0/oom_observer.pickle");
    page.act(Action::View(ViewKind::Flame));
    page.act(Action::Choose(Chosen::Flame(FlameChoices {
        form: FlameForm::Flame,
        grouping: compare::FrameGrouping::Function,
        ..FlameChoices::default()
    })));
    assert_plotted(&page.saved(), "flame_standing_on_its_root");
}

#[test]
fn a_flame_graph_from_pools_to_code() {
    let mut page = Page::open("torch-2.15.0/private_pools.pickle");
    page.act(Action::View(ViewKind::Flame));
    page.act(Action::Choose(Chosen::Flame(FlameChoices {
        by_place: true,
        ..FlameChoices::default()
    })));
    assert_plotted(&page.saved(), "flame_from_pools_to_code");
}

#[test]
fn a_flame_graph_of_a_search() {
    let mut page = Page::open("torch-2.15.0/oom_observer.pickle");
    page.act(Action::View(ViewKind::Flame));
    page.act(Action::Search("size>11MiB".to_owned()));
    assert_plotted(&page.saved(), "flame_of_a_search");
}

#[test]
fn two_moments_compared() {
    let mut page = Page::open("torch-2.15.0/oom_observer.pickle");
    page.act(Action::View(ViewKind::Compare));
    page.act(Action::Choose(Chosen::Compare(CompareChoices {
        panel: ComparePanel::Flame,
        ..CompareChoices::default()
    })));
    let history = &page.worker.recording().histories[0];
    let [before, after] = [0, history.peak_moment].map(|moment| {
        SideData::Here(SideSpec {
            device: history.device,
            selection: Selection::LiveAt(moment),
            axis: CurveAxis::Events,
            columns: COLUMNS,
        })
    });
    let naming = Naming::default();
    let compared = compare::Question::Compare {
        before,
        after,
        naming,
    };
    page.ask(&compared.into()).unwrap();
    assert_plotted(&page.saved(), "two_moments_compared");
}

#[test]
fn a_picture_shows_what_is_searched_for_and_seen() {
    let mut page = Page::open("torch-2.15.0/training.pickle");
    page.act(Action::View(ViewKind::Timeline));
    let whole = page.saved();
    page.act(Action::Search("size>1MiB".to_owned()));
    let searched = page.saved();
    assert!(searched.contains("search: size&gt;1MiB") && !whole.contains("search"));
    let x_end = page.state.file().unwrap().bounds().unwrap().x_end;
    page.act(Action::Navigate(crate::state::Navigation::ShowX(
        0.0,
        x_end / 4.0,
    )));
    assert!(page.saved().contains("live at the highest moment shown"));
}

#[test]
fn tables_are_no_pictures() {
    let mut page = Page::open("torch-2.15.0/training.pickle");
    let sheet = Sheet {
        width_px: 640,
        height_px: 400,
        is_flexible: true,
        pixel_ratio: 1.0,
        theme: ThemeName::Dark,
    };
    for view in [ViewKind::Overview, ViewKind::Table, ViewKind::Compare] {
        page.act(Action::View(view));
        assert_eq!(Saved::of(&page.state, sheet), None, "{view:?}");
    }
}

#[test]
fn what_the_user_marked_is_no_part_of_a_picture() {
    let mut page = Page::open("torch-2.15.0/training.pickle");
    page.act(Action::View(ViewKind::Timeline));
    let plain = page.saved();
    page.act(Action::Pin(AllocationId(0)));
    assert_eq!(page.saved(), plain);
}
