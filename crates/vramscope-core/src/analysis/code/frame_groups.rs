//! Groups frames by line, function, file, module or package.
//!
//! Flame graphs, call trees and comparisons by code work on stacks of *groups*. A group is a name. Frames with the same
//! name are one group, even across files: two snapshots grouped into one [`GroupTable`] can be compared row by row.
//! Folded frames belong to no group and are dropped from their stacks.
//!
//! `names` makes the names, and `patterns` holds the user's patterns.

pub(in crate::analysis) mod names;
mod patterns;

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::call_sites::NO_STACK;
use super::frames::{FrameClass, FrameClasses, Location, is_python_source};
use super::operators::{OperatorId, Operators};
use crate::Snapshot;
use crate::ids::{FrameId, StackId};
use crate::model::RowIndex;
pub use patterns::{FoldPatterns, PatternError};

/// The property by which frames are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameGrouping {
    /// The same line of a function: `models/llama.py:123 forward`, as call sites are named.
    #[default]
    Line,
    /// The same function: `models/llama.py forward`.
    Function,
    /// The same file: `models/llama.py`.
    File,
    /// The same Python module or C++ namespace: `torch.nn.modules.linear`, `at::native`.
    Module,
    /// The same package: `torch`, `Python standard library`, the folder of the user's own code.
    Package,
}

/// The frames that are shown.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// All frames.
    Nothing,
    /// All but the runtime: interpreter, dispatcher, allocator.
    Runtime,
    /// The user's own code, and below it the operator that allocated. A stack without the user's code shows
    /// libraries' Python code instead.
    #[default]
    Library,
}

impl Fold {
    /// All choices, those that show least first, each with a description for the user.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::Library, "your code and operators"),
        (Self::Runtime, "all but the runtime"),
        (Self::Nothing, "all frames"),
    ];

    /// Whether frames of this class are hidden on every stack.
    fn hides(self, class: FrameClass) -> bool {
        self != Self::Nothing && class == FrameClass::Runtime
    }
}

/// Options for grouping frames.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GroupOptions {
    /// The property to group by.
    pub grouping: FrameGrouping,
    /// The frames to show.
    pub fold: Fold,
    /// Patterns of frames to leave out.
    pub patterns: FoldPatterns,
}

/// A row of a [`GroupTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(pub u32);

impl GroupId {
    /// Everything: the root of a tree.
    pub const ALL: Self = Self(0);
    /// Allocations without a stack.
    pub const NO_STACK: Self = Self(1);
    /// Stacks whose frames are all folded.
    pub const ALL_FOLDED: Self = Self(2);
    /// Memory older than the recording, if only the stack of its free is known. The frames of that stack are below.
    pub const FREED_AT: Self = Self(3);
    /// Frames beyond the size limit of a table. Only hostile files have so many names.
    pub const OTHER: Self = Self(4);

    /// Whether this is code and not one of the constants above.
    #[must_use]
    pub fn is_code(self) -> bool {
        self.index() >= SPECIAL.len()
    }

    /// The row number, for indexing a column.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The labels of the constants of [`GroupId`].
const SPECIAL: [&str; 5] = [
    "all",
    NO_STACK,
    "only folded frames",
    "allocated before the recording, freed at",
    "other frames",
];

/// Most bytes of names in a table. Further names become [`GroupId::OTHER`]. Genuine files have some
/// hundred KiB.
const NAMES_LIMIT_BYTES: usize = 48 << 20;

/// One group.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Group {
    /// Its name, whose hash gives a stable colour. With [`FrameGrouping::Line`] it is the label of the call site.
    pub label: String,
    /// The class of its code. If frames differ, the user's code wins over a library's, and a library's over the
    /// runtime.
    pub class: FrameClass,
}

/// The groups of one or more snapshots, each name once.
#[derive(Clone)]
pub struct GroupTable {
    groups: Vec<Group>,
    index: RowIndex,
    names_bytes: usize,
}

impl Default for GroupTable {
    fn default() -> Self {
        let mut table = Self {
            groups: Vec::new(),
            index: RowIndex::default(),
            names_bytes: 0,
        };
        // The constants are not in the index, because a function named `all` is not the root.
        table.groups = SPECIAL
            .iter()
            .map(|&label| Group {
                label: label.to_owned(),
                class: FrameClass::Runtime,
            })
            .collect();
        table
    }
}

impl GroupTable {
    /// All groups, the constants of [`GroupId`] first.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The group of `id`; for an id of another table, the group of [`GroupId::OTHER`].
    #[must_use]
    pub fn get(&self, id: GroupId) -> &Group {
        self.groups
            .get(id.index())
            .unwrap_or(&self.groups[GroupId::OTHER.index()])
    }

    /// The group of this name.
    #[must_use]
    pub fn find(&self, label: &str) -> Option<GroupId> {
        let hash = self.index.hash(label);
        let is_it = |row: u32| self.groups[row as usize].label == label;
        self.index.find(hash, is_it).map(GroupId)
    }

    /// The group of this name, added if it is new.
    pub(in crate::analysis) fn intern(&mut self, label: String, class: FrameClass) -> GroupId {
        let hash = self.index.hash(label.as_str());
        let is_it = |row: u32| self.groups[row as usize].label == label;
        if let Some(row) = self.index.find(hash, is_it) {
            let group = &mut self.groups[row as usize];
            group.class = group.class.max(class);
            return GroupId(row);
        }
        if self.names_bytes + label.len() > NAMES_LIMIT_BYTES {
            return GroupId::OTHER;
        }
        self.names_bytes += label.len();
        let row = self.groups.len() as u32;
        self.groups.push(Group { label, class });
        self.index.insert(hash, row);
        GroupId(row)
    }
}

/// How near a frame is to the user's code. [`Fold::Library`] shows the nearest frames of each stack.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Nearness {
    User,
    Python,
    Native,
}

impl Nearness {
    fn of(class: FrameClass, location: &Location<'_>) -> Self {
        match class {
            FrameClass::User => Self::User,
            _ if is_python_source(location.file) => Self::Python,
            _ => Self::Native,
        }
    }
}

/// The group of every frame of a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameGroups {
    /// `None` = folded.
    of_frame: Vec<Option<GroupId>>,
    /// For [`Fold::Library`], by frame; else empty.
    nearness: Vec<Nearness>,
    /// For [`Fold::Library`], the group of each stack's operator; else empty.
    of_stack: Vec<Option<GroupId>>,
    /// For [`Fold::Library`], the operators that are groups; else empty.
    operators: HashMap<GroupId, OperatorId>,
    /// By group, its first frame in the file; `None` if it has none there.
    first_frame: Vec<Option<FrameId>>,
}

impl FrameGroups {
    /// Groups all frames; names go into `table`.
    #[must_use]
    pub fn of(
        snapshot: &Snapshot,
        classes: &FrameClasses,
        options: &GroupOptions,
        table: &mut GroupTable,
    ) -> Self {
        let mut matches = patterns::Matches::new(snapshot, &options.patterns);
        let mut nearness = Vec::new();
        let ids = (0..snapshot.frames.len()).map(FrameId::from_index);
        let of_frame: Vec<Option<GroupId>> = ids
            .map(|id| {
                let (class, frame) = (classes.get(id), snapshot.frames.get(id));
                let location = Location::of(snapshot, frame);
                if options.fold == Fold::Library {
                    nearness.push(Nearness::of(class, &location));
                }
                if options.fold.hides(class) || matches.hides(frame) {
                    return None;
                }
                Some(table.intern(names::name(options.grouping, &location, class), class))
            })
            .collect();
        let mut first_frame = vec![None; table.groups.len()];
        for (row, group) in of_frame.iter().enumerate().rev() {
            if let Some(group) = group {
                first_frame[group.index()] = Some(FrameId::from_index(row));
            }
        }
        Self {
            of_frame,
            first_frame,
            nearness,
            ..Self::default()
        }
    }

    /// Adds the operators, if they are shown. Their names go into `table`.
    #[must_use]
    pub fn with_operators(mut self, operators: &Operators, table: &mut GroupTable) -> Self {
        if self.nearness.is_empty() {
            return self;
        }
        let mut group_of = vec![None];
        for (row, label) in operators.labels().iter().enumerate().skip(1) {
            let group = table.intern(label.clone(), FrameClass::Library);
            group_of.push(Some(group));
            self.operators.insert(group, OperatorId(row as u32));
        }
        self.first_frame.resize(table.groups.len(), None);
        let of_stack = operators.of_stacks().iter();
        self.of_stack = of_stack
            .map(|operator| group_of[operator.index()])
            .collect();
        self
    }

    /// The operator that a group stands for; `None` for a group of frames.
    #[must_use]
    pub fn operator(&self, group: GroupId) -> Option<OperatorId> {
        self.operators.get(&group).copied()
    }

    /// The group of a frame; `None` if the frame is folded or of another snapshot.
    #[must_use]
    pub fn get(&self, frame: FrameId) -> Option<GroupId> {
        self.of_frame.get(frame.index()).copied().flatten()
    }

    /// The first frame of a group in the file.
    #[must_use]
    pub fn frame_of(&self, group: GroupId) -> Option<FrameId> {
        self.first_frame.get(group.index()).copied().flatten()
    }

    /// Appends the groups of a stack to `path`, outermost first. Folded frames are left out, and equal neighbours
    /// (recursion, or frames of one file) occur once.
    pub fn push_frames(&self, snapshot: &Snapshot, stack: StackId, path: &mut Vec<GroupId>) {
        let start = path.len();
        let shown = self.nearest(snapshot, stack);
        for frame in snapshot.stacks.frames(stack).rev() {
            let is_near = self
                .nearness
                .get(frame.index())
                .is_none_or(|&near| Some(near) == shown);
            if let Some(group) = self.get(frame).filter(|_| is_near)
                && path[start..].last() != Some(&group)
            {
                path.push(group);
            }
        }
    }

    /// Appends the groups of an allocation's stack, and its operator if operators are shown.
    pub fn push_path(&self, snapshot: &Snapshot, stack: StackId, path: &mut Vec<GroupId>) {
        self.push_frames(snapshot, stack, path);
        path.extend(self.of_stack.get(stack.index()).copied().flatten());
    }

    /// The kind of frames that [`Fold::Library`] shows of a stack.
    fn nearest(&self, snapshot: &Snapshot, stack: StackId) -> Option<Nearness> {
        let frames = snapshot.stacks.frames(stack);
        let named = frames.filter(|&frame| self.get(frame).is_some());
        let near = named.filter_map(|frame| self.nearness.get(frame.index()).copied());
        let operator = self.of_stack.get(stack.index()).copied().flatten();
        // C++ code says no more than the operator.
        near.min()
            .filter(|&near| near != Nearness::Native || operator.is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"{"segments": [], "device_traces": [[
        {"action": "alloc", "addr": 1, "size": 8, "stream": 0, "frames": [
            {"name": "_PyEval_EvalFrameDefault", "filename": "ceval.c", "line": 1},
            {"name": "forward", "filename": "/v/site-packages/torch/nn/modules/linear.py", "line": 5},
            {"name": "forward", "filename": "/v/site-packages/torch/nn/modules/linear.py", "line": 6},
            {"name": "block", "filename": "/home/me/run/model.py", "line": 9},
            {"name": "block", "filename": "/home/me/run/model.py", "line": 9},
            {"name": "main", "filename": "/home/me/run/train.py", "line": 2}]}]]}"#;

    fn path(options: &GroupOptions) -> Vec<String> {
        let snapshot = crate::decode(FILE.as_bytes()).unwrap();
        let mut table = GroupTable::default();
        let classes = FrameClasses::of(&snapshot);
        let groups = FrameGroups::of(&snapshot, &classes, options, &mut table);
        let mut path = Vec::new();
        groups.push_path(&snapshot, snapshot.events.stack[0], &mut path);
        let label = |&id: &GroupId| table.get(id).label.clone();
        path.iter().map(label).collect()
    }

    #[test]
    fn a_stack_reads_from_the_outside_in_every_grouping() {
        for (grouping, expected) in [
            (
                FrameGrouping::Line,
                &[
                    "run/train.py:2 main",
                    "run/model.py:9 block",
                    "torch/nn/modules/linear.py:6 forward",
                    "torch/nn/modules/linear.py:5 forward",
                ][..],
            ),
            (
                FrameGrouping::Function,
                &[
                    "run/train.py main",
                    "run/model.py block",
                    "torch/nn/modules/linear.py forward",
                ],
            ),
            (
                FrameGrouping::File,
                &["run/train.py", "run/model.py", "torch/nn/modules/linear.py"],
            ),
            (
                FrameGrouping::Module,
                &["run.train", "run.model", "torch.nn.modules.linear"],
            ),
            (FrameGrouping::Package, &["run", "torch"]),
        ] {
            let options = GroupOptions {
                grouping,
                fold: Fold::Runtime,
                ..GroupOptions::default()
            };
            assert_eq!(path(&options), expected);
        }
    }

    #[test]
    fn folding_leaves_out_classes_and_patterns() {
        let grouping = FrameGrouping::Function;
        let with = |fold, patterns: &str| {
            path(&GroupOptions {
                grouping,
                fold,
                patterns: FoldPatterns::parse(patterns).unwrap(),
            })
        };
        assert_eq!(with(Fold::Nothing, "").len(), 4);
        assert_eq!(
            with(Fold::Library, ""),
            ["run/train.py main", "run/model.py block"]
        );
        assert_eq!(with(Fold::Runtime, "torch/*, MAIN"), ["run/model.py block"]);
        assert_eq!(
            with(Fold::Library, "/home/"),
            ["torch/nn/modules/linear.py forward"],
            "without the user's code that of libraries"
        );
        assert_eq!(with(Fold::Library, "/home/, torch/*"), [""; 0]);
    }

    #[test]
    fn two_snapshots_share_names() {
        let mut table = GroupTable::default();
        let snapshots = [0, 1].map(|_| crate::decode(FILE.as_bytes()).unwrap());
        let groups = snapshots.each_ref().map(|snapshot| {
            let classes = FrameClasses::of(snapshot);
            FrameGroups::of(snapshot, &classes, &GroupOptions::default(), &mut table)
        });
        assert_eq!(groups[0], groups[1]);
        let main = table.find("run/train.py:2 main").unwrap();
        assert!(main.is_code() && groups[0].frame_of(main).is_some());
        assert_eq!(table.get(main).class, FrameClass::User);
        assert_eq!(table.find("all"), None, "a name of ours, not of code");
    }
}
