//! The answer of `info` as parts, for JSON: one about the file, then one per device.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use vramscope_core::analysis::memory::capture::Capture;
use vramscope_core::analysis::report::facts::Fact;
use vramscope_core::analysis::report::peak_roles::PeakRoles;
use vramscope_core::analysis::report::pool_lines::PoolLine;
use vramscope_core::analysis::report::summary::{DeviceSummary, StateSummary, Summary};

use super::{Info, PeakSites};
use crate::report::{Cell, Column, Damage, Part, Rest, Table, column, sum};

/// Keys of a final state's figures: reserved, allocated, pending free, free, largest free block, rounding, segments, blocks.
type StateKeys = [&'static str; 8];

const DEVICE_STATE: StateKeys = [
    "reserved_bytes",
    "allocated_bytes",
    "pending_bytes",
    "free_bytes",
    "largest_free_bytes",
    "rounding_bytes",
    "segments",
    "blocks",
];

const HOST_STATE: StateKeys = [
    "host_reserved_bytes",
    "host_allocated_bytes",
    "host_pending_bytes",
    "host_free_bytes",
    "host_largest_free_bytes",
    "host_rounding_bytes",
    "host_segments",
    "host_blocks",
];

/// The parts about one file.
pub(super) fn parts(info: &Info) -> Vec<Part> {
    let mut parts = vec![file_part(info)];
    parts.extend(info.summary.devices.iter().map(|device| {
        let mut part = device_part(&info.file, device);
        if let Some(peak) = info.peaks.iter().find(|peak| peak.device == device.device) {
            part.fact("verdict", "", Cell::Text(peak.verdict.clone()));
            part.tables.push(site_table(peak));
            role_table(&mut part, &peak.roles);
        }
        fact_table(&mut part, &info.facts);
        part
    }));
    let warnings = info.summary.warnings.iter();
    let damage = Damage::of(&info.file, warnings.filter(|it| it.kind.is_damage()));
    for part in &mut parts {
        part.damage.clone_from(&damage);
    }
    parts
}

fn file_part(info: &Info) -> Part {
    let summary = &info.summary;
    let mut part = Part {
        file: info.file.clone(),
        ..Part::default()
    };
    let source = &summary.source;
    let containers = source.containers.iter().map(ToString::to_string);
    figure(
        &mut part,
        "containers",
        Cell::Lines(Arc::new(containers.collect::<Vec<_>>())),
    );
    figure(&mut part, "file_bytes", Cell::Bytes(source.file_bytes));
    figure(
        &mut part,
        "decoded_bytes",
        Cell::Bytes(source.decoded_bytes),
    );
    figure(&mut part, "producer", text(&summary.producer.name));
    figure(
        &mut part,
        "producer_evidence",
        text(&summary.producer.evidence),
    );
    let tables = &summary.tables;
    let numbers = [
        ("events", tables.events),
        ("strings", tables.strings),
        ("frames", tables.frames),
        ("stacks", tables.stacks),
        ("streams", tables.streams),
        ("annotations", tables.annotations),
    ];
    for (key, number) in numbers {
        figure(&mut part, key, Cell::Number(number));
    }
    if let Some(host) = &summary.host {
        figure(&mut part, "host_events", Cell::Number(host.events));
        state_figures(&mut part, &host.state, true, HOST_STATE);
    }
    if let Some(capture) = &summary.capture {
        capture_part(&mut part, capture);
    }
    fact_table(&mut part, &info.facts);
    settings_table(&mut part, summary);
    warning_table(&mut part, summary);
    part
}

fn capture_part(part: &mut Part, capture: &Capture) {
    const COLUMNS: [Column; 10] = [
        column("device", ""),
        column("name", ""),
        column("uuid", ""),
        column("total_bytes", ""),
        column("other_last_bytes", ""),
        column("other_highest_bytes", ""),
        column("other_highest_us", ""),
        column("other_samples", ""),
        column("graphs_last_bytes", ""),
        column("graphs_highest_bytes", ""),
    ];
    figure(part, "capture_tool", text(&capture.tool));
    figure(
        part,
        "program",
        Cell::Lines(Arc::new(capture.program.clone())),
    );
    let process = Some(capture.process).filter(|&process| process > 0);
    figure(part, "process", Cell::or_none(process, Cell::Number));
    figure(
        part,
        "started_us",
        Cell::or_none(capture.started_us, Cell::TimeUs),
    );
    figure(part, "ended", text(capture.ended.word()));
    figure(
        part,
        "read_us",
        Cell::or_none(capture.read_us, Cell::TimeUs),
    );
    for (name, number) in [
        ("dropped_records", capture.dropped_records),
        ("dropped_entries", capture.dropped_entries),
    ] {
        figure(part, name, Cell::Number(number));
    }
    let rows = capture.devices.iter().map(|device| {
        let other = device.other;
        vec![
            Cell::Number(device.index.into()),
            text(&device.name),
            text(&device.uuid),
            Cell::or_none(device.total_bytes, Cell::Bytes),
            Cell::or_none(other, |other| Cell::Bytes(other.last_bytes)),
            Cell::or_none(other, |other| Cell::Bytes(other.highest_bytes)),
            Cell::or_none(other, |other| Cell::TimeUs(other.highest_us)),
            Cell::or_none(other, |other| Cell::Number(other.samples)),
            Cell::or_none(device.graphs, |graphs| Cell::Bytes(graphs.last_bytes)),
            Cell::or_none(device.graphs, |graphs| Cell::Bytes(graphs.highest_bytes)),
        ]
    });
    part.table("captured_devices", "", &COLUMNS, rows.collect());
    part.notes.extend(capture.notes.iter().cloned());
}

fn device_part(file: &str, device: &DeviceSummary) -> Part {
    let mut part = Part::of(file, device.device);
    let (span, peak) = (device.time_span, &device.peak);
    let figures = [
        ("events", Cell::Number(device.events)),
        (
            "start_us",
            Cell::or_none(span, |span| Cell::TimeUs(span.start_us)),
        ),
        (
            "end_us",
            Cell::or_none(span, |span| Cell::TimeUs(span.end_us)),
        ),
        ("ooms", Cell::Number(device.ooms)),
        ("allocations", Cell::Number(device.allocations)),
        (
            "allocations_before_recording",
            Cell::Number(device.allocations_before_recording),
        ),
        (
            "bytes_before_recording",
            Cell::Bytes(device.bytes_before_recording),
        ),
        (
            "allocations_live_at_end",
            Cell::Number(device.allocations_still_live),
        ),
        ("peak_bytes", Cell::Bytes(peak.active_bytes)),
        ("peak_moment", Cell::Number(peak.moment.into())),
        ("peak_time_us", Cell::or_none(peak.time_us, Cell::TimeUs)),
        ("peak_allocations", Cell::Number(peak.allocations)),
        ("end_bytes", Cell::Bytes(device.active_at_end_bytes)),
        (
            "reserved_max_bytes",
            Cell::or_none(device.reserved_max_bytes, Cell::Bytes),
        ),
        (
            "reserved_end_bytes",
            Cell::or_none(device.reserved_at_end_bytes, Cell::Bytes),
        ),
    ];
    for (key, cell) in figures {
        figure(&mut part, key, cell);
    }
    let is_known = device.reserved_at_end_bytes.is_some();
    state_figures(&mut part, &device.state, is_known, DEVICE_STATE);
    let streams = device.state.streams.iter();
    let streams = streams.map(|&raw| Cell::Json(raw.into()));
    part.table(
        "final_streams",
        "",
        &[column("stream_handle", "")],
        streams.map(|cell| vec![cell]).collect(),
    );
    let pools = device.pools.lines.iter().map(pool_row);
    part.table("pools", "", &POOL_COLUMNS, pools.collect());
    let actions = device.events_by_action.iter();
    let actions = actions.map(|entry| vec![Cell::Number(entry.count), text(&entry.action)]);
    let columns = [sum("events", ""), column("action", "")];
    part.table("events_by_action", "", &columns, actions.collect());
    part
}

const POOL_COLUMNS: [Column; 8] = [
    sum("reserved_bytes", ""),
    sum("peak_bytes", ""),
    sum("allocations", ""),
    column("pool", ""),
    column("is_inferred", ""),
    column("because", ""),
    column("owner", ""),
    column("filter", ""),
];

fn pool_row(line: &PoolLine) -> Vec<Cell> {
    vec![
        Cell::Bytes(line.reserved_bytes),
        Cell::Bytes(line.peak_bytes),
        Cell::Number(line.allocations),
        text(&line.label),
        Cell::Flag(line.is_inferred),
        text(&line.because),
        Cell::or_none(line.owner.clone(), Cell::Text),
        text(&line.filter),
    ]
}

/// Adds the figures of a final state; without segments, what is in them is not known.
fn state_figures(part: &mut Part, state: &StateSummary, is_known: bool, keys: StateKeys) {
    let bytes = |bytes: u64| Cell::or_none(is_known.then_some(bytes), Cell::Bytes);
    let cells = [
        bytes(state.reserved_bytes),
        bytes(state.allocated_bytes),
        bytes(state.active_bytes.saturating_sub(state.allocated_bytes)),
        bytes(state.free_bytes),
        bytes(state.largest_free_block_bytes),
        bytes(state.active_bytes.saturating_sub(state.requested_bytes)),
        Cell::Number(state.segments),
        Cell::Number(state.blocks),
    ];
    for (key, cell) in keys.into_iter().zip(cells) {
        figure(part, key, cell);
    }
}

fn site_table(peak: &PeakSites) -> Table {
    let sites = &peak.sites;
    let rows = sites.sites.iter().map(|total| {
        vec![
            Cell::Bytes(total.bytes),
            Cell::Number(total.count),
            text(&total.label),
        ]
    });
    let unmade = (sites.other_sites > 0).then(|| Rest {
        rows: usize::try_from(sites.other_sites).unwrap_or(usize::MAX),
        sums: vec![
            Cell::Bytes(sites.other_bytes),
            Cell::Number(sites.other_count),
            Cell::None,
        ],
    });
    Table {
        key: "peak_call_sites",
        title: String::new(),
        columns: vec![
            sum("bytes", ""),
            sum("allocations", ""),
            column("call_site", ""),
        ],
        rows: Box::new(rows.collect::<Vec<_>>()),
        csv_rows: Vec::new(),
        unmade,
    }
}

fn role_table(part: &mut Part, roles: &PeakRoles) {
    let rows = roles.rows.iter().map(|total| {
        vec![
            Cell::Bytes(total.bytes),
            Cell::Number(total.count),
            text(total.role.word()),
        ]
    });
    let columns = [sum("bytes", ""), sum("allocations", ""), column("role", "")];
    part.table("peak_roles", "", &columns, rows.collect());
}

/// Adds the facts about the part's device; without a device, those about the whole file.
fn fact_table(part: &mut Part, facts: &[Fact]) {
    const COLUMNS: [Column; 6] = [
        column("level", ""),
        column("kind", ""),
        column("figures", ""),
        column("text", ""),
        column("meaning", ""),
        column("advice", ""),
    ];
    let facts = facts.iter().filter(|fact| fact.device == part.device);
    let rows = facts.map(|fact| {
        let mut figures = fields(&fact.kind);
        let kind = figures.remove("kind");
        vec![
            Cell::or_none(serde_json::to_value(fact.level).ok(), Cell::Json),
            Cell::or_none(kind, Cell::Json),
            Cell::Json(figures.into()),
            text(&fact.text),
            text(&fact.meaning),
            text(&fact.advice),
        ]
    });
    let rows = rows.collect();
    part.table("facts", "", &COLUMNS, rows);
}

fn settings_table(part: &mut Part, summary: &Summary) {
    let settings = summary.settings.iter();
    let rows = settings.map(|(name, value)| vec![text(name), Cell::Json(value.clone())]);
    let columns = [column("setting", ""), column("value", "")];
    part.table("settings", "", &columns, rows.collect());
}

fn warning_table(part: &mut Part, summary: &Summary) {
    const COLUMNS: [Column; 4] = [
        sum("count", ""),
        column("kind", ""),
        column("detail", ""),
        column("places", ""),
    ];
    let rows = summary.warnings.iter().map(|warning| {
        let mut words = fields(&warning.kind);
        let mut word = |key| Cell::or_none(words.remove(key), Cell::Json);
        vec![
            Cell::Number(warning.count),
            word("kind"),
            word("detail"),
            Cell::Lines(Arc::new(warning.places.clone())),
        ]
    });
    part.table("warnings", "", &COLUMNS, rows.collect());
}

/// Adds a figure for JSON only.
fn figure(part: &mut Part, key: &'static str, cell: Cell) {
    part.fact(key, "", cell);
}

/// A text that may be empty: then the cell is [`Cell::None`].
fn text(text: &str) -> Cell {
    Cell::or_none(Some(text).filter(|text| !text.is_empty()), |text| {
        Cell::Text(text.to_owned())
    })
}

/// The fields of a value's JSON object.
fn fields(value: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}
