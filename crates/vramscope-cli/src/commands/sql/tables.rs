//! `vramscope sql --tables`: the tables and the meaning of their columns, as defined in core.

use std::io::{self, Write};

use serde::Serialize;
use vramscope_core::tables::dataset::{Content, DatasetTable, RANK};
use vramscope_core::tables::{Field, Kind};

use crate::failure::Failure;
use crate::output;
use crate::report::SCHEMA;

#[derive(Serialize)]
struct Document {
    schema: u32,
    vramscope: &'static str,
    command: &'static str,
    tables: Vec<Described>,
}

#[derive(Serialize)]
struct Described {
    name: &'static str,
    /// What a row represents.
    meaning: &'static str,
    columns: Vec<Column>,
}

#[derive(Serialize)]
struct Column {
    name: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    unit: Option<&'static str>,
    meaning: &'static str,
}

/// Prints the description as text or JSON.
pub(super) fn describe(as_json: bool) -> Result<(), Failure> {
    let tables = DatasetTable::ALL.map(Described::of).into();
    match as_json {
        true => {
            let document = Document {
                schema: SCHEMA,
                vramscope: env!("CARGO_PKG_VERSION"),
                command: "sql",
                tables,
            };
            output::stream(|out| {
                serde_json::to_writer_pretty(&mut *out, &document)?;
                out.write_all(b"\n")
            })
        }
        false => output::styled(|out| write_text(out, &tables)),
    }
}

impl Described {
    fn of(table: DatasetTable) -> Self {
        let columns = table.columns().into_iter();
        let columns = columns.filter(|(_, content)| *content != Content::LeftOut);
        let columns = columns.map(|(field, _)| field);
        Self {
            name: table.name(),
            meaning: table.meaning(),
            columns: [RANK].into_iter().chain(columns).map(Column::of).collect(),
        }
    }
}

impl Column {
    fn of(field: Field) -> Self {
        let (kind, unit) = match field.kind {
            Kind::Number if field.name.ends_with("_us") => ("integer", Some("µs")),
            Kind::Number => ("integer", None),
            Kind::Bytes => ("integer", Some("bytes")),
            Kind::Address => ("integer", Some("address")),
            Kind::TimeUs => ("time", Some("UTC")),
            Kind::Text => ("text", None),
            Kind::Flag => ("flag", None),
        };
        Self {
            name: field.typed_name(),
            kind,
            unit,
            meaning: field.meaning,
        }
    }

    /// The type with the unit.
    fn typed(&self) -> String {
        match self.unit {
            Some(unit) => format!("{}, {unit}", self.kind),
            None => self.kind.to_owned(),
        }
    }
}

fn write_text(out: &mut dyn Write, tables: &[Described]) -> io::Result<()> {
    for (place, table) in tables.iter().enumerate() {
        if place > 0 {
            out.write_all(b"\n")?;
        }
        writeln!(out, "{}: {}", table.name, table.meaning)?;
        let names = table.columns.iter().map(|column| column.name.len());
        let name_width = names.max().unwrap_or(0);
        for column in &table.columns {
            let Column { name, meaning, .. } = column;
            let typed = column.typed();
            writeln!(out, "  {name:name_width$}  {typed:16}  {meaning}")?;
        }
    }
    Ok(())
}
