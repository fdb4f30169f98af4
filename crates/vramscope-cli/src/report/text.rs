//! An answer as text: figures in labelled lines, tables aligned, sizes rounded with the exact bytes at hand.
//!
//! Headings are bold and what is secondary is faint, by escape sequences that `output` takes out again
//! where nobody could see them. Texts from files are made harmless cell by cell, before that.

use anstyle::{Effects, Style};
use comfy_table::CellAlignment;
use comfy_table::presets::NOTHING;
use vramscope_core::units::{Bytes, Count};
use vramscope_view::display;

use super::{Cell, Fact, Part, TEXT_ROWS, Table, cut};
use crate::arguments::Show;
use crate::output::printable;

const HEADING: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// All parts, an empty line between them.
pub(super) fn render(parts: &[Part], show: Show) -> String {
    let texts: Vec<_> = parts.iter().map(|part| part_text(part, show)).collect();
    texts.join("\n")
}

fn part_text(part: &Part, show: Show) -> String {
    let mut text = heading(&title(part));
    facts(&mut text, &part.facts, show);
    for table in part.tables.iter().filter(|table| !table.rows.is_empty()) {
        text.push('\n');
        if !table.title.is_empty() {
            text.push_str(&format!("  {}", heading(&table.title)));
        }
        table_text(&mut text, table, show);
    }
    for note in &part.notes {
        text.push_str(&format!("  {FAINT}{}{FAINT:#}\n", printable(note)));
    }
    text
}

fn title(part: &Part) -> String {
    match part.device {
        Some(device) => format!("{}, device {device}", part.file),
        None => part.file.clone(),
    }
}

fn heading(text: &str) -> String {
    format!("{HEADING}{}{HEADING:#}\n", printable(text))
}

fn facts(text: &mut String, facts: &[Fact], show: Show) {
    let width = facts.iter().map(|fact| fact.label.chars().count()).max();
    let width = width.unwrap_or(0);
    for fact in facts.iter().filter(|fact| fact.cell != Cell::None) {
        let value = match fact.cell {
            Cell::Bytes(bytes) if !show.bytes => display::bytes_exact(bytes),
            _ => value(&fact.cell, show),
        };
        let remark = match fact.remark.as_str() {
            "" => String::new(),
            remark => format!("  {FAINT}{}{FAINT:#}", printable(remark)),
        };
        text.push_str(&format!("  {:width$}  {value}{remark}\n", fact.label));
    }
}

fn table_text(text: &mut String, table: &Table, show: Show) {
    let (rows, others) = cut(table, Some(show.limit.unwrap_or(TEXT_ROWS)));
    let mut grid = comfy_table::Table::new();
    grid.load_style(NOTHING).force_no_tty();
    let headers = table.columns.iter().map(|column| column.header);
    grid.set_header(headers.map(|header| format!("{FAINT}{header}{FAINT:#}")));
    let cells =
        |row: &[Cell]| -> Vec<String> { row.iter().map(|cell| value(cell, show)).collect() };
    for row in rows {
        grid.add_row(cells(row));
    }
    if let Some(mut sums) = others {
        let left_out = Count((table.rows.len() - rows.len()) as u64);
        if let Some(last) = sums.last_mut() {
            *last = Cell::Text(format!("{left_out} further"));
        }
        grid.add_row(cells(&sums));
    }
    for (place, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((if place == 0 { 2 } else { 1 }, 1));
        if table
            .rows
            .iter()
            .all(|row| !matches!(row.get(place), Some(Cell::Text(_))))
        {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in grid.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

fn value(cell: &Cell, show: Show) -> String {
    match cell {
        Cell::None => String::new(),
        Cell::Text(text) => printable(text).replace('\n', " "),
        Cell::Bytes(bytes) if show.bytes => display::count(*bytes),
        Cell::Bytes(bytes) => display::bytes(*bytes),
        Cell::BytesChange(change) => signed(*change, |size| match show.bytes {
            true => display::count(size),
            false => display::bytes(size),
        }),
        Cell::ByteUs(product) => byte_seconds(*product),
        Cell::Number(number) => display::count(*number),
        Cell::NumberChange(change) => signed(*change, display::count),
        Cell::Share(share) => format!("{:.1} %", share * 100.0),
        Cell::ShareChange(share) => format!("{:+.1} %", share * 100.0).replace('-', "\u{2212}"),
        Cell::TimeUs(time) => display::date_time(*time),
        Cell::SpanUs(span) => display::duration(i64::try_from(*span).unwrap_or(i64::MAX)),
        Cell::Address(address) => display::address(*address),
        Cell::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
    }
}

fn signed(change: i64, size: impl Fn(u64) -> String) -> String {
    let sign = match change {
        0 => "",
        1.. => "+",
        _ => "\u{2212}",
    };
    format!("{sign}{}", size(change.unsigned_abs()))
}

/// `1.50 GiB·s`.
fn byte_seconds(byte_us: u128) -> String {
    let bytes = u64::try_from(byte_us / 1_000_000).unwrap_or(u64::MAX);
    format!("{}·s", Bytes(bytes))
}
