//! One word, one figure: the words of `docs/GLOSSARY.md` have the same value in every command, on every fixture and
//! every real snapshot available.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::program::{all_snapshots, vramscope};

/// The answers of some commands about one device.
struct Answers {
    by_command: BTreeMap<&'static str, Value>,
    place: String,
    /// Values that disagree.
    contradictions: RefCell<Vec<String>>,
}

impl Answers {
    /// The value under a key of a command's answer; `None` if there is none.
    fn one(&self, command: &str, key: &str) -> Option<i64> {
        self.by_command.get(command)?[key].as_i64()
    }

    /// The sum of a column of a command's table.
    fn sum(&self, command: &str, table: &str, key: &str) -> Option<i64> {
        let rows = self.by_command.get(command)?[table].as_array()?;
        Some(rows.iter().filter_map(|row| row[key].as_i64()).sum())
    }

    /// Checks that all values given are equal, and returns the value.
    fn same(&self, word: &str, said: &[(&str, Option<i64>)]) -> Option<i64> {
        let said: Vec<_> = said
            .iter()
            .filter_map(|(who, bytes)| Some((who, (*bytes)?)))
            .collect();
        if said.iter().any(|(_, bytes)| *bytes != said[0].1) {
            let place = &self.place;
            let contradiction = format!("{place}: {word}: {said:?}");
            self.contradictions.borrow_mut().push(contradiction);
        }
        said.first().map(|(_, bytes)| *bytes)
    }

    fn check(&self) {
        self.check_peaks();
        self.check_memory("at peak", "fragmentation --at peak", &["peak"]);
        self.check_memory("at end", "fragmentation --at end", &["info", "stats"]);
    }

    fn check_peaks(&self) {
        let one = |command, key| (command, self.one(command, key));
        let info = &self.by_command["info"];
        let with_rest = |table: &str, rest: &str| {
            let rest = info[rest]["bytes"].as_i64().unwrap_or(0);
            (
                "info",
                self.sum("info", table, "bytes").map(|sum| sum + rest),
            )
        };
        let planned = self.by_command["plan"]["steps"][0]["bytes"].as_i64();
        self.same(
            "the peak's live bytes",
            &[
                one("info", "peak_bytes"),
                one("peak", "peak_bytes"),
                one("at peak", "live_bytes"),
                one("find live@peak", "bytes"),
                one("range all", "peak_bytes"),
                ("top", self.sum("top", "groups", "at_device_peak_bytes")),
                with_rest("peak_call_sites", "peak_call_sites_left_out"),
                with_rest("peak_roles", "peak_roles_left_out"),
                ("plan", planned),
            ],
        );
        self.same(
            "most reserved",
            &[
                one("info", "reserved_max_bytes"),
                one("plan", "reserved_bytes"),
                one("what-if", "reserved_bytes"),
            ],
        );
        self.same(
            "the error of the model",
            &[
                one("plan", "from_empty_error_bytes"),
                one("what-if", "from_empty_error_bytes"),
            ],
        );
    }

    /// Checks the values for memory at one moment.
    fn check_memory(&self, at: &str, fragmentation: &str, others: &[&str]) {
        let commands = || {
            [at, fragmentation]
                .into_iter()
                .chain(others.iter().copied())
        };
        let all = |key: &str| {
            let said = commands().map(|command| (command, self.one(command, key)));
            let of_segments = ("the sum of segments", self.sum(at, "segments", key));
            let of_segments = (key != "largest_free_bytes").then_some(of_segments);
            self.same(key, &said.chain(of_segments).collect::<Vec<_>>())
        };
        let plus = |a: Option<i64>, b: Option<i64>| Some(a? + b?);
        let of_fragmentation = |key| self.one(fragmentation, key);
        all("largest_free_bytes");
        all("rounding_bytes");
        let (reserved, free) = (all("reserved_bytes"), all("free_bytes"));
        let in_use = plus(all("allocated_bytes"), all("pending_bytes"));
        for (word, whole, parts) in [
            ("in use", of_fragmentation("in_use_bytes"), in_use),
            (
                "free",
                free,
                plus(
                    of_fragmentation("returnable_bytes"),
                    of_fragmentation("stuck_bytes"),
                ),
            ),
            ("reserved", reserved, plus(in_use, free)),
        ] {
            self.same(word, &[("the whole", whole), ("its parts", parts)]);
        }
    }
}

/// The answers about each device of a file.
fn answers(file: &Path) -> Vec<Answers> {
    const COMMANDS: [&str; 12] = [
        "info",
        "stats",
        "peak",
        "top",
        "plan",
        "what-if",
        "at peak",
        "at end",
        "find live@peak",
        "range all",
        "fragmentation --at peak",
        "fragmentation --at end",
    ];
    let mut devices: BTreeMap<i64, BTreeMap<&'static str, Value>> = BTreeMap::new();
    for command in COMMANDS {
        let mut words: Vec<_> = command.split(' ').collect();
        if command == "plan" {
            words.extend(["--time", "0.1s"]);
        }
        words.extend([file.to_str().unwrap(), "--json"]);
        let output = vramscope(&words);
        // A file without a trace has no answer to some questions.
        let Ok(answer) = serde_json::from_slice::<Value>(&output.stdout) else {
            continue;
        };
        for part in answer["parts"].as_array().into_iter().flatten() {
            if let Some(device) = part["device"].as_i64() {
                let all = devices.entry(device).or_default();
                all.insert(command, part.clone());
            }
        }
    }
    let named = |(device, by_command): (i64, _)| Answers {
        by_command,
        contradictions: RefCell::default(),
        place: format!("{}, device {device}", file.display()),
    };
    devices.into_iter().map(named).collect()
}

#[test]
fn every_command_says_the_same() {
    let devices: Vec<_> = (all_snapshots().iter())
        .flat_map(|file| answers(file))
        .collect();
    assert!(devices.len() > 50, "{} devices", devices.len());
    devices.iter().for_each(Answers::check);
    let contradictions = devices
        .into_iter()
        .flat_map(|device| device.contradictions.into_inner());
    let contradictions: Vec<_> = contradictions.collect();
    assert!(contradictions.is_empty(), "{}", contradictions.join("\n"));
}
