//! What a filter looks up for each allocation, found out once per device.

use std::cell::OnceCell;

use super::moments::oom_moments;
use crate::Snapshot;
use crate::analysis::history::History;
use crate::analysis::places;
use crate::ids::{AllocationId, ContextId, StackId, StringId};
use crate::model::{Action, PoolId};

/// No context: known from the final state alone.
pub(super) const NO_CONTEXT: u32 = u32::MAX;

/// Columns over one device's allocations: 8 bytes each, more once streams or pools are asked for.
#[derive(Debug)]
pub struct FilterIndex {
    /// Its stack, wherever recorded.
    pub(super) stack: Vec<StackId>,
    /// Row of its event's context, or [`NO_CONTEXT`].
    pub(super) context: Vec<u32>,
    /// Texts attached by `annotate` events: (allocation, text).
    pub(super) notes: Vec<(u32, StringId)>,
    /// The moments of failed allocations.
    pub(super) ooms: Vec<u32>,
    streams: OnceCell<Vec<Option<i64>>>,
    pools: OnceCell<Vec<Option<PoolId>>>,
}

impl FilterIndex {
    /// Looks at every allocation and event of a device once.
    #[must_use]
    pub fn of(snapshot: &Snapshot, history: &History) -> Self {
        let rows = 0..history.allocations.len();
        let ids = rows.map(AllocationId::from_index);
        let events = (history.first_event..).zip(&history.allocation_of_event);
        let notes = events
            .filter(|(event, _)| {
                snapshot.events.action.get(*event as usize) == Some(&Action::Annotate)
            })
            .filter_map(|(event, &allocation)| {
                let context = snapshot
                    .contexts
                    .get(snapshot.events.context[event as usize]);
                let known = (allocation as usize) < history.allocations.len();
                Some((allocation, context.user_metadata?)).filter(|_| known)
            });
        Self {
            stack: ids
                .clone()
                .map(|id| history.stack(snapshot, id).0)
                .collect(),
            context: ids
                .map(|id| {
                    places::context_id_of(snapshot, history, id)
                        .map_or(NO_CONTEXT, |context| context.0)
                })
                .collect(),
            notes: notes.collect(),
            ooms: oom_moments(snapshot, history),
            streams: OnceCell::new(),
            pools: OnceCell::new(),
        }
    }

    /// The context of an allocation's event; `None` for what the final state alone tells.
    pub(crate) fn context(&self, row: usize) -> Option<ContextId> {
        let context = self.context.get(row).copied();
        context.filter(|&row| row != NO_CONTEXT).map(ContextId)
    }

    /// The stream of each allocation.
    pub(crate) fn streams(&self, snapshot: &Snapshot, history: &History) -> &[Option<i64>] {
        self.streams.get_or_init(|| {
            let of_context = |context: &crate::model::Context| Some(context.stream);
            places::column(snapshot, history, of_context, |segment| segment.stream)
        })
    }

    /// The pool of each allocation.
    pub(crate) fn pools(&self, snapshot: &Snapshot, history: &History) -> &[Option<PoolId>] {
        self.pools.get_or_init(|| {
            places::column(
                snapshot,
                history,
                |context| context.pool,
                |segment| segment.pool,
            )
        })
    }
}
