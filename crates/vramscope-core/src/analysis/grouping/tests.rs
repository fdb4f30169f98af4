//! Groups of a small trace.

use super::*;
use crate::analysis::history::History;
use crate::decode;

const FILE: &[u8] = include_bytes!("../../../../../tests/fixtures/torch-2.15.0/training.pickle");
const BY: [GroupBy; 8] = [
    GroupBy::CallSite,
    GroupBy::Function,
    GroupBy::File,
    GroupBy::Module,
    GroupBy::Category,
    GroupBy::Pool,
    GroupBy::Stream,
    GroupBy::Annotation,
];

fn with_source<T>(of: impl Fn(Source<'_>) -> T) -> T {
    let snapshot = decode(FILE).unwrap();
    let history = History::of(&snapshot, 0);
    let classes = FrameClasses::of(&snapshot);
    let sites = CallSites::of(&snapshot, &classes, std::slice::from_ref(&history));
    let site_of = sites.of_allocations(&snapshot, &history);
    let lanes = Lanes::of(&snapshot, &history);
    of(Source {
        snapshot: &snapshot,
        history: &history,
        classes: &classes,
        sites: &sites,
        site_of: &site_of,
        lanes: &lanes,
    })
}

#[test]
fn groups_add_up_to_what_is_live() {
    with_source(|source| {
        let history = source.history;
        for by in BY {
            for depth in [1, 3] {
                let column = GroupColumn::of(source, by, depth);
                assert_eq!(column.of.len(), history.allocations.len());
                let at = history.peak_moment;
                let totals = group_totals(history, &column, Selection::LiveAt(at));
                let sum: u64 = totals.iter().map(|total| total.bytes).sum();
                assert_eq!(sum, history.active_bytes[at as usize], "{by:?}");
                assert!(totals.is_sorted_by(|a, b| a.bytes >= b.bytes));
            }
        }
    });
}

#[test]
fn by_line_a_row_is_the_call_site() {
    with_source(|source| {
        let column = GroupColumn::of(source, GroupBy::CallSite, 1);
        for (row, &site) in source.site_of.iter().enumerate() {
            let label = column.label(AllocationId::from_index(row));
            assert_eq!(label, source.sites.get(site).label);
        }
    });
}

#[test]
fn more_depth_only_divides() {
    with_source(|source| {
        for by in [GroupBy::CallSite, GroupBy::Function, GroupBy::Module] {
            let (flat, deep) = (
                GroupColumn::of(source, by, 1),
                GroupColumn::of(source, by, 3),
            );
            assert!(deep.labels.len() >= flat.labels.len());
            for row in 0..flat.of.len() {
                let id = AllocationId::from_index(row);
                assert!(
                    deep.label(id).starts_with(flat.label(id)),
                    "{} {}",
                    deep.label(id),
                    flat.label(id)
                );
            }
        }
    });
}
