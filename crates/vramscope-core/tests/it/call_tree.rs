//! Call trees of whole files: their sums agree with other analyses.

use vramscope_core::analysis::code::call_sites::label;
use vramscope_core::analysis::code::call_tree::{
    CallTree, Paths, StackSums, TreeOptions, functions,
};
use vramscope_core::analysis::code::frame_groups::{
    Fold, FrameGrouping, FrameGroups, GroupOptions, GroupTable,
};
use vramscope_core::analysis::code::frames::{FrameClass, FrameClasses, Location};
use vramscope_core::analysis::time::selection::{Selection, Weight};
use vramscope_core::ids::FrameId;
use vramscope_synth::files::all_files;

use crate::support::{decoded, recorded};

#[test]
fn the_tree_at_the_peak_sums_to_the_peak() {
    for file in all_files() {
        let recording = recorded(&file);
        let snapshot = &recording.snapshot;
        for grouping in [FrameGrouping::Line, FrameGrouping::Package] {
            let options = GroupOptions {
                grouping,
                fold: Fold::Runtime,
                ..GroupOptions::default()
            };
            let mut table = GroupTable::default();
            let groups = FrameGroups::of(snapshot, recording.classes(), &options, &mut table);
            for history in &recording.histories {
                let asked = TreeOptions {
                    selection: Selection::LiveAt(history.peak_moment),
                    weight: Weight::Bytes,
                    only: None,
                    matches: None,
                };
                let sums = StackSums::of(snapshot, history, recording.call_sites(), &asked);
                let paths = Paths::of(snapshot, &groups, &sums);
                let peak_bytes = history.active_bytes[history.peak_moment as usize];
                for tree in [CallTree::top_down(&paths), CallTree::bottom_up(&paths)] {
                    assert_eq!(tree.total[0].weight, peak_bytes, "{}", file.name);
                    let own: u64 = tree.own.iter().map(|own| own.weight).sum();
                    assert_eq!((own, tree.cut_paths), (peak_bytes, 0), "{}", file.name);
                }
                let own: u64 = functions(&paths).iter().map(|row| row.own.weight).sum();
                assert_eq!(own, peak_bytes, "{}", file.name);
            }
        }
    }
}

/// Grouped by line, a group is a call site, so both have one colour.
#[test]
fn lines_are_named_like_call_sites() {
    for file in all_files() {
        let snapshot = decoded(&file);
        let classes = FrameClasses::of(&snapshot);
        let mut table = GroupTable::default();
        let options = GroupOptions::default();
        let groups = FrameGroups::of(&snapshot, &classes, &options, &mut table);
        for id in (0..snapshot.frames.len()).map(FrameId::from_index) {
            let name = label(&Location::of(&snapshot, snapshot.frames.get(id)));
            match groups.get(id) {
                Some(group) => assert_eq!(table.get(group).label, name),
                None => assert_eq!(classes.get(id), FrameClass::Runtime),
            }
        }
    }
}
