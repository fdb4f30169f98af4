//! Stacks as paths of groups, with the sums of each.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::places::Places;
use super::stack_sums::{PathKey, StackSums};
use super::{MAX_DEPTH, Sums};
use crate::Snapshot;
use crate::analysis::code::frame_groups::{FrameGroups, GroupId};
use crate::ids::{AllocationId, StackId};

type KeyOf = fn(StackId) -> PathKey;

/// The paths of a selection, outermost group first. No path is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Paths {
    groups: Vec<GroupId>,
    /// The end of path `i` in `groups`.
    ends: Vec<usize>,
    sums: Vec<Sums>,
    /// By place of the memory and stack, the number of the path.
    number_of: HashMap<(u32, PathKey), u32, RandomState>,
    places: Places,
    total: Sums,
    cut: u64,
}

impl Paths {
    /// The paths of all stacks of `sums`. Stacks that grouping makes equal stay separate paths.
    #[must_use]
    pub fn of(snapshot: &Snapshot, groups: &FrameGroups, sums: &StackSums) -> Self {
        let mut paths = Self::default();
        paths.add(snapshot, groups, (0, &[]), sums);
        paths
    }

    /// The paths of all stacks of each place, below the groups of that place.
    #[must_use]
    pub fn by_place(
        snapshot: &Snapshot,
        groups: &FrameGroups,
        places: &Places,
        sums: &[(u32, StackSums)],
    ) -> Self {
        let mut paths = Self {
            places: places.clone(),
            ..Self::default()
        };
        for (place, sums) in sums {
            paths.add(snapshot, groups, (*place, places.path(*place)), sums);
        }
        paths
    }

    /// Adds the paths of all stacks of `sums`, each below the groups of its place.
    fn add(
        &mut self,
        snapshot: &Snapshot,
        groups: &FrameGroups,
        (place, above): (u32, &[GroupId]),
        sums: &StackSums,
    ) {
        self.total.add(sums.total);
        let lists = [
            (&sums.allocated, None, PathKey::Allocated as KeyOf),
            (
                &sums.freed,
                Some(GroupId::FREED_AT),
                PathKey::Freed as KeyOf,
            ),
        ];
        for (list, about, key) in lists {
            for &(stack, sums) in list {
                let start = self.groups.len();
                self.groups.extend(above);
                self.groups.extend(about);
                let frames = self.groups.len();
                match about {
                    None => groups.push_path(snapshot, stack, &mut self.groups),
                    Some(_) => groups.push_frames(snapshot, stack, &mut self.groups),
                }
                if self.groups.len() == frames {
                    self.groups.push(GroupId::ALL_FOLDED);
                }
                if self.groups.len() - start > MAX_DEPTH {
                    self.groups.truncate(start + MAX_DEPTH);
                    self.cut += 1;
                }
                self.end_path((place, key(stack)), sums);
            }
        }
        if sums.no_stack.count > 0 {
            self.groups.extend(above);
            self.groups.push(GroupId::NO_STACK);
            self.end_path((place, PathKey::NoStack), sums.no_stack);
        }
    }

    fn end_path(&mut self, key: (u32, PathKey), sums: Sums) {
        self.number_of.insert(key, self.ends.len() as u32);
        self.ends.push(self.groups.len());
        self.sums.push(sums);
    }

    /// All paths.
    pub fn iter(&self) -> impl Iterator<Item = (&[GroupId], Sums)> {
        let starts = std::iter::once(&0).chain(&self.ends);
        let spans = starts.zip(&self.ends);
        spans
            .zip(&self.sums)
            .map(|((&start, &end), &sums)| (&self.groups[start..end], sums))
    }

    /// The number of the path that counts an allocation whose stack has this key; `None` if nothing selected has it.
    #[must_use]
    pub fn number(&self, id: AllocationId, key: PathKey) -> Option<usize> {
        let number = self.number_of.get(&(self.places.of(id), key));
        number.map(|&number| number as usize)
    }

    /// See [`CallTree::first_place`](super::CallTree::first_place).
    pub(super) fn first_place(&self) -> Option<GroupId> {
        self.places.first()
    }

    /// The frames of all paths, and the group's first index among them; `None` for paths without the group. Stacks of
    /// frees are left out, because they do not show who allocates.
    pub fn through(
        &self,
        group: GroupId,
    ) -> impl Iterator<Item = Option<(&[GroupId], usize, Sums)>> {
        self.iter().map(move |(path, sums)| {
            let frames = allocating(path);
            let place = frames.iter().position(|&of| of == group)?;
            Some((frames, place, sums))
        })
    }

    /// The sums of all paths.
    #[must_use]
    pub fn total(&self) -> Sums {
        self.total
    }

    /// Number of paths.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no paths.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Number of paths deeper than the limit. Their innermost frames are left out.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.cut
    }
}

/// The part of a path that names the allocating code: the whole path, or the constant that stands in for it.
pub(super) fn allocating(path: &[GroupId]) -> &[GroupId] {
    if path.first() == Some(&GroupId::FREED_AT) {
        &path[..1]
    } else {
        path
    }
}
