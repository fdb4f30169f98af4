//! The memory pools of a device, for people to choose from.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::overview::reserved_peak;
use crate::analysis::groups::live_at::live_at;
use crate::analysis::recording::Device;
use crate::analysis::search::filter::rows;
use crate::model::PoolId;
use crate::sorting::SortFew;

const MOST_POOLS: usize = 64;

/// The memory pools of a device.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PoolLines {
    /// The largest pools, most reserved bytes first. Empty if the device has fewer than two.
    pub lines: Vec<PoolLine>,
    /// Number of smaller pools left out.
    pub left_out: u64,
}

/// A memory pool of a device.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PoolLine {
    /// Its name, see [`Pool::label`](crate::analysis::memory::pools::Pool::label).
    pub label: String,
    /// The evidence for the name, in sentences.
    pub because: String,
    /// Whether its kind is inferred.
    pub is_inferred: bool,
    /// The call site with the most bytes, with their number and size; `None` if no stack is known.
    pub owner: Option<String>,
    /// Bytes of its segments at the peak of reserved memory.
    pub reserved_bytes: u64,
    /// Requested bytes of its live allocations at the peak of active memory.
    pub peak_bytes: u64,
    /// Number of its allocations over the whole recording.
    pub allocations: u64,
    /// A filter for its allocations.
    pub filter: String,
}

/// The memory of a device in one pool.
#[derive(Default)]
struct Held {
    reserved_bytes: u64,
    peak_bytes: u64,
    allocations: u64,
}

/// The pools in which a device has allocations or segments.
#[must_use]
pub fn pool_lines(device: Device<'_>) -> PoolLines {
    let recording = device.recording;
    let pools = recording.pools();
    if pools.all().len() < 2 {
        return PoolLines::default();
    }
    let mut held: Vec<_> = held(device).into_iter().collect();
    if held.len() < 2 {
        return PoolLines::default();
    }
    held.sort_few_by_key(|(id, held)| (Reverse(held.reserved_bytes), *id));
    let left_out = held.len().saturating_sub(MOST_POOLS) as u64;
    held.truncate(MOST_POOLS);
    let line = |(id, held): (PoolId, Held)| {
        let pool = pools.get(id)?;
        Some(PoolLine {
            label: pool.label(),
            because: pool.because(device.snapshot()),
            is_inferred: pool.is_inferred(),
            owner: pool.owner_words(device.call_sites()),
            reserved_bytes: held.reserved_bytes,
            peak_bytes: held.peak_bytes,
            allocations: held.allocations,
            filter: rows::of_pool(id).to_string(),
        })
    };
    PoolLines {
        lines: held.into_iter().filter_map(line).collect(),
        left_out,
    }
}

fn held(device: Device<'_>) -> HashMap<PoolId, Held> {
    let history = device.history;
    let mut held: HashMap<PoolId, Held> = HashMap::new();
    for &pool in device.pool_of().iter().flatten() {
        held.entry(pool).or_default().allocations += 1;
    }
    for id in live_at(history, history.peak_moment) {
        if let Some(pool) = device.pool_of()[id.index()] {
            let sum = &mut held.entry(pool).or_default().peak_bytes;
            *sum = sum.saturating_add(history.allocations.bytes[id.index()]);
        }
    }
    for group in &device.state_at(reserved_peak(history)).groups {
        if let Some(pool) = group.pool {
            let sum = &mut held.entry(pool).or_default().reserved_bytes;
            *sum = sum.saturating_add(group.sums.reserved_bytes);
        }
    }
    held
}
