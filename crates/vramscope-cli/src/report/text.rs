//! An answer as text: labelled figures, aligned tables, rounded sizes with the exact bytes beside them.
//!
//! Headings are bold and secondary text is faint, through escape sequences that `output` removes where
//! they would not show. Control characters from files are replaced cell by cell before that.

use anstyle::{Effects, Style};
use comfy_table::CellAlignment;
use comfy_table::presets::NOTHING;
use vramscope_core::units::{Bytes, Count};
use vramscope_view::display;

use super::{Cell, Fact, Part, Rest, Table, cut};
use crate::arguments::Show;
use crate::output::{printable, printable_line, wrap};

const HEADING: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// The narrowest wrapped column, in characters. Below this the terminal may wrap rows as it likes.
const LEAST_WIDTH: usize = 20;

/// The longest label in characters; JSON and CSV have it whole. All rows of a table are as wide as the widest, so
/// a label of a megabyte would fill the memory.
const LONGEST: usize = 1000;

/// Renders all parts, with an empty line between them. `width`: the terminal's columns, if there is one.
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
    let is_shown = |table: &&Table| {
        !table.rows.is_empty() && !table.columns.iter().all(|column| column.is_detail)
    };
    for table in part.tables.iter().filter(is_shown) {
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
    // A column without any value is omitted.
    let is_shown = |place: &usize| {
        let mut cells = table.rows.iter().filter_map(|row| row.get(*place));
        !table.columns[*place].is_detail && cells.any(|cell| *cell != Cell::None)
    };
    let places: Vec<usize> = (0..table.columns.len()).filter(is_shown).collect();
    let cells = |row: &[Cell]| -> Vec<String> {
        let cells = places.iter().filter_map(|&place| row.get(place));
        cells.map(|cell| value(cell, show)).collect()
    };
    let mut lines: Vec<_> = rows.iter().map(|row| cells(row)).collect();
    if let Some(Rest { rows, sums }) = others {
        let mut cells = cells(&sums);
        if let Some(last) = cells.last_mut() {
            *last = format!("{} further", Count(rows as u64));
        }
        lines.push(cells);
    }
    let headers: Vec<_> = places
        .iter()
        .map(|&place| table.columns[place].header)
        .collect();
    fit(&mut lines, &headers, width);
    let mut grid = comfy_table::Table::new();
    grid.load_style(NOTHING).force_no_tty();
    grid.set_header(headers.into_iter().map(|header| match header {
        "" => String::new(),
        header => format!("{FAINT}{header}{FAINT:#}"),
    }));
    grid.add_rows(lines);
    for (column, &place) in grid.column_iter_mut().zip(&places) {
        column.set_padding((if place == places[0] { 2 } else { 1 }, 1));
        let is_text =
            |row: &Vec<Cell>| matches!(row.get(place), Some(Cell::Text(_) | Cell::Lines(_)));
        if !table.rows.iter().any(is_text) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in grid.lines() {
        text.push_str(line.trim_end());
        text.push('\n');
    }
}

/// Wraps the last column, which has the long texts, at the terminal's edge, so that figures stay aligned
/// and nothing is cut. In a file or a pipe each row stays one line.
fn fit(lines: &mut [Vec<String>], headers: &[&str], width: Option<u16>) {
    let (Some(width), Some(last)) = (width, headers.len().checked_sub(1)) else {
        return;
    };
    let widest = |place: usize| {
        let cells = lines.iter().filter_map(|line| line.get(place));
        let widths = cells.map(|cell| cell.chars().count());
        widths
            .max()
            .unwrap_or(0)
            .max(headers[place].chars().count())
    };
    // Two spaces before each column, one after the last.
    let taken: usize = (0..last).map(|place| widest(place) + 2).sum();
    let room = usize::from(width).saturating_sub(taken + 3);
    if room < LEAST_WIDTH {
        return;
    }
    for cell in lines.iter_mut().filter_map(|line| line.get_mut(last)) {
        *cell = wrap::label(cell, room);
    }
}

fn value(cell: &Cell, show: Show) -> String {
    match cell {
        Cell::None => String::new(),
        Cell::Text(text) => one_line(text),
        Cell::Lines(lines) if lines.is_empty() => "none recorded".to_owned(),
        Cell::Lines(lines) => {
            let lines = lines.iter().map(|line| one_line(line));
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
        Cell::Json(value) => one_line(&value.to_string()),
    }
}

/// Puts a text from the file on one line and cuts it to [`LONGEST`].
fn one_line(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(LONGEST) else {
        return printable_line(text);
    };
    printable_line(&text[..end]) + "…"
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
