//! Other pages: those that send in snapshots, and those that show this one in a frame; and links that contain a file.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::time::Duration;

use serde_json::json;
use vramscope_browser_tests::{Modifiers, Server, page_folder, root};

use crate::PATIENCE;
use crate::open::{Open, fixture, open, open_in};

const SMALL: &str = "torch-2.8.0/oom_after.pickle";

/// A page that opens its data in Perfetto, as dashboards and the debug server of torch.distributed do: it asks a window
/// whether it listens, then sends a buffer.
const DASHBOARD: &str = r#"<!doctype html><title>dashboard</title><script>
async function show(viewer, envelope) {
  const buffer = await (await fetch("data.pickle")).arrayBuffer();
  const ui = (globalThis.ui = window.open(viewer));
  await new Promise((listens) => {
    const asking = setInterval(() => ui.postMessage("PING", "*"), 50);
    addEventListener("message", ({ source, data }) => {
      if (source !== ui || data !== "PONG") return;
      clearInterval(asking);
      listens();
    });
  });
  globalThis.send = () => ui.postMessage({ [envelope]: { buffer, title: "a job", fileName: "rank3.pickle" } }, "*");
  send();
}
</script>"#;

/// A folder with the dashboard and its data.
fn dashboard() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("index.html"), DASHBOARD).unwrap();
    fs::copy(fixture(SMALL), folder.path().join("data.pickle")).unwrap();
    folder
}

const TABS: &str = "[...document.querySelectorAll('[role=tab]')].map(tab => tab.title).join()";

#[test]
fn a_page_that_opens_perfetto_opens_this() {
    let viewer = Server::start(&page_folder(), 0).unwrap();
    let folder = dashboard();
    let mut host = open_in(folder.path(), "");
    // Another name of this machine: a different site to the page.
    let stranger = host.server.url("").replace("127.0.0.1", "dash.localhost");
    host.page.goto(&stranger).unwrap();
    let show = format!("show('{}', 'perfetto')", viewer.url(""));
    host.page.eval(&show).unwrap();
    let mut opened = host
        .chromium
        .opened_page(&viewer.url(""), PATIENCE)
        .unwrap();
    opened
        .wait_for("!!document.querySelector('[role=alertdialog]')", PATIENCE)
        .unwrap();
    let card = opened.text("[role=alertdialog]").unwrap();
    assert!(
        card.contains("dash.localhost") && card.contains("rank3.pickle"),
        "{card}"
    );
    assert_eq!(opened.eval(TABS).unwrap(), "");
    opened.click_on("[role=alertdialog] .primary").unwrap();
    opened
        .wait_for(&format!("{TABS} === 'rank3.pickle'"), PATIENCE)
        .unwrap();
    opened.wait_for_paint(PATIENCE).unwrap();

    // The answer is remembered.
    host.page.eval("send()").unwrap();
    opened
        .wait_for(&format!("{TABS} === 'rank3.pickle,rank3.pickle'"), PATIENCE)
        .unwrap();
    assert_eq!(opened.complaints().unwrap(), [""; 0]);
}

#[test]
fn a_page_that_is_not_let_in_is_not_asked_about_again() {
    let viewer = Server::start(&page_folder(), 0).unwrap();
    let folder = dashboard();
    let mut host = open_in(folder.path(), "");
    let stranger = host.server.url("").replace("127.0.0.1", "dash.localhost");
    host.page.goto(&stranger).unwrap();
    let show = format!("show('{}', 'vramscope')", viewer.url(""));
    host.page.eval(&show).unwrap();
    let mut opened = host
        .chromium
        .opened_page(&viewer.url(""), PATIENCE)
        .unwrap();
    opened
        .wait_for("!!document.querySelector('[role=alertdialog]')", PATIENCE)
        .unwrap();
    opened.click_on("[role=alertdialog] .outlined").unwrap();
    opened
        .wait_for("!document.querySelector('[role=alertdialog]')", PATIENCE)
        .unwrap();
    host.page.eval("send()").unwrap();
    // A question that comes later must not be shown before the answer to this one.
    opened
        .eval("new Promise(asked => { addEventListener('message', () => requestAnimationFrame(() => requestAnimationFrame(asked)), {once: true}); postMessage('', '*') })")
        .unwrap();
    let nothing = "!document.querySelector('[role=alertdialog], [role=tab]')";
    assert_eq!(opened.eval(nothing).unwrap(), true);

    // Only pages of its own origin may set its theme.
    let theme = "document.documentElement.dataset.theme";
    let own = "postMessage({vramscope: {theme: 'dark'}}, location.origin); null";
    opened.eval(own).unwrap();
    opened
        .wait_for(&format!("{theme} === 'dark'"), PATIENCE)
        .unwrap();
    let light = "ui.postMessage({vramscope: {theme: 'light'}}, '*'); null";
    host.page.eval(light).unwrap();
    opened.pause(Duration::from_millis(300)).unwrap();
    assert_eq!(opened.eval(theme).unwrap(), "dark");
}

#[test]
fn a_page_of_this_machine_is_not_asked_about() {
    let viewer = Server::start(&page_folder(), 0).unwrap();
    let folder = dashboard();
    let mut host = open_in(folder.path(), "");
    let show = format!("show('{}', 'vramscope')", viewer.url(""));
    host.page.eval(&show).unwrap();
    let mut opened = host
        .chromium
        .opened_page(&viewer.url(""), PATIENCE)
        .unwrap();
    opened
        .wait_for(&format!("{TABS} === 'rank3.pickle'"), PATIENCE)
        .unwrap();
}

/// The page of all ranks as torch's debug server shows it, with two ranks, the second with a snapshot.
fn ranks(viewer: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text =
        fs::read_to_string(root().join("crates/vramscope-python/python/vramscope/ranks.html"))
            .unwrap();
    let page = text.replace("{VIEWER}", viewer).replace("{NONCE}", "once");
    fs::write(folder.path().join("index.html"), page).unwrap();
    let device = json!({"device": 0, "active_bytes": 3 << 20, "peak_active_bytes": 3 << 20, "reserved_bytes": 20 << 20,
        "peak_reserved_bytes": 20 << 20, "retries": 0, "ooms": 1, "free_bytes": null, "total_bytes": null});
    let state = json!({"rank": 1, "host": "node", "pid": 7, "time_us": 0, "is_recording": true, "devices": [device]});
    let ranks = json!([
        {"rank": 0, "state": null, "age_s": null, "problem": "no <b>answer</b>"},
        {"rank": 1, "state": state, "age_s": 0.1, "problem": null},
    ]);
    let odd = json!([{"measure": "active_bytes", "rank": 1, "device": 0, "bytes": 3 << 20, "median_bytes": 1 << 20,
        "further": 0}]);
    let table = json!({"ranks": ranks, "odd": odd}).to_string();
    fs::write(folder.path().join("state"), table).unwrap();
    fs::copy(fixture(SMALL), folder.path().join("dump")).unwrap();
    folder
}

#[test]
fn the_page_of_all_ranks_opens_a_snapshot() {
    let viewer = Server::start(&page_folder(), 0).unwrap();
    let folder = ranks(&viewer.url(""));
    let mut host = open_in(folder.path(), "");
    let rows = "document.querySelectorAll('tbody tr').length === 2";
    host.page.wait_for(rows, PATIENCE).unwrap();
    let text = host.page.text("body").unwrap();
    for words in [
        "no <b>answer</b>",
        "3.00 MiB",
        "20.0 MiB",
        "unknown",
        "Rank 1 is odd: active 3.00 MiB (median 1.00 MiB).",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // The focus stays in place while rows and heads are redrawn.
    for focused in ["sort-active_bytes", "open-1-0"] {
        let sorted = format!(
            "document.querySelector('#{focused}').focus(); document.querySelector('#sort-active_bytes').click(); \
             document.activeElement.id"
        );
        assert_eq!(host.page.eval(&sorted).unwrap(), focused);
    }
    host.page.click_on("tbody button").unwrap();
    let mut opened = host
        .chromium
        .opened_page(&viewer.url(""), PATIENCE)
        .unwrap();
    opened
        .wait_for(&format!("{TABS} === 'rank1_snapshot.pickle'"), PATIENCE)
        .unwrap();
    opened.wait_for_paint(PATIENCE).unwrap();
    assert_eq!(host.page.complaints().unwrap(), [""; 0]);
}

/// A folder with the page among other files.
fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(page_folder()).unwrap() {
        let entry = entry.unwrap();
        symlink(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    folder
}

/// Opens a long page that shows the viewer in a frame. The folder is served as long as it exists.
fn framed(query: &str) -> (Open, tempfile::TempDir) {
    let folder = site();
    let page = format!(
        "<!doctype html><title>docs</title><h1 tabindex=0>docs</h1><iframe style='width:900px;height:420px' \
         src='index.html?mode=embed{query}'></iframe><p style='height:3000px'>text</p>"
    );
    fs::write(folder.path().join("docs.html"), page).unwrap();
    (open_in(folder.path(), "docs.html"), folder)
}

/// The document in the frame, in JavaScript.
const INNER: &str = "document.querySelector('iframe').contentDocument";

#[test]
fn in_a_frame_it_leaves_scrolling_theme_and_history_to_the_page_around() {
    let (mut host, _folder) = framed("&theme=dark&src=samples/training.pickle.gz");
    let steps = host.page.eval("history.length").unwrap();
    let painted = format!("!!{INNER}?.querySelector('.stage canvas')");
    host.page.wait_for(&painted, PATIENCE).unwrap();
    let own = format!(
        "!!{INNER}.querySelector('.brand, [aria-label=\"Open files\"], [aria-label^=Theme]')"
    );
    assert_eq!(host.page.eval(&own).unwrap(), false);
    let theme =
        format!("{INNER}.documentElement.dataset.theme + localStorage.getItem('vramscope.theme')");
    assert_eq!(host.page.eval(&theme).unwrap(), "darknull");

    // The wheel scrolls the page around, until the user clicks into the picture.
    host.page
        .eval("document.querySelector('h1').focus()")
        .unwrap();
    let (x_px, y_px) = (450.0, 300.0);
    host.page.wheel(x_px, y_px, 120.0, Modifiers::NONE).unwrap();
    host.page.wait_for("scrollY > 0", PATIENCE).unwrap();
    host.page
        .eval("scrollTo({top: 0, behavior: 'instant'})")
        .unwrap();
    host.page.click(x_px, y_px, 1).unwrap();
    host.page
        .wait_for(&format!("{INNER}.hasFocus()"), PATIENCE)
        .unwrap();
    host.page
        .wheel(x_px, y_px, -240.0, Modifiers::NONE)
        .unwrap();
    host.page
        .wait_for(&format!("{INNER}.location.hash.includes('&x=')"), PATIENCE)
        .unwrap();
    assert_eq!(host.page.eval("scrollY").unwrap(), 0);

    // Escape releases what is pinned, and then the keyboard.
    for _ in 0..3 {
        host.page.key("Escape", Modifiers::NONE).unwrap();
    }
    host.page
        .wait_for(&format!("!{INNER}.hasFocus()"), PATIENCE)
        .unwrap();
    // All that adds at most one step to the history: that of the frame's own page.
    let steps_now = host.page.eval("history.length").unwrap();
    assert_eq!(steps_now, steps);
}

#[test]
fn what_appears_in_a_frame_leaves_the_keyboard_to_the_page_around() {
    let (mut host, _folder) = framed("&src=samples/training.pickle.gz");
    let painted = format!("!!{INNER}?.querySelector('.stage canvas')");
    host.page.wait_for(&painted, PATIENCE).unwrap();
    host.page
        .eval("document.querySelector('h1').focus()")
        .unwrap();
    for (name, shown) in [("Table", "[role=listbox]"), ("Overview", ".overview")] {
        let choose = format!(
            "[...{INNER}.querySelectorAll('.rail *')].find(it => it.textContent === '{name}').click()"
        );
        host.page.eval(&choose).unwrap();
        let shown = format!("!!{INNER}.querySelector('{shown}')");
        host.page.wait_for(&shown, PATIENCE).unwrap();
        let kept = "document.activeElement.localName";
        assert_eq!(host.page.eval(kept).unwrap(), "h1", "{name}");
    }
    // The shown element gets the keys once the user arrives.
    host.page
        .eval("document.querySelector('iframe').focus()")
        .unwrap();
    let focused = format!("{INNER}.activeElement.matches('.overview')");
    host.page.wait_for(&focused, PATIENCE).unwrap();
}

#[test]
fn a_sandbox_without_an_origin_is_enough() {
    let allowed = "Access-Control-Allow-Origin: *\r\n";
    let viewer = Server::with_headers(&page_folder(), allowed).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let page = format!(
        "<!doctype html><title>docs</title><link rel=icon href=data:,><script>globalThis.told = []; \
         addEventListener('message', ({{data}}) => told.push(data.vramscope?.event))</script>\
         <iframe sandbox=allow-scripts src='{}'></iframe>",
        viewer.url("?mode=embed&src=samples/leak.pickle.gz")
    );
    fs::write(folder.path().join("docs.html"), page).unwrap();
    let mut host = open_in(folder.path(), "docs.html");
    // It gets an answer once it has asked. By then a worker has read the file.
    host.page
        .eval("setInterval(() => document.querySelector('iframe').contentWindow.postMessage('PING', '*'), 50); null")
        .unwrap();
    host.page
        .wait_for("told.includes('load')", PATIENCE)
        .unwrap();
    assert_eq!(host.page.complaints().unwrap(), [""; 0]);
}

/// A page that shows this one in a frame can make it read files beside it, and must not learn their content.
#[test]
fn a_page_of_another_site_is_told_only_whether_a_file_is_shown() {
    let folder = site();
    fs::write(folder.path().join("cfg.json"), r#"{"admin_password": 1}"#).unwrap();
    fs::copy(fixture(SMALL), folder.path().join("run.pickle")).unwrap();
    let viewer = Server::start(folder.path(), 0).unwrap();
    let files = ["cfg.json", "missing.json", "run.pickle"];
    let pages = ["index.html", "mini.html"];
    let frames = pages
        .iter()
        .flat_map(|page| files.map(|file| format!("{page}?mode=embed&src={file}")));
    let frames: Vec<String> = frames
        .map(|path| format!("<iframe src='{}'></iframe>", viewer.url(&path)))
        .collect();
    let host = tempfile::tempdir().unwrap();
    let page = format!(
        "<!doctype html><title>evil</title><link rel=icon href=data:,>{}<script>\
         const frames = [...document.querySelectorAll('iframe')]; globalThis.told = frames.map(() => new Set()); \
         addEventListener('message', ({{source, data}}) => data.vramscope && \
           told[frames.findIndex(({{contentWindow}}) => contentWindow === source)].add(JSON.stringify(data.vramscope))); \
         setInterval(() => frames.forEach(({{contentWindow}}) => contentWindow.postMessage('PING', '*')), 100)</script>",
        frames.concat()
    );
    fs::write(host.path().join("index.html"), page).unwrap();
    let mut host = open_in(host.path(), "");
    host.page
        .wait_for("told.every(({size}) => size > 0)", PATIENCE)
        .unwrap();
    host.page.pause(Duration::from_millis(300)).unwrap();
    let told = host.page.eval("told.map((texts) => [...texts])").unwrap();
    for (frame, path) in pages
        .iter()
        .flat_map(|page| files.map(|file| (page, file)))
        .enumerate()
    {
        let told = &told[frame];
        match path.1 {
            "run.pickle" => assert_eq!(*told, json!([r#"{"event":"load"}"#]), "{path:?}"),
            // A missing file and one of another kind look the same.
            _ => assert_eq!(
                *told,
                json!([
                    r#"{"event":"error","message":"the file cannot be opened","advice":"Open the viewer in a window of its own: it says why."}"#
                ]),
                "{path:?}"
            ),
        }
    }
}

/// A server's length for compressed bytes is not the file's, and another server may not say that it compresses.
#[test]
fn a_download_never_has_more_than_all_of_its_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = fs::File::create(folder.path().join("run.pickle")).unwrap();
    let mut zeros = brotli::CompressorWriter::new(zeros, 1 << 16, 1, 22);
    for _ in 0..64 {
        zeros.write_all(&vec![0; 1 << 20]).unwrap();
    }
    drop(zeros);
    let headers = "Content-Encoding: br\r\nAccess-Control-Allow-Origin: *\r\n";
    let other = Server::with_headers(folder.path(), headers).unwrap();
    let (mut host, _folder) = framed(&format!("&src={}", other.url("run.pickle")));
    let listen = "globalThis.told = []; addEventListener('message', ({data}) => data.vramscope && told.push(data.vramscope)); \
         setInterval(() => document.querySelector('iframe').contentWindow.postMessage('PING', '*'), 20); null";
    host.page.eval(listen).unwrap();
    host.page
        .wait_for("told.some(({event}) => event === 'error')", PATIENCE)
        .unwrap();
    let progress = "told.filter(({event, loaded}) => event === 'progress' && loaded > 0)";
    let too_much = format!(
        "{progress}.filter(({{loaded, total}}) => total !== null && loaded > total).length"
    );
    assert_eq!(host.page.eval(&too_much).unwrap(), 0);
    assert_ne!(host.page.eval(&format!("{progress}.length")).unwrap(), 0);
}

#[test]
fn a_framed_snapshot_opens_in_a_window_of_its_own() {
    let (mut host, _folder) = framed("");
    let send = "(async () => { const buffer = await (await fetch('samples/leak.pickle.gz')).arrayBuffer(); \
         const frame = document.querySelector('iframe').contentWindow; \
         await new Promise(listens => { const asking = setInterval(() => frame.postMessage('PING', '*'), 50); \
         addEventListener('message', ({data}) => { if (data === 'PONG') { clearInterval(asking); listens() } }) }); \
         frame.postMessage({vramscope: {buffer, fileName: 'leak.pickle.gz'}}, '*') })()";
    host.page.eval(send).unwrap();
    let button = format!("{INNER}.querySelector('[aria-label^=\"Open in a window\"]')");
    host.page
        .wait_for(&format!("!!{button}"), PATIENCE)
        .unwrap();
    host.page.eval(&format!("{button}.click()")).unwrap();
    let url = host.server.url("index.html#");
    let mut opened = host.chromium.opened_page(&url, PATIENCE).unwrap();
    opened
        .wait_for(&format!("{TABS} === 'leak.pickle.gz'"), PATIENCE)
        .unwrap();
    opened
        .wait_for("!!document.querySelector('.brand')", PATIENCE)
        .unwrap();
}

#[test]
fn a_link_holds_a_small_file() {
    let mut first = open("");
    first.choose(&[fixture(SMALL)]);
    first.painted();
    first
        .page
        .eval("navigator.clipboard.writeText = async text => { globalThis.copied = text }; null")
        .unwrap();
    first.page.key("4", Modifiers::NONE).unwrap();
    first.wait_for_hash("view=map&");
    first.page.click_on("[popovertarget=share-menu]").unwrap();
    first
        .page
        .wait_for("!!document.querySelector('.carry')", PATIENCE)
        .unwrap();
    first.page.click_on(".carry").unwrap();
    let link = first.page.wait_for("globalThis.copied", PATIENCE).unwrap();
    let link = link.as_str().unwrap();
    let fragment = link.split_once('#').unwrap().1;
    assert!(fragment.contains("&data="), "{link}");

    let mut second = open(&format!("#{fragment}"));
    second
        .page
        .wait_for(&format!("{TABS} === 'oom_after.pickle'"), PATIENCE)
        .unwrap();
    second.painted();
    second.wait_for_hash("view=map&");
    assert_eq!(second.page.eval("history.length").unwrap(), 2);
    // The address still contains the file, and so does each that follows.
    second.page.key("7", Modifiers::NONE).unwrap();
    second.wait_for_hash("view=table&");
    second.wait_for_hash("&data=");
    second.check_quiet();

    // A truncated link, and one that is not a link.
    for broken in [&fragment[..fragment.len() - 1001], "file=x&v=1&data=%%%a"] {
        let mut open = open(&format!("#{broken}"));
        open.page
            .wait_for(
                "!!document.querySelector('.workspace, .card.failed')",
                PATIENCE,
            )
            .unwrap();
        open.check_quiet();
    }
}
