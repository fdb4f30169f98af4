//! An answer as text: figures in labelled lines, tables aligned, sizes rounded with the exact bytes at hand.
//!
//! Headings are bold and what is secondary is faint, by escape sequences that `output` takes out again
//! where nobody could see them. Texts from files are made harmless cell by cell, before that.

use anstyle::{Effects, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width};
use vramscope_core::units::{Bytes, Count};
use vramscope_view::display;

use super::{Cell, Fact, Part, Rest, Table, cut};
use crate::arguments::Show;
use crate::output::printable;

const HEADING: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// A column narrower than this is no place for a text: the terminal may wrap the rows as it likes.
const LEAST_WIDTH: u16 = 20;

/// All parts, an empty line between them. `width`: columns of the terminal, if it is one.
pub(super) fn render(parts: &[Part], show: Show, width: Option<u16>) -> String {
    let texts: Vec<_> = parts
        .iter()
        .map(|part| part_text(part, show, width))
        .collect();
    texts.join("\n")
}

fn part_text(part: &Part, show: Show, width: Option<u16>) -> String {
    let mut text = heading(&title(part));
    facts(&mut text, &part.facts, show);
    for table in part.tables.iter().filter(|table| !table.rows.is_empty()) {
        text.push('\n');
        if !table.title.is_empty() {
            text.push_str(&format!("  {}", heading(&table.title)));
        }
        table_text(&mut text, table, show, width);
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
    let shown = facts
        .iter()
        .filter(|fact| fact.cell != Cell::None && !fact.label.is_empty());
    let width = shown.clone().map(|fact| fact.label.chars().count()).max();
    let width = width.unwrap_or(0);
    for fact in shown {
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

fn table_text(text: &mut String, table: &Table, show: Show, width: Option<u16>) {
    let (rows, others) = cut(table, show);
    // What is known of no row needs no column.
    let is_shown = |place: &usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(*place));
        !table.columns[*place].is_detail && cells.any(|cell| *cell != Cell::None)
    };
    let places: Vec<usize> = (0..table.columns.len()).filter(is_shown).collect();
    let mut grid = comfy_table::Table::new();
    grid.load_style(NOTHING).force_no_tty();
    let headers = places.iter().map(|&place| table.columns[place].header);
    grid.set_header(headers.map(|header| match header {
        "" => String::new(),
        header => format!("{FAINT}{header}{FAINT:#}"),
    }));
    let cells = |row: &[Cell]| -> Vec<String> {
        let cells = places.iter().filter_map(|&place| row.get(place));
        cells.map(|cell| value(cell, show)).collect()
    };
    for row in rows {
        grid.add_row(cells(row));
    }
    if let Some(Rest { rows, mut sums }) = others {
        let left_out = Count(rows as u64);
        if let Some(last) = sums.last_mut() {
            *last = Cell::Text(format!("{left_out} further"));
        }
        grid.add_row(cells(&sums));
    }
    for (column, &place) in grid.column_iter_mut().zip(&places) {
        column.set_padding((if place == places[0] { 2 } else { 1 }, 1));
        let is_text =
            |row: &Vec<Cell>| matches!(row.get(place), Some(Cell::Text(_) | Cell::Lines(_)));
        if !table.rows.iter().any(is_text) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    fit(&mut grid, width);
    for line in grid.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// The last column, which has the long texts, wraps where the terminal ends: figures stay aligned, and nothing
/// is lost. In a file or a pipe a row is a line.
fn fit(grid: &mut comfy_table::Table, width: Option<u16>) {
    let widths = grid.column_max_content_widths();
    let (Some(width), Some((_, others))) = (width, widths.split_last()) else {
        return;
    };
    let taken: u16 = others
        .iter()
        .fold(4, |sum, &width| sum.saturating_add(width).saturating_add(2));
    let left = width.saturating_sub(taken);
    if left < LEAST_WIDTH {
        return;
    }
    grid.set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width);
    if let Some(last) = grid.column_mut(others.len()) {
        last.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(left + 2)));
    }
    for place in 0..others.len() {
        if let Some(column) = grid.column_mut(place) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
}

fn value(cell: &Cell, show: Show) -> String {
    match cell {
        Cell::None => String::new(),
        Cell::Text(text) => printable(text).replace('\n', " "),
        Cell::Lines(lines) => {
            let lines = lines.iter().map(|line| printable(line).replace('\n', " "));
            lines.collect::<Vec<_>>().join("\n")
        }
        Cell::Bytes(bytes) if show.bytes => display::count(*bytes),
        Cell::Bytes(bytes) => display::bytes(*bytes),
        Cell::BytesChange(change) => signed(*change, |size| match show.bytes {
            true => display::count(size),
            false => display::bytes(size),
        }),
        Cell::ByteUs(product) => format!("{}·s", bytes_of(product / 1_000_000)),
        Cell::ByteEvents(product) => format!("{}·ev", bytes_of(*product)),
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

fn bytes_of(number: u128) -> Bytes {
    Bytes(u64::try_from(number).unwrap_or(u64::MAX))
}
