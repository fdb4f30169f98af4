//! An answer: figures and tables, filled by a command once and shown as text, JSON or CSV.
//!
//! All three are made from the same cells, so they cannot tell different things. Text rounds and aligns;
//! JSON and CSV have exact numbers under keys that carry their unit (`peak_bytes`, `start_us`).

mod csv;
mod json;
mod text;

use serde::Serialize;
use vramscope_core::model::DeviceIndex;

use crate::arguments::Show;
use crate::failure::Failure;
use crate::output;

/// The version of the JSON layout: goes up when a key is removed or changes its meaning.
pub(crate) const SCHEMA: u32 = 1;

/// Rows of a table as text, unless the user wants more or fewer.
const TEXT_ROWS: usize = 20;

/// One value. What it is decides how it is printed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cell {
    /// Not known, or not there.
    None,
    Text(String),
    /// One below the other, such as a stack: an array in JSON.
    Lines(Vec<String>),
    /// A size in bytes.
    Bytes(u64),
    /// A difference of sizes, with its sign.
    BytesChange(i64),
    /// Bytes times microseconds.
    ByteUs(u128),
    /// Bytes times events.
    ByteEvents(u128),
    Number(u64),
    /// A difference of numbers, with its sign.
    NumberChange(i64),
    /// A part of a whole: 0.25 prints as 25.0 %, and is 0.25 in JSON.
    Share(f64),
    /// A relative change, with its sign: 0.25 prints as +25.0 %.
    ShareChange(f64),
    /// A time of day in µs since the Unix epoch.
    TimeUs(i64),
    /// A length of time in µs.
    SpanUs(u64),
    /// A device address.
    Address(u64),
    /// Yes or no.
    Flag(bool),
}

impl Cell {
    /// What is not there is [`Cell::None`].
    pub(crate) fn or_none<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::None, cell)
    }
}

/// One named figure of a part.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Fact {
    /// Its JSON key, with its unit: `peak_bytes`.
    pub(crate) key: &'static str,
    /// What text calls it; with an empty one it is in JSON only.
    pub(crate) label: &'static str,
    pub(crate) cell: Cell,
    /// What text says behind it; not in JSON.
    pub(crate) remark: String,
}

/// One column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Column {
    /// Its JSON key and CSV header, with its unit.
    pub(crate) key: &'static str,
    /// What text calls it.
    pub(crate) header: &'static str,
    /// Whether rows that are left out are to be summed up.
    pub(crate) sums: bool,
    /// Whether text leaves it out.
    pub(crate) is_detail: bool,
}

/// Rows of cells; the rows that matter most first.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Table {
    /// Its JSON key: `call_sites`.
    pub(crate) key: &'static str,
    /// Its heading in text; empty for none.
    pub(crate) title: String,
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// Rows of CSV only, as CSV has no other table: what stands in those elsewhere.
    pub(crate) csv_rows: Vec<Vec<Cell>>,
    /// Rows that were not even made, as nobody would see them.
    pub(crate) unmade: Option<Rest>,
}

/// Rows that are not shown.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Rest {
    pub(crate) rows: usize,
    /// What they come to, in the columns that add up.
    pub(crate) sums: Vec<Cell>,
}

/// What there is to say of one file, device or pair of them.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Part {
    /// The file, or the files, as the user named them.
    pub(crate) file: String,
    /// The device; `None` = the whole file, or several.
    pub(crate) device: Option<DeviceIndex>,
    pub(crate) facts: Vec<Fact>,
    /// The first one is the main table: the one in the CSV.
    pub(crate) tables: Vec<Table>,
    /// Whole sentences: what is missing, and what to do.
    pub(crate) notes: Vec<String>,
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

    /// Adds a figure.
    pub(crate) fn fact(&mut self, key: &'static str, label: &'static str, cell: Cell) {
        self.fact_with(key, label, cell, "");
    }

    /// Adds a figure, and what text says behind it.
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

    /// Adds a table.
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

    /// Adds rows to a table, for CSV only.
    pub(crate) fn csv_rows(&mut self, key: &str, rows: impl IntoIterator<Item = Vec<Cell>>) {
        let mut tables = self.tables.iter_mut();
        if let Some(table) = tables.find(|table| table.key == key) {
            table.csv_rows.extend(rows);
        }
    }
}

/// A column whose rows do not add up.
pub(crate) const fn column(key: &'static str, header: &'static str) -> Column {
    Column {
        key,
        header,
        sums: false,
        is_detail: false,
    }
}

/// A column of JSON and CSV only.
pub(crate) const fn detail(key: &'static str) -> Column {
    Column {
        is_detail: true,
        ..column(key, "")
    }
}

/// A column whose rows add up.
pub(crate) const fn sum(key: &'static str, header: &'static str) -> Column {
    Column {
        key,
        header,
        sums: true,
        is_detail: false,
    }
}

/// Prints an answer as the user wants it. `command` is its name in JSON.
///
/// # Errors
/// When it cannot be written.
pub(crate) fn print(command: &str, parts: &[Part], show: Show) -> Result<(), Failure> {
    if show.json {
        output::stream(|out| json::write(out, command, parts, show))
    } else if show.csv {
        // CSV has no place for notes, but whoever gets no row should learn why.
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

/// Parts as text, with colours.
pub(crate) fn text(parts: &[Part], show: Show) -> String {
    text::render(parts, show, terminal_width())
}

/// A part as JSON, with all rows.
pub(crate) fn value(part: &Part) -> impl Serialize {
    let show = Show {
        json: true,
        ..Show::default()
    };
    json::Shown { part, show }
}

/// Columns of the terminal, if standard output is one.
fn terminal_width() -> Option<u16> {
    comfy_table::Table::new().width()
}

/// How many of `rows` rows will be shown.
pub(crate) fn rows_shown(rows: usize, show: Show) -> usize {
    let usual = (!show.json && !show.csv).then_some(TEXT_ROWS);
    let limit = show.limit.or(usual).filter(|&limit| limit > 0);
    match limit {
        // A single row left out takes as much room as the line that says so.
        Some(limit) if rows > limit.saturating_add(1) => limit,
        _ => rows,
    }
}

/// The rows of a table that are shown, and the others.
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

/// The sum of cells of one kind; saturates.
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
