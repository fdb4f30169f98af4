//! Names of addresses in this test's own binary: unchanged, stripped, without debug information, damaged.
#![expect(clippy::print_stdout, reason = "says what was not tested")]
#![expect(unsafe_code, reason = "asks libgcc for return addresses")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use vramscope_capture::symbols::FileSymbols;
use vramscope_record::reader::Header;
use vramscope_record::symbols::{CodeAddress, LoadedModule, SourceFrame, Symbols as _};

#[inline(always)]
fn inlined() -> Vec<u64> {
    // Using the result prevents a tail call.
    std::hint::black_box(return_addresses())
}

const INLINED_LINE: u32 = line!() - 3;

#[inline(never)]
fn outer() -> Vec<u64> {
    std::hint::black_box(inlined())
}

const OUTER_LINE: u32 = line!() - 3;

/// Return addresses, the caller's first.
#[inline(never)]
fn return_addresses() -> Vec<u64> {
    #[repr(C)]
    struct Context(c_void);
    unsafe extern "C" {
        fn _Unwind_Backtrace(
            each: extern "C" fn(*mut Context, *mut c_void) -> c_int,
            found: *mut c_void,
        ) -> c_int;
        fn _Unwind_GetIP(context: *mut Context) -> usize;
    }
    extern "C" fn each(context: *mut Context, found: *mut c_void) -> c_int {
        // SAFETY: libgcc passes the pointer that it was given.
        unsafe { (*found.cast::<Vec<u64>>()).push(_Unwind_GetIP(context) as u64) };
        0
    }
    let mut found = Vec::<u64>::new();
    // SAFETY: the callback takes the vector that is passed here.
    unsafe { _Unwind_Backtrace(each, (&raw mut found).cast()) };
    found.split_off(1)
}

/// This binary as a module with another path.
fn this_module(path: &Path) -> LoadedModule {
    let own = std::env::current_exe().unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut mappings = maps
        .lines()
        .filter(|line| line.ends_with(own.to_str().unwrap()));
    let start = mappings.next().unwrap().split('-').next().unwrap();
    let start = u64::from_str_radix(start, 16).unwrap();
    let bytes = std::fs::read(&own).unwrap();
    let object = object::File::parse(&*bytes).unwrap();
    LoadedModule {
        path: path.to_str().unwrap().to_owned(),
        build_id: object::Object::build_id(&object)
            .unwrap()
            .unwrap_or_default()
            .to_vec(),
        load_bias: start,
        start,
        end: start + (1 << 30),
    }
}

fn named(symbols: &mut FileSymbols, module: &LoadedModule) -> Vec<SourceFrame> {
    let code = |address| CodeAddress {
        address,
        module: Some(module),
    };
    let stack = [code(outer()[0])];
    symbols.frames(&stack)
}

fn summary(frames: &[SourceFrame]) -> Vec<(&str, &str, u32)> {
    frames
        .iter()
        .map(|frame| {
            let file = frame.file.rsplit('/').next().unwrap();
            (frame.function.as_str(), file, frame.line)
        })
        .collect()
}

fn whole() -> Vec<(&'static str, &'static str, u32)> {
    vec![
        ("inlined", "symbols.rs", INLINED_LINE),
        ("it::symbols::outer", "symbols.rs", OUTER_LINE),
    ]
}

/// Runs a tool of binutils. Returns false if it is not installed.
fn binutils(tool: &str, arguments: &[&Path]) -> bool {
    match Command::new(tool).args(arguments).status() {
        Ok(status) => {
            assert!(status.success(), "{tool} {arguments:?}");
            true
        }
        Err(error) => {
            println!("not tested: {tool}: {error}");
            false
        }
    }
}

/// A folder with this binary as `program`, stripped, and its debug information as `program.debug`.
fn stripped() -> Option<(tempfile::TempDir, PathBuf, PathBuf)> {
    let folder = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    let (program, debug) = (
        folder.path().join("program"),
        folder.path().join("program.debug"),
    );
    let is_there = binutils("objcopy", &[Path::new("--only-keep-debug"), &own, &debug])
        && binutils("strip", &[&own, Path::new("-o"), &program]);
    is_there.then_some((folder, program, debug))
}

#[test]
fn inlined_functions_are_frames() {
    let module = this_module(&std::env::current_exe().unwrap());
    let mut symbols = FileSymbols::new(&[]);
    let frames = named(&mut symbols, &module);
    assert_eq!(summary(&frames), whole());
    assert!(symbols.notes().is_empty(), "{:?}", symbols.notes());
    // Again, now from the cache.
    assert_eq!(named(&mut symbols, &module), frames);
}

/// The whole stack: each address has a name, and the stack ends where threads begin.
#[test]
fn whole_stacks_have_names() {
    let module = this_module(&std::env::current_exe().unwrap());
    let mut symbols = FileSymbols::new(&[]);
    let addresses = outer();
    let own = addresses
        .iter()
        .filter(|&&at| (module.start..module.end).contains(&at));
    let stack: Vec<_> = own
        .map(|&address| CodeAddress {
            address,
            module: Some(&module),
        })
        .collect();
    let frames = symbols.frames(&stack);
    assert!(frames.len() > stack.len(), "{frames:?}");
    assert!(
        frames.iter().all(|frame| !frame.function.starts_with("0x")),
        "{frames:?}"
    );
}

#[test]
fn debug_files_are_found_by_link_and_by_build_id() {
    let Some((folder, program, debug)) = stripped() else {
        return;
    };
    let module = this_module(&program);
    let mut symbols = FileSymbols::new(&[]);
    let frames = named(&mut symbols, &module);
    assert!(
        frames[0].function.starts_with("0x") && frames[0].file == "program",
        "{frames:?}"
    );
    assert!(
        symbols.notes()[0].contains("--debug-dir"),
        "{:?}",
        symbols.notes()
    );

    if !module.build_id.is_empty() {
        let id: String = module
            .build_id
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let place = folder.path().join("by-id/.build-id").join(&id[..2]);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::copy(&debug, place.join(format!("{}.debug", &id[2..]))).unwrap();
        let mut symbols = FileSymbols::new(&[folder.path().join("by-id")]);
        // On another machine, without the program itself.
        let elsewhere = LoadedModule {
            path: "/nowhere/program".to_owned(),
            ..module.clone()
        };
        assert_eq!(summary(&named(&mut symbols, &elsewhere)), whole());
    }

    let mut link = std::ffi::OsString::from("--add-gnu-debuglink=");
    link.push(&debug);
    assert!(binutils("objcopy", &[Path::new(&link), &program]));
    let mut symbols = FileSymbols::new(&[]);
    assert_eq!(summary(&named(&mut symbols, &module)), whole());
}

#[test]
fn compressed_sections_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let own = std::env::current_exe().unwrap();
    let packed = folder.path().join("packed");
    if binutils(
        "objcopy",
        &[Path::new("--compress-debug-sections"), &own, &packed],
    ) {
        let mut symbols = FileSymbols::new(&[]);
        assert_eq!(
            summary(&named(&mut symbols, &this_module(&packed))),
            whole()
        );
    }
}

#[test]
fn files_that_are_not_those_that_ran_are_not_used() {
    let own = std::env::current_exe().unwrap();
    let changed = LoadedModule {
        build_id: vec![1, 2, 3],
        ..this_module(&own)
    };
    let mut symbols = FileSymbols::new(&[]);
    let frames = named(&mut symbols, &changed);
    assert!(frames[0].function.starts_with("0x"), "{frames:?}");
    assert!(
        symbols.notes()[0].contains("have changed"),
        "{:?}",
        symbols.notes()
    );

    let missing = this_module(Path::new("/nowhere/program"));
    let mut symbols = FileSymbols::new(&[]);
    assert_eq!(named(&mut symbols, &missing).len(), 1);
    assert!(
        symbols.notes()[0].contains("were not found: /nowhere/program (1)"),
        "{:?}",
        symbols.notes()
    );

    // A copy in the user's folder, found by its name and by its path.
    let folder = tempfile::tempdir().unwrap();
    for place in ["program", "nowhere/program"] {
        let copy = folder.path().join("root").join(place);
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(&own, &copy).unwrap();
        let mut symbols = FileSymbols::new(&[folder.path().join("root")]);
        assert_eq!(summary(&named(&mut symbols, &missing)), whole());
        std::fs::remove_file(copy).unwrap();
    }
}

/// Whatever a damaged file contains, it merely has no names.
#[test]
fn damaged_files_are_survived() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged");
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let module = LoadedModule {
        build_id: Vec::new(),
        ..this_module(&path)
    };
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (random >> 33) as usize % below
    };
    let check = |bytes: &[u8], symbols: &mut FileSymbols| {
        std::fs::write(&path, bytes).unwrap();
        assert!(!named(symbols, &module).is_empty());
        let _ = symbols.notes();
    };
    for length in [0, 1, 16, 63, 64, 100, 1 << 12, own.len() / 2, own.len() - 1] {
        check(&own[..length], &mut FileSymbols::new(&[]));
    }
    for _ in 0..15 {
        let mut bytes = own.clone();
        for _ in 0..1000 {
            let at = next(bytes.len());
            bytes[at] = next(256) as u8;
        }
        // Also damages the section headers at the end.
        let tail = bytes.len() - 4000;
        for _ in 0..5 {
            bytes[tail + next(4000)] = next(256) as u8;
        }
        check(&bytes, &mut FileSymbols::new(&[]));
    }
    let noise: Vec<u8> = (0..10_000).map(|_| next(256) as u8).collect();
    check(&noise, &mut FileSymbols::new(&[]));
}

/// Inlined functions nested a million deep: reading them recursively would exhaust the stack.
#[test]
fn functions_nested_without_end_are_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let [text, object, library] =
        ["nested.s", "nested.o", "nested.so"].map(|n| folder.path().join(n));
    std::fs::write(
        &text,
        r#"
        .text
        .globl f
        .type f, %function
f:      nop
        nop
.Lend:  .size f, . - f
        .section .debug_abbrev, ""
        .byte 1, 0x11, 1, 0x11, 0x01, 0x12, 0x07, 0, 0
        .byte 2, 0x2E, 1, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0, 0
        .byte 3, 0x1D, 1, 0, 0
        .byte 0
        .section .debug_info, ""
        .long .Lafter - .Lunit
.Lunit: .short 4
        .long 0
        .byte 8
        .byte 1
        .quad f, .Lend - f
        .byte 2
        .asciz "f"
        .quad f, .Lend - f
        .fill 1000000, 1, 3
.Lafter:
        "#,
    )
    .unwrap();
    if !binutils("as", &[Path::new("-o"), &object, &text])
        || !binutils(
            "ld",
            &[Path::new("-shared"), Path::new("-o"), &library, &object],
        )
    {
        return;
    }
    let bytes = std::fs::read(&library).unwrap();
    let parsed = object::File::parse(&*bytes).unwrap();
    let symbol = object::Object::symbol_by_name(&parsed, "f").unwrap();
    let module = LoadedModule {
        path: library.to_str().unwrap().to_owned(),
        build_id: Vec::new(),
        load_bias: 0,
        start: 0,
        end: 1 << 20,
    };
    let address = object::ObjectSymbol::address(&symbol) + 1;
    let code = CodeAddress {
        address,
        module: Some(&module),
    };
    let frames = FileSymbols::new(&[]).frames(&[code]);
    assert_eq!(summary(&frames), [("f", "nested.so", 0)]);
}

#[test]
fn special_files_are_not_waited_for() {
    for path in [
        "/dev/zero",
        "/dev/tty",
        "/proc/self/maps",
        "/",
        "",
        "relative",
        "/\0",
    ] {
        let module = LoadedModule {
            build_id: Vec::new(),
            ..this_module(Path::new(path))
        };
        let mut symbols = FileSymbols::new(&[]);
        assert!(named(&mut symbols, &module)[0].function.starts_with("0x"));
    }
}

#[test]
fn python_frames_replace_the_interpreters() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    std::fs::write(
        folder.path().join("log.perf-map"),
        "1000 10 py::forward:/m.py\n1010 10 py::<module>:/t.py\n",
    )
    .unwrap();
    let module = |path: &str| LoadedModule {
        path: path.to_owned(),
        build_id: Vec::new(),
        load_bias: 0x10_0000,
        start: 0x10_0000,
        end: 0x20_0000,
    };
    let (extension, python) = (
        module("/nowhere/_C.so"),
        module("/nowhere/libpython3.12.so.1.0"),
    );
    let code = |address, module| CodeAddress { address, module };
    let stack = [
        code(0x10_1000, Some(&extension)),
        code(0x10_2000, Some(&python)),
        code(0x10_2100, Some(&python)),
        code(0x1008, None),
        code(0x10_2200, Some(&python)),
        code(0x1018, None),
        code(0x10_2300, Some(&python)),
        code(0x10_2400, Some(&python)),
        code(0x10_1500, Some(&extension)),
    ];
    let mut symbols = FileSymbols::new(&[]);
    symbols.begin(&log, &Header::default());
    let frames = symbols.frames(&stack);
    let functions: Vec<_> = frames.iter().map(|frame| frame.function.as_str()).collect();
    assert_eq!(
        functions,
        [
            "0xfff",
            "forward",
            "<module>",
            "Python interpreter",
            "0x14ff"
        ]
    );
    assert_eq!(frames[1].file, "/m.py");
    assert!(!has_note(&symbols, "Python functions"));

    symbols.begin(Path::new("/nowhere"), &Header::default());
    let frames = symbols.frames(&stack);
    assert_eq!(frames[1].function, "Python interpreter");
    assert_eq!(frames[2].function, "0x1008");
    assert!(has_note(&symbols, "--python on"));

    let old = module("/nowhere/libpython3.11.so.1.0");
    let mut symbols = FileSymbols::new(&[]);
    symbols.begin(Path::new("/nowhere"), &Header::default());
    symbols.frames(&[code(0x10_2000, Some(&old))]);
    assert!(has_note(&symbols, "Python 3.11 cannot name them"));
}

fn has_note(symbols: &FileSymbols, text: &str) -> bool {
    symbols.notes().iter().any(|note| note.contains(text))
}
