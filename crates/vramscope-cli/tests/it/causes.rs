//! The first sentence of `explain` against the cause known to each program's author.
//!
//! `tests/make/causes.py` says where the recordings come from. The authors of the programs had not read the rules, but
//! the rules were improved with these recordings in view: a claim about how often they are right needs new ones.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::program::{fixtures, vramscope};

/// What the program's author says about it.
#[derive(Deserialize)]
struct Truth {
    set: String,
    name: String,
    /// The classes of causes that are right, between bars.
    right: String,
    /// The source lines of which a right answer may name any, between bars; empty if none matters.
    places: String,
    /// Words that a right answer must not have, between bars.
    forbidden: String,
}

/// The class that claims no cause: what is live, and where it comes from.
const NO_CLAIM: &str = "too_much_live";

#[derive(Clone, Copy, PartialEq, Debug)]
enum Judgement {
    Right,
    /// Nothing false was said, but the cause was not found.
    Silent,
    Wrong,
}

impl Truth {
    fn judge(&self, class: &str, sentence: &str) -> Judgement {
        let lower = sentence.to_lowercase();
        let mut forbidden = self.forbidden.split('|').filter(|words| !words.is_empty());
        let names_a_line = sentence.contains(".py:");
        let mut places = self.places.split('|');
        let is_right_place = self.places.is_empty() || places.any(|it| sentence.contains(it));
        if forbidden.any(|words| lower.contains(&words.to_lowercase())) {
            Judgement::Wrong
        } else if self.right.split('|').any(|right| right == class) {
            match is_right_place || !names_a_line {
                true => Judgement::Right,
                false => Judgement::Wrong,
            }
        } else if class == NO_CLAIM {
            Judgement::Silent
        } else {
            Judgement::Wrong
        }
    }
}

/// The class of the first cause, and the first sentence of `explain`.
fn told(file: &Path) -> (String, String) {
    let file = file.to_str().unwrap();
    let json = |command| -> Value {
        serde_json::from_slice(&vramscope(&[command, file, "--json"]).stdout).unwrap()
    };
    let class = &json("brief")["causes"]["items"][0]["class"];
    let sentence = &json("explain")["parts"][0]["verdict"];
    let text = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    (text(class), text(sentence))
}

/// Checks a whole set: the number of causes not found, and that nothing false is said.
fn judge(set: &str, untold: usize) {
    let folder = fixtures().join("causes");
    let mut rows = csv::Reader::from_path(folder.join("causes.csv")).unwrap();
    let (mut text, mut counts) = (String::new(), [0; 3]);
    let truths = rows.deserialize().map(|truth| -> Truth { truth.unwrap() });
    for truth in truths.filter(|truth| truth.set == set) {
        let (class, sentence) = told(&folder.join(format!("{}.pickle.zst", truth.name)));
        let judgement = truth.judge(&class, &sentence);
        counts[judgement as usize] += 1;
        writeln!(text, "{judgement:?} {} [{class}] {sentence}", truth.name).unwrap();
    }
    insta::assert_snapshot!(set, text);
    let [right, silent, wrong] = counts;
    assert!(right > 0 && silent == untold && wrong == 0, "{text}");
}

#[test]
fn of_the_first_set() {
    judge("first", 1);
}

#[test]
fn of_the_second_set() {
    judge("second", 1);
}

#[test]
fn of_the_third_set() {
    judge("third", 1);
}

#[test]
fn of_the_fourth_set() {
    judge("fourth", 0);
}

#[test]
fn of_the_fifth_set() {
    judge("fifth", 0);
}

#[test]
fn of_the_sixth_set() {
    judge("sixth", 2);
}

#[test]
fn of_the_seventh_set() {
    judge("seventh", 1);
}
