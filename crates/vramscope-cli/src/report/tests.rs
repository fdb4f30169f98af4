//! Tests of the three forms of one answer.

use std::iter;

use insta::assert_snapshot;

use super::*;

const PLAIN: Show = Show {
    json: false,
    csv: false,
    bytes: false,
    limit: Some(2),
};

fn answer() -> Part {
    answer_with(["a.py:1 f", "b, \"c\""])
}

/// The same with other labels in its first two rows.
fn answer_with([first, second]: [&str; 2]) -> Part {
    let mut part = Part::of("a\u{1b}[2J.pickle", 0);
    part.fact_with("peak_bytes", "peak", Cell::Bytes(3 << 30), "after event 7");
    part.fact("end_bytes", "at the end", Cell::None);
    let row = |bytes: u64, label: &str| {
        vec![
            Cell::Bytes(bytes),
            Cell::Share(bytes as f64 / 100.0),
            Cell::Text(label.to_owned()),
        ]
    };
    let columns = [
        sum("bytes", "bytes"),
        sum("share", "share"),
        column("call_site", "call site"),
    ];
    let rows = vec![row(50, first), row(30, second), row(15, "c"), row(5, "d")];
    part.table("call_sites", "by call site", &columns, rows);
    part.notes.push("Something is missing.".to_owned());
    part
}

#[test]
fn as_text() {
    assert_snapshot!(text_of(&answer(), None));
}

#[test]
fn as_json() {
    let json = written(|out| json::write(out, "peak", iter::once(answer()), PLAIN));
    assert_snapshot!(json.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn as_csv() {
    assert_snapshot!(written(|out| csv::write(out, iter::once(answer()), PLAIN)));
}

fn text_of(part: &Part, width: Option<usize>) -> String {
    let text = written(|out| text::write(out, part, PLAIN, width));
    anstream::adapter::strip_str(&text).to_string()
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn in_a_narrow_terminal_only_the_labels_wrap() {
    let part = answer_with([
        "transformer_engine/pytorch/module/layernorm_mlp.py:1234 forward",
        "a.py:1 forward < b.py:22 backward < c.py:333 step < d.py:4444 main",
    ]);
    let text = text_of(&part, Some(60));
    assert!(text.lines().skip(4).all(|line| line.chars().count() <= 60));
    assert_snapshot!(text);
}

#[test]
fn in_a_narrow_terminal_remarks_go_below_the_labels() {
    let mut part = Part::of("a.pickle", 0);
    let columns = [
        sum("bytes", "bytes"),
        remark("operators", "operators"),
        column("group", "call site"),
    ];
    let row = |bytes: u64, operators: Option<&str>, label: &str| {
        let operators = Cell::or_none(operators, |text| Cell::Text(text.to_owned()));
        vec![Cell::Bytes(bytes), operators, Cell::Text(label.to_owned())]
    };
    let rows = vec![
        row(
            50,
            Some("to in einsum (autocast), bmm in einsum and 1 other"),
            "model.py:39 forward",
        ),
        row(30, None, "train.py:170 main"),
    ];
    part.table("groups", "", &columns, rows);
    let wide = text_of(&part, Some(120));
    let narrow = text_of(&part, Some(60));
    assert!(wide.contains("1 other  model.py:39 forward"), "{wide}");
    assert_snapshot!(narrow);
}

/// A limit set by the user is exact; only text's default limit allows one row more.
#[test]
fn a_limit_is_never_exceeded() {
    let all = [
        Show::default(),
        Show {
            json: true,
            ..Show::default()
        },
        Show {
            csv: true,
            ..Show::default()
        },
    ];
    for show in all {
        let limited = |limit| Show {
            limit: Some(limit),
            ..show
        };
        assert_eq!(rows_shown(11, limited(10)), 10);
        assert_eq!(rows_shown(10, limited(10)), 10);
        assert_eq!(rows_shown(11, limited(0)), 11);
    }
    let usual = [21, 22].map(|rows| rows_shown(rows, Show::default()));
    assert_eq!(usual, [21, TEXT_ROWS]);
}

#[test]
fn a_label_without_end_is_cut() {
    let part = answer_with([&"é".repeat(1 << 20), "b"]);
    let text = text_of(&part, None);
    assert!(text.contains(&format!("{}…", "é".repeat(1000))));
    assert!(text.len() < 5000);
}
