//! CUDA as it was recorded around one call: what the model's allocator talks to while it is checked.

use super::allocator::Driver;

/// A recorded event that waits for the call that explains it.
#[derive(Clone, Copy)]
pub(super) enum Item {
    /// A block that became free other than by its own free.
    Free(u32),
    /// `segment_alloc`, `segment_map`: address, bytes.
    Obtained(u64, u64),
    /// `segment_free`, `segment_unmap`: address, bytes.
    GivenBack(u64, u64),
}

/// Events in the order of the recording, taken out as the model does the same.
#[derive(Default)]
pub(super) struct RecordedDevice {
    pub(super) items: Vec<Item>,
    /// Segment events that the model did too, since this was last looked at.
    pub(super) agreeing: u64,
    /// What the model gave back beyond.
    pub(super) extra: u64,
    /// Whether the model asked for memory when none, or other memory, was obtained.
    pub(super) missed: bool,
}

impl RecordedDevice {
    pub(super) fn gives_back(&self) -> bool {
        let mut items = self.items.iter();
        items.any(|item| matches!(item, Item::GivenBack(..)))
    }

    /// Takes out the blocks that became free.
    pub(super) fn take_frees(&mut self) -> Vec<u32> {
        let mut freed = Vec::new();
        self.items.retain(|item| match *item {
            Item::Free(row) => {
                freed.push(row);
                false
            }
            _ => true,
        });
        freed
    }

    /// Takes out what follows the last release.
    pub(super) fn split_off_obtained(&mut self) -> Vec<Item> {
        let last = self
            .items
            .iter()
            .rposition(|item| matches!(item, Item::GivenBack(..)));
        self.items.split_off(last.map_or(0, |last| last + 1))
    }

    /// The memory that was obtained next, if nothing was given back before it.
    fn next_obtained(&self) -> Option<(usize, u64, u64)> {
        let mut items = self.items.iter().enumerate();
        let (place, item) = items.find(|(_, item)| !matches!(item, Item::Free(_)))?;
        match *item {
            Item::Obtained(address, bytes) => Some((place, address, bytes)),
            _ => None,
        }
    }

    fn take(&mut self, place: usize) {
        self.items.remove(place);
        self.agreeing += 1;
    }
}

impl Driver for RecordedDevice {
    fn malloc(&mut self, bytes: u64) -> Option<u64> {
        match self.next_obtained() {
            Some((place, address, recorded)) if recorded == bytes => {
                self.take(place);
                Some(address)
            }
            _ => {
                self.missed |= !self.gives_back() && !self.items.is_empty();
                None
            }
        }
    }

    fn reserve(&mut self, _bytes: u64) -> Option<u64> {
        self.next_obtained().map(|(_, address, _)| address)
    }

    fn map(&mut self, address: u64, bytes: u64) -> bool {
        match self.next_obtained() {
            Some((place, at, recorded)) if (at, recorded) == (address, bytes) => {
                self.take(place);
                true
            }
            _ => false,
        }
    }

    fn give_back(&mut self, address: u64, bytes: u64) {
        let given =
            |item: &Item| matches!(*item, Item::GivenBack(at, of) if (at, of) == (address, bytes));
        match self.items.iter().position(given) {
            Some(place) => self.take(place),
            None => self.extra += 1,
        }
    }

    fn synchronise(&mut self) -> Vec<u32> {
        self.take_frees()
    }
}
