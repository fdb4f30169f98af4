//! Accessibility, checked by axe: nothing is wrong on the start page, in any view, in either theme, and in an element.

use std::fs;

use vramscope_browser_tests::views::VIEWS;
use vramscope_browser_tests::{Page, page_folder};

use crate::PATIENCE;
use crate::open::{open, open_in};

/// The script, from the folder of tools; `None` if it does not exist.
#[expect(clippy::print_stdout, reason = "says what it skips")]
fn axe() -> Option<String> {
    let folder = std::env::var_os("VRAMSCOPE_CONSUMERS")?;
    let script = std::path::Path::new(&folder).join("node_modules/axe-core/axe.min.js");
    match fs::read_to_string(&script) {
        Ok(script) => Some(script),
        Err(_) => {
            println!("skipped: no {}", script.display());
            None
        }
    }
}

/// Problems found by axe: rule, element, and how to fix it.
const RUN: &str = "axe.run({resultTypes: ['violations']}).then(({violations}) => violations.flatMap(({id, nodes}) => \
     nodes.map(({target, failureSummary}) => `${id}: ${target.join(' ')}: ${failureSummary}`)).join('\\n'))";

fn faults(page: &mut Page, place: &str) -> Vec<String> {
    let found = page.eval(RUN).unwrap();
    let found = found.as_str().unwrap_or_default().lines();
    found.map(|fault| format!("{place}: {fault}")).collect()
}

#[test]
fn axe_finds_nothing_wrong() {
    let Some(axe) = axe() else { return };
    let mut open = open("");
    open.page.eval(&format!("{axe}; null")).unwrap();
    let mut found = faults(&mut open.page, "start");
    let sample = "document.querySelector('.sample').click()";
    open.page.eval(sample).unwrap();
    open.painted();
    for (theme, size) in [
        ("light", "1280×720"),
        ("dark", "1280×720"),
        ("light", "700×300"),
    ] {
        let (width, height) = size.split_once('×').unwrap();
        let (width_px, height_px) = (width.parse().unwrap(), height.parse().unwrap());
        open.page.set_viewport(width_px, height_px, 1.0).unwrap();
        open.page
            .eval(&format!(
                "document.documentElement.dataset.theme = '{theme}'; null"
            ))
            .unwrap();
        for (place, view) in VIEWS.into_iter().enumerate() {
            let show = format!("document.querySelectorAll('.rail button')[{place}].click()");
            open.page.eval(&show).unwrap();
            open.page.wait_until_settled(PATIENCE).unwrap();
            found.extend(faults(&mut open.page, &format!("{view}, {theme}, {size}")));
        }
    }
    assert_eq!(found, [""; 0], "{found:#?}");
}

#[test]
fn axe_finds_nothing_wrong_with_the_element() {
    let Some(axe) = axe() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(page_folder(), folder.path().join("viewer")).unwrap();
    let page = "<!doctype html><html lang=en><title>docs</title><script type=module src=viewer/viewer.js></script><main><h1>docs</h1>\
         <vramscope-viewer src=viewer/samples/leak.pickle.gz reveal=click></vramscope-viewer></main>";
    fs::write(folder.path().join("docs.html"), page).unwrap();
    let mut host = open_in(folder.path(), "docs.html");
    host.page.eval(&format!("{axe}; null")).unwrap();
    let root = "document.querySelector('vramscope-viewer').shadowRoot";
    host.page
        .wait_for(&format!("!!{root}?.querySelector('button')"), PATIENCE)
        .unwrap();
    let mut found = faults(&mut host.page, "before");
    host.page
        .eval(&format!("{root}.querySelector('button').click()"))
        .unwrap();
    let painted = format!(
        "!!{root}.querySelector('iframe')?.contentDocument?.querySelector('.stage canvas')"
    );
    host.page.wait_for(&painted, PATIENCE).unwrap();
    found.extend(faults(&mut host.page, "after"));
    assert_eq!(found, [""; 0], "{found:#?}");
}
