//! The recorded events of all devices, in file order: 30 bytes a row.

use serde::{Deserialize, Serialize};

use crate::budget::{Budget, NoRoom};
use crate::ids::{ContextId, EventId, StackId, StringId};
use crate::model::{StringTable, Times};

/// What a trace entry reports, in the words of PyTorch's allocator (FORMAT.md 1.7.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// The allocator handed out a block. Size: the requested bytes.
    Alloc,
    /// The program freed a block. Size: the requested bytes.
    FreeRequested,
    /// The block can be used again, as no other stream waits for it any more.
    FreeCompleted,
    /// `cudaMalloc` returned a segment.
    SegmentAlloc,
    /// `cudaFree` gave a segment back.
    SegmentFree,
    /// Memory was mapped into an expandable segment.
    SegmentMap,
    /// Memory was unmapped from an expandable segment; it may be the middle of a mapped range.
    SegmentUnmap,
    /// A snapshot was taken. Size: the active bytes of the device.
    Snapshot,
    /// An allocation failed for good. Size: the rounded request; `addr` holds the device's free bytes.
    Oom,
    /// A text was attached to a live allocation.
    Annotate,
    /// An action this version does not know: row of [`EventTable::other_actions`].
    Other(u8),
}

impl Action {
    const KNOWN: [(Self, &'static str); 10] = [
        (Self::Alloc, "alloc"),
        (Self::FreeRequested, "free_requested"),
        (Self::FreeCompleted, "free_completed"),
        (Self::SegmentAlloc, "segment_alloc"),
        (Self::SegmentFree, "segment_free"),
        (Self::SegmentMap, "segment_map"),
        (Self::SegmentUnmap, "segment_unmap"),
        (Self::Snapshot, "snapshot"),
        (Self::Oom, "oom"),
        (Self::Annotate, "annotate"),
    ];

    /// The known actions with their names in the file.
    #[must_use]
    pub fn known() -> &'static [(Self, &'static str)] {
        &Self::KNOWN
    }

    /// Whether the event adds memory to a segment (true) or removes it; `None` for other events.
    #[must_use]
    pub fn maps(self) -> Option<bool> {
        match self {
            Self::SegmentAlloc | Self::SegmentMap => Some(true),
            Self::SegmentFree | Self::SegmentUnmap => Some(false),
            _ => None,
        }
    }

    /// Index of the action's name in [`EventTable::action_names`].
    pub(crate) fn number(self) -> usize {
        let known = Self::KNOWN.iter().position(|&(action, _)| action == self);
        known.unwrap_or_else(|| match self {
            Self::Other(row) => Self::KNOWN.len() + usize::from(row),
            _ => usize::MAX,
        })
    }

    /// The name in the file, unless the action is unknown.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        Self::KNOWN
            .iter()
            .find(|(action, _)| *action == self)
            .map(|&(_, name)| name)
    }
}

/// One event, gathered from its columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The action.
    pub action: Action,
    /// Start address; for [`Action::Oom`] the bytes that the device reported free, or `UNKNOWN_FREE`.
    pub addr: u64,
    /// Bytes; what they count depends on the action.
    pub size: u64,
    /// Microseconds since the Unix epoch, or [`NO_TIME`](super::NO_TIME).
    pub time_us: i64,
    /// Stream, pool and texts.
    pub context: ContextId,
    /// The stack that caused it.
    pub stack: StackId,
}

/// Stands for unknown free bytes of a device, or a figure that is impossible.
pub(crate) const UNKNOWN_FREE: u64 = 1 << 63;

impl Event {
    /// Bytes that the device reported free; `None` if unknown, and for all actions but [`Action::Oom`].
    #[must_use]
    pub fn device_free_bytes(&self) -> Option<u64> {
        (self.action == Action::Oom && self.addr != UNKNOWN_FREE).then_some(self.addr)
    }
}

/// Events as columns. All columns have the same length, except that `time_us` is empty while no
/// event has had a time.
#[derive(Clone, Default)]
pub struct EventTable {
    /// Actions.
    pub action: Vec<Action>,
    /// Start address, or the free bytes of an oom.
    pub addr: Vec<u64>,
    /// Size in bytes.
    pub size: Vec<u64>,
    /// Times of the events.
    pub time_us: Times,
    /// Stream, pool and texts.
    pub context: Vec<ContextId>,
    /// Stacks.
    pub stack: Vec<StackId>,
    /// Names of unknown actions ([`Action::Other`]). At most 255; further ones share the last.
    pub other_actions: Vec<StringId>,
    /// Rows that fit into all columns, as far as [`EventTable::make_room`] was called.
    pub(crate) room: usize,
}

impl EventTable {
    /// The names of all actions, by [`Action::number`].
    pub(crate) fn action_names<'s>(
        &self,
        strings: &'s StringTable,
    ) -> impl Iterator<Item = &'s str> {
        let others = self.other_actions.iter().map(|&name| strings.get(name));
        Action::KNOWN.iter().map(|&(_, name)| name).chain(others)
    }

    /// Number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.action.len()
    }

    /// Whether there are no events.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.action.is_empty()
    }

    /// One event.
    ///
    /// # Panics
    /// If `id` comes from another snapshot.
    #[must_use]
    pub fn get(&self, id: EventId) -> Event {
        let row = id.index();
        Event {
            action: self.action[row],
            addr: self.addr[row],
            size: self.size[row],
            time_us: self.time_us.at(row),
            context: self.context[row],
            stack: self.stack[row],
        }
    }

    pub(crate) fn push(&mut self, event: Event) {
        self.time_us.push(self.action.len(), event.time_us);
        self.action.push(event.action);
        self.addr.push(event.addr);
        self.size.push(event.size);
        self.context.push(event.context);
        self.stack.push(event.stack);
    }

    /// Whether `event` can be added without reserving memory.
    #[inline]
    pub(crate) fn has_room(&self, event: &Event) -> bool {
        self.len() < self.room && self.time_us.has_room(event.time_us)
    }

    #[cold]
    pub(crate) fn make_room(&mut self, event: &Event, budget: &mut Budget) -> Result<(), NoRoom> {
        budget.rows(&mut self.action, 1)?;
        budget.rows(&mut self.addr, 1)?;
        budget.rows(&mut self.size, 1)?;
        budget.rows(&mut self.context, 1)?;
        budget.rows(&mut self.stack, 1)?;
        let mut room = self.action.capacity();
        self.time_us.make_room(event.time_us, room, budget)?;
        for capacity in [
            self.addr.capacity(),
            self.size.capacity(),
            self.context.capacity(),
            self.stack.capacity(),
            self.time_us.room(),
        ] {
            room = room.min(capacity);
        }
        self.room = room;
        Ok(())
    }

    /// Makes room for `rows` more events, if there is memory for so many.
    pub(crate) fn reserve(&mut self, rows: usize) {
        // A failure is ignored, because the pushes themselves reserve smaller amounts later.
        let _ = self.action.try_reserve_exact(rows);
        let _ = self.addr.try_reserve_exact(rows);
        let _ = self.size.try_reserve_exact(rows);
        let _ = self.context.try_reserve_exact(rows);
        let _ = self.stack.try_reserve_exact(rows);
        self.time_us.reserve(rows);
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.action.capacity() * size_of::<Action>()
            + (self.addr.capacity() + self.size.capacity()) * 8
            + self.time_us.heap_bytes()
            + (self.context.capacity() + self.stack.capacity()) * 4
    }
}
