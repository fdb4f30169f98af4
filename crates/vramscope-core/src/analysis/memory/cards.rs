//! GPUs by name, with what they really have: a "24 GB" card has 24 GiB or a little less, not 24 billion bytes.
//!
//! The capacities are those that nvidia-smi shows, from public threads: T4, A10, L4, A100, L40S and H100 from
//! modal-labs/modal-client#2797, RTX 3090 from noonghunna/club-3090#390, RTX 4090 from vllm-project/vllm#7553, RTX 5090 from
//! noonghunna/club-3090#1229, H200 from NVIDIA/cuda-samples#311. The driver and a program's CUDA context take some hundred
//! MiB of it.

/// A GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Card {
    /// Its name in lower case, without spaces.
    pub name: &'static str,
    /// The "GB" that it is sold with.
    pub sold_gb: u64,
    /// What it has, in bytes.
    pub bytes: u64,
}

/// A card of so many MiB.
const fn card(name: &'static str, sold_gb: u64, mib: u64) -> Card {
    Card {
        name,
        sold_gb,
        bytes: mib << 20,
    }
}

/// All known cards, by what they have.
pub const CARDS: [Card; 11] = [
    card("t4", 16, 15_360),
    card("a10", 24, 23_028),
    card("l4", 24, 23_034),
    card("rtx4090", 24, 24_564),
    card("rtx3090", 24, 24_576),
    card("rtx5090", 32, 32_607),
    card("a100-40gb", 40, 40_960),
    card("l40s", 48, 46_068),
    card("h100", 80, 81_559),
    card("a100-80gb", 80, 81_920),
    card("h200", 141, 143_771),
];

impl Card {
    /// The card of a name; spaces, and case, do not matter.
    #[must_use]
    pub fn called(name: &str) -> Option<Self> {
        let plain: String = name
            .chars()
            .filter(|letter| !letter.is_whitespace())
            .collect();
        let plain = plain.to_lowercase();
        CARDS.into_iter().find(|card| card.name == plain)
    }

    /// The largest card that is sold with so many "GB".
    #[must_use]
    pub fn sold_with(gb: u64) -> Option<Self> {
        CARDS.into_iter().rev().find(|card| card.sold_gb == gb)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_has_nearly_what_it_is_sold_with() {
        for card in CARDS {
            // Between GB of a billion bytes less a tenth, and GiB and a fiftieth more.
            assert!(card.bytes > card.sold_gb * 900_000_000, "{card:?}");
            assert!(card.bytes < (card.sold_gb << 30) / 50 * 51, "{card:?}");
            assert_eq!(Card::called(card.name), Some(card));
        }
        assert!(CARDS.is_sorted_by_key(|card| card.bytes));
        assert_eq!(Card::called("RTX 4090").map(|it| it.name), Some("rtx4090"));
        assert_eq!(Card::sold_with(24).map(|it| it.name), Some("rtx3090"));
        assert_eq!(Card::sold_with(70), None);
    }
}
