//! Prints the answer to a query: text as a table, JSON and CSV row by row as they are computed.

use std::io::{self, Write};
use std::ops::ControlFlow;

use serde::Serialize;
use serde::ser::SerializeMap;
use serde_json::json;
use vramscope_core::tables::csv_text;
use vramscope_core::units::Count;
use vramscope_sql::{Answer, Column, Error, Value};

use crate::arguments::Show;
use crate::failure::Failure;
use crate::harmless::HarmlessJson;
use crate::output::{self, unwritten};
use crate::report::{
    self, Cell, Part, Rest, SCHEMA, column, rows_shown, write_cell, write_csv_text,
};

/// Prints all rows of an answer about `files`, or as many as requested.
pub(super) fn print(
    answer: Answer<'_>,
    files: &[String],
    show: Show,
    failed: impl Fn(Error) -> Failure,
) -> Result<(), Failure> {
    if show.json {
        output::pipe(true, |out| write_json(out, answer, files, show, failed))
    } else if show.csv {
        output::pipe(true, |out| write_csv(out, answer, show, failed))
    } else {
        let part = part(answer, files, show).map_err(failed)?;
        report::print("sql", [part], show)
    }
}

pub(super) fn explain(lines: &[String], show: Show) -> Result<(), Failure> {
    if show.json {
        let document = json!({
            "schema": SCHEMA,
            "vramscope": env!("CARGO_PKG_VERSION"),
            "command": "sql",
            "plan": lines,
        });
        return output::stream(|out| {
            serde_json::to_writer_pretty(HarmlessJson::new(&mut *out), &document)?;
            out.write_all(b"\n")
        });
    }
    let lines = lines
        .iter()
        .map(|line| crate::harmless::printable_cell(line) + "\n");
    output::print(&lines.collect::<String>())
}

/// The rows shown as text, as a table.
fn part(answer: Answer<'_>, files: &[String], show: Show) -> Result<Part, Error> {
    let columns = answer.columns();
    // One more row than is shown must be read to know whether any are left out; if there is only one more, all are
    // shown.
    let most = rows_shown(usize::MAX, show).saturating_add(1);
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    let mut total = 0;
    answer.for_each_row(&mut |row| {
        total += 1;
        if rows.len() < most {
            let cells = row
                .iter()
                .zip(&columns)
                .map(|(value, column)| rounded(value, column));
            rows.push(cells.collect());
        }
        ControlFlow::Continue(())
    })?;
    rows.truncate(rows_shown(total, show));
    keep_columns(&mut rows, columns.len());
    // The report's columns have static names. This prints a single answer, so the names may be leaked.
    let named = |Column { name, .. }: &Column| -> &'static str { name.clone().leak() };
    let shown: Vec<_> = columns
        .iter()
        .map(named)
        .map(|name| column(name, name))
        .collect();
    let left_out = total - rows.len();
    let mut part = Part {
        file: in_short(files),
        ..Part::default()
    };
    part.table("rows", "", &shown, rows);
    if left_out > 0
        && let Some(table) = part.tables.first_mut()
    {
        table.unmade = Some(Rest {
            rows: left_out,
            sums: vec![Cell::None; columns.len()],
        });
    }
    if total == 0 {
        part.notes.push("No row answers the query.".to_owned());
    }
    Ok(part)
}

/// Keeps empty columns: the report omits columns without a value, but the query selected these.
fn keep_columns(rows: &mut [Vec<Cell>], columns: usize) {
    for place in 0..columns {
        if rows.iter().all(|row| matches!(row[place], Cell::None))
            && let Some(first) = rows.first_mut()
        {
            first[place] = Cell::Text(String::new());
        }
    }
}

/// File names for a heading.
fn in_short(files: &[String]) -> String {
    const NAMED: usize = 3;
    let more = files.len().saturating_sub(NAMED);
    let named = files[..files.len() - more].join(", ");
    match more {
        0 => named,
        more => format!("{named} and {} more", Count(more as u64)),
    }
}

fn write_json(
    out: &mut dyn Write,
    answer: Answer<'_>,
    files: &[String],
    show: Show,
    failed: impl Fn(Error) -> Failure,
) -> Result<(), Failure> {
    let columns = answer.columns();
    let described = columns
        .iter()
        .map(|Column { name, kind }| json!({ "name": name, "type": kind.word() }));
    let head = json!({
        "schema": SCHEMA,
        "vramscope": env!("CARGO_PKG_VERSION"),
        "command": "sql",
        "files": files,
        "columns": described.collect::<Vec<_>>(),
    });
    let mut out = HarmlessJson::new(out);
    // The rows follow in the same object, each on its own line.
    let head = head.to_string();
    let open = head.trim_end_matches('}');
    write!(out, "{open},\"rows\":[").map_err(unwritten)?;
    let (returned, total) = each_shown(answer, show, failed, &mut |place, row| {
        out.write_all(if place == 0 { b"\n" } else { b",\n" })?;
        let columns = columns.as_slice();
        Ok(serde_json::to_writer(&mut out, &Row { columns, row })?)
    })?;
    let truncated = returned < total;
    writeln!(
        out,
        "\n],\"total\":{total},\"returned\":{returned},\"truncated\":{truncated}}}"
    )
    .map_err(unwritten)
}

fn write_csv(
    out: &mut dyn Write,
    answer: Answer<'_>,
    show: Show,
    failed: impl Fn(Error) -> Failure,
) -> Result<(), Failure> {
    let columns = answer.columns();
    let separated = |out: &mut dyn Write, place: usize| match place {
        0 => Ok(()),
        _ => out.write_all(b","),
    };
    let head = |out: &mut dyn Write| -> io::Result<()> {
        for (place, column) in columns.iter().enumerate() {
            separated(out, place)?;
            write_csv_text(out, &csv_text(&column.name))?;
        }
        out.write_all(b"\n")
    };
    head(out).map_err(unwritten)?;
    each_shown(answer, show, failed, &mut |_, row| {
        for (place, (value, column)) in row.iter().zip(&columns).enumerate() {
            separated(out, place)?;
            write_cell(out, &cell(value, column))?;
        }
        out.write_all(b"\n")
    })?;
    Ok(())
}

/// Writes the rows to be shown, with their number. Returns how many were shown, and how many there are.
fn each_shown(
    answer: Answer<'_>,
    show: Show,
    failed: impl Fn(Error) -> Failure,
    write: &mut dyn FnMut(u64, &[Value]) -> io::Result<()>,
) -> Result<(u64, u64), Failure> {
    let most = rows_shown(usize::MAX, show) as u64;
    let (mut returned, mut total, mut unwritable) = (0, 0, None);
    let taken = answer.for_each_row(&mut |row| {
        if returned < most {
            if let Err(error) = write(returned, row) {
                unwritable = Some(error);
                return ControlFlow::Break(());
            }
            returned += 1;
        }
        total += 1;
        ControlFlow::Continue(())
    });
    match (taken, unwritable) {
        (Err(error), _) => Err(failed(error)),
        (Ok(()), Some(error)) => Err(unwritten(error)),
        (Ok(()), None) => Ok((returned, total)),
    }
}

/// A row as a JSON object.
struct Row<'a> {
    columns: &'a [Column],
    row: &'a [Value],
}

impl Serialize for Row<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.row.len()))?;
        for (column, value) in self.columns.iter().zip(self.row) {
            object.serialize_entry(&column.name, &cell(value, column))?;
        }
        object.end()
    }
}

/// A cell for text: floating-point numbers with six digits, or more if the integer part is longer.
fn rounded(value: &Value, column: &Column) -> Cell {
    match value {
        Value::Real(number) => {
            let short = match number.abs() < 1e6 {
                true => format!("{number:.5e}").parse().unwrap_or(*number),
                false => number.round(),
            };
            cell(&Value::Real(short), column)
        }
        value => cell(value, column),
    }
}

/// The column inside an aggregate's name: `events.live_bytes` for `max(events.live_bytes)`. Minimum, maximum and sum
/// are in the column's unit.
fn without_function(name: &str) -> &str {
    let inside = ["min(", "max(", "sum("].iter().find_map(|function| {
        let inside = name.strip_prefix(function)?.strip_suffix(')')?;
        let is_column = |part: char| part.is_ascii_alphanumeric() || "_.".contains(part);
        inside.chars().all(is_column).then_some(inside)
    });
    inside.unwrap_or(name)
}

/// A value as a cell. The column's name decides whether it is a size, an address, a duration or a share.
fn cell(value: &Value, column: &Column) -> Cell {
    let is = |unit: &str| {
        let name = without_function(&column.name);
        let before = name.strip_suffix(unit);
        before.is_some_and(|before| before.is_empty() || before.ends_with(['_', '.']))
    };
    match value {
        Value::None => Cell::None,
        Value::Flag(flag) => Cell::Flag(*flag),
        Value::Text(text) => Cell::Text(text.clone()),
        Value::Nested(value) => Cell::Json(value.clone()),
        Value::Real(number) if is("share") => Cell::Share(*number),
        Value::Real(number) => match number.is_finite() {
            true => Cell::Json(json!(number)),
            false => Cell::None,
        },
        Value::Integer(number) => match u64::try_from(*number) {
            Ok(number) if is("bytes") => Cell::Bytes(number),
            Ok(number) if is("address") => Cell::Address(number),
            Ok(number) if is("us") => Cell::SpanUs(number),
            Ok(number) => Cell::Number(number),
            Err(_) => match i64::try_from(*number) {
                Ok(number) if is("bytes") => Cell::BytesChange(number),
                Ok(number) => Cell::NumberChange(number),
                // A sum beyond the range of JSON's and the cells' numbers.
                Err(_) => Cell::Text(number.to_string()),
            },
        },
    }
}
