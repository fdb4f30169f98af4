//! Answers of the engine.

use std::fs;
use std::fs::File;

use datafusion::parquet::file::reader::{FileReader as _, SerializedFileReader};
use serde_json::json;
use vramscope_sql::{Column, Dataset, Flow, Kind, Value};

use crate::dataset::written;
use crate::{engine, rows};

const GIB: u64 = 1 << 30;

fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

#[test]
fn folders_of_ranks_are_tables() {
    let folder = written(1);
    let dataset = Dataset::find(folder.path()).unwrap();
    assert_eq!(dataset.tables(), ["events"]);
    let empty = tempfile::tempdir().unwrap();
    assert!(Dataset::find(empty.path()).unwrap().tables().is_empty());
    assert!(Dataset::find(&empty.path().join("missing")).is_err());
}

#[test]
fn the_rank_is_a_column() {
    let folder = written(10);
    let engine = engine(folder.path(), GIB);
    let sql = "select rank, max(live_bytes) from events group by rank order by rank";
    let expected = [0, 1, 2].map(|rank| {
        let peak = (rank + 1) * 10;
        vec![Value::Integer(rank), Value::Integer(peak)]
    });
    assert_eq!(rows(&engine, sql), expected);
}

#[test]
fn only_the_files_of_a_named_rank_are_read() {
    let folder = written(10);
    let engine = engine(folder.path(), GIB);
    let plan = engine.explain("select count(event) from events where rank = 1");
    let plan = plan.unwrap().join("\n");
    assert!(!plan.contains("rank=00000"), "{plan}");
    for (ranks, count) in [
        ("= 1", 10),
        ("= 7", 0),
        ("in (1, 2)", 20),
        ("between 0 and 5", 30),
        ("<> 1", 20),
    ] {
        let sql = format!("select count(*) from events where rank {ranks}");
        assert_eq!(rows(&engine, &sql), [[Value::Integer(count)]], "{sql}");
        let sql = format!("select event from events where rank {ranks}");
        assert_eq!(rows(&engine, &sql).len() as i128, count, "{sql}");
    }
    // Nor those whose statistics show that they have no such row.
    let plan = engine.explain("select event from events where live_bytes > 25");
    let plan = plan.unwrap().join("\n");
    assert!(plan.contains("pruning_predicate"), "{plan}");
}

#[test]
fn values_have_their_kinds() {
    let folder = written(3);
    let engine = engine(folder.path(), GIB);
    let sql = "select event, time, address, call_site, is_large, event / 2.0 half, \
               null nothing, arrow_cast(event, 'Int8') small, -event negative, \
               (select array_agg(distinct rank order by rank) from events) ranks \
               from events where rank = 0 order by event desc limit 2";
    let answer = engine.ask(sql).unwrap();
    let kinds = answer.columns().into_iter().map(|column| column.kind);
    let expected = [
        Kind::Integer,
        Kind::Time,
        Kind::Integer,
        Kind::Text,
        Kind::Flag,
        Kind::Real,
        Kind::Text,
        Kind::Integer,
        Kind::Integer,
        Kind::Nested,
    ];
    assert_eq!(kinds.collect::<Vec<_>>(), expected);
    drop(answer);
    let row = &rows(&engine, sql)[0];
    let expected = [
        Value::Integer(3),
        text("1970-01-01T00:00:00.000003Z"),
        Value::Integer((u64::MAX - 3).into()),
        text("train.py:1 step"),
        Value::Flag(false),
        Value::Real(1.5),
        Value::None,
        Value::Integer(3),
        Value::Integer(-3),
        Value::Nested(json!([0, 1, 2])),
    ];
    assert_eq!(row, &expected);
}

#[test]
fn columns_of_one_name_get_others() {
    let folder = written(1);
    let engine = engine(folder.path(), GIB);
    let sql =
        "select a.rank, b.rank, a.event as rank_2 from events a join events b on a.rank = b.rank";
    let names = engine.ask(sql).unwrap().columns().into_iter();
    let names: Vec<_> = names.map(|Column { name, .. }| name).collect();
    assert_eq!(names, ["rank", "rank_2", "rank_2_2"]);
}

#[test]
fn a_reader_may_stop() {
    let folder = written(10_000);
    let engine = engine(folder.path(), GIB);
    let mut count = 0;
    let answer = engine.ask("select event from events").unwrap();
    let taken = answer.for_each_row(&mut |_| {
        count += 1;
        if count < 5 {
            Flow::Continue(())
        } else {
            Flow::Break(())
        }
    });
    taken.unwrap();
    assert_eq!(count, 5);
}

#[test]
fn an_answer_can_be_a_parquet_file() {
    let folder = written(1000);
    let engine = engine(folder.path(), GIB);
    let answer = engine.ask("select rank, event from events").unwrap();
    let mut bytes = Vec::new();
    let written = answer.write_parquet("a test", &mut bytes).unwrap().unwrap();
    assert_eq!(written, 3000);
    let path = folder.path().join("answer.parquet");
    fs::write(&path, bytes).unwrap();
    let reader = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    assert_eq!(metadata.num_rows(), 3000);
    assert_eq!(metadata.created_by(), Some("a test"));
}

#[test]
fn what_does_not_fit_into_memory_is_spilled() {
    let folder = written(150_000);
    let engine = engine(folder.path(), 16 << 20);
    let sql = "select event, rank, call_site, address from events order by address, rank";
    let sorted = rows(&engine, sql);
    assert_eq!(sorted.len(), 450_000);
    assert!(sorted.is_sorted_by_key(|row| match row[0] {
        Value::Integer(event) => -event,
        _ => 0,
    }));
}

/// A single thread may have enough memory where threads that share it do not.
#[test]
fn what_two_threads_cannot_sort_one_can() {
    let folder = written(150_000);
    let engine = engine(folder.path(), 24 << 20);
    let sql = "select *, row_number() over (partition by rank order by address) place from events order by place desc, rank";
    let sorted = rows(&engine, sql);
    assert_eq!(sorted.len(), 450_000);
    let places = sorted.iter().map(|row| row.last().unwrap());
    let expected = (1..=150_000).rev().flat_map(|place| [place; 3]);
    assert!(places.cloned().eq(expected.map(Value::Integer)));
}

#[test]
fn tables_can_be_listed() {
    let folder = written(1);
    let engine = engine(folder.path(), GIB);
    let sql = "select table_name from information_schema.tables where table_schema = 'public'";
    assert_eq!(rows(&engine, sql), [[text("events")]]);
}

#[test]
fn columns_of_one_name_are_told_apart() {
    let folder = written(2);
    let engine = engine(folder.path(), GIB);
    let sql = "select a.event, b.event, a.rank, b.rank from events a \
               join events b on a.event = b.event and a.rank = b.rank + 1 where a.rank = 1 order by 1";
    let columns = engine.ask(sql).unwrap().columns().into_iter();
    let names: Vec<_> = columns.map(|column| column.name).collect();
    assert_eq!(names, ["event", "event_2", "rank", "rank_2"]);
    let row = |event| [event, event, 1, 0].map(Value::Integer).to_vec();
    assert_eq!(rows(&engine, sql), [row(1), row(2)]);
    let all = "select * from events a join events b on a.rank = b.rank limit 2";
    assert_eq!(rows(&engine, all).len(), 2);
}

#[test]
fn sums_are_exact_beyond_64_bits() {
    let folder = written(10);
    let engine = engine(folder.path(), GIB);
    // 30 addresses just below 2^64.
    let sum: i128 = 3
        * (1..=10)
            .map(|number| i128::from(u64::MAX - number))
            .sum::<i128>();
    assert_eq!(
        rows(&engine, "select sum(address) from events"),
        [[Value::Integer(sum)]]
    );
    let sql = "select sum(address) over (order by event rows between 1 preceding and current row) s from events \
               where rank = 0 order by event limit 2";
    let (first, second) = (i128::from(u64::MAX - 1), i128::from(u64::MAX - 2));
    assert_eq!(
        rows(&engine, sql),
        [[Value::Integer(first)], [Value::Integer(first + second)]]
    );
    let sql =
        "select rank, sum(active_bytes * event) total from events group by rank order by rank";
    let squares: i128 = (1..=10).map(|number| number * number).sum();
    let expected =
        [1, 2, 3].map(|rank| vec![Value::Integer(rank - 1), Value::Integer(rank * squares)]);
    assert_eq!(rows(&engine, sql), expected);
    let sql = "select sum(event), sum(event) / 4, array_agg(address), sum(distinct event), sum(event * 0.5) from events where rank = 0";
    let answer = engine.ask(sql).unwrap();
    let kinds = answer.columns().into_iter().map(|column| column.kind);
    let [whole, real, nested] = [Kind::Integer, Kind::Real, Kind::Nested];
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [whole, real, nested, whole, real]
    );
    drop(answer);
    let row = &rows(&engine, sql)[0];
    let real = Value::Real;
    let expected = [
        Value::Integer(55),
        real(13.75),
        row[2].clone(),
        Value::Integer(55),
        real(27.5),
    ];
    assert_eq!(row, &expected);
    let sql = "select sum(event) / count(*) from events where false";
    assert_eq!(rows(&engine, sql), [[Value::None]]);
}

/// Integer arithmetic gives integers, as required by functions that take one.
#[test]
fn whole_numbers_stay_whole() {
    let folder = written(4);
    let engine = engine(folder.path(), GIB);
    let sql = "select event + 1, event - 2, event * 3, address + 1 - address, 7 / 2 * 2, \
               repeat('b', event - 1) \
               from events where rank = 0 and event + 1 = 4";
    let expected = [4, 1, 9, 1, 6].map(Value::Integer);
    let row = &rows(&engine, sql)[0];
    assert_eq!(row[..5], expected);
    assert_eq!(row[5], text("bb"));
    let sql =
        "select count(*) from events a join events b on a.event = b.event + 1 and a.rank = b.rank";
    assert_eq!(rows(&engine, sql), [[Value::Integer(9)]]);
}
