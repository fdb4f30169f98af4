//! The main table of an answer as CSV (RFC 4180): file and device first, sizes in bytes, no units.

use std::borrow::Cow;
use std::io::{self, Write};

use vramscope_core::tables::csv_text;

use super::{Cell, Part, rows_shown};
use crate::arguments::Show;
use crate::output::csv_error;

/// The main table of every part, below each other under one header.
pub(super) fn write(out: &mut dyn Write, parts: &[Part], show: Show) -> io::Result<()> {
    let Some(main) = parts.iter().find_map(|part| part.tables.first()) else {
        return Ok(());
    };
    let mut writer = csv::Writer::from_writer(out);
    let keys = main.columns.iter().map(|column| column.key);
    writer
        .write_record(["file", "device"].into_iter().chain(keys))
        .map_err(csv_error)?;
    for part in parts {
        let device = part
            .device
            .map_or(String::new(), |device| device.to_string());
        let place = [csv_text(&part.file), device.into()];
        for table in part.tables.iter().filter(|table| table.key == main.key) {
            let rows = table.rows.iter().chain(&table.csv_rows);
            let shown = rows_shown(table.rows.len() + table.csv_rows.len(), show);
            for row in rows.take(shown) {
                let cells = row.iter().map(value);
                for field in place.iter().cloned().chain(cells) {
                    writer.write_field(field.as_bytes()).map_err(csv_error)?;
                }
                writer.write_record(None::<&[u8]>).map_err(csv_error)?;
            }
        }
    }
    writer.flush()
}

fn value(cell: &Cell) -> Cow<'_, str> {
    match cell {
        Cell::None => "".into(),
        Cell::Text(text) => csv_text(text),
        Cell::Lines(lines) => csv_text(&lines.join("\n")).into_owned().into(),
        Cell::Bytes(number) | Cell::Number(number) | Cell::SpanUs(number) => {
            number.to_string().into()
        }
        Cell::Address(address) => format!("{address:#x}").into(),
        Cell::BytesChange(number) | Cell::NumberChange(number) | Cell::TimeUs(number) => {
            number.to_string().into()
        }
        Cell::ByteUs(product) | Cell::ByteEvents(product) => product.to_string().into(),
        Cell::Share(share) | Cell::ShareChange(share) => share.to_string().into(),
        Cell::Flag(flag) => flag.to_string().into(),
        Cell::Json(value) => csv_text(&value.to_string()).into_owned().into(),
    }
}
