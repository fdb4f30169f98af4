//! `vramscope fleet pack`: the dataset's content, and what an interruption leaves of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;
use vramscope_synth::fleet::{Fleet, Oddness};
use vramscope_synth::training::Scale;

use crate::program::{command, transcript};

/// Ranks in a new folder, and a dataset beside it.
pub(crate) struct Job {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) fleet: Fleet,
    ranks: u32,
}

impl Job {
    pub(crate) fn new(ranks: u32, events: usize) -> Self {
        let job = Self {
            ranks,
            folder: tempfile::tempdir().unwrap(),
            fleet: Fleet::new(ranks, events, Scale::SMALL, 7),
        };
        for rank in 0..ranks {
            job.write(rank, &job.fleet);
        }
        job
    }

    fn write(&self, rank: u32, fleet: &Fleet) {
        let path = self.runs().join(fleet.name(rank));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        drop(fleet.write(rank, File::create(path).unwrap()).unwrap());
    }

    pub(crate) fn runs(&self) -> PathBuf {
        self.folder.path().join("runs")
    }

    pub(crate) fn dataset(&self) -> PathBuf {
        self.folder.path().join("runs.vset")
    }

    pub(crate) fn command(&self, further: &[&str]) -> Command {
        let mut pack = command(&["fleet", "pack", "--json"]);
        pack.arg(self.runs())
            .arg("-o")
            .arg(self.dataset())
            .args(further);
        pack.stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        pack
    }

    /// Packs, and returns the exit code and the figures.
    pub(crate) fn pack(&self, further: &[&str]) -> (i32, Value) {
        figures(&self.command(further).output().unwrap())
    }

    /// Makes all snapshots look changed.
    #[cfg(unix)]
    pub(crate) fn touch(&self) {
        for rank in 0..self.ranks {
            let path = self.runs().join(self.fleet.name(rank));
            let file = File::options().write(true).open(path).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH)
                .unwrap();
        }
    }

    /// The files of a table, by rank.
    pub(crate) fn files(&self, table: &str) -> Vec<PathBuf> {
        let entries = |folder: &Path| {
            let entries = fs::read_dir(folder).into_iter().flatten();
            let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
            paths.sort();
            paths
        };
        let folders = entries(&self.dataset().join(table));
        folders.iter().flat_map(|folder| entries(folder)).collect()
    }

    /// The rows of a table's file.
    fn rows(&self, table: &str, rank: u32) -> Vec<BTreeMap<String, Field>> {
        let folder = format!("rank={rank}");
        let files = self.files(table).into_iter();
        let files = files.filter(|file| file.parent().unwrap().ends_with(&folder));
        files.flat_map(|file| rows(&file)).collect()
    }

    /// Checks that every rank has all tables, and that nothing else is in the dataset.
    pub(crate) fn must_be_whole(&self) {
        let spots = |table: &str| -> BTreeSet<PathBuf> {
            let files = self.files(table);
            let bare = files.iter().map(|file| file.with_extension(""));
            let root = self.dataset().join(table);
            bare.map(|file| file.strip_prefix(&root).unwrap().to_owned())
                .collect()
        };
        let pieces = spots("pieces");
        for table in TABLES {
            assert_eq!(spots(table), pieces, "{table}");
        }
        let names = fs::read_dir(self.dataset()).unwrap();
        let names: BTreeSet<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let expected = TABLES
            .into_iter()
            .chain(["format", "overview.vset", "pieces"]);
        assert_eq!(names, expected.map(str::to_owned).collect());
    }
}

pub(crate) const TABLES: [&str; 11] = [
    "events",
    "allocations",
    "annotations",
    "segments",
    "blocks",
    "stacks",
    "ranks",
    "curve",
    "sites_at_peak",
    "findings",
    "failures",
];

pub(crate) fn figures(output: &Output) -> (i32, Value) {
    let answer: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", transcript(output)));
    (output.status.code().unwrap(), answer["parts"][0].clone())
}

pub(crate) fn rows(file: &Path) -> Vec<BTreeMap<String, Field>> {
    let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
    let rows = reader.get_row_iter(None).unwrap().map(Result::unwrap);
    rows.map(|row| {
        row.get_column_iter()
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    })
    .collect()
}

fn number(row: &BTreeMap<String, Field>, column: &str) -> u64 {
    match &row[column] {
        Field::Long(number) => u64::try_from(*number).unwrap(),
        Field::ULong(number) => *number,
        Field::Null => 0,
        other => panic!("{column} is {other}"),
    }
}

pub(crate) fn text(row: &BTreeMap<String, Field>, column: &str) -> Option<String> {
    match &row[column] {
        Field::Str(text) => Some(text.clone()),
        _ => None,
    }
}

/// Every row has its snapshot, and every key its stack.
fn every_key_has_its_stack(job: &Job, rank: u32, rows: &[BTreeMap<String, Field>]) {
    let stacks = job.rows("stacks", rank);
    let keys: BTreeSet<_> = stacks.iter().map(|row| text(row, "stack_key")).collect();
    let snapshot = Some(format!("runs/{}", job.fleet.name(rank)));
    for row in rows {
        assert_eq!(text(row, "snapshot"), snapshot);
        let key = text(row, "stack_key");
        assert!(key.is_none() || keys.contains(&key), "{key:?}");
    }
    assert!(rows.iter().any(|row| text(row, "stack_key").is_some()));
}

/// `sql --tables` lists exactly the tables and columns of the dataset.
#[test]
fn tables_are_as_described() {
    let job = Job::new(1, 300);
    job.pack(&[]);
    let described = command(&["sql", "--tables", "--json"]).output().unwrap();
    let described: Value = serde_json::from_slice(&described.stdout).unwrap();
    let tables = described["tables"].as_array().unwrap();
    let names = tables.iter().map(|table| table["name"].as_str().unwrap());
    assert_eq!(names.collect::<BTreeSet<_>>(), TABLES.into());
    for table in tables {
        let columns = table["columns"].as_array().unwrap().iter();
        let columns = columns.map(|column| column["name"].as_str().unwrap());
        let file = &job.files(table["name"].as_str().unwrap())[0];
        let reader = SerializedFileReader::new(File::open(file).unwrap()).unwrap();
        let schema = reader.metadata().file_metadata().schema_descr();
        let of_file = schema.columns().iter().map(|column| column.name());
        // The folder's name contains the rank.
        let expected = ["rank"].into_iter().chain(of_file);
        assert!(columns.eq(expected), "{}", table["name"]);
    }
}

/// The sums of the tables are the figures in `info`.
#[test]
fn tables_say_what_the_snapshots_say() {
    let job = Job::new(2, 3000);
    let (code, packed) = job.pack(&[]);
    assert_eq!((code, &packed["packed"]), (0, &Value::from(2)), "{packed}");
    job.must_be_whole();
    for rank in 0..2 {
        let file = job.runs().join(job.fleet.name(rank));
        let info = command(&["info", "--json", file.to_str().unwrap()])
            .output()
            .unwrap();
        let info: Value = serde_json::from_slice(&info.stdout).unwrap();
        let info = &info["parts"][1];
        let rows = |table: &str| job.rows(table, rank);
        let ranks = rows("ranks");
        let peak = info["peak_bytes"].as_u64().unwrap();
        assert_eq!(number(&ranks[0], "peak_bytes"), peak);
        assert_eq!(number(&ranks[0], "step"), 100);
        let events = rows("events");
        assert_eq!(number(&ranks[0], "events"), events.len() as u64);
        let active = events.iter().map(|row| number(row, "live_bytes")).max();
        assert_eq!(active, Some(peak));
        let numbers: Vec<_> = events.iter().map(|row| number(row, "event")).collect();
        assert!(numbers.into_iter().eq(1..=events.len() as u64));
        // The memory live at the peak, by allocation and by call site.
        let at = number(&ranks[0], "peak_event");
        let allocations = rows("allocations");
        assert_eq!(number(&ranks[0], "allocations"), allocations.len() as u64);
        let is_live = |row: &&BTreeMap<String, Field>| {
            let freed = number(row, "free_completed_event");
            number(row, "alloc_event") <= at && (freed == 0 || freed > at)
        };
        let live = allocations.iter().filter(is_live);
        let live: u64 = live.map(|row| number(row, "requested_bytes")).sum();
        assert_eq!(live, peak);
        let sites: u64 = rows("sites_at_peak")
            .iter()
            .map(|row| number(row, "peak_bytes"))
            .sum();
        assert_eq!(sites + number(&ranks[0], "other_sites_bytes"), peak);
        let highest = rows("curve")
            .iter()
            .map(|row| number(row, "highest_bytes"))
            .max();
        assert!(highest >= Some(peak) && highest <= Some(peak + peak / 1000 + 1));
        every_key_has_its_stack(&job, rank, &[events, allocations].concat());
        assert!(!rows("allocations")[0].contains_key("name"));
    }
    let keys = |rank| -> BTreeSet<_> {
        let stacks = job.rows("stacks", rank);
        stacks.iter().map(|row| text(row, "stack_key")).collect()
    };
    assert_eq!(keys(0), keys(1));
}

/// Unchanged snapshots are left out, changed ones are packed again, and unreadable ones are named beside the rest.
#[test]
fn packing_goes_on_where_it_stopped() {
    let job = Job::new(3, 300);
    assert_eq!(job.pack(&[]).1["packed"], 3);
    let overview = || fs::read(job.dataset().join("overview.vset")).unwrap();
    let before = overview();
    let (code, again) = job.pack(&[]);
    let told = ["packed", "skipped", "unreadable", "ranks"].map(|key| again[key].clone());
    assert_eq!((code, told), (0, [0, 3, 0, 3].map(Value::from)));
    assert_eq!(overview(), before);
    // Another recording in place of rank 1, and rank 2 is truncated.
    job.write(1, &Fleet::new(3, 500, Scale::SMALL, 8));
    let cut = job.runs().join(job.fleet.name(2));
    let whole = fs::read(&cut).unwrap();
    fs::write(&cut, &whole[..10]).unwrap();
    let (code, again) = job.pack(&[]);
    let told = ["packed", "skipped", "unreadable", "ranks"].map(|key| again[key].clone());
    assert_eq!((code, told), (1, [1, 1, 1, 2].map(Value::from)), "{again}");
    assert_eq!(again["problems"][0]["problem"], "unreadable");
    // Each is reported once.
    let told = transcript(&job.command(&[]).output().unwrap());
    let why = again["problems"][0]["why"].as_str().unwrap();
    assert_eq!(told.matches(why).count(), 1, "{told}");
    assert!(told.contains("1 snapshot could not be read"), "{told}");
    assert_eq!(job.rows("events", 1).len(), 500);
    assert_eq!(job.rows("events", 2).len(), 0);
    // It is complete again.
    fs::write(&cut, &whole).unwrap();
    let (code, again) = job.pack(&[]);
    let told = ["packed", "skipped", "unreadable", "ranks"].map(|key| again[key].clone());
    assert_eq!((code, told), (0, [1, 2, 0, 3].map(Value::from)), "{again}");
    // Without its snapshot a rank stays, until `--prune`.
    fs::remove_file(&cut).unwrap();
    assert_eq!(job.pack(&[]).1["ranks"], 3);
    let (_, pruned) = job.pack(&["--prune"]);
    assert_eq!(
        (&pruned["ranks"], &pruned["pruned"]),
        (&Value::from(2), &Value::from(1))
    );
    assert_eq!(job.rows("events", 2).len(), 0);
    for table in TABLES.into_iter().chain(["pieces"]) {
        assert!(
            !job.dataset().join(table).join("rank=2").exists(),
            "{table}"
        );
    }
    // A dataset is not its own source.
    let mut own = command(&["fleet", "pack", "--prune"]);
    own.arg(job.dataset()).arg("-o").arg(job.dataset());
    assert_eq!(own.output().unwrap().status.code(), Some(2));
    assert_eq!(job.pack(&[]).1["ranks"], 2);
}

/// Steps of a rank are kept side by side, and so are snapshots distinguished only by their folders.
#[test]
fn several_snapshots_of_a_rank_have_files_of_their_own() {
    let job = Job::new(1, 100);
    let first = job.runs().join(job.fleet.name(0));
    for name in [
        "iteration_200/rank0_memory_snapshot.pickle",
        "a/rank1.pickle",
        "b/rank1.pickle",
    ] {
        let path = job.runs().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(&first, path).unwrap();
    }
    assert_eq!(job.pack(&[]).1["ranks"], 4);
    let files = job.files("events");
    let names: Vec<_> = files
        .iter()
        .map(|file| file.file_name().unwrap().to_str().unwrap())
        .collect();
    let beginnings = ["step-000100-", "step-000200-", "part-", "part-"];
    assert!(names.len() == 4, "{names:?}");
    for (name, beginning) in names.iter().zip(beginnings) {
        assert!(name.starts_with(beginning), "{names:?}");
    }
    assert_eq!(job.pack(&[]).1["skipped"], 4);
    let asked = [
        r"--rank-from",
        r"([ab])/rank(?<rank>\d)|iteration_(?<local_rank>\d)",
    ];
    assert_eq!(job.pack(&asked).0, 0);
}

#[test]
fn the_odd_ranks_of_a_generated_fleet_are_odd() {
    let job = Job::new(12, 4000);
    assert_eq!(job.pack(&[]).1["packed"], 12);
    let asked = command(&["fleet", "oom", "--json", job.dataset().to_str().unwrap()]).output();
    let (_, failed) = figures(&asked.unwrap());
    let of = |oddness| (0..12).find(|&rank| job.fleet.oddness(rank) == Some(oddness));
    let out_of_memory = of(Oddness::OutOfMemory).unwrap();
    assert_eq!(failed["ranks"][0]["rank"], out_of_memory, "{failed}");
    assert!(!job.rows("failures", out_of_memory).is_empty());
    let asked = command(&["fleet", "odd", "--json", job.dataset().to_str().unwrap()]).output();
    let told = transcript(&asked.unwrap());
    let odd = of(Oddness::LargerBatch).unwrap();
    assert!(told.contains(&format!("\"rank\": {odd}")), "{told}");
}

/// Whether something is being packed.
fn is_at_it(job: &Job) -> bool {
    let names = fs::read_dir(job.dataset()).into_iter().flatten();
    let mut names = names.map(|entry| entry.unwrap().file_name());
    names.any(|name| name.to_string_lossy().starts_with(".packing"))
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_whole_ranks_only() {
    let job = Job::new(12, 2000);
    let mut child = job.command(&[]).spawn().unwrap();
    while !is_at_it(&job) {
        assert!(child.try_wait().unwrap().is_none(), "it ended early");
        thread::sleep(Duration::from_millis(1));
    }
    thread::sleep(Duration::from_millis(50));
    let sent = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    child.wait().unwrap();
    let pieces = job.files("pieces").len();
    for table in TABLES {
        assert_eq!(job.files(table).len(), pieces, "{table}");
    }
    assert!(!is_at_it(&job));
    assert_eq!(job.pack(&[]).1["ranks"], 12);
    job.must_be_whole();
}
