//! The element `<vramscope-viewer>` in other people's pages.

use std::fs;
use std::os::unix::fs::symlink;
use std::time::Duration;

use vramscope_browser_tests::views::VIEWS;
use vramscope_browser_tests::{Modifiers, Server, page_folder};

use crate::PATIENCE;
use crate::open::{Open, open_in};

/// Opens a page with this body. The viewer is in the folder `viewer` beside it.
fn docs(body: &str) -> (Open, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    symlink(page_folder(), folder.path().join("viewer")).unwrap();
    let page = format!(
        "<!doctype html><title>docs</title><link rel=icon href=data:,><style>body {{ background: #fff }}</style>\
         <script type=module src=viewer/viewer.js></script><h1 tabindex=0>docs</h1>{body}"
    );
    fs::write(folder.path().join("docs.html"), page).unwrap();
    (open_in(folder.path(), "docs.html"), folder)
}

/// The page in the first element's frame.
const INNER: &str = "document.querySelector('vramscope-viewer').shadowRoot.querySelector('iframe')?.contentDocument";
const PAINTED: &str = "!!document.querySelector('vramscope-viewer').shadowRoot\
     .querySelector('iframe')?.contentDocument?.querySelector('.stage canvas')";

/// Collects the events of the first element from now on, as `name:detail`.
const LISTEN: &str = "globalThis.told = []; \
     for (const name of ['load', 'progress', 'error', 'view-change', 'selection-change']) \
       document.querySelector('vramscope-viewer').addEventListener(name, ({type, detail}) => told.push([type, detail])); null";

#[test]
fn a_poster_costs_no_viewer_until_it_is_clicked() {
    let poster = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 9 4'/>";
    let body = format!(
        "<style>vramscope-viewer::part(button) {{ border-radius: 7px }}</style>\
         <vramscope-viewer src=viewer/samples/training.pickle.gz poster=\"{poster}\" reveal=click \
         view=map height=400.25></vramscope-viewer>"
    );
    let (mut host, _folder) = docs(&body);
    let element = "document.querySelector('vramscope-viewer')";
    host.page
        .wait_for(
            &format!("{element}.shadowRoot?.querySelector('img').complete"),
            PATIENCE,
        )
        .unwrap();
    let height = format!("{element}.offsetHeight");
    assert_eq!(host.page.eval(&height).unwrap(), 400);
    let loaded =
        "performance.getEntriesByType('resource').filter(({name}) => name.includes('app-')).length";
    assert_eq!(host.page.eval(loaded).unwrap(), 0);
    assert_eq!(host.page.eval(&format!("!{INNER}")).unwrap(), true);

    host.page.eval(LISTEN).unwrap();
    let button = format!("{element}.shadowRoot.querySelector('button')");
    assert_eq!(
        host.page.eval(&format!("{button}.textContent")).unwrap(),
        "Explore this snapshot"
    );
    let corner = format!("getComputedStyle({button}).borderRadius");
    assert_eq!(host.page.eval(&corner).unwrap(), "7px");
    host.page.eval(&format!("{button}.click()")).unwrap();
    host.page.wait_for(PAINTED, PATIENCE).unwrap();
    assert_eq!(host.page.eval(&height).unwrap(), 400);
    let told = "told.some(([type, detail]) => type === 'load' && detail.name === 'training.pickle.gz' && detail.bytes > 1000)";
    host.page.wait_for(told, PATIENCE).unwrap();
    host.page
        .wait_for(
            "told.some(([type, detail]) => type === 'view-change' && detail.view === 'map')",
            PATIENCE,
        )
        .unwrap();
    host.check_quiet();
}

#[test]
fn attributes_methods_and_events_go_both_ways() {
    let (mut host, _folder) = docs(
        "<vramscope-viewer src=viewer/samples/training.pickle.gz loading=eager></vramscope-viewer>",
    );
    host.page.eval(LISTEN).unwrap();
    host.page.wait_for(PAINTED, PATIENCE).unwrap();
    let place = |words: &str| format!("{INNER}.location.hash.includes('{words}')");
    host.page
        .wait_for(&place("view=timeline"), PATIENCE)
        .unwrap();

    // An attribute moves the view, and everything not mentioned stays.
    let steps = host.page.eval("history.length").unwrap();
    host.page
        .eval("document.querySelector('vramscope-viewer').view = 'flame'; null")
        .unwrap();
    host.page.wait_for(&place("view=flame"), PATIENCE).unwrap();
    host.page
        .wait_for(
            "told.some(([type, detail]) => type === 'view-change' && detail.view === 'flame')",
            PATIENCE,
        )
        .unwrap();
    host.page
        .eval("document.querySelector('vramscope-viewer').range = '100..200'; null")
        .unwrap();
    host.page
        .wait_for("told.some(([type, {range}]) => type === 'selection-change' && range?.join() === '100,200')", PATIENCE)
        .unwrap();
    host.page
        .eval("document.querySelector('vramscope-viewer').view = 'table'; null")
        .unwrap();
    host.page.wait_for(&place("view=table"), PATIENCE).unwrap();
    assert_eq!(host.page.eval(&place("range=100..200")).unwrap(), true);
    assert_eq!(host.page.eval("history.length").unwrap(), steps);

    // A saved state is shown again. Then everything is released.
    let saved = host
        .page
        .eval("globalThis.viewer = document.querySelector('vramscope-viewer'); globalThis.saved = viewer.save(); viewer.view = 'map'; saved")
        .unwrap();
    assert!(saved.as_str().unwrap().contains("view=table"), "{saved}");
    host.page.wait_for(&place("view=map"), PATIENCE).unwrap();
    host.page.eval("viewer.restore(saved); null").unwrap();
    host.page.wait_for(&place("view=table"), PATIENCE).unwrap();
    host.page.eval("viewer.dispose(); null").unwrap();
    assert_eq!(host.page.eval(&format!("!{INNER}")).unwrap(), true);
    let load = "(async () => { const bytes = await (await fetch('viewer/samples/training.pickle.gz')).arrayBuffer(); \
         globalThis.loaded = (await viewer.load(new File([bytes], 'own.pickle.gz'))).name })(), null";
    host.page.eval(load).unwrap();
    host.page
        .wait_for("globalThis.loaded === 'own.pickle.gz'", PATIENCE)
        .unwrap();
    host.page
        .wait_for(&place("file=own.pickle.gz"), PATIENCE)
        .unwrap();
    // The picture of `src` is not shown for a file given later.
    let hidden = "viewer.dispose(), viewer.shadowRoot.querySelector('.poster').hidden";
    assert_eq!(host.page.eval(hidden).unwrap(), true);
    let again = "viewer.src = 'viewer/samples/leak.pickle.gz', viewer.shadowRoot.querySelector('.poster').hidden";
    assert_eq!(host.page.eval(again).unwrap(), false);

    host.check_quiet();
}

#[test]
fn theme_and_variables_are_those_of_the_page_around() {
    let (mut host, _folder) =
        docs("<vramscope-viewer src=viewer/samples/training.pickle.gz></vramscope-viewer>");
    host.page.wait_for(PAINTED, PATIENCE).unwrap();
    host.page
        .eval("document.querySelector('vramscope-viewer').style.setProperty('--vramscope-accent', 'rgb(1, 2, 3)'); document.body.style.background = '#111'; null")
        .unwrap();
    host.page
        .wait_for(
            &format!("{INNER}.documentElement.dataset.theme === 'dark'"),
            PATIENCE,
        )
        .unwrap();
    // A finger that moves up or down scrolls the surrounding page.
    let touch = format!("getComputedStyle({INNER}.querySelector('.stage')).touchAction");
    assert_eq!(host.page.eval(&touch).unwrap(), "pan-y");
    let accent = format!("{INNER}.documentElement.style.getPropertyValue('--accent')");
    host.page
        .wait_for(&format!("{accent} === 'rgb(1, 2, 3)'"), PATIENCE)
        .unwrap();
    host.check_quiet();
}

#[test]
fn what_was_set_before_the_script_came_counts() {
    let (mut host, _folder) = docs(
        "<vramscope-viewer id=viewer></vramscope-viewer>\
         <script>viewer.src = 'viewer/samples/leak.pickle.gz'; viewer.view = 'map'</script>",
    );
    host.page.wait_for(PAINTED, PATIENCE).unwrap();
    let place = format!("{INNER}.location.hash.includes('view=map')");
    host.page.wait_for(&place, PATIENCE).unwrap();
    // Frames are distinguished by their titles, and the element takes the focus like its frame.
    let title = "viewer.shadowRoot.querySelector('iframe').title";
    let title = host.page.eval(title).unwrap();
    assert_eq!(title, "GPU memory snapshot: leak.pickle.gz");
    let focused = "viewer.focus(), document.activeElement === viewer";
    assert_eq!(host.page.eval(focused).unwrap(), true);
    host.check_quiet();
}

#[test]
fn faults_are_told_in_the_element() {
    let (mut host, folder) = docs("<vramscope-viewer reveal=click height=200></vramscope-viewer>");
    host.page.eval(LISTEN).unwrap();
    fs::write(folder.path().join("broken.pickle"), "no snapshot").unwrap();
    let fails = |host: &mut Open, load: &str| {
        // Not awaited here: a worker starts only while this side takes events.
        let eval = format!(
            "globalThis.fault = null; globalThis.viewer = document.querySelector('vramscope-viewer'); \
             viewer.load({load}).catch(({{message}}) => globalThis.fault = message); null"
        );
        host.page.eval(&eval).unwrap();
        let fault = host.page.wait_for("globalThis.fault", PATIENCE).unwrap();
        fault.as_str().unwrap().to_owned()
    };
    let message = fails(&mut host, "'broken.pickle'");
    assert!(message.contains("not a memory snapshot"), "{message}");
    // The page reports it, too, with advice.
    host.page
        .wait_for(
            &format!("!!{INNER}?.querySelector('.card.failed')"),
            PATIENCE,
        )
        .unwrap();
    // Once the file is fixed, it is opened from there.
    let sample = page_folder().join("samples/leak.pickle.gz");
    fs::copy(sample, folder.path().join("broken.pickle")).unwrap();
    let button = "viewer.shadowRoot.querySelector('button')";
    let label = format!("!{button}.hidden && {button}.textContent === 'Try again'");
    host.page.wait_for(&label, PATIENCE).unwrap();
    // Even in a low element, the button covers none of it.
    let edge = |of: &str, edge: &str| format!("{of}.getBoundingClientRect().{edge}");
    let frame = "viewer.shadowRoot.querySelector('iframe')";
    let below = format!("{} >= {}", edge(button, "top"), edge(frame, "bottom"));
    assert_eq!(host.page.eval(&below).unwrap(), true);
    host.page.eval(&format!("{button}.click()")).unwrap();
    host.page.wait_for(PAINTED, PATIENCE).unwrap();
    host.page
        .wait_for(&format!("{button}.hidden"), PATIENCE)
        .unwrap();
    // On a server that does not let this page read.
    let other = Server::start(&page_folder(), 0).unwrap();
    let url = other.url("nothing.pickle");
    let message = fails(&mut host, &format!("'{url}'"));
    assert!(message.contains("cannot be loaded"), "{message}");
    let shown = "viewer.shadowRoot.querySelector('p').textContent";
    assert_eq!(host.page.eval(shown).unwrap(), message.as_str());
    // The event has the advice separately.
    let errors = "told.filter(([type]) => type === 'error').map(([, it]) => [it.message, it.advice].join(' '))";
    let errors = host.page.eval(errors).unwrap();
    assert_eq!(errors.as_array().unwrap().len(), 2, "{errors}");
    assert_eq!(errors[1], message.as_str());
}

#[test]
fn a_download_from_another_server_tells_how_far_it_is() {
    let (mut host, _folder) = docs(
        "<vramscope-viewer src=https://other.invalid/run.pickle reveal=click></vramscope-viewer>",
    );
    host.page.eval(LISTEN).unwrap();
    // Of a hundred bytes, ten come.
    let fetch = "globalThis.fetch = async () => new Response(\
             new ReadableStream({start: (to) => to.enqueue(new Uint8Array(10))}), {headers: {'Content-Length': '100'}}); \
         const {shadowRoot} = document.querySelector('vramscope-viewer'); \
         globalThis.button = shadowRoot.querySelector('button'); button.click()";
    host.page.eval(&format!("{{ {fetch} }} null")).unwrap();
    let told = "told.some(([type, {loaded, total}]) => type === 'progress' && loaded === 10 && total === 100)";
    host.page.wait_for(told, PATIENCE).unwrap();
    let label = host.page.eval("button.textContent").unwrap();
    assert_eq!(label, "Loading… 10 %");
}

/// A wrong attribute value is reported.
#[test]
fn what_attributes_cannot_say_is_told_on_the_console() {
    let (mut host, _folder) = docs("<vramscope-viewer reveal=click></vramscope-viewer>");
    host.page
        .eval("globalThis.viewer = document.querySelector('vramscope-viewer'); null")
        .unwrap();
    let known = "Object.assign(viewer, { theme: 'dark', loading: 'eager', reveal: 'click', controls: 'mini', device: 7, range: '1..2.5', height: '40vh' }); \
         viewer.height = 300; viewer.view = ''; viewer.restore(''); null";
    host.page.eval(known).unwrap();
    for view in VIEWS {
        host.page
            .eval(&format!("viewer.view = '{view}'; null"))
            .unwrap();
    }
    assert_eq!(host.page.complaints().unwrap(), [""; 0]);
    let unknown = "Object.assign(viewer, { view: 'mapp', theme: 'drak', device: 'x', range: 'x..y', height: 'banana' }); viewer.restore('garbage'); null";
    host.page.eval(unknown).unwrap();
    let told = host.page.complaints().unwrap();
    assert_eq!(told.len(), 6, "{told:#?}");
    assert_eq!(
        told[0],
        "<vramscope-viewer>: view=\"mapp\" is not one of: overview timeline segments map allocator flame table compare what-if facts"
    );
}

/// What a site with a strict policy allows.
const STRICT: &str = "Content-Security-Policy: default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; \
     worker-src 'self'; frame-src 'self'; connect-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'\r\n";

#[test]
fn a_strict_policy_allows_it() {
    let (mut host, folder) =
        docs("<vramscope-viewer src=viewer/samples/training.pickle.gz></vramscope-viewer>");
    let strict = Server::with_headers(folder.path(), STRICT).unwrap();
    host.page.goto(&strict.url("docs.html")).unwrap();
    host.page.wait_for(PAINTED, PATIENCE).unwrap();
    assert_eq!(host.page.complaints().unwrap(), [""; 0]);
}

/// If the page cannot start, that is reported at once, with the reason.
#[test]
fn a_policy_that_forbids_the_module_is_named() {
    let (mut host, folder) = docs("");
    let policy = "Content-Security-Policy: script-src 'self' 'unsafe-inline'\r\n";
    let strict = Server::with_headers(folder.path(), policy).unwrap();
    let page = format!(
        "<!doctype html><title>docs</title><link rel=icon href=data:,><script type=module src=viewer/viewer.js></script>\
         <vramscope-viewer src=viewer/samples/leak.pickle.gz></vramscope-viewer><script>{LISTEN}</script>"
    );
    fs::write(folder.path().join("docs.html"), page).unwrap();
    host.page.goto(&strict.url("docs.html")).unwrap();
    let error = "told.find(([type]) => type === 'error')?.[1]";
    let error = host.page.wait_for(error, Duration::from_secs(15)).unwrap();
    let text = error.to_string();
    assert!(
        text.contains("does not start") && text.contains("'wasm-unsafe-eval'"),
        "{text}"
    );
}

#[test]
fn it_comes_from_another_server() {
    let (mut host, folder) = docs("");
    let viewer =
        Server::with_headers(&page_folder(), "Access-Control-Allow-Origin: *\r\n").unwrap();
    let page = format!(
        "<!doctype html><title>docs</title><link rel=icon href=data:,><script type=module src='{}'></script>\
         <vramscope-viewer src=own.pickle.gz view=map></vramscope-viewer><script>{LISTEN}</script>",
        viewer.url("viewer.js")
    );
    fs::write(folder.path().join("far.html"), page).unwrap();
    let own = page_folder().join("samples/leak.pickle.gz");
    fs::copy(own, folder.path().join("own.pickle.gz")).unwrap();
    let url = host.server.url("far.html");
    host.page.goto(&url).unwrap();
    // The frame belongs to another site: only its messages are known here.
    host.page
        .wait_for(
            "told.some(([type, detail]) => type === 'view-change' && detail.view === 'map' && detail.state.includes('own.pickle.gz'))",
            PATIENCE,
        )
        .unwrap();
    let progress = "told.findIndex(([type, {name, loaded}]) => type === 'progress' && name === 'own.pickle.gz' && loaded >= 0)";
    let load = "told.findIndex(([type]) => type === 'load')";
    let in_order = format!("0 <= {progress} && {progress} < {load}");
    assert_eq!(host.page.eval(&in_order).unwrap(), true);
    // Files on that server are also loaded here, so that everything is reported.
    let far = format!(
        "document.querySelector('vramscope-viewer').src = '{}'; null",
        viewer.url("samples/training.pickle.gz")
    );
    host.page.eval(&far).unwrap();
    let load = "told.some(([type, {name, bytes}]) => type === 'load' && name === 'training.pickle.gz' && bytes > 1000)";
    host.page.wait_for(load, PATIENCE).unwrap();
    assert_eq!(host.page.complaints().unwrap(), [""; 0]);
}

#[test]
fn viewers_share_a_module_and_only_some_are_open() {
    let viewer = "<vramscope-viewer src=viewer/samples/leak.pickle.gz loading=eager height=200></vramscope-viewer>";
    let (mut host, _folder) = docs(&viewer.repeat(6));
    let frames = "[...document.querySelectorAll('vramscope-viewer')].map(({shadowRoot}) => shadowRoot.querySelector('iframe')).filter(Boolean)";
    host.page
        .wait_for(
            &format!("{frames}.length === 4 && {frames}.every(({{contentDocument}}) => contentDocument?.querySelector('.stage canvas'))"),
            PATIENCE,
        )
        .unwrap();
    let first = "Object.entries(vramscope).find(([name]) => name.endsWith('vramscope_worker'))[1]";
    let modules = format!("new Set({frames}.map(({{vramscope}}) => {first})).size");
    assert_eq!(host.page.eval(&modules).unwrap(), 1);
    let compiled = format!(
        "{frames}.slice(3, 4).map(({{vramscope}}) => Object.prototype.toString.call({first})) + \
         {frames}.filter(({{vramscope, contentWindow}}) => {first} instanceof contentWindow.WebAssembly.Module).length"
    );
    assert_eq!(
        host.page.eval(&compiled).unwrap(),
        "[object WebAssembly.Module]1"
    );
    host.check_quiet();
}

/// Each viewer is a third as high as the window, so that one stays near while another takes its place.
#[test]
fn a_viewer_that_made_room_opens_again_where_it_is_seen() {
    let viewer =
        "<vramscope-viewer src=viewer/samples/leak.pickle.gz controls=none></vramscope-viewer>";
    let style = "<style>vramscope-viewer { height: 33vh !important; display: block }</style>";
    let (mut host, _folder) = docs(&(style.to_owned() + &viewer.repeat(6)));
    let is_open = |number: usize| {
        format!(
            "!!document.querySelectorAll('vramscope-viewer')[{number}].shadowRoot\
             ?.querySelector('iframe')?.contentDocument?.querySelector('.stage canvas')"
        )
    };
    host.page
        .wait_for(&format!("{} && {}", is_open(0), is_open(2)), PATIENCE)
        .unwrap();
    // The first is just out of sight, and stays near.
    for (seen, opens) in [(1, 4), (0, 0)] {
        let viewer = format!("document.querySelectorAll('vramscope-viewer')[{seen}]");
        let scroll = format!(
            "scrollTo({{top: {viewer}.offsetTop + 20 * {seen}, behavior: 'instant'}}); null"
        );
        host.page.eval(&scroll).unwrap();
        host.page.wait_for(&is_open(opens), PATIENCE).unwrap();
    }
    host.check_quiet();
}

#[test]
fn an_attribute_set_while_it_loads_leaves_the_others() {
    let (mut host, _folder) = docs("");
    host.page
        .eval(
            "globalThis.viewer = Object.assign(document.createElement('vramscope-viewer'), \
               {src: 'viewer/samples/multi-device.pickle.gz', view: 'map', device: 1, loading: 'eager'}); \
             document.body.append(viewer); setTimeout(() => { viewer.search = 'size>1MiB'; }, 10); null",
        )
        .unwrap();
    let shown = "globalThis.viewer.save().includes('view=map') && viewer.save().includes('device=1') \
                 && viewer.save().includes('q=size') && viewer.shadowRoot.querySelector('.stage.shown')";
    host.page
        .wait_for(&format!("!!({shown})"), PATIENCE)
        .unwrap();
    host.check_quiet();
}

#[test]
fn escape_leaves_and_the_wheel_scrolls_the_docs() {
    let (mut host, _folder) = docs(
        "<vramscope-viewer src=viewer/samples/training.pickle.gz></vramscope-viewer><p style='height:3000px'>text</p>",
    );
    host.page.wait_for(PAINTED, PATIENCE).unwrap();
    host.page
        .eval(&format!(
            "document.querySelector('h1').focus(); \
             new MutationObserver(() => globalThis.isHinted = true).observe({INNER}.documentElement, {{attributeFilter: ['data-hint']}})"
        ))
        .unwrap();
    host.page
        .wheel(450.0, 350.0, 120.0, Modifiers::NONE)
        .unwrap();
    host.page
        .wait_for("scrollY > 0 && globalThis.isHinted", PATIENCE)
        .unwrap();
    host.page
        .eval("scrollTo({top: 0, behavior: 'instant'})")
        .unwrap();
    host.page.click(450.0, 350.0, 1).unwrap();
    host.page
        .wait_for(&format!("{INNER}.hasFocus()"), PATIENCE)
        .unwrap();
    for _ in 0..3 {
        host.page.key("Escape", Modifiers::NONE).unwrap();
    }
    host.page
        .wait_for(&format!("!{INNER}.hasFocus()"), PATIENCE)
        .unwrap();
}

#[test]
fn what_is_replaced_or_refused_is_told_at_once() {
    let (mut host, folder) = docs("<vramscope-viewer reveal=click></vramscope-viewer>");
    // Each opening has its own end, whichever comes first.
    host.page
        .eval(
            "globalThis.ends = []; globalThis.viewer = document.querySelector('vramscope-viewer'); \
             for (const name of ['leak', 'training']) viewer.load(`viewer/samples/${name}.pickle.gz`) \
               .then(({name}) => ends.push(name), ({name}) => ends.push(name)); null",
        )
        .unwrap();
    let ends = "globalThis.ends.join()";
    host.page
        .wait_for(
            &format!("{ends} === 'AbortError,training.pickle.gz'"),
            PATIENCE,
        )
        .unwrap();
    // Neither a state nor an address.
    host.page
        .eval("viewer.restore('%&view=%E0%A4%A'); viewer.view = 'map'; null")
        .unwrap();
    host.page
        .eval("for (const what of [undefined, {}, '', 'http://[']) viewer.load(what).catch(({message}) => ends.push(message)); null")
        .unwrap();
    host.page
        .wait_for(&format!("{ends}.includes('no file to load')"), PATIENCE)
        .unwrap();
    host.page
        .wait_for(
            &format!("['not undefined', 'not object', 'no address: http://['].every((end) => {ends}.includes(end))"),
            PATIENCE,
        )
        .unwrap();
    // A page that does not exist, without waiting for an answer.
    let missing = "customElements.get('vramscope-viewer').page = 'missing.html'; \
         viewer.load('viewer/samples/leak.pickle.gz').catch(({message}) => ends.push(message)); null";
    host.page.eval(missing).unwrap();
    host.page
        .wait_for(
            &format!("{ends}.includes('missing.html cannot be loaded')"),
            PATIENCE,
        )
        .unwrap();
    drop(folder);
}

#[test]
fn the_theme_is_that_of_the_ground_however_it_is_written_and_changed() {
    let (mut host, _folder) = docs(
        "<style>#around { transition: background 50ms; background: oklch(0.98 0 0) } #around.dark { background: oklch(0.2 0 0) }</style>\
         <div id=around><vramscope-viewer src=viewer/samples/leak.pickle.gz poster=data:,light poster-dark=data:,dark>\
         </vramscope-viewer></div>",
    );
    host.page.wait_for(PAINTED, PATIENCE).unwrap();
    let theme = |name: &str| format!("{INNER}.documentElement.dataset.theme === '{name}'");
    let poster = "document.querySelector('vramscope-viewer').shadowRoot.querySelector('img').src";
    host.page.wait_for(&theme("light"), PATIENCE).unwrap();
    assert_eq!(host.page.eval(poster).unwrap(), "data:,light");
    host.page
        .eval("document.querySelector('#around').className = 'dark'; null")
        .unwrap();
    host.page.wait_for(&theme("dark"), PATIENCE).unwrap();
    assert_eq!(host.page.eval(poster).unwrap(), "data:,dark");
    host.check_quiet();
}
