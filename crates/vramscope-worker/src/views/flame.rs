//! Answers to [`protocol::views::flame`](vramscope_protocol::views::flame).

use std::collections::HashSet;

use vramscope_core::Snapshot;
use vramscope_core::analysis::code::call_tree::{Chains, folded};
use vramscope_core::analysis::code::frame_groups::{GroupId, GroupTable};
use vramscope_core::analysis::code::frames::FrameClass;
use vramscope_core::analysis::code::tree_kind::group_of;
use vramscope_core::analysis::search::filter::rows;
use vramscope_protocol::views::flame::{
    Answer, FunctionOrder, FunctionRow, ListedGroup, Question, TrailStep, TreeAnswer, TreeQuestion,
    TreeRow,
};
use vramscope_protocol::{ColourBy, Extra};
use vramscope_view::flame::{
    BoxColours, Faces, FlameScene, GroupColours, Mixes, NodeKey, Shown, heavy_path, open_rows,
};

use super::super::colours::Colours;
use super::super::document::{Device, Document};
use super::super::flame_trees::{FrameNames, SelectedPaths, Tree};

/// The most rows of one answer: more than a screen has.
const MOST_ROWS: u32 = 1_000;

/// Looks up names, colours and filters of groups.
struct GroupLookup<'a> {
    snapshot: &'a Snapshot,
    names: &'a FrameNames,
    colours: &'a GroupColours,
    is_by_code: bool,
}

impl GroupLookup<'_> {
    fn table(&self) -> &GroupTable {
        &self.names.table
    }

    fn listed(&self, group: GroupId) -> ListedGroup {
        ListedGroup {
            label: self.table().get(group).label.clone(),
            fill: self.is_by_code.then(|| self.colours.get(group)),
            is_code: group.is_code(),
            search: self.search(group),
        }
    }

    /// The filter that finds the allocations with a group on their stacks; `None` if it names no code.
    fn search(&self, group: GroupId) -> Option<String> {
        let groups = (&self.names.table, &self.names.of_frame);
        let grouping = self.names.grouping();
        let of_pool = self.names.pool(group).cloned();
        let filter = of_pool.or_else(|| rows::of_group(self.snapshot, groups, grouping, group));
        filter.map(|filter| filter.to_string())
    }
}

/// The answer with its attachment; `None` if there is no such device.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    colours: &mut Colours,
) -> Option<(Answer, Extra)> {
    let about = &question.about;
    let device = document.device(about.device)?;
    let mut trees = document.flame.borrow_mut();
    let (names, selected) = trees.prepare(document, device, about)?;
    let code = names.colours(document, question.theme);
    let lookup = GroupLookup {
        snapshot: &document.snapshot,
        names,
        colours: &code,
        is_by_code: question.colour_by == ColourBy::CallSite,
    };
    let tree = question.wanted.tree();
    let tree = tree.map(|kind| selected.tree(kind, &names.table));
    let mixes = tree
        .as_ref()
        .and_then(|tree| selected.mixes(tree, device, question, colours));
    let whole = selected.paths.total();
    let (total, cut_paths) = tree
        .as_ref()
        .map_or((whole, 0), |tree| (tree.tree.total[0], tree.tree.cut_paths));
    let cut = selected.paths.cut() + cut_paths;
    let of = (tree.as_deref(), mixes.as_deref());
    let (tree, extra) = part(&question.wanted, of, &lookup, (device, selected))?;
    let answer = Answer {
        total,
        whole,
        cut,
        tree,
    };
    Some((answer, extra))
}

/// The part that is asked for; `None` without the tree that it is of.
fn part(
    wanted: &TreeQuestion,
    (tree, mixes): (Option<&Tree>, Option<&Mixes>),
    groups: &GroupLookup<'_>,
    (device, selected): (Device<'_>, &mut SelectedPaths),
) -> Option<(TreeAnswer, Extra)> {
    let mut extra = Extra::Nothing;
    let answer = match (wanted, tree) {
        (
            TreeQuestion::Functions {
                order,
                first,
                count,
                function,
            },
            _,
        ) => {
            let rows = (*first, *count);
            list(selected, groups, *order, rows, function.as_deref())
        }
        (_, None) => return None,
        (TreeQuestion::Folded { .. }, Some(tree)) => {
            let text = folded(&tree.tree, groups.table());
            extra = text.map_or(Extra::Nothing, |text| Extra::Bytes(text.into_bytes()));
            TreeAnswer::Folded
        }
        (
            TreeQuestion::Picture {
                focus,
                marked,
                width_px,
                ..
            },
            Some(tree),
        ) => {
            let marked = marked.and_then(|id| tree.leaf(device, &selected.paths, id));
            let shown = (*focus, marked, *width_px);
            picture(tree, groups, mixes, shown)
        }
        (
            TreeQuestion::Rows {
                open,
                apart,
                first,
                count,
                ..
            },
            Some(tree),
        ) => {
            let lists = (open.as_deref(), &apart[..]);
            rows_of(tree, groups, mixes, lists, (*first, *count))
        }
    };
    Some((answer, extra))
}

fn list(
    selected: &mut SelectedPaths,
    groups: &GroupLookup<'_>,
    order: FunctionOrder,
    (first, count): (u32, u32),
    function: Option<&str>,
) -> TreeAnswer {
    let all = selected.functions();
    order.sort(all);
    let rows = window(all, first, count).iter().map(|row| FunctionRow {
        group: groups.listed(row.group),
        is_user: groups.table().get(row.group).class == FrameClass::User,
        total: row.total,
        own: row.own,
    });
    TreeAnswer::Functions {
        first,
        rows: rows.collect(),
        all_rows: all.len() as u32,
        search: function.and_then(|label| groups.search(group_of(groups.table(), label))),
    }
}

fn picture(
    of: &Tree,
    groups: &GroupLookup<'_>,
    mixes: Option<&Mixes>,
    (focus, marked, width_px): (NodeKey, Option<u32>, f64),
) -> TreeAnswer {
    let Tree { tree, keys, .. } = of;
    let focus = keys.node(focus).unwrap_or(0);
    let colours = BoxColours {
        code: groups.colours,
        mixes,
    };
    let shown = Shown {
        focus,
        marked,
        width_px,
    };
    let scene = FlameScene::new(
        (tree, of.callers_below),
        keys,
        groups.table(),
        colours,
        shown,
    );
    let above = scene.cells.iter().take_while(|cell| cell.is_above);
    let above = above.filter_map(|cell| keys.node(cell.key));
    let step = |node: u32| TrailStep {
        key: keys.key(node),
        group: groups.listed(tree.group[node as usize]),
    };
    TreeAnswer::Picture {
        trail: above.chain([focus]).map(step).collect(),
        scene,
        focus: tree.total[focus as usize],
    }
}

/// Rows of the tree with each chain as one, but those that are apart, whose frames are all open.
fn rows_of(
    of: &Tree,
    groups: &GroupLookup<'_>,
    mixes: Option<&Mixes>,
    (open, apart): (Option<&[NodeKey]>, &[NodeKey]),
    (first, count): (u32, u32),
) -> TreeAnswer {
    let keys = &of.keys;
    let joined = Chains::of(&of.tree, of.callers_below, &[]);
    let apart: Vec<u32> = apart.iter().filter_map(|&key| keys.node(key)).collect();
    let chains = Chains::of(&of.tree, of.callers_below, &apart);
    let tree = &chains.tree;
    let colours = BoxColours {
        code: groups.colours,
        mixes,
    };
    let faces = Faces::of(&chains, groups.table(), colours);
    let open: HashSet<u32> = match open {
        Some(open) => {
            let nodes = open.iter().filter_map(|&key| keys.node(key));
            nodes.map(|node| chains.of_node[node as usize]).collect()
        }
        None => heavy_path(tree).into_iter().collect(),
    };
    // The last frame of the chain that a row was taken from.
    let last = |row: u32| {
        let whole = joined.of_node[chains.named[row as usize] as usize] as usize;
        let is_apart = joined.lengths[whole] > 1 && chains.lengths[row as usize] == 1;
        is_apart.then(|| joined.named[whole])
    };
    let leads_on = |row: u32| last(row).is_some_and(|last| last != chains.named[row as usize]);
    let is_open = |row: u32| open.contains(&row) || leads_on(row);
    let nodes = open_rows(tree, is_open);
    let rows = window(&nodes, first, count).iter().map(|&row| {
        let at = row as usize;
        let listed = groups.listed(tree.group[at]);
        TreeRow {
            key: keys.key(chains.named[at]),
            group: ListedGroup {
                label: faces.label(row),
                fill: Some(faces.fill(row)),
                ..listed
            },
            joined: chains.lengths[at],
            apart: last(row).map(|node| keys.key(node)),
            depth: tree.depth[at],
            total: tree.total[at],
            own: tree.own[at],
            has_children: tree.end[at] > row + 1,
            is_open: is_open(row),
        }
    });
    let mut opened: Vec<u32> = open.iter().copied().collect();
    opened.sort_unstable();
    let key = |row: u32| keys.key(chains.named[row as usize]);
    TreeAnswer::Rows {
        all_rows: nodes.len() as u32,
        first,
        rows: rows.collect(),
        open: opened.into_iter().map(key).collect(),
    }
}

fn window<T>(rows: &[T], first: u32, count: u32) -> &[T] {
    let start = (first as usize).min(rows.len());
    let end = start + (count.min(MOST_ROWS) as usize).min(rows.len() - start);
    &rows[start..end]
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::time::selection::{Selection, Weight};
    use vramscope_protocol::views::flame::{About, BoxOf, Fold, FrameGrouping, TreeKind};
    use vramscope_protocol::{Look, ThemeName};

    const FILE: &str = r#"{"segments": [], "device_traces": [[
        {"action": "alloc", "addr": 1, "size": 8, "stream": 0, "frames": [
            {"name": "forward", "filename": "/v/site-packages/torch/nn/linear.py", "line": 5},
            {"name": "main", "filename": "/me/run/train.py", "line": 2}]},
        {"action": "alloc", "addr": 2, "size": 4, "stream": 0, "frames": [
            {"name": "main", "filename": "/me/run/train.py", "line": 3}]},
        {"action": "alloc", "addr": 3, "size": 1, "stream": 0, "frames": []}]]}"#;

    fn question(moment: u32, wanted: TreeQuestion) -> Question {
        Question {
            about: About {
                device: 0,
                selection: Selection::LiveAt(moment),
                weight: Weight::Bytes,
                grouping: FrameGrouping::Function,
                fold: Fold::Runtime,
                patterns: String::new(),
                by_place: false,
                filter: None,
            },
            theme: ThemeName::Light,
            colour_by: ColourBy::CallSite,
            wanted,
        }
    }

    fn ask(document: &Document, moment: u32, wanted: TreeQuestion) -> Answer {
        let question = question(moment, wanted);
        answer(&question, document, &mut Colours::default())
            .unwrap()
            .0
    }

    #[test]
    fn pictures_rows_and_functions_are_of_one_tree() {
        let document = Document::new(vramscope_core::decode(FILE.as_bytes()).unwrap());
        let picture = |focus| TreeQuestion::Picture {
            tree: TreeKind::TopDown,
            focus,
            marked: None,
            width_px: 100.0,
        };
        let whole = ask(&document, 3, picture(NodeKey::ROOT));
        assert_eq!((whole.whole.weight, whole.total.weight), (13, 13));
        let TreeAnswer::Picture { scene, trail, .. } = whole.tree else {
            panic!("no picture");
        };
        let labels: Vec<&str> = scene.cells.iter().map(|cell| cell.label.as_str()).collect();
        let (main, forward) = ("run/train.py main", "torch/nn/linear.py forward");
        assert_eq!(labels, ["all", main, "no stack recorded", forward]);
        assert_eq!(trail.len(), 1);

        // The focus is the same node at another moment.
        let focused = ask(&document, 1, picture(scene.cells[1].key));
        let TreeAnswer::Picture { trail, focus, .. } = focused.tree else {
            panic!("no picture");
        };
        assert_eq!((trail[1].group.label.as_str(), focus.weight), (main, 8));

        let rows = TreeQuestion::Rows {
            tree: TreeKind::BottomUp,
            open: None,
            apart: Vec::new(),
            first: 1,
            count: 1,
        };
        let TreeAnswer::Rows { all_rows, rows, .. } = ask(&document, 3, rows).tree else {
            panic!("no rows");
        };
        assert_eq!(
            (all_rows, rows[0].group.label.as_str(), rows[0].depth),
            (4, main, 2)
        );

        let functions = TreeQuestion::Functions {
            order: FunctionOrder::Own,
            first: 0,
            function: Some(main.to_owned()),
            count: 9,
        };
        let TreeAnswer::Functions { rows, .. } = ask(&document, 3, functions).tree else {
            panic!("no functions");
        };
        let own: Vec<(&str, u64)> = rows
            .iter()
            .map(|row| (row.group.label.as_str(), row.own.weight))
            .collect();
        assert_eq!(own, [(forward, 8), (main, 4), ("no stack recorded", 1)]);
    }

    #[test]
    fn what_is_no_code_can_be_asked_about_too() {
        let document = Document::new(vramscope_core::decode(FILE.as_bytes()).unwrap());
        for (label, bytes) in [
            ("no stack recorded", 1),
            ("run/train.py main", 12),
            ("?", 0),
        ] {
            let wanted = TreeQuestion::Picture {
                tree: TreeKind::Callees(label.to_owned()),
                focus: NodeKey::ROOT,
                marked: None,
                width_px: 100.0,
            };
            assert_eq!(ask(&document, 3, wanted).total.weight, bytes);
        }
    }

    const FIXTURE: &[u8] =
        include_bytes!("../../../../tests/fixtures/torch-2.15.0/recorded_late.pickle");

    /// What a box lights up is what it counts, and the path of an allocation is marked by the boxes that count it.
    #[test]
    fn a_box_has_the_allocations_that_it_counts() {
        let document = Document::new(vramscope_core::decode(FIXTURE).unwrap());
        let device = document.devices().next().unwrap();
        let history = device.history;
        let live = Selection::LiveAt(history.peak_moment);
        let first = live.allocations(history).last();
        for (tree, focus_at) in [
            (TreeKind::TopDown, 0),
            (TreeKind::BottomUp, 0),
            (TreeKind::TopDown, 2),
        ] {
            let picture = |focus, colour_by| {
                let wanted = TreeQuestion::Picture {
                    tree: tree.clone(),
                    focus,
                    marked: first,
                    width_px: 900.0,
                };
                let question = Question {
                    colour_by,
                    ..question(history.peak_moment, wanted)
                };
                let answered = answer(&question, &document, &mut Colours::default());
                match answered.unwrap().0.tree {
                    TreeAnswer::Picture { scene, .. } => scene,
                    other => panic!("{other:?}"),
                }
            };
            let focus = picture(NodeKey::ROOT, ColourBy::CallSite).cells[focus_at].key;
            let scene = picture(focus, ColourBy::Size);
            let mut marked = Vec::new();
            for cell in scene.cells.iter().filter(|cell| cell.smaller == 0) {
                let look = Look {
                    lit: Some(Box::new(BoxOf {
                        about: question(
                            history.peak_moment,
                            TreeQuestion::Folded { tree: tree.clone() },
                        )
                        .about,
                        tree: tree.clone(),
                        focus,
                        key: cell.key,
                    })),
                    ..Look::default()
                };
                let set = document.lit(device, &look).unwrap();
                let bytes: u64 = set.iter().map(|row| history.allocations.bytes[row]).sum();
                let counted = (bytes, set.count() as u64);
                assert_eq!(counted, (cell.sums.bytes, cell.sums.count), "{cell:?}");
                let is_in = first.is_some_and(|id| set.contains(id.index()));
                assert_eq!(cell.is_marked, is_in, "{cell:?}");
                marked.extend(is_in.then_some(cell.row));
                let told: u64 = cell.parts.iter().map(|part| part.weight).sum();
                assert!(told <= cell.sums.weight && told > 0, "{cell:?}");
                assert_eq!(cell.parts[0].rgb, cell.fill);
            }
            assert!(marked.len() > 1 && scene.cells.len() > 3);
            assert_eq!(scene.marked_row(), marked.into_iter().max());
        }
    }

    #[test]
    fn chains_are_one_row_until_they_are_apart() {
        let document = Document::new(vramscope_core::decode(FIXTURE).unwrap());
        let peak = document.devices().next().unwrap().history.peak_moment;
        let rows = |open: Option<Vec<NodeKey>>, apart: Vec<NodeKey>| {
            let wanted = TreeQuestion::Rows {
                tree: TreeKind::TopDown,
                open,
                apart,
                first: 0,
                count: 100,
            };
            match ask(&document, peak, wanted).tree {
                TreeAnswer::Rows { rows, open, .. } => (rows, open),
                other => panic!("{other:?}"),
            }
        };
        let (joined, open) = rows(None, Vec::new());
        let place = joined.iter().position(|row| row.joined > 1).unwrap();
        let chain = &joined[place];
        assert!(joined.iter().all(|row| row.apart.is_none()));
        let (apart, _) = rows(Some(open), vec![chain.key]);
        let frames = chain.joined as usize;
        assert_eq!(apart.len(), joined.len() + frames - 1);
        let run = &apart[place..place + frames];
        assert!(
            run.iter()
                .all(|row| row.apart == Some(chain.key) && row.joined == 1)
        );
        assert!(run[..frames - 1].iter().all(|row| row.is_open));
        assert_eq!(run[frames - 1].key, chain.key);
        assert_eq!(run[0].total, chain.total);
    }
}
