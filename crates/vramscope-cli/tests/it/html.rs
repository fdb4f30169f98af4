//! `html` and torch's three plots. How a browser shows the file is tested in `tests/browser`.

use std::path::Path;
use std::process::Output;

use insta::assert_snapshot;

use crate::program::{fixtures, transcript, vramscope, vramscope_reading};

/// Whether the program under test was built with the page; the same variable decides for both.
pub(crate) const HAS_PAGE: bool = option_env!("VRAMSCOPE_PAGE").is_some();

const FILE: &str = "torch-2.15.0/training.pickle";
const PROFILE: &str = "torch-2.15.0/profile_to_snapshot.pickle";

#[test]
fn help() {
    for command in ["html", "trace-plot", "segment-plot", "profile-plot"] {
        assert_snapshot!(command, transcript(&vramscope(&[command, "--help"])));
    }
}

#[test]
fn without_the_page_it_says_how_to_build_it() {
    if HAS_PAGE {
        return;
    }
    for command in ["html", "trace-plot", "segment-plot", "profile-plot"] {
        let output = vramscope(&[command, FILE, "-o", "never.html"]);
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("built without the page"), "{message}");
    }
    assert!(!fixtures().join("never.html").exists());
}

/// Runs a command that writes into a new folder; returns what it wrote.
fn written(arguments: &[&str]) -> (Output, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("made.html");
    let output = vramscope(&[arguments, &["-o", file.to_str().unwrap()]].concat());
    let html = std::fs::read_to_string(file).unwrap_or_default();
    (output, html)
}

#[test]
fn a_file_that_cannot_be_read_keeps_none_from_being_shown() {
    if !HAS_PAGE {
        return;
    }
    let (output, html) = written(&["html", "refused/truncated.pickle", FILE, "--at", "120"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("truncated.pickle")
    );
    assert_eq!(html.matches("data-file=\"").count(), 1);
    assert_eq!(
        place(&html),
        "file=training.pickle&view=overview&at=120&v=1"
    );
}

/// The value of an attribute in the page.
fn attribute<'h>(html: &'h str, name: &str) -> &'h str {
    let (_, rest) = html.split_once(&format!(" {name}=\"")).unwrap();
    rest.split('"').next().unwrap()
}

fn place(html: &str) -> String {
    let place = attribute(html, "data-place").replace("&#38;", "&");
    // The size changes with the compressor.
    let (before, after) = place.split_once('~').unwrap();
    let (_, after) = after.split_once('&').unwrap();
    format!("{before}&{after}")
}

#[test]
fn the_page_shows_what_was_asked_for() {
    if !HAS_PAGE {
        return;
    }
    for (arguments, expected) in [
        (
            &["html", FILE][..],
            "file=training.pickle&view=overview&v=1",
        ),
        (
            &["html", FILE, "--view", "state", "--at", "120"],
            "file=training.pickle&view=allocator&at=120&v=1",
        ),
        (
            &["html", FILE, "--view", "flame", "--range", "10..50"],
            "file=training.pickle&view=flame&range=11..51&v=1",
        ),
        (
            &["trace-plot", FILE],
            "file=training.pickle&view=timeline&v=1",
        ),
        (
            &["trace-plot", FILE, "-s", "--filter-freed"],
            "file=training.pickle&view=segments&v=1",
        ),
        (
            &["segment-plot", FILE, "-d", "0"],
            "file=training.pickle&view=allocator&v=1",
        ),
        (
            &["profile-plot", PROFILE],
            "file=profile_to_snapshot.pickle&view=timeline&colour=category&v=1",
        ),
    ] {
        let (output, html) = written(arguments);
        assert!(output.status.success(), "{}", transcript(&output));
        assert_eq!(place(&html), expected, "{arguments:?}");
    }
}

#[test]
fn graphs_are_put_in_as_they_are() {
    if !HAS_PAGE {
        return;
    }
    let graphs = "planning/graphs/torch_trace_sample.log";
    let (output, html) = written(&["html", graphs]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(html.matches("data-file=\"").count(), 1);
    assert!(place(&html).starts_with("file=torch_trace_sample.log"));
    // They have no moments.
    let (output, html) = written(&["html", graphs, "--at", "peak"]);
    assert_eq!((output.status.code(), html.is_empty()), (Some(2), true));
}

#[test]
fn nothing_is_loaded_from_beside_it() {
    if !HAS_PAGE {
        return;
    }
    let (_, html) = written(&["html", FILE, PROFILE]);
    assert!(!html.contains(" src=\"") && !html.contains(" href=\"app-"));
    assert!(html.contains("default-src 'none'"));
    let parts = html.matches("data-part=\"").count();
    for program in ["vramscope_app", "vramscope_worker", "vramscope_planner"] {
        for end in [".js", "_bg.wasm"] {
            let part = format!("data-part=\"{program}{end}\"");
            assert!(html.contains(&part), "{part}");
        }
    }
    assert_eq!(html.matches("data-file=\"").count(), 2);
    assert_eq!(html.matches("<script").count(), parts + 3);
}

#[test]
fn hostile_names_are_names() {
    if !HAS_PAGE {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "\"><script>alert(1)<!-- &amp;.pickle";
    let file = folder.path().join(name.replace('/', ""));
    std::fs::copy(fixtures().join(FILE), &file).unwrap();
    let (output, html) = written(&["html", file.to_str().unwrap()]);
    assert!(output.status.success(), "{}", transcript(&output));
    assert!(!html.contains("alert(1)<"), "not escaped");
    let parts = html.matches("data-part=\"").count();
    assert_eq!(html.matches("<script").count(), parts + 2);
    assert!(attribute(&html, "data-file").starts_with("&#34;&#62;&#60;script&#62;alert(1)"));
}

#[test]
fn what_it_wrote_is_read_again() {
    if !HAS_PAGE {
        return;
    }
    let (_, html) = written(&["html", FILE]);
    let devices = |output: Output| {
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let mut parts = answer["parts"].as_array().unwrap().clone();
        for part in &mut parts {
            part["file"].take();
        }
        parts.retain(|part| !part["device"].is_null());
        assert!(!parts.is_empty());
        parts
    };
    let again = devices(vramscope_reading(&["info", "--json", "-"], html.as_bytes()));
    let first = devices(vramscope(&["info", "--json", FILE]));
    assert_eq!(again, first);
}

#[test]
fn standard_input_and_output() {
    if !HAS_PAGE {
        return;
    }
    let bytes = std::fs::read(fixtures().join(FILE)).unwrap();
    let output = vramscope_reading(&["html", "-", "-o", "-"], &bytes);
    let html = String::from_utf8(output.stdout).unwrap();
    assert!(output.stderr.is_empty());
    assert_eq!(attribute(&html, "data-file"), "stdin");
}

#[test]
fn a_file_without_categories_is_refused() {
    if !HAS_PAGE {
        return;
    }
    let (output, html) = written(&["profile-plot", FILE]);
    assert_eq!(output.status.code(), Some(1));
    assert!(html.is_empty());
    assert_snapshot!(String::from_utf8(output.stderr).unwrap());
}

/// The file is smaller than the pickle, once that is larger than the viewer.
#[test]
fn data_is_smaller_than_the_pickle() {
    let shared = std::env::var_os("VRAMSCOPE_SHARED");
    let Some(shared) = shared.filter(|_| HAS_PAGE) else {
        return;
    };
    for entry in std::fs::read_dir(Path::new(&shared).join("real")).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "pickle")
        {
            continue;
        }
        let (output, html) = written(&["html", path.to_str().unwrap()]);
        println!("{}", transcript(&output));
        let data = html.split("data-file=\"").nth(1).unwrap().len() as u64;
        assert!(data < path.metadata().unwrap().len(), "{}", path.display());
    }
}
