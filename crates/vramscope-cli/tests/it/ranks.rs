//! A folder of ranks: read at once, answered for in natural order, compared.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;
use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

use crate::program::{command, fixtures, transcript, vramscope, vramscope_reading};

/// One rank of a job: a model, activations, and memory that only the odd one holds.
fn rank(cache_mib: u32) -> Vec<u8> {
    let story = format!(
        "device 0\n\
         alloc weights 400MiB train.py:10:main > model.py:20:init\n\
         alloc cache {cache_mib}MiB train.py:12:main > cache.py:5:reserve\n\
         alloc x 300MiB train.py:30:step > model.py:40:forward\n\
         free x\n\
         alloc y 100MiB train.py:30:step > model.py:55:backward\n\
         free y\n"
    );
    text::pickle(&story, Producer::Python(2, 8)).unwrap()
}

/// 64 ranks in a folder, of which rank 13 is out of line, among files that are not snapshots.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    for number in 0..64 {
        let cache_mib = if number == 13 { 700 } else { 98 + number % 5 };
        write(&format!("rank{number}.pickle"), &rank(cache_mib));
    }
    write("config.json", b"{}");
    write("log.txt", b"step 1");
    folder
}

fn run_in(folder: &Path, arguments: &[&str]) -> std::process::Output {
    command(arguments).current_dir(folder).output().unwrap()
}

#[test]
fn a_folder_of_64_as_text() {
    let folder = folder();
    let output = run_in(folder.path(), &["peak", ".", "--limit", "5"]);
    let text = transcript(&output);
    let across = text.find("all 64 ranks").unwrap();
    assert_snapshot!(text[across..]);
    let order: Vec<_> = text
        .lines()
        .filter(|line| line.ends_with(", device 0"))
        .collect();
    assert_eq!(order.len(), 64);
    assert_eq!(order[2], "./rank2.pickle, device 0");
    assert_eq!(order[63], "./rank63.pickle, device 0");
}

#[test]
fn a_folder_of_64_as_json() {
    let folder = folder();
    let output = run_in(folder.path(), &["peak", ".", "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let parts = json["parts"].as_array().unwrap();
    assert_eq!(parts.len(), 65);
    let across = &parts[64];
    assert_eq!(across["device"], Value::Null);
    assert_eq!(across["highest"], "./rank13.pickle");
    assert_eq!(across["outlier"], "./rank13.pickle");
    assert_eq!(across["ranks"].as_array().unwrap().len(), 64);
    assert_eq!(across["ranks"][0]["peak_bytes"], 1400_u64 << 20);
    let difference = &across["differences"][0];
    assert_eq!(difference["call_site"], "cache.py:5 reserve");
    assert_eq!(difference["change_bytes"], 600_i64 << 20);
}

/// Damaged files are named, and the others get answers.
#[test]
fn damaged_files_are_told_of_and_the_others_compared() {
    let folder = folder();
    for number in [7, 40] {
        let path = folder.path().join(format!("rank{number}.pickle"));
        let bytes = fs::read(&path).unwrap();
        fs::write(&path, &bytes[..bytes.len() / 3]).unwrap();
    }
    fs::write(folder.path().join("rank50.pickle"), "no pickle at all").unwrap();
    let output = run_in(folder.path(), &["peak", "."]);
    let text = transcript(&output);
    assert!(text.starts_with("exit code 1\n"), "{text}");
    let errors = &text[text.find("--- stderr").unwrap()..];
    let named: Vec<_> = errors
        .lines()
        .filter_map(|line| line.strip_prefix("error: "))
        .collect();
    assert_eq!(named.len(), 3, "{errors}");
    for (line, rank) in named.iter().zip([7, 40, 50]) {
        assert!(
            line.starts_with(&format!("./rank{rank}.pickle: ")),
            "{errors}"
        );
    }
    assert!(text.contains("all 61 ranks"), "{text}");
}

/// A budget for one file at a time changes only the time it takes.
#[test]
fn the_budget_does_not_change_the_answer() {
    let folder = folder();
    let all = run_in(folder.path(), &["peak", ".", "--json"]);
    let one_by_one = run_in(folder.path(), &["peak", ".", "--json", "--memory", "1KiB"]);
    assert_eq!(transcript(&all), transcript(&one_by_one));
}

#[test]
fn ranks_that_are_alike() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..3 {
        let path = folder.path().join(format!("rank{number}.pickle"));
        fs::write(path, rank(100 + number)).unwrap();
    }
    let text = transcript(&run_in(folder.path(), &["peak", ".", "--limit", "1"]));
    assert_snapshot!(text[text.find("all 3 ranks").unwrap()..]);
}

/// Each file on a device of its own, and one with two.
#[test]
fn two_files_and_three_devices() {
    let text = transcript(&vramscope(&[
        "peak",
        "torch-2.15.0/two_devices.pickle",
        "torch-2.15.0/training.pickle",
        "--limit",
        "2",
    ]));
    assert_snapshot!(text[text.find("all ").unwrap()..]);
}

#[test]
fn info_of_several() {
    let files = [
        "torch-2.15.0/training.pickle",
        "torch-2.15.0/annotated.pickle",
    ];
    let output = vramscope(&["info", "--json", files[0], files[1]]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut parts = json["parts"].as_array().unwrap().iter();
    for file in files {
        let alone = vramscope(&["info", "--json", file]);
        let alone: Value = serde_json::from_slice(&alone.stdout).unwrap();
        for part in alone["parts"].as_array().unwrap() {
            assert_eq!(parts.next(), Some(part));
        }
    }
    assert_eq!(parts.next().unwrap()["ranks"].as_array().unwrap().len(), 2);
    assert_eq!(parts.next(), None);
    let text = transcript(&vramscope(&["info", files[0], files[1]]));
    assert!(text.contains("\n\nall 2 ranks\n"), "{text}");
}

#[test]
fn a_folder_without_snapshots() {
    assert_snapshot!(transcript(&vramscope(&["peak", "../make"])));
}

#[test]
fn standard_input_beside_a_file() {
    let bytes = fs::read(fixtures().join("torch-2.15.0/training.pickle")).unwrap();
    let output = vramscope_reading(&["peak", "-", "torch-2.15.0/annotated.pickle"], &bytes);
    let text = transcript(&output);
    assert!(
        text.contains("standard input, device 0") && text.contains("all 2 ranks"),
        "{text}"
    );
    assert_eq!(vramscope(&["peak", "-", "-"]).status.code(), Some(2));
}
