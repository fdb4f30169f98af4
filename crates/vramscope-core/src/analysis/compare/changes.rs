//! The difference of two [profiles](crate::analysis::compare::side): what grew, what shrank, by call site and by call path.
//!
//! Places in the code are matched by their name, which is the same for the same code on every machine.
//! Between two versions of a program lines move: two profiles by function instead of by line still match.
//! Every difference is kept as a pair *before*, *after*, so that a call path that is new and one that
//! doubled are told apart, and nothing overflows.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::analysis::compare::side::{Amount, Profile};

mod settings;

pub use settings::{SettingChange, compare_settings};

/// A place's share of either side.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Change {
    /// On the first side.
    pub before: Amount,
    /// On the second side.
    pub after: Amount,
}

impl Change {
    /// Bytes after less bytes before; saturates.
    #[must_use]
    pub fn bytes_delta(&self) -> i64 {
        delta(self.before.bytes, self.after.bytes)
    }

    /// Allocations after less allocations before; saturates.
    #[must_use]
    pub fn count_delta(&self) -> i64 {
        delta(self.before.count, self.after.count)
    }

    /// Whether both sides are alike.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.before == self.after
    }

    /// The same from the other side.
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

/// After less before; saturates.
#[must_use]
pub fn delta(before: u64, after: u64) -> i64 {
    let size = i64::try_from(after.abs_diff(before)).unwrap_or(i64::MAX);
    if after < before { -size } else { size }
}

/// By which part of what was before something changed: 0.25 for a quarter more. `None` where nothing was.
#[must_use]
pub fn relative_change(before: u64, after: u64) -> Option<f64> {
    (before > 0).then(|| (after as f64 - before as f64) / before as f64)
}

/// What became of one call site.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteChange {
    /// Its name, as the profiles have it.
    pub label: String,
    /// Its share.
    pub change: Change,
}

/// Call paths of both sides as one tree of columns. Row 0 is the root, a node comes after its parent.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ChangeTree {
    /// The caller's row; 0 for the root itself.
    pub parent: Vec<u32>,
    /// Row of [`Self::labels`].
    pub label: Vec<u32>,
    /// What this very path allocated.
    pub own: Vec<Change>,
    /// The same with all longer paths.
    pub total: Vec<Change>,
    /// Every distinct label.
    pub labels: Vec<String>,
}

impl ChangeTree {
    /// Number of nodes, the root included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Whether there is not even a root.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// A node's name.
    #[must_use]
    pub fn text(&self, row: u32) -> &str {
        let label = self.label.get(row as usize).copied().unwrap_or(0);
        self.labels.get(label as usize).map_or("", String::as_str)
    }
}

/// Two sides and what differs.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Comparison {
    /// All selected allocations of either side.
    pub total: Change,
    /// By call site, the largest difference of bytes first; unchanged ones last.
    pub sites: Vec<SiteChange>,
    /// By call path.
    pub tree: ChangeTree,
    /// The allocator's settings that differ.
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
    changes(before, after)
}

/// What names hold on either side, joined by name: the largest difference of bytes first, unchanged ones
/// last. A name that comes more than once on a side counts as one.
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
                change: Change::default(),
            });
            rows.len() - 1
        });
        rows[row].change.side(side).add(amount);
    }
    // By size of the difference, then by what it is out of, so that the order is the same every time.
    rows.sort_by(|a, b| {
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

/// How many names came, went and stayed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Tally {
    /// Only on the second side.
    pub new: u64,
    /// Only on the first side.
    pub gone: u64,
    /// On both, not alike.
    pub changed: u64,
    /// On both, alike.
    pub unchanged: u64,
}

/// Counts what became of names.
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

/// Both trees laid over each other.
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
        // Profile's row → this tree's. A row that points ahead (no profile of ours) hangs from the root.
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
