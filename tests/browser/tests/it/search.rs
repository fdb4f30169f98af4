//! The search box and the table of allocations, checked against core's results.

use vramscope_browser_tests::Modifiers;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::search::filter::{Filter, Pointed, Totals, matches, totals};
use vramscope_core::units::{Bytes, Count};

use crate::PATIENCE;
use crate::open::{Open, fixture, open_fixture};

const FILE: &str = "synth/scenario-annotated.pickle";

fn recording() -> Recording {
    let bytes = std::fs::read(fixture(FILE)).unwrap();
    Recording::of(vramscope_core::decode(&bytes[..]).unwrap())
}

/// The allocations that core finds with a filter.
fn expected(filter: &str) -> (Totals, usize) {
    let recording = recording();
    let device = recording.device(0).unwrap();
    let history = device.history;
    let filter = Filter::parse(filter).unwrap();
    let set = matches(&filter, device, Pointed::default()).set;
    (
        totals(history, Some(&set), history.peak_moment),
        history.allocations.len(),
    )
}

/// Types into the box as a user would, in place of its text.
fn search(open: &mut Open, text: &str) {
    open.page.key("/", Modifiers::NONE).unwrap();
    open.page.key("a", Modifiers::CONTROL).unwrap();
    open.page.type_text(text).unwrap();
    open.page.key("Escape", Modifiers::NONE).unwrap();
}

fn wait_for_text(open: &mut Open, selector: &str, text: &str) {
    let there =
        format!("(document.querySelector({selector:?})?.innerText ?? '').includes({text:?})");
    let found = open.page.wait_for(&there, PATIENCE);
    assert!(
        found.is_ok(),
        "no {text:?} in {:?}",
        open.page.text(selector)
    );
}

#[test]
fn the_box_says_what_the_analysis_finds() {
    let mut open = open_fixture(FILE);
    for filter in [
        "size>1MiB",
        "train.py freed",
        "live@peak (size>=4MiB | before)",
    ] {
        let (found, all) = expected(filter);
        assert!(found.count > 0, "{filter} finds nothing");
        search(&mut open, filter);
        let matches = if found.count == 1 { "match" } else { "matches" };
        let text = format!(
            "{} {matches}, at most {}",
            Count(found.count),
            Bytes(found.highest_bytes)
        );
        wait_for_text(&mut open, ".search-found", &text);
        let showing = format!(
            "showing {} of {} allocations",
            Count(found.count),
            Count(all as u64)
        );
        wait_for_text(&mut open, ".statusbar", &showing);
    }
    // N pins one after the other.
    open.page.key("n", Modifiers::NONE).unwrap();
    wait_for_text(&mut open, ".search-found", "1 of ");
    open.page.key("n", Modifiers::NONE).unwrap();
    wait_for_text(&mut open, ".search-found", "2 of ");
    // The status bar is drawn again where the view comes to rest.
    open.page.wait_until_settled(PATIENCE).unwrap();
    open.page.click_on(".statusbar .show-all").unwrap();
    open.page
        .wait_for("document.querySelector('#search').value === ''", PATIENCE)
        .unwrap();
    open.check_quiet();
}

#[test]
fn a_pool_is_chosen_by_keys_and_left_again() {
    let mut open = open_fixture("synth/scenario-pools.pickle");
    let options = "[...document.querySelectorAll('.topbar select')].find(of => of.options[0]?.text === 'all pools')";
    open.page
        .wait_for(&format!("!!{options}"), PATIENCE)
        .unwrap();
    let texts = format!("[...{options}.options].map(of => of.text).join('\\n')");
    let texts = open.page.eval(&texts).unwrap();
    let texts = texts.as_str().unwrap();
    for label in ["graph pool (1, 0), ", "MemPool (0, 1), ", "default pool, "] {
        assert!(texts.contains(label), "{texts}");
    }
    assert!(
        texts.contains("graphs.py:52 communication_buffer"),
        "{texts}"
    );
    open.page.eval(&format!("{options}.focus()")).unwrap();
    open.page.key("ArrowDown", Modifiers::NONE).unwrap();
    let searched = "document.querySelector('#search').value.startsWith('pool:')";
    open.page.wait_for(searched, PATIENCE).unwrap();
    wait_for_text(&mut open, ".statusbar", "showing ");
    open.page
        .wait_for(
            "decodeURIComponent(location.hash).includes('pool:')",
            PATIENCE,
        )
        .unwrap();
    // Views that follow no other search follow the pool: its reserved memory is the same in all.
    let chosen = format!("{options}.selectedOptions[0].text.match(/, ([\\d.]+ [KMG]iB)/)[1]");
    let reserved = open.page.eval(&chosen).unwrap();
    let reserved = reserved.as_str().unwrap().to_owned();
    open.page.eval("document.activeElement.blur()").unwrap();
    for (key, view) in [("1", ".overview"), ("9", ".what-if")] {
        open.page.key(key, Modifiers::NONE).unwrap();
        wait_for_text(&mut open, view, "These figures are of pool:");
        wait_for_text(&mut open, view, &reserved);
    }
    open.page.eval(&format!("{options}.focus()")).unwrap();
    open.page.key("ArrowUp", Modifiers::NONE).unwrap();
    open.page
        .wait_for("document.querySelector('#search').value === ''", PATIENCE)
        .unwrap();
    open.check_quiet();
}

#[test]
fn a_chosen_pool_has_one_peak_in_every_view() {
    const POOLS: &str = "synth/scenario-pools.pickle";
    let bytes = std::fs::read(fixture(POOLS)).unwrap();
    let whole = Recording::by_peak(vramscope_core::decode(&bytes[..]).unwrap());
    let pool = Filter::parse("pool:1,0").unwrap().pool().unwrap();
    let narrowed = whole.within_pools(|id| pool.matches(id));
    let (own, all) = (&narrowed.histories[0], &whole.histories[0]);
    assert_ne!(own.peak_moment, all.peak_moment);
    let peak = Bytes(own.peak_bytes()).to_string();
    let reserved = Bytes(own.most_reserved_bytes()).to_string();
    let reached = format!("with event {}", Count(own.peak_moment.into()));

    let mut open = open_fixture(POOLS);
    search(&mut open, "pool:1,0");
    open.page.key("1", Modifiers::NONE).unwrap();
    for text in [
        peak.as_str(),
        &reserved,
        "These figures are of pool:1,0 alone.",
    ] {
        wait_for_text(&mut open, ".overview", text);
    }
    for (key, view) in [
        ("2", ".timeline"),
        ("3", ".segments"),
        ("4", ".map"),
        ("5", ".allocator"),
        ("6", ".flame"),
        ("7", ".table"),
    ] {
        open.page.key(key, Modifiers::NONE).unwrap();
        let shown = format!("!!document.querySelector('.view{view}')");
        open.page.wait_for(&shown, PATIENCE).unwrap();
        for text in [&peak, &reserved, &reached] {
            wait_for_text(&mut open, ".details", text);
        }
        wait_for_text(
            &mut open,
            ".details",
            "These figures are of pool:1,0 alone.",
        );
        wait_for_text(&mut open, ".statusbar", &format!("of {peak} at the peak"));
    }
    wait_for_text(&mut open, ".details", "Live at the peak");
    open.page.key("2", Modifiers::NONE).unwrap();
    open.page.key("p", Modifiers::NONE).unwrap();
    let cursor = format!("location.hash.includes('at={}')", own.peak_moment);
    open.page.wait_for(&cursor, PATIENCE).unwrap();
    let active = format!("live {peak}");
    wait_for_text(&mut open, ".statusbar", &active);
    search(&mut open, "");
    let active = Bytes(all.active_bytes_at(own.peak_moment)).to_string();
    wait_for_text(&mut open, ".statusbar", &format!("live {active}"));
    open.check_quiet();
}

#[test]
fn what_is_wrong_is_underlined_and_words_are_completed() {
    let mut open = open_fixture(FILE);
    open.page.key("/", Modifiers::NONE).unwrap();
    open.page.type_text("size>big").unwrap();
    wait_for_text(&mut open, ".search-error", "write a size such as");
    assert_eq!(open.page.text(".search-echo .wrong").unwrap(), "big");
    open.page.key("a", Modifiers::CONTROL).unwrap();
    open.page.type_text("live@pe").unwrap();
    open.page
        .wait_for("!!document.querySelector('#search-options li')", PATIENCE)
        .unwrap();
    open.page.key("Tab", Modifiers::NONE).unwrap();
    open.page
        .wait_for(
            "document.querySelector('#search').value === 'live@peak '",
            PATIENCE,
        )
        .unwrap();
    open.check_quiet();
}

#[test]
fn the_table_lists_sorts_and_pins() {
    let mut open = open_fixture(FILE);
    open.page.key("7", Modifiers::NONE).unwrap();
    let recording = recording();
    let history = recording.device(0).unwrap().history;
    let mut bytes = history.allocations.bytes.clone();
    let all = format!("{} allocations", Count(bytes.len() as u64));
    wait_for_text(&mut open, ".table-bar", &all);
    bytes.sort_unstable();
    let largest = Bytes(bytes[bytes.len() - 1]).to_string();
    wait_for_text(&mut open, ".vrow", &largest);
    open.page.click_on("[data-column=Size]").unwrap();
    let smallest = Bytes(bytes[0]).to_string();
    wait_for_text(&mut open, ".vrow", &smallest);
    let count = "document.querySelectorAll('.vrow').length";
    let rows = open.page.eval(count).unwrap();
    assert!(rows.as_u64() < Some(100), "{rows} rows exist at once");
    // A click anywhere on a row pins its allocation: a row has no more columns than the view shows.
    open.page.set_viewport(1500, 900, 1.0).unwrap();
    let is_within =
        "(list => list.scrollWidth === list.clientWidth)(document.querySelector('.vlist'))";
    open.page.wait_for(is_within, PATIENCE).unwrap();
    open.page.click_on(".vrow").unwrap();
    wait_for_text(&mut open, ".details", "Pinned allocation");
    let (found, _) = expected("size>1MiB");
    search(&mut open, "size>1MiB");
    wait_for_text(
        &mut open,
        ".table-bar",
        &format!("{} allocations", Count(found.count)),
    );
    open.check_quiet();
}
