//! Grouping a small training run.

use super::*;
use crate::analysis::recording::Recording;
use crate::decode;

const FILE: &[u8] = include_bytes!("../../../../../../tests/fixtures/torch-2.15.0/training.pickle");

fn with_device<T>(of: impl Fn(Device<'_>) -> T) -> T {
    let recording = Recording::of(decode(FILE).unwrap());
    of(recording.device(0).unwrap())
}

#[test]
fn groups_add_up_to_what_is_live() {
    with_device(|device| {
        let history = device.history;
        for by in Property::all().filter(|by| by.is_grouped()) {
            for depth in [1, 3] {
                let column = GroupColumn::of(device, by, depth);
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
    with_device(|device| {
        let column = GroupColumn::of(device, Property::CallSite, 1);
        for (row, &site) in device.site_of().iter().enumerate() {
            let label = column.label(AllocationId::from_index(row));
            assert_eq!(label, device.call_sites().get(site).label);
        }
    });
}

#[test]
fn more_depth_only_divides() {
    with_device(|device| {
        for by in [Property::CallSite, Property::Function, Property::Module] {
            let (flat, deep) = (
                GroupColumn::of(device, by, 1),
                GroupColumn::of(device, by, 3),
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
