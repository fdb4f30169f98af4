//! The difference of two [profiles](crate::analysis::compare::side), by call site and by call path.
//!
//! Places in the code are matched by label, which is the same for the same code on every machine. Lines may move
//! between two versions of a program; profiles by function instead of by line still match. A difference is kept as a
//! pair of amounts, before and after, so that a new call path can be distinguished from one that doubled, and nothing
//! overflows.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::analysis::compare::side::{Amount, Profile};
use crate::sorting::SortFew;

mod settings;

pub use settings::{SettingChange, compare_settings};

/// An amount on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Change {
    /// The amount on the first side.
    pub before: Amount,
    /// The amount on the second side.
    pub after: Amount,
}

impl Change {
    /// Bytes after minus bytes before; saturates.
    #[must_use]
    pub fn bytes_delta(&self) -> i64 {
        delta(self.before.bytes, self.after.bytes)
    }

    /// Count after minus count before; saturates.
    #[must_use]
    pub fn count_delta(&self) -> i64 {
        delta(self.before.count, self.after.count)
    }

    /// Whether both sides are equal.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.before == self.after
    }

    /// The change with its sides exchanged.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            before: self.after,
            after: self.before,
        }
    }

    fn side(&mut self, side: Side) -> &mut Amount {
        match side {
            Side::Before => &mut self.before,
            Side::After => &mut self.after,
        }
    }

    fn add(&mut self, other: Self) {
        self.before.add(other.before);
        self.after.add(other.after);
    }
}

/// `after` minus `before`; saturates.
#[must_use]
pub fn delta(before: u64, after: u64) -> i64 {
    let size = i64::try_from(after.abs_diff(before)).unwrap_or(i64::MAX);
    if after < before { -size } else { size }
}

/// The change as a share of `before`: 0.25 for an increase by a quarter. `None` if `before` is 0.
#[must_use]
pub fn relative_change(before: u64, after: u64) -> Option<f64> {
    (before > 0).then(|| (after as f64 - before as f64) / before as f64)
}

/// The change of one call site.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteChange {
    /// The call site's label, as in the profiles.
    pub label: String,
    /// The operators that made its allocations, if the profiles have them: from the second side, else from the first.
    pub operators: String,
    /// Its amounts on both sides.
    pub change: Change,
}

/// The call paths of both sides as one tree, in columns. Row 0 is the root. Nodes come after their parents.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChangeTree {
    /// Row of the parent, which is the caller; 0 for the root itself.
    pub parent: Vec<u32>,
    /// Index into [`Self::labels`].
    pub label: Vec<u32>,
    /// Amounts allocated by exactly this path.
    pub own: Vec<Change>,
    /// Amounts allocated by this path and all paths that extend it.
    pub total: Vec<Change>,
    /// The distinct labels.
    pub labels: Vec<String>,
}

impl ChangeTree {
    /// Number of nodes, including the root.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there is no node, not even a root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// A node's label; empty if there is no such node.
    #[must_use]
    pub fn text(&self, row: u32) -> &str {
        let label = self.label.get(row as usize).copied().unwrap_or(0);
        self.labels.get(label as usize).map_or("", String::as_str)
    }
}

/// The comparison of two profiles.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// All selected allocations.
    pub total: Change,
    /// By call site. Sorted by the difference in bytes, then by the larger of both sides, both descending.
    pub sites: Vec<SiteChange>,
    /// By call path.
    pub tree: ChangeTree,
    /// The allocator settings that differ.
    pub settings: Vec<SettingChange>,
}

/// Compares two profiles.
#[must_use]
pub fn compare(before: &Profile, after: &Profile) -> Comparison {
    let sides = [(Side::Before, before), (Side::After, after)];
    Comparison {
        total: Change {
            before: before.total,
            after: after.total,
        },
        sites: site_changes(sides),
        tree: change_tree(sides),
        settings: compare_settings(&before.settings, &after.settings),
    }
}

#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

type Sides<'a> = [(Side, &'a Profile); 2];

fn site_changes(sides: Sides<'_>) -> Vec<SiteChange> {
    let [before, after] = sides.map(|(_, profile)| {
        let name = |label: u32| profile.labels.get(label as usize);
        (profile.sites.iter())
            .map(move |site| (name(site.label).map_or("", String::as_str), site.amount))
    });
    let mut rows = changes(before, after);
    let operators = sides.into_iter().flat_map(|(_, profile)| {
        let known = profile
            .sites
            .iter()
            .filter(|site| !site.operators.is_empty());
        known.filter_map(|site| {
            let name = profile.labels.get(site.label as usize)?;
            Some((name.as_str(), site.operators.as_str()))
        })
    });
    let operators: HashMap<&str, &str> = operators.collect();
    for row in &mut rows {
        let known = operators.get(row.label.as_str()).copied();
        known.unwrap_or_default().clone_into(&mut row.operators);
    }
    rows
}

/// Joins the amounts of both sides by label. Sorted by the difference in bytes, then by the larger side, both
/// descending. Amounts with the same label on one side are added up.
#[must_use]
pub fn changes<'a>(
    before: impl IntoIterator<Item = (&'a str, Amount)>,
    after: impl IntoIterator<Item = (&'a str, Amount)>,
) -> Vec<SiteChange> {
    let mut rows: Vec<SiteChange> = Vec::new();
    let mut by_label: HashMap<&str, usize> = HashMap::new();
    let before = before.into_iter().map(|named| (Side::Before, named));
    let after = after.into_iter().map(|named| (Side::After, named));
    for (side, (label, amount)) in before.chain(after) {
        let row = *by_label.entry(label).or_insert_with(|| {
            rows.push(SiteChange {
                label: label.to_owned(),
                operators: String::new(),
                change: Change::default(),
            });
            rows.len() - 1
        });
        rows[row].change.side(side).add(amount);
    }
    // The label comes last, so that the order is deterministic.
    rows.sort_few_by(|a, b| {
        let rank = |row: &SiteChange| {
            let Change { before, after } = row.change;
            (
                after.bytes.abs_diff(before.bytes),
                after.bytes.max(before.bytes),
            )
        };
        rank(b).cmp(&rank(a)).then_with(|| a.label.cmp(&b.label))
    });
    rows
}

/// Number of labels by kind of change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Only on the second side.
    pub new: u64,
    /// Only on the first side.
    pub gone: u64,
    /// On both sides, with different amounts.
    pub changed: u64,
    /// On both sides, with equal amounts.
    pub unchanged: u64,
}

/// Counts labels by kind of change.
#[must_use]
pub fn tally(changes: &[SiteChange]) -> Tally {
    let mut tally = Tally::default();
    for Change { before, after } in changes.iter().map(|site| site.change) {
        let count = match (before.is_nothing(), after.is_nothing()) {
            (true, false) => &mut tally.new,
            (false, true) => &mut tally.gone,
            _ if before == after => &mut tally.unchanged,
            _ => &mut tally.changed,
        };
        *count += 1;
    }
    tally
}

/// Merges the call paths of both sides into one tree.
fn change_tree(sides: Sides<'_>) -> ChangeTree {
    let mut tree = ChangeTree::default();
    let mut label_rows: HashMap<&str, u32> = HashMap::new();
    let mut children: HashMap<(u32, u32), u32> = HashMap::new();
    push(&mut tree, 0, 0);
    for (side, profile) in sides {
        let labels: Vec<u32> = (profile.labels.iter())
            .map(|text| {
                *label_rows.entry(text).or_insert_with(|| {
                    tree.labels.push(text.clone());
                    tree.labels.len() as u32 - 1
                })
            })
            .collect();
        let nodes = &profile.tree;
        // Row of the profile to row of this tree. If a parent does not precede its child, as in a profile that another
        // program wrote, the child hangs from the root.
        let mut rows: Vec<u32> = Vec::with_capacity(nodes.len());
        for (row, (&parent, &label)) in nodes.parent.iter().zip(&nodes.label).enumerate() {
            let here = if row == 0 {
                0
            } else {
                let parent = rows.get(parent as usize).copied().unwrap_or(0);
                let label = labels.get(label as usize).copied().unwrap_or(0);
                *children
                    .entry((parent, label))
                    .or_insert_with(|| push(&mut tree, parent, label))
            };
            rows.push(here);
            let column = |values: &[u64]| values.get(row).copied().unwrap_or(0);
            let own = Amount {
                bytes: column(&nodes.self_bytes),
                count: column(&nodes.self_count),
            };
            tree.own[here as usize].side(side).add(own);
        }
    }
    tree.total = tree.own.clone();
    for row in (1..tree.len()).rev() {
        let (total, parent) = (tree.total[row], tree.parent[row] as usize);
        tree.total[parent].add(total);
    }
    tree
}

fn push(tree: &mut ChangeTree, parent: u32, label: u32) -> u32 {
    let row = tree.len() as u32;
    tree.parent.push(parent);
    tree.label.push(label);
    tree.own.push(Change::default());
    row
}
