//! Stacks as paths of groups, with the sums of each.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::stack_sums::{PathKey, StackSums};
use super::{MAX_DEPTH, Sums};
use crate::Snapshot;
use crate::analysis::code::frame_groups::{FrameGroups, GroupId};
use crate::ids::StackId;

/// The paths of a selection, outermost group first. No path is empty.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Paths {
    groups: Vec<GroupId>,
    /// The end of path `i` in `groups`.
    ends: Vec<usize>,
    sums: Vec<Sums>,
    place_of: HashMap<PathKey, u32, RandomState>,
    total: Sums,
    cut: u64,
}

impl Paths {
    /// The paths of all stacks of `sums`. Stacks that become equal by grouping stay separate paths.
    #[must_use]
    pub fn of(snapshot: &Snapshot, groups: &FrameGroups, sums: &StackSums) -> Self {
        let mut paths = Self {
            total: sums.total,
            ..Self::default()
        };
        let lists: [(_, _, fn(StackId) -> PathKey); 2] = [
            (&sums.allocated, None, PathKey::Allocated),
            (&sums.freed, Some(GroupId::FREED_AT), PathKey::Freed),
        ];
        for (list, about, key) in lists {
            for &(stack, sums) in list {
                let start = paths.groups.len();
                paths.groups.extend(about);
                let frames = paths.groups.len();
                match about {
                    None => groups.push_path(snapshot, stack, &mut paths.groups),
                    Some(_) => groups.push_frames(snapshot, stack, &mut paths.groups),
                }
                if paths.groups.len() == frames {
                    paths.groups.push(GroupId::ALL_FOLDED);
                }
                if paths.groups.len() - start > MAX_DEPTH {
                    paths.groups.truncate(start + MAX_DEPTH);
                    paths.cut += 1;
                }
                paths.end_path(key(stack), sums);
            }
        }
        if sums.no_stack.count > 0 {
            paths.groups.push(GroupId::NO_STACK);
            paths.end_path(PathKey::NoStack, sums.no_stack);
        }
        paths
    }

    fn end_path(&mut self, key: PathKey, sums: Sums) {
        self.place_of.insert(key, self.ends.len() as u32);
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

    /// The number of an allocation's path; `None` if nothing selected has it.
    #[must_use]
    pub fn place(&self, key: PathKey) -> Option<usize> {
        self.place_of.get(&key).map(|&place| place as usize)
    }

    /// The frames of all paths, and the group's first index among them; `None` for paths that do not go through it.
    /// Stacks of frees are left out, because they do not tell who allocates.
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

/// The part of a path that names the allocating code: the whole path, or the constant in its place.
pub(super) fn allocating(path: &[GroupId]) -> &[GroupId] {
    if path.first() == Some(&GroupId::FREED_AT) {
        &path[..1]
    } else {
        path
    }
}
