//! The flame graph of a device.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::code::call_tree::{CallTree, Paths, StackSums, TreeOptions};
use vramscope_core::analysis::code::frame_groups::{
    Fold, FoldPatterns, FrameGrouping, FrameGroups, GroupOptions, GroupTable,
};
use vramscope_core::analysis::time::selection::{Selection, Weight};
use vramscope_core::units::{Bytes, Count};

use super::{Format, Sheet, Subject, selection_words};
use crate::colour::Leaders;
use crate::flame::{GroupColours, NodeKey, NodeKeys, Shape, weight_text};
use crate::plot::{FlamePlot, Legend, Plot, PlotError};
use crate::theme::Theme;

/// A flame graph of selected allocations.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct FlameView {
    /// Selected allocations.
    pub selection: Selection,
    /// Meaning of a box's width.
    pub weight: Weight,
    /// Property by which frames are merged.
    pub grouping: FrameGrouping,
    /// Frames that are shown.
    pub fold: Fold,
    /// Patterns of further frames to leave out, as text for [`FoldPatterns::parse`]; ignored if it cannot be
    /// read.
    pub patterns: String,
    /// Whether the allocating frames are at the root, and their callers above them.
    pub is_inverted: bool,
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
    let (snapshot, recording) = (device.snapshot(), device.recording);
    let mut table = GroupTable::default();
    let options = GroupOptions {
        grouping: view.grouping,
        fold: view.fold,
        patterns: FoldPatterns::parse(&view.patterns).unwrap_or_default(),
    };
    let of_frame = FrameGroups::of(snapshot, recording.classes(), &options, &mut table)
        .with_operators(device.call_sites().operators(), &mut table);
    let options = TreeOptions {
        selection: view.selection,
        weight: view.weight,
        only: None,
        matches: subject.found(),
    };
    let sums = StackSums::of(snapshot, device.history, device.call_sites(), &options);
    let paths = Paths::of(snapshot, &of_frame, &sums);
    let tree = if view.is_inverted {
        CallTree::bottom_up(&paths)
    } else {
        CallTree::top_down(&paths)
    };
    let sites = device.call_sites().sites().iter();
    let sites: HashSet<&str> = sites.map(|site| site.label.as_str()).collect();
    let leaders = Leaders::of_sites(recording);
    let theme = Theme::of(sheet.theme);
    let colours = GroupColours::of(&table, &theme, &leaders, |label| sites.contains(label));
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
        legend: Legend::default(),
        content: FlamePlot {
            tree: &tree,
            table: &table,
            keys: &keys,
            colours: &colours,
            callers_below: view.is_inverted,
            shape: view.shape,
            focus,
        },
    };
    sheet.file(&plot, format)
}

fn subtitle(view: &FlameView, subject: &Subject<'_>, paths: &Paths) -> String {
    let (history, total) = (subject.device.history, paths.total());
    let mut what = selection_words(view.selection, history.event_count);
    if view.selection == Selection::LiveAt(history.peak_moment) {
        what.push_str(", the peak");
    }
    let mut words = format!(
        "device {} · {what} · {} in {} allocations",
        subject.device.index(),
        Bytes(total.bytes),
        Count(total.count)
    );
    if view.weight == Weight::ByteEvents {
        words = format!("{words} · {}", weight_text(view.weight, total.weight));
    }
    words
}
