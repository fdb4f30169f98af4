//! The main table of an answer as CSV (RFC 4180): file and device first, unless they are columns of the table itself;
//! sizes in bytes, no units.

use std::borrow::Cow;
use std::io::{self, Write};

use vramscope_core::tables::csv_text;

use super::{Cell, Lines, Part, Table, rows_shown};
use crate::arguments::Show;

/// The main table of every part, one below the other under a common header. The first part that has tables decides
/// which is the main one.
pub(super) fn write(
    out: &mut dyn Write,
    parts: impl Iterator<Item = Part>,
    show: Show,
) -> io::Result<()> {
    let mut main = None;
    for part in parts {
        let Some(first) = part.tables.first() else {
            continue;
        };
        if main.is_none() {
            let own = first.columns.iter().map(|column| column.key);
            let keys: Vec<&str> = leading(first).chain(own).collect();
            writeln!(out, "{}", keys.join(","))?;
        }
        let main = *main.get_or_insert(first.key);
        for table in part.tables.iter().filter(|table| table.key == main) {
            let before: Vec<Cell> = leading(table)
                .map(|key| match key {
                    "file" => Cell::Text(part.file.clone()),
                    _ => Cell::or_none(part.device, |device| Cell::Number(device.into())),
                })
                .collect();
            let rows = table.rows.all();
            let rows = rows.chain(table.csv_rows.iter().map(Cow::from));
            let shown = rows_shown(table.rows.count() + table.csv_rows.len(), show);
            for row in rows.take(shown) {
                for (place, cell) in before.iter().chain(&*row).enumerate() {
                    if place > 0 {
                        out.write_all(b",")?;
                    }
                    write_cell(out, cell)?;
                }
                out.write_all(b"\n")?;
            }
        }
    }
    Ok(())
}

/// Values that apply to each row although the table has no column for them.
fn leading(table: &Table) -> impl Iterator<Item = &'static str> {
    let has = |key| table.columns.iter().any(|column| column.key == key);
    ["file", "device"].into_iter().filter(move |key| !has(*key))
}

pub(crate) fn write_cell(out: &mut dyn Write, cell: &Cell) -> io::Result<()> {
    match cell {
        Cell::None => Ok(()),
        Cell::Text(text) => write_text(out, &csv_text(text)),
        Cell::Lines(lines) => write_lines(out, &**lines),
        Cell::Bytes(number) | Cell::Number(number) | Cell::SpanUs(number) => {
            write!(out, "{number}")
        }
        Cell::Address(address) => write!(out, "{address:#x}"),
        Cell::BytesChange(number) | Cell::NumberChange(number) | Cell::TimeUs(number) => {
            write!(out, "{number}")
        }
        Cell::ByteUs(product) | Cell::ByteEvents(product) => write!(out, "{product}"),
        Cell::Share(share) | Cell::ShareChange(share) => write!(out, "{share}"),
        Cell::Flag(flag) => write!(out, "{flag}"),
        Cell::Json(value) => write_text(out, &csv_text(&value.to_string())),
    }
}

/// Writes a field, in quotes if it needs them.
pub(crate) fn write_text(out: &mut dyn Write, text: &str) -> io::Result<()> {
    match text.contains(['"', ',', '\r', '\n']) {
        true => write!(out, "\"{}\"", text.replace('"', "\"\"")),
        false => out.write_all(text.as_bytes()),
    }
}

/// Writes a field in quotes line by line, since the lines together may have any length.
fn write_lines(out: &mut dyn Write, lines: &dyn Lines) -> io::Result<()> {
    out.write_all(b"\"")?;
    for (place, line) in lines.lines().enumerate() {
        let line = match place {
            0 => csv_text(&line).replace('"', "\"\""),
            _ => format!("\n{}", line.replace('"', "\"\"")),
        };
        out.write_all(line.as_bytes())?;
    }
    out.write_all(b"\"")
}
