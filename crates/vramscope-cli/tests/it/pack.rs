//! `pack`: what it prints and writes, and its exit codes.

use serde_json::Value;

use crate::program::{transcript, vramscope, vramscope_reading};

const EXAMPLE: &[u8] = b"id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n";

fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is missing in\n{text}");
    }
}

#[test]
fn what_fits() {
    let output = vramscope_reading(&["pack", "-", "--capacity", "12"], EXAMPLE);
    let text = transcript(&output);
    says(
        &text,
        &[
            "exit code 0",
            "lower bound",
            "12 B",
            "the lowest there is",
            "it fits",
        ],
    );
}

#[test]
fn json_has_every_offset() {
    let output = vramscope_reading(&["pack", "-", "--json"], EXAMPLE);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let part = &answer["parts"][0];
    assert_eq!(part["bound_bytes"], 12);
    assert_eq!(part["height_bytes"], 12);
    assert_eq!(part["is_optimal"], true);
    assert_eq!(part["offsets"].as_array().map(Vec::len), Some(5));
}

#[test]
fn offsets_are_written_as_minimalloc_does() {
    let output = vramscope_reading(&["pack", "-", "-o", "-"], EXAMPLE);
    let text = String::from_utf8(output.stdout).unwrap();
    says(&text, &["id,lower,upper,size,offset\nb1,0,3,4,"]);
    let again = transcript(&vramscope_reading(&["pack", "-"], text.as_bytes()));
    says(&again, &["exit code 0", "in the file", "a packing, too"]);
}

#[test]
fn what_the_file_has_is_not_thrown_away() {
    let folder = tempfile::tempdir().unwrap();
    let (once, again) = (
        folder.path().join("once.csv"),
        folder.path().join("again.csv"),
    );
    let (once, again) = (once.to_str().unwrap(), again.to_str().unwrap());
    let file = "planning/minimalloc/D.1048576.csv";
    let pack = |from: &str, to: &str, time: &str| {
        let output = vramscope(&["pack", from, "-o", to, "--time", time, "--lowest", "--json"]);
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        answer["parts"][0]["height_bytes"].as_u64().unwrap()
    };
    let height = pack(file, once, "2s");
    assert!(pack(once, again, "0s") <= height);
}

#[test]
fn what_cannot_fit_exits_with_3() {
    let file = "planning/minimalloc/C.1048576.csv";
    let text = transcript(&vramscope(&["pack", file, "--capacity", "1039359"]));
    says(
        &text,
        &["exit code 3", "nothing can fit", "at least 1015 KiB"],
    );
}

#[test]
fn only_minimallocs_names_hold_a_capacity() {
    let folder = tempfile::tempdir().unwrap();
    for (name, code) in [
        ("buffers.8.csv", 0),
        ("AB.8.csv", 0),
        ("A.8.csv", 3),
        ("A.12.csv", 0),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, EXAMPLE).unwrap();
        let output = vramscope(&["pack", path.to_str().unwrap(), "--time", "30"]);
        assert_eq!(output.status.code(), Some(code), "{name}");
    }
}

#[test]
fn wrong_files_are_told() {
    let text = b"id,lower,upper,size\nb1,0,3,4\nb2,x,9,4\n";
    let text = transcript(&vramscope_reading(&["pack", "-"], text));
    says(
        &text,
        &[
            "exit code 1",
            "standard input: line 3, column lower: 'x' is not a whole number",
        ],
    );
}
