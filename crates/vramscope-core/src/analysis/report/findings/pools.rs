//! Finding: private pools, of CUDA graphs or of the user, hold memory.

use std::collections::BTreeSet;

use super::words::{at_moment, counted, percent};
use super::{
    Evidence, EvidenceOf, Finding, FindingKind, FindingRow, FindingTable, Material, ROWS, Severity,
    is_share, sentences,
};
use crate::analysis::memory::allocator_state::AllocatorState;
use crate::analysis::memory::capture::AllocatorKind;
use crate::analysis::memory::gap::Arena;
use crate::analysis::recording::Recording;
use crate::analysis::report::summary::saturating_sum;
use crate::model::PoolId;
use crate::sorting::SortFew;
use crate::units::Bytes;

/// Minimum share of reserved memory for a note, and minimum free share for a warning.
const SHARE_PERCENT: u64 = 1;
const WARNING_PERCENT: u64 = 20;
const SMALLEST_BYTES: u64 = 1 << 20;

/// The memory of all private pools.
#[derive(Default)]
struct Held {
    reserved_bytes: u64,
    free_bytes: u64,
    pools: BTreeSet<PoolId>,
    rows: Vec<FindingRow>,
}

impl Held {
    fn of(recording: &Recording, state: &AllocatorState) -> Self {
        let mut held = Self::default();
        let groups = state
            .groups
            .iter()
            .map(|group| (Arena::of(group), &group.sums));
        let mut groups: Vec<_> = groups
            .filter(|(arena, _)| arena.pool.is_private())
            .collect();
        groups.sort_few_by_key(|(_, sums)| std::cmp::Reverse(sums.reserved_bytes));
        for (arena, sums) in &groups {
            held.reserved_bytes = held.reserved_bytes.saturating_add(sums.reserved_bytes);
            held.free_bytes = held.free_bytes.saturating_add(sums.free_bytes);
            held.pools.insert(arena.pool);
        }
        let rows = groups.into_iter().take(2 * ROWS);
        held.rows = rows
            .map(|(arena, sums)| FindingRow {
                label: recording.place_label(arena),
                site: None,
                bytes: sums.reserved_bytes,
                count: sums.segments,
                remark: remark(recording, arena, sums.free_bytes),
            })
            .collect();
        held
    }

    /// Number of pools of CUDA graphs, whose second number is 0.
    fn graphs(&self) -> usize {
        self.pools.iter().filter(|pool| pool.1 == 0).count()
    }
}

/// The free memory of a pool, and the owner of most of its memory.
fn remark(recording: &Recording, arena: Arena, free_bytes: u64) -> String {
    let pool = recording.pools().get(arena.pool);
    let owner = pool.and_then(|pool| pool.owner_words(recording.call_sites()));
    match owner {
        Some(owner) => format!("{} free; mostly {owner}", Bytes(free_bytes)),
        None => format!("{} free", Bytes(free_bytes)),
    }
}

/// Memory of private pools that nothing else can use: all memory of a graph's pool, since replays write to its free
/// memory; the free memory of the user's own pools.
pub(in super::super) fn kept_bytes(state: &AllocatorState) -> u64 {
    let groups = state
        .groups
        .iter()
        .map(|group| (Arena::of(group).pool, &group.sums));
    let private = groups.filter(|(pool, _)| pool.is_private());
    saturating_sum(private.map(|(pool, sums)| match pool.1 {
        0 => sums.reserved_bytes,
        _ => sums.free_bytes,
    }))
}

pub(super) fn find(material: Material<'_>) -> Option<Finding> {
    let moment = material.at_reserved_peak.moment;
    let state = material.device.state_at(moment);
    let held = Held::of(material.device.recording, &state);
    let (reserved, total) = (held.reserved_bytes, state.total.reserved_bytes);
    if reserved < SMALLEST_BYTES || !is_share(reserved, SHARE_PERCENT, total) {
        return None;
    }
    // A single pool withholds only its free memory.
    let keeps = is_share(held.free_bytes, SHARE_PERCENT, total);
    if held.pools.len() == 1 && reserved == total && !keeps {
        return None;
    }
    // A graph's replays write to the free memory of its pool.
    let graphs = held.graphs();
    let warns = graphs == 0 && is_share(held.free_bytes, WARNING_PERCENT, total);
    Some(Finding {
        kind: FindingKind::PrivatePools,
        severity: if warns { Severity::Warning } else { Severity::Note },
        bytes: reserved,
        title: sentences::pools_hold(Bytes(reserved)),
        seen: format!(
            "{}: {} held {} ({} of all reserved), of which {} were not allocated.",
            at_moment(material.device.history, moment),
            counted(held.pools.len() as u64, "private pool"),
            Bytes(reserved),
            percent(reserved, total),
            Bytes(held.free_bytes)
        ),
        figures: Vec::new(),
        may_mean: if graphs > 0 {
            sentences::GRAPH_POOLS_MEAN
        } else {
            "What is free in a pool of the user's own (MemPool, cuMemPoolCreate) serves only that pool."
        }
        .to_owned(),
        setting: None,
        to_try: vec![if material.config.allocator == AllocatorKind::Driver {
            "Destroy graphs and pools that are no longer needed; cuMemPoolTrimTo(pool, 0) and cuDeviceGraphMemTrim give \
             back what they hold free."
        } else if graphs > 1 {
            sentences::FEWER_GRAPHS
        } else {
            "Delete the graph or pool when it is no longer needed; then its segments can be given back."
        }
        .to_owned()],
        tables: vec![FindingTable {
            title: "By pool and stream".to_owned(),
            counted: "segments".to_owned(),
            rows: held.rows,
        }],
        evidence: vec![
            Evidence::state(moment),
            Evidence::new("allocations in private pools", EvidenceOf::Allocations)
                .with_filter("pool:private"),
        ],
    })
}
