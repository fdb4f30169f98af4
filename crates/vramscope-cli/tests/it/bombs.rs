//! Small files that decompress to anything, and small files with long answers, when the program has little memory.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use vramscope_synth::pickle::bombs::{self, zstd};
use vramscope_synth::pickle::op;
use vramscope_synth::pickle::raw::Raw;

/// Address space in KiB: what the program itself needs, and what it allows a file.
const ADDRESS_SPACE_KIB: u32 = 400 << 10;

/// Runs `info` on a file within the address space.
fn info(path: &Path) -> Output {
    limited(&["info"], path).output().unwrap()
}

/// The program with a file as its last argument, within the address space.
fn limited(arguments: &[&str], path: &Path) -> Command {
    limited_to(ADDRESS_SPACE_KIB, arguments, path)
}

/// The same within another address space.
fn limited_to(space_kib: u32, arguments: &[&str], path: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!(
            "ulimit -c 0; ulimit -v {space_kib}; exec \"$0\" \"$@\""
        ))
        .arg(env!("CARGO_BIN_EXE_vramscope"))
        .args(arguments)
        .arg(path)
        .stdin(Stdio::null());
    command
}

/// A snapshot of allocations at different addresses, with one stack of equal frames, whose function has a long name.
fn with_stacks(allocations: u32, frames: usize, name: &str) -> Vec<u8> {
    let long = |pickle: Raw, text: &str| {
        let pickle = pickle.op_u32(op::BINUNICODE, text.len() as u32);
        pickle.bytes(text.as_bytes())
    };
    let mut frame = Raw::new().op(op::EMPTY_DICT).op(op::MARK);
    frame = long(frame.text("name"), name);
    frame = frame.text("filename").text("a.py").text("line").int1(1);
    let mut pickle = Raw::proto(4).op(op::EMPTY_DICT).op(op::MARK);
    pickle = pickle.text("segments").op(op::EMPTY_LIST);
    pickle = pickle.text("device_traces").op(op::EMPTY_LIST);
    pickle = pickle.op(op::MARK).op(op::EMPTY_LIST).op(op::MARK);
    for event in 0..allocations {
        pickle = pickle.op(op::EMPTY_DICT).op(op::MARK);
        pickle = pickle.text("action").text("alloc").text("size").int1(7);
        pickle = pickle.text("addr").op_u32(op::BININT, event << 8);
        pickle = pickle.text("stream").int1(0).text("frames");
        pickle = match event {
            0 => {
                pickle = pickle.op(op::EMPTY_LIST).op(op::MARK);
                pickle = pickle.bytes(&frame.clone().op(op::SETITEMS).binput(0).cut());
                pickle = pickle.bytes(&[op::BINGET, 0].repeat(frames - 1));
                pickle.op(op::APPENDS).binput(1)
            }
            _ => pickle.binget(1),
        };
        pickle = pickle.op(op::SETITEMS);
    }
    pickle
        .op(op::APPENDS)
        .op(op::APPENDS)
        .op(op::SETITEMS)
        .stop()
}

#[test]
#[cfg_attr(
    not(target_os = "linux"),
    ignore = "only Linux limits the address space"
)]
fn bombs_are_refused_where_there_is_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb");
    // 8 GiB of NONE and DUP, which once cost 8 bytes each.
    let mut files = vec![
        ("nones".to_owned(), zstd(b"\x80\x04", b'N', 64 << 10)),
        ("duplicates".to_owned(), zstd(b"\x80\x04N", b'2', 64 << 10)),
        ("lists".to_owned(), zstd(b"\x80\x04", b']', 64 << 10)),
        ("blanks".to_owned(), zstd(b"{", b' ', 64 << 10)),
        ("zeros".to_owned(), zstd(b"", 0, 64 << 10)),
    ];
    let plain = [
        "lists",
        "dicts",
        "pairs_in_one_dict",
        "events_after_a_record",
        "json_dicts",
    ];
    for bomb in bombs::all() {
        if plain.contains(&&*bomb.name) {
            let mut bytes = Vec::new();
            bomb.write(&mut bytes).unwrap();
            files.push((format!("plain {}", bomb.name), bytes));
        }
    }
    for (name, bytes) in files {
        std::fs::write(&path, &bytes).unwrap();
        let output = info(&path);
        let said = String::from_utf8_lossy(&output.stderr);
        println!("{name}: {} bytes: {said}", bytes.len());
        assert_eq!(
            output.status.code(),
            Some(1),
            "{name}: {:?} {said}",
            output.status
        );
        assert!(said.len() < 2000, "{name}: {said}");
    }
}

#[test]
fn compressed_bombs_are_said_to_need_unpacking_first() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.zst");
    std::fs::write(&path, zstd(b"\x80\x04", b'N', 1 << 10)).unwrap();
    let said = String::from_utf8(info(&path).stderr).unwrap();
    assert!(said.contains("decompress it first"), "{said}");
    // A window of 4 TiB, and one of 2 GiB as `zstd --long=31` writes it.
    for window in [0xff, 0xa8] {
        let file = [b"\x28\xb5\x2f\xfd\x00".as_slice(), &[window, 1, 0, 0]].concat();
        std::fs::write(&path, file).unwrap();
        let said = String::from_utf8(info(&path).stderr).unwrap();
        assert!(said.contains("the window of the zstd data"), "{said}");
        assert!(said.contains("decompress it first"), "{said}");
    }
}

/// An answer is written while it is produced: a stack of 130 megabytes, and rows that would take as much, in all forms.
#[test]
#[cfg_attr(
    not(target_os = "linux"),
    ignore = "only Linux limits the address space"
)]
fn long_answers_need_little_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.pickle");
    let name = "f".repeat(500);
    for (allocations, frames, least_bytes) in [(1, 300_000, 125 << 20), (60_000, 1, 28 << 20)] {
        std::fs::write(&path, with_stacks(allocations, frames, &name)).unwrap();
        for form in ["--bytes", "--json", "--csv"] {
            let asked = ["find", "", "--stack", "--limit", "0", form];
            let mut command = limited(&asked, &path);
            let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
            let mut answer = child.stdout.take().unwrap();
            let written = std::io::copy(&mut answer, &mut std::io::sink()).unwrap();
            let status = child.wait().unwrap();
            println!("{form}: {written} bytes");
            assert!(status.success(), "{form}: {status}");
            assert!(written > least_bytes, "{form}: {written}");
        }
    }
}

/// JSON repeats what a pickle shares; a little file that would become gigabytes is refused with advice.
#[test]
fn what_formats_repeat_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shared.pickle");
    let output = folder.path().join("out");
    // 30 GB as JSON, and 180 MB when its names are hashes.
    std::fs::write(&path, with_stacks(300, 10_000, &"f".repeat(10_000))).unwrap();
    for command in ["convert", "anonymise"] {
        let to = |format: &str| {
            let mut program = Command::new(env!("CARGO_BIN_EXE_vramscope"));
            program.args([command, "--to", format, "-o"]);
            program.arg(&output).arg(&path).output().unwrap()
        };
        let refused = to("json");
        let said = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(1), "{command}: {said}");
        assert!(said.contains("would exceed 64.0 MiB"), "{command}: {said}");
        assert!(said.contains("--to packed"), "{command}: {said}");
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "{command}");
        for format in ["pickle", "packed"] {
            assert!(to(format).status.success(), "{command} {format}");
            std::fs::remove_file(&output).unwrap();
        }
    }
}

/// Wherever memory is missing, it is an error, and nothing of the output stays.
#[test]
#[cfg_attr(
    not(target_os = "linux"),
    ignore = "only Linux limits the address space"
)]
fn an_answer_that_needs_more_memory_than_there_is_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.pickle");
    let pickle = with_stacks(100_000, 2, "f");
    std::fs::write(&path, pickle).unwrap();
    let mut refused = 0;
    for arguments in [
        &["explain"][..],
        &["convert", "--to", "json", "-o", "out.json"],
        &["convert", "--to", "perfetto", "-o", "out.perfetto.json"],
        // zstd is a library in C.
        &["convert", "--to", "parquet", "-o", "tables/"],
        &["convert", "--to", "pickle.zst", "-o", "out.pickle.zst"],
    ] {
        // The smallest is little more than the program itself needs.
        for space_mib in [44, 50, 56, 62, 68] {
            let written = folder.path().join("written");
            std::fs::create_dir(&written).unwrap();
            let run = limited_to(space_mib << 10, arguments, &path)
                .current_dir(&written)
                // For a backtrace the standard library needs more memory, and waits for itself.
                .env_remove("RUST_BACKTRACE")
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&run.stderr);
            let case = format!("{arguments:?} within {space_mib} MiB: {stderr}");
            if !run.status.success() {
                assert_eq!(run.status.code(), Some(1), "{case}");
                assert!(stderr.contains("error: "), "{case}");
                let left: Vec<_> = std::fs::read_dir(&written).unwrap().collect();
                assert!(left.is_empty(), "{case}: {left:?}");
                refused += usize::from(stderr.contains("not enough memory for this answer"));
            }
            std::fs::remove_dir_all(&written).unwrap();
        }
    }
    assert!(refused > 0, "no limit came after decoding");
}
