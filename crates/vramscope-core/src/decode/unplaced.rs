//! Addresses for profiles that have none: events that say how much was allocated or freed, but not where.
//!
//! A free ends the latest allocation of the same size and category that is live. Which of several equal ones it was is not
//! known, and makes no difference to any sum.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

use crate::budget::{Budget, NoRoom};

/// The first address, and what all are multiples of.
const UNIT: u64 = 1 << 12;

/// The end of the addresses that are handed out.
const END: u64 = 1 << 61;

/// What a size costs, about: its entry, and room for others.
const KEY_BYTES: usize = 96;

/// The live allocations, by size and category.
#[derive(Default)]
pub(super) struct Unplaced {
    live: HashMap<(u64, u64), Vec<u64>, RandomState>,
    /// How many units of addresses were handed out: none twice, so that no two allocations overlap.
    units: u64,
}

impl Unplaced {
    /// The address of an allocation of `bytes`, or of a free if they are negative.
    pub(super) fn address(
        &mut self,
        bytes: i64,
        category: u64,
        budget: &mut Budget,
    ) -> Result<u64, NoRoom> {
        let live = self.live.get_mut(&(bytes.unsigned_abs(), category));
        if bytes <= 0
            && let Some(address) = live.and_then(Vec::pop)
        {
            return Ok(address);
        }
        let address = (self.units + 1) * UNIT;
        // Who allocates more in all than there are addresses begins again.
        self.units = (self.units + bytes.unsigned_abs().div_ceil(UNIT)) % (END / UNIT);
        if bytes > 0 {
            self.keep(address, bytes, category, budget)?;
        }
        Ok(address)
    }

    /// Notes that an allocation lives at an address.
    pub(super) fn keep(
        &mut self,
        address: u64,
        bytes: i64,
        category: u64,
        budget: &mut Budget,
    ) -> Result<(), NoRoom> {
        let live = self.live.entry((bytes.unsigned_abs(), category));
        let live = match live {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                budget.check(KEY_BYTES)?;
                budget.add(KEY_BYTES);
                new.insert(Vec::new())
            }
        };
        budget.room(live, 1)?;
        live.push(address);
        Ok(())
    }
}
