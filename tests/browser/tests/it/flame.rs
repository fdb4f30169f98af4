//! The flame graph, the call tree and the sandwich, checked against core's results.

use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::code::call_tree::{
    CallTree, Chains, Paths, StackSums, TreeOptions, functions,
};
use vramscope_core::analysis::code::frame_groups::{FrameGroups, GroupOptions, GroupTable};
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::time::selection::{Selection, Weight};
use vramscope_view::display;
use vramscope_view::flame::{heavy_path, layout, open_rows};

use crate::PATIENCE;
use crate::open::{Open, fixture, open_fixture};

const FIXTURE: &str = "torch-2.15.0/recorded_late.pickle";

/// Core's results for the fixture at its peak.
struct Expected {
    table: GroupTable,
    paths: Paths,
    tree: CallTree,
}

impl Expected {
    fn new() -> Self {
        let bytes = std::fs::read(fixture(FIXTURE)).unwrap();
        let recording = Recording::by_peak(vramscope_core::decode(&bytes[..]).unwrap());
        let device = recording.devices().next().unwrap();
        let (snapshot, history) = (device.snapshot(), device.history);
        let mut table = GroupTable::default();
        let groups = FrameGroups::of(
            snapshot,
            recording.classes(),
            &GroupOptions::default(),
            &mut table,
        );
        let asked = TreeOptions {
            selection: Selection::LiveAt(history.peak_moment),
            weight: Weight::Bytes,
            only: None,
            matches: None,
        };
        let sums = StackSums::of(snapshot, history, device.call_sites(), &asked);
        let paths = Paths::of(snapshot, &groups, &sums);
        let tree = CallTree::top_down(&paths);
        Self { table, paths, tree }
    }

    fn label(&self, node: u32) -> String {
        self.table.get(self.tree.group[node as usize]).label.clone()
    }
}

/// Opens the view with the fixture.
fn open_flame() -> Open {
    let mut open = open_fixture(FIXTURE);
    open.page.key("6", Modifiers::NONE).unwrap();
    wait(
        &mut open,
        "!!document.querySelector('.flame-scroll[data-boxes]')",
    );
    open
}

fn wait(open: &mut Open, until: &str) {
    open.page.wait_for(until, PATIENCE).unwrap();
}

fn texts(open: &mut Open, script: &str) -> Vec<String> {
    let found = open.page.eval(script).unwrap();
    let found = found.as_array().unwrap().iter();
    found
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// Chooses one of the view's forms by its index.
fn choose_form(open: &mut Open, place: usize) {
    let label = format!(".flame-tools .choice:first-child label:nth-child({place})");
    open.page.click_on(&label).unwrap();
}

const TITLES: &str =
    "[...document.querySelectorAll('.flame-rows .flame-row .label')].map(row => row.title)";
const TOTALS: &str = "[...document.querySelectorAll('.flame-rows .flame-row')].map(row => row.querySelector('.number').innerText)";

#[test]
fn boxes_are_those_of_the_tree_and_can_be_focused() {
    let expected = Expected::new();
    let mut open = open_flame();
    let total = display::bytes(expected.tree.total[0].bytes);
    assert_eq!(open.page.text(".flame-head strong").unwrap(), total);
    let place = "(() => { const { x, y } = document.querySelector('.flame-scroll').getBoundingClientRect(); const list = document.querySelector('.flame-scroll'); return [x, y, list.clientWidth, +list.dataset.boxes] })()";
    let place = open.page.eval(place).unwrap();
    let number = |at: usize| place[at].as_f64().unwrap();
    // A chain of callers with a single callee each is one box.
    let chains = Chains::of(&expected.tree, false, &[]);
    let boxes = layout(&chains.tree, 0, number(2)).boxes.len();
    assert_eq!(number(3) as usize, boxes);

    // Below the root is its heaviest child.
    let (x, y) = (number(0) + 30.0, number(1) + 30.0);
    open.page.mouse_move(x, y).unwrap();
    wait(&mut open, "!!document.querySelector('.flame .tooltip')");
    let tip = open.page.text(".flame .tooltip").unwrap();
    let heaviest = display::bytes(chains.tree.total[1].bytes);
    assert!(tip.starts_with(&heaviest), "{tip} is not of {heaviest}");
    open.page.click(x, y, 1).unwrap();
    wait(&mut open, "!!document.querySelector('.flame-focus')");
    let focus = "[document.querySelector('.flame-focus').title]";
    assert_eq!(texts(&mut open, focus), [expected.label(chains.named[1])]);
    open.page.key("Backspace", Modifiers::NONE).unwrap();
    wait(&mut open, "!document.querySelector('.flame-focus')");
    open.check_quiet();
}

#[test]
fn rows_are_those_of_the_tree_and_open() {
    let expected = Expected::new();
    let mut open = open_flame();
    choose_form(&mut open, 3);
    wait(
        &mut open,
        "!!document.querySelector('.flame-rows .flame-row')",
    );
    // A chain of callers with a single callee each is one row.
    let chains = Chains::of(&expected.tree, false, &[]);
    let heavy = heavy_path(&chains.tree);
    let rows = open_rows(&chains.tree, |chain| heavy.contains(&chain));
    let label = |row: u32| {
        assert!(!chains.is_trunk(row), "the fixture has no trunk");
        expected.label(chains.named[row as usize])
    };
    let labels: Vec<String> = rows.iter().map(|&row| label(row)).collect();
    assert_eq!(texts(&mut open, TITLES), labels);
    let totals = rows
        .iter()
        .map(|&row| chains.tree.total[row as usize].bytes);
    let totals: Vec<String> = totals.map(display::bytes).collect();
    assert_eq!(texts(&mut open, TOTALS), totals);
    // When the first row is closed, only the root's children are left.
    open.page.click_on(".flame-rows .flame-row .label").unwrap();
    wait(&mut open, "!!document.querySelector('.flame-row.chosen')");
    open.page.click_on(".flame-row.chosen .turn").unwrap();
    let children = expected.tree.children(0).count();
    let closed =
        format!("document.querySelectorAll('.flame-rows .flame-row').length === {children}");
    wait(&mut open, &closed);
    open.check_quiet();
}

#[test]
fn the_sandwich_lists_functions_and_shows_both_sides() {
    let expected = Expected::new();
    let mut open = open_flame();
    choose_form(&mut open, 4);
    wait(
        &mut open,
        "!!document.querySelector('.flame-rows .flame-row')",
    );
    let rows = functions(&expected.paths);
    let label = |row: usize| expected.table.get(rows[row].group).label.clone();
    let seen = texts(&mut open, TITLES);
    let labels: Vec<String> = (0..seen.len()).map(label).collect();
    assert_eq!(seen, labels);
    open.page
        .click_on(".flame-rows .flame-row:nth-child(2)")
        .unwrap();
    let callers = format!(
        "Callers of {}: {}",
        label(1),
        display::bytes(rows[1].total.bytes)
    );
    let sides =
        "[...document.querySelectorAll('.flame-sides .flame-scroll')].map(side => side.ariaLabel)";
    wait(
        &mut open,
        &format!("{sides}[0] === {}", serde_json::json!(callers)),
    );
    open.check_quiet();
}
