//! Tables across snapshots: what is known of each rank, and stacks by their content.

use super::{Field, Kind, Value, Write, field};
use crate::Snapshot;
use crate::analysis::recording::Recording;
use crate::fleet::stack_keys::{StackKeys, hex};
use crate::fleet::{Curve, Fleet, Rank};
use crate::ids::StackId;

/// A table of a dataset of snapshots, besides those that each snapshot has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FleetTable {
    /// The ranks, and their figures.
    Ranks,
    /// Memory over each recording, in bins and by step.
    Curve,
    /// What call sites hold.
    SitesAtPeak,
    /// The findings.
    Findings,
    /// The requests that failed.
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

    /// Hands its rows to `write`.
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
    field("device", Kind::Number),
    field("job", Kind::Text),
    field("step", Kind::Number),
    field("local_rank", Kind::Number),
    field("host", Kind::Text),
    field("rank_from", Kind::Text),
    field("producer", Kind::Text),
    field("file_bytes", Kind::Bytes),
    field("modified_us", Kind::TimeUs),
    field("events", Kind::Number),
    field("allocations", Kind::Number),
    field("start_us", Kind::TimeUs),
    field("end_us", Kind::TimeUs),
    field("peak_bytes", Kind::Bytes),
    field("peak_event", Kind::Number),
    field("peak_time_us", Kind::TimeUs),
    field("reserved_at_peak_bytes", Kind::Bytes),
    field("peak_reserved_bytes", Kind::Bytes),
    field("gap_bytes", Kind::Bytes),
    field("end_bytes", Kind::Bytes),
    field("device_bytes", Kind::Bytes),
    field("ooms", Kind::Number),
    field("retries", Kind::Number),
    field("free_bytes", Kind::Bytes),
    field("scattered_bytes", Kind::Bytes),
    field("largest_free_bytes", Kind::Bytes),
    field("rounding_bytes", Kind::Bytes),
    field("steps", Kind::Number),
    field("growth_per_step_bytes", Kind::Number),
    field("other_sites_bytes", Kind::Bytes),
    field("other_sites_allocations", Kind::Number),
    field("settings", Kind::Text),
    field("damage", Kind::Number),
];

fn ranks<E>(fleet: &Fleet, rank: &Rank, write: &mut Write<'_, E>) -> Result<(), E> {
    let (place, source) = (&rank.place, &rank.source);
    let free = rank.fragmentation.as_ref();
    let settings = fleet.settings_of(rank).iter();
    let settings: Vec<_> = settings
        .map(|(key, value)| format!("{key}: {value}"))
        .collect();
    let end = (rank.curve.start_us).map(|start| start.saturating_add_unsigned(rank.curve.length));
    let from = word(place.rank_from);
    write(&[
        Value::Number(rank.device.into()),
        Value::text(&place.job),
        count(place.step),
        Value::number(place.local_rank),
        Value::text(&place.host),
        Value::text(&from),
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
        Value::Bytes(rank.reserved_at_peak_bytes),
        Value::Bytes(rank.peak_reserved_bytes),
        Value::Bytes(rank.gap_bytes()),
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
    field("device", Kind::Number),
    field("bin", Kind::Number),
    field("step", Kind::Number),
    field("start", Kind::Number),
    field("start_time_us", Kind::TimeUs),
    field("lowest_bytes", Kind::Bytes),
    field("highest_bytes", Kind::Bytes),
    field("reserved_bytes", Kind::Bytes),
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

/// A row of a bin or a step, of which `key` has the number.
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
    field("device", Kind::Number),
    field("call_site", Kind::Text),
    field("peak_bytes", Kind::Bytes),
    field("peak_allocations", Kind::Number),
    field("end_bytes", Kind::Bytes),
    field("left_per_step_bytes", Kind::Bytes),
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
    field("device", Kind::Number),
    field("kind", Kind::Text),
    field("severity", Kind::Text),
    field("bytes", Kind::Bytes),
    field("title", Kind::Text),
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
    field("device", Kind::Number),
    field("event", Kind::Number),
    field("time_us", Kind::TimeUs),
    field("requested_bytes", Kind::Bytes),
    field("device_free_bytes", Kind::Bytes),
    field("active_bytes", Kind::Bytes),
    field("reserved_bytes", Kind::Bytes),
    field("call_site", Kind::Text),
    field("why", Kind::Text),
];

fn failures<E>(fleet: &Fleet, rank: &Rank, write: &mut Write<'_, E>) -> Result<(), E> {
    rank.failures.iter().try_for_each(|failure| {
        write(&[
            Value::Number(rank.device.into()),
            Value::moment(failure.moment),
            Value::time(failure.time_us),
            Value::Bytes(failure.requested_bytes),
            Value::Bytes(failure.device_free_bytes),
            Value::Bytes(failure.active_bytes),
            Value::Bytes(failure.reserved_bytes),
            Value::text(fleet.label(failure.site)),
            Value::text(&failure.why),
        ])
    })
}

/// The columns of stacks by content.
pub const KEYED_STACKS: [Field; 4] = [
    field("stack_key", Kind::Text),
    field("call_site", Kind::Text),
    field("depth", Kind::Number),
    field("frames", Kind::Text),
];

/// Hands the stacks of a snapshot to `write`, with their keys: see [`KEYED_STACKS`].
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
