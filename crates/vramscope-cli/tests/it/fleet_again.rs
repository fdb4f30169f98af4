//! `vramscope fleet pack` again: other snapshots into the same dataset, repairs, and other processes' leftovers.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;
use vramscope_synth::snapshot::Producer;

use crate::fleet_pack::{Job, figures, rows, text};
use crate::program::{command, transcript};

/// Snapshots by their names in a folder beside a dataset.
struct Bits {
    job: Job,
}

impl Bits {
    fn new(names: &[&str]) -> Self {
        let job = Job::new(1, 100);
        let first = fs::read(job.runs().join(job.fleet.name(0))).unwrap();
        for name in names {
            let path = job.folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, &first).unwrap();
        }
        Self { job }
    }

    fn pack(&self, names: &[&str]) -> (i32, Value) {
        let mut pack = command(&["fleet", "pack", "--json", "-o", "x.vset"]);
        pack.args(names).current_dir(self.job.folder.path());
        figures(&pack.output().unwrap())
    }

    /// The job, rank and host of each.
    fn places(&self) -> BTreeMap<String, (Option<String>, u64, Option<String>)> {
        let folders = fs::read_dir(self.job.folder.path().join("x.vset/ranks")).unwrap();
        let mut places = BTreeMap::new();
        for folder in folders {
            let folder = folder.unwrap();
            let name = folder.file_name().into_string().unwrap();
            let rank = name.strip_prefix("rank=").unwrap().parse().unwrap();
            for file in fs::read_dir(folder.path()).unwrap() {
                for row in rows(&file.unwrap().path()) {
                    let place = (text(&row, "job"), rank, text(&row, "host"));
                    places.insert(text(&row, "snapshot").unwrap(), place);
                }
            }
        }
        places
    }
}

/// A job gets the same places whether it is packed at once or bit by bit.
#[test]
fn packing_bit_by_bit_is_as_packing_at_once() {
    let job = |name: &str| Some(name.to_owned());
    let bits = Bits::new(&[
        "small/rank0.pickle",
        "large/rank0.pickle",
        "large/rank1.pickle",
    ]);
    assert_eq!(bits.pack(&["small"]).1["packed"], 1);
    assert_eq!(bits.places()["small/rank0.pickle"], (None, 0, None));
    // The job of the first call's snapshot changes, too.
    assert_eq!(bits.pack(&["large"]).1["packed"], 3);
    let places = bits.places();
    assert_eq!(places["small/rank0.pickle"], (job("small"), 0, None));
    assert_eq!(places["large/rank1.pickle"], (job("large"), 1, None));
    assert_eq!(places.len(), 3);
    let (_, again) = bits.pack(&["small", "large"]);
    assert_eq!(
        (&again["packed"], &again["skipped"]),
        (&0.into(), &3.into())
    );
    // Hosts.
    let bits = Bits::new(&[
        "node-1/gpu0.pickle",
        "node-1/gpu1.pickle",
        "node-2/gpu0.pickle",
    ]);
    bits.pack(&["node-2"]);
    assert_eq!(bits.places()["node-2/gpu0.pickle"].1, 0);
    bits.pack(&["node-1"]);
    let ranks: Vec<_> = bits.places().into_values().map(|place| place.1).collect();
    assert_eq!(ranks, [0, 1, 2]);
    // A deleted snapshot keeps its place, and its number is not reused.
    let bits = Bits::new(&["a.pickle", "b.pickle", "c.pickle"]);
    bits.pack(&["b.pickle"]);
    fs::remove_file(bits.job.folder.path().join("b.pickle")).unwrap();
    bits.pack(&["a.pickle", "c.pickle"]);
    let ranks: Vec<_> = bits.places().into_values().map(|place| place.1).collect();
    assert_eq!(ranks, [1, 0, 2]);
    // A snapshot to be removed has no influence.
    let bits = Bits::new(&["small/rank0.pickle", "large/rank0.pickle"]);
    bits.pack(&["small"]);
    bits.pack(&["large", "--prune"]);
    assert_eq!(bits.places()["large/rank0.pickle"], (None, 0, None));
}

/// Two nodes start at once, each with its own snapshots. The one that ends last sees all, and packs again those whose
/// place changed.
#[test]
fn processes_with_different_snapshots_agree_on_places() {
    let names: Vec<String> = (0..12)
        .map(|number| format!("node-{}/gpu{}.pickle", number / 6, number % 6))
        .collect();
    let bits = Bits::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let node = |name: &str| {
        let mut pack = command(&["fleet", "pack", "--json", "-o", "x.vset", name]);
        pack.stdout(Stdio::piped()).stderr(Stdio::piped());
        pack.current_dir(bits.job.folder.path()).spawn().unwrap()
    };
    for process in [node("node-0"), node("node-1")] {
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", transcript(&output));
    }
    let ranks: BTreeSet<u64> = bits.places().into_values().map(|place| place.1).collect();
    assert_eq!(ranks, (0..12).collect());
    let pieces = fs::read_dir(bits.job.folder.path().join("x.vset/pieces")).unwrap();
    let pieces = pieces.flat_map(|rank| fs::read_dir(rank.unwrap().path()).unwrap());
    assert_eq!(pieces.count(), 12);
}

/// Missing and truncated files are written again, and so is a damaged overview.
#[test]
fn packing_again_repairs_a_dataset() {
    let job = Job::new(3, 300);
    job.pack(&[]);
    let events = job.files("events");
    let whole = fs::read(&events[1]).unwrap();
    fs::write(&events[1], &whole[..whole.len() / 2]).unwrap();
    fs::remove_file(&job.files("stacks")[2]).unwrap();
    let overview = job.dataset().join("overview.vset");
    let answers = fs::read(&overview).unwrap();
    fs::write(&overview, &answers[..answers.len() / 2]).unwrap();
    let (code, again) = job.pack(&[]);
    assert_eq!((code, &again["packed"]), (0, &2.into()), "{again}");
    assert_eq!(fs::read(&events[1]).unwrap(), whole);
    assert_eq!(fs::read(&overview).unwrap(), answers);
    job.must_be_whole();
}

/// An unfinished dataset says so, and how to continue.
#[test]
fn an_unfinished_dataset_is_no_folder_without_snapshots() {
    let job = Job::new(2, 100);
    job.pack(&[]);
    fs::remove_file(job.dataset().join("overview.vset")).unwrap();
    let asked = command(&["fleet", "peaks", job.dataset().to_str().unwrap()]).output();
    let text = transcript(&asked.unwrap());
    assert!(text.starts_with("exit code 1"), "{text}");
    assert!(
        text.contains("has not finished") && text.contains("fleet pack SNAPSHOTS -o"),
        "{text}"
    );
    assert_eq!(job.pack(&[]).1["skipped"], 2);
    let asked = command(&["fleet", "peaks", job.dataset().to_str().unwrap()]).output();
    assert_eq!(asked.unwrap().status.code(), Some(0));
}

/// Advised commands can be pasted, whatever the dataset's name.
#[cfg(unix)]
#[test]
fn advice_has_names_as_a_shell_takes_them() {
    let bits = Bits::new(&["rank0.pickle"]);
    let name = "it's\n\u{1b}[2J x.vset";
    let mut pack = command(&["fleet", "pack", "rank0.pickle", "-o", name]);
    let output = pack.current_dir(bits.job.folder.path()).output().unwrap();
    let text = transcript(&output);
    let word = r"$'it\'s\012\033[2J x.vset'";
    assert!(
        text.contains(&format!("`vramscope fleet odd {word}`")),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'), "{text}");
}

/// An overview gives the same answers as the snapshots about its call sites, even where they are small on a rank.
#[test]
fn call_sites_of_an_overview_are_those_of_the_snapshots() {
    let job = Job::new(1, 100);
    fs::remove_dir_all(job.runs()).unwrap();
    fs::create_dir(job.runs()).unwrap();
    for rank in 0..4_u64 {
        // On rank 3 the order is reversed.
        let story: String = (0..300_u64)
            .map(|site| {
                let size = if rank == 3 { 300 - site } else { site + 1 };
                format!("alloc a{site} {size}KiB model.py:{}:f{site}\n", site + 1)
            })
            .collect();
        let story = format!("device 0\n{story}");
        let bytes = vramscope_synth::text::pickle(&story, Producer::Python(2, 12)).unwrap();
        fs::write(job.runs().join(format!("rank{rank}.pickle")), bytes).unwrap();
    }
    job.pack(&[]);
    let asked = |question: &[&str], of: &Path| -> BTreeMap<String, Value> {
        let mut asked = command(&[&["fleet"], question, &["--json"]].concat());
        let (_, part) = figures(&asked.arg(of).output().unwrap());
        let table = ["sites", "differences"].map(|table| part[table].clone());
        let rows = table.iter().filter_map(Value::as_array).flatten();
        let label = |row: &Value| row["call_site"].as_str().unwrap().to_owned();
        rows.map(|row| (label(row), row.clone())).collect()
    };
    for question in [
        &["sites"][..],
        &["diff", "--rank", "3", "--against", "0"],
        &["odd"],
    ] {
        let whole = asked(question, &job.runs());
        let mut packed = asked(question, &job.dataset());
        packed.remove("(other call sites)");
        for (label, row) in &packed {
            assert_eq!(Some(row), whole.get(label), "{question:?}");
        }
        assert!(
            question[0] == "odd" || packed.len() >= 190,
            "{}",
            packed.len()
        );
    }
    let text = transcript(
        &command(&["fleet", "sites"])
            .arg(job.dataset())
            .output()
            .unwrap(),
    );
    assert!(
        text.contains("hold less on all ranks are summed up"),
        "{text}"
    );
}
