//! The page loads from any folder of any host, and makes no request to others.

use std::fs;
use std::path::Path;
use std::time::Duration;

use vramscope_browser_tests::page_folder;
use vramscope_browser_tests::views::VIEWS;

use crate::PATIENCE;
use crate::open::{Open, fixture, open, open_in, open_slowly};

#[test]
fn the_page_comes_up_and_says_what_to_do() {
    let mut open = open("");
    let text = open.page.text("main").unwrap();
    assert!(text.contains("Nothing leaves this page"), "{text}");
    assert!(text.contains("_record_memory_history"), "{text}");
    open.check_quiet();
}

#[test]
fn the_area_to_drop_files_on_is_there_before_the_module_and_does_not_move() {
    let mut open = open_slowly();
    let area = "(() => { const area = document.querySelector('.drop-area'), box = area.getBoundingClientRect(); \
                return [area.innerText, box.x, box.y, box.width, box.height].join(); })()";
    let early = open.page.wait_for(area, PATIENCE).unwrap();
    let input = "!!document.querySelector('input[type=file]')";
    assert_eq!(
        open.page.eval(input).unwrap(),
        false,
        "the module was quick"
    );
    open.page.slow_network(1e9, 0.0).unwrap();
    open.wait_until_up();
    assert_eq!(open.page.eval(area).unwrap(), early);
    open.check_quiet();
}

#[test]
fn a_file_that_is_dropped_before_the_module_is_there_opens_once_it_is() {
    let mut open = open_slowly();
    let listening = "performance.getEntriesByName('vramscope:listening').length";
    open.page.wait_for(listening, PATIENCE).unwrap();
    let file = fixture("torch-2.8.0/training.pickle");
    open.page.drop_files(640.0, 400.0, &[file]).unwrap();
    let told = open.page.text(".drop-area").unwrap();
    assert!(told.contains("training.pickle"), "{told}");
    open.page.slow_network(1e9, 0.0).unwrap();
    open.painted();
    open.check_quiet();
}

#[test]
fn nothing_is_asked_for_after_load() {
    let mut open = open("");
    open.page.pause(Duration::from_millis(500)).unwrap();
    let asked = open.server.requests().len();
    open.choose(&[fixture("torch-2.8.0/training.pickle")]);
    open.painted();
    let (across, down) = open.point(0.5, 0.6);
    open.page
        .wheel(
            across,
            down,
            -300.0,
            vramscope_browser_tests::Modifiers::NONE,
        )
        .unwrap();
    open.painted();
    open.page.click(across, down, 1).unwrap();
    show_every_view(&mut open);
    open.page.eval("history.go(-5)").unwrap();
    open.page.pause(Duration::from_millis(500)).unwrap();
    let after: Vec<_> = open.server.requests().split_off(asked);
    assert!(after.is_empty(), "asked for {after:?} with a file open");
    open.check_quiet();
}

/// Shows one view after the other, each as a step of the history.
fn show_every_view(open: &mut Open) {
    for view in VIEWS {
        let button = format!(".rail [data-view={view}]");
        open.page.click_on(&button).unwrap();
        let shown = format!("location.hash.includes('view={view}')");
        open.page.wait_for(&shown, PATIENCE).unwrap();
        open.page.pause(Duration::from_millis(200)).unwrap();
    }
}

#[test]
fn nothing_runs_in_the_page_but_its_own_code() {
    let mut open = open("");
    let ran = "(async () => {
        globalThis.ran = [];
        const script = document.createElement('script');
        script.textContent = 'ran.push(1)';
        const link = document.createElement('a');
        link.href = 'javascript:ran.push(2)';
        document.body.append(script, link);
        document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"ran.push(3)\">');
        link.click();
        await import('data:text/javascript,ran.push(4)').catch(() => {});
        // Not at once: what DevTools evaluates may call eval.
        setTimeout(() => eval('ran.push(5)'));
        await new Promise(done => setTimeout(done, 300));
        return ran;
    })()";
    assert_eq!(open.page.eval(ran).unwrap(), serde_json::json!([]));
}

#[test]
fn the_page_works_from_any_folder() {
    let site = tempfile::tempdir().unwrap();
    let folder = site.path().join("some/deep folder");
    copy(&page_folder(), &folder);
    let mut open = open_in(site.path(), "some/deep%20folder/index.html");
    open.wait_until_up();
    open.page.click_on(".sample").unwrap();
    open.painted();
    open.check_quiet();
    let inside = |path: &String| path.starts_with("/some/deep%20folder/");
    assert!(
        open.server.requests().iter().all(inside),
        "{:?}",
        open.server.requests()
    );
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}
