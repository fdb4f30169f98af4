//! The functions of a selection, with the memory that each and its callees allocated: the list of a sandwich view.

use serde::{Deserialize, Serialize};

use super::Sums;
use super::paths::{Paths, allocating};
use crate::analysis::code::frame_groups::GroupId;
use crate::sorting::SortFew;

/// One row of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FunctionTotal {
    /// The group.
    pub group: GroupId,
    /// Sums over stacks that contain it anywhere; recursion counts once.
    pub total: Sums,
    /// Sums over stacks with it as the innermost frame.
    pub own: Sums,
}

/// All groups on any path, the heaviest by `total` first. Their `own` sums add up to the selection.
#[must_use]
pub fn functions(paths: &Paths) -> Vec<FunctionTotal> {
    let mut rows: Vec<FunctionTotal> = Vec::new();
    // Per group: its row, and the last path in which it was counted.
    let mut seen: Vec<Option<(usize, usize)>> = Vec::new();
    for (number, (path, sums)) in paths.iter().enumerate() {
        let path = allocating(path);
        for (place, &group) in path.iter().enumerate() {
            let at = group.index();
            if seen.len() <= at {
                seen.resize(at + 1, None);
            }
            let (row, last) = seen[at].unwrap_or_else(|| {
                rows.push(FunctionTotal {
                    group,
                    total: Sums::default(),
                    own: Sums::default(),
                });
                (rows.len() - 1, usize::MAX)
            });
            if last != number {
                rows[row].total.add(sums);
            }
            if place + 1 == path.len() {
                rows[row].own.add(sums);
            }
            seen[at] = Some((row, number));
        }
    }
    rows.sort_few_by_key(|row| {
        let heaviest = std::cmp::Reverse((row.total.weight, row.own.weight));
        (heaviest, row.group)
    });
    rows
}
