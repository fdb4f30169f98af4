//! Row numbers as types, so that an index into one table cannot be used on another.
//!
//! Ids are dense: `0..table.len()`. They are only meaningful together with the [`Snapshot`] (or, for
//! [`AllocationId`], the [`History`]) that handed them out.
//!
//! [`Snapshot`]: crate::Snapshot
//! [`History`]: crate::analysis::time::history::History

use serde::{Deserialize, Serialize};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The row number, for indexing a column.
            #[must_use]
            pub fn index(self) -> usize {
                self.0 as usize
            }

            /// The id of row `index`. Tables refuse to grow beyond `u32::MAX` rows, so it always fits.
            #[must_use]
            pub fn from_index(index: usize) -> Self {
                debug_assert!(u32::try_from(index).is_ok());
                Self(index as u32)
            }
        }
    )*};
}

ids! {
    /// A string in [`StringTable`](crate::model::StringTable). Id 0 is the empty string.
    StringId
    /// A frame in [`FrameTable`](crate::model::FrameTable).
    FrameId
    /// A stack in [`StackTable`](crate::model::StackTable), or one of its two constants for "no frames".
    StackId
    /// A row of [`ContextTable`](crate::model::ContextTable).
    ContextId
    /// A row of [`EventTable`](crate::model::EventTable): the event's place in the *file*.
    EventId
    /// A row of [`SegmentTable`](crate::model::SegmentTable).
    SegmentId
    /// A row of [`BlockTable`](crate::model::BlockTable).
    BlockId
    /// A row of one device's [`AllocationTable`](crate::analysis::time::history::AllocationTable), which is also its
    /// position in the stack of bands: 0 is at the bottom.
    AllocationId
}

impl ContextId {
    /// No context: an allocation that only the final state shows.
    pub const ABSENT: Self = Self(u32::MAX);
}
