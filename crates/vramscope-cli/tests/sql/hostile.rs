//! Queries and files made to break the engine: each was once answered wrongly, or not at all.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::program::{command, transcript};
use crate::{FILES, left_in, on_dataset, packed, sql};

/// Runs a query with little memory, in a folder for temporary files that must be empty afterwards. Returns the exit
/// code and the output.
fn said(query: &str, files: &[&str]) -> (Option<i32>, String) {
    let temporary = tempfile::tempdir().unwrap();
    let arguments = ["sql", "--memory", "256MiB", "--csv", query];
    let mut program = command(&[&arguments[..], files].concat());
    program
        .env("TMPDIR", temporary.path())
        .env_remove("RUST_BACKTRACE");
    // These were once the engine's own variables.
    let output = program.env("T", "0").env("B", "0").output().unwrap();
    assert_eq!(left_in(temporary.path()), 0, "{query}");
    (output.status.code(), transcript(&output))
}

/// A snapshot with this many allocations of one size.
fn allocations(path: &Path, count: u64, bytes: u64) {
    let event = |number: u64| json!({ "action": "alloc", "addr": number << 20, "size": bytes, "stream": 0, "time_us": number, "frames": [] });
    let events: Vec<Value> = (0..count).map(event).collect();
    let snapshot = json!({ "segments": [], "device_traces": [events] });
    fs::write(path, snapshot.to_string()).unwrap();
}

#[test]
fn sums_do_not_wrap() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sums.json");
    allocations(&path, 70_000, 1 << 48);
    let path = path.to_str().unwrap();
    let query = "select sum(bytes) as all_bytes, avg(bytes) as mean from events";
    let csv = transcript(&sql(&["--csv", query, path]));
    assert!(
        csv.contains("19703248369745920000,281474976710656"),
        "{csv}"
    );
    let text = transcript(&sql(&[query, path]));
    assert!(text.contains("19703248369745920000"), "{text}");
    assert!(text.contains("281474976710656"), "{text}");
    let json = sql(&["--json", query, path]).stdout;
    let json: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(json["rows"][0]["all_bytes"], "19703248369745920000");
    assert_eq!(json["columns"][0]["type"], "integer");
    for query in [
        "select max(bytes) * 70000 from events",
        "select 9223372036854775807 + max(event) from events",
        "select -9223372036854775807 - max(event) from events",
    ] {
        let (code, said) = said(query, &[path]);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains("larger than 64 bits hold"), "{said}");
    }
}

#[test]
fn functions_are_within_the_memory() {
    let (code, said) = said("select length(repeat('a', 1000000000))", &FILES);
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("give it more with --memory"), "{said}");
}

/// A query whose copies and temporary files fit into the limit is answered.
#[test]
fn what_is_spilled_is_within_the_memory() {
    for query in [
        "select max(value) from (select value from generate_series(1, 3000000) order by -value)",
        "select count(distinct value) from generate_series(1, 3000000)",
        "select max(place) from (select row_number() over (order by -value) place from generate_series(1, 3000000))",
    ] {
        let (code, said) = said(query, &[FILES[0]]);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains("3000000"), "{said}");
    }
}

#[test]
fn long_queries_are_refused() {
    for (query, expected) in [
        (format!("select {}1", "1+".repeat(20_000)), Some(2)),
        (
            format!("{}select 1", "select 1 union all ".repeat(5_000)),
            Some(2),
        ),
        (
            format!("{}select 1", "select 1 union all ".repeat(400)),
            Some(0),
        ),
        (
            format!("select {}1{}", "(".repeat(3_000), ")".repeat(3_000)),
            Some(2),
        ),
    ] {
        let (code, said) = said(&query, &[FILES[0]]);
        assert_eq!(code, expected, "{} … {said}", &query[..40]);
    }
}

#[test]
fn a_stray_copy_is_not_counted() {
    let folder = packed();
    let query = ["--csv", "select count(*) as events from events"];
    let whole = transcript(&on_dataset(folder.path(), &query));
    let rank = folder.path().join("runs.vset/events/rank=0");
    let part = fs::read_dir(&rank).unwrap().next().unwrap().unwrap().path();
    let other_rank = rank.with_file_name("rank=-1");
    fs::create_dir(&other_rank).unwrap();
    for stray in [
        rank.join("part (conflicted copy).parquet"),
        other_rank.join(part.file_name().unwrap()),
    ] {
        fs::copy(&part, &stray).unwrap();
        let told = on_dataset(folder.path(), &query);
        let said = transcript(&told);
        assert_eq!(told.status.code(), Some(2), "{said}");
        assert!(
            said.contains(stray.file_name().unwrap().to_str().unwrap()),
            "{said}"
        );
        assert!(said.contains("is not of this dataset"), "{said}");
        fs::remove_file(&stray).unwrap();
    }
    assert_eq!(transcript(&on_dataset(folder.path(), &query)), whole);
}
