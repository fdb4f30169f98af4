//! The differential flame graph: widths, shares and hits.

use super::*;
use crate::theme::contrast;
use proptest::prelude::*;

/// A tree from rows of (parent, label, before, after).
fn tree(rows: &[(u32, u32, u64, u64)]) -> ChangeTree {
    let amount = |bytes| Amount {
        bytes,
        count: u64::from(bytes > 0),
    };
    let change = |&(_, _, before, after): &(u32, u32, u64, u64)| Change {
        before: amount(before),
        after: amount(after),
    };
    ChangeTree {
        parent: rows.iter().map(|row| row.0).collect(),
        label: rows.iter().map(|row| row.1).collect(),
        own: rows.iter().map(change).collect(),
        total: rows.iter().map(change).collect(),
        labels: ["all", "a", "b", "c", "d"].map(str::to_owned).to_vec(),
    }
}

fn options(width: FlameWidth) -> FlameOptions {
    FlameOptions {
        width,
        unit: ChangeUnit::Bytes,
        focus: 0,
        width_px: 100.0,
    }
}

fn rects(flame: &ChangeFlame) -> Vec<(u32, u32, f64, f64)> {
    let rects = flame.rects.iter();
    rects
        .map(|rect| (rect.node, rect.row, rect.x_px, rect.width_px))
        .collect()
}

#[test]
fn what_is_gone_stands_beside_what_is_new() {
    // all ─ a (10 → 0), b (0 → 30); b ─ c (0 → 10)
    let tree = tree(&[(0, 0, 0, 0), (0, 1, 10, 0), (0, 2, 0, 30), (2, 3, 0, 10)]);
    let flame = layout(&tree, &options(FlameWidth::Either));
    assert_eq!(
        rects(&flame),
        [
            (0, 0, 0.0, 100.0),
            (2, 1, 0.0, 80.0),
            (1, 1, 80.0, 20.0),
            (3, 2, 0.0, 20.0)
        ]
    );
    assert_eq!(flame.rows, 3);
    assert_eq!(flame.at(85.0, 1).map(|rect| rect.node), Some(1));
    assert_eq!(flame.at(30.0, 2).map(|rect| rect.node), None);
    assert_eq!(flame.at(0.0, 9).map(|rect| rect.node), None);

    let after = layout(&tree, &options(FlameWidth::After));
    assert_eq!(
        rects(&after)[1],
        (2, 1, 0.0, 100.0),
        "what is gone has no width"
    );
    let focus = FlameOptions {
        focus: 2,
        ..options(FlameWidth::Either)
    };
    let focused = layout(&tree, &focus);
    assert_eq!(
        rects(&focused)[..2],
        [(0, 0, 0.0, 100.0), (2, 1, 0.0, 100.0)]
    );
    assert_eq!(rects(&focused)[2], (3, 2, 0.0, 25.0));
}

#[test]
fn colours_say_which_way_and_how_much_and_can_be_written_on() {
    for theme in [Theme::light(), Theme::dark()] {
        let still = change_colour(&theme, 5, 5);
        assert_eq!(still, change_colour(&theme, 0, 0));
        assert_eq!(change_colour(&theme, 0, 9), theme.growth);
        assert_eq!(change_colour(&theme, 9, 0), theme.shrink);
        for after in 0..=200 {
            let colour = change_colour(&theme, 100, after);
            assert!(contrast(colour, theme.ink_on(colour)) >= 4.5, "{colour:?}");
            let redder = i32::from(colour[0]) - i32::from(colour[2]);
            let redder = redder - (i32::from(still[0]) - i32::from(still[2]));
            assert_eq!(redder.signum(), (after as i32 - 100).signum(), "{after}");
        }
        // A larger change is further from grey, so changes can be ordered by eye.
        let distance = |after: u64| contrast(still, change_colour(&theme, 100, after));
        assert!(distance(400) > distance(150) && distance(20) > distance(80));
    }
}

#[test]
fn narrow_ones_share_a_box_and_keys_follow_the_path() {
    let tree = tree(&[
        (0, 0, 0, 0),
        (0, 1, 980, 0),
        (0, 2, 10, 0),
        (0, 3, 6, 0),
        (0, 4, 4, 0),
        (2, 1, 5, 0),
    ]);
    let flame = layout(&tree, &options(FlameWidth::Either));
    let last = flame.rects[flame.rects.len() - 1];
    assert_eq!((last.node, last.smaller, last.row), (0, 3, 1));
    assert!((last.x_px + last.width_px - 100.0).abs() < 1.0);
    let keys = keys(&tree);
    assert_eq!(
        keys[5],
        NodeKey::ROOT
            .child(stable_hash("b"))
            .child(stable_hash("a"))
    );
}

#[test]
fn nonsense_does_no_harm() {
    let mut odd = tree(&[
        (3, 9, 1, 2),
        (7, 1, 10, 0),
        (1, 2, 0, u64::MAX),
        (2, 3, u64::MAX, 10),
    ]);
    odd.own.pop();
    for focus in [0, 2, 3, 99] {
        let flame = layout(
            &odd,
            &FlameOptions {
                focus,
                ..options(FlameWidth::Either)
            },
        );
        assert!(!flame.rects.is_empty());
    }
    assert_eq!(
        layout(&ChangeTree::default(), &options(FlameWidth::Before)),
        ChangeFlame::default()
    );
}

fn trees() -> impl Strategy<Value = ChangeTree> {
    prop::collection::vec((any::<u32>(), 0_u32..5, 0_u64..1_000, 0_u64..1_000), 1..40).prop_map(
        |mut rows| {
            for (row, values) in (0..).zip(&mut rows) {
                values.0 %= row.max(1);
            }
            tree(&rows)
        },
    )
}

proptest! {
    #[test]
    fn children_lie_within_their_caller_and_beside_each_other(
        tree in trees(), width in 0_usize..4, focus in 0_u32..40, width_px in 1.0..3_000.0
    ) {
        let width = [FlameWidth::Either, FlameWidth::Before, FlameWidth::After, FlameWidth::Difference][width];
        let focus = focus % tree.len() as u32;
        let flame = layout(&tree, &FlameOptions { width, unit: ChangeUnit::Bytes, focus, width_px });
        let above = callers(&tree, focus).len() as u32;
        for pair in flame.rects.windows(2) {
            if pair[0].row == pair[1].row {
                prop_assert!(pair[0].x_px + pair[0].width_px <= pair[1].x_px + 1e-6);
            }
        }
        for rect in &flame.rects {
            prop_assert!(rect.x_px >= 0.0 && rect.x_px + rect.width_px <= width_px + 1e-6);
            let middle = rect.x_px + rect.width_px / 2.0;
            prop_assert_eq!(flame.at(middle, rect.row).map(|found| found.node), Some(rect.node));
            if rect.row > above {
                let caller = if rect.smaller > 0 { rect.node } else { tree.parent[rect.node as usize] };
                prop_assert_eq!(flame.at(middle, rect.row - 1).map(|found| found.node), Some(caller));
            }
        }
        // Exactly the focus and all paths from it that are wide enough are drawn, each once.
        let whole = flame.rects.iter().filter(|rect| rect.smaller == 0);
        let mut nodes: Vec<u32> = whole.map(|rect| rect.node).collect();
        nodes.sort_unstable();
        prop_assert!(nodes.windows(2).all(|pair| pair[0] < pair[1]));
        prop_assert!(nodes.contains(&focus));
    }
}
