//! CUDA arrays, which have no address and therefore no block.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::space::Owner;

#[derive(Clone, Copy, Debug)]
pub(super) struct Array {
    pub(super) device: u8,
    pub(super) bytes: u64,
    pub(super) context: u64,
}

impl Array {
    fn owners(&self) -> [Owner; 2] {
        [Owner::Context(self.context), Owner::Device(self.device)]
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Arrays {
    by_handle: HashMap<u64, Array>,
    by_owner: BTreeSet<(Owner, u64)>,
    /// Sums by device.
    bytes: BTreeMap<u8, u128>,
}

impl Arrays {
    /// Adds an array, in place of an older one with this handle.
    pub(super) fn insert(&mut self, handle: u64, array: Array) {
        self.remove(handle);
        self.by_handle.insert(handle, array);
        self.by_owner
            .extend(array.owners().map(|owner| (owner, handle)));
        *self.bytes.entry(array.device).or_default() += u128::from(array.bytes);
    }

    pub(super) fn remove(&mut self, handle: u64) -> Option<Array> {
        let array = self.by_handle.remove(&handle)?;
        for owner in array.owners() {
            self.by_owner.remove(&(owner, handle));
        }
        *self.bytes.entry(array.device).or_default() -= u128::from(array.bytes);
        Some(array)
    }

    /// Restores an array that was not destroyed after all, unless another one has its handle.
    pub(super) fn undo_remove(&mut self, handle: u64, array: Array) {
        if !self.by_handle.contains_key(&handle) {
            self.insert(handle, array);
        }
    }

    /// Removes the arrays owned by a context or a device.
    pub(super) fn end(&mut self, owner: Owner) {
        let owned = self.by_owner.range((owner, 0)..=(owner, u64::MAX));
        let owned: Vec<u64> = owned.map(|&(_, handle)| handle).collect();
        for handle in owned {
            self.remove(handle);
        }
    }

    pub(super) fn bytes(&self, device: u8) -> u64 {
        self.bytes.get(&device).map_or(0, |&bytes| clamped(bytes))
    }

    /// Bytes of the arrays of each device that has any.
    pub(crate) fn bytes_by_device(&self) -> impl Iterator<Item = (u8, u64)> {
        let all = self.bytes.iter().filter(|&(_, &bytes)| bytes > 0);
        all.map(|(&device, &bytes)| (device, clamped(bytes)))
    }
}

/// Sizes in a damaged log may be anything.
fn clamped(bytes: u128) -> u64 {
    bytes.try_into().unwrap_or(u64::MAX)
}
