//! What the driver does not report, or reports in an odd way: nothing is lost silently.

use std::fs;
use std::path::Path;

use vramscope_capture_tests::programs;
use vramscope_capture_tests::session::{Captured, Session};
use vramscope_capture_tests::story::{assert_same, assert_same_blocks};
use vramscope_core::analysis::memory::capture::Capture;
use vramscope_core::ids::EventId;
use vramscope_core::model::Action;

#[track_caller]
fn captured(session: Session, arguments: &[&str]) -> Captured {
    let captured = session.capture("scenes", arguments);
    let (stdout, stderr) = (&captured.stdout, &captured.stderr);
    assert!(captured.status.success(), "{stdout}\n{stderr}");
    captured
}

/// The capture's losses, each as reason and number of times.
fn lost(captured: &Captured) -> Vec<(String, u64)> {
    let capture = Capture::of(&captured.snapshot()).expect("a captured snapshot");
    let lost = capture.lost.into_iter();
    lost.map(|lost| (lost.reason, lost.times)).collect()
}

/// One odd pointer does not affect those after it, and is reported.
#[test]
fn a_pointer_with_fewer_attributes() {
    let session = Session::new().env("FAKECUDA_ODD_BYTES", "1000");
    let odd = captured(session, &["dlsym", "pools"]);
    assert_eq!(lost(&odd), [("PoolUnknown".to_owned(), 1)]);
    let line = "incomplete: the driver did not report the pool of an allocation, which therefore stands alone (once)";
    assert!(odd.stderr.contains(line), "{}", odd.stderr);
    let usual = captured(Session::new(), &["dlsym", "pools"]);
    assert_eq!(lost(&usual), []);
    // Other allocations are still in the segments of their pools.
    let mapped = |captured: &Captured| {
        let snapshot = captured.snapshot();
        let events = snapshot
            .trace(0)
            .map(|row| snapshot.events.get(EventId(row)));
        events
            .filter(|event| event.action == Action::SegmentAlloc)
            .count()
    };
    assert_eq!(mapped(&odd), mapped(&usual));
}

/// The recorder's queries do not end a capture that it does not know about.
#[test]
fn a_capture_whose_beginning_was_not_seen() {
    let captured = captured(Session::new(), &["dlsym", "unseen-capture"]);
    assert_same_blocks(&captured.snapshot(), captured.ledger());
}

/// Functions are found although the dynamic linker names them otherwise.
#[test]
fn functions_with_two_names() {
    // Names in the stand-in's symbol table, of functions that nobody calls, and of the functions they should name too.
    let aliases = [
        ("cuCtxAttach", "cuMemAlloc_v2"),
        ("cuCtxDetach", "cuMemFree_v2"),
        ("cuLaunchGrid", "cuMemAllocPitch_v2"),
        ("cuParamSeti", "cuMemAllocManaged"),
        ("cuParamSetv", "cuMemAllocAsync"),
        ("cuParamSetf", "cuMemFreeAsync"),
        ("cuLaunch", "cuMemAddressReserve"),
        ("cuLaunchGridAsync", "cuMemMap"),
    ];
    let session = Session::new();
    let folder = session.folder().join("cuda");
    fs::create_dir(&folder).expect("a folder");
    let mut driver = fs::read(programs::fakecuda().join("libcuda.so.1")).expect("the driver");
    for (alias, function) in aliases {
        symbols::alias(&mut driver, alias, function);
    }
    fs::write(folder.join("libcuda.so.1"), driver).expect("room");
    let session = session.env("LD_LIBRARY_PATH", &folder.display().to_string());
    let captured = captured(session, &["proc", "plain"]);
    assert_same(&captured.snapshot(), captured.ledger());
    assert_eq!(lost(&captured), []);
}

/// An unknown function under a hooked name is reported, even if nothing else happens.
#[test]
fn an_unknown_function() {
    let session = Session::new();
    let program = session.folder().join("unknown");
    programs::compile(
        r#"
        #include <dlfcn.h>
        int main(void) {
            void *driver = dlopen("libcuda.so.1", RTLD_NOW), *found = 0;
            int (*get)(const char *, void **, int, unsigned long, int *) = dlsym(driver, "cuGetProcAddress_v2");
            int status;
            // The function of the first CUDA, whose addresses have 32 bits.
            return get("cuMemAlloc", &found, 2000, 0, &status);
        }
        "#,
        &[],
        &program,
    );
    let captured = session.capture_program(Path::new(&program), &[]);
    let said = &captured.stderr;
    assert!(captured.status.success(), "{said}");
    for part in [
        "nothing was captured",
        "incomplete: the driver gave a function that this version does not know",
        "cuGetProcAddress(cuMemAlloc, 2000) gave ",
        "/libcuda.so.1+0x",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Recognised stacks equal what unwinding finds, on any thread.
#[test]
fn remembered_stacks() {
    let session = Session::new().env("VRAMSCOPE_CHECK_STACKS", "1");
    let captured = captured(session, &["dlsym", "threads"]);
    assert_eq!(lost(&captured), []);
}

/// Changes the symbols of a library.
mod symbols {
    /// Makes the symbol `alias` another name of `function`.
    pub(super) fn alias(library: &mut [u8], alias: &str, function: &str) {
        let [from, to] = [function, alias].map(|name| place(library, name));
        // Value and size follow name, kind, visibility and section.
        library.copy_within(from + 8..from + 24, to + 8);
    }

    /// Offset of a symbol in the dynamic symbol table.
    fn place(library: &[u8], name: &str) -> usize {
        const DYNSYM: u64 = 11;
        let sections = number(library, 0x28, 8);
        let section = |index: u64| sections + index * 64;
        let count = number(library, 0x3C, 2);
        let table = (0..count)
            .map(section)
            .find(|&at| number(library, at + 4, 4) == DYNSYM);
        let table = table.expect("a table of symbols");
        let names = number(library, section(number(library, table + 0x28, 4)) + 0x18, 8);
        let (start, bytes) = (
            number(library, table + 0x18, 8),
            number(library, table + 0x20, 8),
        );
        let symbols = (0..bytes / 24).map(|index| start + index * 24);
        let wanted = [name.as_bytes(), b"\0"].concat();
        let is_wanted = |at: &u64| {
            let name = (names + number(library, *at, 4)) as usize;
            library[name..].starts_with(&wanted)
        };
        symbols
            .into_iter()
            .find(is_wanted)
            .unwrap_or_else(|| panic!("no {name}")) as usize
    }

    fn number(library: &[u8], at: u64, bytes: usize) -> u64 {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(&library[at as usize..][..bytes]);
        u64::from_le_bytes(number)
    }
}
