//! Physical memory that the program creates and maps itself (`cuMemCreate`, `cuMemMap`).
//!
//! A handle is counted: `cuMemRetainAllocationHandle` returns the handle of mapped memory once more, and each of these must
//! be released separately. Memory lives until it has neither handles nor mappings. The handle of a multicast object is
//! one without memory of its own.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Identifies a physical allocation permanently, because the driver reuses handles.
pub(crate) type Serial = u64;

#[derive(Clone, Debug)]
struct Physical {
    bytes: u64,
    device: u8,
    /// Sum of the sizes of its mappings.
    mapped_bytes: u64,
    /// How often its handle must still be released.
    handles: u64,
    is_owned: bool,
}

impl Physical {
    /// Bytes that this process holds, whether mapped or not.
    fn held_bytes(&self) -> u64 {
        if self.is_owned { self.bytes } else { 0 }
    }
}

/// The allocation of a released handle, to undo the release.
#[derive(Clone, Debug)]
pub(crate) struct Released {
    serial: Serial,
    physical: Physical,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct PhysicalMemory {
    by_serial: HashMap<Serial, Physical>,
    by_handle: HashMap<u64, Serial>,
    last: Serial,
    /// Bytes that this process holds, by device.
    held: HashMap<u8, u64>,
}

impl PhysicalMemory {
    pub(crate) fn create(&mut self, handle: u64, device: u8, bytes: u64, is_owned: bool) {
        // Releases are missing in the log: the driver gave the handle to other memory.
        if let Some(old) = self.by_handle.remove(&handle) {
            self.update(old, |physical| physical.handles = 0);
        }
        self.last += 1;
        self.by_handle.insert(handle, self.last);
        let physical = Physical {
            bytes,
            device,
            mapped_bytes: 0,
            handles: 1,
            is_owned,
        };
        self.add(self.last, physical);
    }

    /// Counts the handle of mapped memory once more. It may have been released before.
    pub(crate) fn retain(&mut self, handle: u64, mapped: Serial) {
        if self.by_serial.contains_key(&mapped) {
            self.by_handle.insert(handle, mapped);
            self.update(mapped, |physical| physical.handles += 1);
        }
    }

    fn add(&mut self, serial: Serial, physical: Physical) {
        let held = self.held.entry(physical.device).or_default();
        *held = held.saturating_add(physical.held_bytes());
        self.by_serial.insert(serial, physical);
    }

    /// Releases a handle once. Returns its allocation, to undo the release.
    pub(crate) fn release(&mut self, handle: u64) -> Option<Released> {
        let serial = *self.by_handle.get(&handle)?;
        let physical = self.by_serial.get(&serial)?.clone();
        if physical.handles <= 1 {
            self.by_handle.remove(&handle);
        }
        self.update(serial, |physical| {
            physical.handles = physical.handles.saturating_sub(1);
        });
        Some(Released { serial, physical })
    }

    /// Undoes a release that the driver refused, unless the handle names another allocation now.
    pub(crate) fn undo_release(&mut self, handle: u64, released: Released) {
        match self.by_handle.entry(handle) {
            Entry::Vacant(place) => {
                place.insert(released.serial);
            }
            Entry::Occupied(place) if *place.get() != released.serial => return,
            Entry::Occupied(_) => {}
        }
        if let Some(physical) = self.by_serial.get_mut(&released.serial) {
            physical.handles += 1;
            return;
        }
        let physical = Physical {
            mapped_bytes: 0,
            ..released.physical
        };
        self.add(released.serial, physical);
    }

    /// The serial and the device of the allocation behind a handle, and whether this process owns it.
    pub(crate) fn find(&self, handle: u64) -> Option<(Serial, u8, bool)> {
        let serial = *self.by_handle.get(&handle)?;
        let physical = self.by_serial.get(&serial)?;
        Some((serial, physical.device, physical.is_owned))
    }

    pub(crate) fn map(&mut self, serial: Serial, bytes: u64) {
        self.update(serial, |physical| {
            physical.mapped_bytes = physical.mapped_bytes.saturating_add(bytes);
        });
    }

    pub(crate) fn unmap(&mut self, serial: Serial, bytes: u64) {
        self.update(serial, |physical| {
            physical.mapped_bytes = physical.mapped_bytes.saturating_sub(bytes);
        });
    }

    /// Bytes of a device that this process holds. Counts each allocation once, however often it is mapped.
    pub(crate) fn held_bytes(&self, device: u8) -> u64 {
        self.held.get(&device).copied().unwrap_or(0)
    }

    fn update(&mut self, serial: Serial, update: impl FnOnce(&mut Physical)) {
        let Some(physical) = self.by_serial.get_mut(&serial) else {
            return;
        };
        update(physical);
        let is_gone = physical.handles == 0 && physical.mapped_bytes == 0;
        if is_gone {
            let held = self.held.entry(physical.device).or_default();
            *held = held.saturating_sub(physical.held_bytes());
            self.by_serial.remove(&serial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn released_memory_lives_until_it_is_unmapped() {
        let mut memory = PhysicalMemory::default();
        memory.create(5, 0, 100, true);
        assert_eq!(memory.held_bytes(0), 100);
        let (serial, ..) = memory.find(5).unwrap();
        memory.map(serial, 60);
        memory.release(5);
        assert_eq!(memory.find(5), None);
        assert_eq!(memory.held_bytes(0), 100, "as long as a part is mapped");
        memory.unmap(serial, 60);
        assert_eq!(memory.held_bytes(0), 0);
        memory.create(5, 1, 7, false);
        assert_eq!(memory.held_bytes(1), 0, "another process's");
    }

    #[test]
    fn a_handle_is_released_as_often_as_it_was_given_out() {
        let mut memory = PhysicalMemory::default();
        memory.create(5, 0, 100, true);
        let (serial, ..) = memory.find(5).unwrap();
        memory.map(serial, 100);
        memory.retain(5, serial);
        let released = memory.release(5).unwrap();
        memory.unmap(serial, 100);
        assert_eq!(memory.held_bytes(0), 100, "its first handle is left");
        memory.undo_release(5, released);
        memory.release(5);
        assert_eq!(memory.held_bytes(0), 100, "the second release was refused");
        memory.release(5);
        assert_eq!((memory.held_bytes(0), memory.find(5)), (0, None));
        // The handle of mapped memory that has none is returned again.
        memory.create(5, 0, 100, true);
        let (serial, ..) = memory.find(5).unwrap();
        memory.map(serial, 100);
        memory.release(5);
        memory.retain(5, serial);
        memory.unmap(serial, 100);
        assert_eq!(memory.held_bytes(0), 100);
        memory.release(5);
        assert_eq!(memory.held_bytes(0), 0);
    }
}
