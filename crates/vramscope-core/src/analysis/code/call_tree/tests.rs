//! Compares the tree with a slow one, which adds every allocation to every prefix of its path, on random files.

use std::collections::{BTreeMap, BTreeSet};

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::analysis::code::frame_groups::{
    Fold, FoldPatterns, FrameGrouping, FrameGroups, GroupOptions, GroupTable,
};
use crate::analysis::recording::{Device, Recording};
use crate::analysis::time::history::StackSource;
use crate::analysis::time::selection::{Selection, Weight};
use crate::bitset::BitSet;
use crate::ids::AllocationId;

/// An event frees the oldest live allocation or allocates. Its stack has frames from a small alphabet.
type Step = (bool, u64, Vec<u8>);

fn file(steps: &[Step], frees_have_stacks: bool) -> String {
    let mut events = Vec::new();
    let mut live = std::collections::VecDeque::from([900_u64]);
    for (number, (is_free, size, frames)) in steps.iter().enumerate() {
        let frames: Vec<_> = frames
            .iter()
            .map(|&frame| {
                let file = ["a.py", "b.py", "ceval.c", "/v/site-packages/t/c.py"];
                let (line, file) = (frame / 8, file[usize::from(frame / 2 % 4)]);
                format!(
                    r#"{{"name": "f{}", "filename": "{file}", "line": {line}}}"#,
                    frame % 2
                )
            })
            .collect();
        let frames = frames.join(",");
        let mut push = |action: &str, addr: u64, frames: &str| {
            events.push(format!(
                r#"{{"action": "{action}", "addr": {addr}, "size": {size}, "stream": 0, "frames": [{frames}]}}"#
            ));
        };
        match live.pop_front() {
            Some(addr) if *is_free => {
                let frames = if frees_have_stacks { &*frames } else { "" };
                push("free_requested", addr, frames);
                push("free_completed", addr, frames);
            }
            other => {
                live.extend(other);
                live.push_back(1_000 + number as u64);
                push("alloc", 1_000 + number as u64, &frames);
            }
        }
    }
    format!(
        r#"{{"segments": [], "device_traces": [[{}]]}}"#,
        events.join(",")
    )
}

struct Case {
    recording: Recording,
    table: GroupTable,
    groups: FrameGroups,
}

impl Case {
    fn new(file: &str, options: &GroupOptions) -> Self {
        let recording = Recording::of(crate::decode(file.as_bytes()).unwrap());
        let (snapshot, classes) = (&recording.snapshot, recording.classes());
        let mut table = GroupTable::default();
        let groups = FrameGroups::of(snapshot, classes, options, &mut table);
        Self {
            recording,
            table,
            groups,
        }
    }

    fn device(&self) -> Device<'_> {
        self.recording.device(0).unwrap()
    }

    fn paths(&self, options: &TreeOptions<'_>) -> Paths {
        let device = self.device();
        let (snapshot, sites) = (device.snapshot(), device.call_sites());
        let sums = StackSums::of(snapshot, device.history, sites, options);
        Paths::of(snapshot, &self.groups, &sums)
    }

    fn selected(&self, options: &TreeOptions<'_>) -> impl Iterator<Item = AllocationId> {
        let table = &self.device().history.allocations;
        let holds = move |&row: &usize| {
            options.selection.holds(table.born[row], table.died[row])
                && options.only.is_none_or(|only| only.contains(row))
        };
        let rows = (0..table.len()).filter(holds);
        rows.map(AllocationId::from_index)
    }

    /// The sums of each node alone, allocation by allocation, over what the tree counts.
    fn own_of_leaves(&self, tree: &CallTree, paths: &Paths, asked: &TreeOptions<'_>) -> Vec<Sums> {
        let device = self.device();
        let (snapshot, sites) = (device.snapshot(), device.call_sites());
        let mut own = vec![Sums::default(); tree.len()];
        for (id, (_, sums)) in self.selected(asked).zip(self.naive(asked)) {
            let key = PathKey::of(snapshot, device.history, sites, id);
            if let Some(leaf) = paths.number(id, key).and_then(|path| tree.leaf(path)) {
                own[leaf as usize].add(sums);
            }
        }
        own
    }

    /// Every selected allocation with its path, straight from the definition.
    fn naive(&self, options: &TreeOptions<'_>) -> Vec<(Vec<GroupId>, Sums)> {
        let (history, snapshot) = (self.device().history, &self.recording.snapshot);
        let table = &history.allocations;
        let mut all = Vec::new();
        for id in self.selected(options) {
            let row = id.index();
            let (stack, source) = history.stack(snapshot, id);
            let mut path = Vec::new();
            self.groups.push_path(snapshot, stack, &mut path);
            if !stack.has_frames() {
                path = vec![GroupId::NO_STACK];
            } else {
                if path.is_empty() {
                    path = vec![GroupId::ALL_FOLDED];
                }
                if source == StackSource::Free
                    && !self.recording.call_sites().frees_carry_alloc_stacks()
                {
                    path.insert(0, GroupId::FREED_AT);
                }
            }
            let weight = options.weight.of(history, id);
            let is_match = options.matches.is_none_or(|matches| matches.contains(row));
            let sums = Sums {
                weight,
                bytes: table.bytes[row],
                count: 1,
                matched: if is_match { weight } else { 0 },
            };
            all.push((path, sums));
        }
        all
    }
}

/// Path → (total, own).
type ByPath = BTreeMap<Vec<GroupId>, (Sums, Sums)>;

fn prefixes(paths: impl IntoIterator<Item = (Vec<GroupId>, Sums)>) -> ByPath {
    let mut nodes = ByPath::from([(Vec::new(), Default::default())]);
    for (path, sums) in paths {
        for length in 0..=path.len() {
            nodes
                .entry(path[..length].to_vec())
                .or_default()
                .0
                .add(sums);
        }
        nodes.entry(path).or_default().1.add(sums);
    }
    nodes
}

fn nodes(tree: &CallTree) -> ByPath {
    let ids = 0..tree.len() as u32;
    let node = |id: u32| {
        (
            tree.path(id),
            (tree.total[id as usize], tree.own[id as usize]),
        )
    };
    ids.map(node).collect()
}

/// Laws of every call tree.
pub(crate) fn assert_laws(tree: &CallTree, total: Sums) {
    assert_eq!(tree.total[0], total);
    let mut met = vec![0; tree.len()];
    for node in 0..tree.len() as u32 {
        let at = node as usize;
        let children: Vec<usize> = tree.children(node).map(|child| child as usize).collect();
        let mut sum = tree.own[at];
        for &child in &children {
            met[child] += 1;
            sum.add(tree.total[child]);
            assert_eq!(
                (tree.parent[child], tree.depth[child]),
                (node, tree.depth[at] + 1)
            );
            assert!(tree.end[child] <= tree.end[at]);
        }
        assert_eq!(sum, tree.total[at], "children and own are the total");
        let groups: BTreeSet<GroupId> = children.iter().map(|&child| tree.group[child]).collect();
        assert_eq!(groups.len(), children.len(), "siblings differ");
        let weights = children.iter().map(|&child| tree.total[child].weight);
        assert!(weights.rev().is_sorted(), "heaviest first");
        assert_eq!(tree.find(&tree.path(node)), (node, tree.path(node).len()));
    }
    assert!(met[1..].iter().all(|&times| times == 1) && met[0] == 0);
}

fn options() -> impl Strategy<Value = GroupOptions> {
    use FrameGrouping::{File, Function, Line, Module, Package};
    let grouping = prop::sample::select(vec![Line, Function, File, Module, Package]);
    let fold = prop::sample::select(vec![Fold::Nothing, Fold::Runtime, Fold::Library]);
    let patterns = prop::sample::select(vec!["", "b.py", "f?"]);
    (grouping, fold, patterns).prop_map(|(grouping, fold, patterns)| GroupOptions {
        grouping,
        fold,
        patterns: FoldPatterns::parse(patterns).unwrap(),
    })
}

fn selections() -> impl Strategy<Value = Selection> {
    (0..5_u8, 0..30_u32, 0..30_u32).prop_map(|(kind, a, b)| {
        let range = (a.min(b), a.max(b));
        match kind {
            0 => Selection::All,
            1 => Selection::LiveAt(a),
            2 => Selection::AllocatedIn(range),
            3 => Selection::RetainedFrom(range),
            _ => Selection::FreedIn(range),
        }
    })
}

proptest! {
    #[test]
    fn trees_are_what_the_slow_ones_are(
        steps in vec((any::<bool>(), 1..9_u64, vec(0..24_u8, 0..7)), 0..30),
        options in options(),
        selection in selections(),
        weight in prop::sample::select(vec![Weight::Bytes, Weight::Count, Weight::ByteEvents]),
        (frees_have_stacks, bits) in any::<(bool, u64)>(),
    ) {
        let case = Case::new(&file(&steps, frees_have_stacks), &options);
        let rows = case.device().history.allocations.len();
        let only = BitSet::from_fn(rows, |row| bits >> (row % 20) & 1 == 0);
        let matches = BitSet::from_fn(rows, |row| bits >> (32 + row % 20) & 1 == 0);
        let asked = TreeOptions {
            selection,
            weight,
            only: (bits >> 63 == 0).then_some(&only),
            matches: (bits >> 62 & 1 == 0).then_some(&matches),
        };
        let (paths, naive) = (case.paths(&asked), case.naive(&asked));
        let mut total = Sums::default();
        naive.iter().for_each(|&(_, sums)| total.add(sums));
        prop_assert_eq!(paths.total(), total);

        let top_down = CallTree::top_down(&paths);
        assert_laws(&top_down, total);
        prop_assert_eq!(nodes(&top_down), prefixes(naive.iter().cloned()));
        prop_assert_eq!(case.own_of_leaves(&top_down, &paths, &asked), top_down.own.clone());

        let bottom_up = CallTree::bottom_up(&paths);
        assert_laws(&bottom_up, total);
        let inverted = naive.iter().map(|(path, sums)| {
            let freed = usize::from(path[0] == GroupId::FREED_AT);
            let mut path = path.clone();
            path[freed..].reverse();
            (path, *sums)
        });
        prop_assert_eq!(nodes(&bottom_up), prefixes(inverted));
        prop_assert_eq!(case.own_of_leaves(&bottom_up, &paths, &asked), bottom_up.own.clone());

        let rows = functions(&paths);
        let mut own = Sums::default();
        rows.iter().for_each(|row| own.add(row.own));
        prop_assert_eq!(own, total);
        for row in rows {
            let group = row.group;
            let allocating = naive.iter().filter(|(path, _)| path[0] != GroupId::FREED_AT || group == path[0]);
            let through: Vec<_> = allocating.filter(|(path, _)| path.contains(&group)).collect();
            let place = |path: &[GroupId]| path.iter().position(|&of| of == group).unwrap();
            let callers = CallTree::callers(&paths, group);
            assert_laws(&callers, row.total);
            prop_assert_eq!(case.own_of_leaves(&callers, &paths, &asked), callers.own.clone());
            prop_assert_eq!(nodes(&callers), prefixes(through.iter().map(|(path, sums)| {
                let above = path[..place(path)].iter().rev().copied().collect();
                (above, *sums)
            })));
            let callees = CallTree::callees(&paths, group);
            assert_laws(&callees, row.total);
            if group != GroupId::FREED_AT {
                prop_assert_eq!(nodes(&callees), prefixes(through.iter().map(|(path, sums)| {
                    (path[place(path) + 1..].to_vec(), *sums)
                })));
            }
        }
    }
}

const FOUR: TreeOptions<'static> = TreeOptions {
    selection: Selection::All,
    weight: Weight::Bytes,
    only: None,
    matches: None,
};

#[test]
fn hostile_depth_and_breadth_are_bounded() {
    let deep: Vec<u8> = (0..5_000_u32).map(|at| (at % 2) as u8 * 8).collect();
    let steps = [(false, 8, deep), (false, 4, vec![0])];
    let case = Case::new(&file(&steps, false), &GroupOptions::default());
    let paths = case.paths(&FOUR);
    assert_eq!(paths.cut(), 1);
    let tree = CallTree::top_down(&paths);
    assert_eq!(tree.depth.iter().max(), Some(&(MAX_DEPTH as u32)));
    assert_eq!(tree.total[0].bytes, 12);

    let mut builder = Builder::new(GroupId::ALL);
    let one = Sums {
        count: 1,
        ..Sums::default()
    };
    let paths = MAX_NODES as u32 / 4 + 10;
    for path in 0..paths {
        builder.add((0..4).map(|step| GroupId(path * 4 + step)), one);
    }
    let tree = builder.finish();
    assert_eq!(
        (tree.len(), tree.total[0].count),
        (MAX_NODES, u64::from(paths))
    );
    assert_eq!(
        tree.cut_paths, 11,
        "the last node that fits is the third of its path"
    );
}

#[test]
fn folded_stacks_have_every_path_and_its_weight() {
    let file = file(
        &[
            (false, 8, vec![1, 0]),
            (false, 4, vec![0]),
            (false, 2, vec![]),
        ],
        false,
    );
    let case = Case::new(&file, &GroupOptions::default());
    let tree = CallTree::top_down(&case.paths(&FOUR));
    assert_eq!(
        folded(&tree, &case.table).unwrap(),
        "a.py f0 4\na.py f0;a.py f1 8\nno stack recorded 2\n"
    );
}

#[test]
fn nothing_selected_is_a_bare_root() {
    let case = Case::new(&file(&[], false), &GroupOptions::default());
    let paths = case.paths(&FOUR);
    assert!(paths.is_empty() && functions(&paths).is_empty());
    let tree = CallTree::top_down(&paths);
    assert!(tree.is_empty() && tree.children(0).next().is_none());
    assert!(tree.children(7).next().is_none() && tree.path(7).is_empty());
}
