//! Invariants; comparisons with torch itself are in `tests/it/pools.rs`.

use proptest::prelude::*;

use super::*;
use crate::packing::{Packing, verify};

fn buffers() -> impl Strategy<Value = Vec<Buffer>> {
    let buffer = (
        0_u64..3000,
        0_u64..20,
        0_u64..9,
        0_u32..2,
        any::<bool>(),
        0_u32..8,
    );
    let buffer = buffer.prop_map(
        |(size, start, length, device, is_output, unbacked)| Buffer {
            size,
            life: Range {
                start,
                end: start + length,
            },
            device,
            is_output,
            has_unbacked_size: unbacked == 0,
        },
    );
    prop::collection::vec(buffer, 0..60)
}

fn planned(buffers: &[Buffer], mode: Mode) -> Plan {
    let mut planner = Planner::new(buffers.to_vec(), mode);
    assert!(planner.run(&mut || false));
    planner.finish()
}

proptest! {
    #[test]
    fn nothing_in_a_pool_overlaps(buffers in buffers()) {
        for mode in [Mode::None, Mode::Intermediates, Mode::Outputs, Mode::Combined] {
            let plan = planned(&buffers, mode);
            for (number, pool) in plan.pools.iter().enumerate() {
                let inside: Vec<usize> =
                    (0..buffers.len()).filter(|&i| plan.offsets[i].pool == number).collect();
                let problem = Problem {
                    lower: inside.iter().map(|&i| buffers[i].life.start).collect(),
                    upper: inside.iter().map(|&i| buffers[i].life.end).collect(),
                    size: inside.iter().map(|&i| buffers[i].size).collect(),
                    alignment: vec![ALIGN_BYTES; inside.len()],
                };
                let packing = Packing {
                    offset: inside.iter().map(|&i| plan.offsets[i].offset).collect(),
                    height: pool.size,
                };
                prop_assert_eq!(verify(&problem, &packing), Ok(()));
                prop_assert!(inside.iter().all(|&i| buffers[i].device == pool.device));
                let leaves = pool.tree.iter().filter(|node| matches!(node, Node::Buffer(_)));
                prop_assert_eq!(leaves.count(), inside.len());
            }
        }
    }

    #[test]
    fn a_planner_can_be_stopped(buffers in buffers()) {
        let whole = planned(&buffers, Mode::Intermediates);
        let mut in_slices = Planner::new(buffers, Mode::Intermediates);
        while !in_slices.run(&mut || true) {}
        prop_assert_eq!(in_slices.finish(), whole);
    }
}

#[test]
fn deep_trees_need_no_stack() {
    // Each is live with all before it and slightly smaller than the remaining hole, so each splits the last hole.
    let buffer = |i: u64| Buffer {
        size: 1 << 20 >> (i / 1000),
        life: Range {
            start: i,
            end: 20_000,
        },
        device: 0,
        is_output: false,
        has_unbacked_size: false,
    };
    let plan = planned(&(0..5_000).map(buffer).collect::<Vec<_>>(), Mode::Combined);
    assert_eq!(plan.pools.len(), 1);
}
