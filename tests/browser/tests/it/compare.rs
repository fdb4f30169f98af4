//! Comparisons of two moments, devices and files, checked against core's numbers.

use std::cmp::Reverse;

use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::code::frame_groups::GroupOptions;
use vramscope_core::analysis::compare::changes::{Comparison, compare};
use vramscope_core::analysis::compare::headline::headline;
use vramscope_core::analysis::compare::names::names_apart;
use vramscope_core::analysis::compare::side::{Profile, ProfileNames, profile};
use vramscope_core::analysis::groups::turnover::turnover;
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::recording::{Device, Recording};
use vramscope_core::analysis::time::curves::{CurveAxis, Curves};
use vramscope_core::analysis::time::selection::Selection;
use vramscope_view::display;

use crate::PATIENCE;
use crate::open::{Open, fixture, open};

const ONE: &str = "synth/torch-2.10-py-p4.pickle";
const OTHER: &str = "torch-2.15.0/two_devices.pickle";

/// A file decoded natively, as the page decodes it.
struct Read(Recording);

impl Read {
    fn new(name: &str) -> Self {
        let bytes = std::fs::read(fixture(name)).unwrap();
        Self(Recording::of(vramscope_core::decode(&bytes[..]).unwrap()))
    }

    /// The device that the page shows first.
    fn first(&self) -> Device<'_> {
        let peak = |device: &Device<'_>| (device.peak_bytes(), Reverse(device.index()));
        self.0.devices().max_by_key(peak).unwrap()
    }

    fn profile(&self, device: Device<'_>, selection: Selection) -> Profile {
        let names = ProfileNames::of(&self.0, &GroupOptions::default());
        let curves = Curves::of(device.history, CurveAxis::Events, 10);
        profile(device, &names, selection, curves)
    }
}

fn open_compare(files: &[&str]) -> Open {
    let mut open = open("");
    for name in files {
        open.choose(&[fixture(name)]);
        open.painted();
    }
    open.page.key("8", Modifiers::NONE).unwrap();
    wait_for_rows(&mut open);
    open
}

fn wait_for_rows(open: &mut Open) {
    let rows = "!!document.querySelector('.compare .site-rows .site-row')";
    open.page.wait_for(rows, PATIENCE).unwrap();
}

/// Waits until a line of sums has this text.
fn wait_for_totals(open: &mut Open, text: &str) {
    let has = format!(
        "document.querySelector('.compare .totals')?.innerText.includes({})",
        serde_json::to_string(text).unwrap()
    );
    if open.page.wait_for(&has, PATIENCE).is_err() {
        panic!("no {text:?} in {:?}", open.page.text(".compare .totals"));
    }
}

/// The cells of the table's rows as the page shows them: before, after, difference, allocations.
fn cells(open: &mut Open) -> Vec<Vec<String>> {
    let script = "[...document.querySelectorAll('.compare .site-rows .site-row')].map(row => \
        [row.querySelector('.what').title, ...[...row.querySelectorAll('.number')].map(cell => cell.innerText.trim())])";
    let rows = open.page.eval(script).unwrap();
    serde_json::from_value(rows).unwrap()
}

fn check_rows(open: &mut Open, expected: &Comparison) {
    let shown = cells(open);
    let differing = expected.sites.iter().filter(|site| !site.change.is_none());
    assert_eq!(shown.len(), differing.clone().count());
    for (shown, site) in shown.iter().zip(differing) {
        let (before, after) = (site.change.before, site.change.after);
        let bytes = |count: u64, bytes: u64| {
            if count == 0 {
                "–".to_owned()
            } else {
                display::bytes(bytes)
            }
        };
        let row = [
            site.label.clone(),
            bytes(before.count, before.bytes),
            bytes(after.count, after.bytes),
            display::bytes_change(before.bytes, after.bytes),
            display::count_change(before.count, after.count),
        ];
        assert_eq!(shown[..5], row);
    }
}

#[test]
fn two_moments_of_one_file() {
    let read = Read::new(ONE);
    let device = read.first();
    let history = device.history;
    let (from, to) = (0, history.peak_moment);
    let mut open = open_compare(&[ONE]);
    let [before, after] = [from, to].map(|at| read.profile(device, Selection::LiveAt(at)));
    let expected = compare(&before, &after);
    wait_for_totals(
        &mut open,
        &display::bytes_change(before.total.bytes, after.total.bytes),
    );
    // One sentence comes first, and each row names its operators.
    let sentence = open.page.text(".compare .headline").unwrap();
    assert_eq!(
        sentence,
        headline(
            ["A", "B"],
            expected.total,
            &expected.sites,
            Property::CallSite
        )
    );
    let operators = "[...document.querySelectorAll('.compare .site-rows .site-row')].map(row => row.querySelector('.operators')?.innerText ?? '')";
    let operators: Vec<String> =
        serde_json::from_value(open.page.eval(operators).unwrap()).unwrap();
    let known = expected.sites.iter().filter(|site| !site.change.is_none());
    let known: Vec<_> = known.map(|site| site.operators.clone()).collect();
    assert_eq!(operators, known);
    assert!(known.iter().any(|operators| !operators.is_empty()));
    let found = turnover(history, device.site_of(), from, to).total;
    wait_for_totals(&mut open, &display::bytes(found.new.bytes));
    check_rows(&mut open, &expected);

    // After the sides are swapped, groups that had grown have shrunk.
    open.page.click_on(".compare .swap").unwrap();
    wait_for_totals(
        &mut open,
        &display::bytes_change(after.total.bytes, before.total.bytes),
    );
    open.page.click_on(".compare .swap").unwrap();

    // Another event, typed.
    let middle = history.event_count / 2;
    let typed = format!(
        "(() => {{ const input = document.querySelectorAll('.compare .event input')[1]; input.value = '{middle}'; \
         input.dispatchEvent(new Event('change', {{ bubbles: true }})); }})()"
    );
    open.page.eval(&typed).unwrap();
    let after = read.profile(device, Selection::LiveAt(middle));
    wait_for_totals(
        &mut open,
        &display::bytes_change(before.total.bytes, after.total.bytes),
    );

    // A click on a row filters all views by its call site.
    open.page.click_on(".compare .site-rows .site-row").unwrap();
    open.check_quiet();
}

#[test]
fn the_flame_graph_goes_closer_and_back() {
    let mut open = open_compare(&[ONE]);
    open.page
        .click_on(".compare .panel-bar .choice label:nth-child(2)")
        .unwrap();
    let boxes = "Number(document.querySelector('.signed-flame .flame-scroll')?.dataset.boxes)";
    open.page
        .wait_for(&format!("{boxes} > 3"), PATIENCE)
        .unwrap();
    let (x, y) = open.page.middle_of(".signed-flame .flame-scroll").unwrap();
    let top = "document.querySelector('.signed-flame .flame-scroll').getBoundingClientRect().top";
    let top = open.page.eval(top).unwrap().as_f64().unwrap();
    assert!(y > top);
    // The second row: the functions that the root calls.
    open.page.click(x / 2.0, top + 30.0, 1).unwrap();
    open.page
        .wait_for("!!document.querySelector('.flame-key button')", PATIENCE)
        .unwrap();
    open.page.key("Escape", Modifiers::NONE).unwrap();
    open.page
        .wait_for("!document.querySelector('.flame-key button')", PATIENCE)
        .unwrap();
    open.check_quiet();
}

#[test]
fn keys_scroll_the_flame_graph_to_what_they_choose() {
    let mut open = open_compare(&[OTHER]);
    open.page.set_viewport(1280, 520, 1.0).unwrap();
    open.page
        .click_on(".compare .panel-bar .choice label:nth-child(2)")
        .unwrap();
    let list = "document.querySelector('.signed-flame .flame-scroll')";
    let boxes = format!("Number({list}?.dataset.boxes) > 3");
    open.page.wait_for(&boxes, PATIENCE).unwrap();
    let is_higher = format!("{list}.scrollHeight > {list}.clientHeight");
    open.page.wait_for(&is_higher, PATIENCE).unwrap();
    open.page.eval(&format!("{list}.focus()")).unwrap();
    for _ in 0..30 {
        open.page.key("ArrowDown", Modifiers::NONE).unwrap();
    }
    let scrolled = format!("{list}.scrollTop > 0");
    open.page.wait_for(&scrolled, PATIENCE).unwrap();
    open.check_quiet();
}

#[test]
fn another_file_and_another_device() {
    let (one, other) = (Read::new(ONE), Read::new(OTHER));
    let mut open = open_compare(&[OTHER, ONE]);
    // A card for every device of either file.
    let devices = one.0.histories.len() + other.0.histories.len();
    let cards = "document.querySelectorAll('.all-strip .card svg').length";
    open.page
        .wait_for(&format!("{cards} == {devices}"), PATIENCE)
        .unwrap();
    // The two files that are open are compared at once, at their peaks; here, by the other file's first device.
    open.page.click_on(".all-strip .card .as button").unwrap();
    let (old, new) = (other.0.device(0).unwrap(), one.first());
    let peak = |read: &Read, device: Device<'_>| {
        read.profile(device, Selection::LiveAt(device.history.peak_moment))
    };
    let (before, after) = (peak(&other, old), peak(&one, new));
    let expected = compare(&before, &after);
    wait_for_totals(
        &mut open,
        &display::bytes_change(before.total.bytes, after.total.bytes),
    );
    let name = "document.querySelector('.compare .side.a .file').selectedOptions[0].text";
    let names = [OTHER, ONE].map(|path| path.rsplit('/').next().unwrap());
    assert_eq!(open.page.eval(name).unwrap(), names_apart(&names)[0]);
    check_rows(&mut open, &expected);

    // Settings that differ.
    open.page
        .click_on(".compare .panel-bar .choice label:nth-child(3)")
        .unwrap();
    open.page
        .wait_for("!!document.querySelector('.compare .figures')", PATIENCE)
        .unwrap();
    let rows = open
        .page
        .eval("document.querySelectorAll('.compare .settings tbody tr').length")
        .unwrap();
    assert_eq!(rows.as_u64(), Some(expected.settings.len() as u64));

    // Side B of the second card: the other device of the other file.
    open.page
        .click_on(".all-strip .card:nth-child(2) .as button:nth-child(2)")
        .unwrap();
    let second = peak(&other, other.0.device(1).unwrap());
    wait_for_totals(
        &mut open,
        &display::bytes_change(before.total.bytes, second.total.bytes),
    );

    // A click on a card shows its device.
    open.page
        .click_on(".all-strip .card:nth-child(2) > button")
        .unwrap();
    let current =
        "document.querySelector('.all-strip .card:nth-child(2)').classList.contains('current')";
    open.page.wait_for(current, PATIENCE).unwrap();
    open.check_quiet();
}
