//! The parts of an answer about a text: all failures, then the first ones in full.

use vramscope_core::units::Bytes;
use vramscope_text::{
    Cause, Conclusion, Failure, Figure, Reading, Record, Report, Usage, conclude, next_steps,
    notes, who_failed, whole,
};

use crate::report::{Cell, Column, Part, column, detail, remark};

/// Maximum number of rows of a table; a log may have thousands.
const MOST_ROWS: usize = 100;

/// The parts about a text. `first`: how many failures to explain in full.
pub(super) fn of(name: &str, reading: &Reading, first: usize) -> Vec<Part> {
    let whole = whole(reading);
    let mut head = Part {
        file: name.to_owned(),
        ..Part::default()
    };
    head.fact("lines", "", Cell::Number(reading.lines));
    let broken_off = reading.broken_off.clone();
    head.fact("broken_off", "", Cell::or_none(broken_off, Cell::Text));
    head.fact_with(
        "failures",
        "failures",
        Cell::Number(whole.failures),
        who_failed(&whole),
    );
    let command = reading.command.clone();
    head.fact("command", "command", Cell::or_none(command, Cell::Text));
    failures_table(&mut head, reading);
    usage_table(&mut head, reading);
    devices_table(&mut head, reading);
    head.notes = notes(reading, &whole);
    let mut parts = vec![head];
    let in_order = whole.first.into_iter().chain(0..reading.records.len());
    let mut told = Vec::new();
    for place in in_order {
        if told.contains(&place) {
            continue;
        }
        let record = &reading.records[place];
        if let Some(conclusion) = conclude(record) {
            if told.len() == first {
                let note = "`vramscope text --first N` explains the first N failures in full.";
                parts[0].notes.push(note.to_owned());
                break;
            }
            told.push(place);
            parts.push(explained(
                name,
                record,
                &conclusion,
                reading.command.as_deref(),
            ));
        }
    }
    parts
}

fn size(figure: Option<&Figure>) -> Cell {
    Cell::or_none(figure, |figure| Cell::Bytes(figure.bytes))
}

fn text(text: &str) -> Cell {
    Cell::or_none(Some(text).filter(|text| !text.is_empty()), |text| {
        Cell::Text(text.to_owned())
    })
}

/// A value's word in JSON.
fn json(value: impl serde::Serialize) -> Cell {
    Cell::or_none(serde_json::to_value(value).ok(), |value| match value {
        serde_json::Value::String(word) => Cell::Text(word),
        other => Cell::Json(other),
    })
}

fn failures_table(part: &mut Part, reading: &Reading) {
    const COLUMNS: [Column; 9] = [
        column("line", "line"),
        column("from", "from"),
        column("times", "times"),
        column("requested_bytes", "requested"),
        column("device_free_bytes", "free on device"),
        column("why", "why"),
        detail("class"),
        detail("sure"),
        column("explanation", ""),
    ];
    let rows = reading.records.iter().filter_map(|record| {
        let told = conclude(record)?;
        let cause = told.main();
        let (requested, free) = record.request();
        Some(vec![
            Cell::Number(record.line),
            text(&record.teller()),
            Cell::Number(record.times),
            size(requested),
            size(free),
            Cell::Text(cause.why.to_owned()),
            json(cause.class),
            json(cause.sure),
            Cell::Text(cause.title.clone()),
        ])
    });
    part.table("failed", "", &COLUMNS, rows.take(MOST_ROWS).collect());
}

/// A sparkline of a quantity over the text; empty if it is reported only once.
fn course(usage: &Usage, lines: u64) -> String {
    const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    if usage.count == 1 {
        return String::new();
    }
    let columns = usage.course.columns(lines, 24).into_iter();
    let highest = usage.highest.bytes.max(1) as f64;
    let height = |bytes: u64| HEIGHTS[((bytes as f64 / highest * 8.0) as usize).min(7)];
    columns.map(|bytes| bytes.map_or(' ', height)).collect()
}

fn usage_table(part: &mut Part, reading: &Reading) {
    const COLUMNS: [Column; 10] = [
        column("tool", "tool"),
        column("from", "from"),
        column("what", "what"),
        column("line", "first line"),
        column("count", "lines"),
        column("first_bytes", "first"),
        column("last_bytes", "last"),
        column("highest_bytes", "highest"),
        remark("course", "over the text"),
        detail("points"),
    ];
    let rows = reading.usage.iter().take(MOST_ROWS).map(|usage| {
        vec![
            Cell::Text(usage.tool.to_owned()),
            text(&usage.from),
            Cell::Text(usage.what.to_owned()),
            Cell::Number(usage.line),
            Cell::Number(usage.count),
            Cell::Bytes(usage.first.bytes),
            Cell::Bytes(usage.last.bytes),
            Cell::Bytes(usage.highest.bytes),
            text(&course(usage, reading.lines)),
            json(usage.course.points()),
        ]
    });
    part.table("usage", "Told by log lines", &COLUMNS, rows.collect());
}

fn devices_table(part: &mut Part, reading: &Reading) {
    const COLUMNS: [Column; 5] = [
        column("line", "line"),
        column("device", "device"),
        column("used_bytes", "used"),
        column("device_bytes", "of"),
        column("processes", "processes"),
    ];
    let rows = reading.records.iter().flat_map(|record| {
        let devices = match &record.report {
            Report::Devices(devices) => &devices[..],
            _ => &[],
        };
        devices.iter().map(|device| {
            let processes = device.processes.iter().map(|process| {
                let (pid, name) = (process.pid, &process.name);
                format!("{pid} {name} {}", Bytes(process.held.bytes))
            });
            vec![
                Cell::Number(record.line),
                Cell::Number(device.device),
                Cell::Bytes(device.used.bytes),
                Cell::Bytes(device.total.bytes),
                text(&processes.collect::<Vec<_>>().join("; ")),
            ]
        })
    });
    part.table(
        "devices",
        "Devices in tables",
        &COLUMNS,
        rows.take(MOST_ROWS).collect(),
    );
}

/// A failure in full.
fn explained(name: &str, record: &Record, told: &Conclusion, command: Option<&str>) -> Part {
    let mut part = Part {
        file: name.to_owned(),
        ..Part::default()
    };
    let cause = told.main();
    part.prose.push(cause.explanation());
    part.fact("line", "line", Cell::Number(record.line));
    part.fact("offset", "", Cell::Number(record.offset));
    part.fact("from", "from", text(&record.from));
    let framework = record
        .framework
        .map(|framework| framework.name().to_owned());
    part.fact(
        "framework",
        "framework",
        Cell::or_none(framework, Cell::Text),
    );
    part.fact("call_site", "request", text(&record.place));
    if let Report::Failure(failure) = &record.report {
        figures(&mut part, failure);
    }
    part.fact("why", "why", Cell::Text(cause.why.to_owned()));
    part.fact("class", "", json(cause.class));
    part.fact_with("sure", "", json(cause.sure), "");
    part.fact(
        "how_sure",
        "how sure",
        Cell::Text(cause.how_sure().to_owned()),
    );
    part.fact("explanation", "", Cell::Text(cause.explanation()));
    shares_table(&mut part, told);
    if let Report::Failure(failure) = &record.report {
        lists(&mut part, failure);
    }
    causes_table(&mut part, &told.causes[1..]);
    const TRY: [Column; 1] = [column("try", "what to try")];
    let to_try = cause
        .to_try
        .iter()
        .map(|text| vec![Cell::Text(text.clone())]);
    part.table("try", "", &TRY, to_try.collect());
    const NEXT: [Column; 2] = [column("next", "to find out more"), column("tells", "")];
    let next = next_steps(record, command).into_iter();
    let next = next.map(|(line, tells)| vec![Cell::Text(line), Cell::Text(tells.to_owned())]);
    part.table("next", "", &NEXT, next.collect());
    part
}

fn figures(part: &mut Part, failure: &Failure) {
    part.fact("api", "", json(failure.api));
    part.fact("form", "", json(failure.form));
    let device = failure.device;
    part.fact(
        "device_number",
        "device number",
        Cell::or_none(device, Cell::Number),
    );
    for (key, label, figure) in failure.figures() {
        let remark = figure.map(Figure::remark).unwrap_or_default();
        part.fact_with(key, label, size(figure), remark);
    }
}

fn shares_table(part: &mut Part, told: &Conclusion) {
    const COLUMNS: [Column; 4] = [
        column("bytes", "of the device"),
        column("share", ""),
        column("what", "is"),
        detail("of"),
    ];
    let all: u64 = told.shares.iter().map(|share| share.bytes).sum();
    let rows = told.shares.iter().map(|share| {
        vec![
            Cell::Bytes(share.bytes),
            Cell::Share(share.bytes as f64 / all.max(1) as f64),
            Cell::Text(share.of.words().to_owned()),
            json(share.of),
        ]
    });
    part.table("shares", "", &COLUMNS, rows.collect());
}

fn lists(part: &mut Part, failure: &Failure) {
    const PROCESSES: [Column; 2] = [column("held_bytes", "held"), column("pid", "by process")];
    let rows = failure.processes.iter();
    let rows = rows.map(|process| {
        vec![
            Cell::Bytes(process.held.bytes),
            Cell::Json(process.pid.into()),
        ]
    });
    part.table("processes", "", &PROCESSES, rows.collect());
    const BUFFERS: [Column; 4] = [
        column("bytes", "largest buffers"),
        column("shape", "shape"),
        column("operator", "operator"),
        column("call_site", "made at"),
    ];
    let rows = failure.buffers.iter().map(|buffer| {
        vec![
            Cell::Bytes(buffer.size.bytes),
            text(&buffer.shape),
            text(&buffer.operator),
            text(&buffer.place),
        ]
    });
    part.table("buffers", "", &BUFFERS, rows.collect());
}

fn causes_table(part: &mut Part, causes: &[Cause]) {
    const COLUMNS: [Column; 4] = [
        column("why", "also"),
        column("how_sure", "how sure"),
        detail("class"),
        column("explanation", ""),
    ];
    let rows = causes.iter().map(|cause| {
        vec![
            Cell::Text(cause.why.to_owned()),
            Cell::Text(cause.how_sure().to_owned()),
            json(cause.class),
            Cell::Text(cause.explanation()),
        ]
    });
    part.table("causes", "", &COLUMNS, rows.collect());
}
