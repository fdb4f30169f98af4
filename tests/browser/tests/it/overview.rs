//! The overview and the facts, checked against core's results; links to evidence open its view.

use vramscope_browser_tests::Modifiers;
use vramscope_core::Snapshot;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::report::findings::{FindingKind, is_calm};
use vramscope_core::analysis::report::overview::{Overview, overview};
use vramscope_core::units::{Bytes, Count};

use crate::PATIENCE;
use crate::open::{Open, fixture, open_fixture};

fn decoded(name: &str) -> Snapshot {
    let bytes = std::fs::read(fixture(name)).unwrap();
    vramscope_core::decode(&bytes[..]).unwrap()
}

/// Core's results for a file's first device.
fn expected(snapshot: &Snapshot) -> Overview {
    let recording = Recording::of(snapshot.clone());
    overview(recording.device(0).unwrap(), 10)
}

/// Goes to a view by its key and waits until it shows `what`.
fn go(open: &mut Open, key: &str, what: &str) {
    open.page.key(key, Modifiers::NONE).unwrap();
    let there = format!("!!document.querySelector('{what}')");
    open.page.wait_for(&there, PATIENCE).unwrap();
}

#[test]
fn an_oom_is_explained_and_leads_to_its_moment() {
    let name = "torch-2.15.0/oom_after.pickle";
    let found = expected(&decoded(name));
    let mut open = open_fixture(name);
    go(&mut open, "1", ".finding.problem");
    let titles = open.page.text(".findings").unwrap();
    for finding in &found.findings {
        assert!(
            titles.contains(&finding.title),
            "no {:?} in {titles}",
            finding.title
        );
        assert!(
            titles.contains(&finding.seen),
            "no {:?} in {titles}",
            finding.seen
        );
    }
    assert_eq!(found.findings[0].kind, FindingKind::OutOfMemory);
    // Pointing at the parts of the first bar and their sum shows the exact bytes.
    let titles = "[...document.querySelectorAll('.gap table td')].map(cell => cell.title)";
    let table = open.page.eval(titles).unwrap().to_string();
    let gap = &found.gaps[0].gap;
    for bytes in [
        gap.requested_bytes,
        gap.rounding_bytes,
        gap.partly_bytes,
        gap.reserved_bytes,
    ] {
        let exact = format!("\"{} bytes\"", Count(bytes));
        assert!(table.contains(&exact), "no {exact} in {table}");
    }
    let sites = open.page.text(".sites").unwrap();
    let largest = Bytes(found.peak_sites.rows[0].bytes).to_string();
    assert!(sites.contains(&largest), "no {largest} in {sites}");
    // The evidence: the allocator's state at the failure, then the stacks of the live memory. Other settings, which may
    // arrive later, come before these.
    let follow = |open: &mut Open, word: &str, view: &str| {
        let button = format!(".finding.problem .evidence button[title='Show in {word}']");
        open.page.wait_until_settled(PATIENCE).unwrap();
        open.page.click_on(&button).unwrap();
        let there = format!("!!document.querySelector('.rail [data-view={view}][aria-current]')");
        open.page.wait_for(&there, PATIENCE).unwrap();
    };
    follow(&mut open, "Allocator", "allocator");
    go(&mut open, "1", ".finding.problem");
    follow(&mut open, "Flame", "flame");
    let live = "[...document.querySelectorAll('.view option')].some(of => of.selected && of.textContent.includes('event 24'))";
    open.page.wait_for(live, PATIENCE).unwrap();
    open.check_quiet();
}

#[test]
fn a_banner_that_explains_hands_on_the_focus() {
    let mut open = open_fixture("torch-2.15.0/oom_after.pickle");
    open.page.click_on(".banner button").unwrap();
    let focused = "document.activeElement?.matches('.view.overview')";
    open.page.wait_for(focused, PATIENCE).unwrap();
    open.check_quiet();
}

#[test]
fn a_state_alone_says_first_what_it_cannot_tell() {
    let mut open = open_fixture("synth/scenario-state-only.pickle");
    go(&mut open, "1", ".findings");
    let first = open.page.text(".column > section").unwrap();
    assert!(first.contains("why a job died is not known"), "{first}");
    open.check_quiet();
}

#[test]
fn steps_and_a_healthy_run() {
    let name = "synth/scenario-annotated.pickle";
    let found = expected(&decoded(name));
    assert!(is_calm(&found.findings));
    let mut open = open_fixture(name);
    go(&mut open, "1", ".steps tbody tr");
    let told = open.page.text(".findings").unwrap();
    // The conclusion of the replays replaces the first sentence, sometimes before it can be read.
    let is_calm = ["Nothing found that looks wrong", "would be reserved with"];
    assert!(is_calm.iter().any(|text| told.contains(text)), "{told}");
    assert!(told.contains("No growth per step"), "{told}");
    let rows = open
        .page
        .eval("document.querySelectorAll('.steps tbody tr').length")
        .unwrap();
    assert_eq!(rows.as_u64(), Some(8));
    // The conclusion of the replays comes last: little.
    let calm = "document.querySelector('.findings').innerText.includes('104 MiB would be reserved with expandable_segments:True, not 108 MiB')";
    open.page.wait_for(calm, PATIENCE).unwrap();
    open.page.click_on(".steps tbody button").unwrap();
    let there = "!!document.querySelector('.rail [data-view=timeline][aria-current]') && !!document.querySelector('.range')";
    open.page.wait_for(there, PATIENCE).unwrap();
    open.check_quiet();
}

#[test]
fn facts_explain_settings_and_pinned_memory() {
    let name = "torch-2.15.0/pinned.pickle";
    let list = Recording::of(decoded(name)).settings();
    let mut open = open_fixture(name);
    // The tenth view has no digit as a key.
    open.page.click_on(".rail [data-view=facts]").unwrap();
    let there = "!!document.querySelector('.settings tbody tr')";
    open.page.wait_for(there, PATIENCE).unwrap();
    let rows = open
        .page
        .eval("document.querySelectorAll('.settings tbody tr').length")
        .unwrap();
    assert_eq!(rows.as_u64(), Some(list.len() as u64));
    let text = open.page.text(".settings").unwrap();
    for setting in &list {
        assert!(
            text.contains(&setting.key) && text.contains(&setting.meaning),
            "{setting:?}"
        );
    }
    assert!(
        open.page
            .text(".host")
            .unwrap()
            .contains("7 segments obtained")
    );
    open.check_quiet();
}

#[test]
fn a_file_without_segments_says_so() {
    let mut open = open_fixture("torch-2.15.0/profile_to_snapshot.pickle");
    go(&mut open, "1", ".gap");
    assert!(open.page.text(".gap").unwrap().contains("not known"));
    open.check_quiet();
}
