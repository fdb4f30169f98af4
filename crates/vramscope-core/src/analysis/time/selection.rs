//! Selections of allocations, and the weight of each.

use serde::{Deserialize, Serialize};

use super::history::{History, NEVER};
use crate::ids::AllocationId;

/// First and last moment, both included. The events between them lead from the first to the last.
pub type Moments = (u32, u32);

/// A selection of allocations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Selection {
    /// All allocations.
    All,
    /// Live at this moment, pending frees included.
    LiveAt(u32),
    /// Allocated by an event between two moments.
    AllocatedIn(Moments),
    /// Allocated between two moments, and still live at the second.
    RetainedFrom(Moments),
    /// Freed between two moments, whenever allocated.
    FreedIn(Moments),
}

impl Selection {
    /// Whether an allocation with this life is selected.
    #[must_use]
    pub fn holds(self, born: u32, died: u32) -> bool {
        match self {
            Self::All => true,
            Self::LiveAt(moment) => born <= moment && moment < died,
            Self::AllocatedIn((from, to)) => from < born && born <= to,
            Self::RetainedFrom((from, to)) => from < born && born <= to && died > to,
            Self::FreedIn((from, to)) => died != NEVER && from < died && died <= to,
        }
    }

    /// The selected allocations of `history`, in stacking order.
    pub fn allocations(self, history: &History) -> impl Iterator<Item = AllocationId> + '_ {
        let table = &history.allocations;
        let lives = table.born.iter().zip(&table.died).enumerate();
        lives
            .filter(move |&(_, (&born, &died))| self.holds(born, died))
            .map(|(row, _)| AllocationId::from_index(row))
    }
}

/// The weight of an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Weight {
    /// Its requested bytes.
    #[default]
    Bytes,
    /// One.
    Count,
    /// Its requested bytes times the recorded part of its lifetime in events.
    ByteEvents,
}

impl Weight {
    /// The weight of an allocation of `history`, saturating.
    #[must_use]
    pub fn of(self, history: &History, id: AllocationId) -> u64 {
        let table = &history.allocations;
        let row = id.index();
        match self {
            Self::Bytes => table.bytes[row],
            Self::Count => 1,
            Self::ByteEvents => {
                let end = table.died[row].min(history.event_count + 1);
                let events = u64::from(end.saturating_sub(table.born[row]));
                table.bytes[row].saturating_mul(events)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_count_events_between_their_moments() {
        let range = (2, 5);
        assert!(
            !Selection::AllocatedIn(range).holds(2, NEVER),
            "born before"
        );
        assert!(Selection::AllocatedIn(range).holds(3, 4));
        assert!(Selection::AllocatedIn(range).holds(5, NEVER));
        assert!(
            !Selection::RetainedFrom(range).holds(3, 5),
            "gone at the end"
        );
        assert!(Selection::RetainedFrom(range).holds(3, 6));
        assert!(Selection::FreedIn(range).holds(0, 3) && Selection::FreedIn(range).holds(4, 5));
        assert!(
            !Selection::FreedIn(range).holds(0, 6) && !Selection::FreedIn(range).holds(0, NEVER)
        );
        assert!(Selection::LiveAt(3).holds(3, 4) && !Selection::LiveAt(4).holds(3, 4));
    }
}
