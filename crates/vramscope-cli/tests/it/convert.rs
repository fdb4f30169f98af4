//! `convert`, `cut` and `anonymise`: what they write, where, and that nothing is lost or left behind.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::assert_snapshot;
use tempfile::TempDir;
use vramscope_core::encode::difference;
use vramscope_core::{Snapshot, decode};

use crate::program::{command, fixtures, transcript, vramscope, vramscope_reading};

const TRAINING: &str = "torch-2.15.0/training.pickle";

fn read(path: &Path) -> Snapshot {
    decode(fs::read(path).unwrap().as_slice()).unwrap()
}

fn succeeds(arguments: &[&str]) -> Output {
    let output = vramscope(arguments);
    assert!(output.status.success(), "{}", transcript(&output));
    output
}

/// Runs a command on `file` and returns what it wrote to `name` in a folder of its own.
fn written(command: &[&str], file: &str, name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let output = succeeds(&[command, &[file, "-o", path.to_str().unwrap()]].concat());
    assert!(output.stdout.is_empty() && output.stderr.is_empty());
    (folder, path)
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn every_format_and_packing_keeps_the_snapshot() {
    let original = read(&fixtures().join(TRAINING));
    let folder = tempfile::tempdir().unwrap();
    // Each is made from the previous one.
    let mut from = fixtures().join(TRAINING);
    for (name, first_bytes) in [
        ("a.json", &b"{\"seg"[..]),
        ("b.pickle.gz", b"\x1f\x8b"),
        ("c.json.zst", b"\x28\xb5\x2f\xfd"),
        ("d.PKL", b"\x80\x04"),
        ("e.json.gz", b"\x1f\x8b"),
        ("f.pickle.zst", b"\x28\xb5\x2f\xfd"),
    ] {
        let to = folder.path().join(name);
        succeeds(&[
            "convert",
            from.to_str().unwrap(),
            "-o",
            to.to_str().unwrap(),
        ]);
        assert!(fs::read(&to).unwrap().starts_with(first_bytes), "{name}");
        assert_eq!(difference(&original, &read(&to)), None, "{name}");
        from = to;
    }
}

#[test]
fn standard_input_to_standard_output() {
    let bytes = fs::read(fixtures().join(TRAINING)).unwrap();
    let output = vramscope_reading(&["convert", "-", "--to", "json.zst"], &bytes);
    assert!(output.status.success());
    let again = decode(output.stdout.as_slice()).unwrap();
    assert_eq!(difference(&decode(bytes.as_slice()).unwrap(), &again), None);
}

#[test]
fn many_files_into_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("made/here/");
    let files = ["torch-2.15.0/oom_after.pickle", "containers/page.html.gz"];
    succeeds(
        &[
            &["convert"],
            &files[..],
            &["--to", "json.gz", "-o", out.to_str().unwrap()],
        ]
        .concat(),
    );
    assert_eq!(names_in(&out), ["oom_after.json.gz", "page.json.gz"]);
    let twice = [
        "torch-2.15.0/training.pickle",
        "torch-2.8.0/training.pickle",
    ];
    let output = vramscope(
        &[
            &["convert"],
            &twice[..],
            &["--to", "json", "-o", out.to_str().unwrap()],
        ]
        .concat(),
    );
    assert_eq!(output.status.code(), Some(2), "{}", transcript(&output));
    // A file that fails does not keep the others from being written.
    let output = vramscope(&[
        "convert",
        "refused/text.txt",
        TRAINING,
        "--to",
        "json",
        "-o",
        out.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        names_in(&out),
        ["oom_after.json.gz", "page.json.gz", "training.json"]
    );
}

#[test]
fn a_failure_leaves_nothing_and_keeps_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.json");
    fs::write(&path, "mine").unwrap();
    let output = vramscope(&[
        "convert",
        "refused/truncated.pickle",
        "-o",
        path.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names_in(folder.path()), ["x.json"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    let missing = folder.path().join("no/such/x.json");
    let output = vramscope(&["convert", TRAINING, "-o", missing.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1), "{}", transcript(&output));
    assert_eq!(names_in(folder.path()), ["x.json"]);
}

#[test]
fn the_input_is_never_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pickle");
    fs::copy(fixtures().join(TRAINING), &path).unwrap();
    let before = fs::read(&path).unwrap();
    let name = path.to_str().unwrap();
    let other = folder.path().join(".").join("x.pickle");
    for out in [
        name,
        other.to_str().unwrap(),
        folder.path().to_str().unwrap(),
    ] {
        let output = vramscope(&["convert", name, "--to", "pickle", "-o", out]);
        assert_eq!(output.status.code(), Some(2), "{}", transcript(&output));
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

/// Also by the commands that draw, and when it is another one of several inputs.
#[test]
fn no_input_is_ever_overwritten_by_any_command() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str| {
        let path = folder.path().join(name);
        fs::copy(fixtures().join(TRAINING), &path).unwrap();
        path.display().to_string()
    };
    let (one, two) = (copy("one.pickle"), copy("two.pickle"));
    let before = fs::read(&one).unwrap();
    for arguments in [
        &["segments", "--folded"][..],
        &["segments"],
        &["memory", "--folded"],
        &["compare", "--folded"],
        &["compare"],
        &["html"],
        &["plot", "--view", "compare", "--format", "svg"],
    ] {
        let output = vramscope(&[arguments, &[&one, &two, "-o", &two]].concat());
        assert_eq!(output.status.code(), Some(2), "{}", transcript(&output));
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.contains("is the file that is read"), "{told}");
        assert_eq!(fs::read(&two).unwrap(), before, "{arguments:?}");
    }
    // The output for one would be the other.
    fs::rename(&two, folder.path().join("one.json")).unwrap();
    let two = folder.path().join("one.json").display().to_string();
    let out = folder.path().display().to_string();
    let output = vramscope(&["convert", &one, &two, "--to", "json", "-o", &out]);
    assert_eq!(output.status.code(), Some(2), "{}", transcript(&output));
    assert_eq!(fs::read(&two).unwrap(), before);
    assert_eq!(names_in(folder.path()), ["one.json", "one.pickle"]);
}

#[test]
fn what_nothing_could_read_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut told = String::new();
    for arguments in [
        &["-o", "allocations.parquet.gz"][..],
        &["-o", "x.pb.zst"],
        &["--to", "parquet.zst", "-o", "tables/"],
        &["--to", "json.zst", "-o", "x.json.gz"],
        &["--to", "json.gz", "-o", "x.json"],
        &["--to", "json", "--at", "nowhere"],
        &["--to", "pprof", "--weight", "bytes"],
        &["--to", "json", "--min-size", "3GiB"],
        &["--to", "folded", "--table", "events"],
    ] {
        let mut command = command(&["convert"]);
        command.arg(fixtures().join(TRAINING)).args(arguments);
        let output = command.current_dir(folder.path()).output().unwrap();
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let code = output.status.code().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        told.push_str(&format!("$ {}\n{code} {text}\n", arguments.join(" ")));
    }
    assert_snapshot!(told);
    assert!(names_in(folder.path()).is_empty());
    for (options, name) in [
        (&[][..], "x.pb.gz"),
        (&["--to", "pprof.gz"], "x.pb"),
        (&["--to", "json.gz"], "x"),
        (&["--to", "json"], "y.json.gz"),
        (&[], "x.vram.zst"),
    ] {
        written(&[&["convert"], options].concat(), TRAINING, name);
    }
}

#[test]
fn wrong_usage() {
    let mut told = String::new();
    for arguments in [
        &["convert", TRAINING][..],
        &["convert", TRAINING, "-o", "x.docx"],
        &["convert", TRAINING, "--to", "docx"],
        &["convert", TRAINING, TRAINING, "--to", "json"],
        &["convert", TRAINING, "--to", "json", "--salt", "x"],
        &["cut", TRAINING, "--to", "json"],
        &[
            "cut",
            TRAINING,
            "--range",
            "nothing so called",
            "--to",
            "json",
        ],
    ] {
        let output = vramscope(arguments);
        assert!(!output.status.success() && output.stdout.is_empty());
        let code = output.status.code().unwrap();
        let text = String::from_utf8(output.stderr).unwrap();
        told.push_str(&format!(
            "$ vramscope {}\n{code} {text}\n",
            arguments.join(" ")
        ));
    }
    assert_snapshot!(told);
}

#[test]
fn a_cut_is_smaller_and_has_its_range() {
    let (_folder, path) = written(&["cut", "--range", "100..200"], TRAINING, "part.pickle");
    let (whole, part) = (read(&fixtures().join(TRAINING)), read(&path));
    assert_eq!(part.events.len(), 100);
    assert_eq!(part.events.addr[..], whole.events.addr[100..200]);
    let size = |path: &Path| fs::metadata(path).unwrap().len();
    assert!(size(&path) < size(&fixtures().join(TRAINING)) / 2);
    let (_folder, same) = written(&["convert", "--range", "100..200"], TRAINING, "part.json");
    assert_eq!(difference(&part, &read(&same)), None);
}

#[test]
fn one_device_of_two() {
    let file = "torch-2.15.0/two_devices.pickle";
    let (_folder, path) = written(&["convert", "--device", "1"], file, "one.pickle");
    assert_eq!(read(&path).devices(), [1]);
}

#[test]
fn anonymous_files_compare_under_one_salt_only() {
    let convert = |command: &[&str]| {
        let (_folder, path) = written(command, TRAINING, "anonymous.pickle");
        fs::read(path).unwrap()
    };
    let salted = convert(&["anonymise", "--salt", "pepper"]);
    assert_eq!(
        salted,
        convert(&["convert", "--anonymise", "--salt", "pepper"])
    );
    assert_ne!(salted, convert(&["anonymise", "--salt", "sugar"]));
    assert_ne!(convert(&["anonymise"]), convert(&["anonymise"]));
    for word in ["record_gpu", "/home/user"] {
        let is_in = |bytes: &[u8]| {
            bytes
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        };
        assert!(
            is_in(&fs::read(fixtures().join(TRAINING)).unwrap()),
            "{word}"
        );
        assert!(!is_in(&salted), "{word}");
    }
}

#[test]
fn an_anonymous_file_looks_like_this() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.pickle");
    succeeds(&[
        "anonymise",
        TRAINING,
        "--salt",
        "tests",
        "-o",
        path.to_str().unwrap(),
    ]);
    let output = succeeds(&[
        "peak",
        path.to_str().unwrap(),
        "--limit",
        "8",
        "--depth",
        "3",
    ]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_snapshot!(text.replace(path.to_str().unwrap(), "x.pickle"));
}

/// Python's own readers find the same value in the pickle that was read, in the one written and in the JSON.
#[test]
fn python_reads_the_same() {
    const SCRIPT: &str = "
import json, pickle, sys
def plain(x): return json.loads(json.dumps(x))
original, pickled, text = sys.argv[1:]
original = plain(pickle.load(open(original, 'rb')))
assert plain(pickle.load(open(pickled, 'rb'))) == original, 'pickle'
assert json.load(open(text, encoding='utf-8')) == original, 'json'
";
    let has_python = Command::new("python3").arg("--version").output();
    if !has_python.is_ok_and(|output| output.status.success()) {
        skip("there is no python3");
        return;
    }
    for file in [
        TRAINING,
        "torch-2.15.0/annotated.pickle",
        "torch-2.1.2/oom_observer.pickle",
        "torch-2.0.1/cpp_pickler.pickle",
    ] {
        let (_one, pickle) = written(&["convert"], file, "x.pickle");
        let (_other, json) = written(&["convert"], file, "x.json");
        let mut python = Command::new("python3");
        python
            .args(["-c", SCRIPT])
            .arg(fixtures().join(file))
            .args([pickle, json]);
        let output = python.output().unwrap();
        assert!(
            output.status.success(),
            "{file}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[expect(
    clippy::print_stdout,
    reason = "whoever runs the tests should know what was left out"
)]
fn skip(reason: &str) {
    println!("skipped: {reason}");
}

#[test]
fn real_files_survive() {
    let Some(shared) = std::env::var_os("VRAMSCOPE_SHARED") else {
        skip("there are no real files (VRAMSCOPE_SHARED)");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(Path::new(&shared).join("real")).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|ending| ending == "md") {
            continue;
        }
        let original = read(&file);
        let file = file.to_str().unwrap();
        for name in ["x.json.zst", "x.pickle.gz"] {
            let to = folder.path().join(name);
            succeeds(&["convert", file, "-o", to.to_str().unwrap()]);
            assert_eq!(difference(&original, &read(&to)), None, "{file} {name}");
        }
        let to = folder.path().join("anonymous.pickle");
        succeeds(&["anonymise", file, "-o", to.to_str().unwrap()]);
        assert_eq!(read(&to).events.size, original.events.size, "{file}");
    }
}

#[test]
fn help() {
    for command in ["convert", "cut", "anonymise"] {
        assert_snapshot!(command, transcript(&vramscope(&[command, "--help"])));
    }
}
