//! Tests of the three forms of one answer.

use insta::assert_snapshot;

use super::*;

const PLAIN: Show = Show {
    json: false,
    csv: false,
    bytes: false,
    limit: Some(2),
};

fn answer() -> Vec<Part> {
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
    let rows = vec![
        row(50, "a.py:1 f"),
        row(30, "b, \"c\""),
        row(15, "c"),
        row(5, "d"),
    ];
    part.table("call_sites", "by call site", &columns, rows);
    part.notes.push("Something is missing.".to_owned());
    vec![part]
}

#[test]
fn as_text() {
    let text = text::render(&answer(), PLAIN, None);
    assert_snapshot!(anstream::adapter::strip_str(&text).to_string());
}

#[test]
fn as_json() {
    let json = written(|out| json::write(out, "peak", &answer(), PLAIN));
    assert_snapshot!(json.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

#[test]
fn as_csv() {
    assert_snapshot!(written(|out| csv::write(out, &answer(), PLAIN)));
}

fn written(write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn in_a_narrow_terminal_only_the_labels_wrap() {
    let mut parts = answer();
    let labels = [
        "transformer_engine/pytorch/module/layernorm_mlp.py:1234 forward",
        "a.py:1 forward < b.py:22 backward < c.py:333 step < d.py:4444 main",
    ];
    for (row, label) in parts[0].tables[0].rows.iter_mut().zip(labels) {
        row[2] = Cell::Text(label.to_owned());
    }
    let text = text::render(&parts, PLAIN, Some(60));
    let text = anstream::adapter::strip_str(&text).to_string();
    assert!(text.lines().skip(4).all(|line| line.chars().count() <= 60));
    assert_snapshot!(text);
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
    let mut parts = answer();
    parts[0].tables[0].rows[0][2] = Cell::Text("é".repeat(1 << 20));
    let text = text::render(&parts, PLAIN, None);
    assert!(text.contains(&format!("{}…", "é".repeat(1000))));
    assert!(text.len() < 5000);
}
