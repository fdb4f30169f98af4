//! The card that a program runs on.

use vramscope_core::cards::Card;
use vramscope_core::units::Bytes;

use crate::invented::{self, Invented};

/// Compute capability without its point, and multiprocessors, by a card's name in [`vramscope_core::cards`]: from
/// CUDA's list of GPUs and NVIDIA's papers on each architecture.
const NUMBERS: [(&str, u32, u32); 18] = [
    ("RTX 3060 12 GB", 86, 28),
    ("T4", 75, 40),
    ("RTX A4000", 86, 48),
    ("V100 16 GB", 70, 80),
    ("L4", 89, 58),
    ("A10G", 86, 80),
    ("RTX 4090", 89, 128),
    ("RTX 3090", 86, 82),
    ("RTX 5090", 120, 170),
    ("V100 32 GB", 70, 80),
    ("A100 40 GB", 80, 108),
    ("L40S", 89, 142),
    ("RTX A6000, 6000 Ada", 86, 84),
    ("H100 80 GB", 90, 132),
    ("A100 80 GB", 80, 108),
    ("RTX PRO 6000", 120, 188),
    ("H200", 90, 132),
    ("B200", 100, 148),
];

/// A device as the program finds it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Device {
    pub name: String,
    /// Its memory in bytes.
    pub total_bytes: u64,
    /// Compute capability without its point: 90 for 9.0.
    pub capability: u32,
    /// Multiprocessors.
    pub processors: u32,
}

impl Device {
    /// A card; `None` if CUDA does not run on it.
    #[must_use]
    pub fn of(card: &Card) -> Option<Self> {
        let (_, capability, processors) = *NUMBERS.iter().find(|(name, ..)| *name == card.name)?;
        Some(Self {
            name: card.name.to_owned(),
            total_bytes: card.bytes(),
            capability,
            processors,
        })
    }

    /// A card with this much memory that is otherwise an A100.
    #[must_use]
    pub fn with_bytes(total_bytes: u64) -> Self {
        Self {
            name: format!("card with {}", Bytes(total_bytes)),
            total_bytes,
            capability: 80,
            processors: 108,
        }
    }

    /// Memory that is taken before the first tensor.
    #[must_use]
    pub const fn context(&self) -> Invented {
        invented::context(self.capability)
    }

    /// The bytes that torch's allocator can use.
    #[must_use]
    pub const fn free_bytes(&self) -> u64 {
        self.total_bytes.saturating_sub(self.context().bytes)
    }
}

#[cfg(test)]
mod tests {
    use vramscope_core::cards::CARDS;

    use super::*;

    #[test]
    fn every_card_with_cuda_has_its_numbers() {
        let without: Vec<_> = CARDS
            .iter()
            .filter(|card| Device::of(card).is_none())
            .collect();
        assert_eq!(
            without.iter().map(|card| card.name).collect::<Vec<_>>(),
            ["MI300X"]
        );
        assert!(
            NUMBERS
                .iter()
                .all(|(name, ..)| Card::called(name).is_some_and(|card| card.name == *name))
        );
    }
}
