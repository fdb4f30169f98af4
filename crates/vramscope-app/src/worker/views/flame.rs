//! Answers to [`protocol::views::flame`](crate::protocol::views::flame).
//!
//! Keeps the groups, paths and trees of the last question, as the next one mostly needs the same. Moving the cursor
//! makes new sums and trees; focusing and scrolling make nothing.

use std::collections::HashSet;
use std::rc::Rc;

use vramscope_core::Snapshot;
use vramscope_core::analysis::code::call_tree::{
    CallTree, FunctionTotal, Paths, StackSums, TreeOptions, folded, functions,
};
use vramscope_core::analysis::code::frame_groups::{
    FoldPatterns, FrameGroups, GroupId, GroupOptions, GroupTable,
};
use vramscope_core::analysis::code::frames::FrameClass;
use vramscope_core::analysis::code::tree_kind::group_of;
use vramscope_core::analysis::search::filter::rows;
use vramscope_view::flame::{FlameScene, GroupColours, NodeKey, NodeKeys, heavy_path, open_rows};
use vramscope_view::theme::Theme;

use super::super::document::Document;
use crate::protocol::views::flame::{
    About, Answer, Fold, FrameGrouping, FunctionOrder, FunctionRow, ListedGroup, Question,
    TrailStep, TreeAnswer, TreeKind, TreeQuestion, TreeRow,
};
use crate::protocol::{Extra, ThemeName};

/// The most rows of one answer: more than a screen has.
const MOST_ROWS: u32 = 1_000;
/// The most trees kept: two of a sandwich, one of the table, one of the picture.
const KEPT_TREES: usize = 4;

/// The data kept from one question to the next.
#[derive(Default)]
pub(super) struct Cache {
    groups: Option<Groups>,
    paths: Option<SelectedPaths>,
}

/// The answer with its attachment; `None` if there is no such device.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    cache: &mut Cache,
) -> Option<(Answer, Extra)> {
    cache.answer(document, question)
}

/// The groups of frames, by which trees are built.
struct Groups {
    asked: (FrameGrouping, Fold, String),
    table: GroupTable,
    of_frame: FrameGroups,
    colours: Option<(ThemeName, GroupColours)>,
}

/// Looks up names, colours and filters of groups.
struct GroupLookup<'a> {
    snapshot: &'a Snapshot,
    groups: &'a Groups,
    table: &'a GroupTable,
    colours: &'a GroupColours,
}

impl GroupLookup<'_> {
    fn listed(&self, group: GroupId) -> ListedGroup {
        ListedGroup {
            label: self.table.get(group).label.clone(),
            fill: self.colours.get(group),
            is_code: group.is_code(),
            search: self.search(group),
        }
    }

    /// The filter that finds the allocations with a group on their stacks; `None` if it names no code.
    fn search(&self, group: GroupId) -> Option<String> {
        let (grouping, ..) = self.groups.asked;
        let groups = (self.table, &self.groups.of_frame);
        let filter = rows::of_group(self.snapshot, groups, grouping, group);
        filter.map(|filter| filter.to_string())
    }
}

/// The call paths of the selected allocations, with the trees and lists made of them.
struct SelectedPaths {
    about: About,
    paths: Paths,
    trees: Vec<(TreeKind, Rc<Tree>)>,
    functions: Option<Vec<FunctionTotal>>,
}

struct Tree {
    tree: CallTree,
    keys: NodeKeys,
    callers_below: bool,
}

impl Cache {
    fn answer(&mut self, document: &Document, question: &Question) -> Option<(Answer, Extra)> {
        let about = &question.about;
        self.group(document, about);
        self.colour(document, question.theme);
        self.select(document, about)?;
        let (groups, selected) = self.groups.as_ref().zip(self.paths.as_mut())?;
        let groups = GroupLookup {
            snapshot: &document.snapshot,
            groups,
            table: &groups.table,
            colours: &groups.colours.as_ref()?.1,
        };
        let whole = selected.paths.total();
        let mut cut = selected.paths.cut();
        let mut total = whole;
        let mut of_tree = |selected: &mut SelectedPaths, kind: &TreeKind| {
            let tree = selected.tree(kind, groups.table);
            total = tree.tree.total[0];
            cut += tree.tree.cut_paths;
            tree
        };
        let mut extra = Extra::Nothing;
        let tree = match &question.wanted {
            TreeQuestion::Folded { tree } => {
                let text = folded(&of_tree(selected, tree).tree, groups.table);
                extra = text.map_or(Extra::Nothing, |text| Extra::Bytes(text.into_bytes()));
                TreeAnswer::Folded
            }
            TreeQuestion::Picture {
                tree,
                focus,
                width_px,
            } => of_tree(selected, tree).picture(&groups, *focus, *width_px),
            TreeQuestion::Rows {
                tree,
                open,
                first,
                count,
            } => of_tree(selected, tree).rows(&groups, open.as_deref(), (*first, *count)),
            TreeQuestion::Functions {
                order,
                first,
                count,
                function,
            } => selected.functions(&groups, *order, (*first, *count), function.as_deref()),
        };
        let answer = Answer {
            total,
            whole,
            cut,
            tree,
        };
        Some((answer, extra))
    }

    fn group(&mut self, document: &Document, about: &About) {
        let asked = (about.grouping, about.fold, about.patterns.clone());
        if self
            .groups
            .as_ref()
            .is_some_and(|known| known.asked == asked)
        {
            return;
        }
        // Ids of groups belong to one table, so everything made with the old table goes.
        self.paths = None;
        let mut table = GroupTable::default();
        let options = GroupOptions {
            grouping: about.grouping,
            fold: about.fold,
            patterns: FoldPatterns::parse(&about.patterns).unwrap_or_default(),
        };
        let classes = document.classes();
        let of_frame = FrameGroups::of(&document.snapshot, classes, &options, &mut table)
            .with_operators(document.call_sites().operators(), &mut table);
        self.groups = Some(Groups {
            asked,
            table,
            of_frame,
            colours: None,
        });
    }

    fn colour(&mut self, document: &Document, theme: ThemeName) {
        let Some(groups) = &mut self.groups else {
            return;
        };
        if groups
            .colours
            .as_ref()
            .is_some_and(|known| known.0 == theme)
        {
            return;
        }
        let sites = document.call_sites().sites();
        let sites: HashSet<&str> = sites.iter().map(|site| site.label.as_str()).collect();
        let is_call_site = |label: &str| sites.contains(label);
        let colours = GroupColours::of(
            &groups.table,
            &Theme::of(theme),
            document.leaders(),
            is_call_site,
        );
        groups.colours = Some((theme, colours));
    }

    fn select(&mut self, document: &Document, about: &About) -> Option<()> {
        if self
            .paths
            .as_ref()
            .is_some_and(|known| known.about == *about)
        {
            return Some(());
        }
        let device = document.device(about.device)?;
        let matches = document.matches(device, about.filter.as_ref());
        let options = TreeOptions {
            selection: about.selection,
            weight: about.weight,
            only: None,
            matches: matches.as_deref(),
        };
        let snapshot = &document.snapshot;
        let sums = StackSums::of(snapshot, device.history, document.call_sites(), &options);
        let groups = &self.groups.as_ref()?.of_frame;
        self.paths = Some(SelectedPaths {
            about: about.clone(),
            paths: Paths::of(snapshot, groups, &sums),
            trees: Vec::new(),
            functions: None,
        });
        Some(())
    }
}

impl SelectedPaths {
    fn tree(&mut self, kind: &TreeKind, table: &GroupTable) -> Rc<Tree> {
        if let Some(place) = self.trees.iter().position(|(known, _)| known == kind) {
            let known = self.trees.remove(place);
            self.trees.push(known);
        } else {
            let tree = kind.tree(&self.paths, table);
            let keys = NodeKeys::of(&tree, table);
            if self.trees.len() == KEPT_TREES {
                self.trees.remove(0);
            }
            let made = Tree {
                tree,
                keys,
                callers_below: kind.callers_below(),
            };
            self.trees.push((kind.clone(), Rc::new(made)));
        }
        // Both branches have put it last, as the most recently used.
        self.trees[self.trees.len() - 1].1.clone()
    }

    fn functions(
        &mut self,
        groups: &GroupLookup<'_>,
        order: FunctionOrder,
        (first, count): (u32, u32),
        function: Option<&str>,
    ) -> TreeAnswer {
        let all = self.functions.get_or_insert_with(|| functions(&self.paths));
        order.sort(all);
        let rows = window(all, first, count).iter().map(|row| FunctionRow {
            group: groups.listed(row.group),
            is_user: groups.table.get(row.group).class == FrameClass::User,
            total: row.total,
            own: row.own,
        });
        TreeAnswer::Functions {
            first,
            rows: rows.collect(),
            all_rows: all.len() as u32,
            search: function.and_then(|label| groups.search(group_of(groups.table, label))),
        }
    }
}

impl Tree {
    fn picture(&self, groups: &GroupLookup<'_>, focus: NodeKey, width_px: f64) -> TreeAnswer {
        let Self { tree, keys, .. } = self;
        let focus = keys.node(focus).unwrap_or(0);
        let of = (tree, self.callers_below);
        let scene = FlameScene::new(of, keys, groups.table, groups.colours, focus, width_px);
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

    fn rows(
        &self,
        groups: &GroupLookup<'_>,
        open: Option<&[NodeKey]>,
        (first, count): (u32, u32),
    ) -> TreeAnswer {
        let Self { tree, keys, .. } = self;
        let open: HashSet<u32> = match open {
            Some(open) => open.iter().filter_map(|&key| keys.node(key)).collect(),
            None => heavy_path(tree).into_iter().collect(),
        };
        let nodes = open_rows(tree, |node| open.contains(&node));
        let rows = window(&nodes, first, count).iter().map(|&node| {
            let at = node as usize;
            TreeRow {
                key: keys.key(node),
                group: groups.listed(tree.group[at]),
                depth: tree.depth[at],
                total: tree.total[at],
                own: tree.own[at],
                has_children: tree.end[at] > node + 1,
                is_open: open.contains(&node),
            }
        });
        let mut opened: Vec<u32> = open.iter().copied().collect();
        opened.sort_unstable();
        TreeAnswer::Rows {
            all_rows: nodes.len() as u32,
            first,
            rows: rows.collect(),
            open: opened.into_iter().map(|node| keys.key(node)).collect(),
        }
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

    const FILE: &str = r#"{"segments": [], "device_traces": [[
        {"action": "alloc", "addr": 1, "size": 8, "stream": 0, "frames": [
            {"name": "forward", "filename": "/v/site-packages/torch/nn/linear.py", "line": 5},
            {"name": "main", "filename": "/me/run/train.py", "line": 2}]},
        {"action": "alloc", "addr": 2, "size": 4, "stream": 0, "frames": [
            {"name": "main", "filename": "/me/run/train.py", "line": 3}]},
        {"action": "alloc", "addr": 3, "size": 1, "stream": 0, "frames": []}]]}"#;

    fn ask(cache: &mut Cache, document: &Document, moment: u32, wanted: TreeQuestion) -> Answer {
        let question = Question {
            about: About {
                device: 0,
                selection: Selection::LiveAt(moment),
                weight: Weight::Bytes,
                grouping: FrameGrouping::Function,
                fold: Fold::Runtime,
                patterns: String::new(),
                filter: None,
            },
            theme: ThemeName::Light,
            wanted,
        };
        answer(&question, document, cache).unwrap().0
    }

    #[test]
    fn pictures_rows_and_functions_are_of_one_tree() {
        let document = Document::new(vramscope_core::decode(FILE.as_bytes()).unwrap());
        let mut cache = Cache::default();
        let picture = |focus| TreeQuestion::Picture {
            tree: TreeKind::TopDown,
            focus,
            width_px: 100.0,
        };
        let whole = ask(&mut cache, &document, 3, picture(NodeKey::ROOT));
        assert_eq!((whole.whole.weight, whole.total.weight), (13, 13));
        let TreeAnswer::Picture { scene, trail, .. } = whole.tree else {
            panic!("no picture");
        };
        let labels: Vec<&str> = scene.cells.iter().map(|cell| cell.label.as_str()).collect();
        let (main, forward) = ("run/train.py main", "torch/nn/linear.py forward");
        assert_eq!(labels, ["all", main, "no stack recorded", forward]);
        assert_eq!(trail.len(), 1);

        // The focus is the same node at another moment.
        let focused = ask(&mut cache, &document, 1, picture(scene.cells[1].key));
        let TreeAnswer::Picture { trail, focus, .. } = focused.tree else {
            panic!("no picture");
        };
        assert_eq!((trail[1].group.label.as_str(), focus.weight), (main, 8));

        let rows = TreeQuestion::Rows {
            tree: TreeKind::BottomUp,
            open: None,
            first: 1,
            count: 1,
        };
        let TreeAnswer::Rows { all_rows, rows, .. } = ask(&mut cache, &document, 3, rows).tree
        else {
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
        let TreeAnswer::Functions { rows, .. } = ask(&mut cache, &document, 3, functions).tree
        else {
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
        let mut cache = Cache::default();
        for (label, bytes) in [
            ("no stack recorded", 1),
            ("run/train.py main", 12),
            ("?", 0),
        ] {
            let wanted = TreeQuestion::Picture {
                tree: TreeKind::Callees(label.to_owned()),
                focus: NodeKey::ROOT,
                width_px: 100.0,
            };
            assert_eq!(ask(&mut cache, &document, 3, wanted).total.weight, bytes);
        }
    }
}
