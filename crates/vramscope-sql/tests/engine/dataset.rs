//! A dataset of three ranks with simple figures.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
    UInt64Array,
};
use datafusion::parquet::arrow::ArrowWriter;
use tempfile::TempDir;

pub(crate) const RANKS: i64 = 3;

/// Writes it: rank r has `events` numbered 1 to `events`, and after event n (r + 1) × n bytes are active.
pub(crate) fn written(events: i64) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for rank in 0..RANKS {
        let place = folder.path().join(format!("events/rank={rank:05}"));
        fs::create_dir_all(&place).unwrap();
        write(&place.join("part.parquet"), &rank_events(rank, events));
    }
    // Not a table: pieces have no Parquet.
    for rank in 0..RANKS {
        let pieces = folder.path().join(format!("pieces/rank={rank:05}"));
        fs::create_dir_all(&pieces).unwrap();
        fs::write(pieces.join("part.vset"), "").unwrap();
    }
    fs::write(folder.path().join("overview.vset"), "").unwrap();
    folder
}

fn rank_events(rank: i64, events: i64) -> RecordBatch {
    let numbers = || 1..=events;
    let sites = ["train.py:1 step", "model.py:2 forward"];
    let columns: [(&str, ArrayRef); 6] = [
        ("event", Arc::new(Int64Array::from_iter_values(numbers()))),
        (
            "time",
            Arc::new(TimestampMicrosecondArray::from_iter_values(numbers()).with_timezone("UTC")),
        ),
        (
            "address",
            Arc::new(UInt64Array::from_iter_values(
                numbers().map(|number| u64::MAX - number as u64),
            )),
        ),
        (
            "live_bytes",
            Arc::new(Int64Array::from_iter_values(
                numbers().map(|number| (rank + 1) * number),
            )),
        ),
        (
            "call_site",
            Arc::new(StringArray::from_iter(numbers().map(|number| {
                let site = sites.get(number as usize % 3);
                site.copied()
            }))),
        ),
        (
            "is_large",
            Arc::new(BooleanArray::from_iter(
                numbers().map(|number| Some(number % 2 == 0)),
            )),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

pub(crate) fn write(path: &Path, batch: &RecordBatch) {
    let file = fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}
