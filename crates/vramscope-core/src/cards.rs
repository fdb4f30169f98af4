//! GPUs by name, with the memory that programs find on them: a "24 GB" card has neither 24 GB nor 24 GiB of it.
//!
//! The figures are the "total capacity" in torch's out-of-memory messages in public reports, the lowest of several for
//! each card: drivers and ECC differ by a few hundred MiB, and what fits into the least fits into all.

use crate::units::Bytes;

/// A GPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Card {
    /// The name, with the size if several sizes have the same name: `A100 80 GB`.
    pub name: &'static str,
    /// The advertised size, in GB.
    pub sold_gb: u64,
    /// The memory that programs find, in hundredths of a GiB.
    hundredths: u64,
}

/// The cards, the smallest first.
pub const CARDS: [Card; 19] = [
    card("RTX 3060 12 GB", 12, 11_63),
    card("T4", 16, 14_56),
    card("RTX A4000", 16, 15_57),
    card("V100 16 GB", 16, 15_75),
    card("L4", 24, 21_95),
    card("A10G", 24, 21_98),
    card("RTX 4090", 24, 23_52),
    card("RTX 3090", 24, 23_68),
    card("RTX 5090", 32, 31_36),
    card("V100 32 GB", 32, 31_74),
    card("A100 40 GB", 40, 39_38),
    card("L40S", 48, 44_39),
    card("RTX A6000, 6000 Ada", 48, 47_40),
    card("H100 80 GB", 80, 79_10),
    card("A100 80 GB", 80, 79_14),
    card("RTX PRO 6000", 96, 94_96),
    card("H200", 141, 13_972),
    card("B200", 180, 17_835),
    card("MI300X", 192, 19_169),
];

const fn card(name: &'static str, sold_gb: u64, hundredths: u64) -> Card {
    Card {
        name,
        sold_gb,
        hundredths,
    }
}

/// Words that distinguish cards of the same size and memory, and are ignored: torch and nvidia-smi write
/// `NVIDIA A100-SXM4-80GB`.
const IDLE_WORDS: [&str; 14] = [
    "sxm2",
    "sxm3",
    "sxm4",
    "sxm5",
    "pcie",
    "hbm2",
    "hbm2e",
    "hbm3",
    "hbm3e",
    "blackwell",
    "workstation",
    "server",
    "edition",
    "generation",
];
/// Optional words before a name.
const MAKERS_WORDS: [&str; 6] = ["nvidia", "geforce", "quadro", "tesla", "amd", "rtx"];

/// The part of a name to compare: its letters in lower case, and its digits.
fn plain(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let words = lower.split(|letter: char| !letter.is_ascii_alphanumeric());
    let joined: String = words.filter(|word| !IDLE_WORDS.contains(word)).collect();
    let mut rest = joined.as_str();
    while let Some(shorter) = MAKERS_WORDS.iter().find_map(|word| rest.strip_prefix(word)) {
        rest = shorter;
    }
    rest.to_owned()
}

impl Card {
    /// The card with this name, as torch, nvidia-smi or people write it: `NVIDIA GeForce RTX 4090`, `a100-80gb`, `h200`.
    /// A name without a size means the smallest: `a100`.
    #[must_use]
    pub fn called(name: &str) -> Option<&'static Self> {
        let asked = plain(name);
        CARDS.iter().find(|card| card.names().contains(&asked))
    }

    /// All names of the card in [plain] letters: with its size, with the size but no unit, and without both.
    fn names(&self) -> Vec<String> {
        let gb = self.sold_gb;
        let size = format!(" {gb} GB");
        let bare = self.name.strip_suffix(&size).unwrap_or(self.name);
        let each = bare.split(", ").chain([bare]).map(plain);
        each.flat_map(|name| [format!("{name}{gb}gb"), format!("{name}{gb}"), name])
            .collect()
    }

    /// The cards whose names share the longest beginning with this one, to suggest; none if no two letters agree.
    #[must_use]
    pub fn near(name: &str) -> Vec<&'static str> {
        let asked = plain(name);
        let shared = |card: &Self| {
            let names = card.names().into_iter();
            let shared = names.map(|name| {
                let pairs = name.bytes().zip(asked.bytes());
                pairs.take_while(|(own, other)| own == other).count()
            });
            shared.max().unwrap_or(0)
        };
        let most = CARDS.iter().map(shared).max().unwrap_or(0);
        let near = CARDS
            .iter()
            .filter(|card| most >= 2 && shared(card) == most);
        near.map(|card| card.name).collect()
    }

    /// The memory that a program finds on it.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        (self.hundredths * (1 << 30)).div_ceil(100)
    }

    /// The memory as a size to type: `23.52GiB`.
    #[must_use]
    pub fn typed(&self) -> String {
        let (whole, rest) = (self.hundredths / 100, self.hundredths % 100);
        format!("{whole}.{rest:02}GiB")
    }
}

/// The smallest known card with at least this many bytes.
#[must_use]
pub fn smallest_with(bytes: u64) -> Option<&'static Card> {
    CARDS.iter().find(|card| card.bytes() >= bytes)
}

/// Asks back if the typed size is one that cards are advertised with, such as `24GB`, because no such card has exactly
/// that much. `None` for all other texts, sizes with binary units included.
#[must_use]
pub fn is_a_card_meant(typed: &str) -> Option<String> {
    const GB: u64 = 1_000_000_000;
    let lower = typed.trim().to_lowercase();
    let gb: u64 = lower.strip_suffix("gb")?.trim_end().parse().ok()?;
    let sold = CARDS.iter().filter(|card| card.sold_gb == gb);
    let sold: Vec<String> = sold
        .map(|card| format!("{} ({})", card.typed(), card.name))
        .collect();
    let exactly = Bytes(gb.saturating_mul(GB)).to_digits(4).replace(' ', "");
    (!sold.is_empty()).then(|| {
        format!(
            "{gb} GB is {exactly}, but cards sold as {gb} GB hold a different amount: write {}, or {exactly} if that is meant.",
            sold.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_in_order_and_near_the_size_they_are_sold_with() {
        assert!(CARDS.is_sorted_by_key(Card::bytes));
        for card in CARDS {
            // No card has as many GiB as it promises GB, and each has at least nine tenths of them.
            let sold = card.sold_gb << 30;
            let found = card.bytes();
            assert!(found < sold && found > sold / 10 * 9, "{}", card.name);
        }
    }

    #[test]
    fn a_card_is_found_by_its_name() {
        let name = |typed| Card::called(typed).map(|card| card.name);
        for card in &CARDS {
            assert_eq!(name(card.name), Some(card.name));
        }
        for (typed, expected) in [
            ("rtx4090", "RTX 4090"),
            ("4090", "RTX 4090"),
            ("3090", "RTX 3090"),
            ("5090", "RTX 5090"),
            ("h100", "H100 80 GB"),
            ("a100-80gb", "A100 80 GB"),
            ("a100-40", "A100 40 GB"),
            // Of two cards with this name, the smaller one.
            ("a100", "A100 40 GB"),
            ("v100", "V100 16 GB"),
            ("l4", "L4"),
            ("L40s", "L40S"),
            ("h200", "H200"),
            ("b200", "B200"),
            ("t4", "T4"),
            ("a6000", "RTX A6000, 6000 Ada"),
            // As torch and nvidia-smi write them.
            ("NVIDIA GeForce RTX 4090", "RTX 4090"),
            ("NVIDIA GeForce RTX 3060", "RTX 3060 12 GB"),
            ("NVIDIA A100-SXM4-80GB", "A100 80 GB"),
            ("NVIDIA A100 80GB PCIe", "A100 80 GB"),
            ("NVIDIA A100-PCIE-40GB", "A100 40 GB"),
            ("NVIDIA H100 80GB HBM3", "H100 80 GB"),
            ("NVIDIA H100 PCIe", "H100 80 GB"),
            ("Tesla T4", "T4"),
            ("Tesla V100-SXM2-32GB", "V100 32 GB"),
            ("NVIDIA RTX A6000", "RTX A6000, 6000 Ada"),
            ("NVIDIA RTX 6000 Ada Generation", "RTX A6000, 6000 Ada"),
            (
                "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
                "RTX PRO 6000",
            ),
            ("NVIDIA A10G", "A10G"),
        ] {
            assert_eq!(name(typed), Some(expected), "{typed}");
        }
        // Other cards, and texts that are not names: sizes, or nothing.
        for typed in [
            "a10",
            "l40",
            "NVIDIA H100 NVL",
            "NVIDIA GeForce RTX 4090 Laptop GPU",
            "",
            "24",
            "80 GB",
            "24000000000",
            "rtx",
        ] {
            assert_eq!(name(typed), None, "{typed}");
        }
    }

    #[test]
    fn cards_near_an_unknown_one_are_found() {
        assert_eq!(Card::near("rtx 4080"), ["RTX 4090"]);
        assert_eq!(Card::near("NVIDIA H100 NVL"), ["H100 80 GB"]);
        assert_eq!(Card::near("NVIDIA L40"), ["L40S"]);
        assert_eq!(Card::near("a10"), ["A10G", "A100 40 GB", "A100 80 GB"]);
        assert!(Card::near("much").is_empty() && Card::near("").is_empty());
    }

    #[test]
    fn the_smallest_card_with_enough_is_found() {
        let name = |bytes| smallest_with(bytes).map(|card| card.name);
        assert_eq!(name(24 << 30), Some("RTX 5090"));
        assert_eq!(name(CARDS[1].bytes()), Some(CARDS[1].name));
        assert_eq!(name(1 << 40), None);
    }

    #[test]
    fn a_size_of_cards_asks_which_is_meant() {
        let asked = is_a_card_meant(" 80 gb").unwrap();
        assert_eq!(
            asked,
            "80 GB is 74.51GiB, but cards sold as 80 GB hold a different amount: write 79.10GiB (H100 80 GB), \
             79.14GiB (A100 80 GB), or 74.51GiB if that is meant."
        );
        for other in [
            "80GiB",
            "81GB",
            "80000000000",
            "80.0GB",
            "GB",
            "",
            "99999999999999999999GB",
        ] {
            assert_eq!(is_a_card_meant(other), None, "{other}");
        }
    }
}
