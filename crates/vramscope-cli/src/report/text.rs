//! An answer as text: labelled figures, aligned tables, rounded sizes with the exact bytes beside them.
//!
//! Headings are bold and secondary text is faint, through escape sequences that `output` removes where they would not
//! be seen. Control characters from files are replaced cell by cell before that.

use std::io::{self, Write};
use std::iter;

use anstyle::{Effects, Style};
use console::measure_text_width;
use vramscope_core::units::{Bytes, Count};
use vramscope_view::display;

use super::{Cell, Column, Fact, Part, Rest, Said, Table, cut};
use crate::arguments::Show;
use crate::harmless::{printable, printable_cell};
use crate::output::wrap;

const HEADING: Style = Style::new().effects(Effects::BOLD);
const FAINT: Style = Style::new().effects(Effects::DIMMED);

/// The narrowest wrapped column, in characters. In a narrower terminal, rows may wrap anyhow.
const LEAST_WIDTH: usize = 20;
/// If a terminal leaves the last column fewer characters, other texts go below those of the last column.
const GOOD_WIDTH: usize = 40;

/// Writes a part. `width`: the terminal's columns, if there is one.
pub(super) fn write(
    out: &mut dyn Write,
    part: &Part,
    show: Show,
    width: Option<usize>,
) -> io::Result<()> {
    write_heading(out, &title(part))?;
    for line in &part.prose {
        writeln!(out, "{}", printable_cell(line))?;
    }
    write_facts(out, &part.facts, show)?;
    let is_shown = |table: &&Table| {
        let has_columns = || !table.columns.iter().all(|column| column.is_detail);
        table.rows.count() > 0 && (table.rows.words(0).is_some() || has_columns())
    };
    for table in part.tables.iter().filter(is_shown) {
        out.write_all(b"\n")?;
        if !table.title.is_empty() {
            out.write_all(b"  ")?;
            write_heading(out, &table.title)?;
        }
        match table.rows.words(0) {
            Some(_) => write_words(out, table, show)?,
            None => write_table(out, table, show, width)?,
        }
    }
    for note in &part.notes {
        writeln!(out, "  {FAINT}{}{FAINT:#}", printable(note))?;
    }
    Ok(())
}

fn title(part: &Part) -> String {
    match (&part.device_title, part.device) {
        (Some(title), _) => format!("{}, {title}", part.file),
        (None, Some(device)) => format!("{}, device {device}", part.file),
        (None, None) => part.file.clone(),
    }
}

fn write_heading(out: &mut dyn Write, text: &str) -> io::Result<()> {
    writeln!(out, "{HEADING}{}{HEADING:#}", printable(text))
}

fn write_facts(out: &mut dyn Write, facts: &[Fact], show: Show) -> io::Result<()> {
    let shown = facts
        .iter()
        .filter(|fact| !matches!(fact.cell, Cell::None) && !fact.label.is_empty());
    let width = shown.clone().map(|fact| fact.label.chars().count()).max();
    let width = width.unwrap_or(0);
    for fact in shown {
        let value = match fact.cell {
            Cell::Bytes(bytes) if !show.bytes => display::bytes_exact(bytes),
            _ => lines(&fact.cell, show).collect::<Vec<_>>().join("\n"),
        };
        let remark = match fact.remark.as_str() {
            "" => String::new(),
            remark => format!("  {FAINT}{}{FAINT:#}", printable(remark)),
        };
        writeln!(out, "  {:width$}  {value}{remark}", fact.label)?;
    }
    Ok(())
}

/// Writes a table in words. Rows of several paragraphs are separated.
fn write_words(out: &mut dyn Write, table: &Table, show: Show) -> io::Result<()> {
    let (shown, rest) = cut(table, show);
    for row in 0..shown {
        let words = table.rows.words(row).unwrap_or_default();
        if row > 0 && words.len() > 1 {
            out.write_all(b"\n")?;
        }
        for said in words {
            let lines = match said {
                Said::Paragraph(first, text) => wrap::paragraph(&first, &text, wrap::PROSE_WIDTH),
                Said::Whole(line) => vec![line],
            };
            for line in lines {
                writeln!(out, "{}", printable_cell(&line))?;
            }
        }
    }
    match rest {
        Some(rest) => writeln!(out, "    {} further", Count(rest.rows as u64)),
        None => Ok(()),
    }
}

/// Before texts below those of the last column.
const INDENT: &str = "  ";

struct Shape {
    /// Its index in the table.
    place: usize,
    header: &'static str,
    /// In characters; texts of the last column may be wider.
    width: usize,
    /// Whether it has texts, which are left-aligned.
    is_text: bool,
    /// Whether they may go below those of the last column.
    is_remark: bool,
    /// Columns whose texts are below its own; only for the last column.
    below: Vec<usize>,
}

fn write_table(
    out: &mut dyn Write,
    table: &Table,
    show: Show,
    width: Option<usize>,
) -> io::Result<()> {
    let (shown, rest) = cut(table, show);
    let mut shapes = shapes(table, shown, rest.as_ref(), show);
    let room = width.and_then(|width| {
        if room_of_last(&shapes, width).is_none_or(|room| room < GOOD_WIDTH) {
            put_remarks_below(&mut shapes);
        }
        room_of_last(&shapes, width)
    });
    let headers = shapes.iter().map(|shape| shape.header.to_owned());
    write_line(out, &shapes, headers, FAINT)?;
    for row in table.rows.range(0..shown) {
        write_row(out, &shapes, &row, show, room)?;
    }
    let Some(Rest { rows, mut sums }) = rest else {
        return Ok(());
    };
    if let Some(last) = shapes.last() {
        sums[last.place] = further(rows);
    }
    write_row(out, &shapes, &sums, show, room)
}

fn further(rows: usize) -> Cell {
    Cell::Text(format!("{} further", Count(rows as u64)))
}

/// Measures the columns. Those without any value are omitted.
fn shapes(table: &Table, shown: usize, rest: Option<&Rest>, show: Show) -> Vec<Shape> {
    let columns = table.columns.iter().enumerate();
    let columns = columns.filter(|(_, column)| !column.is_detail);
    let mut shapes: Vec<_> = columns
        .map(
            |(
                place,
                &Column {
                    header, is_remark, ..
                },
            )| Shape {
                place,
                header,
                is_remark,
                width: measure_text_width(header),
                is_text: false,
                below: Vec::new(),
            },
        )
        .collect();
    let mut has_value = vec![false; shapes.len()];
    for (number, row) in table.rows.all().enumerate() {
        for (index, shape) in shapes.iter_mut().enumerate() {
            let cell = &row[shape.place];
            let is_text = matches!(cell, Cell::Text(_) | Cell::Lines(_));
            has_value[index] |= !matches!(cell, Cell::None);
            shape.is_text |= is_text;
            // Nothing follows a text in the last column, and a stack may have a million lines.
            let is_last = index + 1 == has_value.len();
            if number < shown && !(is_last && is_text) {
                shape.widen(cell, show);
            }
        }
    }
    let mut has_value = has_value.into_iter();
    shapes.retain(|_| has_value.next() == Some(true));
    if let (Some(rest), Some((last, others))) = (rest, shapes.split_last_mut()) {
        last.widen(&further(rest.rows), show);
        for shape in others {
            shape.widen(&rest.sums[shape.place], show);
        }
    }
    shapes
}

impl Shape {
    fn widen(&mut self, cell: &Cell, show: Show) {
        let widths = lines(cell, show).map(|line| measure_text_width(&line));
        self.width = self.width.max(widths.max().unwrap_or(0));
    }
}

/// The characters available to the last column. It has the long texts, which are wrapped at the terminal's edge, so
/// that figures stay aligned and nothing is cut. In a file or a pipe each row stays one line.
fn room_of_last(shapes: &[Shape], width: usize) -> Option<usize> {
    let (_, others) = shapes.split_last()?;
    // Two spaces before each column, one after the last.
    let taken: usize = others.iter().map(|shape| shape.width + 2).sum();
    let room = width.saturating_sub(taken + 3);
    (room >= LEAST_WIDTH).then_some(room)
}

/// Puts remarks below the texts of the last column, where they are wrapped, too.
fn put_remarks_below(shapes: &mut Vec<Shape>) {
    let moved: Vec<usize> = shapes
        .extract_if(.., |shape| shape.is_remark)
        .map(|shape| shape.place)
        .collect();
    if let Some(last) = shapes.last_mut() {
        last.below = moved;
    }
}

/// Writes the lines of all cells side by side.
fn write_row(
    out: &mut dyn Write,
    shapes: &[Shape],
    row: &[Cell],
    show: Show,
    room: Option<usize>,
) -> io::Result<()> {
    let last = shapes.len().saturating_sub(1);
    let cells = shapes.iter().enumerate().map(|(index, shape)| {
        let room = room.filter(|_| index == last);
        let own = fitted(lines(&row[shape.place], show), room);
        let below = shape.below.iter().map(|&place| &row[place]);
        let below = below.filter(|cell| !matches!(cell, Cell::None));
        let below = fitted(
            below.flat_map(move |cell| lines(cell, show)),
            room.map(|room| room.saturating_sub(INDENT.len())),
        );
        let below = below.map(|line| format!("{INDENT}{line}"));
        own.chain(below).peekable()
    });
    let mut cells: Vec<_> = cells.collect();
    loop {
        let line = cells
            .iter_mut()
            .map(|lines| lines.next().unwrap_or_default());
        write_line(out, shapes, line, Style::new())?;
        if cells.iter_mut().all(|lines| lines.peek().is_none()) {
            return Ok(());
        }
    }
}

/// Lines, wrapped if there is not enough room.
fn fitted(
    lines: impl Iterator<Item = String>,
    room: Option<usize>,
) -> impl Iterator<Item = String> {
    lines.flat_map(move |line| match room {
        Some(room) => wrap::label(&line, room)
            .lines()
            .map(str::to_owned)
            .collect(),
        None => vec![line],
    })
}

fn write_line(
    out: &mut dyn Write,
    shapes: &[Shape],
    cells: impl Iterator<Item = String>,
    style: Style,
) -> io::Result<()> {
    let mut line = String::from(" ");
    for (shape, cell) in shapes.iter().zip(cells) {
        let gap = " ".repeat(shape.width.saturating_sub(measure_text_width(&cell)));
        let cell = match cell.is_empty() {
            true => cell,
            false => format!("{style}{cell}{style:#}"),
        };
        match shape.is_text {
            true => line.extend([" ", &cell, &gap, " "]),
            false => line.extend([" ", &gap, &cell, " "]),
        }
    }
    writeln!(out, "{}", line.trim_end())
}

/// The lines of a cell; usually one.
fn lines<'a>(cell: &'a Cell, show: Show) -> Box<dyn Iterator<Item = String> + 'a> {
    let Cell::Lines(several) = cell else {
        return Box::new(iter::once(value(cell, show)));
    };
    let mut lines = several.lines().peekable();
    match lines.peek() {
        None => Box::new(iter::once("none recorded".to_owned())),
        Some(_) => Box::new(lines.map(|line| printable_cell(&line))),
    }
}

/// A cell of one line.
fn value(cell: &Cell, show: Show) -> String {
    match cell {
        Cell::None | Cell::Lines(_) => String::new(),
        Cell::Text(text) => printable_cell(text),
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
        Cell::Json(value) => printable_cell(&value.to_string()),
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
