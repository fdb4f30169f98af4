//! The allocations of a device as a table that can be sorted by any column, filtered, and read in windows.
//!
//! A table of a million rows is never built. Sorting gives a [`Permutation`], which the caller keeps per
//! column. [`Permutation::shown`] reverses and filters it, and [`rows`] builds the few rows on screen.
//! [`totals`](crate::analysis::search::filter::totals) has the sums over the rows shown.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::analysis::memory::streams_and_pools::{FewValues, context_of};
use crate::analysis::recording::Device;
use crate::analysis::roles::Role;
use crate::analysis::time::history::NEVER;
use crate::analysis::time::lifetime::{Lifetime, lifetime};
use crate::bitset::BitSet;
use crate::ids::{AllocationId, ContextId, StringId};
use crate::model::{Context, PoolId};
use crate::sorting::{SortFew, rows_by_end, rows_by_value};

/// A column by which the table can be sorted.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Column {
    /// Stacking order: allocations from before the recording first, then by birth.
    #[default]
    Order,
    /// Requested bytes.
    Size,
    /// Bytes of its block, for allocations live at the end.
    Block,
    /// Bytes of its block minus requested bytes, for allocations live at the end.
    Rounding,
    /// The call site's label.
    Site,
    /// The operator's label.
    Operator,
    /// First moment at which it is live; 0 for allocations from before the recording.
    Born,
    /// First moment at which it is no longer live, for allocations that were freed.
    Died,
    /// Lifetime as far as recorded.
    Lifetime,
    /// The stream's number.
    Stream,
    /// The memory pool.
    Pool,
    /// The profiler's category.
    Category,
    /// What it is for, as inferred, in the order of [`Role::ALL`].
    Role,
    /// The metadata that the program attached.
    Metadata,
    /// Start address.
    Address,
}

/// The order of a table's rows by one column.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Permutation {
    /// Rows of the allocation table, sorted by value; rows without a value come last.
    rows: Vec<u32>,
    /// Number of rows with a value. The other rows are in stacking order.
    known: usize,
}

/// One row of the table.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AllocationRow {
    /// The allocation.
    pub allocation: AllocationId,
    /// Start address.
    pub address: u64,
    /// Number of earlier allocations at the same address.
    pub version: u32,
    /// Requested bytes.
    pub requested_bytes: u64,
    /// Bytes of its block in the final state; `None` if it was freed.
    pub block_bytes: Option<u64>,
    /// Label of its call site, or of the code that freed it if only that is known.
    pub site: String,
    /// Label of the operator that made it; empty if unknown.
    pub operator: String,
    /// First moment at which it is live, which is also the number of its alloc event, counted from 1. 0 =
    /// before the recording.
    pub born: u32,
    /// First moment at which it is no longer live; `None` if it is live at the end.
    pub died: Option<u32>,
    /// Microseconds from the start of the recording to its birth; `None` without times, or if it was before the
    /// recording.
    pub born_us: Option<i64>,
    /// Microseconds from the start of the recording to its death; `None` without times, or if it is live at the
    /// end.
    pub died_us: Option<i64>,
    /// Its lifetime as far as recorded.
    pub lifetime: Lifetime,
    /// The number of its stream; `None` if unknown.
    pub stream: Option<u32>,
    /// Its memory pool by name; `None` if unknown.
    pub pool: Option<String>,
    /// The profiler's category; `None` if it has none.
    pub category: Option<String>,
    /// What it is for, as inferred.
    pub role: Role,
    /// The metadata that the program attached, at most 4096 bytes; `None` if there is none.
    pub metadata: Option<String>,
}

/// Sorts all allocations of a device by a column, ascending.
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
                // Site 0 means that no stack was recorded.
                ranks.get(site).copied().filter(|_| site > 0)
            })
        }
        Column::Operator => {
            let labels = device.call_sites().operators().labels();
            let ranks = ranks(labels.len(), |operator| labels[operator].as_str());
            by(&|row| {
                let operator = device.operator_of().get(row)?.index();
                ranks.get(operator).copied().filter(|_| operator > 0)
            })
        }
        Column::Born => by(&|row| Some(u64::from(table.born[row]))),
        Column::Died => Permutation::by_end(&table.died),
        Column::Lifetime => by(&|row| {
            let life = lifetime(device.history, AllocationId::from_index(row));
            Some(
                life.us
                    .map_or(u64::from(life.events), |us| us.max(0).cast_unsigned()),
            )
        }),
        Column::Stream => {
            let numbers = device.recording.streams().numbers();
            let streams = device.stream_of();
            by(&|row| numbers.get(&streams[row]?).map(|&number| u64::from(number)))
        }
        Column::Pool => by_pool(device),
        Column::Category => by_text(device, |context| context.category),
        Column::Role => by(&|row| {
            let role = device.rule_of().get(row)?.role();
            (role != Role::Unknown).then_some(role.ordinal() as u64)
        }),
        Column::Metadata => by_text(device, |context| context.user_metadata),
        Column::Address => by(&|row| Some(table.address[row])),
    }
}

impl Permutation {
    /// Sorts rows by a value, which may be missing. Equal rows stay in stacking order.
    fn of(count: usize, value: impl Fn(usize) -> Option<u64>) -> Self {
        let rows = rows_by_value(count, &value);
        Self::with_rest(rows, count, |row| value(row).is_none())
    }

    /// Sorts rows by the moment at which they are gone.
    fn by_end(ends: &[u32]) -> Self {
        Self::with_rest(rows_by_end(ends), ends.len(), |row| ends[row] == NEVER)
    }

    /// Rows that are sorted already, and then all others.
    fn with_rest(mut rows: Vec<u32>, count: usize, is_other: impl Fn(usize) -> bool) -> Self {
        let known = rows.len();
        rows.extend((0..count as u32).filter(|&row| is_other(row as usize)));
        Self { rows, known }
    }

    /// The rows in the order of display, restricted to `matches` if given. Rows without a value come last in
    /// either direction.
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

/// For each text its rank in alphabetical order.
fn ranks<'a>(count: usize, text: impl Fn(usize) -> &'a str) -> Vec<u64> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_few_by(|&a, &b| text(a).cmp(text(b)));
    let mut ranks = vec![0; count];
    let mut rank = 0;
    for (place, &item) in order.iter().enumerate() {
        // Equal texts have the same rank.
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

/// Builds the given rows. Numbers beyond the table are left out.
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
        operator: {
            let operators = device.call_sites().operators();
            operators.label(device.operator(id)).to_owned()
        },
        born,
        died: (died != NEVER).then_some(died),
        born_us: since_start(born).filter(|_| born > 0),
        died_us: since_start(died),
        lifetime: lifetime(history, id),
        stream: device.stream_of()[at].and_then(|stream| device.recording.streams().number(stream)),
        pool: device.pool_of()[at].map(|pool| device.recording.pools().label(pool)),
        category: text(context.and_then(|context| context.category)),
        role: device
            .rule_of()
            .get(at)
            .map_or(Role::Unknown, |rule| rule.role()),
        metadata: text(context.and_then(|context| context.user_metadata)),
    }
}

/// Maximum length of a text in a row, in bytes; longer ones are cut.
const TEXT_LIMIT_BYTES: usize = 4096;

/// The index of an allocation in `shown`, by a search through all of it; `None` if it is not there.
#[must_use]
pub fn place_of(shown: &[u32], allocation: AllocationId) -> Option<u32> {
    let place = shown.iter().position(|&row| row == allocation.0)?;
    u32::try_from(place).ok()
}

/// The columns that tell allocations apart, in the order of display: those with a value in some row, and streams and
/// pools where there is more than one.
#[must_use]
pub fn columns_with_values(device: Device<'_>) -> Vec<Column> {
    let contexts = device.snapshot().contexts.rows();
    let any = |text: fn(&Context) -> Option<StringId>| {
        contexts
            .iter()
            .any(|context| text(context).is_some_and(|id| id != StringId(0)))
    };
    let mut columns = vec![Column::Order, Column::Size, Column::Site];
    let has_operators = device.call_sites().operators().labels().len() > 1;
    columns.extend(has_operators.then_some(Column::Operator));
    let mut roles = device.rule_of().iter();
    let has_roles = roles.any(|rule| rule.role() != Role::Unknown);
    columns.extend(has_roles.then_some(Column::Role));
    if device.history.has_trace() {
        columns.extend([Column::Born, Column::Died, Column::Lifetime]);
    }
    columns.extend(differ(device.stream_of()).then_some(Column::Stream));
    columns.extend(differ(device.pool_of()).then_some(Column::Pool));
    columns.extend(any(|context| context.category).then_some(Column::Category));
    columns.extend(any(|context| context.user_metadata).then_some(Column::Metadata));
    columns.push(Column::Address);
    // Blocks are known of what is live at the end. Where that is little, their columns would be empty but for a few rows.
    let history = device.history;
    if 2 * history.final_blocks.len() > history.allocations.len() {
        columns.extend([Column::Block, Column::Rounding]);
    }
    columns
}

/// Whether two of the known values differ.
fn differ<T: PartialEq>(values: &FewValues<T>) -> bool {
    let mut known = values.iter().flatten();
    known
        .next()
        .is_some_and(|first| known.any(|other| other != first))
}

/// The permutations used last, at most 4 of them. Each takes 4 bytes per allocation.
#[derive(Debug, Default)]
pub struct Permutations {
    kept: Vec<(Column, Permutation)>,
}

impl Permutations {
    /// Maximum number of permutations.
    const KEPT: usize = 4;

    /// The permutation of a column, sorted if it is not kept.
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
