//! Groups the allocations of a device by place in the code, operator, category, role, pool, stream or annotation.
//!
//! By code, a group is a call site's frame. With a depth above 1 it includes callers: `a.py:3 f < b.py:9 g`.
//! Labels come from [`frame_groups`](crate::analysis::code::frame_groups) and
//! [`call_sites`](crate::analysis::code::call_sites), so a group has the same label in flame graphs, in
//! comparisons and in other files.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use serde::{Deserialize, Serialize};

use super::operator_sums::OperatorSums;
use super::turnover::Amount;
use crate::Snapshot;
use crate::analysis::code::call_sites::{CallSiteId, CallSiteKind, CallSites};
use crate::analysis::code::frame_groups::{
    Fold, FrameGrouping, FrameGroups, GroupId, GroupOptions, GroupTable,
};
use crate::analysis::code::operators::OperatorId;
use crate::analysis::memory::streams_and_pools::column;
use crate::analysis::recording::Device;
use crate::analysis::roles::Role;
use crate::analysis::search::filter::{Filter, rows};
use crate::analysis::time::history::History;
use crate::analysis::time::lanes::{LaneKind, LaneRange, RangeName};
use crate::analysis::time::selection::Selection;
use crate::ids::{AllocationId, StackId};
use crate::model::{Context, PoolId};
use crate::sorting::SortFew;

/// The property by which allocations are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GroupBy {
    /// The call site: the line that allocated.
    #[default]
    CallSite,
    /// The call site's function.
    Function,
    /// The call site's file.
    File,
    /// The call site's Python module or C++ namespace.
    Module,
    /// The call site's package: the first part of its module.
    Package,
    /// The operator, see [`operators`](crate::analysis::code::operators).
    Operator,
    /// The profiler's category.
    Category,
    /// What it is for, as inferred.
    Role,
    /// The memory pool.
    Pool,
    /// The stream.
    Stream,
    /// The innermost annotated range around the alloc event.
    Annotation,
}

impl GroupBy {
    /// Whether groups are places in the code.
    pub(crate) fn is_place(self) -> bool {
        self.frames().is_some()
    }

    /// How frames are grouped; `None` if groups are not places in the code.
    fn frames(self) -> Option<FrameGrouping> {
        match self {
            Self::CallSite => Some(FrameGrouping::Line),
            Self::Function => Some(FrameGrouping::Function),
            Self::File => Some(FrameGrouping::File),
            Self::Module => Some(FrameGrouping::Module),
            Self::Package => Some(FrameGrouping::Package),
            Self::Operator
            | Self::Category
            | Self::Role
            | Self::Pool
            | Self::Stream
            | Self::Annotation => None,
        }
    }
}

/// The group of every allocation.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GroupColumn {
    /// Label of each group.
    pub labels: Vec<String>,
    /// For each group the filter that matches exactly its allocations. Only by operator, category, role, pool and
    /// stream; else empty.
    pub filters: Vec<Filter>,
    /// Whether groups are call sites, which [`operators_of`](Self::operators_of) tells more about.
    pub are_call_sites: bool,
    /// Group of each allocation.
    pub of: Vec<u32>,
}

/// Label of the group of allocations for which the file has no value.
pub const NOT_RECORDED: &str = "not recorded";

impl GroupColumn {
    /// Groups all allocations. `depth` is the number of frames per label or, by annotation, of nested ranges;
    /// at least 1. Ignored by operator, category, role, pool and stream.
    #[must_use]
    pub fn of(device: Device<'_>, by: GroupBy, depth: usize) -> Self {
        let depth = depth.max(1);
        match (by, by.frames()) {
            (GroupBy::Operator, _) => by_operator(device),
            (GroupBy::Category, _) => by_category(device),
            (GroupBy::Role, _) => Self::of_roles(device),
            (GroupBy::Pool, _) => by_pool(device),
            (GroupBy::Stream, _) => by_stream(device),
            (GroupBy::Annotation, _) => by_annotation(device, depth),
            (_, Some(grouping)) => by_code(device, grouping, depth),
            (_, None) => Self::default(),
        }
    }

    /// Groups all allocations by role, in the order of [`Role::ALL`].
    #[must_use]
    pub fn of_roles(device: Device<'_>) -> Self {
        let of = device.rule_of().iter();
        Self {
            labels: Role::ALL.map(|role| role.label().to_owned()).into(),
            filters: Role::ALL.map(rows::of_role).into(),
            of: of.map(|rule| rule.role().ordinal() as u32).collect(),
            ..Self::default()
        }
    }

    /// The label of an allocation's group; empty if there is no such allocation.
    #[must_use]
    pub fn label(&self, id: AllocationId) -> &str {
        let group = self.of.get(id.index()).copied().unwrap_or(u32::MAX);
        self.labels.get(group as usize).map_or("", String::as_str)
    }

    /// The operators by which the given allocations of each group were made, those of the most bytes first. Only of
    /// call sites, and where any is known.
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
        sums.named(device.call_sites().operators())
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

/// Sums the selected allocations by group, most bytes first. Equal groups stay in the order of their numbers.
#[must_use]
pub fn group_totals(
    history: &History,
    column: &GroupColumn,
    selection: Selection,
) -> Vec<GroupTotal> {
    totals_of(history, column, selection.allocations(history))
}

/// Sums the given allocations by group, most bytes first. Equal groups stay in the order of their numbers.
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

/// Like [`group_totals`], but by label, which can be compared with other files.
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

/// Distinct labels, numbered in the order in which they are added.
#[derive(Default)]
struct Labels {
    labels: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Labels {
    fn number(&mut self, label: String) -> u32 {
        if let Some(&number) = self.numbers.get(&label) {
            return number;
        }
        let number = self.labels.len() as u32;
        self.labels.push(label.clone());
        self.numbers.insert(label, number);
        number
    }
}

/// Groups with fixed numbers, in the order of `rows`. Allocations without an ordinal are in [`NOT_RECORDED`],
/// the last group, which `without` matches.
fn by_ordinal(
    rows: impl IntoIterator<Item = (String, Filter)>,
    without: Filter,
    ordinals: &[Option<u32>],
) -> GroupColumn {
    let (mut labels, mut filters): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let unknown = labels.len() as u32;
    labels.push(NOT_RECORDED.to_owned());
    filters.push(without);
    let of = ordinals.iter().map(|ordinal| ordinal.unwrap_or(unknown));
    GroupColumn {
        of: of.collect(),
        labels,
        filters,
        ..GroupColumn::default()
    }
}

/// Groups by operator, in the order of the operators' numbers.
fn by_operator(device: Device<'_>) -> GroupColumn {
    let labels = device.call_sites().operators().labels();
    let rows = labels.iter().skip(1);
    let rows = rows.map(|label| (label.clone(), rows::of_operator(label)));
    let ordinal = |id: &OperatorId| id.0.checked_sub(1);
    let of: Vec<_> = device.operator_of().iter().map(ordinal).collect();
    by_ordinal(rows, rows::without_operator(), &of)
}

/// PyTorch's categories, in the order in which memory is usually stacked.
const CATEGORIES: [&str; 8] = [
    "parameter",
    "gradient",
    "optimizer_state",
    "input",
    "activation",
    "temporary",
    "autograd_detail",
    "unknown",
];

/// Groups by the profiler's category: PyTorch's categories in a fixed order, then others by name.
fn by_category(device: Device<'_>) -> GroupColumn {
    let (snapshot, history) = (device.snapshot(), device.history);
    let name = |context: &Context| {
        let name = context.category.map(|id| snapshot.strings.get(id));
        name.filter(|name| !name.is_empty())
    };
    let mut others: Vec<&str> = snapshot.contexts.rows().iter().filter_map(name).collect();
    others.retain(|other| !CATEGORIES.contains(other));
    others.sort_few_by(Ord::cmp);
    others.dedup();
    // Two categories may have the same label, such as `a_b` and `a b`.
    let mut labels = Labels::default();
    let mut names: Vec<Vec<&str>> = Vec::new();
    let mut ordinals: HashMap<&str, u32> = HashMap::new();
    for name in CATEGORIES.into_iter().chain(others) {
        let ordinal = labels.number(name.replace('_', " "));
        names.resize(labels.labels.len(), Vec::new());
        names[ordinal as usize].push(name);
        ordinals.insert(name, ordinal);
    }
    let ordinal = |context: &Context| ordinals.get(name(context)?).copied();
    let of = column(snapshot, history, ordinal, |_| None);
    let filters = names.iter().map(|names| rows::of_categories(names));
    by_ordinal(
        labels.labels.into_iter().zip(filters),
        rows::without_category(),
        &of,
    )
}

/// Groups by memory pool, ascending.
fn by_pool(device: Device<'_>) -> GroupColumn {
    let pools = device.recording.pools();
    let number = |pool: &Option<PoolId>| pools.number((*pool)?);
    let of: Vec<_> = device.pool_of().iter().map(number).collect();
    let rows = pools.all().iter();
    let rows = rows.map(|pool| (pool.label(), rows::of_pool(pool.id)));
    by_ordinal(rows, rows::without_pool(), &of)
}

/// Groups by stream, in the order of [`Snapshot::streams`].
fn by_stream(device: Device<'_>) -> GroupColumn {
    let streams = device.recording.streams();
    let numbers = streams.numbers();
    let number = |stream: &Option<i64>| numbers.get(&(*stream)?).copied();
    let of: Vec<_> = device.stream_of().iter().map(number).collect();
    let rows = streams.labels().into_iter().enumerate();
    let rows = rows.map(|(number, label)| (label, rows::of_stream(number)));
    by_ordinal(rows, rows::without_stream(numbers.len()), &of)
}

/// Groups by code. The label is computed once per distinct call site and stack.
fn by_code(device: Device<'_>, grouping: FrameGrouping, depth: usize) -> GroupColumn {
    let (snapshot, history) = (device.snapshot(), device.history);
    let (sites, site_of) = (device.call_sites(), device.site_of());
    let options = GroupOptions {
        grouping,
        fold: Fold::Runtime,
        ..GroupOptions::default()
    };
    let mut table = GroupTable::default();
    let groups = FrameGroups::of(snapshot, device.recording.classes(), &options, &mut table);
    let mut namer = Namer {
        snapshot,
        sites,
        table,
        groups,
        grouping,
        depth,
    };
    let mut labels = Labels::default();
    let mut known: HashMap<(CallSiteId, StackId), u32, RandomState> = HashMap::default();
    let of = (0..history.allocations.len())
        .map(AllocationId::from_index)
        .map(|id| {
            let site = site_of.get(id.index()).copied().unwrap_or(CallSiteId::NONE);
            // At depth 1 the label depends only on the call site.
            let stack = if depth > 1 {
                history.stack(snapshot, id).0
            } else {
                StackId::ABSENT
            };
            *known
                .entry((site, stack))
                .or_insert_with(|| labels.number(namer.name(site, stack)))
        });
    GroupColumn {
        of: of.collect(),
        labels: labels.labels,
        filters: Vec::new(),
        are_call_sites: grouping == FrameGrouping::Line,
    }
}

struct Namer<'a> {
    snapshot: &'a Snapshot,
    sites: &'a CallSites,
    table: GroupTable,
    groups: FrameGroups,
    grouping: FrameGrouping,
    depth: usize,
}

impl Namer<'_> {
    fn name(&mut self, site: CallSiteId, stack: StackId) -> String {
        let Some(site) = self.sites.sites().get(site.index()) else {
            return NOT_RECORDED.to_owned();
        };
        let group = site.frame.and_then(|frame| self.groups.get(frame));
        let Some(group) = group.filter(|_| self.grouping != FrameGrouping::Line || self.depth > 1)
        else {
            return site.label.clone();
        };
        let mut path: Vec<GroupId> = Vec::new();
        if self.depth > 1 {
            self.groups.push_path(self.snapshot, stack, &mut path);
        }
        // The callers from the call site outwards, without the frames that the call site calls.
        let end = path
            .iter()
            .rposition(|&of| of == group)
            .map_or(0, |place| place + 1);
        let mut callers = path[..end]
            .iter()
            .rev()
            .copied()
            .take(self.depth)
            .collect::<Vec<_>>();
        if callers.is_empty() {
            callers.push(group);
        }
        let names: Vec<_> = callers
            .iter()
            .map(|&of| self.table.get(of).label.as_str())
            .collect();
        let name = names.join(" < ");
        match site.kind {
            CallSiteKind::Freed => format!("freed at {name}"),
            CallSiteKind::Allocated | CallSiteKind::Unknown => name,
        }
    }
}

/// Groups by annotation: the `depth` innermost ranges around the alloc event.
fn by_annotation(device: Device<'_>, depth: usize) -> GroupColumn {
    let (snapshot, history, lanes) = (device.snapshot(), device.history, device.lanes());
    // Events have no thread. If annotations come from several threads, the range that started last counts as
    // the innermost.
    let rows: Vec<_> = lanes
        .of_kind(LaneKind::Annotations)
        .flat_map(|lane| lane.rows.iter().rev())
        .collect();
    let has_threads = lanes.of_kind(LaneKind::Annotations).nth(1).is_some();
    let mut labels = Labels::default();
    let before = labels.number("before the recording".to_owned());
    let outside = labels.number("outside all annotations".to_owned());
    let mut known: HashMap<Vec<RangeName>, u32, RandomState> = HashMap::default();
    let (mut path, mut key) = (Vec::new(), Vec::new());
    let of = history.allocations.born.iter().map(|&born| {
        if born == 0 {
            return before;
        }
        // The range contains the event before the moment `born`.
        let around = |row: &&Vec<LaneRange>| {
            let after = row.partition_point(|range| range.from < born);
            let range = row.get(after.checked_sub(1)?)?;
            (born <= range.to).then_some(*range)
        };
        path.clear();
        path.extend(rows.iter().filter_map(around));
        if has_threads {
            path.sort_few_by_key(|range| std::cmp::Reverse(range.start_us));
        }
        path.truncate(depth);
        if path.is_empty() {
            return outside;
        }
        key.clear();
        key.extend(path.iter().map(|range| range.name));
        if let Some(&number) = known.get(&key) {
            return number;
        }
        let names: Vec<_> = key
            .iter()
            .map(|name| name.text(&snapshot.strings))
            .collect();
        let number = labels.number(names.join(" < "));
        known.insert(key.clone(), number);
        number
    });
    GroupColumn {
        of: of.collect(),
        labels: labels.labels,
        ..GroupColumn::default()
    }
}

#[cfg(test)]
mod tests;
