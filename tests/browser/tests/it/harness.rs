//! The harness itself: a test's input reaches a page like a user's.

use std::fs;

use serde_json::json;
use vramscope_browser_tests::Modifiers;

use crate::PATIENCE;
use crate::open::open_in;

/// A page that records the events it gets.
const DIARY: &str = r#"<!doctype html><title>diary</title><style>html { user-select: none }</style>
<input type="file" multiple style="position:fixed;bottom:0">
<script>
globalThis.diary = [];
const note = (...words) => diary.push(words.join(" "));
for (const type of ["mousemove", "click", "dblclick", "keydown", "wheel", "drop", "dragover"])
  addEventListener(type, event => {
    if (type === "wheel" || type === "drop" || type === "dragover") event.preventDefault();
    if (type === "wheel") note(type, event.deltaY, event.shiftKey);
    else if (type === "keydown") note(type, event.key, event.code, event.ctrlKey);
    else if (type === "drop") note(type, event.dataTransfer.files[0].name);
    else note(type, event.clientX, event.clientY, event.buttons, event.altKey);
  }, { passive: false });
document.querySelector("input").addEventListener("change", event =>
  note("chose", ...[...event.target.files].map(file => `${file.name}:${file.size}`)));
new Worker(URL.createObjectURL(new Blob(["console.error('a worker');fetch('" + location.origin + "/from-worker')"])));
</script>"#;

#[test]
fn input_reaches_the_page() {
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("index.html"), DIARY).unwrap();
    let file = site.path().join("some.pickle");
    fs::write(&file, b"1234").unwrap();
    let mut open = open_in(site.path(), "");
    let page = &mut open.page;

    page.click(30.0, 40.0, 2).unwrap();
    page.drag((10.0, 10.0), (20.0, 30.0), 2, Modifiers::ALT)
        .unwrap();
    page.wheel(50.0, 60.0, -120.0, Modifiers::SHIFT).unwrap();
    page.key("ArrowLeft", Modifiers::NONE).unwrap();
    page.key("a", Modifiers::CONTROL).unwrap();
    page.drop_files(100.0, 100.0, std::slice::from_ref(&file))
        .unwrap();
    page.choose_files("input", &[file]).unwrap();
    page.wait_for("diary.some(line => line.startsWith('chose'))", PATIENCE)
        .unwrap();

    let diary = page.eval("diary").unwrap();
    let lines: Vec<&str> = diary
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|l| l.as_str())
        .collect();
    for expected in [
        "dblclick 30 40 0 false",
        "mousemove 15 20 1 true",
        "mousemove 20 30 1 true",
        "keydown ArrowLeft ArrowLeft false",
        "keydown a KeyA true",
        "drop some.pickle",
        "chose some.pickle:4",
    ] {
        assert!(lines.contains(&expected), "no {expected:?} in {lines:#?}");
    }
    assert!(
        lines.iter().any(|line| line.starts_with("wheel")),
        "no wheel in {lines:#?}"
    );
}

#[test]
fn what_a_worker_asks_for_and_says_is_seen() {
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("index.html"), DIARY).unwrap();
    let mut open = open_in(site.path(), "");
    let from_worker = open.server.url("from-worker");
    let deadline = std::time::Instant::now() + PATIENCE;
    while !open
        .page
        .requests()
        .unwrap()
        .iter()
        .any(|request| request.url == from_worker)
    {
        assert!(
            std::time::Instant::now() < deadline,
            "{:?}",
            open.page.requests()
        );
        open.page
            .pause(std::time::Duration::from_millis(50))
            .unwrap();
    }
    let complaints = open.page.complaints().unwrap();
    assert!(
        complaints.contains(&"a worker".to_owned()),
        "{complaints:?}"
    );
}

#[test]
fn the_window_is_as_set() {
    let site = tempfile::tempdir().unwrap();
    fs::write(
        site.path().join("index.html"),
        "<!doctype html><h1>hello</h1>",
    )
    .unwrap();
    let mut open = open_in(site.path(), "");
    open.page.set_viewport(800, 600, 2.0).unwrap();
    open.page.set_color_scheme("dark").unwrap();
    let seen = open
        .page
        .eval("[innerWidth, innerHeight, devicePixelRatio, matchMedia('(prefers-color-scheme: dark)').matches]")
        .unwrap();
    assert_eq!(seen, json!([800, 600, 2, true]));
    let picture = site.path().join("picture.png");
    open.page.screenshot(&picture).unwrap();
    // Width and height are in the first chunk of a PNG file.
    let png = fs::read(picture).unwrap();
    assert_eq!(png[16..24], [0, 0, 6, 64, 0, 0, 4, 176]);
    assert!(
        open.page
            .accessibility_tree()
            .unwrap()
            .contains("heading \"hello\"")
    );
}
