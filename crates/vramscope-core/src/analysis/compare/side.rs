//! One side of a comparison: amounts by call path and by call site, in a form that is meaningful outside its file.
//!
//! Ids of frames and stacks are valid in one snapshot only, and the page opens the other file in another worker. A
//! profile therefore contains texts: each distinct label once, the call paths as a tree of labels, and everything else
//! that a comparison shows, such as figures, settings and curves. Labels are those of the frames'
//! [groups](crate::analysis::code::frame_groups): by line, or by function if lines have moved between two versions. The
//! size is bounded, whatever the size of the file: see [`NODES_MAX`] and [`LABEL_MAX_BYTES`].
//!
//! Left out: bytes × lifetime, which cannot be compared between recordings of different lengths.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::Snapshot;
use crate::analysis::code::call_sites::{CallSite, CallSiteId, CallSiteKind};
use crate::analysis::code::frame_groups::{
    Fold, FrameGrouping, FrameGroups, GroupId, GroupOptions, GroupTable,
};
use crate::analysis::code::frames::{Location, clip};
use crate::analysis::compare::flat_settings::{FlatSettings, flat_settings};
use crate::analysis::groups::operator_sums::OperatorSums;
use crate::analysis::recording::{Device, Recording};
use crate::analysis::search::filter::rows;
use crate::analysis::time::curves::{CurveAxis, Curves, place};
use crate::analysis::time::history::History;
use crate::analysis::time::markers::MarkerKind;
use crate::analysis::time::phase::{Phase, PhasePeak};
use crate::analysis::time::selection::Selection;
use crate::ids::StackId;
use crate::model::DeviceIndex;
use crate::sorting::SortFew;

pub use crate::analysis::groups::turnover::Amount;

/// Maximum number of nodes of a profile's tree. Real files have some ten thousand. Beyond it, the paths with the fewest
/// bytes end at the last node that exists.
pub const NODES_MAX: usize = 1 << 16;

/// Maximum number of call sites of a profile; the smaller ones are added up in one entry.
pub const SITES_MAX: usize = 1 << 15;

/// Maximum length of a label, in bytes of UTF-8; longer ones are cut.
pub const LABEL_MAX_BYTES: usize = 240;

/// One side of a comparison.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Profile {
    /// The device's index in its file.
    pub device: DeviceIndex,
    /// The device's name, such as `GPU 0`.
    pub device_name: String,
    /// Figures of the device and its recording.
    pub figures: Figures,
    /// Sum over all selected allocations.
    pub total: Amount,
    /// The distinct labels of tree and call sites, cut to [`LABEL_MAX_BYTES`]. Index 0 is the label of the
    /// root.
    pub labels: Vec<String>,
    /// For each label, a filter that matches the allocations with it on their stack; empty if the label is not code.
    pub filters: Vec<String>,
    /// Amounts by call path.
    pub tree: ProfileTree,
    /// Amounts by call site, most bytes first.
    pub sites: Vec<SiteAmount>,
    /// The amount whose call paths were cut because of [`NODES_MAX`]; included in [`Self::total`].
    pub shortened: Amount,
    /// The `allocator_settings` of the file, by name.
    pub settings: FlatSettings,
    /// Active and reserved memory over the whole recording.
    pub curves: Curves,
    /// Position of the selection on the curves' axis: one moment, or the first and the last one.
    pub marks: Vec<u64>,
}

/// Exact figures of a device and its recording.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Figures {
    /// The program that wrote the file.
    pub producer: String,
    /// Number of recorded events.
    pub events: u64,
    /// µs from the first event to the last; `None` if the file has no times.
    pub duration_us: Option<u64>,
    /// Number of allocations, including those from before the recording.
    pub allocations: u64,
    /// The most requested bytes that were live at once.
    pub peak_active_bytes: u64,
    /// The most reserved bytes; `None` if the file does not record them.
    pub peak_reserved_bytes: Option<u64>,
    /// The moment of the figures below: the last moment of the selection, or the end.
    pub moment: u32,
    /// µs from the first event to `moment`; `None` if the file has no times.
    pub moment_us: Option<u64>,
    /// Requested bytes of live allocations at `moment`.
    pub active_bytes: u64,
    /// Reserved bytes at `moment`; `None` if the file does not record them.
    pub reserved_bytes: Option<u64>,
    /// The inferred phase at `moment`; `None` outside of all phases.
    pub phase: Option<Phase>,
    /// The inferred phase at `moment`, or else the last one before it; `None` before the first.
    pub last_phase: Option<Phase>,
    /// The peaks of the phases, inferred.
    pub phase_peaks: Vec<PhasePeak>,
    /// Number of `segment_alloc` and `segment_map` events.
    pub segment_allocs: u64,
    /// Number of `segment_free` and `segment_unmap` events.
    pub segment_frees: u64,
    /// Number of failed requests; `None` if the file would not record one.
    pub ooms: Option<u64>,
}

/// A tree of call paths, in columns. Row 0 is the root. Nodes come after their parents.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ProfileTree {
    /// Row of the parent, which is the caller; 0 for the root itself.
    pub parent: Vec<u32>,
    /// Index into [`Profile::labels`].
    pub label: Vec<u32>,
    /// Requested bytes allocated by exactly this path.
    pub self_bytes: Vec<u64>,
    /// Number of allocations by exactly this path.
    pub self_count: Vec<u64>,
}

impl ProfileTree {
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

    fn push(&mut self, parent: u32, label: u32) -> u32 {
        let row = self.len() as u32;
        self.parent.push(parent);
        self.label.push(label);
        self.self_bytes.push(0);
        self.self_count.push(0);
        row
    }

    fn add(&mut self, row: u32, amount: Amount) {
        let row = row as usize;
        self.self_bytes[row] = self.self_bytes[row].saturating_add(amount.bytes);
        self.self_count[row] += amount.count;
    }
}

/// The amount of one call site.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SiteAmount {
    /// Index into [`Profile::labels`].
    pub label: u32,
    /// The operators that allocated its memory, by bytes descending; empty if none is known.
    pub operators: String,
    /// The selected allocations of the call site.
    pub amount: Amount,
}

/// The labels of a snapshot's frames and call sites. All profiles of a snapshot can share them.
#[derive(Clone)]
pub struct ProfileNames {
    table: GroupTable,
    groups: FrameGroups,
    grouping: FrameGrouping,
    /// Label of each call site.
    sites: Vec<String>,
}

impl ProfileNames {
    /// Computes all labels. Frames folded by `options` are left out of call paths, but not of call sites.
    #[must_use]
    pub fn of(recording: &Recording, options: &GroupOptions) -> Self {
        let mut table = GroupTable::default();
        let (snapshot, classes) = (&recording.snapshot, recording.classes());
        let groups = FrameGroups::of(snapshot, classes, options, &mut table);
        let operators = recording.operators();
        Self {
            groups: groups.with_operators(operators, &mut table),
            table,
            grouping: options.grouping,
            sites: site_names(recording, options.grouping),
        }
    }
}

impl ProfileNames {
    /// A filter that matches the allocations with this group on their stack; `None` if the group is not code.
    fn group_filter(&self, snapshot: &Snapshot, group: GroupId) -> Option<String> {
        let groups = (&self.table, &self.groups);
        let filter = rows::of_group(snapshot, groups, self.grouping, group)?;
        Some(filter.to_string())
    }

    /// A filter that matches the allocations with a call site's code on their stack; `None` if there is no code.
    fn site_filter(&self, snapshot: &Snapshot, site: &CallSite) -> Option<String> {
        let location = Location::of(snapshot, snapshot.frames.get(site.frame?));
        let filter = rows::of_frame(self.grouping, &location, site.class)?;
        Some(filter.to_string())
    }

    /// The label of a call site; empty if there is no such site.
    #[must_use]
    pub fn site(&self, site: CallSiteId) -> &str {
        self.sites.get(site.index()).map_or("", String::as_str)
    }
}

/// The labels of call sites: their own if grouped by line, otherwise the labels of their frames' groups.
fn site_names(recording: &Recording, grouping: FrameGrouping) -> Vec<String> {
    let sites = recording.call_sites().sites().iter();
    let own = |label: &str| clip(label, LABEL_MAX_BYTES).to_owned();
    if grouping == FrameGrouping::Line {
        return sites.map(|site| own(&site.label)).collect();
    }
    let options = GroupOptions {
        grouping,
        fold: Fold::Nothing,
        ..GroupOptions::default()
    };
    let mut table = GroupTable::default();
    let (snapshot, classes) = (&recording.snapshot, recording.classes());
    let groups = FrameGroups::of(snapshot, classes, &options, &mut table);
    let name = |site: &CallSite| {
        let Some(group) = site.frame.and_then(|frame| groups.get(frame)) else {
            return own(&site.label);
        };
        let text = &table.get(group).label;
        match site.kind {
            CallSiteKind::Freed => own(&format!("freed at {text}")),
            CallSiteKind::Allocated | CallSiteKind::Unknown => own(text),
        }
    };
    sites.map(name).collect()
}

/// Computes a device's profile over the selected allocations. `names` belong to its recording, `curves` to the device.
#[must_use]
pub fn profile(
    device: Device<'_>,
    names: &ProfileNames,
    selection: Selection,
    curves: Curves,
) -> Profile {
    let (snapshot, history) = (device.snapshot(), device.history);
    let rows = first_of_name(&names.sites);
    let mut sums = Sums::of(device, selection, &rows);
    let operators = std::mem::take(&mut sums.operators);
    let operators = operators.named(device.operators());
    let mut planter = Planter::new(snapshot, names);
    for (key, amount) in sums.stacks_by_bytes() {
        planter.plant(key, amount);
    }
    let Planter {
        mut labels,
        tree,
        shortened,
        ..
    } = planter;
    let sites = device.call_sites().sites().iter();
    let sites = sites.zip(&names.sites).zip(&sums.by_site).zip(&rows);
    let amounts = site_amounts(sites, &operators, &mut labels, |site| {
        names.site_filter(snapshot, site)
    });
    let moments = moments(history, selection);
    let asked = moments.last().copied();
    let marks = moments.iter().map(|&at| place(history, curves.axis, at));
    Profile {
        device: history.device,
        device_name: snapshot.device_name(history.device),
        figures: figures(device, asked.unwrap_or(history.event_count)),
        total: sums.total,
        labels: labels.rows,
        filters: labels.filters,
        tree,
        sites: amounts,
        shortened,
        settings: flat_settings(&snapshot.settings),
        marks: marks.collect(),
        curves,
    }
}

/// For each name, the row of its first occurrence.
fn first_of_name(names: &[String]) -> Vec<u32> {
    let mut first: HashMap<&str, u32> = HashMap::new();
    let rows = (0..).zip(names);
    rows.map(|(row, name)| *first.entry(name).or_insert(row))
        .collect()
}

/// A stack, and whether it belongs to the free, as the stack of the allocation is unknown.
type StackKey = (StackId, bool);

struct Sums {
    total: Amount,
    /// Amount by stack; the last entry is for allocations without a stack.
    by_stack: Vec<Amount>,
    /// The same for allocations with only the stack of the free.
    by_free: Vec<Amount>,
    by_site: Vec<Amount>,
    /// The operators of call sites, by the row of the first one with the same name.
    operators: OperatorSums,
}

impl Sums {
    /// `rows`: for each call site, the row of the first one with the same name.
    fn of(device: Device<'_>, selection: Selection, rows: &[u32]) -> Self {
        let (snapshot, history) = (device.snapshot(), device.history);
        let site_of = device.site_of();
        let sites = device.call_sites().sites().iter();
        let is_of_free: Vec<bool> = sites.map(|site| site.kind == CallSiteKind::Freed).collect();
        let stacks = snapshot.stacks.len();
        let mut sums = Self {
            total: Amount::default(),
            by_stack: vec![Amount::default(); stacks + 1],
            by_free: vec![Amount::default(); stacks + 1],
            by_site: vec![Amount::default(); is_of_free.len().max(1)],
            operators: OperatorSums::default(),
        };
        for id in selection.allocations(history) {
            let amount = Amount {
                bytes: history.allocations.bytes[id.index()],
                count: 1,
            };
            let site = site_of.get(id.index()).copied();
            let site = site.filter(|site| site.index() < sums.by_site.len());
            let site = site.unwrap_or(CallSiteId::NONE).index();
            let (stack, _) = history.stack(snapshot, id);
            let of_free = is_of_free.get(site).copied().unwrap_or(false);
            let by_stack = if of_free {
                &mut sums.by_free
            } else {
                &mut sums.by_stack
            };
            by_stack[stack.index().min(stacks)].add(amount);
            sums.by_site[site].add(amount);
            if let Some(&row) = rows.get(site) {
                sums.operators.add(row, device.operator(id), amount.bytes);
            }
            sums.total.add(amount);
        }
        sums
    }

    /// The stacks with the most bytes first: if the tree runs out of nodes, it cuts the smallest.
    fn stacks_by_bytes(&self) -> Vec<(StackKey, Amount)> {
        let of = |amounts: &[Amount], is_of_free: bool| -> Vec<(StackKey, Amount)> {
            let last = amounts.len() - 1;
            let id = |row| {
                if row == last {
                    StackId::ABSENT
                } else {
                    StackId::from_index(row)
                }
            };
            let rows = amounts
                .iter()
                .enumerate()
                .filter(|(_, amount)| !amount.is_nothing());
            rows.map(|(row, &amount)| ((id(row), is_of_free), amount))
                .collect()
        };
        let mut stacks = of(&self.by_stack, false);
        stacks.extend(of(&self.by_free, true));
        stacks.sort_few_by_key(|&(key, amount)| (std::cmp::Reverse(amount.bytes), key));
        stacks
    }
}

/// Distinct labels and their filters.
#[derive(Default)]
struct Labels {
    rows: Vec<String>,
    filters: Vec<String>,
    by_text: HashMap<String, u32>,
}

impl Labels {
    /// Index of a label, adding it if it is new. `filter` is called for a new label only.
    fn intern(&mut self, text: &str, filter: impl FnOnce() -> Option<String>) -> u32 {
        let text = clip(text, LABEL_MAX_BYTES);
        if let Some(&row) = self.by_text.get(text) {
            return row;
        }
        let row = self.rows.len() as u32;
        self.rows.push(text.to_owned());
        self.filters.push(filter().unwrap_or_default());
        self.by_text.insert(text.to_owned(), row);
        row
    }
}

/// Amounts by call site, most bytes first. Sites with the same label are added up.
fn site_amounts<'a>(
    sites: impl Iterator<Item = (((&'a CallSite, &'a String), &'a Amount), &'a u32)>,
    operators: &HashMap<u32, String>,
    labels: &mut Labels,
    filter: impl Fn(&CallSite) -> Option<String>,
) -> Vec<SiteAmount> {
    let mut by_name: HashMap<&str, (Amount, &CallSite, u32)> = HashMap::new();
    for (((site, name), &amount), &row) in sites.filter(|((_, amount), _)| !amount.is_nothing()) {
        let (sum, ..) = by_name
            .entry(name)
            .or_insert((Amount::default(), site, row));
        sum.add(amount);
    }
    let mut amounts: Vec<_> = by_name.into_iter().collect();
    amounts.sort_few_by_key(|&(name, (amount, ..))| (std::cmp::Reverse(amount.bytes), name));
    let rest = amounts.split_off(SITES_MAX.min(amounts.len()));
    let rows = amounts
        .into_iter()
        .map(|(name, (amount, site, row))| SiteAmount {
            label: labels.intern(name, || filter(site)),
            operators: operators.get(&row).cloned().unwrap_or_default(),
            amount,
        });
    let mut rows: Vec<_> = rows.collect();
    let mut other = Amount::default();
    rest.into_iter()
        .for_each(|(_, (amount, ..))| other.add(amount));
    if !other.is_nothing() {
        rows.push(SiteAmount {
            label: labels.intern("further call sites", || None),
            operators: String::new(),
            amount: other,
        });
    }
    rows
}

/// Builds the tree, one call path at a time.
struct Planter<'a> {
    snapshot: &'a Snapshot,
    names: &'a ProfileNames,
    labels: Labels,
    /// Index of each group's label, set on first use.
    label_of: Vec<Option<u32>>,
    children: HashMap<(u32, u32), u32>,
    path: Vec<GroupId>,
    tree: ProfileTree,
    shortened: Amount,
}

impl<'a> Planter<'a> {
    fn new(snapshot: &'a Snapshot, names: &'a ProfileNames) -> Self {
        let mut planter = Self {
            snapshot,
            names,
            labels: Labels::default(),
            label_of: vec![None; names.table.groups().len()],
            children: HashMap::new(),
            path: Vec::new(),
            tree: ProfileTree::default(),
            shortened: Amount::default(),
        };
        let root = planter.label(GroupId::ALL);
        planter.tree.push(0, root);
        planter
    }

    fn plant(&mut self, (stack, is_of_free): StackKey, amount: Amount) {
        let mut path = std::mem::take(&mut self.path);
        path.clear();
        if is_of_free {
            path.push(GroupId::FREED_AT);
        }
        let names = self.names;
        match is_of_free {
            true => names.groups.push_frames(self.snapshot, stack, &mut path),
            false => names.groups.push_path(self.snapshot, stack, &mut path),
        }
        if !stack.has_frames() {
            path.push(GroupId::NO_STACK);
        } else if path.iter().all(|group| *group == GroupId::FREED_AT) {
            path.push(GroupId::ALL_FOLDED);
        }
        let mut node = 0;
        for &group in &path {
            let label = self.label(group);
            let Some(next) = self.child(node, label) else {
                self.shortened.add(amount);
                break;
            };
            node = next;
        }
        self.tree.add(node, amount);
        self.path = path;
    }

    fn child(&mut self, node: u32, label: u32) -> Option<u32> {
        if let Some(&known) = self.children.get(&(node, label)) {
            return Some(known);
        }
        if self.tree.len() >= NODES_MAX {
            return None;
        }
        let next = self.tree.push(node, label);
        self.children.insert((node, label), next);
        Some(next)
    }

    fn label(&mut self, group: GroupId) -> u32 {
        if let Some(row) = self.label_of.get(group.index()).copied().flatten() {
            return row;
        }
        let (names, snapshot) = (self.names, self.snapshot);
        let label = &names.table.get(group).label;
        let row = self
            .labels
            .intern(label, || names.group_filter(snapshot, group));
        if let Some(known) = self.label_of.get_mut(group.index()) {
            *known = Some(row);
        }
        row
    }
}

fn moments(history: &History, selection: Selection) -> Vec<u32> {
    let clamp = |moment: u32| moment.min(history.event_count);
    match selection {
        Selection::All => vec![0, history.event_count],
        Selection::LiveAt(moment) => vec![clamp(moment)],
        Selection::AllocatedIn((from, to))
        | Selection::RetainedFrom((from, to))
        | Selection::FreedIn((from, to)) => vec![clamp(from), clamp(to)],
    }
}

/// Computes the figures of a device; `moment` is as in [`Figures::moment`].
#[must_use]
pub fn figures(device: Device<'_>, moment: u32) -> Figures {
    let (snapshot, history) = (device.snapshot(), device.history);
    let count = |kind| device.markers().column(kind).len() as u64;
    let since = |moment| {
        device
            .has_times()
            .then(|| place(history, CurveAxis::Time, moment))
    };
    Figures {
        producer: clip(&snapshot.producer.name, LABEL_MAX_BYTES).to_owned(),
        events: u64::from(history.event_count),
        duration_us: since(history.event_count),
        allocations: history.allocations.len() as u64,
        peak_active_bytes: history.peak_bytes(),
        peak_reserved_bytes: device.peak_reserved_bytes(),
        moment,
        moment_us: since(moment),
        active_bytes: history.active_bytes_at(moment),
        reserved_bytes: device
            .is_reserved_known()
            .then(|| history.reserved_bytes(moment)),
        phase: device.phases().at(moment),
        last_phase: device.phases().last_at(moment),
        phase_peaks: device.phases().peaks(history),
        segment_allocs: count(MarkerKind::SegmentAlloc) + count(MarkerKind::SegmentMap),
        segment_frees: count(MarkerKind::SegmentFree) + count(MarkerKind::SegmentUnmap),
        ooms: device.failures(),
    }
}
