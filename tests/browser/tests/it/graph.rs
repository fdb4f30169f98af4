//! Inductor graphs: a log of torch.compile opens as graphs, beside snapshots.

use std::path::PathBuf;

use vramscope_browser_tests::{Modifiers, root};

use crate::PATIENCE;
use crate::open::{Open, fixture, open};

pub(crate) fn graph(name: &str) -> PathBuf {
    root().join("tests/fixtures/planning/graphs").join(name)
}

fn with_graph(name: &str) -> Open {
    let mut open = open("");
    open.page.drop_files(640.0, 360.0, &[graph(name)]).unwrap();
    assert_eq!(open.painted().detail["view"], "graph");
    open
}

fn text(open: &mut Open, selector: &str) -> String {
    let text = format!("document.querySelector({selector:?})?.innerText ?? ''");
    open.page.eval(&text).unwrap().as_str().unwrap().to_owned()
}

fn wait(open: &mut Open, condition: &str) {
    open.page.wait_for(condition, PATIENCE).unwrap();
}

#[test]
fn a_dropped_export_shows_every_order_and_what_is_live_at_the_peak() {
    let mut open = with_graph("random_dag_40__0_model__0_inference_0_fused.orm.json.zst");
    let verdict = text(&mut open, ".verdict");
    assert!(
        verdict.starts_with("PyTorch would choose bfs: peak 942 KiB."),
        "{verdict}"
    );
    let orders = text(&mut open, ".orders");
    for expected in [
        "baseline",
        "1.29 MiB",
        "lpmf",
        "1017 KiB",
        "PyTorch's choice",
        "best found",
    ] {
        assert!(orders.contains(expected), "no {expected} in {orders}");
    }
    wait(
        &mut open,
        "document.querySelectorAll('.live-row').length > 5",
    );
    let title = text(&mut open, "[aria-label='Live buffers'] h3");
    assert_eq!(title, "Live at step 19, the peak: 18 buffers, 942 KiB");
    // None of a snapshot's views is offered.
    assert_eq!(
        open.page
            .eval("document.querySelectorAll('.rail, .search, .strip, .details').length")
            .unwrap(),
        0
    );
    open.check_quiet();
}

#[test]
fn keys_step_and_the_address_keeps_everything() {
    let mut open = with_graph("torch_trace_sample.log");
    wait(
        &mut open,
        "document.querySelector('.node-row + *, .vrow.active')",
    );
    let options = open
        .page
        .eval("document.querySelectorAll('.graph-head select option').length")
        .unwrap();
    assert_eq!(options, 2);
    open.page.key("]", Modifiers::NONE).unwrap();
    wait(
        &mut open,
        "document.querySelector('.graph-head select').selectedIndex === 1",
    );
    open.page.key("3", Modifiers::NONE).unwrap();
    wait(
        &mut open,
        "document.querySelector('.order[aria-checked=true]').innerText.includes('bfs')",
    );
    open.page.key("Home", Modifiers::NONE).unwrap();
    open.page.key("ArrowRight", Modifiers::NONE).unwrap();
    wait(
        &mut open,
        "document.querySelector('[aria-label=\"Live buffers\"] h3').innerText.startsWith('Live at step 1')",
    );
    open.page.click_on(".live-row .buffer").unwrap();
    wait(
        &mut open,
        "document.querySelector('.graph-buffer').innerText.includes('lives') || \
         document.querySelector('.graph-buffer').innerText.includes('from the beginning')",
    );
    for expected in [
        "view=graph",
        "graph.order=bfs",
        "graph.step=1",
        "graph.buffer=",
        "graph.name=",
    ] {
        wait(&mut open, &format!("location.hash.includes({expected:?})"));
    }
    open.check_quiet();
}

#[test]
fn graphs_and_snapshots_are_tabs_side_by_side() {
    let mut open = open("");
    open.choose(&[
        graph("torch_trace_sample.log"),
        fixture("torch-2.8.0/training.pickle"),
    ]);
    wait(
        &mut open,
        "document.querySelectorAll('[role=tab]').length === 2 && document.querySelector('.rail')",
    );
    // The tabs move while the snapshot's bar appears beside them; a click meanwhile may hit nothing.
    open.painted();
    open.page
        .click_on("[role=tab][aria-selected=false]")
        .unwrap();
    wait(&mut open, "document.querySelector('.view.graph')");
    assert_eq!(
        open.page.eval("document.querySelector('.rail')").unwrap(),
        serde_json::Value::Null
    );
    open.page
        .click_on("[role=tab][aria-selected=false]")
        .unwrap();
    wait(&mut open, "document.querySelector('.rail')");
    open.check_quiet();
}

#[test]
fn what_the_user_adds_is_in_every_figure() {
    let mut open = with_graph("torch_trace_sample.log");
    open.page.click_on(".graph-head input[type=text]").unwrap();
    open.page.type_text("1 GiB").unwrap();
    open.page.key("Enter", Modifiers::NONE).unwrap();
    wait(
        &mut open,
        "document.querySelector('.verdict').innerText.includes('1.00 GiB')",
    );
    wait(
        &mut open,
        "document.querySelector('[aria-label=\"Live buffers\"] h3').innerText.includes('1.00 GiB')",
    );
    open.check_quiet();
}

#[test]
fn a_size_that_is_none_stays_in_its_field_and_says_so() {
    let mut open = with_graph("torch_trace_sample.log");
    for (typed, says) in [("abc", "Not a size"), ("24", "24 what? Write 24GiB.")] {
        open.page.click_on(".graph-head input[type=text]").unwrap();
        open.page.key("a", Modifiers::CONTROL).unwrap();
        open.page.type_text(typed).unwrap();
        open.page.key("Enter", Modifiers::NONE).unwrap();
        let said =
            format!("(document.querySelector('.refusal')?.innerText ?? '').includes({says:?})");
        wait(&mut open, &said);
        let value = open
            .page
            .eval("document.querySelector('.graph-head input[type=text]').value")
            .unwrap();
        assert_eq!(value, typed);
    }
    assert_eq!(
        open.page
            .eval("document.documentElement.scrollWidth <= innerWidth")
            .unwrap(),
        true
    );
    open.check_quiet();
}

#[test]
fn a_search_can_be_stopped_and_go_on() {
    let mut open = with_graph("dag_200.orm.json.zst");
    let state = "document.querySelector('.search-state')?.innerText";
    wait(&mut open, &format!("{state} === 'stop'"));
    open.page.click_on(".search-state button").unwrap();
    wait(&mut open, &format!("{state} === 'search on'"));
    let verdict = text(&mut open, ".verdict");
    assert!(verdict.contains("no order can need less"), "{verdict}");
    open.page.click_on(".search-state button").unwrap();
    wait(&mut open, &format!("{state} === 'stop'"));
    open.check_quiet();
}

#[test]
fn a_buffer_under_the_pointer_is_marked_in_picture_and_lists() {
    let mut open = with_graph("random_dag_40__0_model__0_inference_0_fused.orm.json.zst");
    wait(&mut open, "document.querySelector('.live-row .buffer')");
    let (x_px, y_px) = open.page.middle_of("#live-3 .live-row").unwrap();
    open.page.mouse_move(x_px, y_px).unwrap();
    wait(&mut open, "document.querySelector('.bar-outline.hovered')");
    let (x_px, y_px) = open.page.middle_of(".bar-outline.hovered").unwrap();
    open.page.mouse_move(x_px, y_px).unwrap();
    wait(&mut open, "document.querySelector('#live-3.hovered')");
    open.page.click(x_px, y_px, 1).unwrap();
    wait(&mut open, "document.querySelector('.bar-outline.selected')");
    wait(&mut open, "document.querySelector('.vrow.active .buffer')");
    open.check_quiet();
}

#[test]
fn memory_by_step_can_be_taken_away() {
    let mut open = with_graph("torch_trace_sample.log");
    open.page
        .eval(
            "globalThis.saved = []; URL.createObjectURL = (make => blob => { \
             blob.text().then(text => saved.push(text)); return make(blob); })(URL.createObjectURL); null",
        )
        .unwrap();
    open.page.click_on(".share > button").unwrap();
    let item = "[...document.querySelectorAll('.share .item')].find(item => item.innerText.includes('by step'))";
    wait(&mut open, &format!("!!({item})"));
    open.page.eval(&format!("{item}.click(); null")).unwrap();
    wait(&mut open, "saved.length > 0");
    let csv = open.page.eval("saved[0]").unwrap();
    let csv = csv.as_str().unwrap();
    assert!(csv.starts_with("step,baseline_bytes,lpmf_bytes"), "{csv}");
    assert_eq!(csv.lines().count(), 5);
    open.check_quiet();
}

#[test]
fn a_log_without_graphs_says_how_to_get_them() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("dedicated_log_torch_trace_x.log");
    let line =
        "V1120 15:07:08.375000 7 torch/_logging/structured.py:28] {\"str\": [\"a.py\", 0]}\n";
    std::fs::write(&log, line.repeat(3)).unwrap();
    let mut open = open("");
    open.choose(&[log]);
    wait(&mut open, "document.querySelector('.card.failed')");
    let card = text(&mut open, ".card.failed");
    assert!(card.contains("reorder_for_peak_memory_debug"), "{card}");
    assert!(
        card.contains("TORCHINDUCTOR_FORCE_DISABLE_CACHES"),
        "{card}"
    );
    open.check_quiet();
}
