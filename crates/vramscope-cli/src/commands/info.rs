//! `vramscope info`: a summary of a file: one part about the file, then one per device.

mod words;

use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};
use vramscope_core::analysis::groups::live_at::{SiteTotal, TopSites, live_at, top_call_sites};
use vramscope_core::analysis::memory::capture::Capture;
use vramscope_core::analysis::report::facts::{Fact, FactLevel, facts, warning_line};
use vramscope_core::analysis::report::overview::overview;
use vramscope_core::analysis::report::peak_roles::PeakRoles;
use vramscope_core::analysis::report::pool_lines::{PoolLine, PoolLines};
use vramscope_core::analysis::report::summary::{DeviceSummary, StateSummary, Summary, summary};
use vramscope_core::model::Warning;
use vramscope_core::units::Bytes;

use crate::arguments::{Inputs, Show};
use crate::failure::Failure;
use crate::inputs::{Question, Source, ask};
use crate::report::{Cell, Column, Part, Rest, Said, Table, Told, column, detail, sum};
use crate::subject::{Device, Subject};

const SITES: usize = 5;

/// Show what a snapshot contains: format, version, devices, peaks, gaps
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(flatten)]
    inputs: Inputs,
    #[command(flatten)]
    show: Show,
}

const EXAMPLES: &str = "\
Examples:
  vramscope info snapshot.pickle
  vramscope info run/ --device 0
  zstd -dc snapshot.pickle.zst | vramscope info -
  vramscope info --json snapshot.pickle | jq '.parts[] | select(.peak_bytes) | [.device, .peak_bytes]'";

pub(crate) fn run(options: &Options, source: &mut Source<'_>) -> Result<(), Failure> {
    ask(source, options, &options.inputs, options.show)
}

impl Question for Options {
    const COMMAND: &'static str = "info";
    const HAS_FACTS: bool = true;

    fn parts(&self, subject: &Arc<Subject>) -> Result<Vec<Part>, Failure> {
        let summary = summary(subject);
        let facts = facts(subject);
        let mut parts = vec![file_part(&subject.name, &summary, &facts)];
        for of in &summary.devices {
            let mut devices = subject.devices();
            if let Some(device) = devices.find(|device| device.index() == of.device) {
                parts.push(device_part(&device, of, &facts));
            }
        }
        Ok(parts)
    }
}

fn file_part(file: &str, summary: &Summary, facts: &[Fact]) -> Part {
    let mut part = Part {
        file: file.to_owned(),
        ..Part::default()
    };
    let (source, producer) = (&summary.source, &summary.producer);
    let containers: Vec<String> = source.containers.iter().map(ToString::to_string).collect();
    part.line("format", words::format(source));
    part.fact("containers", "", Cell::Lines(Arc::new(containers)));
    part.fact("file_bytes", "", Cell::Bytes(source.file_bytes));
    part.fact("decoded_bytes", "", Cell::Bytes(source.decoded_bytes));
    let evidence = match producer.evidence.as_str() {
        "" => String::new(),
        key => format!("(by {key})"),
    };
    part.fact_with("producer", "written by", text(&producer.name), evidence);
    part.fact("producer_evidence", "", text(&producer.evidence));
    let tables = &summary.tables;
    part.line("holds", words::holds(tables));
    part.fact("events", "", Cell::Number(tables.events));
    part.fact("strings", "", Cell::Number(tables.strings));
    part.fact("frames", "", Cell::Number(tables.frames));
    part.fact("stacks", "", Cell::Number(tables.stacks));
    part.fact("streams", "", Cell::Number(tables.streams));
    part.fact("annotations", "", Cell::Number(tables.annotations));
    for (key, value) in &summary.settings {
        if let Some(text) = value.as_str().filter(|text| !text.is_empty()) {
            part.line("settings", format!("{key}={text}"));
        }
    }
    if let Some(host) = &summary.host {
        part.fact(
            "host_events",
            "pinned host events",
            Cell::Number(host.events),
        );
        state(
            &mut part,
            "pinned host memory",
            &host.state,
            true,
            HOST_STATE,
        );
    }
    // The facts are the main table, which CSV prints.
    told_facts(&mut part, facts);
    if let Some(capture) = &summary.capture {
        captured(&mut part, capture);
    }
    let settings = summary.settings.iter();
    let settings = settings.map(|(name, value)| vec![text(name), Cell::Json(value.clone())]);
    let columns = [detail("setting"), detail("value")];
    part.table("settings", "", &columns, settings.collect());
    told_warnings(&mut part, summary);
    part
}

/// Adds how the capture was made and how it ended.
fn captured(part: &mut Part, capture: &Capture) {
    const COLUMNS: [Column; 10] = [
        column("device", "device"),
        column("name", "name"),
        column("uuid", "uuid"),
        column("total_bytes", "memory"),
        detail("other_last_bytes"),
        detail("other_highest_bytes"),
        detail("other_highest_us"),
        detail("other_samples"),
        detail("graphs_last_bytes"),
        detail("graphs_highest_bytes"),
    ];
    let process = Some(capture.process).filter(|&process| process > 0);
    let time = |time| Cell::or_none(time, Cell::TimeUs);
    part.fact("capture_tool", "", text(&capture.tool));
    part.line("program", capture.command_line());
    part.fact(
        "program",
        "",
        Cell::Lines(Arc::new(capture.program.clone())),
    );
    part.line("captured", words::captured(capture));
    part.fact("process", "", Cell::or_none(process, Cell::Number));
    part.fact("started_us", "", time(capture.started_us));
    part.fact("ended", "", text(capture.ended.word()));
    part.fact("read_us", "", time(capture.read_us));
    let lost = Cell::Number(capture.dropped_records);
    part.fact("dropped_records", "", lost);
    let (label, remark) = match capture.dropped_entries {
        0 => ("", ""),
        _ => ("let go", "older events: only the newest are kept"),
    };
    let older = Cell::Number(capture.dropped_entries);
    part.fact_with("dropped_entries", label, older, remark);
    let rows = capture.devices.iter().map(|device| {
        let (other, graphs) = (device.other, device.graphs);
        vec![
            Cell::Number(device.index.into()),
            text(&device.name),
            text(&device.uuid),
            Cell::or_none(device.total_bytes, Cell::Bytes),
            Cell::or_none(other, |other| Cell::Bytes(other.last_bytes)),
            Cell::or_none(other, |other| Cell::Bytes(other.highest_bytes)),
            Cell::or_none(other, |other| Cell::TimeUs(other.highest_us)),
            Cell::or_none(other, |other| Cell::Number(other.samples)),
            Cell::or_none(graphs, |graphs| Cell::Bytes(graphs.last_bytes)),
            Cell::or_none(graphs, |graphs| Cell::Bytes(graphs.highest_bytes)),
        ]
    });
    part.table("captured_devices", "", &COLUMNS, rows.collect());
}

fn device_part(device: &Device<'_>, of: &DeviceSummary, facts: &[Fact]) -> Part {
    let mut part = Part::of(&device.subject.name, of.device);
    let overview = overview(**device, 0);
    let verdict = overview.verdict();
    part.say("  ", &verdict);
    let made_of = overview.roles.sentence();
    if let Some(made_of) = made_of.filter(|made_of| *made_of != verdict) {
        part.say("  ", &made_of);
    }
    device_facts(&mut part, of);
    let is_known = of.reserved_at_end_bytes.is_some();
    state(&mut part, "final state", &of.state, is_known, DEVICE_STATE);
    part.fact("verdict", "", Cell::Text(verdict));
    let streams = of.state.streams.iter();
    let streams = streams.map(|&raw| vec![Cell::Json(raw.into())]);
    part.table(
        "final_streams",
        "",
        &[detail("stream_handle")],
        streams.collect(),
    );
    told_pools(&mut part, &of.pools);
    let actions = of.events_by_action.iter();
    let actions = actions.map(|entry| vec![Cell::Number(entry.count), text(&entry.action)]);
    let columns = [detail("events"), detail("action")];
    part.table("events_by_action", "", &columns, actions.collect());
    let live = live_at(device.history, device.history.peak_moment);
    part.tables.push(sites(
        &top_call_sites(**device, live, SITES),
        overview.has_trace,
    ));
    roles(&mut part, &overview.roles);
    told_facts(&mut part, facts);
    part
}

/// Adds a device's figures.
fn device_facts(part: &mut Part, of: &DeviceSummary) {
    let (span, peak) = (of.time_span, &of.peak);
    let has_trace = of.events > 1;
    let time = |time: Option<i64>| Cell::or_none(time, Cell::TimeUs);
    part.fact_with("events", "events", Cell::Number(of.events), words::span(of));
    part.line("by action", words::actions(of));
    part.fact("start_us", "", time(span.map(|span| span.start_us)));
    part.fact("end_us", "", time(span.map(|span| span.end_us)));
    part.fact("ooms", "", Cell::or_none(of.ooms, Cell::Number));
    let allocations = Cell::Number(of.allocations);
    part.fact_with(
        "allocations",
        "allocations",
        allocations,
        words::allocations(of),
    );
    let before = Cell::Number(of.allocations_before_recording);
    part.fact("allocations_before_recording", "", before);
    let before = Cell::Bytes(of.bytes_before_recording);
    part.fact("bytes_before_recording", "", before);
    let live = Cell::Number(of.allocations_still_live);
    part.fact("allocations_live_at_end", "", live);
    // Without a trace, only the state at the dump is known.
    let [peak_label, end_label, most_label, reserved_label] = match has_trace {
        true => [
            "peak live",
            "live at end",
            "reserved max",
            "reserved at end",
        ],
        false => ["live", "", "reserved", ""],
    };
    let most = Cell::Bytes(peak.active_bytes);
    part.fact_with("peak_bytes", peak_label, most, words::peak(of));
    part.fact("peak_moment", "", Cell::Number(peak.moment.into()));
    part.fact("peak_time_us", "", time(peak.time_us));
    part.fact("peak_allocations", "", Cell::Number(peak.allocations));
    part.fact("end_bytes", end_label, Cell::Bytes(of.active_at_end_bytes));
    for (key, label, bytes) in [
        ("reserved_max_bytes", most_label, of.reserved_max_bytes),
        (
            "reserved_end_bytes",
            reserved_label,
            of.reserved_at_end_bytes,
        ),
    ] {
        part.fact(key, label, Cell::or_none(bytes, Cell::Bytes));
        if bytes.is_none() {
            part.line(label, "unknown: no segment is recorded".to_owned());
        }
    }
}

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

/// Adds the figures of a final state; without segments, their content is unknown.
fn state(part: &mut Part, name: &'static str, of: &StateSummary, is_known: bool, keys: StateKeys) {
    let pending = of.active_bytes.saturating_sub(of.allocated_bytes);
    let rounding = of.active_bytes.saturating_sub(of.requested_bytes);
    let has_pending = if pending > 0 { "  pending free" } else { "" };
    part.line(name, words::state(of));
    let figures = [
        ("", of.reserved_bytes, ""),
        ("  allocated", of.allocated_bytes, ""),
        (has_pending, pending, "wait for other streams"),
        ("  free", of.free_bytes, "cached by the allocator"),
        ("  largest free", of.largest_free_block_bytes, "one block"),
        ("  rounding", rounding, "in what is in use"),
    ];
    for (key, (label, bytes, remark)) in keys.into_iter().zip(figures) {
        let label = if of.segments > 0 { label } else { "" };
        let cell = Cell::or_none(is_known.then_some(bytes), Cell::Bytes);
        part.fact_with(key, label, cell, remark);
    }
    part.fact(keys[6], "", Cell::Number(of.segments));
    part.fact(keys[7], "", Cell::Number(of.blocks));
}

/// Adds the memory pools, if there are several.
fn told_pools(part: &mut Part, pools: &PoolLines) {
    const KEYS: [&str; 8] = [
        "reserved_bytes",
        "peak_bytes",
        "allocations",
        "pool",
        "is_inferred",
        "because",
        "owner",
        "filter",
    ];
    let rows = Told {
        values: pools.lines.clone(),
        row: |line: &PoolLine| {
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
        },
        words: |line| {
            let owner = line.owner.iter().map(|owner| format!(" Mostly {owner}."));
            let owner: String = owner.collect();
            let first = format!("    {:>9}  ", Bytes(line.reserved_bytes).to_string());
            vec![Said::new(
                first,
                format!("{}.{owner} {}", line.label, line.because),
            )]
        },
    };
    part.told("pools", "pools, when most was reserved", &KEYS, rows);
}

fn sites(top: &TopSites, has_trace: bool) -> Table {
    let share = |bytes: u64| Cell::Share(bytes as f64 / top.bytes.max(1) as f64);
    let row = |total: &SiteTotal| {
        vec![
            Cell::Bytes(total.bytes),
            share(total.bytes),
            Cell::Number(total.count),
            text(&total.label),
        ]
    };
    let unmade = (top.other_sites > 0).then(|| Rest {
        rows: usize::try_from(top.other_sites).unwrap_or(usize::MAX),
        sums: vec![
            Cell::Bytes(top.other_bytes),
            share(top.other_bytes),
            Cell::Number(top.other_count),
            Cell::None,
        ],
    });
    Table {
        key: "peak_call_sites",
        title: String::new(),
        columns: vec![
            sum(
                "bytes",
                if has_trace {
                    "at the peak"
                } else {
                    "at the dump"
                },
            ),
            sum("share", "share"),
            sum("allocations", "allocations"),
            column("call_site", "call site"),
        ],
        rows: Box::new(top.sites.iter().map(row).collect::<Vec<_>>()),
        csv_rows: Vec::new(),
        unmade,
    }
}

fn roles(part: &mut Part, roles: &PeakRoles) {
    let rows = roles.rows.iter().map(|total| {
        vec![
            Cell::Bytes(total.bytes),
            Cell::Number(total.count),
            text(total.role.word()),
        ]
    });
    let columns = [detail("bytes"), detail("allocations"), detail("role")];
    part.table("peak_roles", "", &columns, rows.collect());
}

/// Adds the facts about the part's device; without a device, those about the whole file.
fn told_facts(part: &mut Part, facts: &[Fact]) {
    const KEYS: [&str; 6] = ["level", "kind", "figures", "text", "meaning", "advice"];
    let own = facts.iter().filter(|fact| fact.device == part.device);
    let rows = Told {
        values: own.cloned().collect(),
        row: |fact: &Fact| {
            let mut figures = fields(&fact.kind);
            let kind = figures.remove("kind");
            vec![
                Cell::word(fact.level),
                Cell::or_none(kind, Cell::Json),
                Cell::Json(figures.into()),
                text(&fact.text),
                text(&fact.meaning),
                text(&fact.advice),
            ]
        },
        words: |fact| {
            let sign = match fact.level {
                FactLevel::Gap => "  ! ",
                FactLevel::Notice => "  - ",
            };
            let words = [fact.text.as_str(), &fact.meaning, &fact.advice];
            vec![Said::new(sign, words.join(" "))]
        },
    };
    part.told("facts", "good to know", &KEYS, rows);
}

/// Adds warnings about the file.
fn told_warnings(part: &mut Part, summary: &Summary) {
    const KEYS: [&str; 4] = ["count", "kind", "detail", "places"];
    let rows = Told {
        values: summary.warnings.clone(),
        row: |warning: &Warning| {
            let mut words = fields(&warning.kind);
            let mut word = |key| Cell::or_none(words.remove(key), Cell::Json);
            vec![
                Cell::Number(warning.count),
                word("kind"),
                word("detail"),
                Cell::Lines(Arc::new(warning.places.clone())),
            ]
        },
        words: |warning| vec![Said::new("  ! ", warning_line(warning))],
    };
    part.told("warnings", "odd about this file", &KEYS, rows);
}

/// A text; the cell is [`Cell::None`] if it is empty.
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
