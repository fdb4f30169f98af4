//! Groups the allocations of a device by one of their properties.
//!
//! A group of places in the code may be several frames, with a depth above 1: `a.py:3 f < b.py:9 g`. A group has the
//! same label in flame graphs, in comparisons and in other files.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::operator_sums::OperatorSums;
use super::turnover::Amount;
use crate::analysis::properties::{Names, Property, names, nested_names};
use crate::analysis::recording::Device;
use crate::analysis::search::filter::{Filter, rows, rows::any};
use crate::analysis::time::history::History;
use crate::analysis::time::selection::Selection;
use crate::ids::AllocationId;
use crate::sorting::SortFew;

/// The group of every allocation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GroupColumn {
    /// Label of each group. The last group has the allocations without a value.
    pub labels: Vec<String>,
    /// For each group the filter that matches exactly its allocations; empty where no filter does.
    pub filters: Vec<Filter>,
    /// Whether groups are call sites, so that [`operators_of`](Self::operators_of) can add the operators.
    pub are_call_sites: bool,
    /// Group of each allocation.
    pub of: Vec<u32>,
}

impl GroupColumn {
    /// Groups all allocations by a property whose values are names. `depth` is the number of frames per label or, for
    /// annotations, of nested ranges; at least 1. Other names stand alone.
    #[must_use]
    pub fn of(device: Device<'_>, by: Property, depth: usize) -> Self {
        let nested = nested_names(device, by, depth);
        let is_nested = nested.is_some();
        let Some(names) = nested.or_else(|| names(device, by)) else {
            return Self::default();
        };
        let filters = match is_nested {
            true => Vec::new(),
            false => rows::of_names(device, by, &names),
        };
        Self {
            are_call_sites: by == Property::CallSite,
            ..Self::of_names(names, filters, device.history.allocations.len())
        }
    }

    /// Groups equal names.
    fn of_names(names: Names<'_>, filters: Vec<Filter>, rows: usize) -> Self {
        let mut numbers: HashMap<Cow<'_, str>, u32> = HashMap::new();
        let mut merged: Vec<Vec<Filter>> = Vec::new();
        let mut labels = Vec::new();
        let all = names.labels.into_iter().chain([names.unknown]);
        let mut filters = filters.into_iter();
        let groups = all.map(|label| {
            let number = *numbers.entry(label).or_insert_with_key(|label| {
                labels.push(label.clone().into_owned());
                merged.push(Vec::new());
                labels.len() as u32 - 1
            });
            merged[number as usize].extend(filters.next());
            number
        });
        let groups: Vec<u32> = groups.collect();
        let (last, known) = groups.split_last().unwrap_or((&0, &[]));
        let group = |row| *known.get((names.of)(row) as usize).unwrap_or(last);
        Self {
            of: (0..rows).map(group).collect(),
            filters: merged.into_iter().filter_map(any).collect(),
            labels,
            are_call_sites: false,
        }
    }

    /// The label of an allocation's group; empty if there is no such allocation.
    #[must_use]
    pub fn label(&self, id: AllocationId) -> &str {
        let group = self.of.get(id.index()).copied().unwrap_or(u32::MAX);
        self.labels.get(group as usize).map_or("", String::as_str)
    }

    /// The operators that made the given allocations of each group, by bytes descending. Only for call sites with a
    /// known operator.
    #[must_use]
    pub fn operators_of(
        &self,
        device: Device<'_>,
        allocations: impl IntoIterator<Item = AllocationId>,
    ) -> HashMap<u32, String> {
        let mut sums = OperatorSums::default();
        for id in allocations.into_iter().filter(|_| self.are_call_sites) {
            let row = id.index();
            let bytes = device.history.allocations.bytes[row];
            sums.add(self.of[row], device.operator(id), bytes);
        }
        sums.named(device.operators())
    }
}

/// Sums over the selected allocations of one group.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct GroupTotal {
    /// Index into [`GroupColumn::labels`].
    pub group: u32,
    /// Requested bytes; saturates.
    pub bytes: u64,
    /// Number of allocations.
    pub count: u64,
    /// Requested bytes of the largest allocation.
    pub largest_bytes: u64,
}

/// Sums the selected allocations by group, most bytes first, then by group number.
#[must_use]
pub fn group_totals(
    history: &History,
    column: &GroupColumn,
    selection: Selection,
) -> Vec<GroupTotal> {
    totals_of(history, column, selection.allocations(history))
}

/// Sums the given allocations by group, most bytes first, then by group number.
#[must_use]
pub fn totals_of(
    history: &History,
    column: &GroupColumn,
    allocations: impl IntoIterator<Item = AllocationId>,
) -> Vec<GroupTotal> {
    let mut totals: Vec<GroupTotal> = (0..column.labels.len() as u32)
        .map(|group| GroupTotal {
            group,
            ..GroupTotal::default()
        })
        .collect();
    for id in allocations {
        let bytes = history.allocations.bytes[id.index()];
        let group = column.of.get(id.index()).map(|&group| group as usize);
        if let Some(total) = group.and_then(|group| totals.get_mut(group)) {
            total.bytes = total.bytes.saturating_add(bytes);
            total.count += 1;
            total.largest_bytes = total.largest_bytes.max(bytes);
        }
    }
    totals.retain(|total| total.count > 0);
    totals.sort_few_by_key(|total| std::cmp::Reverse(total.bytes));
    totals
}

/// Like [`group_totals`], but by label, for comparison with other files.
#[must_use]
pub fn named_totals(
    history: &History,
    column: &GroupColumn,
    selection: Selection,
) -> Vec<(String, Amount)> {
    let totals = group_totals(history, column, selection);
    let named = totals.into_iter().map(|total| {
        let amount = Amount {
            bytes: total.bytes,
            count: total.count,
        };
        (column.labels[total.group as usize].clone(), amount)
    });
    named.collect()
}

#[cfg(test)]
mod tests;
