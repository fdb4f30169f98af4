//! Questions to all ranks: of snapshots, and of an overview of them.

use std::fs;
use std::path::Path;

use serde_json::Value;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::fleet::names::places_of;
use vramscope_core::fleet::{Detail, Fleet, Source, encode};
use vramscope_synth::snapshot::Producer;
use vramscope_synth::text;

use crate::program::{command, transcript, vramscope};

/// A rank whose steps leave `left` each, which also holds `cache`, and may run out of memory.
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

/// Two steps of eight ranks, named as by torchtitan. At step 20 rank 3 holds more, rank 5 grows faster, and ranks 6 and
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

const MIB: u64 = 1 << 20;

#[test]
fn peaks_and_what_is_odd() {
    let folder = folder();
    let found = &json(folder.path(), &["peaks", "job-7"])["parts"][0];
    assert_eq!(
        (&found["job"], &found["step"]),
        (&"job-7".into(), &20.into())
    );
    assert_eq!(
        (&found["rank_count"], &found["ranks_left_out"]),
        (&8.into(), &4.into())
    );
    assert_eq!(
        (&found["highest"], &found["ranks"][0]["rank"]),
        (&"rank 3".into(), &3.into())
    );
    assert_eq!(found["ranks"][0]["rank_from"], "name");
    assert!(
        found["ranks"][1]["file"]
            .as_str()
            .unwrap()
            .contains("rank5_memory_snapshot")
    );
    let found = &json(folder.path(), &["odd", "job-7"])["parts"][0];
    let odd = found["odd"].as_array().unwrap();
    let is_odd = |rank: u64, measure: &str| {
        odd.iter()
            .any(|row| row["rank"] == rank && row["measure"] == measure)
    };
    assert!(
        is_odd(3, "peak") && is_odd(5, "peak") && is_odd(5, "growth per step"),
        "{found}"
    );
    assert!(
        is_odd(2, "OOMs") && is_odd(6, "OOMs") && !is_odd(0, "peak"),
        "{found}"
    );
    assert_eq!(
        (&found["score_threshold"], &found["notable_share"]),
        (&3.5.into(), &0.05.into())
    );
    let sites = found["differences"].as_array().unwrap();
    let of_rank_3 = sites.iter().find(|site| site["rank"] == 3).unwrap();
    assert_eq!(of_rank_3["call_site"], "cache.py:5 reserve");
    let text = asked(folder.path(), &["odd", "job-7"]);
    assert!(
        text.contains("modified z-score") && text.contains("above 3.5"),
        "{text}"
    );
}

#[test]
fn leaks_failures_and_call_sites() {
    let folder = folder();
    let found = &json(folder.path(), &["leaks", "job-7"])["parts"][0];
    let site = &found["sites"][0];
    assert_eq!(
        (&found["growing_ranks"], &found["fastest"]),
        (&8.into(), &"rank 5".into())
    );
    assert_eq!(site["call_site"], "log.py:9 append");
    assert_eq!(site["median_left_bytes_per_step"], 2 * MIB);
    assert_eq!(site["highest_left_bytes_per_step"], 40 * MIB);
    assert_eq!(
        (&site["highest_rank"], &site["ranks"]),
        (&5.into(), &8.into())
    );
    let found = &json(folder.path(), &["oom", "job-7"])["parts"][0];
    assert_eq!(
        (&found["failed_ranks"], &found["first"]),
        (&2.into(), &"rank 6".into())
    );
    let failed = &found["ranks"][0];
    assert_eq!(
        (&failed["rank"], &failed["after_first_us"]),
        (&6.into(), &0.into())
    );
    assert_eq!(failed["requested_bytes"], 8192 * MIB);
    assert_eq!(failed["call_site"], "model.py:44 forward");
    let found = &json(folder.path(), &["sites", "job-7"])["parts"][0];
    let site = &found["sites"][0];
    assert_eq!(site["call_site"], "cache.py:5 reserve");
    assert_eq!(
        (&site["median_bytes"], &site["highest_bytes"]),
        (&(100 * MIB).into(), &(700 * MIB).into())
    );
    assert_eq!(
        (&site["highest_rank"], &site["odd"]),
        (&3.into(), &"3".into())
    );
    let found = &json(folder.path(), &["diff", "job-7"])["parts"][0];
    assert_eq!(found["rank"], "rank 3");
    assert_eq!(found["differences"][0]["change_bytes"], 600 * MIB);
}

/// A packed overview gives the same answers as its snapshots.
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
    // It is not a snapshot, and the message says what to do with it.
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
    let advice =
        "made anew, of what is packed there, by `vramscope fleet pack SNAPSHOTS -o runs.vset`";
    assert!(text.contains(advice), "{text}");
    // The others are still asked.
    let text = asked(folder.path(), &["peaks", "runs.vset", "job-7"]);
    assert!(
        text.starts_with("exit code 1") && text.contains("8 ranks"),
        "{text}"
    );
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
    let last = folder.path().join("job-7/iteration_30_exit");
    fs::create_dir(&last).unwrap();
    let failed = rank(0, "100MiB", "2MiB", true);
    fs::write(last.join("rank0_memory_snapshot.pickle"), failed).unwrap();
    let oom = json(folder.path(), &["oom", "job-7"]);
    let found = &oom["parts"][0];
    assert_eq!(
        (&found["step"], &found["failed_ranks"]),
        (&30.into(), &1.into())
    );
    fs::remove_dir_all(last).unwrap();
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
    // Names without a rank, and an expression that finds one.
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
fn help_has_every_question() {
    let text = transcript(&vramscope(&["fleet", "--help"]));
    for question in ["peaks", "odd", "diff", "leaks", "oom", "sites"] {
        assert!(text.contains(&format!("\n  {question}")), "{text}");
    }
}

/// A snapshot of two devices, the second of which holds `more`.
fn two_devices(more: &str) -> Vec<u8> {
    let story = format!(
        "device 0\nalloc a 100MiB train.py:10:main\n\
         device 1\nalloc b 100MiB train.py:10:main\nalloc c {more} cache.py:5:reserve\n"
    );
    text::pickle(&story, Producer::Python(2, 12)).unwrap()
}

#[test]
fn what_is_compared_is_one_device_of_one_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    for (name, more) in [("rank0.pickle", "50MiB"), ("rank1.pickle", "70MiB")] {
        fs::write(folder.path().join(name), two_devices(more)).unwrap();
    }
    let diff = |arguments: &str| {
        let arguments = arguments.split_whitespace();
        asked(
            folder.path(),
            &[&["diff", "."][..], &arguments.collect::<Vec<_>>()].concat(),
        )
    };
    let text = diff("--rank 0 --against 1");
    assert!(text.starts_with("exit code 2"), "{text}");
    assert!(
        text.contains("rank 0 has several devices: --device says which of 0 to 1"),
        "{text}"
    );
    let text = diff("--rank 0 --device 1 --against 1");
    assert!(text.contains("--against-device says which"), "{text}");
    let text = diff("--rank 0 --device 2");
    assert!(text.contains("no such device"), "{text}");
    let text = diff("--rank 0 --device 1 --against 0 --against-device 0");
    assert!(
        text.contains("rank 0, device 1") && text.contains("rank 0, device 0"),
        "{text}"
    );
    assert!(text.contains("cache.py:5 reserve"), "{text}");
    let text = diff("--rank 0 --device 1 --against 0 --against-device 1");
    assert!(text.contains("with itself"), "{text}");
    let found = &json(folder.path(), &["sites", "."])["parts"][0]["sites"];
    let site = (found.as_array().unwrap().iter())
        .find(|site| site["call_site"] == "cache.py:5 reserve")
        .unwrap();
    assert_eq!(
        (&site["highest_rank"], &site["highest_device"]),
        (&1.into(), &1.into())
    );
    // Several snapshots of a rank, which only their names distinguish.
    for name in ["rank0.pickle", "rank1.pickle"] {
        fs::remove_file(folder.path().join(name)).unwrap();
    }
    for (name, cache) in [
        ("a_rank0", "100MiB"),
        ("b_rank0", "300MiB"),
        ("a_rank1", "100MiB"),
    ] {
        let path = folder.path().join(format!("{name}.pickle"));
        fs::write(path, rank(0, cache, "2MiB", false)).unwrap();
    }
    let text = diff("--rank 0 --against 1");
    assert!(text.starts_with("exit code 2"), "{text}");
    assert!(
        text.contains("a_rank0.pickle and ./b_rank0.pickle"),
        "{text}"
    );
    let text = asked(folder.path(), &["peaks", "."]);
    assert!(text.contains("several snapshots of rank 0"), "{text}");
    let text = diff("");
    assert!(text.contains("rank 0 of ./b_rank0.pickle"), "{text}");
}

#[test]
fn all_are_told_where_none_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..14 {
        fs::write(
            folder.path().join(format!("rank{number}.pickle")),
            "nothing",
        )
        .unwrap();
    }
    let text = asked(folder.path(), &["peaks", "."]);
    assert!(text.starts_with("exit code 1"), "{text}");
    assert_eq!(text.matches("It begins with").count(), 10, "{text}");
    assert!(
        text.contains("rank0.pickle") && text.contains("rank9.pickle"),
        "{text}"
    );
    assert!(
        text.contains("4 further snapshots could not be read"),
        "{text}"
    );
}

#[test]
fn an_expression_for_ranks_that_is_of_no_use_is_refused() {
    let folder = folder();
    for (regex, told) in [
        ("worker([0-9]+)", "matches no snapshot's name"),
        ("rank(?<rnak>[0-9]+)", "no group can be named rnak"),
        ("(rank[0-9]+)", "which is no number"),
    ] {
        let text = asked(folder.path(), &["peaks", "job-7", "--rank-from", regex]);
        assert!(
            text.starts_with("exit code 2") && text.contains(told),
            "{text}"
        );
        let output = ["pack", "job-7", "-o", "x.vset", "--rank-from", regex];
        let text = asked(folder.path(), &output);
        assert!(
            text.starts_with("exit code 2") && text.contains(told),
            "{text}"
        );
        assert!(!folder.path().join("x.vset").exists());
    }
}
