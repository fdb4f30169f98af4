//! A device's allocations as a table: sorted by any column, filtered, a window of rows at a time.
//!
//! A table of a million rows is never made: sorting gives a permutation, which the caller keeps per column;
//! [`Permutation::shown`] turns it round and leaves out what a filter does not match; [`rows`] fills the few
//! rows that are seen. What is shown comes to what [`totals`](crate::analysis::search::filter::totals) says.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::analysis::memory::places::context_of;
use crate::analysis::recording::Device;
use crate::analysis::time::history::NEVER;
use crate::analysis::time::lifetime::{Lifetime, lifetime};
use crate::bitset::BitSet;
use crate::ids::{AllocationId, ContextId, StringId};
use crate::model::{Context, PoolId};

/// What a table is sorted by.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// As they are stacked: from before the recording first, then by birth.
    #[default]
    Order,
    /// Requested bytes.
    Size,
    /// Bytes of the block, where known.
    Block,
    /// Bytes of the block beyond what was requested, where known.
    Rounding,
    /// The call site's label.
    Site,
    /// Birth; before the recording first.
    Born,
    /// End; of what has one.
    Died,
    /// Length of life as far as recorded.
    Lifetime,
    /// The stream's number.
    Stream,
    /// The memory pool.
    Pool,
    /// The profiler's category.
    Category,
    /// The program's text.
    Metadata,
    /// Start address.
    Address,
}

/// The allocations in a column's order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Permutation {
    /// Rows of the allocation table, ascending by their value.
    rows: Vec<u32>,
    /// How many have a value; the others follow in stacking order.
    known: usize,
}

/// One row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AllocationRow {
    /// Its row in the allocation table.
    pub allocation: AllocationId,
    /// Start address.
    pub address: u64,
    /// How many tenancies of that address were completed before it.
    pub version: u32,
    /// Bytes the program asked for.
    pub requested_bytes: u64,
    /// Bytes of its block in the final state, where it has one.
    pub block_bytes: Option<u64>,
    /// Where it was made, or at least freed.
    pub site: String,
    /// The first moment at which it is live, the number of its event from 1; 0 = before the recording.
    pub born: u32,
    /// The first moment at which it is gone.
    pub died: Option<u32>,
    /// Microseconds from the start of the recording to its birth.
    pub born_us: Option<i64>,
    /// Microseconds from the start of the recording to its end.
    pub died_us: Option<i64>,
    /// How long it lived.
    pub lifetime: Lifetime,
    /// Its stream's number.
    pub stream: Option<u32>,
    /// Its pool.
    pub pool: Option<PoolId>,
    /// The profiler's category.
    pub category: Option<String>,
    /// The program's text.
    pub metadata: Option<String>,
}

/// Sorts all allocations of a device by a column.
#[must_use]
pub fn sorted(device: Device<'_>, column: Column) -> Permutation {
    let table = &device.history.allocations;
    let count = table.len();
    let by = |value: &dyn Fn(usize) -> Option<u64>| Permutation::of(count, value);
    match column {
        Column::Order => Permutation {
            rows: (0..count as u32).collect(),
            known: count,
        },
        Column::Size => by(&|row| Some(table.bytes[row])),
        Column::Block | Column::Rounding => {
            let blocks = blocks(device);
            by(&|row| {
                let block = *blocks.get(&(row as u32))?;
                Some(match column {
                    Column::Block => block,
                    _ => block.saturating_sub(table.bytes[row]),
                })
            })
        }
        Column::Site => {
            let sites = device.call_sites().sites();
            let ranks = ranks(sites.len(), |site| sites[site].label.as_str());
            by(&|row| {
                let site = device.site_of().get(row)?.index();
                // No site is no value.
                ranks.get(site).copied().filter(|_| site > 0)
            })
        }
        Column::Born => by(&|row| Some(u64::from(table.born[row]))),
        Column::Died => {
            by(&|row| Some(u64::from(table.died[row])).filter(|&died| died != u64::from(NEVER)))
        }
        Column::Lifetime => by(&|row| {
            let life = lifetime(device.history, AllocationId::from_index(row));
            Some(
                life.us
                    .map_or(u64::from(life.events), |us| us.max(0).cast_unsigned()),
            )
        }),
        Column::Stream => {
            let numbers = device.stream_numbers();
            let streams = device.stream_of();
            by(&|row| numbers.get(&streams[row]?).map(|&number| u64::from(number)))
        }
        Column::Pool => by_pool(device),
        Column::Category => by_text(device, |context| context.category),
        Column::Metadata => by_text(device, |context| context.user_metadata),
        Column::Address => by(&|row| Some(table.address[row])),
    }
}

impl Permutation {
    /// Sorts by a value; equal ones stay in stacking order.
    fn of(count: usize, value: impl Fn(usize) -> Option<u64>) -> Self {
        let mut valued: Vec<(u64, u32)> = Vec::with_capacity(count);
        let mut others = Vec::new();
        for row in 0..count {
            match value(row) {
                Some(value) => valued.push((value, row as u32)),
                None => others.push(row as u32),
            }
        }
        valued.sort_unstable();
        let known = valued.len();
        let mut rows: Vec<u32> = valued.into_iter().map(|(_, row)| row).collect();
        rows.append(&mut others);
        Self { rows, known }
    }

    /// The rows to show, first to last: the smallest value first, or the largest; what has none comes last
    /// either way.
    #[must_use]
    pub fn shown(&self, is_descending: bool, matches: Option<&BitSet>) -> Vec<u32> {
        let is_shown = |row: &u32| matches.is_none_or(|set| set.contains(*row as usize));
        let (known, others) = self.rows.split_at(self.known.min(self.rows.len()));
        let others = others.iter().copied();
        let known = known.iter().copied();
        if is_descending {
            known.rev().chain(others).filter(is_shown).collect()
        } else {
            known.chain(others).filter(is_shown).collect()
        }
    }
}

/// The place of each text among all in alphabetical order.
fn ranks<'a>(count: usize, text: impl Fn(usize) -> &'a str) -> Vec<u64> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|&a, &b| text(a).cmp(text(b)));
    let mut ranks = vec![0; count];
    let mut rank = 0;
    for (place, &item) in order.iter().enumerate() {
        // Equal texts share their place.
        if place > 0 && text(order[place - 1]) != text(item) {
            rank = place as u64;
        }
        ranks[item] = rank;
    }
    ranks
}

fn blocks(device: Device<'_>) -> HashMap<u32, u64> {
    let blocks = device.history.final_blocks.iter();
    blocks
        .map(|&(allocation, block)| (allocation.0, device.snapshot().blocks.get(block).size))
        .collect()
}

fn by_pool(device: Device<'_>) -> Permutation {
    let pools = device.pool_of();
    let mut known: Vec<PoolId> = pools.iter().copied().flatten().collect();
    known.sort_unstable();
    known.dedup();
    Permutation::of(pools.len(), |row| {
        known.binary_search(&pools[row]?).ok().map(|at| at as u64)
    })
}

fn by_text(device: Device<'_>, text: fn(&Context) -> Option<StringId>) -> Permutation {
    let contexts = device.snapshot().contexts.rows();
    let of_context = |row: usize| text(&contexts[row]).filter(|&id| id != StringId(0));
    let ranks = ranks(contexts.len(), |row| {
        of_context(row).map_or("", |id| device.snapshot().strings.get(id))
    });
    Permutation::of(device.history.allocations.len(), |row| {
        let context = device.context_of()[row];
        let context = Some(context.index()).filter(|_| context != ContextId::ABSENT)?;
        of_context(context).map(|_| ranks[context])
    })
}

/// Fills rows; numbers beyond the table are left out.
#[must_use]
pub fn rows(device: Device<'_>, shown: &[u32]) -> Vec<AllocationRow> {
    let ids = shown.iter().map(|&row| AllocationId(row));
    ids.filter(|&id| device.has(id))
        .map(|id| one(device, id))
        .collect()
}

fn one(device: Device<'_>, id: AllocationId) -> AllocationRow {
    let (snapshot, history) = (device.snapshot(), device.history);
    let at = id.index();
    let table = &history.allocations;
    let context = context_of(snapshot, history, id);
    let text = |id: Option<StringId>| {
        let text = snapshot.strings.get(id?);
        (!text.is_empty())
            .then(|| crate::analysis::code::frames::clip(text, TEXT_LIMIT_BYTES).to_owned())
    };
    let since_start = |moment: u32| device.time(moment).map(|(_, since_start)| since_start);
    let (born, died) = (table.born[at], table.died[at]);
    let site = device.site_of().get(at);
    AllocationRow {
        allocation: id,
        address: table.address[at],
        version: table.version[at],
        requested_bytes: table.bytes[at],
        block_bytes: history
            .final_block(id)
            .map(|block| snapshot.blocks.get(block).size),
        site: site.map_or_else(String::new, |&site| {
            device.call_sites().get(site).label.clone()
        }),
        born,
        died: (died != NEVER).then_some(died),
        born_us: since_start(born).filter(|_| born > 0),
        died_us: since_start(died),
        lifetime: lifetime(history, id),
        stream: device.stream_of()[at].and_then(|stream| device.recording.stream_number(stream)),
        pool: device.pool_of()[at],
        category: text(context.and_then(|context| context.category)),
        metadata: text(context.and_then(|context| context.user_metadata)),
    }
}

/// What is kept of a text in a row, in bytes.
const TEXT_LIMIT_BYTES: usize = 4096;

/// Where an allocation is in the rows shown; looks at all of them.
#[must_use]
pub fn place_of(shown: &[u32], allocation: AllocationId) -> Option<u32> {
    let place = shown.iter().position(|&row| row == allocation.0)?;
    u32::try_from(place).ok()
}

/// The columns that have anything to show, in the order of a table.
#[must_use]
pub fn columns_with_values(device: Device<'_>) -> Vec<Column> {
    let contexts = device.snapshot().contexts.rows();
    let any = |text: fn(&Context) -> Option<StringId>| {
        contexts
            .iter()
            .any(|context| text(context).is_some_and(|id| id != StringId(0)))
    };
    let has_pools = || {
        let pools = device.pool_of();
        pools.iter().any(Option::is_some)
    };
    let mut columns = vec![
        Column::Order,
        Column::Size,
        Column::Site,
        Column::Born,
        Column::Died,
        Column::Lifetime,
        Column::Stream,
    ];
    columns.extend(has_pools().then_some(Column::Pool));
    columns.extend(any(|context| context.category).then_some(Column::Category));
    columns.extend(any(|context| context.user_metadata).then_some(Column::Metadata));
    columns.push(Column::Address);
    if !device.history.final_blocks.is_empty() {
        columns.extend([Column::Block, Column::Rounding]);
    }
    columns
}

/// The permutations that have been asked for, newest last; at most as many as are kept at 4 bytes per
/// allocation each.
#[derive(Debug, Default)]
pub struct Permutations {
    kept: Vec<(Column, Permutation)>,
}

impl Permutations {
    /// How many are kept.
    const KEPT: usize = 4;

    /// The order of a column, sorted when first asked for.
    pub fn get(&mut self, device: Device<'_>, column: Column) -> &Permutation {
        match self.kept.iter().position(|(known, _)| *known == column) {
            Some(at) => self.kept[at..].rotate_left(1),
            None => {
                if self.kept.len() >= Self::KEPT {
                    self.kept.remove(0);
                }
                self.kept.push((column, sorted(device, column)));
            }
        }
        let last = self.kept.len() - 1;
        &self.kept[last].1
    }
}
