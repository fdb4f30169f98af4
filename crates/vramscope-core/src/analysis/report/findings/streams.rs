//! Finding: free memory is on streams other than the one with the most memory. A request can only use memory of
//! its own stream.

use super::words::{at_moment, percent};
use super::{
    Evidence, Finding, FindingKind, FindingRow, FindingTable, Material, ROWS, Severity, is_notable,
};
use crate::analysis::memory::gap::Arena;
use crate::sorting::SortFew;
use crate::units::Bytes;

/// Minimum share of reserved memory.
const SHARE_PERCENT: u64 = 5;

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let gap = material.at_reserved_peak;
    let own = gap.own?;
    if !is_notable(gap.other_streams_bytes, SHARE_PERCENT, gap.reserved_bytes) {
        return None;
    }
    let recording = material.device.recording;
    let state = material.device.state_at(gap.moment);
    let mut places: Vec<_> = state
        .groups
        .iter()
        .map(|group| (Arena::of(group), &group.sums))
        .filter(|(arena, sums)| {
            arena.pool == own.pool && arena.stream != own.stream && sums.free_bytes > 0
        })
        .collect();
    places.sort_few_by_key(|(_, sums)| std::cmp::Reverse(sums.free_bytes));
    let rows = places.into_iter().take(ROWS);
    let rows = rows
        .map(|(arena, sums)| FindingRow {
            label: recording.place_label(arena),
            site: None,
            bytes: sums.free_bytes,
            count: sums.free_blocks,
            remark: format!("of {} reserved", Bytes(sums.reserved_bytes)),
        })
        .collect();
    Some(Finding {
        kind: FindingKind::OtherStreams,
        severity: Severity::Warning,
        bytes: gap.other_streams_bytes,
        title: format!("{} lie free on other streams", Bytes(gap.other_streams_bytes)),
        seen: format!(
            "{}, when most was reserved: {} ({} of all reserved) were free in segments of streams other than the \
             {}, which holds most.",
            at_moment(material.device.history, gap.moment),
            Bytes(gap.other_streams_bytes),
            percent(gap.other_streams_bytes, gap.reserved_bytes),
            recording.streams().name(own.stream)
        ),
        figures: Vec::new(),
        may_mean: "Each stream keeps segments of its own; a request on one cannot use what is free on another. Before \
                   a request fails, wholly free segments of all streams are given back, partly used ones are not."
            .to_owned(),
        setting: None,
        to_try: vec![
            "Allocate on one stream and use the memory on others instead of allocating there. Order them with wait_stream() \
             and keep a reference until the other stream is done: record_stream() would make frees wait."
                .to_owned(),
        ],
        tables: vec![FindingTable {
            title: "Free, by stream".to_owned(),
            counted: "free blocks".to_owned(),
            rows,
        }],
        evidence: vec![Evidence::state(gap.moment)],
    })
}
