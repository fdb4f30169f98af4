//! Answers to [`protocol::views::flame`](crate::protocol::views::flame). Keeps what the last question was about, for the next is mostly about the same.

use std::collections::HashSet;
use std::rc::Rc;

use vramscope_core::analysis::call_tree::{
    CallTree, FunctionTotal, Paths, StackSums, TreeOptions, functions,
};
use vramscope_core::analysis::frame_groups::{
    FoldPatterns, FrameGroups, GroupId, GroupOptions, GroupTable,
};
use vramscope_view::flame::{FlameScene, NodeKey, NodeKeys, group_colour, heavy_path, open_rows};
use vramscope_view::theme::Theme;

use super::super::document::Document;
use crate::protocol::Extra;
use crate::protocol::views::flame::{
    About, Answer, Fold, FrameGrouping, FunctionOrder, FunctionRow, Question, Told, TrailStep,
    TreeKind, TreeRow, Wanted,
};

/// Most rows told at once: more than a screen has.
const MOST_ROWS: u32 = 1_000;
/// Trees kept: both of a sandwich, the tree and the picture.
const KEPT_TREES: usize = 4;

/// What the last questions were about.
#[derive(Default)]
pub(super) struct Cache {
    groups: Option<Groups>,
    paths: Option<SelectedPaths>,
}

/// The answer, with what travels beside it; `None` if there is nothing to say.
pub(super) fn answer(
    question: &Question,
    document: &Document,
    cache: &mut Cache,
) -> Option<(Answer, Extra)> {
    let answer = cache.answer(document, &question.about, &question.wanted)?;
    Some((answer, Extra::Nothing))
}

/// Names of frames.
struct Groups {
    asked: (FrameGrouping, Fold, String),
    table: GroupTable,
    of_frame: FrameGroups,
}

/// The paths of what is selected, and what was made of them.
struct SelectedPaths {
    about: About,
    paths: Paths,
    trees: Vec<(TreeKind, Rc<Tree>)>,
    functions: Option<Vec<FunctionTotal>>,
}

struct Tree {
    tree: CallTree,
    keys: NodeKeys,
}

impl Cache {
    fn answer(&mut self, document: &Document, about: &About, wanted: &Wanted) -> Option<Answer> {
        self.group(document, about);
        self.select(document, about)?;
        let (groups, selected) = self.groups.as_ref().zip(self.paths.as_mut())?;
        let table = &groups.table;
        let whole = selected.paths.total();
        let mut cut = selected.paths.cut();
        let mut total = whole;
        let mut of_tree = |selected: &mut SelectedPaths, kind: &TreeKind| {
            let tree = selected.tree(kind, table);
            total = tree.tree.total[0];
            cut += tree.tree.cut_paths;
            tree
        };
        let told = match wanted {
            Wanted::Picture {
                tree,
                focus,
                width_px,
                theme,
            } => {
                let tree = of_tree(selected, tree);
                tree.picture(table, &Theme::of(*theme), *focus, *width_px)
            }
            Wanted::Rows {
                tree,
                open,
                first,
                count,
                theme,
            } => {
                let tree = of_tree(selected, tree);
                tree.rows(table, &Theme::of(*theme), open.as_deref(), (*first, *count))
            }
            Wanted::Functions {
                order,
                first,
                count,
                theme,
            } => selected.functions(table, &Theme::of(*theme), *order, (*first, *count)),
        };
        Some(Answer {
            total,
            whole,
            cut,
            told,
        })
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
        // Ids of groups are those of this table: what was made with another is worth nothing.
        self.paths = None;
        let mut table = GroupTable::default();
        let options = GroupOptions {
            grouping: about.grouping,
            fold: about.fold,
            patterns: FoldPatterns::parse(&about.patterns).unwrap_or_default(),
        };
        let classes = &document.words().classes;
        let of_frame = FrameGroups::of(&document.snapshot, classes, &options, &mut table);
        self.groups = Some(Groups {
            asked,
            table,
            of_frame,
        });
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
        let matches = document.matches(device, about.filter);
        let options = TreeOptions {
            selection: about.selection,
            weight: about.weight,
            only: None,
            matches: matches.as_deref(),
        };
        let (snapshot, words) = (&document.snapshot, document.words());
        let sums = StackSums::of(snapshot, device.history, &words.call_sites, &options);
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
            let group = |label: &str| table.find(label).unwrap_or(GroupId::OTHER);
            let tree = match kind {
                TreeKind::TopDown => CallTree::top_down(&self.paths),
                TreeKind::BottomUp => CallTree::bottom_up(&self.paths),
                TreeKind::Callers(label) => CallTree::callers(&self.paths, group(label)),
                TreeKind::Callees(label) => CallTree::callees(&self.paths, group(label)),
            };
            let keys = NodeKeys::of(&tree, table);
            if self.trees.len() == KEPT_TREES {
                self.trees.remove(0);
            }
            self.trees
                .push((kind.clone(), Rc::new(Tree { tree, keys })));
        }
        // Either way it is the last.
        self.trees[self.trees.len() - 1].1.clone()
    }

    fn functions(
        &mut self,
        table: &GroupTable,
        theme: &Theme,
        order: FunctionOrder,
        (first, count): (u32, u32),
    ) -> Told {
        let all = self.functions.get_or_insert_with(|| functions(&self.paths));
        all.sort_by_key(|row| {
            let (by, then) = match order {
                FunctionOrder::Total => (row.total, row.own),
                FunctionOrder::Own => (row.own, row.total),
            };
            (std::cmp::Reverse((by.weight, then.weight)), row.group)
        });
        let told = window(all, first, count).iter().map(|row| {
            let group = table.get(row.group);
            FunctionRow {
                label: group.label.clone(),
                fill: group_colour(theme, row.group, group),
                is_code: row.group.is_code(),
                total: row.total,
                own: row.own,
            }
        });
        Told::Functions {
            first,
            told: told.collect(),
            rows: all.len() as u32,
        }
    }
}

impl Tree {
    fn picture(&self, table: &GroupTable, theme: &Theme, focus: NodeKey, width_px: f64) -> Told {
        let Self { tree, keys } = self;
        let focus = keys.node(focus).unwrap_or(0);
        let mut trail = Vec::new();
        let mut node = focus;
        loop {
            let label = table.get(tree.group[node as usize]).label.clone();
            trail.push(TrailStep {
                key: keys.key(node),
                label,
                is_code: tree.group[node as usize].is_code(),
            });
            if node == 0 {
                break;
            }
            node = tree.parent[node as usize];
        }
        trail.reverse();
        Told::Picture {
            scene: FlameScene::new(tree, keys, table, theme, focus, width_px),
            trail,
            focus: tree.total[focus as usize],
        }
    }

    fn rows(
        &self,
        table: &GroupTable,
        theme: &Theme,
        open: Option<&[NodeKey]>,
        (first, count): (u32, u32),
    ) -> Told {
        let Self { tree, keys } = self;
        let open: HashSet<u32> = match open {
            Some(open) => open.iter().filter_map(|&key| keys.node(key)).collect(),
            None => heavy_path(tree).into_iter().collect(),
        };
        let rows = open_rows(tree, |node| open.contains(&node));
        let told = window(&rows, first, count).iter().map(|&node| {
            let at = node as usize;
            let group = table.get(tree.group[at]);
            TreeRow {
                key: keys.key(node),
                label: group.label.clone(),
                fill: group_colour(theme, tree.group[at], group),
                is_code: tree.group[at].is_code(),
                depth: tree.depth[at],
                total: tree.total[at],
                own: tree.own[at],
                has_children: tree.end[at] > node + 1,
                is_open: open.contains(&node),
            }
        });
        let mut opened: Vec<u32> = open.iter().copied().collect();
        opened.sort_unstable();
        Told::Rows {
            rows: rows.len() as u32,
            first,
            told: told.collect(),
            open: opened.into_iter().map(|node| keys.key(node)).collect(),
        }
    }
}

fn window<T>(rows: &[T], first: u32, count: u32) -> &[T] {
    let start = (first as usize).min(rows.len());
    let end = start + (count.min(MOST_ROWS) as usize).min(rows.len() - start);
    &rows[start..end]
}
