//! Counts the memory that a file makes its reader reserve, and refuses what exceeds [`Limits`].
//!
//! Every table and buffer that a file can fill grows through a [`Budget`], so that running out of memory is an error
//! like any other.

use crate::Limits;
use crate::limits::Read;

/// First capacity of a buffer, in items.
const FEWEST: usize = 4;

/// First capacity of a table, in rows.
const FEWEST_ROWS: usize = 64;

/// The error of a file that costs too much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoRoom {
    /// The file needs more heap bytes than this limit.
    Limit(u64),
    /// The first record comes after more bytes than this limit.
    NoRecord(u64),
    /// The system cannot provide this many more bytes.
    Memory(u64),
}

/// The system has no memory.
pub(crate) struct Full;

/// The heap bytes that a file has reserved, and how many it may reserve.
pub(crate) struct Budget {
    limits: Limits,
    read: Read,
    /// Bytes of the unwrapped data, if known. Tables are sized by it.
    expected_bytes: Option<u64>,
    /// Bytes that decompressors hold at this time.
    window_bytes: u64,
    reserved_bytes: u64,
    allowed_bytes: u64,
}

impl Budget {
    pub(crate) fn new(limits: Limits, expected_bytes: Option<u64>) -> Self {
        Self {
            limits,
            read: Read::default(),
            expected_bytes,
            window_bytes: 0,
            reserved_bytes: 0,
            allowed_bytes: limits.free_bytes,
        }
    }

    /// Bytes of unwrapped data read so far.
    pub(crate) fn unwrapped_bytes(&self) -> u64 {
        self.read.unwrapped_bytes
    }

    /// Notes how many bytes of unwrapped data have been read.
    pub(crate) fn set_unwrapped_bytes(&mut self, bytes: u64) {
        self.read.unwrapped_bytes = bytes;
    }

    /// Adjusts the allowance to what has been read. Decompressors hold `window_bytes` of memory.
    ///
    /// # Errors
    /// If the file has reserved more than it may, or has unwrapped to too much without a record.
    pub(crate) fn update(&mut self, read: Read, window_bytes: u64) -> Result<(), NoRoom> {
        self.read = read;
        self.window_bytes = window_bytes;
        self.allowed_bytes = self.limits.heap_bytes(&read);
        let most = self
            .limits
            .unwrapped_bytes(read.file_bytes, read.has_records);
        if read.unwrapped_bytes > most && !read.has_records {
            return Err(NoRoom::NoRecord(most));
        }
        self.check(0)
    }

    /// Bytes that may still be reserved.
    pub(crate) fn left(&self) -> u64 {
        self.allowed_bytes
            .saturating_sub(self.reserved_bytes + self.window_bytes)
    }

    /// Whether `bytes` more may be held.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), NoRoom> {
        let held = self.reserved_bytes + self.window_bytes;
        if held.saturating_add(bytes as u64) > self.allowed_bytes {
            return Err(NoRoom::Limit(self.allowed_bytes));
        }
        Ok(())
    }

    /// Counts bytes that are held from now on.
    pub(crate) fn add(&mut self, bytes: usize) {
        self.reserved_bytes += bytes as u64;
    }

    /// Counts a buffer as released.
    pub(crate) fn release<T>(&mut self, buffer: &Vec<T>) {
        let bytes = buffer.capacity() * size_of::<T>();
        self.reserved_bytes = self.reserved_bytes.saturating_sub(bytes as u64);
    }

    /// Makes room for `more` items.
    #[inline]
    pub(crate) fn room<T>(&mut self, buffer: &mut Vec<T>, more: usize) -> Result<(), NoRoom> {
        if buffer.capacity() - buffer.len() >= more {
            return Ok(());
        }
        self.grow(buffer, more.max(buffer.len()).max(FEWEST))
    }

    /// Makes room for `more` rows of a table. A larger buffer is sized for the expected rest of the file, because
    /// doubling would hold up to three times the bytes in use.
    #[inline]
    pub(crate) fn rows<T>(&mut self, column: &mut Vec<T>, more: usize) -> Result<(), NoRoom> {
        if column.capacity() - column.len() >= more {
            return Ok(());
        }
        let rows = self.rows_to_come(column.len()).max(more);
        // The projection may exceed the limits or the memory (wasm has 4 GiB).
        self.grow(column, rows).or_else(|_| self.room(column, more))
    }

    /// Makes room for `most` rows, of which few may come, so the next call asks for as much again. It reserves extra, or
    /// every call would move the whole buffer.
    #[inline]
    pub(crate) fn room_ahead<T>(&mut self, column: &mut Vec<T>, most: usize) -> Result<(), NoRoom> {
        if column.capacity() - column.len() >= most {
            return Ok(());
        }
        self.rows(column, 2 * most)
    }

    #[cold]
    fn grow<T>(&mut self, buffer: &mut Vec<T>, more: usize) -> Result<(), NoRoom> {
        let (length, before) = (buffer.len(), buffer.capacity());
        self.extend(size_of::<T>(), length.saturating_add(more), || {
            buffer.try_reserve_exact(more).map_err(|_full| Full)?;
            Ok(buffer.capacity() - before)
        })
    }

    /// Makes room for `more` bytes of text.
    #[inline]
    pub(crate) fn room_for_text(&mut self, text: &mut String, more: usize) -> Result<(), NoRoom> {
        let (length, before) = (text.len(), text.capacity());
        if before - length >= more {
            return Ok(());
        }
        let more = more.max(length).max(FEWEST_ROWS);
        self.extend(1, length.saturating_add(more), || {
            text.try_reserve_exact(more).map_err(|_full| Full)?;
            Ok(text.capacity() - before)
        })
    }

    /// Counts what `reserve` adds. It makes a new buffer of `items`, and returns how many more these are than before.
    pub(crate) fn extend(
        &mut self,
        item_bytes: usize,
        items: usize,
        reserve: impl FnOnce() -> Result<usize, Full>,
    ) -> Result<(), NoRoom> {
        let bytes = items.saturating_mul(item_bytes);
        // The old buffer, already counted, is held until its contents have been copied.
        self.check(bytes)?;
        let added = reserve().map_err(|Full| NoRoom::Memory(bytes as u64))?;
        self.add(added * item_bytes);
        Ok(())
    }

    /// An empty list with room for `count` items. It is not counted, because it is held only briefly.
    pub(crate) fn list<T>(&self, count: usize) -> Result<Vec<T>, NoRoom> {
        let bytes = count.saturating_mul(size_of::<T>());
        self.check(bytes)?;
        let mut list = Vec::new();
        list.try_reserve_exact(count)
            .map_err(|_full| NoRoom::Memory(bytes as u64))?;
        Ok(list)
    }

    /// The number of rows to make room for: projected from the density so far if the file's size is known, else doubled.
    fn rows_to_come(&self, rows: usize) -> usize {
        let again = rows.max(FEWEST_ROWS);
        let read = self.read.unwrapped_bytes;
        let Some(rest) = self
            .expected_bytes
            .and_then(|expected| expected.checked_sub(read))
        else {
            return again;
        };
        // A file begins with its segments, so an early projection would be wrong.
        let is_early = read < 1 << 20 || rest / read.max(1) >= 16;
        if is_early {
            return 3 * again;
        }
        let projected = rows as f64 * (rest as f64 / read as f64);
        (projected * 1.02) as usize + rows / 32 + FEWEST_ROWS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits {
            free_bytes: 1000,
            ..Limits::default()
        }
    }

    #[test]
    fn growing_counts_the_old_buffer_too() {
        let mut budget = Budget::new(limits(), None);
        let mut buffer: Vec<u8> = Vec::new();
        budget.room(&mut buffer, 400).unwrap();
        buffer.resize(400, 0);
        assert_eq!(budget.left(), 600);
        assert_eq!(budget.room(&mut buffer, 201), Err(NoRoom::Limit(1000)));
        budget.release(&buffer);
        assert_eq!(budget.left(), 1000);
    }

    #[test]
    fn what_the_file_pays_for_is_allowed() {
        let mut budget = Budget::new(limits(), None);
        let mut read = Read {
            file_bytes: 600,
            unwrapped_bytes: 600,
            has_records: false,
        };
        budget.update(read, 0).unwrap();
        assert_eq!(budget.left(), 1200);
        read.has_records = true;
        budget.update(read, 100).unwrap();
        assert_eq!(budget.left(), 16 * 600 - 100);
        read.has_records = false;
        read.unwrapped_bytes = 1201;
        assert_eq!(budget.update(read, 0), Err(NoRoom::NoRecord(1200)));
    }

    #[test]
    fn memory_that_is_not_there_is_an_error() {
        let limits = Limits {
            free_bytes: u64::MAX,
            ..Limits::default()
        };
        let mut budget = Budget::new(limits, None);
        let mut buffer: Vec<u64> = Vec::new();
        assert!(matches!(
            budget.room(&mut buffer, usize::MAX / 16),
            Err(NoRoom::Memory(_))
        ));
    }
}
