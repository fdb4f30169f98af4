//! A column of times: 4 bytes a row while all are near the first one, as in most snapshots, else 8. Copies share its
//! memory once it is filled.

use std::ops::Deref;
use std::sync::Arc;

use crate::budget::{Budget, NoRoom};

/// Stands for a missing time.
pub const NO_TIME: i64 = i64::MIN;

/// Stands for a missing time among the near ones.
const NONE: u32 = u32::MAX;

/// How long before the first time a time still counts as near: 18 minutes. After the first time it is 53.
const NEAR_BEFORE_US: i64 = 1 << 30;

/// Times by row, in microseconds since the Unix epoch; some may be missing. There are no rows as long as none has a time.
#[derive(Clone, Default, Debug)]
pub struct Times {
    /// The earliest time that counts as near.
    base_us: i64,
    /// By row, microseconds after `base_us`, or [`NONE`].
    near: Rows<u32>,
    /// By row, the time or [`NO_TIME`]: replaces `near` once a time is not near.
    far: Rows<i64>,
}

impl Times {
    /// Number of rows; 0 if no time is known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.near.len().max(self.far.len())
    }

    /// Whether no time is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The time of a row; `None` if it is missing or the row does not exist.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<i64> {
        match self.near.get(row) {
            Some(&after) => (after != NONE).then(|| self.base_us.wrapping_add(after.into())),
            None => self.far.get(row).copied().filter(|&time| time != NO_TIME),
        }
    }

    /// The time of an existing row, or [`NO_TIME`].
    #[must_use]
    pub fn at(&self, row: usize) -> i64 {
        self.get(row).unwrap_or(NO_TIME)
    }

    /// All rows, with [`NO_TIME`] for missing times.
    pub fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.len()).map(|row| self.at(row))
    }

    /// Adds the time of row `row`. If it is the first known time, the rows before it have none.
    #[inline]
    pub(crate) fn push(&mut self, row: usize, time_us: i64) {
        let is_near = self.is_near(time_us);
        let after = self.after(time_us);
        match &mut self.near {
            Rows::Growing(near) if is_near && !near.is_empty() => near.push(after),
            _ => self.push_unlike(row, time_us),
        }
    }

    /// Adds a time in the rare cases: it is the first, it or an earlier one is not near, or the column was shared.
    #[cold]
    fn push_unlike(&mut self, row: usize, time_us: i64) {
        if !self.near.is_empty() && !self.is_near(time_us) {
            self.spread();
        }
        if !self.far.is_empty() {
            self.far.growing().push(time_us);
            return;
        }
        if self.near.is_empty() {
            if time_us == NO_TIME {
                return;
            }
            self.base_us = time_us.wrapping_sub(NEAR_BEFORE_US);
        }
        let after = self.after(time_us);
        let near = self.near.growing();
        near.resize(row, NONE);
        near.push(after);
    }

    /// Changes to 8 bytes a row.
    fn spread(&mut self) {
        let near = std::mem::take(&mut self.near);
        let base_us = self.base_us;
        let far = near.iter().map(|&after| match after {
            NONE => NO_TIME,
            after => base_us.wrapping_add(after.into()),
        });
        self.far.growing().extend(far);
    }

    fn is_near(&self, time_us: i64) -> bool {
        time_us == NO_TIME || self.after(time_us) != NONE
    }

    /// Microseconds after `base_us`; [`NONE`] if the time is missing or not near.
    fn after(&self, time_us: i64) -> u32 {
        let after = time_us.wrapping_sub(self.base_us).cast_unsigned();
        match u32::try_from(after) {
            Ok(after) if time_us != NO_TIME => after,
            _ => NONE,
        }
    }

    /// Capacity in rows; unlimited while no row has a time.
    pub(crate) fn room(&self) -> usize {
        match self.near.capacity().max(self.far.capacity()) {
            0 => usize::MAX,
            room => room,
        }
    }

    /// Whether a time fits into the capacity that [`room`](Self::room) returns.
    #[inline]
    pub(crate) fn has_room(&self, time_us: i64) -> bool {
        match self.near.is_empty() {
            true => !self.far.is_empty() || time_us == NO_TIME,
            false => self.is_near(time_us),
        }
    }

    /// Makes room for one more row with this time, and some further rows. The other columns have room for `rows`.
    pub(crate) fn make_room(
        &mut self,
        time_us: i64,
        rows: usize,
        budget: &mut Budget,
    ) -> Result<(), NoRoom> {
        if !self.near.is_empty() && !self.is_near(time_us) {
            budget.room(self.far.growing(), rows)?;
            budget.release(&self.near);
            self.spread();
        } else if !self.near.is_empty() {
            budget.rows(self.near.growing(), 1)?;
        } else if !self.far.is_empty() {
            budget.rows(self.far.growing(), 1)?;
        } else if time_us != NO_TIME {
            // The rows before it get an entry as well.
            budget.room(self.near.growing(), rows)?;
        }
        Ok(())
    }

    /// Makes room for `rows` more, if there is enough memory.
    pub(crate) fn reserve(&mut self, rows: usize) {
        // A failure is ignored, because the pushes themselves reserve smaller amounts later.
        let _ = match self.far.is_empty() {
            true => self.near.growing().try_reserve_exact(rows),
            false => self.far.growing().try_reserve_exact(rows),
        };
    }

    /// Lets copies share the rows.
    pub(crate) fn share(&mut self) {
        self.near.share();
        self.far.share();
    }

    /// Bytes held on the heap.
    #[must_use]
    pub fn heap_bytes(&self) -> usize {
        self.near.capacity() * size_of::<u32>() + self.far.capacity() * size_of::<i64>()
    }
}

impl PartialEq for Times {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// [`NO_TIME`] stands for a missing time.
impl FromIterator<i64> for Times {
    fn from_iter<I: IntoIterator<Item = i64>>(times: I) -> Self {
        let mut column = Self::default();
        for (row, time_us) in times.into_iter().enumerate() {
            column.push(row, time_us);
        }
        column
    }
}

/// Rows of a column, which is first filled and then shared.
#[derive(Clone, Debug)]
enum Rows<T> {
    Growing(Vec<T>),
    Shared(Arc<Vec<T>>),
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self::Growing(Vec::new())
    }
}

impl<T> Deref for Rows<T> {
    type Target = Vec<T>;

    #[inline]
    fn deref(&self) -> &Vec<T> {
        match self {
            Self::Growing(rows) => rows,
            Self::Shared(rows) => rows,
        }
    }
}

impl<T: Clone> Rows<T> {
    /// The rows to add to. Shared rows are copied first.
    fn growing(&mut self) -> &mut Vec<T> {
        if let Self::Shared(rows) = self {
            *self = Self::Growing(rows.to_vec());
        }
        let Self::Growing(rows) = self else {
            unreachable!("made so above");
        };
        rows
    }

    fn share(&mut self) {
        if let Self::Growing(rows) = self {
            *self = Self::Shared(Arc::new(std::mem::take(rows)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::Limits;
    use proptest::prelude::*;

    fn times() -> impl Strategy<Value = Vec<i64>> {
        let near = 1_700_000_000_000_000..1_700_000_900_000_000_i64;
        let time = prop_oneof![
            20 => near,
            3 => Just(NO_TIME),
            1 => any::<i64>(),
        ];
        let few = prop::collection::vec(time, 0..30);
        (few, any::<bool>()).prop_map(|(mut times, is_near)| {
            if is_near {
                times.retain(|time| *time == NO_TIME || (1..1 << 52).contains(time));
            }
            times
        })
    }

    proptest! {
        #[test]
        fn they_are_those_that_were_added(times in times(), shared_at in 0_usize..30) {
            let mut column = Times::default();
            let mut budget = Budget::new(Limits::default(), None);
            for (row, &time) in times.iter().enumerate() {
                if row == shared_at {
                    column.share();
                }
                let earlier = column.clone();
                if !column.has_room(time) || column.room() == row {
                    column.make_room(time, times.len(), &mut budget).unwrap();
                    prop_assert!(column.room() > row);
                }
                column.push(row, time);
                prop_assert!(earlier.iter().eq(column.iter().take(earlier.len())));
            }
            let has_time = times.iter().any(|&time| time != NO_TIME);
            let expected = if has_time { times } else { Vec::new() };
            prop_assert_eq!(column.iter().collect::<Vec<_>>(), &expected[..]);
            let collected: Times = expected.iter().copied().collect();
            prop_assert!(collected.iter().eq(expected.iter().copied()));
            prop_assert_eq!(column.get(expected.len()), None);
        }
    }

    #[test]
    fn near_ones_take_half_the_room() {
        let near = [5, NO_TIME, 0, 1 << 31].into_iter().collect::<Times>();
        assert_eq!((near.near.len(), near.far.len()), (4, 0));
        let far = [5, NO_TIME, 1 << 33].into_iter().collect::<Times>();
        assert_eq!((far.near.len(), far.far.len()), (0, 3));
        let mut shared = near;
        shared.share();
        let copy = shared.clone();
        assert!(std::ptr::eq(copy.near.as_slice(), shared.near.as_slice()));
    }
}
