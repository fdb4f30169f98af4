//! The element with `controls="mini"`: one picture, for few bytes.

use std::fs;
use std::os::unix::fs::symlink;

use vramscope_browser_tests::{Modifiers, Server, page_folder, root};

use crate::open::{Open, open_in};
use crate::{PATIENCE, fleet};

const ELEMENT: &str = "document.querySelector('vramscope-viewer')";
/// The page in the element's frame.
const INNER: &str = "document.querySelector('vramscope-viewer').shadowRoot.querySelector('iframe')?.contentDocument";
/// The uncovered part of it.
const STAGE: &str = "document.querySelector('vramscope-viewer').shadowRoot.querySelector('iframe')?.contentDocument?.querySelector('#app .stage')";

/// Opens a page with a small viewer of this file, beside which are the viewer and a plain pickle.
fn docs(attributes: &str) -> (Open, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    symlink(page_folder(), folder.path().join("viewer")).unwrap();
    let pickle = root().join("tests/fixtures/torch-2.3.1/training.pickle");
    fs::copy(pickle, folder.path().join("run.pickle")).unwrap();
    let page = format!(
        "<!doctype html><title>docs</title><link rel=icon href=data:,><style>body {{ background: #fff }}</style>\
         <script type=module src=viewer/viewer.js></script><h1 tabindex=0>docs</h1>\
         <vramscope-viewer controls=mini loading=eager {attributes}></vramscope-viewer>\
         <script type=module>globalThis.told = []; for (const name of ['load', 'error', 'view-change']) \
           {ELEMENT}.addEventListener(name, ({{type, detail}}) => told.push([type, detail]))</script>"
    );
    fs::write(folder.path().join("docs.html"), page).unwrap();
    (open_in(folder.path(), "docs.html"), folder)
}

/// Waits until the first picture is there.
fn wait_for_picture(host: &mut Open) {
    let painted = format!(
        "{INNER}?.defaultView.performance.getEntriesByName('vramscope:painted').length > 0"
    );
    host.page.wait_for(&painted, PATIENCE).unwrap();
}

/// Waits until the page has taken over, and shows its own picture.
fn wait_for_page(host: &mut Open) {
    let is_there = format!("!!{INNER}?.querySelector('.rail') && !{INNER}.querySelector('.cover')");
    host.page.wait_for(&is_there, PATIENCE).unwrap();
}

/// The files that were loaded below a folder.
fn loaded(server: &Server, folder: &str) -> Vec<String> {
    let mut paths: Vec<String> = server.requests();
    paths.retain(|path| path.contains(folder));
    paths.iter_mut().for_each(|path| {
        let end = path.find(['?', '#']).unwrap_or(path.len());
        path.truncate(end);
    });
    paths.sort();
    paths.dedup();
    paths
}

#[test]
fn its_picture_takes_few_files_and_the_page_follows_the_pointer() {
    let (mut host, _folder) = docs("src=run.pickle");
    wait_for_picture(&mut host);
    let files = loaded(&host.server, "viewer/");
    assert!(
        files
            .iter()
            .all(|file| !file.contains("vramscope_app") && !file.ends_with("/index.css")),
        "{files:?}"
    );
    let figures = format!("{INNER}.querySelector('.statusbar').innerText");
    let figures = host.page.eval(&figures).unwrap();
    assert!(figures.as_str().unwrap().contains("peak"), "{figures}");
    host.page
        .wait_for("told.some(([type]) => type === 'load')", PATIENCE)
        .unwrap();
    let place = "told.find(([type]) => type === 'view-change')?.[1].state";
    let place = host.page.wait_for(place, PATIENCE).unwrap();
    assert!(
        place.as_str().unwrap().starts_with("file=run.pickle~"),
        "{place}"
    );

    // Moving the pointer over it loads the page, with the same picture in the same place.
    let at = format!(
        "(() => {{ const {{x, y}} = {ELEMENT}.getBoundingClientRect(), box = {STAGE}.getBoundingClientRect(); \
         return [x, y, box.x, box.y, box.width, box.height].join() }})()"
    );
    let before = host.page.eval(&at).unwrap();
    host.page.mouse_move(300.0, 300.0).unwrap();
    host.page.mouse_move(320.0, 310.0).unwrap();
    wait_for_page(&mut host);
    assert_eq!(host.page.eval(&at).unwrap(), before);
    host.page.mouse_move(340.0, 320.0).unwrap();
    host.page
        .wait_for(
            &format!("{INNER}.querySelector('.statusbar').innerText.includes('live')"),
            PATIENCE,
        )
        .unwrap();
    // The page already knows the file, and reports nothing twice.
    let snapshots = loaded(&host.server, "run.pickle");
    let asked = host.server.requests();
    let asked = asked.iter().filter(|path| path.contains("run.pickle"));
    assert_eq!((snapshots.len(), asked.count()), (1, 1));
    let told = "told.map(([type]) => type).join()";
    assert_eq!(host.page.eval(told).unwrap(), "load,view-change");
    host.check_quiet();
}

#[test]
fn the_full_viewer_opens_in_its_place() {
    let (mut host, _folder) = docs("src=run.pickle");
    wait_for_picture(&mut host);
    let rail = format!("!!{INNER}?.querySelector('.rail')?.checkVisibility()");
    assert_eq!(host.page.eval(&rail).unwrap(), false);
    host.page
        .eval(&format!("{INNER}.querySelector('.in-full').click(); null"))
        .unwrap();
    host.page.wait_for(&rail, PATIENCE).unwrap();
    wait_for_page(&mut host);
    let asked = host.server.requests();
    let asked = asked.iter().filter(|path| path.contains("run.pickle"));
    assert_eq!(asked.count(), 1);
    host.check_quiet();
}

#[test]
fn beside_a_full_viewer_each_has_its_own_modules() {
    let (mut host, _folder) = docs("reveal=click");
    let inner = "document.querySelectorAll('vramscope-viewer')[1]?.shadowRoot?.querySelector('iframe')?.contentDocument";
    host.page
        .eval("document.body.insertAdjacentHTML('beforeend', '<vramscope-viewer loading=eager src=run.pickle></vramscope-viewer>'); null")
        .unwrap();
    host.page
        .wait_for(&format!("!!{inner}?.querySelector('.rail')"), PATIENCE)
        .unwrap();
    host.page
        .eval(&format!("{ELEMENT}.load('run.pickle'); null"))
        .unwrap();
    wait_for_picture(&mut host);
    assert_eq!(
        host.page
            .eval(&format!("!!{INNER}.querySelector('.rail')"))
            .unwrap(),
        false
    );
    host.check_quiet();
}

#[test]
fn packed_files_have_their_picture_without_the_page() {
    let (mut host, _folder) = docs("src=viewer/samples/expandable.pickle.gz theme=dark");
    wait_for_picture(&mut host);
    let files = loaded(&host.server, "viewer/");
    assert!(
        !files.iter().any(|file| file.contains("vramscope_app")),
        "{files:?}"
    );
    host.page
        .wait_for(
            &format!("{INNER}.documentElement.dataset.theme === 'dark'"),
            PATIENCE,
        )
        .unwrap();
    // A key loads the page, too.
    host.page.eval(&format!("{STAGE}.focus(); null")).unwrap();
    host.page.key("w", Modifiers::NONE).unwrap();
    wait_for_page(&mut host);
    host.check_quiet();
}

#[test]
fn what_it_cannot_show_the_page_shows() {
    // Failed allocations are shown above the picture; a state alone has none.
    for (file, shown) in [
        ("out-of-memory", ".oom"),
        ("state-only", ".overview"),
        ("graph.json.zst#", ".graph"),
    ] {
        let file = file
            .strip_suffix('#')
            .map_or_else(|| format!("{file}.pickle.gz"), str::to_owned);
        let (mut host, _folder) = docs(&format!("src=viewer/samples/{file}"));
        let shown = format!("!!{INNER}?.querySelector('{shown}')");
        host.page.wait_for(&shown, PATIENCE).unwrap();
        host.check_quiet();
    }
}

#[test]
fn ranks_are_shown_by_the_page() {
    let (mut host, folder) = docs("reveal=click");
    fleet::overview(folder.path(), 8);
    host.page
        .eval(&format!("{ELEMENT}.load('overview.vset'); null"))
        .unwrap();
    let shown = format!("!!{INNER}?.querySelector('.view.fleet .vrow')");
    host.page.wait_for(&shown, PATIENCE).unwrap();
    host.check_quiet();
}

#[test]
fn its_faults_are_told_in_the_element() {
    let (mut host, folder) = docs("reveal=click");
    fs::write(folder.path().join("broken.pickle"), "no snapshot").unwrap();
    host.page
        .eval(&format!(
            "{ELEMENT}.load('broken.pickle').catch(() => {{}}); null"
        ))
        .unwrap();
    host.page
        .wait_for(
            &format!("!!{INNER}?.querySelector('.card.failed')"),
            PATIENCE,
        )
        .unwrap();
    let told = "told.find(([type]) => type === 'error')?.[1].message";
    let told = host.page.wait_for(told, PATIENCE).unwrap();
    assert!(
        told.as_str().unwrap().contains("not a memory snapshot"),
        "{told}"
    );
}
