//! The main table of an answer as CSV (RFC 4180): file and device first, sizes in bytes, no units.

use std::borrow::Cow;
use std::io::{self, Write};

use vramscope_core::tables::csv_text;

use super::{Cell, Lines, Part, rows_shown};
use crate::arguments::Show;

/// The main table of every part, below each other under one header. The first part that has tables tells which is
/// the main one.
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
            out.write_all(b"file,device")?;
            for column in &first.columns {
                write!(out, ",{}", column.key)?;
            }
            out.write_all(b"\n")?;
        }
        let main = *main.get_or_insert(first.key);
        let device = part
            .device
            .map_or(String::new(), |device| device.to_string());
        for table in part.tables.iter().filter(|table| table.key == main) {
            let rows = table.rows.all();
            let rows = rows.chain(table.csv_rows.iter().map(Cow::from));
            let shown = rows_shown(table.rows.count() + table.csv_rows.len(), show);
            for row in rows.take(shown) {
                write_text(out, &csv_text(&part.file))?;
                write!(out, ",{device}")?;
                for cell in &*row {
                    out.write_all(b",")?;
                    write_cell(out, cell)?;
                }
                out.write_all(b"\n")?;
            }
        }
    }
    Ok(())
}

/// Writes the field of a cell.
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

/// Writes a field in quotes line by line, as all lines together may be of any length.
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
