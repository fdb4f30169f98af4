//! The largest groups of a recording, which get the distinct colours.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::properties::Names;
use vramscope_core::analysis::recording::Recording;
use vramscope_core::analysis::time::history::History;
use vramscope_core::sorting::SortFew;

use super::{DISTINCT, Rgb, entry_colour, ring_entry, stable_hash};
use crate::theme::Theme;

/// Assigns the distinct colours to texts. Each text gets the colour that its hash selects, unless a larger group has it
/// already, so most colours are the same in all files. Texts of smaller groups have paler colours, by their hash alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Leaders {
    /// Hashes of texts, with their indexes among the distinct colours.
    places: Vec<(u64, u8)>,
}

/// The size of a group.
#[derive(Clone, Copy, Default)]
struct Extent {
    peak_bytes: u64,
    /// Bytes times events: its area in the timeline.
    area: u128,
}

impl Leaders {
    /// The leaders among a recording's call sites: those of its device with the highest peak.
    #[must_use]
    pub fn of_sites(recording: &Recording) -> Self {
        let devices = recording.devices();
        let Some(device) = devices.reduce(|a, b| {
            if b.peak_bytes() > a.peak_bytes() {
                b
            } else {
                a
            }
        }) else {
            return Self::default();
        };
        let sites = device.call_sites().sites().iter();
        let hashes: Vec<u64> = sites.map(|site| stable_hash(&site.label)).collect();
        let row_of = device.site_of().iter().map(|site| site.0);
        Self::of(device.history, row_of, &hashes)
    }

    /// The leaders: alternately a group with the most bytes at the peak and one with the largest area in the timeline.
    /// `row_of`: for each allocation, its row in `hashes`, whose row 0 stands for unknown.
    pub(crate) fn of(history: &History, row_of: impl Iterator<Item = u32>, hashes: &[u64]) -> Self {
        let extents = extents(history, row_of, hashes.len());
        let mut by_peak: Vec<usize> = (1..extents.len()).collect();
        by_peak.retain(|&row| extents[row].area > 0);
        let mut by_area = by_peak.clone();
        by_peak.sort_few_by_key(|&row| std::cmp::Reverse(extents[row].peak_bytes));
        by_area.sort_few_by_key(|&row| std::cmp::Reverse(extents[row].area));
        let mut leaders = Self::default();
        for (of_peak, of_area) in by_peak.into_iter().zip(by_area) {
            leaders.add(hashes[of_peak]);
            leaders.add(hashes[of_area]);
            if leaders.places.len() == DISTINCT.len() {
                break;
            }
        }
        leaders
    }

    pub(crate) fn of_names(history: &History, names: &Names<'_>) -> Self {
        let hashes = names.labels.iter().map(|label| stable_hash(label));
        let hashes: Vec<u64> = [0].into_iter().chain(hashes).collect();
        let rows = 0..history.allocations.len();
        Self::of(
            history,
            rows.map(|row| (names.of)(row).wrapping_add(1)),
            &hashes,
        )
    }

    fn add(&mut self, hash: u64) {
        let count = DISTINCT.len();
        if self.places.iter().any(|(known, _)| *known == hash) {
            return;
        }
        let wanted = (hash % count as u64) as usize;
        let mut places = (wanted..wanted + count).map(|place| (place % count) as u8);
        let free = places.find(|place| self.places.iter().all(|(_, taken)| taken != place));
        self.places.extend(free.map(|place| (hash, place)));
    }

    /// The palette index for a text, given by its hash.
    pub(super) fn entry(&self, hash: u64) -> usize {
        let leader = self.places.iter().find(|(known, _)| *known == hash);
        leader.map_or_else(|| ring_entry(hash), |&(_, place)| place.into())
    }

    /// The colour of a text, given by its [`stable_hash`], without the step that separates neighbours; for legends, flame
    /// graphs and tables. `None` means the colour of unknown.
    #[must_use]
    pub fn colour(&self, theme: &Theme, hash: Option<u64>) -> Rgb {
        hash.map_or(theme.unknown, |hash| {
            entry_colour(theme, self.entry(hash), 0.0)
        })
    }
}

fn extents(history: &History, row_of: impl Iterator<Item = u32>, rows: usize) -> Vec<Extent> {
    let allocations = &history.allocations;
    let (peak, end) = (history.peak_moment, history.event_count.saturating_add(1));
    let mut extents = vec![Extent::default(); rows];
    for (id, row) in row_of.enumerate().take(allocations.len()) {
        let Some(extent) = extents.get_mut(row as usize) else {
            continue;
        };
        let (born, died) = (allocations.born[id], allocations.died[id]);
        let bytes = allocations.bytes[id];
        if born <= peak && peak < died {
            extent.peak_bytes = extent.peak_bytes.saturating_add(bytes);
        }
        let events = died.min(end).saturating_sub(born);
        let area = u128::from(bytes) * u128::from(events);
        extent.area = extent.area.saturating_add(area);
    }
    extents
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use vramscope_synth::{snapshot::Producer, text};

    fn leaders(written: &str) -> Leaders {
        let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
        Leaders::of_sites(&recording)
    }

    #[test]
    fn the_largest_call_sites_have_colours_of_their_own() {
        let lines = (0..40).map(|i| format!("alloc a{i} {}MiB main.py:{}:train", 100 - i, i + 1));
        let of = leaders(&lines.collect::<Vec<_>>().join("\n"));
        let places: HashSet<u8> = of.places.iter().map(|(_, place)| *place).collect();
        assert_eq!(places.len(), DISTINCT.len());
        let theme = Theme::light();
        let colour = |line: u32| {
            let label = format!("main.py:{line} train");
            of.colour(&theme, Some(stable_hash(&label)))
        };
        // All are live at the peak; the first to be allocated are the largest and live longest.
        let largest: HashSet<Rgb> = (1..=DISTINCT.len() as u32).map(colour).collect();
        assert_eq!(largest.len(), DISTINCT.len());
        assert!((20..40).all(|line| !largest.contains(&colour(line))));
    }

    #[test]
    fn what_is_large_but_not_at_the_peak_leads_too() {
        let written = "alloc a 9MiB main.py:1:forward\nfree a\nalloc b 10MiB main.py:2:step";
        assert_eq!(leaders(written).places.len(), 2);
        assert_eq!(leaders("alloc a 1MiB"), Leaders::default());
    }

    #[test]
    fn a_leader_keeps_the_colour_of_its_hash_unless_a_larger_one_has_it() {
        let mut of = Leaders::default();
        for hash in [4, 13, 4, 5] {
            of.add(hash);
        }
        assert_eq!(of.places, [(4, 4), (13, 5), (5, 6)]);
    }
}
