//! Call trees of a file, kept from one question to the next, which mostly needs the same: moving the cursor makes new
//! sums and trees; focusing, scrolling and colouring make none.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use vramscope_core::analysis::code::call_tree::{
    CallTree, Chains, FunctionTotal, PathKey, Paths, StackSums, TreeOptions, functions,
};
use vramscope_core::analysis::code::frame_groups::{
    Fold, FoldPatterns, FrameGrouping, FrameGroups, GroupId, GroupOptions, GroupTable,
};
use vramscope_core::analysis::groups::memory_places::MemoryPlaces;
use vramscope_core::analysis::search::filter::Filter;
use vramscope_core::bitset::BitSet;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::flame::{About, BoxOf, Question, TreeKind};
use vramscope_protocol::{ColourBy, Look, ThemeName};
use vramscope_view::flame::{GroupColours, Mixes, NodeKeys};
use vramscope_view::theme::Theme;

use super::colours::Colours;
use super::document::{Device, Document};

/// The most trees kept: two of a sandwich, one of the table, one of the picture.
const KEPT_TREES: usize = 4;

/// The trees of the last question.
#[derive(Default)]
pub(super) struct FlameTrees {
    names: Option<FrameNames>,
    paths: Option<SelectedPaths>,
    /// The allocations of the last box that was asked for.
    lit: Option<(BoxOf, Rc<BitSet>)>,
}

/// The groups of frames, by which trees are built.
pub(super) struct FrameNames {
    asked: (FrameGrouping, Fold, String),
    /// The places of a device's memory, which are groups too; `None` if they were not asked for.
    places: Option<(DeviceIndex, MemoryPlaces)>,
    pub(super) table: GroupTable,
    pub(super) of_frame: FrameGroups,
    colours: RefCell<Option<(ThemeName, Rc<GroupColours>)>>,
}

/// The call paths of the selected allocations, with the trees and lists made of them.
pub(super) struct SelectedPaths {
    about: About,
    pub(super) paths: Paths,
    trees: Vec<(TreeKind, Rc<Tree>)>,
    functions: Option<Vec<FunctionTotal>>,
}

/// What colours stand for, and the theme.
type Colouring = (ColourBy, ThemeName);

pub(super) struct Tree {
    pub(super) tree: CallTree,
    pub(super) keys: NodeKeys,
    pub(super) callers_below: bool,
    mixes: RefCell<Option<(Colouring, Rc<Mixes>)>>,
}

impl FlameTrees {
    /// The names and the paths of what a question is about.
    pub(super) fn prepare(
        &mut self,
        document: &Document,
        device: Device<'_>,
        about: &About,
    ) -> Option<(&FrameNames, &mut SelectedPaths)> {
        let asked = (about.grouping, about.fold, about.patterns.clone());
        let is_known = |names: &FrameNames| names.asked == asked && names.is_of_places(about);
        let names = self.names.take().filter(is_known);
        if names.is_none() {
            // Ids of groups belong to one table, so everything made with the old table goes.
            self.paths = None;
        }
        let names = names.unwrap_or_else(|| {
            let names = FrameNames::new(document, asked);
            if about.by_place {
                names.with_places(device)
            } else {
                names
            }
        });
        let paths = self.paths.take().filter(|paths| paths.about == *about);
        let paths = paths.unwrap_or_else(|| SelectedPaths::new(document, device, about, &names));
        let names = &*self.names.insert(names);
        Some((names, self.paths.insert(paths)))
    }

    /// The allocations that a box counts, of those it is about; none if the tree has no such box.
    pub(super) fn lit(
        &mut self,
        document: &Document,
        device: Device<'_>,
        of: &BoxOf,
    ) -> Option<Rc<BitSet>> {
        if let Some((_, set)) = self.lit.as_ref().filter(|(known, _)| known == of) {
            return Some(set.clone());
        }
        let (names, selected) = self.prepare(document, device, &of.about)?;
        let tree = selected.tree(&of.tree, &names.table);
        let set = Rc::new(tree.allocations(device, selected, of));
        self.lit = Some((of.clone(), set.clone()));
        Some(set)
    }
}

impl FrameNames {
    fn new(document: &Document, asked: (FrameGrouping, Fold, String)) -> Self {
        let (grouping, fold, patterns) = &asked;
        let mut table = GroupTable::default();
        let options = GroupOptions {
            grouping: *grouping,
            fold: *fold,
            patterns: FoldPatterns::parse(patterns).unwrap_or_default(),
        };
        let classes = document.classes();
        let of_frame = FrameGroups::of(&document.snapshot, classes, &options, &mut table)
            .with_operators(document.operators(), &mut table);
        Self {
            asked,
            places: None,
            table,
            of_frame,
            colours: RefCell::default(),
        }
    }

    /// Adds the places of a device's memory.
    fn with_places(mut self, device: Device<'_>) -> Self {
        let places = MemoryPlaces::of(*device, &mut self.table);
        self.places = Some((device.index(), places));
        self
    }

    /// Whether these are the places that are asked for.
    fn is_of_places(&self, about: &About) -> bool {
        let known = self.places.as_ref().map(|(device, _)| *device);
        known == about.by_place.then_some(about.device)
    }

    /// The filter that finds the allocations of a memory pool, by its group.
    pub(super) fn pool(&self, group: GroupId) -> Option<&Filter> {
        self.places.as_ref()?.1.pools.get(&group)
    }

    pub(super) fn grouping(&self) -> FrameGrouping {
        self.asked.0
    }

    /// The colours of code.
    pub(super) fn colours(&self, document: &Document, theme: ThemeName) -> Rc<GroupColours> {
        let mut kept = self.colours.borrow_mut();
        if let Some((_, known)) = kept.as_ref().filter(|(known, _)| *known == theme) {
            return known.clone();
        }
        let sites = document.call_sites().sites();
        let sites: HashSet<&str> = sites.iter().map(|site| site.label.as_str()).collect();
        let is_call_site = |label: &str| sites.contains(label);
        let leaders = document.leaders();
        let colours = GroupColours::of(&self.table, &Theme::of(theme), leaders, is_call_site);
        let colours = Rc::new(colours);
        *kept = Some((theme, colours.clone()));
        colours
    }
}

impl SelectedPaths {
    fn new(document: &Document, device: Device<'_>, about: &About, names: &FrameNames) -> Self {
        let matches = document.matches(device, about.filter.as_ref());
        let options = TreeOptions {
            matches: matches.as_deref(),
            ..options(about)
        };
        let snapshot = &document.snapshot;
        let (history, sites, groups) = (device.history, document.call_sites(), &names.of_frame);
        let paths = match &names.places {
            None => {
                let sums = StackSums::of(snapshot, history, sites, &options);
                Paths::of(snapshot, groups, &sums)
            }
            Some((_, MemoryPlaces { places, .. })) => {
                let sums = StackSums::by_place(snapshot, history, sites, &options, places);
                Paths::by_place(snapshot, groups, places, &sums)
            }
        };
        Self {
            about: about.clone(),
            paths,
            trees: Vec::new(),
            functions: None,
        }
    }

    pub(super) fn tree(&mut self, kind: &TreeKind, table: &GroupTable) -> Rc<Tree> {
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
                mixes: RefCell::default(),
            };
            self.trees.push((kind.clone(), Rc::new(made)));
        }
        // Both branches have put it last, as the most recently used.
        self.trees[self.trees.len() - 1].1.clone()
    }

    /// All functions, in the order of the last question.
    pub(super) fn functions(&mut self) -> &mut Vec<FunctionTotal> {
        let paths = &self.paths;
        self.functions.get_or_insert_with(|| functions(paths))
    }

    /// The groups that the boxes of a tree take their colours from; `None` where colours stand for code.
    pub(super) fn mixes(
        &self,
        tree: &Tree,
        device: Device<'_>,
        question: &Question,
        colours: &mut Colours,
    ) -> Option<Rc<Mixes>> {
        let (colour_by, theme) = (question.colour_by, question.theme);
        if colour_by == ColourBy::CallSite {
            return None;
        }
        let mut kept = tree.mixes.borrow_mut();
        if let Some((_, known)) = kept.as_ref().filter(|(of, _)| *of == (colour_by, theme)) {
            return Some(known.clone());
        }
        let look = Look {
            device: device.index(),
            colour_by,
            theme,
            ..Look::default()
        };
        let groups = colours.of(device, &look);
        let of = (&tree.tree, &self.paths);
        let mixes = Rc::new(Mixes::of(of, *device, &options(&self.about), groups));
        *kept = Some(((colour_by, theme), mixes.clone()));
        Some(mixes)
    }
}

impl Tree {
    /// The node that counts an allocation as its own.
    pub(super) fn leaf(&self, device: Device<'_>, paths: &Paths, id: AllocationId) -> Option<u32> {
        let (snapshot, sites) = (device.snapshot(), device.call_sites());
        let key = device
            .has(id)
            .then(|| PathKey::of(snapshot, device.history, sites, id))?;
        self.tree.leaf(paths.number(id, key)?)
    }

    fn allocations(&self, device: Device<'_>, selected: &SelectedPaths, of: &BoxOf) -> BitSet {
        let mut set = BitSet::new(device.history.allocations.len());
        let Some(node) = self.keys.node(of.key) else {
            return set;
        };
        let focus = self.keys.node(of.focus).unwrap_or(0);
        let chains = Chains::of(&self.tree, self.callers_below, &[focus]);
        let first = chains.of_node[node as usize];
        let below = first..chains.tree.end[first as usize];
        for id in of.about.selection.allocations(device.history) {
            let leaf = self.leaf(device, &selected.paths, id);
            if leaf.is_some_and(|leaf| below.contains(&chains.of_node[leaf as usize])) {
                set.insert(id.index());
            }
        }
        set
    }
}

/// The allocations that trees are of, without the search.
fn options(about: &About) -> TreeOptions<'static> {
    TreeOptions {
        selection: about.selection,
        weight: about.weight,
        only: None,
        matches: None,
    }
}
