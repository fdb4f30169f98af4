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

#[test]
fn help() {
    assert_snapshot!(brief(&["--help"]));
    assert_snapshot!(brief(&["torch-2.15.0/training.pickle", "--budget", "1000"]));
}

/// The planted files in a folder of their own, and what to call.
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

/// Whether the first cause is of the planted class, and tells the place.
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
