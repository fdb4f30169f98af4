//! `diff`: two files, two moments, two folders, and the limit on growth.

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

use crate::program::{command, transcript, vramscope};

const TRAINING: &str = "torch-2.15.0/training.pickle";
const ANNOTATED: &str = "torch-2.15.0/annotated.pickle";

fn diff(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["diff"], arguments].concat()))
}

fn json(arguments: &[&str]) -> Value {
    let output = vramscope(&[&["diff", "--json"], arguments].concat());
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn two_moments_as_text() {
    assert_snapshot!(diff(&[
        TRAINING, "--at", "start", "--to", "peak", "--limit", "5"
    ]));
}

/// The size of such a difference depends on the moment.
#[test]
fn that_only_one_grows_is_said() {
    let (growing, steady) = ("causes/explain_skin.pickle.zst", TRAINING);
    let headline = |files: [&str; 2]| json(&files)["parts"][0]["headline"].clone();
    let grows = "Live memory grows by 142 MiB per step, ";
    for (files, name) in [([steady, growing], "second"), ([growing, steady], "first")] {
        let said = headline(files);
        let expected = format!(" Only in the {name} file: {grows}");
        assert!(said.as_str().unwrap().contains(&expected), "{said}");
    }
    for file in [growing, steady] {
        let said = headline([file, file]);
        assert!(!said.as_str().unwrap().contains("Only"), "{said}");
    }
}

#[test]
fn two_files_as_json() {
    assert_snapshot!(diff(&[TRAINING, ANNOTATED, "--json", "--limit", "2"]));
}

#[test]
fn as_csv() {
    assert_snapshot!(diff(&[TRAINING, ANNOTATED, "--csv", "--group-by", "file"]));
}

#[test]
fn help() {
    assert_snapshot!(diff(&["--help"]));
}

#[test]
fn settings_that_differ() {
    let files = ["torch-2.15.0/expandable_grown.pickle", TRAINING];
    let parts = json(&files);
    let settings = parts["parts"][0]["settings"].as_array().unwrap();
    assert!(!settings.is_empty(), "{parts}");
}

/// Swapped sides differ by sign, and rows add up to the total change.
#[test]
fn the_rows_add_up_and_turn_round() {
    for by in [
        "call-site",
        "function",
        "file",
        "module",
        "category",
        "pool",
        "stream",
        "annotation",
    ] {
        let there = json(&[TRAINING, ANNOTATED, "--group-by", by]);
        let back = json(&[ANNOTATED, TRAINING, "--group-by", by]);
        let change = |part: &Value| part["parts"][0]["change_bytes"].as_i64().unwrap();
        assert_eq!(change(&there), -change(&back), "{by}");
        let rows = there["parts"][0]["changes"].as_array().unwrap();
        let sum: i64 = rows
            .iter()
            .map(|row| row["change_bytes"].as_i64().unwrap())
            .sum();
        assert_eq!(sum, change(&there), "{by}");
    }
}

#[test]
fn a_file_does_not_differ_from_itself() {
    let part = &json(&[TRAINING, TRAINING])["parts"][0];
    assert_eq!(
        (&part["change_bytes"], &part["new"], &part["changed"]),
        (&0.into(), &0.into(), &0.into())
    );
    assert_eq!(part["changes"].as_array().unwrap().len(), 0);
    assert_eq!(
        part["headline"],
        "The first moment and the second moment have the same 7.21 MiB, from the same call sites."
    );
}

/// It begins with the same sentence as the page's Compare, about what the rows say.
#[test]
fn a_sentence_comes_first() {
    let text = diff(&[TRAINING, ANNOTATED, "--group-by", "role"]);
    assert_snapshot!(text.lines().take(5).collect::<Vec<_>>().join("\n"));
    let part = &json(&[TRAINING, "--at", "start", "--to", "peak"])["parts"][0];
    assert_eq!(
        part["headline"],
        "The second moment has 7.21 MiB more than the first moment (0 B → 7.21 MiB), most of it at \
         user/record_gpu.py:103 train_step: +3.78 MiB, 11 more allocations."
    );
}

#[test]
fn one_device_on_either_side() {
    let text = diff(&[TRAINING, "torch-2.15.0/two_devices.pickle"]);
    assert!(
        text.contains("Only torch-2.15.0/two_devices.pickle has device 1."),
        "{text}"
    );
}

#[test]
fn growth_beyond_the_limit() {
    let files = [
        TRAINING, "--at", "start", "--to", "peak", "--csv", "--limit", "1",
    ];
    let broken = |limit: &str| diff(&[&files[..], &["--fail-if-grown", limit]].concat());
    assert_snapshot!(broken("5%"));
    assert!(broken("1GiB").starts_with("exit code 0"));
    let shrunk = diff(&[
        TRAINING,
        "--at",
        "peak",
        "--to",
        "start",
        "--fail-if-grown",
        "0",
    ]);
    assert!(shrunk.starts_with("exit code 0"), "{shrunk}");
}

#[test]
fn wrong_usage() {
    for arguments in [
        &[TRAINING][..],
        &[TRAINING, TRAINING, TRAINING],
        &[TRAINING, ANNOTATED, "--fail-if-grown", "5"],
        &[TRAINING, "containers"],
        &["-", "-"],
    ] {
        assert!(diff(arguments).starts_with("exit code 2"), "{arguments:?}");
    }
    let of_one_folder = ["synth", "--at", "start", "--to", "end"];
    assert!(diff(&of_one_folder).starts_with("exit code 0"));
    assert!(diff(&[TRAINING, "no/such"]).starts_with("exit code 1"));
    assert!(
        diff(&[TRAINING, ANNOTATED, "--at", "nothing is called so"]).starts_with("exit code 1")
    );
}

/// Files are paired by name; missing ones are reported, and the others are compared.
#[test]
fn two_folders() {
    let folders = tempfile::tempdir().unwrap();
    for (folder, ranks, mib) in [("monday", 0..3, 100), ("tuesday", 1..4, 120)] {
        fs::create_dir(folders.path().join(folder)).unwrap();
        for rank in ranks {
            let story =
                format!("device {rank}\nalloc a {mib}MiB a.py:1:f\nalloc b {rank}MiB a.py:2:g");
            let bytes = text::pickle(&story, Producer::Python(2, 8)).unwrap();
            fs::write(
                folders.path().join(format!("{folder}/rank{rank}.pickle")),
                bytes,
            )
            .unwrap();
        }
    }
    let mut command = command(&[
        "diff",
        "monday",
        "tuesday/",
        "--fail-if-grown",
        "10MiB",
        "--csv",
    ]);
    assert_snapshot!(transcript(
        &command.current_dir(folders.path()).output().unwrap()
    ));
}

/// Process numbers are not names, and a rank of one step is compared with itself in the same step.
#[test]
fn folders_of_processes_and_steps() {
    let folders = tempfile::tempdir().unwrap();
    for (file, mib) in [
        ("old/rank0_pid11.pickle", 100),
        ("old/step_4/rank0_pid11.pickle", 10),
        ("new/rank0_pid21.pickle", 101),
        ("new/step_4/rank0_pid21.pickle", 12),
    ] {
        let file = folders.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let story = format!("device 0\nalloc a {mib}MiB a.py:1:f");
        fs::write(file, text::pickle(&story, Producer::Python(2, 8)).unwrap()).unwrap();
    }
    let output = command(&["diff", "old", "new", "--json"])
        .current_dir(folders.path())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", transcript(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let parts = answer["parts"].as_array().unwrap().iter();
    let mut changes: Vec<i64> = parts
        .map(|it| it["change_bytes"].as_i64().unwrap())
        .collect();
    changes.sort_unstable();
    assert_eq!(changes, [1 << 20, 2 << 20]);
}

/// The real files against each other: every pair has an answer that adds up.
#[test]
fn real_files() {
    let Some(shared) = std::env::var_os("VRAMSCOPE_SHARED") else {
        return;
    };
    let real = std::path::Path::new(&shared).join("real");
    let mut files: Vec<_> = fs::read_dir(real)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "pickle"));
    files.sort();
    for pair in files.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|path| path.to_str().unwrap());
        let part = &json(&[before, after])["parts"][0];
        let rows = part["changes"].as_array().unwrap();
        let sum: i64 = rows
            .iter()
            .map(|row| row["change_bytes"].as_i64().unwrap())
            .sum();
        assert_eq!(Some(sum), part["change_bytes"].as_i64(), "{before} {after}");
    }
}

/// As in `check`, a broken budget comes before an answer that is missing; both are reported.
#[test]
fn growth_comes_before_a_missing_rank() {
    let folders = tempfile::tempdir().unwrap();
    for (folder, ranks, mib) in [("before", 0..2, 100), ("after", 0..1, 150)] {
        fs::create_dir(folders.path().join(folder)).unwrap();
        for rank in ranks {
            let story = format!("device {rank}\nalloc a {mib}MiB a.py:1:f");
            let bytes = text::pickle(&story, Producer::Python(2, 8)).unwrap();
            let file = folders
                .path()
                .join(folder)
                .join(format!("rank{rank}.pickle"));
            fs::write(file, bytes).unwrap();
        }
    }
    let output = command(&["diff", "before", "after", "--fail-if-grown", "5%"])
        .current_dir(folders.path())
        .output()
        .unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{error}");
    assert!(error.contains("rank1.pickle"), "{error}");
}
