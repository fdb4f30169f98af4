//! Tables across snapshots: the figures of each rank, and stacks by content.

use super::{Field, Kind, Value, Write, field};
use crate::Snapshot;
use crate::analysis::recording::Recording;
use crate::fleet::stack_keys::{StackKeys, hex};
use crate::fleet::{Curve, Fleet, Rank};
use crate::ids::StackId;

/// A table of a dataset of snapshots, in addition to those of each snapshot.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FleetTable {
    /// The ranks and their figures.
    Ranks,
    /// Memory over each recording, in bins and by step.
    Curve,
    /// Memory of call sites.
    SitesAtPeak,
    /// The findings.
    Findings,
    /// The failed requests.
    Failures,
}

impl FleetTable {
    /// All tables.
    pub const ALL: [Self; 5] = [
        Self::Ranks,
        Self::Curve,
        Self::SitesAtPeak,
        Self::Findings,
        Self::Failures,
    ];

    /// The name of the table.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ranks => "ranks",
            Self::Curve => "curve",
            Self::SitesAtPeak => "sites_at_peak",
            Self::Findings => "findings",
            Self::Failures => "failures",
        }
    }

    /// What a row is, in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Ranks => {
                "a device of a snapshot on which something happened: its place in the job, and its figures"
            }
            Self::Curve => {
                "a bin of a recording, or a step of it: the least and the most that was live"
            }
            Self::SitesAtPeak => {
                "a call site that holds memory at the peak or at the end, or leaves some behind"
            }
            Self::Findings => "the findings of a snapshot, most severe first",
            Self::Failures => "a request that failed: the first and the last one of a device",
        }
    }

    /// Its columns.
    #[must_use]
    pub fn fields(self) -> Vec<Field> {
        match self {
            Self::Ranks => RANKS.to_vec(),
            Self::Curve => CURVE.to_vec(),
            Self::SitesAtPeak => SITES.to_vec(),
            Self::Findings => FINDINGS.to_vec(),
            Self::Failures => FAILURES.to_vec(),
        }
    }

    /// Passes its rows to `write`.
    ///
    /// # Errors
    /// The first error of `write`.
    pub fn for_each_row<E>(self, fleet: &Fleet, write: &mut Write<'_, E>) -> Result<(), E> {
        fleet.ranks.iter().try_for_each(|rank| match self {
            Self::Ranks => ranks(fleet, rank, write),
            Self::Curve => curve(rank, write),
            Self::SitesAtPeak => sites(fleet, rank, write),
            Self::Findings => findings(rank, write),
            Self::Failures => failures(fleet, rank, write),
        })
    }
}

const RANKS: [Field; 33] = [
    field("device", Kind::Number, "the device's index in its file"),
    field("job", Kind::Text, "the job, where folders name one"),
    field(
        "step",
        Kind::Number,
        "the step after which the snapshot was taken",
    ),
    field(
        "local_rank",
        Kind::Number,
        "the number among the processes of its host",
    ),
    field("host", Kind::Text, "the host, where names contain it"),
    field(
        "rank_from",
        Kind::Text,
        "how the rank is known: name, given, order",
    ),
    field("producer", Kind::Text, "the program that wrote the file"),
    field("file_bytes", Kind::Bytes, "the size of the file"),
    field(
        "modified_us",
        Kind::TimeUs,
        "when the file was last modified",
    ),
    field("events", Kind::Number, "how many events were recorded"),
    field(
        "allocations",
        Kind::Number,
        "how many allocations there are, with those from before the recording",
    ),
    field("start_time_us", Kind::TimeUs, "the first event"),
    field("end_time_us", Kind::TimeUs, "the last event"),
    field(
        "peak_bytes",
        Kind::Bytes,
        "the most requested bytes that were live at once",
    ),
    field(
        "peak_event",
        Kind::Number,
        "the event after which the peak begins",
    ),
    field("peak_time_us", Kind::TimeUs, "when the peak begins"),
    field(
        "reserved_at_peak_bytes",
        Kind::Bytes,
        "bytes of all segments at the peak",
    ),
    field(
        "peak_reserved_bytes",
        Kind::Bytes,
        "the most bytes of all segments",
    ),
    field(
        "gap_bytes",
        Kind::Bytes,
        "reserved at the peak, but not requested",
    ),
    field(
        "end_bytes",
        Kind::Bytes,
        "requested bytes that are live at the end",
    ),
    field("device_bytes", Kind::Bytes, "capacity of the device"),
    field("ooms", Kind::Number, "how many requests failed"),
    field(
        "retries",
        Kind::Number,
        "how often cached segments were given back to serve a request",
    ),
    field(
        "free_bytes",
        Kind::Bytes,
        "free in all segments at the peak",
    ),
    field(
        "scattered_bytes",
        Kind::Bytes,
        "of that, in pieces between live blocks, without the largest piece",
    ),
    field(
        "largest_free_bytes",
        Kind::Bytes,
        "the largest free block at the peak",
    ),
    field(
        "rounding_bytes",
        Kind::Bytes,
        "by which live blocks are larger than their requests",
    ),
    field(
        "steps",
        Kind::Number,
        "how many steps were recorded as a whole",
    ),
    field(
        "growth_per_step_bytes",
        Kind::Number,
        "by which the live bytes change from step to step; missing for too few",
    ),
    field(
        "other_sites_bytes",
        Kind::Bytes,
        "live at the peak at call sites beyond the 4096 that are listed",
    ),
    field(
        "other_sites_allocations",
        Kind::Number,
        "live allocations of those call sites",
    ),
    field("settings", Kind::Text, "the allocator's settings"),
    field(
        "damage",
        Kind::Number,
        "how often the file was found damaged",
    ),
];

fn ranks<E>(fleet: &Fleet, rank: &Rank, write: &mut Write<'_, E>) -> Result<(), E> {
    let (place, source) = (&rank.place, &rank.source);
    let free = rank.fragmentation.as_ref();
    let settings = fleet.settings_of(rank).iter();
    let settings: Vec<_> = settings
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    let end = (rank.curve.start_us).map(|start| start.saturating_add_unsigned(rank.curve.length));
    write(&[
        Value::Number(rank.device.into()),
        Value::text(&place.job),
        count(place.step),
        Value::number(place.local_rank),
        Value::text(&place.host),
        Value::text(place.rank_from.word()),
        Value::text(&rank.producer),
        Value::Bytes(source.bytes),
        Value::time(source.modified_us),
        count(Some(rank.events)),
        count(Some(rank.allocations)),
        Value::time(rank.curve.start_us),
        Value::time(end),
        Value::Bytes(rank.peak_bytes),
        Value::moment(rank.peak_moment),
        Value::time(rank.peak_time_us),
        Value::bytes(rank.reserved_at_peak()),
        Value::bytes(rank.peak_reserved()),
        Value::bytes(rank.gap_bytes()),
        Value::Bytes(rank.end_bytes),
        Value::bytes(rank.device_bytes),
        count(Some(rank.ooms)),
        count(rank.retries),
        Value::bytes(free.map(|free| free.free_bytes)),
        Value::bytes(free.map(|free| free.scattered_bytes)),
        Value::bytes(free.map(|free| free.largest_free_bytes)),
        Value::bytes(free.map(|free| free.rounding_bytes)),
        count(rank.growth.map(|growth| growth.steps)),
        Value::number(rank.growth.and_then(|growth| growth.per_step_bytes)),
        Value::Bytes(rank.other_sites.bytes),
        count(Some(rank.other_sites.count)),
        Value::text(&settings.join(", ")),
        count(Some(rank.damage)),
    ])
}

const CURVE: [Field; 8] = [
    field("device", Kind::Number, "the device's index in its file"),
    field("bin", Kind::Number, "the bin's number; missing for steps"),
    field("step", Kind::Number, "the step's number; missing for bins"),
    field(
        "start",
        Kind::Number,
        "where it begins after the first event: in µs, or in events where there are no times",
    ),
    field("start_time_us", Kind::TimeUs, "when it begins"),
    field(
        "lowest_bytes",
        Kind::Bytes,
        "the least live requested bytes, rounded down",
    ),
    field(
        "highest_bytes",
        Kind::Bytes,
        "the most live requested bytes, rounded up",
    ),
    field(
        "reserved_bytes",
        Kind::Bytes,
        "the most bytes of all segments, rounded up",
    ),
];

fn curve<E>(rank: &Rank, write: &mut Write<'_, E>) -> Result<(), E> {
    let curve = &rank.curve;
    let bins = curve.lowest.len() as u64;
    for (bin, (&lowest, &highest)) in curve.lowest.iter().zip(&curve.highest).enumerate() {
        let start = u128::from(curve.length) * bin as u128 / u128::from(bins.max(1));
        let reserved = curve.reserved.get(bin).copied();
        let key = [count(Some(bin as u64)), Value::None];
        write(&levels(
            rank,
            key,
            start as u64,
            (lowest, highest),
            reserved,
        ))?;
    }
    curve.steps.iter().try_for_each(|step| {
        let key = [Value::None, count(Some(step.number))];
        write(&levels(
            rank,
            key,
            step.from,
            (step.lowest, step.highest),
            None,
        ))
    })
}

/// A row of a bin or a step, with its number in `key`.
fn levels<'a>(
    rank: &Rank,
    [bin, step]: [Value<'a>; 2],
    start: u64,
    (lowest, highest): (u16, u16),
    reserved: Option<u16>,
) -> [Value<'a>; 8] {
    let curve: &Curve = &rank.curve;
    let time = curve
        .start_us
        .map(|from| from.saturating_add_unsigned(start));
    [
        Value::Number(rank.device.into()),
        bin,
        step,
        count(Some(start)),
        Value::time(time),
        Value::Bytes(curve.bytes(lowest)),
        Value::Bytes(curve.bytes(highest)),
        Value::bytes(reserved.map(|level| curve.bytes(level))),
    ]
}

const SITES: [Field; 6] = [
    field("device", Kind::Number, "the device's index in its file"),
    field("call_site", Kind::Text, "the call site"),
    field("peak_bytes", Kind::Bytes, "what is live at the peak"),
    field(
        "peak_allocations",
        Kind::Number,
        "how many allocations that is",
    ),
    field("end_bytes", Kind::Bytes, "what is live at the end"),
    field(
        "left_per_step_bytes",
        Kind::Bytes,
        "the median of what each step leaves behind, where growth per step is known",
    ),
];

fn sites<E>(fleet: &Fleet, rank: &Rank, write: &mut Write<'_, E>) -> Result<(), E> {
    rank.sites.iter().try_for_each(|row| {
        write(&[
            Value::Number(rank.device.into()),
            Value::text(fleet.label(row.site)),
            Value::Bytes(row.peak.bytes),
            count(Some(row.peak.count)),
            Value::Bytes(row.end_bytes),
            Value::Bytes(row.left_per_step_bytes),
        ])
    })
}

const FINDINGS: [Field; 5] = [
    field("device", Kind::Number, "the device's index in its file"),
    field("kind", Kind::Text, "the kind of finding"),
    field("severity", Kind::Text, "how important it is"),
    field("bytes", Kind::Bytes, "the bytes that it is about"),
    field("title", Kind::Text, "what was found, in one line"),
];

fn findings<E>(rank: &Rank, write: &mut Write<'_, E>) -> Result<(), E> {
    rank.findings.iter().try_for_each(|finding| {
        write(&[
            Value::Number(rank.device.into()),
            Value::text(&word(finding.kind)),
            Value::text(&word(finding.severity)),
            Value::Bytes(finding.bytes),
            Value::text(&finding.title),
        ])
    })
}

const FAILURES: [Field; 9] = [
    field("device", Kind::Number, "the device's index in its file"),
    field("event", Kind::Number, "the number of the event"),
    field("time_us", Kind::TimeUs, "when it failed"),
    field(
        "requested_bytes",
        Kind::Bytes,
        "the size that was asked of the device",
    ),
    field(
        "device_free_bytes",
        Kind::Bytes,
        "what the device reported free",
    ),
    field("live_bytes", Kind::Bytes, "requested bytes that were live"),
    field("reserved_bytes", Kind::Bytes, "bytes of all segments"),
    field("call_site", Kind::Text, "the call site of the request"),
    field("why", Kind::Text, "why it failed, in a few words"),
];

fn failures<E>(fleet: &Fleet, rank: &Rank, write: &mut Write<'_, E>) -> Result<(), E> {
    rank.failures.iter().try_for_each(|failure| {
        write(&[
            Value::Number(rank.device.into()),
            Value::moment(failure.moment),
            Value::time(failure.time_us),
            Value::Bytes(failure.requested_bytes),
            failure.device_free_bytes.map_or(Value::None, Value::Bytes),
            Value::Bytes(failure.active_bytes),
            Value::bytes(failure.reserved()),
            Value::text(fleet.label(failure.site)),
            Value::text(&failure.why),
        ])
    })
}

/// The columns of stacks by content.
pub const KEYED_STACKS: [Field; 4] = [
    field(
        "stack_key",
        Kind::Text,
        "a hash over all frames, equal on every machine: 32 hex digits",
    ),
    field("call_site", Kind::Text, "the call site"),
    field("depth", Kind::Number, "how many frames it has"),
    field("frames", Kind::Text, "the frames, innermost first"),
];

/// Passes the stacks of a snapshot with their keys to `write`: see [`KEYED_STACKS`].
///
/// # Errors
/// The first error of `write`.
pub fn for_each_keyed_stack<E>(
    recording: &Recording,
    keys: &StackKeys<'_>,
    write: &mut Write<'_, E>,
) -> Result<(), E> {
    let snapshot: &Snapshot = &recording.snapshot;
    let sites = recording.call_sites();
    for id in (0..keys.len()).map(StackId::from_index) {
        let Some(key) = keys.get(id) else { continue };
        write(&[
            Value::Text(hex(key).into()),
            Value::site(sites, sites.of_stack(id)),
            count(Some(snapshot.stacks.frames(id).len() as u64)),
            Value::Text(keys.text(id).into()),
        ])?;
    }
    Ok(())
}

fn count(number: Option<u64>) -> Value<'static> {
    Value::number(number.map(|number| i64::try_from(number).unwrap_or(i64::MAX)))
}

/// The name of a variant, as it is in JSON.
fn word(variant: impl serde::Serialize) -> String {
    match serde_json::to_value(variant) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
