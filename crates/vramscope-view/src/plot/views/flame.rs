//! The flame graph of a device.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::code::call_tree::{CallTree, Paths, StackSums, TreeOptions};
use vramscope_core::analysis::code::frame_groups::{
    Fold, FoldPatterns, FrameGrouping, FrameGroups, GroupOptions, GroupTable,
};
use vramscope_core::analysis::groups::memory_places::MemoryPlaces;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::time::selection::{Selection, Weight};
use vramscope_core::units::{Bytes, Count};

use super::{Format, Sheet, Subject, legend_lines, selection_words};
use crate::flame::{BoxColours, GroupColours, Mixes, NodeKey, NodeKeys, Shape, weight_text};
use crate::groups::Groups;
use crate::plot::{FlamePlot, Legend, Plot, PlotError};
use crate::theme::Theme;
use vramscope_core::analysis::properties::Property;

/// A flame graph of selected allocations.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlameView {
    /// Selected allocations.
    pub selection: Selection,
    /// Meaning of a box's colour: that of the largest part of its allocations, or the call site of its code.
    pub colour_by: Property,
    /// Meaning of a box's width.
    pub weight: Weight,
    /// Property by which frames are merged.
    pub grouping: FrameGrouping,
    /// Frames that are shown.
    pub fold: Fold,
    /// Patterns of further frames to leave out, as text for [`FoldPatterns::parse`]; ignored if malformed.
    pub patterns: String,
    /// Whether the allocating frames are at the root, and their callers above them.
    pub is_inverted: bool,
    /// Whether pools, streams and segments of the memory are at the root. Then callers follow.
    pub by_place: bool,
    /// Direction in which the tree grows.
    pub shape: Shape,
    /// Node that fills the width; the root if the tree has no such node.
    pub focus: NodeKey,
}

pub(super) fn file(
    view: &FlameView,
    subject: &Subject<'_>,
    sheet: &Sheet,
    format: Format,
) -> Result<Vec<u8>, PlotError> {
    let device = subject.device;
    let options = TreeOptions {
        selection: view.selection,
        weight: view.weight,
        only: None,
        matches: subject.found(),
    };
    let (table, paths) = paths(view, device, &options);
    let callers_below = view.is_inverted && !view.by_place;
    let tree = if callers_below {
        CallTree::bottom_up(&paths)
    } else {
        CallTree::top_down(&paths)
    };
    let (colours, groups) = colours(view, subject, &table, &Theme::of(sheet.theme));
    let mixes = groups.as_ref();
    let mixes = mixes.map(|groups| Mixes::of((&tree, &paths), device, &options, groups));
    let legend = groups.as_ref().map(|groups| {
        let rows = view.selection.allocations(device.history).map(|id| id.0);
        let totals = groups.totals(&device.history.allocations.bytes, rows);
        legend_lines(groups, &totals)
    });
    let by = view.colour_by.name();
    let legend_title = format!("by {by}: each box in the colour of most of its memory");
    let keys = NodeKeys::of(&tree, &table);
    let focus = keys.node(view.focus).unwrap_or(0);
    let mut subtitle = subtitle(view, subject, &paths);
    if focus > 0 {
        let label = &table.get(tree.group[focus as usize]).label;
        subtitle = format!("{subtitle} · below {label}");
    }
    let plot = Plot {
        title: subject.file,
        subtitle: &subject.subtitle(subtitle),
        note: if paths.total().count == 0 {
            "there is no such allocation"
        } else {
            ""
        },
        legend: match &legend {
            Some(lines) => Legend {
                title: &legend_title,
                lines,
            },
            None => Legend::default(),
        },
        content: FlamePlot {
            tree: &tree,
            table: &table,
            keys: &keys,
            colours: BoxColours {
                code: &colours,
                mixes: mixes.as_ref(),
            },
            callers_below,
            shape: view.shape,
            focus,
        },
    };
    sheet.file(&plot, format)
}

/// The colours of code, and the groups that determine the colours instead, if any.
fn colours(
    view: &FlameView,
    subject: &Subject<'_>,
    table: &GroupTable,
    theme: &Theme,
) -> (GroupColours, Option<Groups>) {
    let (device, leaders) = (subject.device, subject.leaders);
    let sites = device.call_sites().sites().iter();
    let sites: HashSet<&str> = sites.map(|site| site.label.as_str()).collect();
    let of_code = GroupColours::of(table, theme, leaders, |label| sites.contains(label));
    let groups = (view.colour_by != Property::CallSite)
        .then(|| Groups::of(view.colour_by, theme, leaders, device));
    (of_code, groups)
}

/// The paths of the selected allocations, with the names of their groups.
fn paths(view: &FlameView, device: Device<'_>, options: &TreeOptions<'_>) -> (GroupTable, Paths) {
    let (snapshot, sites) = (device.snapshot(), device.call_sites());
    let mut table = GroupTable::default();
    let naming = GroupOptions {
        grouping: view.grouping,
        fold: view.fold,
        patterns: FoldPatterns::parse(&view.patterns).unwrap_or_default(),
    };
    let classes = device.recording.classes();
    let of_frame = FrameGroups::of(snapshot, classes, &naming, &mut table)
        .with_operators(device.operators(), &mut table);
    let history = device.history;
    let paths = if view.by_place {
        let places = MemoryPlaces::of(device, &mut table).places;
        let sums = StackSums::by_place(snapshot, history, sites, options, &places);
        Paths::by_place(snapshot, &of_frame, &places, &sums)
    } else {
        let sums = StackSums::of(snapshot, history, sites, options);
        Paths::of(snapshot, &of_frame, &sums)
    };
    (table, paths)
}

fn subtitle(view: &FlameView, subject: &Subject<'_>, paths: &Paths) -> String {
    let (history, total) = (subject.device.history, paths.total());
    let mut what = selection_words(view.selection, history.event_count);
    if history.has_trace() && view.selection == Selection::LiveAt(history.peak_moment) {
        what.push_str(", the peak");
    }
    let mut words = format!(
        "{} · {what} · {} in {} allocations",
        subject.device.title(),
        Bytes(total.bytes),
        Count(total.count)
    );
    if view.weight == Weight::ByteEvents {
        words = format!("{words} · {}", weight_text(view.weight, total.weight));
    }
    words
}
