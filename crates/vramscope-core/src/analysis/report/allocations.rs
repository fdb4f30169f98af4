//! The table of allocations: sorted by a property, in windows.
//!
//! Sorting compares small numbers: texts are replaced by their ranks, because few are distinct. Rows are built only for
//! the visible window. [`crate::analysis::search::filter`] decides which rows are shown, and its
//! [`totals`](crate::analysis::search::filter::totals) sums them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::analysis::code::frames::clip;
use crate::analysis::properties::{Kind, Names, Property, Shown, Values, values};
use crate::analysis::recording::Device;
use crate::analysis::time::history::NEVER;
use crate::analysis::time::lifetime::{Lifetime, lifetime};
use crate::bitset::BitSet;
use crate::ids::AllocationId;
use crate::sorting::{SortFew, rows_by_end, rows_by_value};

/// The order of a table's rows by one property.
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
    /// A cell for each requested column.
    pub cells: Vec<Cell>,
}

/// The value of a property in a row.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Cell {
    /// Unknown, or absent.
    Unknown,
    /// See [`Kind::Number`].
    Number(u64),
    /// See [`Kind::Bytes`].
    Bytes(u64),
    /// See [`Kind::Moment`].
    Moment {
        /// The moment, which is also the number, from 1, of the event that begins it. 0 = before the recording.
        moment: u32,
        /// Microseconds from the start of the recording; `None` without times, or before the recording.
        since_start_us: Option<i64>,
    },
    /// See [`Kind::Length`].
    Lifetime(Lifetime),
    /// See [`Kind::Address`].
    Address {
        /// The start address.
        address: u64,
        /// Number of earlier allocations at the same address.
        version: u32,
    },
    /// A name, cut to 4096 bytes.
    Name(String),
}

/// Maximum length of a text in a row, in bytes; longer ones are cut.
const TEXT_LIMIT_BYTES: usize = 4096;

/// Sorts all allocations of a device by a property, ascending.
#[must_use]
pub fn sorted(device: Device<'_>, by: Property) -> Permutation {
    let count = device.history.allocations.len();
    match values(device, by) {
        // The moments of death are counted, which is faster than comparing them.
        _ if by == Property::Died => Permutation::by_end(&device.history.allocations.died),
        Values::Numbers(number) => Permutation::of(count, number),
        Values::Names(names) => {
            let order = match by.kind() {
                Kind::Choice => (0..names.labels.len() as u64).collect(),
                _ => ranks(&names.labels),
            };
            Permutation::of(count, |row| order.get((names.of)(row) as usize).copied())
        }
    }
}

impl Permutation {
    /// Sorts rows by a value that may be missing. Equal rows stay in stacking order.
    fn of(count: usize, value: impl Fn(usize) -> Option<u64>) -> Self {
        let rows = rows_by_value(count, &value);
        Self::with_rest(rows, count, |row| value(row).is_none())
    }

    /// Sorts rows by the moment of death.
    fn by_end(ends: &[u32]) -> Self {
        Self::with_rest(rows_by_end(ends), ends.len(), |row| ends[row] == NEVER)
    }

    /// Rows that are already sorted, followed by all others.
    fn with_rest(mut rows: Vec<u32>, count: usize, is_other: impl Fn(usize) -> bool) -> Self {
        let known = rows.len();
        rows.extend((0..count as u32).filter(|&row| is_other(row as usize)));
        Self { rows, known }
    }

    /// The rows in display order, restricted to `matches` if given. Rows without a value come last in either direction.
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

/// The rank of each text in alphabetical order.
fn ranks(texts: &[Cow<'_, str>]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..texts.len()).collect();
    order.sort_few_by(|&a, &b| texts[a].cmp(&texts[b]));
    let mut ranks = vec![0; texts.len()];
    let mut rank = 0;
    for (place, &item) in order.iter().enumerate() {
        // Equal texts have the same rank.
        if place > 0 && texts[order[place - 1]] != texts[item] {
            rank = place as u64;
        }
        ranks[item] = rank;
    }
    ranks
}

/// Builds the given rows with these columns. Numbers beyond the table are skipped.
pub fn rows<'a>(
    device: Device<'a>,
    columns: &[Property],
    shown: &'a [u32],
) -> impl Iterator<Item = AllocationRow> + use<'a> {
    let columns = columns
        .iter()
        .map(|&column| (column, values(device, column)));
    let columns: Vec<(Property, Values<'a>)> = columns.collect();
    let ids = shown.iter().map(|&row| AllocationId(row));
    ids.filter(move |&id| device.has(id)).map(move |id| {
        let cells = columns
            .iter()
            .map(|(column, values)| cell(device, *column, values, id));
        AllocationRow {
            allocation: id,
            cells: cells.collect(),
        }
    })
}

fn cell(device: Device<'_>, column: Property, values: &Values<'_>, id: AllocationId) -> Cell {
    let row = id.index();
    let number = match values {
        // Streams are shown by their numbers.
        Values::Names(names) if column == Property::Stream => {
            let number = (names.of)(row);
            Some(number.into()).filter(|_| number != Names::UNKNOWN)
        }
        Values::Names(names) => return name(names, row),
        Values::Numbers(number) => number(row),
    };
    let Some(number) = number else {
        return Cell::Unknown;
    };
    match column.kind() {
        Kind::Bytes => Cell::Bytes(number),
        Kind::Moment => {
            let moment = number as u32;
            let time = device.time(moment).filter(|_| moment > 0);
            Cell::Moment {
                moment,
                since_start_us: time.map(|(_, since_start_us)| since_start_us),
            }
        }
        Kind::Length => Cell::Lifetime(lifetime(device.history, id)),
        Kind::Address => Cell::Address {
            address: number,
            version: device.history.allocations.version[row],
        },
        Kind::Number | Kind::Name | Kind::Choice => Cell::Number(number),
    }
}

fn name(names: &Names<'_>, row: usize) -> Cell {
    match names.label(row) {
        Some(label) => Cell::Name(clip(label, TEXT_LIMIT_BYTES).to_owned()),
        None if names.is_unknown_a_word => Cell::Name(names.unknown.clone().into_owned()),
        None => Cell::Unknown,
    }
}

/// The index of an allocation in `shown`, by linear search; `None` if it is not there.
#[must_use]
pub fn place_of(shown: &[u32], allocation: AllocationId) -> Option<u32> {
    let place = shown.iter().position(|&row| row == allocation.0)?;
    u32::try_from(place).ok()
}

/// The columns that distinguish allocations, in display order: those with a value in some row, and choices with more
/// than one value.
#[must_use]
pub fn columns_with_values(device: Device<'_>) -> Vec<Property> {
    let history = device.history;
    let mut columns: Vec<Property> = Property::all().collect();
    columns.retain(|&column| column.row().shown == Shown::InTables && tells(device, column));
    if !history.has_trace() {
        columns.retain(|column| !matches!(column.kind(), Kind::Moment | Kind::Length));
    }
    // Blocks are known only for allocations live at the end. If these are few, the columns of blocks would be nearly
    // empty.
    if 2 * history.final_blocks.len() <= history.allocations.len() {
        columns.retain(|column| !matches!(column, Property::Block | Property::Rounding));
    }
    columns
}

/// Whether a column of names or counts has any, or, for streams and pools, at least two.
fn tells(device: Device<'_>, column: Property) -> bool {
    let rows = 0..device.history.allocations.len();
    let names = match values(device, column) {
        Values::Names(names) => names,
        Values::Numbers(number) => {
            return column.kind() != Kind::Number || rows.clone().any(|row| number(row).is_some());
        }
    };
    let places = rows.map(&names.of);
    let mut known = places.filter(|&place| place != Names::UNKNOWN);
    match (column, known.next()) {
        (Property::CallSite, _) => true,
        (_, None) => false,
        (Property::Stream | Property::Pool, Some(first)) => known.any(|other| other != first),
        _ => true,
    }
}

/// The most recently used permutations, at most 4. Each takes 4 bytes per allocation.
#[derive(Debug, Default)]
pub struct Permutations {
    kept: Vec<(Property, Permutation)>,
}

impl Permutations {
    const KEPT: usize = 4;

    /// The permutation by a property, sorted now unless cached.
    pub fn get(&mut self, device: Device<'_>, by: Property) -> &Permutation {
        match self.kept.iter().position(|(known, _)| *known == by) {
            Some(at) => self.kept[at..].rotate_left(1),
            None => {
                if self.kept.len() >= Self::KEPT {
                    self.kept.remove(0);
                }
                self.kept.push((by, sorted(device, by)));
            }
        }
        let last = self.kept.len() - 1;
        &self.kept[last].1
    }
}
