//! Groups that say where memory is, above the stacks of its allocations.

use std::sync::Arc;

use crate::analysis::code::frame_groups::{GroupId, GroupTable};
use crate::analysis::code::frames::FrameClass;
use crate::ids::AllocationId;

/// The place of each allocation, and the groups of each place. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Places {
    all: Option<Arc<All>>,
}

#[derive(PartialEq, Eq, Debug)]
struct All {
    /// Per allocation, the number of its place.
    of: Vec<u32>,
    /// The groups of all places, outermost first.
    groups: Vec<GroupId>,
    /// The end of each place in `groups`.
    ends: Vec<usize>,
    first: GroupId,
}

impl Places {
    /// Places, numbered in the order of `labels`: the names of the levels of each place, which are added to `table`
    /// after all code. `of`: the place of each allocation.
    pub fn new<const LEVELS: usize>(
        of: Vec<u32>,
        labels: impl Iterator<Item = [Option<String>; LEVELS]>,
        table: &mut GroupTable,
    ) -> Self {
        let first = GroupId(table.groups().len() as u32);
        let (mut groups, mut ends) = (Vec::new(), Vec::new());
        for levels in labels {
            let levels = levels.into_iter().flatten();
            groups.extend(levels.map(|label| table.intern(label, FrameClass::Runtime)));
            ends.push(groups.len());
        }
        let all = All {
            of,
            groups,
            ends,
            first,
        };
        Self {
            all: Some(Arc::new(all)),
        }
    }

    /// The place of an allocation; 0 if none is known.
    #[must_use]
    pub fn of(&self, id: AllocationId) -> u32 {
        let place = self.all.as_ref().and_then(|all| all.of.get(id.index()));
        place.copied().unwrap_or(0)
    }

    /// The groups of a place, outermost first; empty for an unknown place.
    #[must_use]
    pub fn path(&self, place: u32) -> &[GroupId] {
        let Some(all) = &self.all else { return &[] };
        let at = place as usize;
        let Some(&end) = all.ends.get(at) else {
            return &[];
        };
        let start = at.checked_sub(1).map_or(0, |before| all.ends[before]);
        &all.groups[start..end]
    }

    /// The first group that is a place; `None` if there are none.
    pub(super) fn first(&self) -> Option<GroupId> {
        self.all.as_ref().map(|all| all.first)
    }
}
