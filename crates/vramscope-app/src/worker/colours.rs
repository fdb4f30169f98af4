//! The colour of every band, and what the colours mean.

use std::collections::BTreeMap;

use vramscope_core::analysis::details::stream_numbers;
use vramscope_core::analysis::live_at::{live_at, top_call_sites};
use vramscope_core::ids::AllocationId;
use vramscope_core::model::Context;
use vramscope_core::units::Bytes;
use vramscope_view::colour::{ColourColumn, site_colour, stable_hash};
use vramscope_view::theme::Theme;

use super::document::{Device, Document};
use crate::protocol::{ColourBy, Legend, LegendEntry, Look};

/// Steps shown of a scale.
const SCALE_STEPS: u64 = 6;

/// The colours of a device's bands.
pub(super) fn column(document: &Document, device: Device<'_>, look: &Look) -> ColourColumn {
    let theme = Theme::of(look.theme);
    let table = &device.history.allocations;
    match look.colour_by {
        ColourBy::CallSite => {
            let sites = document.words().call_sites.sites();
            // Site 0 is "no stack".
            let hashes: Vec<_> =
                (0..sites.len()).map(|row| (row > 0).then(|| stable_hash(&sites[row].label))).collect();
            let site_of = document.site_of(device).iter();
            ColourColumn::by_hash(&theme, site_of.map(|site| hashes.get(site.index()).copied().flatten()))
        }
        ColourBy::Size => ColourColumn::by_size(&theme, &table.bytes),
        ColourBy::Age => ColourColumn::by_age(&theme, &table.born, device.history.active_bytes.len()),
        ColourBy::Stream | ColourBy::Pool | ColourBy::Category => {
            let groups = Groups::of(document, look.colour_by);
            let rows = (0..table.len()).map(AllocationId::from_index);
            ColourColumn::by_ordinal(&theme, rows.map(|id| groups.of_allocation(document, device, id)))
        }
    }
}

/// Streams, pools or categories, numbered.
struct Groups {
    /// Context → number.
    of_context: Vec<Option<u32>>,
    /// Number → name.
    names: Vec<String>,
}

impl Groups {
    fn of(document: &Document, colour_by: ColourBy) -> Self {
        let snapshot = &document.snapshot;
        let rows = snapshot.contexts.rows();
        let mut groups = Self { of_context: Vec::with_capacity(rows.len()), names: Vec::new() };
        if colour_by == ColourBy::Stream {
            let streams = stream_numbers(snapshot);
            let number = |context: &Context| streams.iter().position(|&s| s == context.stream).map(|n| n as u32);
            groups.of_context = rows.iter().map(number).collect();
            groups.names = (0_u32..).zip(&streams).map(|(number, &stream)| stream_name(number, stream)).collect();
            return groups;
        }
        let mut numbers = BTreeMap::new();
        for context in rows {
            let name = match colour_by {
                ColourBy::Pool => context.pool.map(pool_name),
                _ => context.category.map(|category| snapshot.strings.get(category).to_owned()),
            };
            let number = name.map(|name| {
                let next = numbers.len() as u32;
                *numbers.entry(name.clone()).or_insert_with(|| {
                    groups.names.push(name);
                    next
                })
            });
            groups.of_context.push(number);
        }
        groups
    }

    fn of_allocation(&self, document: &Document, device: Device<'_>, id: AllocationId) -> Option<u32> {
        let history = device.history;
        // What is older than the recording is told by the event that freed it.
        let event = history
            .alloc_event(id)
            .or_else(|| history.free_requested_event(id))
            .or_else(|| history.free_completed_event(id))?;
        let context = document.snapshot.events.context.get(event.index())?;
        self.of_context.get(context.index()).copied().flatten()
    }
}

/// `default stream`, `stream 3 (0x55d0)`.
pub(super) fn stream_name(number: u32, stream: i64) -> String {
    if stream == 0 { "default stream".to_owned() } else { format!("stream {number} (0x{stream:x})") }
}

/// `default pool`, `private pool (0, 1)`.
pub(super) fn pool_name(pool: vramscope_core::model::PoolId) -> String {
    if pool.is_private() { format!("private pool ({}, {})", pool.0, pool.1) } else { "default pool".to_owned() }
}

/// What the colours of a look mean: what is live at the peak, the largest first.
pub(super) fn legend(document: &Document, look: &Look, limit: u32) -> Option<Legend> {
    let device = document.device(look.device)?;
    let entries = match look.colour_by {
        ColourBy::CallSite => sites(document, device, look, limit as usize),
        ColourBy::Stream | ColourBy::Pool | ColourBy::Category => groups(document, device, look, limit as usize),
        ColourBy::Size | ColourBy::Age => scale(device, look),
    };
    Some(Legend { look: *look, entries })
}

fn sites(document: &Document, device: Device<'_>, look: &Look, limit: usize) -> Vec<LegendEntry> {
    let theme = Theme::of(look.theme);
    let history = device.history;
    let live = live_at(history, history.peak_moment);
    let top = top_call_sites(history, document.site_of(device), live, limit);
    let entry = |total: &vramscope_core::analysis::live_at::SiteTotal| {
        let label = &document.words().call_sites.get(total.site).label;
        let hash = (total.site.index() > 0).then(|| stable_hash(label));
        LegendEntry {
            rgb: site_colour(&theme, hash),
            label: label.clone(),
            bytes: total.bytes,
            allocations: u32::try_from(total.count).unwrap_or(u32::MAX),
        }
    };
    top.sites.iter().map(entry).collect()
}

fn groups(document: &Document, device: Device<'_>, look: &Look, limit: usize) -> Vec<LegendEntry> {
    let theme = Theme::of(look.theme);
    let groups = Groups::of(document, look.colour_by);
    let history = device.history;
    let mut totals: BTreeMap<Option<u32>, (u64, u32)> = BTreeMap::new();
    for id in live_at(history, history.peak_moment) {
        let total = totals.entry(groups.of_allocation(document, device, id)).or_default();
        total.0 = total.0.saturating_add(history.allocations.bytes[id.index()]);
        total.1 += 1;
    }
    let entry = |(number, (bytes, allocations)): (Option<u32>, (u64, u32))| {
        let name = number.and_then(|number| groups.names.get(number as usize)).cloned();
        LegendEntry {
            rgb: ColourColumn::by_ordinal(&theme, [number]).rgb(0),
            label: name.unwrap_or_else(|| "not recorded".to_owned()),
            bytes,
            allocations,
        }
    };
    let mut entries: Vec<_> = totals.into_iter().map(entry).collect();
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.bytes));
    entries.truncate(limit);
    entries
}

/// A few steps of a scale from little to much; they stand for no bytes.
fn scale(device: Device<'_>, look: &Look) -> Vec<LegendEntry> {
    let theme = Theme::of(look.theme);
    let entry = |rgb, label| LegendEntry { rgb, label, bytes: 0, allocations: 0 };
    if look.colour_by == ColourBy::Size {
        // 512 bytes to 16 GiB.
        let sizes: Vec<_> = (0..SCALE_STEPS).map(|step| 1_u64 << (9 + step * 5)).collect();
        let colours = ColourColumn::by_size(&theme, &sizes);
        return sizes.iter().enumerate().map(|(row, &size)| entry(colours.rgb(row), Bytes(size).to_string())).collect();
    }
    let moments = device.history.active_bytes.len();
    let last = moments.saturating_sub(1) as u64;
    let born: Vec<_> = (0..SCALE_STEPS).map(|step| (last * step / (SCALE_STEPS - 1)) as u32).collect();
    let colours = ColourColumn::by_age(&theme, &born, moments);
    let label = |moment: u32| format!("event {}", vramscope_core::units::Count(u64::from(moment)));
    born.iter().enumerate().map(|(row, &moment)| entry(colours.rgb(row), label(moment))).collect()
}
