//! A command's answer: figures and tables, printed as text, JSON or CSV.
//!
//! All three forms come from the same cells, so they cannot disagree. Text rounds and aligns;
//! JSON and CSV have exact numbers under keys that carry their unit (`peak_bytes`, `start_us`).

mod csv;
mod json;
mod text;

use serde::Serialize;
use vramscope_core::model::{DeviceIndex, Warning};

use crate::arguments::Show;
use crate::failure::Failure;
use crate::output;

/// The version of the JSON layout. It rises when a key is removed or changes its meaning.
pub(crate) const SCHEMA: u32 = 2;

/// The most rows of a table in text, unless the user sets a limit.
const TEXT_ROWS: usize = 20;

/// One value. Its kind decides how it is printed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell {
    /// Unknown or missing.
    None,
    Text(String),
    /// Lines below each other, such as a stack: an array in JSON.
    Lines(Vec<String>),
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
    /// JSON that is passed on: a value from the file, or figures that differ from row to row.
    Json(serde_json::Value),
}

impl Cell {
    /// The cell of a value, or [`Cell::None`].
    pub(crate) fn or_none<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::None, cell)
    }
}

/// One named figure of a part.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Fact {
    /// Its JSON key, with its unit: `peak_bytes`.
    pub(crate) key: &'static str,
    /// The label in text; if empty, the figure appears in JSON only.
    pub(crate) label: &'static str,
    pub(crate) cell: Cell,
    /// A remark behind the value in text; not in JSON.
    pub(crate) remark: String,
}

/// One column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// Its JSON key and CSV header, with its unit.
    pub(crate) key: &'static str,
    /// The heading in text.
    pub(crate) header: &'static str,
    /// Whether the line for rows that are left out has the column's sum.
    pub(crate) sums: bool,
    /// Whether text omits the column.
    pub(crate) is_detail: bool,
}

/// Rows of cells, the most important first.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Table {
    /// Its JSON key: `call_sites`.
    pub(crate) key: &'static str,
    /// The heading in text; empty = no heading.
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Rows that only CSV prints, as it has no other table for them; text and JSON show them elsewhere.
    pub(crate) csv_rows: Vec<Vec<Cell>>,
    /// Rows that were never built, as the limit would hide them.
    pub(crate) unmade: Option<Rest>,
}

/// The rows that a limit hides.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Rest {
    pub(crate) rows: usize,
    /// Their sums, in the columns that add up.
    pub(crate) sums: Vec<Cell>,
}

/// The answer about one file, device or pair of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Part {
    /// The file, or the files, as the user named them.
    pub(crate) file: String,
    /// The device; `None` = the whole file, or several.
    pub(crate) device: Option<DeviceIndex>,
    pub(crate) facts: Vec<Fact>,
    /// The first one is the main table, which CSV prints.
    pub(crate) tables: Vec<Table>,
    /// Whole sentences: missing data, and advice.
    pub(crate) notes: Vec<String>,
    /// What is damaged in the files, for JSON; all commands print it to standard error when they read a file.
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
    /// All kinds of a file.
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
        self.facts.push(Fact {
            key,
            label,
            cell,
            remark,
        });
    }

    pub(crate) fn table(
        &mut self,
        key: &'static str,
        title: impl Into<String>,
        columns: &[Column],
        rows: Vec<Vec<Cell>>,
    ) {
        let (title, columns) = (title.into(), columns.to_vec());
        debug_assert!(rows.iter().all(|row| row.len() == columns.len()));
        self.tables.push(Table {
            key,
            title,
            columns,
            rows,
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

/// A column that has no sum.
pub(crate) const fn column(key: &'static str, header: &'static str) -> Column {
    Column {
        key,
        header,
        sums: false,
        is_detail: false,
    }
}

/// A column that text omits.
pub(crate) const fn detail(key: &'static str) -> Column {
    Column {
        is_detail: true,
        ..column(key, "")
    }
}

/// A column that has a sum.
pub(crate) const fn sum(key: &'static str, header: &'static str) -> Column {
    Column {
        key,
        header,
        sums: true,
        is_detail: false,
    }
}

/// Prints an answer in the form that the user asked for. `command` is its name in JSON.
pub(crate) fn print(command: &str, parts: &[Part], show: Show) -> Result<(), Failure> {
    if show.json {
        output::stream(|out| json::write(out, command, parts, show))
    } else if show.csv {
        // CSV has no place for notes, but a reader who gets no rows should learn why.
        let without = parts.iter().filter(|part| part.tables.is_empty());
        for (part, note) in without.flat_map(|part| part.notes.iter().map(move |note| (part, note)))
        {
            output::note(&output::printable(&format!(
                "note: {}: {note}\n",
                part.file
            )));
        }
        output::stream(|out| csv::write(out, parts, show))
    } else {
        output::print(&text(parts, show))
    }
}

/// The answer as text, with colours.
pub(crate) fn text(parts: &[Part], show: Show) -> String {
    text::render(parts, show, terminal_width())
}

/// Columns of the terminal, if standard output is one.
fn terminal_width() -> Option<u16> {
    comfy_table::Table::new().width()
}

/// The number of rows that will be shown, of `rows`.
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

/// Splits a table into the rows that are shown and the rest.
fn cut(table: &Table, show: Show) -> (&[Vec<Cell>], Option<Rest>) {
    if table.unmade.is_some() {
        return (&table.rows, table.unmade.clone());
    }
    let (shown, others) = table.rows.split_at(rows_shown(table.rows.len(), show));
    if others.is_empty() {
        return (shown, None);
    }
    let sums = table.columns.iter().enumerate().map(|(place, column)| {
        let cells = others.iter().filter_map(|row| row.get(place));
        if column.sums {
            total(cells)
        } else {
            Cell::None
        }
    });
    let rest = Rest {
        rows: others.len(),
        sums: sums.collect(),
    };
    (shown, Some(rest))
}

/// Adds up cells of one kind; saturates.
fn total<'a>(cells: impl Iterator<Item = &'a Cell>) -> Cell {
    cells.fold(Cell::None, |sum, cell| match (sum, cell) {
        (Cell::None, cell) => cell.clone(),
        (Cell::Bytes(sum), Cell::Bytes(more)) => Cell::Bytes(sum.saturating_add(*more)),
        (Cell::BytesChange(sum), Cell::BytesChange(more)) => {
            Cell::BytesChange(sum.saturating_add(*more))
        }
        (Cell::ByteUs(sum), Cell::ByteUs(more)) => Cell::ByteUs(sum.saturating_add(*more)),
        (Cell::ByteEvents(sum), Cell::ByteEvents(more)) => {
            Cell::ByteEvents(sum.saturating_add(*more))
        }
        (Cell::Number(sum), Cell::Number(more)) => Cell::Number(sum.saturating_add(*more)),
        (Cell::NumberChange(sum), Cell::NumberChange(more)) => {
            Cell::NumberChange(sum.saturating_add(*more))
        }
        (Cell::Share(sum), Cell::Share(more)) => Cell::Share(sum + more),
        (sum, _) => sum,
    })
}

#[cfg(test)]
mod tests;
