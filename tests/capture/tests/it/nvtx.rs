//! NVTX beyond ranges: the library of NVTX 1 and 2, attributes, names, and the memory extension. The programs are in C
//! and spell out NVTX's binary interface.

use std::path::{Path, PathBuf};
use std::process::Command;

use vramscope_capture_tests::programs;
use vramscope_capture_tests::session::{Captured, Session};
use vramscope_capture_tests::story::Story;
use vramscope_core::Snapshot;
use vramscope_core::analysis::memory::capture::Capture;
use vramscope_core::ids::StringId;
use vramscope_core::model::Stage;

/// Compiles a C file of `clients/nvtx` into the session's folder.
fn compile(session: &Session, source: &str, output: &str, options: &[&Path]) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/nvtx");
    let output = session.folder().join(output);
    let is_library = output.display().to_string().contains(".so");
    let kind: &[&str] = if is_library {
        &["-shared", "-fPIC"]
    } else {
        &[]
    };
    let compiled = Command::new("cc")
        .arg("-g")
        .args(kind)
        .arg("-o")
        .arg(&output)
        .arg(folder.join(source))
        .args(options)
        .arg("-ldl")
        .status();
    assert!(compiled.expect("a C compiler").success(), "{source}");
    output
}

/// A session with a program linked with `libnvToolsExt.so.1`; a folder has a stand-in for it.
fn linked() -> (Session, PathBuf) {
    let session = Session::new();
    let name = Path::new("-Wl,-soname,libnvToolsExt.so.1");
    let stand_in = compile(&session, "old.c", "libnvToolsExt.so.1", &[name]);
    let program = compile(&session, "linked.c", "linked", &[&stand_in]);
    (session, program)
}

/// The session with the stand-in's folder on the library path.
fn with_stand_in(session: Session) -> Session {
    let path = format!(
        "{}:{}",
        programs::fakecuda().display(),
        session.folder().display()
    );
    session.env("LD_LIBRARY_PATH", &path)
}

#[track_caller]
fn captured(session: Session, program: &Path) -> Captured {
    let captured = session.capture_program(program, &[]);
    let Captured {
        status,
        stdout,
        stderr,
        ..
    } = &captured;
    assert!(status.success(), "{status}\n{stdout}\n{stderr}");
    captured
}

/// The beginnings of ranges: domain, name, category, payload and colour.
fn beginnings(snapshot: &Snapshot) -> Vec<String> {
    let text = |id: Option<StringId>| id.map_or("-", |id| snapshot.strings.get(id));
    let rows = snapshot.annotations.rows.iter();
    let rows = rows.filter(|row| row.stage == Stage::Start);
    rows.map(|row| {
        let colour = row
            .colour
            .map_or("-".to_owned(), |colour| format!("{colour:08x}"));
        let (domain, name) = (text(row.domain), text(Some(row.name)));
        let (category, payload) = (text(row.category), text(row.payload));
        format!("{domain} {name}: {category} {payload} {colour}")
    })
    .collect()
}

const BEGINNINGS: [&str; 5] = [
    "- outer: - - -",
    "- read: io -3 ff76b900",
    "- no name of its category: 8 0.25 -",
    "library named later: its own - -",
    "- started: - - -",
];

/// The program's names for streams, contexts and devices.
#[track_caller]
fn assert_names(snapshot: &Snapshot) {
    let labels = snapshot.streams().labels();
    assert!(
        labels.len() == 2 && labels[1].starts_with("copies (stream 1, 0x"),
        "{labels:?}"
    );
    let capture = Capture::of(snapshot).expect("a capture");
    let device = capture.device(0).expect("a device");
    assert!(device.name.starts_with("trainer ("), "{}", device.name);
    assert_eq!(snapshot.extras["capture"]["contexts"]["0x77"], "context");
}

/// This library replaces a missing `libnvToolsExt.so.1`.
#[test]
fn without_the_old_library() {
    let (session, program) = linked();
    std::fs::remove_file(session.folder().join("libnvToolsExt.so.1")).expect("it was there");
    let captured = captured(session, &program);
    assert_eq!(captured.stdout, "0 1 1 0\n");
    let snapshot = captured.snapshot();
    assert_eq!(beginnings(&snapshot), BEGINNINGS);
    assert_names(&snapshot);
}

/// An existing `libnvToolsExt.so.1` is called, and calls this library in turn: everything is recorded once.
#[test]
fn the_old_library_is_called() {
    let (session, program) = linked();
    let captured = captured(with_stand_in(session), &program);
    assert_eq!(captured.stdout, "0 1 1 0\n");
    assert!(
        captured.stderr.contains("libnvToolsExt: 15 calls"),
        "{}",
        captured.stderr
    );
    let snapshot = captured.snapshot();
    assert_eq!(beginnings(&snapshot), BEGINNINGS);
    assert_names(&snapshot);
}

/// Another tool gets the ranges of linked programs, as it gets those of all others.
#[test]
fn somebody_elses_tool_gets_the_ranges() {
    let (session, program) = linked();
    let listener = compile(&session, "listener.c", "listener.so", &[]);
    let session = session.env("NVTX_INJECTION64_PATH", &listener.display().to_string());
    let captured = captured(with_stand_in(session), &program);
    assert_eq!(captured.stdout, "0 1 0 1\n", "what the tool answers");
    assert!(
        captured.stderr.contains("listener: 2 pushed, 2 popped"),
        "{}",
        captured.stderr
    );
    assert_eq!(beginnings(&captured.snapshot()), [""; 0]);
}

/// Regions of heaps are blocks, and their heaps are segments.
#[test]
fn memory_extension() {
    let session = Session::new();
    let program = compile(&session, "heaps.c", "heaps", &[]);
    let captured = captured(session, &program);
    assert_eq!(captured.stdout, "0 1\n", "only the memory extension");
    let snapshot = captured.snapshot();
    let (story, truth) = Story::both(&snapshot, captured.ledger(), 0);
    assert_eq!(story.mapped, truth.mapped);
    let at = |bytes| {
        let mut live = truth.live.iter();
        *live
            .find(|(_, size)| **size == bytes)
            .expect("it is live")
            .0
    };
    let (heap, arena, layout) = (at(64 << 20), at(4 << 20), at(3 << 20));
    let mut parts = story.live.clone();
    assert_eq!(parts.remove(&layout), Some(3 << 20), "nobody divided it");
    assert_eq!(parts.remove(&at(1 << 20)), Some(1 << 20), "the first");
    let parts: Vec<_> = parts.into_iter().collect();
    assert_eq!(parts, [(heap, 700_000), (heap + (2 << 20), 2 << 20)]);
    assert!(story.live.range(arena..arena + (4 << 20)).next().is_none());
    let capture = Capture::of(&snapshot).expect("a capture");
    assert_eq!(capture.notes, [""; 0]);
}
