//! An answer as JSON, described for its users in `json.md`.
#![doc = include_str!("../../json.md")]

use serde_json::{Map, Value, json};

use super::{Cell, Column, Part, Rest, SCHEMA, Table, cut};
use crate::arguments::Show;
use crate::failure::Failure;

/// One indented JSON document with a final newline.
pub(super) fn render(command: &str, parts: &[Part], show: Show) -> Result<String, Failure> {
    let parts: Vec<_> = parts.iter().map(|part| part_value(part, show)).collect();
    let document = json!({
        "schema": SCHEMA,
        "vramscope": env!("CARGO_PKG_VERSION"),
        "command": command,
        "parts": parts,
    });
    match serde_json::to_string_pretty(&document) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(Failure::Input(format!("cannot write JSON: {error}"))),
    }
}

/// One part as an object.
pub(super) fn part_value(part: &Part, show: Show) -> Value {
    let mut object = Map::new();
    object.insert("file".to_owned(), json!(part.file));
    object.insert("device".to_owned(), json!(part.device));
    for fact in &part.facts {
        object.insert(fact.key.to_owned(), value(&fact.cell));
    }
    for table in &part.tables {
        let (rows, others) = cut(table, show);
        let rows: Vec<_> = rows.iter().map(|row| row_value(table, row)).collect();
        object.insert(table.key.to_owned(), Value::Array(rows));
        if let Some(rest) = others {
            object.insert(format!("{}_left_out", table.key), left_out(table, &rest));
        }
    }
    if !part.notes.is_empty() {
        object.insert("notes".to_owned(), json!(part.notes));
    }
    Value::Object(object)
}

fn row_value(table: &Table, row: &[Cell]) -> Value {
    let pairs = table.columns.iter().zip(row);
    let pairs = pairs.map(|(column, cell)| (column.key.to_owned(), value(cell)));
    Value::Object(pairs.collect())
}

/// How many rows `--limit` leaves out, and what they come to.
fn left_out(table: &Table, rest: &Rest) -> Value {
    let summed = |(column, _): &(&Column, &Cell)| column.sums;
    let pairs = table.columns.iter().zip(&rest.sums).filter(summed);
    let pairs = pairs.map(|(column, cell)| (column.key.to_owned(), value(cell)));
    let mut object = Map::from_iter([("rows".to_owned(), json!(rest.rows))]);
    object.extend(pairs);
    Value::Object(object)
}

fn value(cell: &Cell) -> Value {
    match cell {
        Cell::None => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Lines(lines) => json!(lines),
        Cell::Bytes(number) | Cell::Number(number) | Cell::SpanUs(number) => json!(number),
        Cell::Address(address) => json!(address),
        Cell::BytesChange(number) | Cell::NumberChange(number) | Cell::TimeUs(number) => {
            json!(number)
        }
        // Beyond 64 bits JSON has no integers that everyone reads.
        Cell::ByteUs(product) | Cell::ByteEvents(product) => u64::try_from(*product)
            .map_or_else(|_large| json!(*product as f64), |small| json!(small)),
        Cell::Share(share) | Cell::ShareChange(share) => json!(share),
        Cell::Flag(flag) => json!(flag),
    }
}
