//! Ranges and marks appear in the snapshot, from all variants of NVTX, from vramscope-api and from tracing.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use vramscope_capture_tests::programs;
use vramscope_capture_tests::session::{Captured, Session};
use vramscope_core::Snapshot;
use vramscope_core::analysis::time::history::History;
use vramscope_core::analysis::time::lanes::{Lanes, thread_names};
use vramscope_core::model::{Action, Annotation, Stage};

#[track_caller]
fn captured(session: Session, program: &Path, arguments: &[&str]) -> Captured {
    let captured = session.capture_program(program, arguments);
    let Captured {
        status,
        stdout,
        stderr,
        ..
    } = &captured;
    assert!(status.success(), "{status}\n{stdout}\n{stderr}");
    captured
}

/// A line per range, in order of their beginnings: thread, domain, name, and `…` if the end is missing.
fn annotation_lines(snapshot: &Snapshot) -> String {
    let threads = thread_names(snapshot);
    let marks = &snapshot.annotations.rows;
    let mut lines = String::new();
    for mark in marks.iter().filter(|mark| mark.stage == Stage::Start) {
        let is_end = |other: &&Annotation| other.stage == Stage::End && other.range == mark.range;
        let end = marks.iter().find(is_end);
        assert!(mark.range.is_some() && end.is_none_or(|end| mark.time_us <= end.time_us));
        let thread = mark.thread.and_then(|thread| threads.get(&thread));
        let thread = thread.unwrap_or(&"?");
        let domain = mark.domain.map_or(String::new(), |domain| {
            format!(" {}", snapshot.strings.get(domain))
        });
        let mut name = snapshot.strings.get(mark.name).to_owned();
        if name.len() > 100 {
            name = format!("{} bytes", name.len());
        }
        let open = if end.is_none() { " …" } else { "" };
        writeln!(lines, "{thread}{domain}: {name}{open}").expect("a text grows");
    }
    lines
}

/// The ranges around each `alloc` event, outermost first.
fn around_allocations(snapshot: &Snapshot) -> Vec<String> {
    let history = History::of(snapshot, 0);
    let lanes = Lanes::of(snapshot, &history);
    let allocs = (1..=history.event_count).filter(|moment| {
        let event = (history.first_event + moment - 1) as usize;
        snapshot.events.action[event] == Action::Alloc
    });
    let names = |moment| {
        let names = lanes
            .around(moment)
            .map(|(_, range)| range.name.text(&snapshot.strings));
        names.collect::<Vec<_>>().join(" > ")
    };
    allocs.map(names).collect()
}

#[test]
fn nvtx() {
    let captured = captured(Session::new(), &programs::client("annotate"), &["nvtx"]);
    // The depths that NVTX specifies.
    assert_eq!(
        captured.stdout,
        "attached\n0\n1 1\n1\n0 1\n1 0 -1\n2\n0\n0 -1\n1 0 -1\n"
    );
    let snapshot = captured.snapshot();
    let expected = "conductor: program\n\
        conductor: wide é\n\
        conductor cache: evict\n\
        conductor cache: evict\n\
        conductor: mark\n\
        conductor: \n\
        conductor: \n\
        conductor: copy\n\
        helper: in thread\n\
        conductor: 4096 bytes …\n\
        conductor: never ends …\n";
    assert_eq!(annotation_lines(&snapshot), expected);
    let expected = [
        "program",
        "program > wide é > evict > evict",
        "program > wide é > copy",
        "",
    ];
    let found = around_allocations(&snapshot);
    assert_eq!(found[..3], expected[..3]);
    assert!(found[3].ends_with("never ends"), "{found:?}");
}

#[test]
fn vramscope_api() {
    let captured = captured(Session::new(), &programs::client("annotate"), &["api"]);
    let snapshot = captured.snapshot();
    let expected = "annotate: load\n\
        annotate: train step 0\n\
        annotate: forward\n\
        annotate cache: evict\n\
        annotate: train step 1\n\
        annotate: forward\n\
        annotate cache: evict\n\
        annotate: around\n\
        annotate: open\n\
        annotate: end\n";
    assert_eq!(annotation_lines(&snapshot), expected);
    let annotated = (0..snapshot.events.action.len())
        .filter(|&event| snapshot.events.action[event] == Action::Annotate)
        .map(|event| {
            let context = snapshot.contexts.get(snapshot.events.context[event]);
            snapshot
                .strings
                .get(context.user_metadata.unwrap())
                .to_owned()
        });
    assert_eq!(annotated.collect::<Vec<_>>(), ["weights"]);
}

#[test]
fn tracing() {
    let captured = captured(Session::new(), &programs::client("annotate"), &["tracing"]);
    let expected = "annotate: train{step=0}\n\
        annotate: forward{of=model, layers=3}\n\
        annotate: train{step=1}\n\
        annotate: forward{of=model, layers=3}\n";
    let snapshot = captured.snapshot();
    assert_eq!(annotation_lines(&snapshot), expected);
    let both = [
        "train{step=0} > forward{of=model, layers=3}",
        "train{step=1} > forward{of=model, layers=3}",
    ];
    assert_eq!(around_allocations(&snapshot), both);
}

#[test]
fn nothing_is_formatted_where_nobody_listens() {
    let output = Session::new()
        .alone(&programs::client("annotate"), &["nobody-listens"])
        .output();
    let output = output.unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stdout), "-2 false\n");
}

#[test]
fn ranges_alone_make_no_log() {
    let session = Session::new();
    let raw = session.folder().join("raw");
    let captured = session
        .with(&["--raw-dir", raw.to_str().unwrap()])
        .capture_program(&programs::client("annotate"), &["without-cuda"]);
    assert_eq!(captured.stdout, "attached\n0\n");
    assert_eq!(raw.read_dir().unwrap().count(), 0, "{}", captured.stderr);
}

/// The folder with `nvtx3/nvToolsExt.h`, if `cargo xtask consumers` has installed it.
fn nvtx_headers_folder() -> Option<PathBuf> {
    let consumers = PathBuf::from(std::env::var_os("VRAMSCOPE_CONSUMERS")?);
    let versions = consumers.join("python/lib").read_dir().ok()?;
    let mut folders = versions.flatten().map(|version| {
        let packages = version.path().join("site-packages");
        packages.join("nvidia/nvtx/include")
    });
    folders.find(|folder| folder.join("nvtx3/nvToolsExt.h").exists())
}

#[test]
fn nvtx_headers() {
    let Some(headers) = nvtx_headers_folder() else {
        eprintln!("skipped: no headers of NVTX; see cargo xtask consumers");
        return;
    };
    let session = Session::new();
    let program: PathBuf = session.folder().join("nvtx");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/nvtx/headers.c");
    let compiled = Command::new("cc")
        .arg("-I")
        .arg(headers)
        .arg(source)
        .arg("-o")
        .arg(&program)
        .arg("-ldl")
        .status();
    assert!(compiled.unwrap().success());
    let captured = captured(session, &program, &[]);
    assert_eq!(captured.stdout, "0 1 0\n0 0 -1\n");
    assert_eq!(
        annotation_lines(&captured.snapshot()),
        "in C: outer\nin C: é\nin C C domain: registered\nin C: mark\nin C: started\n"
    );
}
