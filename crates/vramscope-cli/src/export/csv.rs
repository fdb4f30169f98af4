//! Tables as comma-separated values: UTF-8, a header line, quotes where needed (RFC 4180).
//!
//! Times are µs since the Unix epoch, addresses hexadecimal; an empty field is an unknown value.

use std::io::Write;

use vramscope_core::tables::{Table, Value, csv_text};

use super::failed;
use super::tables::for_each;
use crate::failure::Failure;
use crate::output::csv_error;
use crate::subject::Subject;

pub(super) fn write(subject: &Subject, table: Table, out: &mut dyn Write) -> Result<(), Failure> {
    let mut csv = csv::Writer::from_writer(out);
    let names = table.fields().into_iter().map(|field| field.name);
    csv.write_record(names)
        .map_err(|error| failed(csv_error(error)))?;
    let mut text = String::new();
    for_each(subject, table, &mut |values| {
        for value in values {
            let field = match value {
                Value::Text(text) => &csv_text(text),
                value => {
                    use std::fmt::Write;
                    text.clear();
                    // Writing to a `String` cannot fail.
                    let _ = write!(text, "{value}");
                    text.as_str()
                }
            };
            csv.write_field(field)
                .map_err(|error| failed(csv_error(error)))?;
        }
        let end: [&str; 0] = [];
        csv.write_record(end)
            .map_err(|error| failed(csv_error(error)))
    })?;
    csv.flush().map_err(failed)
}
