//! `vramscope sql` with its engine, as its users run it.
#![expect(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod hostile;
#[path = "../it/program.rs"]
#[expect(dead_code, reason = "the other tests use more of it")]
mod program;

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::Duration;

use insta::assert_snapshot;
use tempfile::TempDir;

use crate::program::{command, transcript, vramscope, vramscope_reading};

/// Three ranks, numbered in the order of their names: the last is rank 0.
const FILES: [&str; 3] = [
    "torch-2.15.0/training.pickle",
    "torch-2.15.0/oom_observer.pickle",
    "torch-2.15.0/named_ranges.pickle",
];

const PEAKS: &str = "select rank, max(live_bytes) as peak_bytes, max(event) as events, avg(event) as mean \
                     from events group by rank order by rank";

fn sql(arguments: &[&str]) -> Output {
    vramscope(&[&["sql"], arguments].concat())
}

/// A folder with a dataset of the same ranks in it.
fn packed() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("runs.vset");
    let out = out.to_str().unwrap();
    let packed = vramscope(&[&["fleet", "pack", "-o", out], &FILES[..]].concat());
    assert!(packed.status.success(), "{}", transcript(&packed));
    folder
}

fn on_dataset(folder: &Path, arguments: &[&str]) -> Output {
    let folder = folder.join("runs.vset");
    let name = folder.to_str().unwrap();
    let output = sql(&[arguments, &[name]].concat());
    let hidden = |bytes: Vec<u8>| {
        let text = String::from_utf8(bytes).unwrap();
        text.replace(name, "DATASET").into_bytes()
    };
    Output {
        stdout: hidden(output.stdout),
        stderr: hidden(output.stderr),
        ..output
    }
}

#[test]
fn answers_as_text_json_and_csv() {
    let all = [&[PEAKS][..], &FILES].concat();
    let mut text = String::new();
    for form in [
        &[][..],
        &["--bytes", "--limit", "2"],
        &["--json"],
        &["--csv"],
    ] {
        text += &transcript(&sql(&[&all, form].concat()));
    }
    assert_snapshot!(text);
}

#[test]
fn a_dataset_answers_as_its_snapshots() {
    let folder = packed();
    let columns = "select table_name, column_name, data_type from information_schema.columns \
                   where table_schema = 'public' order by 1, 2";
    let sites = "select rank, call_site, count(*) allocations, sum(requested_bytes) bytes \
                 from allocations group by 1, 2 order by 1, 4 desc, 2";
    let figures = "select rank, step, host, rank_from, peak_bytes, ooms from ranks order by 1";
    let stacks = "select e.rank, s.frames, count(*) events from events e \
                  join stacks s on s.rank = e.rank and s.stack_key = e.stack_key group by 1, 2 order by 1, 3, 2";
    for query in [columns, sites, figures, stacks] {
        let of_dataset = on_dataset(folder.path(), &["--csv", query]);
        let of_files = sql(&[&["--csv", query], &FILES[..]].concat());
        assert_eq!(transcript(&of_dataset), transcript(&of_files));
        let lines = of_dataset.stdout.split(|&byte| byte == b'\n');
        assert!(of_dataset.status.success() && lines.count() > 2);
    }
}

/// As for `fleet`, the ranks come from the names, or from an expression; and the path is relative to here.
#[test]
fn ranks_of_snapshots_come_from_their_names() {
    let folder = tempfile::tempdir().unwrap();
    for (name, file) in ["rank12.pickle", "w3.pickle"].into_iter().zip(FILES) {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
        fs::copy(from.join(file), folder.path().join(name)).unwrap();
    }
    let asked = |further: &[&str]| {
        let query = "select rank, rank_from, snapshot from ranks order by 1";
        let mut program = command(&[&["sql", "--csv", query, "."], further].concat());
        let output = program.current_dir(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", transcript(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let head = "rank,rank_from,snapshot\n";
    let named = "12,name,rank12.pickle\n";
    assert_eq!(asked(&[]), format!("{head}0,order,w3.pickle\n{named}"));
    let given = asked(&["--rank-from", "w([0-9]+)"]);
    assert_eq!(given, format!("{head}3,given,w3.pickle\n{named}"));
}

#[test]
fn long_answers_are_cut_with_their_number() {
    let query = "select rank, event, action, address, live_bytes from events order by 1 desc, 2";
    let text = sql(&[&[query], &FILES[..]].concat());
    let json = sql(&[&[query, "--json", "--limit", "1"], &FILES[..]].concat());
    assert_snapshot!(transcript(&text) + &transcript(&json));
}

#[test]
fn errors_say_where_and_what_to_do() {
    let mut text = String::new();
    for query in [
        "select rank,\n  max(live_byte) from events",
        "select 1 from allocation",
        "select rank from from events",
        "drop table events",
        "copy events to 'x.csv'",
        "select frobnicate(rank) from events",
        "select rank from events where event > 'x'",
        "select event / 0 from events",
        "select 'a",
        "",
        "-- only why",
    ] {
        text += &format!("$ {query}\n{}", transcript(&sql(&[query, FILES[0]])));
    }
    assert_snapshot!(text);
}

#[test]
fn wrong_files_are_told() {
    let folder = packed();
    let dataset = folder.path().join("runs.vset");
    let several = sql(&["select 1", dataset.to_str().unwrap(), FILES[0]]);
    assert_eq!(several.status.code(), Some(2), "{}", transcript(&several));
    // An unreadable snapshot is reported, and the others are still queried.
    let query = "select count(distinct rank) as ranks from events";
    let missing = sql(&["--csv", query, FILES[0], "missing.pickle", FILES[1]]);
    assert_eq!(missing.status.code(), Some(1));
    assert_eq!(missing.stdout, b"ranks\n2\n");
    assert!(transcript(&missing).contains("cannot read missing.pickle"));
    let none = sql(&[query, "missing.pickle"]);
    assert_eq!(
        (none.status.code(), none.stdout.as_slice()),
        (Some(1), &b""[..])
    );
}

#[test]
fn ranks_that_a_table_lacks_are_told() {
    let folder = packed();
    let query = ["--csv", "select count(*) as ranks from ranks"];
    let whole = on_dataset(folder.path(), &query);
    assert_eq!(
        (whole.stdout.as_slice(), whole.stderr.as_slice()),
        (&b"ranks\n3\n"[..], &b""[..])
    );
    fs::remove_dir_all(folder.path().join("runs.vset/ranks/rank=1")).unwrap();
    let asked = on_dataset(folder.path(), &query);
    assert_eq!(asked.stdout, b"ranks\n2\n");
    let told = String::from_utf8(asked.stderr).unwrap();
    assert!(
        told.contains("the table ranks has other ranks than the overview"),
        "{told}"
    );
    fs::remove_file(folder.path().join("runs.vset/overview.vset")).unwrap();
    let unfinished = transcript(&on_dataset(folder.path(), &query));
    assert!(unfinished.contains("has not finished"), "{unfinished}");
}

#[test]
fn the_query_may_come_on_standard_input() {
    let output = vramscope_reading(&["sql", "-", FILES[0], "--csv"], b"select 1 as one\n");
    assert_eq!(output.stdout, b"one\n1\n", "{}", transcript(&output));
    let both = vramscope_reading(&["sql", "-", "-"], b"");
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn a_parquet_file_can_be_written_and_asked() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("runs.vset/answer/rank=0");
    fs::create_dir_all(&place).unwrap();
    let file = place.join("part.parquet");
    let file = file.to_str().unwrap();
    let written = sql(&[
        "select event, time, call_site from events",
        FILES[0],
        "--parquet",
        file,
    ]);
    assert!(written.status.success(), "{}", transcript(&written));
    let query = "select count(*) rows, count(distinct call_site) sites, min(rank) rank from answer";
    let asked = on_dataset(folder.path(), &["--csv", query]);
    let direct = sql(&["--csv", &query.replace("answer", "events"), FILES[0]]);
    assert_eq!(transcript(&asked), transcript(&direct));
}

#[test]
fn what_is_asked_is_not_written_over() {
    let folder = packed();
    let dataset = folder.path().join("runs.vset");
    let snapshots = folder.path().join("snapshots");
    fs::create_dir(&snapshots).unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures");
    fs::copy(from.join(FILES[0]), snapshots.join("worker0.pickle")).unwrap();
    let events = fs::read_dir(dataset.join("events")).unwrap().next();
    let events = events.unwrap().unwrap().path();
    let part = fs::read_dir(&events)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    for (asked, place) in [
        (&snapshots, snapshots.join("worker0.pickle")),
        (&dataset, dataset.join("overview.vset")),
        (&dataset, part),
        (&dataset, events.join("new.parquet")),
    ] {
        let before = fs::read(&place).ok();
        let [asked, out] = [asked, &place].map(|path| path.to_str().unwrap());
        let refused = sql(&["select 1 a", asked, "--parquet", out]);
        let said = transcript(&refused);
        assert_eq!(refused.status.code(), Some(2), "{out}: {said}");
        assert!(said.contains("name another"), "{said}");
        assert_eq!(fs::read(&place).ok(), before, "{out}");
    }
    // Beside them is allowed.
    for asked in [&snapshots, &dataset] {
        let out = folder.path().join("answer.parquet");
        let [asked, out] = [asked, &out].map(|path| path.to_str().unwrap());
        let written = sql(&["select 1 a", asked, "--parquet", out]);
        assert!(written.status.success(), "{}", transcript(&written));
    }
}

#[test]
fn columns_without_a_value_are_shown() {
    let output = sql(&["select job, rank, null nothing from ranks", FILES[0]]);
    let text = String::from_utf8(output.stdout).unwrap();
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect();
    let lines: Vec<Vec<String>> = text.lines().skip(1).map(words).collect();
    let lines = lines.iter().filter(|line| !line.is_empty());
    let lines: Vec<_> = lines.collect();
    assert_eq!(lines, [&["job", "rank", "nothing"][..], &["0"]], "{text}");
}

/// The query in the example of `--help` is one that reads files.
#[test]
fn the_example_of_a_plan_names_files() {
    let help = String::from_utf8(vramscope(&["sql", "--help"]).stdout).unwrap();
    let mut examples = help.lines().filter(|line| line.contains("vramscope sql '"));
    let example = examples.find(|line| line.ends_with(" --explain"));
    let query = example.unwrap().split('\'').nth(1).unwrap();
    let folder = packed();
    let query = query.replace("17", "1");
    let plan = transcript(&on_dataset(folder.path(), &["--explain", &query]));
    assert!(plan.contains("rank=1/part-"), "{plan}");
}

#[test]
fn the_plan_names_the_files_that_are_read() {
    let folder = packed();
    let query = "select event from events where rank = 1";
    let plan = transcript(&on_dataset(folder.path(), &["--explain", query]));
    assert!(plan.contains("rank=1/part-"), "{plan}");
    assert!(!plan.contains("rank=2"), "{plan}");
}

/// Temporary folders of this program in a folder.
fn left_in(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn no_temporary_file_is_left() {
    let temporary = tempfile::tempdir().unwrap();
    let run = |query: &str| {
        let mut program = command(&["sql", query, FILES[0], FILES[1]]);
        program.env("TMPDIR", temporary.path()).output().unwrap()
    };
    assert!(run(PEAKS).status.success());
    assert!(!run("select x from events").status.success());
    assert_eq!(left_in(temporary.path()), 0);
}

#[cfg(unix)]
#[test]
fn an_interruption_leaves_no_temporary_file() {
    let temporary = tempfile::tempdir().unwrap();
    // More rows than anyone counts.
    let endless = "select count(*) from events a, events b, events c, events d, events e, events f \
                   where a.event + b.event + c.event + d.event + e.event + f.event = -1";
    let mut program = command(&[&["sql", endless], &FILES[..]].concat());
    let mut child = program.env("TMPDIR", temporary.path()).spawn().unwrap();
    while left_in(temporary.path()) == 0 {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let pid = child.id().to_string();
    let killed = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(killed.unwrap().success());
    let status = child.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(2)
    );
    assert_eq!(left_in(temporary.path()), 0);
}
