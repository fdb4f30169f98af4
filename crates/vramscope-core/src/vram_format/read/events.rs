//! Reads the events, column by column, and their traces.

use super::{Reader, Result, malformed, most_devices, push, row_of};
use crate::ids::ContextId;
use crate::model::Action;
use crate::vram_format::FIRST_OTHER_ACTION;

impl Reader<'_, '_> {
    pub(super) fn events(&mut self) -> Result<()> {
        self.table("actions", |from| {
            let name = from.string_id()?;
            let names = &mut from.snapshot.events.other_actions;
            if names.len() >= usize::from(u8::MAX) {
                return Err(malformed("there are more than 255 unknown actions"));
            }
            names.push(name);
            Ok(())
        })?;
        self.table("events", |from| {
            let action = from.action()?;
            push(&mut from.budget, &mut from.snapshot.events.action, action)
        })?;
        // The number of rows is safe to use, because each of them took at least one byte.
        let rows = self.snapshot.events.len();
        if u32::try_from(rows).is_err() {
            return Err(malformed("there are more than 2^32 events"));
        }
        let mut before = 0_u64;
        self.snapshot.events.addr = self.column("addr", rows, |from| {
            before = before.wrapping_add_signed(from.signed()?);
            Ok(before)
        })?;
        self.snapshot.events.size = self.column("size", rows, Self::number)?;
        if self.flag()? {
            self.times(rows)?;
        }
        let contexts = self.snapshot.contexts.len();
        self.snapshot.events.context =
            self.column("contexts", rows, |from| from.row(contexts).map(ContextId))?;
        self.snapshot.events.stack = self.column("frames", rows, Self::stack)?;
        Ok(())
    }

    fn times(&mut self, rows: usize) -> Result<()> {
        self.table = "time_us";
        let mut time_us = 0_i64;
        for row in 0..rows {
            time_us = time_us.wrapping_add(self.signed()?);
            let times = &mut self.snapshot.events.time_us;
            if !times.has_room(time_us) || times.room() == row {
                times.make_room(time_us, rows, &mut self.budget)?;
            }
            times.push(row, time_us);
            self.step()?;
        }
        Ok(())
    }

    fn action(&mut self) -> Result<Action> {
        let number = self.number()?;
        let others = self.snapshot.events.other_actions.len();
        match number.checked_sub(FIRST_OTHER_ACTION) {
            Some(row) => row_of(row, others).map(|row| Action::Other(row as u8)),
            None => Action::known()
                .get(number as usize)
                .map(|&(action, _)| action)
                .ok_or_else(|| malformed("an action is unknown")),
        }
    }

    fn column<T>(
        &mut self,
        name: &'static str,
        rows: usize,
        value: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        self.table = name;
        self.list(rows as u64, value)
    }

    pub(super) fn traces(&mut self) -> Result<()> {
        let rows = self.snapshot.events.len();
        let mut left = rows;
        self.table("device_traces", |from| {
            let trace = from.range(rows, &mut left)?;
            from.snapshot.traces.push(trace);
            most_devices(from.snapshot.traces.len())
        })?;
        self.snapshot.host_trace = self.range(rows, &mut left)?;
        Ok(())
    }
}
