//! The main table of an answer as CSV (RFC 4180): file and device first, sizes in bytes, no units.

use super::{Cell, Part, cut};
use crate::arguments::Show;
use crate::failure::Failure;

/// The first table of every part that has the main one, one below the other under one header.
pub(super) fn render(parts: &[Part], show: Show) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let main = parts.iter().find_map(|part| part.tables.first());
    let failed =
        |error: &dyn std::fmt::Display| Failure::Input(format!("cannot write CSV: {error}"));
    if let Some(main) = main {
        let keys = main.columns.iter().map(|column| column.key);
        writer
            .write_record(["file", "device"].into_iter().chain(keys))
            .map_err(|error| failed(&error))?;
        for part in parts {
            for table in part.tables.iter().filter(|table| table.key == main.key) {
                let device = part
                    .device
                    .map_or(String::new(), |device| device.to_string());
                for row in cut(table, show).0 {
                    let cells = row.iter().map(value);
                    let place = [part.file.clone(), device.clone()];
                    writer
                        .write_record(place.into_iter().chain(cells))
                        .map_err(|error| failed(&error))?;
                }
            }
        }
    }
    let bytes = writer.into_inner().map_err(|error| failed(&error))?;
    String::from_utf8(bytes).map_err(|error| failed(&error))
}

fn value(cell: &Cell) -> String {
    match cell {
        Cell::None => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Lines(lines) => lines.join("\n"),
        Cell::Bytes(number) | Cell::Number(number) | Cell::SpanUs(number) => number.to_string(),
        Cell::Address(address) => format!("{address:#x}"),
        Cell::BytesChange(number) | Cell::NumberChange(number) | Cell::TimeUs(number) => {
            number.to_string()
        }
        Cell::ByteUs(product) | Cell::ByteEvents(product) => product.to_string(),
        Cell::Share(share) | Cell::ShareChange(share) => share.to_string(),
        Cell::Flag(flag) => flag.to_string(),
    }
}
