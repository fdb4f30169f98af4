//! Allocations as comma-separated values for spreadsheets (RFC 4180, except that lines end in LF as on the command line).

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt::Write;

use super::Value;
use super::allocations::{BEFORE, columns, fields};
use crate::analysis::recording::Device;
use crate::invisible;

/// The first line. Events are numbered from 1 as on the page; times are microseconds since the Unix epoch; an empty field
/// means unknown or never.
#[must_use]
pub fn csv_header() -> String {
    let names: Vec<&str> = fields().iter().map(|field| field.name).collect();
    names.join(",") + "\n"
}

/// Appends a line for each of these rows; rows beyond the table are ignored.
pub fn append_csv(device: Device<'_>, shown: &[u32], out: &mut String) {
    let shown = shown.iter().map(|&row| row as usize);
    let fields = fields();
    let Ok(()) = columns::<Infallible>(device, &mut |columns| {
        let cells = columns.cells[BEFORE..].iter().zip(&fields);
        for row in shown.clone().filter(|&row| row < columns.rows) {
            let values = cells
                .clone()
                .map(|(cells, field)| cells.value(row, field.kind));
            append_line(values, out);
        }
        Ok(())
    });
}

fn append_line<'a>(values: impl IntoIterator<Item = Value<'a>>, out: &mut String) {
    for (place, value) in values.into_iter().enumerate() {
        if place > 0 {
            out.push(',');
        }
        if let Value::Text(text) = &value {
            append_text(text, out);
        } else {
            // Writing to a `String` cannot fail.
            let _ = write!(out, "{value}");
        }
    }
    out.push('\n');
}

/// A text as a cell that no spreadsheet executes: one that begins like a formula gets an apostrophe in front, which
/// spreadsheets take as the mark of a text. Plain numbers are unchanged.
#[must_use]
pub fn csv_text(text: &str) -> Cow<'_, str> {
    // Spreadsheets may drop invisible characters, and read full-width signs as ordinary ones.
    let seen = text.trim_start_matches(is_unseen);
    let is_formula = seen.starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
        || text.starts_with(['\t', '\r', '\n']);
    match is_formula && text.parse::<f64>().is_err() {
        true => format!("'{text}").into(),
        false => text.into(),
    }
}

/// Whether a character takes no room when shown: white space, controls, zero-width characters, direction marks and byte
/// order marks.
fn is_unseen(character: char) -> bool {
    character.is_whitespace() || character.is_control() || invisible::is_invisible(character)
}

fn append_text(text: &str, out: &mut String) {
    let text = &*csv_text(text);
    if !text.contains(['"', ',', '\r', '\n']) {
        out.push_str(text);
        return;
    }
    out.push('"');
    for part in text.split_inclusive('"') {
        out.push_str(part);
        if part.ends_with('"') {
            out.push('"');
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cell_is_a_formula() {
        let formulas = [
            "=cmd|' /C calc'!A0",
            "+1+1",
            "-f",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "-",
            "--1",
            "\n=1",
            "＝1+1",
            "＋1",
            "－f",
            "＠SUM(A1)",
            "\0=1",
            "\u{feff}=1",
            "\u{200b}\u{2060}@f",
            "\u{202e}+f",
            " =1",
            "\u{a0}\u{1b}=1",
        ];
        for text in formulas {
            assert_eq!(csv_text(text), format!("'{text}"));
        }
        for text in ["", "a=b", "-5", "+1.5e3", "'=1", "train.py:1"] {
            assert_eq!(csv_text(text), text);
        }
        let mut out = String::new();
        append_line([Value::Text("=1,2".into()), Value::Number(-5)], &mut out);
        assert_eq!(out, "\"'=1,2\",-5\n");
    }

    #[test]
    fn quotes_and_commas_are_kept() {
        let text = |text: &'static str| Value::Text(text.into());
        let mut out = String::new();
        append_line(
            [
                text("a"),
                text("f(int, char)"),
                text("say \"x\""),
                Value::None,
                Value::Number(5),
                Value::Address(255),
            ],
            &mut out,
        );
        assert_eq!(out, "a,\"f(int, char)\",\"say \"\"x\"\"\",,5,0xff\n");
    }
}
