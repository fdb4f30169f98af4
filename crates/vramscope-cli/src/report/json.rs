//! An answer as JSON; `json.md` describes it for users.
//!
//! Written while it is built: an answer may have many parts of a million rows.
#![doc = include_str!("../../json.md")]

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, Write};
use std::ops::Range;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::{Cell, Column, Part, Rest, SCHEMA, Table, cut};
use crate::arguments::Show;
use crate::harmless::HarmlessJson;

/// One indented JSON document with a final newline.
pub(super) fn write(
    out: &mut dyn Write,
    command: &str,
    parts: impl Iterator<Item = Part>,
    show: Show,
) -> io::Result<()> {
    let document = Document {
        schema: SCHEMA,
        vramscope: env!("CARGO_PKG_VERSION"),
        command,
        parts: InTurn(RefCell::new(parts.map(|part| JsonPart { part, show }))),
    };
    serde_json::to_writer_pretty(HarmlessJson::new(&mut *out), &document)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct Document<'a, P> {
    schema: u32,
    vramscope: &'a str,
    command: &'a str,
    parts: P,
}

/// An array of an iterator's items. It can be written only once.
struct InTurn<I>(RefCell<I>);

impl<I: Iterator<Item: Serialize>> Serialize for InTurn<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(&mut *self.0.borrow_mut())
    }
}

/// One part as an object.
struct JsonPart {
    part: Part,
    show: Show,
}

impl Serialize for JsonPart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { part, show } = self;
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("file", &part.file)?;
        object.serialize_entry("device", &part.device)?;
        for fact in part.facts.iter().filter(|fact| !fact.key.is_empty()) {
            object.serialize_entry(fact.key, &fact.cell)?;
        }
        for table in &part.tables {
            let columns = table.columns.as_slice();
            let (shown, rest) = cut(table, *show);
            let shown = 0..shown;
            object.serialize_entry(table.key, &Shown { table, shown })?;
            if let Some(rest) = &rest {
                let key = format!("{}_left_out", table.key);
                object.serialize_entry(&key, &LeftOut { columns, rest })?;
            }
        }
        if !part.notes.is_empty() {
            object.serialize_entry("notes", &part.notes)?;
        }
        if !part.damage.is_empty() {
            object.serialize_entry("damage", &part.damage)?;
        }
        object.end()
    }
}

/// The rows of a table that are shown.
struct Shown<'a> {
    table: &'a Table,
    shown: Range<usize>,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let columns = &self.table.columns;
        let rows = self.table.rows.range(self.shown.clone());
        serializer.collect_seq(rows.map(|row| Row { columns, row }))
    }
}

struct Row<'a> {
    columns: &'a [Column],
    row: Cow<'a, [Cell]>,
}

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let keys = self.columns.iter().map(|column| column.key);
        serializer.collect_map(keys.zip(&*self.row))
    }
}

/// The rows hidden by `--limit`: their number and sums.
struct LeftOut<'a> {
    columns: &'a [Column],
    rest: &'a Rest,
}

impl Serialize for LeftOut<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        object.serialize_entry("rows", &self.rest.rows)?;
        for (column, cell) in self.columns.iter().zip(&self.rest.sums) {
            if column.sums {
                object.serialize_entry(column.key, cell)?;
            }
        }
        object.end()
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_unit(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Lines(lines) => serializer.collect_seq(lines.lines()),
            Self::Bytes(number)
            | Self::Number(number)
            | Self::SpanUs(number)
            | Self::Address(number) => serializer.serialize_u64(*number),
            Self::BytesChange(number) | Self::NumberChange(number) | Self::TimeUs(number) => {
                serializer.serialize_i64(*number)
            }
            // JSON readers commonly lose integers beyond 64 bits.
            Self::ByteUs(product) | Self::ByteEvents(product) => match u64::try_from(*product) {
                Ok(small) => serializer.serialize_u64(small),
                Err(_large) => serializer.serialize_f64(*product as f64),
            },
            Self::Share(share) | Self::ShareChange(share) => serializer.serialize_f64(*share),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Json(value) => value.serialize(serializer),
        }
    }
}
