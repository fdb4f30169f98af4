//! Makes up addresses for profiles without any, whose events only say how much was allocated or freed.
//!
//! A free ends the latest live allocation of the same size and category. Which of several equal ones it really was is
//! unknown, and makes no difference to any sum.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use foldhash::fast::RandomState;

use crate::budget::{Budget, NoRoom};

/// The first address; all are multiples of it.
const UNIT: u64 = 1 << 12;

/// The end of the available addresses.
const END: u64 = 1 << 61;

/// Approximate heap bytes of a size: its entry, and room for others.
const KEY_BYTES: usize = 96;

/// The live allocations, by size and category.
#[derive(Default)]
pub(super) struct Unplaced {
    live: HashMap<(u64, u64), Vec<u64>, RandomState>,
    /// Number of address units used. None is used twice, so no two allocations overlap.
    units: u64,
}

impl Unplaced {
    /// The address of an allocation of `bytes`, or of a free if `bytes` is negative.
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
        // After all addresses have been used, start again from the first.
        self.units = (self.units + bytes.unsigned_abs().div_ceil(UNIT)) % (END / UNIT);
        if bytes > 0 {
            self.keep(address, bytes, category, budget)?;
        }
        Ok(address)
    }

    /// Notes a live allocation at an address.
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
