//! The names of places in the code and of annotated ranges: call sites with callers, and ranges within ranges.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::{Names, Property};
use crate::Snapshot;
use crate::analysis::code::call_sites::{CallSiteId, CallSiteKind, CallSites};
use crate::analysis::code::frame_groups::{
    Fold, FrameGrouping, FrameGroups, GroupId, GroupOptions, GroupTable,
};
use crate::analysis::recording::Device;
use crate::analysis::time::lanes::{LaneKind, LaneRange, RangeName};
use crate::ids::{AllocationId, StackId};
use crate::sorting::SortFew;

impl Property {
    /// How frames are grouped, if the values are places in the code.
    pub(crate) fn frames(self) -> Option<FrameGrouping> {
        Some(match self {
            Self::CallSite => FrameGrouping::Line,
            Self::Function => FrameGrouping::Function,
            Self::File => FrameGrouping::File,
            Self::Module => FrameGrouping::Module,
            Self::Package => FrameGrouping::Package,
            _ => return None,
        })
    }
}

/// The names of a property's values with their surroundings, at most `depth` levels: a call site and its callers,
/// `a.py:3 f < b.py:9 g`, or nested ranges. `None` for properties whose names stand alone.
#[must_use]
pub fn nested_names(device: Device<'_>, property: Property, depth: usize) -> Option<Names<'_>> {
    let depth = depth.max(1);
    match (property, property.frames()) {
        (Property::Annotation, _) => Some(by_annotation(device, depth)),
        (_, Some(grouping)) => Some(by_code(device, grouping, depth)),
        _ => None,
    }
}

/// Distinct labels, numbered in order of insertion.
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

/// Groups by code. The label is computed once per distinct call site and stack.
fn by_code(device: Device<'_>, grouping: FrameGrouping, depth: usize) -> Names<'_> {
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
            if site == CallSiteId::NONE {
                return Names::UNKNOWN;
            }
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
    let of: Vec<u32> = of.collect();
    Names {
        unknown: sites.get(CallSiteId::NONE).label.as_str().into(),
        ..Names::of(labels.labels, move |row| of[row])
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
        let site = self.sites.get(site);
        let group = site.frame.and_then(|frame| self.groups.get(frame));
        let Some(group) = group.filter(|_| self.grouping != FrameGrouping::Line || self.depth > 1)
        else {
            return site.label.clone();
        };
        let mut path: Vec<GroupId> = Vec::new();
        if self.depth > 1 {
            self.groups.push_path(self.snapshot, stack, &mut path);
        }
        // The callers from the call site outwards, without the frames below the call site.
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
fn by_annotation(device: Device<'_>, depth: usize) -> Names<'_> {
    let (snapshot, history, lanes) = (device.snapshot(), device.history, device.lanes());
    // Events have no thread. If annotations come from several threads, the range that started last counts as the
    // innermost.
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
    let of: Vec<u32> = of.collect();
    Names::of(labels.labels, move |row| of[row])
}
