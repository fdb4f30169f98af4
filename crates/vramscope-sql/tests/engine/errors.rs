//! Queries that the engine refuses, and its messages.

use std::fs;
use std::path::Path;

use vramscope_sql::{Cause, Error, Flow, Place};

use crate::dataset::written;
use crate::engine;

/// The error of a query about so many events per rank, even if it occurs while the query runs.
fn error(sql: &str, events: i64, memory_bytes: u64) -> Error {
    let folder = written(events);
    let engine = engine(folder.path(), memory_bytes);
    let answer = match engine.ask(sql) {
        Ok(answer) => answer,
        Err(error) => return error,
    };
    let taken = answer.for_each_row(&mut |_| Flow::Continue(()));
    taken.expect_err(sql)
}

fn sql_error(sql: &str, message: &str, place: Option<(u64, u64)>, advice: &[&str]) {
    let found = error(sql, 10, 1 << 30);
    let place = place.map(|(line, column)| Place { line, column });
    assert_eq!(found.message, message);
    assert_eq!((found.cause, found.place), (Cause::Sql, place), "{sql}");
    assert_eq!(found.advice, advice, "{sql}");
}

#[test]
fn unknown_names_are_told_with_those_that_are_like_them() {
    sql_error(
        "select\n  liv_bytes from events",
        "there is no column liv_bytes",
        Some((2, 3)),
        &["Did you mean live_bytes?"],
    );
    sql_error(
        "select xyz from events",
        "there is no column xyz",
        Some((1, 8)),
        &["The columns are: event, time, address, live_bytes, call_site, is_large, rank"],
    );
    sql_error(
        "select 1 from event",
        "there is no table event",
        Some((1, 15)),
        &["Did you mean events?"],
    );
    sql_error(
        "select summ(event) from events",
        "there is no function summ",
        Some((1, 8)),
        &["Did you mean sum?"],
    );
    sql_error(
        "select frobnicate(event) from events",
        "there is no function frobnicate",
        Some((1, 8)),
        &[],
    );
    sql_error(
        "select 1 from 'x.parquet'",
        "there is no table x",
        None,
        &["The tables are: events"],
    );
}

#[test]
fn what_is_no_sql_is_told_with_its_place() {
    let found = error("select from from events", 10, 1 << 30);
    assert_eq!(found.cause, Cause::Sql);
    assert_eq!(found.place.map(|place| place.line), Some(1), "{found:?}");
    let found = error("selec 1", 10, 1 << 30);
    assert_eq!(found.place, Some(Place { line: 1, column: 1 }), "{found:?}");
}

#[test]
fn nothing_is_written() {
    for sql in [
        "create table x as select 1",
        "create external table x stored as parquet location '/'",
        "insert into events values (1)",
        "copy events to 'x.parquet'",
        "drop table events",
        "delete from events",
        "update events set event = 1",
        "set datafusion.execution.batch_size = 1",
        "create function f() returns int return 1",
        "explain analyze copy events to 'x.parquet'",
    ] {
        let found = error(sql, 10, 1 << 30);
        assert_eq!(found.cause, Cause::Sql, "{sql}: {found:?}");
    }
    sql_error(
        "drop table events",
        "SQL can only read here, and this would change or write something (DropTable)",
        None,
        &[],
    );
}

#[test]
fn too_little_memory_is_told() {
    let sql = "select count(*) from events a join events b on a.address = b.address";
    let found = error(sql, 50_000, 1 << 20);
    assert_eq!(found.cause, Cause::Memory, "{found:?}");
}

#[test]
fn a_division_by_zero_is_an_error_of_the_query() {
    let found = error("select event / (event - event) from events", 10, 1 << 30);
    assert_eq!(found.cause, Cause::Sql, "{found:?}");
}

#[test]
fn a_damaged_file_is_named() {
    let folder = written(10);
    let path = folder.path().join("events/rank=00001/part.parquet");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let engine = engine(folder.path(), 1 << 30);
    let found = engine.ask("select count(*) from events").err().unwrap();
    assert_eq!(found.cause, Cause::Files);
    assert!(
        found.message.contains("rank=00001/part.parquet is damaged"),
        "{found:?}"
    );
    assert!(found.advice[0].contains("fleet pack"), "{found:?}");
}

/// Changed bytes that the Parquet library does not expect: it panicked on them.
#[test]
fn files_that_break_the_engine_are_errors() {
    for table in ["annotations", "segments"] {
        let folder = tempfile::tempdir().unwrap();
        let rank = folder.path().join(table).join("rank=00000");
        fs::create_dir_all(&rank).unwrap();
        let damaged = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engine/damaged");
        let file = damaged.join(format!("{table}.parquet"));
        fs::copy(file, rank.join("part.parquet")).unwrap();
        let engine = engine(folder.path(), 1 << 30);
        let answer = engine.ask(&format!("select * from {table}"));
        let taken = answer.and_then(|answer| answer.for_each_row(&mut |_| Flow::Continue(())));
        let found = taken.unwrap_err();
        assert_eq!(found.cause, Cause::Files, "{found:?}");
    }
}

#[test]
fn sums_are_of_one_number() {
    for sql in [
        "select sum(event, rank) from events",
        "select sum() from events",
        "select sum(call_site) from events",
    ] {
        let found = error(sql, 10, 1 << 30);
        assert_eq!(found.cause, Cause::Sql, "{sql}: {found:?}");
    }
}

#[test]
fn numbers_beyond_64_bits_are_errors() {
    for sql in [
        "select address * address from events",
        "select address + address from events",
        "select address - event from events",
        "select 9223372036854775807 + event from events",
        "select event from events where event * 9223372036854775807 % 2 = 0",
    ] {
        let found = error(sql, 10, 1 << 30);
        assert_eq!(found.cause, Cause::Sql, "{found:?}");
        assert!(found.message.contains("64 bits"), "{found:?}");
        assert!(found.advice[0].contains("cast(a as double)"), "{found:?}");
    }
}

#[test]
fn a_copy_in_a_table_is_not_counted() {
    let folder = written(10);
    let part = folder.path().join("events/rank=00001/part.parquet");
    fs::copy(&part, part.with_file_name("part (copy).parquet")).unwrap();
    let engine = engine(folder.path(), 1 << 30);
    let found = engine.ask("select count(*) from events").err().unwrap();
    assert!(found.message.contains("part (copy).parquet"), "{found:?}");
}

#[test]
fn too_long_queries_are_refused() {
    let folder = written(1);
    let engine = engine(folder.path(), 1 << 30);
    let of = |sql: String| engine.ask(&sql).err().map(|error| error.message);
    let found = of(format!("select 1{}", "+1".repeat(4_093))).unwrap();
    assert!(found.contains("at most 8192 are read"), "{found}");
    assert_eq!(of("select 1 union all ".repeat(400) + "select 1"), None);
}

#[test]
fn deep_queries_do_not_overflow() {
    let folder = written(1);
    let engine = engine(folder.path(), 1 << 30);
    for depth in [10, 1000, 100_000] {
        let nested = format!("select {}1{}", "(".repeat(depth), ")".repeat(depth));
        drop(engine.ask(&nested));
        let sums = format!("select 1{}", " + 1".repeat(depth.min(400)));
        drop(engine.ask(&sums));
    }
}
