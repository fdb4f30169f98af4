//! `brief`: the cause is named, the answer is bounded, and its commands run.

mod planted;

use std::fs;

use insta::assert_snapshot;
use serde_json::Value;
use tempfile::TempDir;

use self::planted::Planted;
use crate::program::{command, transcript, vramscope};

fn brief(arguments: &[&str]) -> String {
    transcript(&vramscope(&[&["brief"], arguments].concat()))
}

#[test]
fn a_failure() {
    assert_snapshot!(brief(&["allocator/pressure.pickle.zst"]));
}

#[test]
fn no_failure_as_json() {
    assert_snapshot!(brief(&[
        "torch-2.15.0/training.pickle",
        "--json",
        "--budget",
        "2KiB"
    ]));
}

#[test]
fn nothing_live_is_no_cause() {
    let folder = tempfile::tempdir().unwrap();
    let file = r#"{"segments": [], "device_traces": [[], []]}"#;
    fs::write(folder.path().join("empty.json"), file).unwrap();
    let answer = asked(&folder, &["brief", "empty.json", "--json"]);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["causes"]["total"], 0, "{answer}");
    assert!(!asked(&folder, &["brief", "empty.json"]).contains("causes"));
}

/// A snapshot in which this many bytes are allocated at a time, and a request may fail.
struct Simple {
    bytes: u64,
    failed_at: Option<u64>,
    settings: &'static str,
}

const SIMPLE: Simple = Simple {
    bytes: 1000 << 20,
    failed_at: None,
    settings: "{}",
};

/// Writes snapshots into a new folder.
fn folder_of<'a>(files: impl IntoIterator<Item = (&'a str, Simple)>) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, file) in files {
        let alloc = format!(
            r#"{{"action": "alloc", "addr": 1000, "size": {}, "stream": 0, "time_us": 100, "frames": []}}"#,
            file.bytes
        );
        let oom = file.failed_at.map(|time| {
            format!(
                r#", {{"action": "oom", "addr": 0, "size": 5000000, "device_free": 100, "stream": 0, "time_us": {time}, "frames": []}}"#
            )
        });
        let (oom, settings) = (oom.unwrap_or_default(), file.settings);
        let text = format!(
            r#"{{"segments": [], "device_traces": [[{alloc}{oom}]], "allocator_settings": {settings}}}"#
        );
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn answer(folder: &TempDir, arguments: &[&str]) -> Value {
    let text = asked(folder, &[&["brief", "--json"], arguments].concat());
    serde_json::from_str(&text).unwrap()
}

#[test]
fn of_several_files_it_is_about_the_first_failure_of_the_last_step_with_one() {
    let failed = |failed_at, mebibytes: u64| Simple {
        bytes: mebibytes << 20,
        failed_at: Some(failed_at),
        ..SIMPLE
    };
    let folder = folder_of([
        ("step_10/rank0.json", failed(10, 5000)),
        ("step_10/rank1.json", SIMPLE),
        ("step_20/rank0.json", failed(2000, 3000)),
        ("step_20/rank1.json", failed(1000, 2000)),
        ("step_20/rank2.json", SIMPLE),
        ("step_30/rank0.json", SIMPLE),
    ]);
    let answer = answer(&folder, &["."]);
    assert_eq!(answer["file"], "./step_20/rank1.json");
    let ranks = &answer["ranks"];
    assert_eq!(
        (
            &ranks["step"],
            &ranks["files"],
            &ranks["failed"],
            &ranks["left_out"]
        ),
        (&20.into(), &3.into(), &2.into(), &3.into())
    );
    let next = answer["next"]["items"].as_array().unwrap();
    assert_eq!(next.last().unwrap(), "vramscope fleet oom .");
    let text = asked(&folder, &["brief", "."]);
    assert!(
        text.contains("3 files of step 20, 2 with a failed request"),
        "{text}"
    );
    assert!(text.contains("out: 3 other files"), "{text}");
}

#[test]
fn a_low_rank_and_odd_settings_stand_out() {
    let low = Simple {
        bytes: 300 << 20,
        ..SIMPLE
    };
    let folder = folder_of([
        ("rank0.json", SIMPLE),
        ("rank1.json", SIMPLE),
        ("rank2.json", low),
        ("rank3.json", SIMPLE),
    ]);
    let about = answer(&folder, &["."]);
    assert_eq!(about["file"], "./rank2.json");
    assert_eq!(about["causes"]["items"][0]["class"], "odd_rank");
    let expandable = || Simple {
        settings: r#"{"expandable_segments": true}"#,
        ..SIMPLE
    };
    let folder = folder_of([
        ("rank0.json", expandable()),
        ("rank1.json", SIMPLE),
        ("rank2.json", expandable()),
        ("rank3.json", expandable()),
    ]);
    let about = answer(&folder, &["."]);
    assert_eq!(about["file"], "./rank1.json");
    let cause = &about["causes"]["items"][0];
    let title = cause["title"].as_str().unwrap();
    assert!(
        title.ends_with(
            "odd among 4 ranks by its settings: expandable_segments is not set, of most true"
        ),
        "{title}"
    );
}

#[test]
fn a_dataset_leads_to_the_snapshot_of_the_rank() {
    let failed = |failed_at| Simple {
        failed_at: Some(failed_at),
        ..SIMPLE
    };
    let folder = folder_of([
        ("runs/rank0.json", failed(2000)),
        ("runs/rank1.json", failed(1000)),
        ("runs/rank2.json", SIMPLE),
    ]);
    asked(&folder, &["fleet", "pack", "runs", "-o", "runs.vset"]);
    let of_files = answer(&folder, &["runs"]);
    let path = |of: &Value| fs::canonicalize(folder.path().join(of["file"].as_str().unwrap()));
    for dataset in ["runs.vset", "runs.vset/overview.vset"] {
        let answer = answer(&folder, &[dataset]);
        assert_eq!(path(&answer).unwrap(), path(&of_files).unwrap());
        assert_eq!(answer["causes"], of_files["causes"]);
        let ranks = &answer["ranks"];
        assert_eq!((&ranks["files"], &ranks["failed"]), (&3.into(), &2.into()));
        let next = answer["next"]["items"].as_array().unwrap();
        assert_eq!(
            *next.last().unwrap(),
            format!("vramscope fleet oom {dataset}")
        );
    }
    let changed = folder.path().join("runs/rank1.json");
    let text = fs::read_to_string(&changed).unwrap();
    fs::write(&changed, text + "\n").unwrap();
    let unknown = &answer(&folder, &["runs.vset"])["cannot_tell"]["items"][0];
    let unknown = unknown.as_str().unwrap();
    assert!(
        unknown.contains("has changed since it was packed"),
        "{unknown}"
    );
    fs::remove_file(changed).unwrap();
    let mut program = command(&["brief", "runs.vset"]);
    let output = program.current_dir(folder.path()).output().unwrap();
    let told = transcript(&output);
    assert!(
        told.contains("rank1.json, which is not in the dataset's folder"),
        "{told}"
    );
}

#[test]
fn long_names_fit_and_names_with_control_characters_are_escaped() {
    let long = format!("{}/rank0.json", vec!["d".repeat(100); 8].join("/"));
    let folder = folder_of([
        (long.as_str(), SIMPLE),
        ("a\nb/it's\u{1b}[31m.json", SIMPLE),
    ]);
    for form in [&["--json"] as &[_], &[]] {
        let asking = [&["brief", &long, "--budget", "1KiB"], form].concat();
        let answer = asked(&folder, &asking);
        assert!(
            answer.len() <= 1024 && answer.contains("/rank0.json"),
            "{answer}"
        );
    }
    let answer = answer(&folder, &["a\nb"]);
    let next = answer["next"]["items"][0].as_str().unwrap();
    assert!(next.ends_with(r"$'a\012b/it\'s\033[31m.json'"), "{next}");
}

#[test]
fn standard_input_is_read_once() {
    let folder = folder_of([("rank0.json", SIMPLE)]);
    let high = folder_of([(
        "high.json",
        Simple {
            bytes: 9000 << 20,
            ..SIMPLE
        },
    )]);
    let mut program = command(&["brief", "-", "rank0.json", "--json"]);
    let input = fs::File::open(high.path().join("high.json")).unwrap();
    let output = program
        .current_dir(folder.path())
        .stdin(input)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", transcript(&output));
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["file"], "standard input");
}

#[test]
fn a_file_without_anything_is_in_no_figure_and_one_named_twice_counts_once() {
    let folder = folder_of([("rank0.json", SIMPLE), ("rank1.json", SIMPLE)]);
    let empty = r#"{"segments": [], "device_traces": [[]]}"#;
    fs::write(folder.path().join("rank2.json"), empty).unwrap();
    let answer = answer(
        &folder,
        &["rank0.json", "rank0.json", "rank1.json", "rank2.json"],
    );
    let ranks = &answer["ranks"];
    assert_eq!(
        (&ranks["files"], &ranks["left_out"]),
        (&2.into(), &0.into())
    );
    let unknown = answer["cannot_tell"]["items"][0].as_str().unwrap();
    assert!(
        unknown.starts_with("In 1 of the files nothing happened"),
        "{unknown}"
    );
}

#[test]
fn the_least_budget_has_room_for_the_cause() {
    let budget = [
        "allocator/pressure.pickle.zst",
        "--budget",
        "1KiB",
        "--json",
    ];
    let output = vramscope(&[&["brief"], budget.as_slice()].concat());
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["causes"]["returned"], 1, "{answer}");
    assert!(answer["causes"]["items"][0]["class"].is_string());
}

#[test]
fn where_no_file_can_be_read_each_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.json", "b.json"] {
        fs::write(folder.path().join(name), "{").unwrap();
    }
    let mut program = command(&["brief", "."]);
    let output = program.current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let told = transcript(&output);
    assert!(told.contains("a.json") && told.contains("b.json"), "{told}");
}

#[test]
fn help() {
    assert_snapshot!(brief(&["--help"]));
    assert_snapshot!(brief(&["torch-2.15.0/training.pickle", "--budget", "1000"]));
}

/// The planted files in a folder of their own, and the arguments.
fn written(planted: &Planted) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in &planted.files {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let named = match planted.files.as_slice() {
        [(name, _)] => name.clone(),
        _ => ".".to_owned(),
    };
    (folder, named)
}

fn asked(folder: &TempDir, arguments: &[&str]) -> String {
    let mut program = command(arguments);
    let output = program.current_dir(folder.path()).output().unwrap();
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        transcript(&output)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Whether the first cause is of the planted class, and names the place.
fn is_right(planted: &Planted, answer: &Value) -> bool {
    let cause = &answer["causes"]["items"][0];
    let class = cause["class"].as_str().unwrap();
    let texts = [
        &cause["place"],
        &cause["title"],
        &answer["failed"]["call_site"],
    ];
    let tells = |text: &&Value| {
        text.as_str()
            .is_some_and(|text| text.contains(&planted.place))
    };
    planted.classes.contains(&class) && texts.iter().any(tells)
}

#[test]
fn of_forty_four_planted_causes_forty_two_are_named() {
    let planted: Vec<Planted> = (1..=4).flat_map(planted::all).collect();
    assert_eq!(planted.len(), 44);
    let wrong: Vec<String> = planted
        .iter()
        .filter_map(|planted| {
            let (folder, named) = written(planted);
            let answer = asked(&folder, &["brief", &named, "--json"]);
            assert!(answer.len() <= 4096, "{answer}");
            let answer = serde_json::from_str(&answer).unwrap();
            let is_right = is_right(planted, &answer);
            (!is_right).then(|| format!("{} at {}: {answer:#}", planted.cause, planted.place))
        })
        .collect();
    assert!(
        wrong.len() <= 2,
        "{} are wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// Whatever the budget: it is kept, the answer is the same each time, and its commands run.
#[test]
fn an_answer_is_bounded_and_goes_on() {
    for planted in planted::all(7) {
        let (folder, named) = written(&planted);
        for budget in ["1KiB", "1500", "2KiB", "3000", "8KiB"] {
            let bytes = match budget {
                "1KiB" => 1024,
                "2KiB" => 2048,
                "8KiB" => 8192,
                number => number.parse().unwrap(),
            };
            let text = asked(&folder, &["brief", &named, "--budget", budget]);
            let json = asked(&folder, &["brief", &named, "--budget", budget, "--json"]);
            assert!(
                text.len() <= bytes && json.len() <= bytes,
                "{budget}: {text}\n{json}"
            );
            assert_eq!(
                asked(&folder, &["brief", &named, "--budget", budget, "--json"]),
                json
            );
            let answer: Value = serde_json::from_str(&json).unwrap();
            for list in [
                "causes",
                "sites",
                "what_ifs",
                "changes",
                "cannot_tell",
                "next",
            ] {
                let list = &answer[list];
                let items = list["items"].as_array().unwrap();
                assert_eq!(list["returned"], items.len());
                assert!(list["total"].as_u64().unwrap() >= items.len() as u64);
            }
            if budget == "8KiB" {
                assert_eq!(answer["truncated"], false);
                for next in answer["next"]["items"].as_array().unwrap() {
                    let words = words(next.as_str().unwrap());
                    let words: Vec<&str> = words.iter().map(String::as_str).collect();
                    assert_eq!(words[0], "vramscope");
                    assert!(!asked(&folder, &words[1..]).is_empty(), "{next}");
                }
            }
        }
    }
}

/// The words of a command, as a shell splits them.
fn words(command: &str) -> Vec<String> {
    let (mut words, mut is_quoted) = (vec![String::new()], false);
    for character in command.chars() {
        match character {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().unwrap().push(other),
        }
    }
    words
}

/// Nothing in a file controls the terminal, neither in JSON nor in text.
#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_names_are_harmless() {
    let folder = tempfile::tempdir().unwrap();
    let file = r#"{"segments": [], "device_traces": [[{"action": "alloc", "addr": 1, "size": 1048576, "stream": 0,
        "frames": [{"name": "a\u009b31mb\u202ec\u001b[31m", "filename": "train.py", "line": 7}]},
        {"action": "snapshot", "addr": 0, "size": 1048576, "stream": 0}]]}"#;
    fs::write(folder.path().join("odd.json"), file).unwrap();
    for options in ["", "--json"] {
        let program = command(&[]);
        let line = format!(
            "{} brief {options} odd.json",
            program.get_program().display()
        );
        // It runs a command with a terminal.
        let run = std::process::Command::new("script")
            .args(["-qec", &line, "/dev/null"])
            .current_dir(folder.path())
            .output();
        let Ok(output) = run else { return };
        let told = String::from_utf8(output.stdout).unwrap();
        assert!(told.contains("train.py:7"), "{told}");
        for character in ['\u{9b}', '\u{202e}'] {
            assert!(!told.contains(character), "{options}: {told:?}");
        }
        assert!(!told.contains("\u{1b}[31m"), "{options}: {told:?}");
    }
}
