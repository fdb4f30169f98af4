//! Physical memory that the program creates and maps itself (`cuMemCreate`, `cuMemMap`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Identifies a physical allocation forever. The driver reuses handles.
pub(crate) type Serial = u64;

#[derive(Clone, Debug)]
struct Physical {
    bytes: u64,
    device: u8,
    /// Sum of the sizes of its mappings.
    mapped_bytes: u64,
    /// Whether its handle was released, so that the last unmapping frees it.
    is_released: bool,
    is_owned: bool,
}

impl Physical {
    /// Bytes that this process holds, whether mapped or not.
    fn held_bytes(&self) -> u64 {
        if self.is_owned { self.bytes } else { 0 }
    }
}

/// A released handle and its allocation, to undo the release.
#[derive(Clone, Debug)]
pub(crate) struct Released {
    serial: Serial,
    physical: Physical,
}

/// Existing physical allocations.
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
        self.release(handle);
        self.last += 1;
        self.by_handle.insert(handle, self.last);
        let physical = Physical {
            bytes,
            device,
            mapped_bytes: 0,
            is_released: false,
            is_owned,
        };
        self.add(self.last, physical);
    }

    fn add(&mut self, serial: Serial, physical: Physical) {
        let held = self.held.entry(physical.device).or_default();
        *held = held.saturating_add(physical.held_bytes());
        self.by_serial.insert(serial, physical);
    }

    /// Removes a handle. Returns its allocation, to undo the release.
    pub(crate) fn release(&mut self, handle: u64) -> Option<Released> {
        let serial = self.by_handle.remove(&handle)?;
        let physical = self.by_serial.get(&serial)?.clone();
        self.update(serial, |physical| physical.is_released = true);
        Some(Released { serial, physical })
    }

    /// Restores a handle whose release the driver refused, unless the handle names another allocation now.
    pub(crate) fn undo_release(&mut self, handle: u64, released: Released) {
        let Entry::Vacant(place) = self.by_handle.entry(handle) else {
            return;
        };
        place.insert(released.serial);
        if let Some(physical) = self.by_serial.get_mut(&released.serial) {
            physical.is_released = false;
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
        let is_gone = physical.is_released && physical.mapped_bytes == 0;
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
}
