//! Questions to all ranks: of snapshots, and of an overview of them.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;
use serde_json::Value;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::fleet::names::places_of;
use vramscope_core::fleet::{Detail, Fleet, Source, encode};
use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

use crate::program::{command, transcript, vramscope};

/// A rank whose steps leave `left` each, that holds `cache` besides, and may run out of memory.
fn rank(number: usize, cache: &str, left: &str, fails: bool) -> Vec<u8> {
    let mut story = format!(
        "time {}\ndevice 0\n\
         alloc weights 400MiB train.py:10:main > model.py:20:init\n\
         alloc cache {cache} train.py:12:main > cache.py:5:reserve\n",
        1_760_000_000_000_000 + number * 1000
    );
    for step in 0..6 {
        story.push_str(&format!(
            "begin 'train_step {step}'\n\
             alloc x{step} 300MiB train.py:30:step > model.py:40:forward\n\
             alloc log{step} {left} train.py:31:step > log.py:9:append\n\
             free x{step}\n\
             end 'train_step {step}'\n"
        ));
    }
    if fails {
        story.push_str("oom 8GiB free=100MiB train.py:30:step > model.py:44:forward\n");
    }
    text::pickle(&story, Producer::Python(2, 12)).unwrap()
}

/// Two steps of eight ranks as torchtitan names them. At step 20 rank 3 holds more, rank 5 grows faster, and ranks 6 and
/// 2 fail.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (step, ranks) in [(10, 4), (20, 8)] {
        let step_folder = folder.path().join(format!("job-7/iteration_{step}"));
        fs::create_dir_all(&step_folder).unwrap();
        for number in 0..ranks {
            let cache = if number == 3 { "700MiB" } else { "100MiB" };
            let left = if number == 5 { "40MiB" } else { "2MiB" };
            let time = if number == 2 { 500 } else { number };
            let fails = step == 20 && [2, 6].contains(&number);
            let name = format!("rank{number}_memory_snapshot.pickle");
            fs::write(step_folder.join(name), rank(time, cache, left, fails)).unwrap();
        }
    }
    folder
}

fn asked(folder: &Path, arguments: &[&str]) -> String {
    let arguments = [&["fleet"], arguments].concat();
    transcript(&command(&arguments).current_dir(folder).output().unwrap())
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let arguments = [&["fleet"], arguments, &["--json"]].concat();
    let output = command(&arguments).current_dir(folder).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn every_question_to_a_folder() {
    let folder = folder();
    let ask = |question: &str| asked(folder.path(), &[question, "job-7"]);
    assert_snapshot!("peaks", ask("peaks"));
    assert_snapshot!("odd", ask("odd"));
    assert_snapshot!("diff", ask("diff"));
    assert_snapshot!("leaks", ask("leaks"));
    assert_snapshot!("oom", ask("oom"));
    assert_snapshot!("sites", ask("sites"));
}

/// What was packed answers as what it was packed from.
#[test]
fn an_overview_answers_as_the_snapshots_do() {
    let folder = folder();
    let names: Vec<String> = [(10, 4), (20, 8)]
        .into_iter()
        .flat_map(|(step, ranks)| {
            (0..ranks).map(move |rank| {
                format!("job-7/iteration_{step}/rank{rank}_memory_snapshot.pickle")
            })
        })
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let parts = names.iter().zip(places_of(&names)).map(|(name, place)| {
        let bytes = fs::read(folder.path().join(name)).unwrap();
        let recording = Recording::of(vramscope_core::decode(&bytes[..]).unwrap());
        let source = Source {
            path: (*name).to_owned(),
            ..Source::default()
        };
        Fleet::of(&place, &source, recording.devices(), Detail::All)
    });
    let fleet = Fleet::of_all(parts.collect::<Vec<_>>());
    let dataset = folder.path().join("runs.vset");
    fs::create_dir(&dataset).unwrap();
    fs::write(dataset.join("overview.vset"), encode(&fleet)).unwrap();
    for question in ["peaks", "odd", "diff", "leaks", "oom", "sites"] {
        let of_snapshots = json(folder.path(), &[question, "job-7"]);
        for overview in ["runs.vset", "runs.vset/overview.vset"] {
            assert_eq!(json(folder.path(), &[question, overview]), of_snapshots);
        }
    }
    // It is no snapshot, and says what to do with it.
    let refused = command(&["info", "runs.vset/overview.vset"])
        .current_dir(folder.path())
        .output()
        .unwrap();
    let refused = transcript(&refused);
    assert!(refused.contains("vramscope fleet"), "{refused}");
    let cut = &encode(&fleet)[..900];
    fs::write(dataset.join("overview.vset"), cut).unwrap();
    let text = asked(folder.path(), &["peaks", "runs.vset"]);
    assert!(text.starts_with("exit code 1"), "{text}");
}

#[test]
fn steps_and_ranks_are_chosen() {
    let folder = folder();
    let peaks = json(folder.path(), &["peaks", "job-7", "--step", "10"]);
    assert_eq!(peaks["parts"][0]["step"], 10);
    assert_eq!(peaks["parts"][0]["ranks"].as_array().unwrap().len(), 4);
    assert_eq!(peaks["parts"][0]["ranks_left_out"], 8);
    let missing = asked(folder.path(), &["peaks", "job-7", "--step", "11"]);
    assert!(missing.contains("step 10") && missing.contains("exit code 1"));
    let diff = json(
        folder.path(),
        &["diff", "job-7", "--rank", "5", "--against", "3"],
    );
    let found = &diff["parts"][0];
    assert_eq!(
        (&found["rank"], &found["against"]),
        (&"rank 5".into(), &"rank 3".into())
    );
    assert_eq!(found["differences"][0]["call_site"], "cache.py:5 reserve");
    let unknown = asked(folder.path(), &["diff", "job-7", "--rank", "77"]);
    assert!(unknown.contains("0 to 7"), "{unknown}");
    // Names that tell no rank, and an expression that does.
    let path = folder.path().join("job-7/iteration_20");
    for number in 0..3 {
        let from = path.join(format!("rank{number}_memory_snapshot.pickle"));
        fs::rename(from, path.join(format!("{}w.pickle", number + 40))).unwrap();
    }
    let numbers = |arguments: &[&str]| -> Vec<u64> {
        let found = json(
            folder.path(),
            &[&["peaks", "job-7", "--step", "20"], arguments].concat(),
        );
        let ranks = found["parts"][0]["ranks"].as_array().unwrap().clone();
        let mut numbers: Vec<u64> = ranks
            .iter()
            .map(|rank| rank["rank"].as_u64().unwrap())
            .collect();
        numbers.sort_unstable();
        numbers
    };
    assert_eq!(numbers(&[]), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(
        numbers(&["--rank-from", "([0-9]+)w"]),
        [3, 4, 5, 6, 7, 40, 41, 42]
    );
}

#[test]
fn one_that_cannot_be_read_is_told_of() {
    let folder = folder();
    let path = folder
        .path()
        .join("job-7/iteration_20/rank1_memory_snapshot.pickle");
    fs::write(path, "nothing").unwrap();
    let text = asked(folder.path(), &["peaks", "job-7"]);
    assert!(
        text.starts_with("exit code 1") && text.contains("1 snapshot could not be read"),
        "{text}"
    );
    assert!(text.contains("7 ranks"), "{text}");
    let none = asked(folder.path(), &["peaks", "nowhere"]);
    assert!(none.starts_with("exit code 1"), "{none}");
}

#[test]
fn help() {
    assert_snapshot!(transcript(&vramscope(&["fleet", "--help"])));
    assert_snapshot!(transcript(&vramscope(&["fleet", "odd", "--help"])));
}
