//! A command's answer: figures and tables, printed as text, JSON or CSV.
//!
//! Parts are written one after the other as they arrive, and rows as they are produced. All three forms come from the
//! same cells, so they cannot disagree. Text rounds and aligns; JSON and CSV have exact numbers under keys with their
//! unit (`peak_bytes`, `start_us`).

mod csv;
mod json;
mod rows;
mod text;

use std::io::{self, Write};
use std::sync::Arc;

use serde::Serialize;
use vramscope_core::model::{DeviceIndex, Warning};

#[cfg(feature = "sql")]
pub(crate) use self::csv::{write_cell, write_text as write_csv_text};
pub(crate) use self::rows::{Lines, Rows, Said, Told};
use crate::arguments::Show;
use crate::failure::Failure;
use crate::harmless::printable;
use crate::output::{self, wrap};

/// The version of the JSON layout. It increases when a key is removed or changes its meaning.
pub(crate) const SCHEMA: u32 = 3;

/// Maximum number of rows of a table in text, unless the user sets a limit.
const TEXT_ROWS: usize = 20;

/// One value. Its kind decides how it is printed.
#[derive(Clone)]
pub(crate) enum Cell {
    /// Unknown or missing.
    None,
    Text(String),
    /// Lines below each other, such as a stack: an array in JSON.
    Lines(Arc<dyn Lines>),
    Bytes(u64),
    /// A signed difference of sizes.
    BytesChange(i64),
    /// Bytes times microseconds.
    ByteUs(u128),
    /// Bytes times events.
    ByteEvents(u128),
    Number(u64),
    /// A signed difference of numbers.
    NumberChange(i64),
    /// A part of a whole: 0.25 prints as 25.0 %, and is 0.25 in JSON.
    Share(f64),
    /// A signed relative change: 0.25 prints as +25.0 %.
    ShareChange(f64),
    /// A time of day in µs since the Unix epoch.
    TimeUs(i64),
    /// A duration in µs.
    SpanUs(u64),
    Address(u64),
    /// Printed as yes or no.
    Flag(bool),
    /// JSON that is passed through: a value from the file, or figures that differ from row to row.
    Json(serde_json::Value),
}

impl Cell {
    /// The word that stands for a value in JSON.
    pub(crate) fn word(value: impl Serialize) -> Self {
        Self::or_none(word(value), Self::Text)
    }

    /// The cell of a value, or [`Cell::None`].
    pub(crate) fn or_none<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::None, cell)
    }
}

/// The word that stands for a value in JSON, if it is one.
pub(crate) fn word(value: impl Serialize) -> Option<String> {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => Some(word),
        _ => None,
    }
}

/// One named figure of a part.
pub(crate) struct Fact {
    /// The JSON key, with its unit: `peak_bytes`; if empty, the figure appears only in text.
    pub(crate) key: &'static str,
    /// The label in text; if empty, the figure appears only in JSON.
    pub(crate) label: &'static str,
    pub(crate) cell: Cell,
    /// A remark after the value in text; not in JSON.
    pub(crate) remark: String,
}

/// One column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// The JSON key and CSV header, with its unit.
    pub(crate) key: &'static str,
    /// The heading in text.
    pub(crate) header: &'static str,
    /// Whether the line for omitted rows has the column's sum.
    pub(crate) sums: bool,
    /// Whether text omits the column.
    pub(crate) is_detail: bool,
    /// In a narrow terminal, whether its texts may go below those of the last column.
    pub(crate) is_remark: bool,
}

/// Rows of cells, the most important first.
pub(crate) struct Table {
    /// The JSON key: `call_sites`.
    pub(crate) key: &'static str,
    /// The heading in text; empty = no heading.
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Box<dyn Rows>,
    /// Rows that only CSV prints, as it has no other table for them; text and JSON show them elsewhere.
    pub(crate) csv_rows: Vec<Vec<Cell>>,
    /// Rows that were never made, because the limit would hide them.
    pub(crate) unmade: Option<Rest>,
}

/// The rows that a limit hides.
#[derive(Clone)]
pub(crate) struct Rest {
    pub(crate) rows: usize,
    /// Their sums, in the columns that add up.
    pub(crate) sums: Vec<Cell>,
}

/// The answer about one file, device or pair of them.
#[derive(Default)]
pub(crate) struct Part {
    /// The file, or the files, as the user named them.
    pub(crate) file: String,
    /// The device; `None` = the whole file, or several.
    pub(crate) device: Option<DeviceIndex>,
    /// The device's name in titles, if that is not just its number.
    pub(crate) device_title: Option<String>,
    pub(crate) facts: Vec<Fact>,
    /// The first one is the main table, which CSV prints.
    pub(crate) tables: Vec<Table>,
    /// Lines only in text, before everything else; the rest has the same in other forms.
    pub(crate) prose: Vec<String>,
    /// Whole sentences: missing data, and advice.
    pub(crate) notes: Vec<String>,
    /// Damage in the files, for JSON; all commands print it to standard error when they read a file.
    pub(crate) damage: Vec<Damage>,
}

/// A kind of damage in a file.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Damage {
    /// The file as the user named it.
    pub(crate) file: String,
    #[serde(flatten)]
    pub(crate) warning: Warning,
}

impl Damage {
    /// All kinds of damage in a file.
    pub(crate) fn of<'a>(file: &str, damage: impl Iterator<Item = &'a Warning>) -> Vec<Self> {
        let named = damage.map(|warning| Self {
            file: file.to_owned(),
            warning: warning.clone(),
        });
        named.collect()
    }
}

impl Part {
    /// An empty part about one device.
    pub(crate) fn of(file: &str, device: DeviceIndex) -> Self {
        Self {
            file: file.to_owned(),
            device: Some(device),
            ..Self::default()
        }
    }

    pub(crate) fn fact(&mut self, key: &'static str, label: &'static str, cell: Cell) {
        self.fact_with(key, label, cell, "");
    }

    /// Adds a figure with a remark for text.
    pub(crate) fn fact_with(
        &mut self,
        key: &'static str,
        label: &'static str,
        cell: Cell,
        remark: impl Into<String>,
    ) {
        let remark = remark.into();
        // Readers of JSON keep only one of two values under the same key, and not always the same one.
        let is_new = |fact: &Fact| key.is_empty() || fact.key != key;
        debug_assert!(self.facts.iter().all(is_new), "{key}");
        self.facts.push(Fact {
            key,
            label,
            cell,
            remark,
        });
    }

    /// Adds a line that only text has in this form; nothing if it is empty.
    pub(crate) fn line(&mut self, label: &'static str, text: String) {
        self.fact(
            "",
            label,
            Cell::or_none(Some(text).filter(|text| !text.is_empty()), Cell::Text),
        );
    }

    /// Adds a paragraph to the prose at the beginning of text.
    pub(crate) fn say(&mut self, first: &str, text: &str) {
        let lines = wrap::paragraph(first, text, wrap::PROSE_WIDTH);
        self.prose.extend(lines);
    }

    /// Adds a table that text puts in words.
    pub(crate) fn told<T: Send + 'static>(
        &mut self,
        key: &'static str,
        title: &str,
        keys: &[&'static str],
        rows: Told<T>,
    ) {
        let columns: Vec<Column> = keys.iter().map(|&key| detail(key)).collect();
        self.long_table(key, title, &columns, rows);
    }

    pub(crate) fn table(
        &mut self,
        key: &'static str,
        title: impl Into<String>,
        columns: &[Column],
        rows: Vec<Vec<Cell>>,
    ) {
        debug_assert!(rows.iter().all(|row| row.len() == columns.len()));
        self.long_table(key, title, columns, rows);
    }

    /// Adds a table whose rows may be made later.
    pub(crate) fn long_table(
        &mut self,
        key: &'static str,
        title: impl Into<String>,
        columns: &[Column],
        rows: impl Rows + 'static,
    ) {
        self.tables.push(Table {
            key,
            title: title.into(),
            columns: columns.to_vec(),
            rows: Box::new(rows),
            csv_rows: Vec::new(),
            unmade: None,
        });
    }

    /// Adds rows to a table for CSV only.
    pub(crate) fn csv_rows(&mut self, key: &str, rows: impl IntoIterator<Item = Vec<Cell>>) {
        let mut tables = self.tables.iter_mut();
        if let Some(table) = tables.find(|table| table.key == key) {
            table.csv_rows.extend(rows);
        }
    }
}

/// A column without a sum.
pub(crate) const fn column(key: &'static str, header: &'static str) -> Column {
    Column {
        key,
        header,
        sums: false,
        is_detail: false,
        is_remark: false,
    }
}

/// A column that text omits.
pub(crate) const fn detail(key: &'static str) -> Column {
    Column {
        is_detail: true,
        ..column(key, "")
    }
}

/// A column of texts that may go below those of the last one in a narrow terminal.
pub(crate) const fn remark(key: &'static str, header: &'static str) -> Column {
    Column {
        is_remark: true,
        ..column(key, header)
    }
}

/// A column with a sum.
pub(crate) const fn sum(key: &'static str, header: &'static str) -> Column {
    Column {
        sums: true,
        ..column(key, header)
    }
}

/// Prints an answer in the form that the user chose, each part as it arrives. `command` is its name in JSON.
pub(crate) fn print(
    command: &str,
    parts: impl IntoIterator<Item = Part>,
    show: Show,
) -> Result<(), Failure> {
    let parts = parts.into_iter();
    if show.json {
        output::stream(|out| json::write(out, command, parts, show))
    } else if show.csv {
        // CSV has no place for notes, but a reader who gets no rows should learn why.
        let parts = parts.inspect(|part| {
            for note in part.notes.iter().filter(|_| part.tables.is_empty()) {
                let note = format!("{}: {note}", part.file);
                output::note(&format!("note: {}\n", printable(&note)));
            }
        });
        output::stream(|out| csv::write(out, parts, show))
    } else {
        output::styled(|out| {
            for (place, part) in parts.enumerate() {
                if place > 0 {
                    out.write_all(b"\n")?;
                }
                write_text(out, &part, show)?;
            }
            Ok(())
        })
    }
}

/// Writes an answer as JSON to its destination.
pub(crate) fn write_json(
    out: &mut dyn Write,
    command: &str,
    parts: Vec<Part>,
    show: Show,
) -> Result<(), Failure> {
    let show = Show { json: true, ..show };
    let written = json::write(out, command, parts.into_iter(), show);
    written.map_err(Failure::io("cannot hold the answer"))
}

/// Writes a part as text, with colours.
pub(crate) fn write_text(out: &mut dyn Write, part: &Part, show: Show) -> io::Result<()> {
    text::write(out, part, show, terminal_width())
}

/// The terminal's width in columns, if standard output is one.
fn terminal_width() -> Option<usize> {
    let (_, columns) = console::Term::stdout().size_checked()?;
    Some(columns.into())
}

/// How many of `rows` rows will be shown.
pub(crate) fn rows_shown(rows: usize, show: Show) -> usize {
    match show.limit {
        Some(0) => rows,
        Some(limit) => rows.min(limit),
        None if show.json || show.csv => rows,
        // One hidden row takes as much room as the line that mentions it.
        None if rows <= TEXT_ROWS + 1 => rows,
        None => TEXT_ROWS,
    }
}

/// The number of rows shown, and the rest.
fn cut(table: &Table, show: Show) -> (usize, Option<Rest>) {
    let count = table.rows.count();
    if table.unmade.is_some() {
        return (count, table.unmade.clone());
    }
    let shown = rows_shown(count, show);
    if shown == count {
        return (count, None);
    }
    let mut sums = vec![Cell::None; table.columns.len()];
    for row in table.rows.range(shown..count) {
        for ((sum, cell), column) in sums.iter_mut().zip(&*row).zip(&table.columns) {
            if column.sums {
                add(sum, cell);
            }
        }
    }
    let rows = count - shown;
    (shown, Some(Rest { rows, sums }))
}

/// Adds a cell of the same kind; saturates.
fn add(sum: &mut Cell, cell: &Cell) {
    match (sum, cell) {
        (sum @ Cell::None, cell) => *sum = cell.clone(),
        (Cell::Bytes(sum), Cell::Bytes(more)) | (Cell::Number(sum), Cell::Number(more)) => {
            *sum = sum.saturating_add(*more);
        }
        (Cell::BytesChange(sum), Cell::BytesChange(more))
        | (Cell::NumberChange(sum), Cell::NumberChange(more)) => *sum = sum.saturating_add(*more),
        (Cell::ByteUs(sum), Cell::ByteUs(more))
        | (Cell::ByteEvents(sum), Cell::ByteEvents(more)) => *sum = sum.saturating_add(*more),
        (Cell::Share(sum), Cell::Share(more)) => *sum += more,
        _ => {}
    }
}

#[cfg(test)]
mod tests;
