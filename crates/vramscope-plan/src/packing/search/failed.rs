//! Remembers goals without a solution, because different placements often lead to the same goal.

/// Slots per buffer; a small part has few goals.
const SLOTS_PER_BUFFER: usize = 64;
/// Upper limit of slots; 1 MiB in all.
const MOST_SLOTS: usize = 1 << 15;

/// The latest failed goals. A newer one replaces an older one in the same slot.
pub(super) struct Failed {
    /// The fingerprint of the remaining keys, and the key that everything placed had to exceed. The length is a power
    /// of two.
    slots: Vec<(u128, u64)>,
}

impl Failed {
    /// Empty, for a part of so many buffers.
    pub(super) fn new(buffers: usize) -> Self {
        let slots = buffers.saturating_mul(SLOTS_PER_BUFFER).min(MOST_SLOTS);
        Self {
            slots: vec![(0, u64::MAX); slots.max(1).next_power_of_two()],
        }
    }

    /// Remembers that the keys with this fingerprint cannot be placed above `last`.
    pub(super) fn insert(&mut self, fingerprint: u128, last: u64) {
        let slot = self.slot(fingerprint);
        self.slots[slot] = (fingerprint, last);
    }

    /// Whether these keys are known to have no solution above `last`. A failure above a lower key implies it.
    pub(super) fn contains(&self, fingerprint: u128, last: u64) -> bool {
        let (known, above) = self.slots[self.slot(fingerprint)];
        known == fingerprint && above <= last
    }

    fn slot(&self, fingerprint: u128) -> usize {
        // The highest bits depend on all bits of the keys.
        (fingerprint >> 96) as usize & (self.slots.len() - 1)
    }
}

/// A hash of 128 bits that stands for a list of keys. Collisions are too improbable to matter.
pub(super) fn fingerprint(keys: &[u64]) -> u128 {
    let mixed = keys.iter().map(|&key| {
        let mixed = u128::from(!key).wrapping_mul(0xDA94_2042_E4DD_58B5_9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ mixed >> 61).wrapping_mul(0xC2B2_AE3D_27D4_EB4F_1656_67B1_9E37_79F9);
        mixed ^ mixed >> 67
    });
    mixed.fold(0, u128::wrapping_add)
}
