//! Snapshots that stay open give the program's answers, and its error messages.

use std::fs;
use std::ops::ControlFlow;

use vramscope_cli::opened::Opened;

use crate::program::{fixtures, vramscope};

const FILE: &str = "torch-2.15.0/training.pickle";

fn opened(name: &str) -> Opened {
    let bytes = fs::read(fixtures().join(name)).unwrap();
    Opened::bytes(name, &bytes, &mut |_| ControlFlow::Continue(())).unwrap()
}

/// The answer to a question, or the error message.
fn ask(words: &[&str]) -> Result<String, String> {
    let words: Vec<_> = words.iter().map(|&word| word.to_owned()).collect();
    let answer = opened(FILE).ask(&[], &words);
    let answer = answer.map_err(|failure| failure.to_string())?;
    Ok(String::from_utf8(answer).unwrap())
}

#[test]
fn answers_are_what_the_program_prints() {
    let questions: [&[&str]; 16] = [
        &["brief", "--json", "--budget=2KiB", "--"],
        &["info", "--json", "--"],
        &["explain", "--json", "--"],
        &["peak", "--json", "--group-by=module", "--limit=2", "--"],
        &["at", "--json", "--", "peak"],
        &["range", "--json", "--", "3..20"],
        &["leaks", "--json", "--"],
        &["oom", "--json", "--"],
        &["fragmentation", "--json", "--"],
        &["plan", "--json", "--"],
        &["what-if", "--json", "--set=expandable_segments=True", "--"],
        &["top", "--json", "--"],
        &["annotations", "--json", "--"],
        &["find", "--json", "--stack", "--", "size>100KiB"],
        &["diff", "--json", "--at=start", "--to=end", "--"],
        &["stats", "--json", "--device=0", "--"],
    ];
    for words in questions {
        let printed = vramscope(&[words, &[FILE]].concat()).stdout;
        assert_eq!(
            ask(words),
            Ok(String::from_utf8(printed).unwrap()),
            "{words:?}"
        );
    }
}

#[test]
fn pictures_are_what_the_program_draws() {
    let options = ["--size=900x360", "--view=map"];
    let drawn = opened(FILE).picture(&options.map(str::to_owned)).unwrap();
    let words = ["plot", FILE, "--output=-", "--format=svg"];
    let printed = vramscope(&[&words[..], &options].concat()).stdout;
    assert!(drawn.starts_with(b"<svg"));
    assert!(drawn == printed, "the pictures differ");
    let said = opened(FILE).picture(&["--view=compare".to_owned()]);
    let said = said.unwrap_err().to_string();
    assert!(
        said.starts_with("--view compare is for the command line"),
        "{said}"
    );
}

#[test]
fn two_are_compared() {
    let (before, after) = (opened(FILE), opened("torch-2.15.0/two_devices.pickle"));
    let words = ["diff", "--json", "--"].map(str::to_owned);
    let answer = before.ask(&[after], &words).unwrap();
    let printed = vramscope(&["diff", "--json", FILE, "torch-2.15.0/two_devices.pickle"]).stdout;
    assert_eq!(answer, printed);
}

#[test]
fn wrong_questions_say_what_is_wrong() {
    let wrong: [(&[&str], &str); 8] = [
        (
            &["convert", "--"],
            "convert does not work on an open snapshot; these do: brief",
        ),
        (
            &["html", "--json", "--"],
            "html does not work on an open snapshot; these do: brief",
        ),
        (
            &["peak", "--json", "--", "oom"],
            "peak of a snapshot that is open takes no 'oom'",
        ),
        (
            &["at", "--json", "--"],
            "the argument before the file is missing",
        ),
        (
            &["peak", "--device=7", "--"],
            "torch-2.15.0/training.pickle: there is no device 7 in this file; it has 0",
        ),
        (
            &["peak", "--depth=x", "--"],
            "invalid value 'x' for '--depth <N>'",
        ),
        (
            &["plan", "--export-csv=x.csv", "--"],
            "--export-csv is for the command line",
        ),
        (
            &["diff", "--"],
            "torch-2.15.0/training.pickle: name a second file, or two moments",
        ),
    ];
    for (words, expected) in wrong {
        let said = ask(words).unwrap_err();
        assert!(said.starts_with(expected), "{said}");
        assert!(!said.contains("Usage"), "{said}");
    }
}

#[test]
fn reading_can_be_given_up() {
    let bytes = fs::read(fixtures().join(FILE)).unwrap();
    let mut calls = 0;
    let given_up = Opened::bytes("file", &bytes, &mut |_| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert!(given_up.is_ok() || calls == 1);
}
