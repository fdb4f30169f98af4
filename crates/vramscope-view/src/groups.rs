//! What the colours mean: the groups that a colour mode divides the allocations of a snapshot into.

mod segments;

use crate::colour::{self, ColourColumn, ColourMode, Rgb, stable_hash};
use crate::display;
use crate::theme::Theme;
use std::collections::BTreeMap;
use vramscope_core::Snapshot;
use vramscope_core::analysis::call_sites::{CallSiteId, CallSites};
use vramscope_core::analysis::details::stream_numbers;
use vramscope_core::analysis::grouping::stream_labels;
use vramscope_core::analysis::history::History;
use vramscope_core::analysis::places::column;
use vramscope_core::model::{Context, PoolId};

/// PyTorch's categories in the order in which memory is usually stacked; others follow by name.
const CATEGORIES: [&str; 8] = [
    "parameter",
    "gradient",
    "optimizer_state",
    "input",
    "activation",
    "temporary",
    "autograd_detail",
    "unknown",
];

/// Lower ends of the size groups in a legend.
const SIZE_STEPS: [u64; 6] = [1 << 30, 256 << 20, 64 << 20, 1 << 20, 64 << 10, 0];

/// The groups of one snapshot, device and colour mode.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// Per allocation, its group.
    pub group_of: Vec<u32>,
    /// Per group, what it is called.
    pub labels: Vec<String>,
    /// Per group, its colour; in the size and age modes the middle of its range.
    pub rgb: Vec<Rgb>,
    /// Per allocation, its colour.
    pub colours: ColourColumn,
}

/// One group in a legend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupTotal {
    /// Which.
    pub group: u32,
    /// Bytes of the allocations counted.
    pub bytes: u64,
    /// How many allocations.
    pub count: u64,
}

impl Groups {
    /// Groups a device's allocations by `mode`. `site_of` is [`CallSites::of_allocations`].
    #[must_use]
    pub fn of(
        mode: ColourMode,
        theme: &Theme,
        snapshot: &Snapshot,
        history: &History,
        sites: &CallSites,
        site_of: &[CallSiteId],
    ) -> Self {
        match mode {
            ColourMode::CallSite => Self::by_site(theme, sites, site_of),
            ColourMode::Size => Self::by_size(theme, &history.allocations.bytes),
            ColourMode::Age => Self::by_birth(theme, history, &history.allocations.born),
            ColourMode::Stream => {
                let numbers = stream_numbers(snapshot);
                let place: BTreeMap<i64, u32> = numbers.iter().copied().zip(0..).collect();
                let labels = stream_labels(&numbers);
                let number = |stream: i64| place.get(&stream).copied();
                let ordinals = column(
                    snapshot,
                    history,
                    |context| number(context.stream),
                    |segment| number(segment.stream?),
                );
                Self::by_ordinal(theme, labels, ordinals)
            }
            ColourMode::Pool => {
                let pools = pools(snapshot);
                let labels = pools.iter().map(|&pool| pool_label(pool)).collect();
                let number = |pool: PoolId| pools.binary_search(&pool).ok().map(|at| at as u32);
                let ordinals = column(
                    snapshot,
                    history,
                    |context| number(context.pool?),
                    |segment| number(segment.pool?),
                );
                Self::by_ordinal(theme, labels, ordinals)
            }
            ColourMode::Category => {
                let name = |context: &Context| Some(snapshot.strings.get(context.category?));
                let mut names: Vec<&str> = CATEGORIES.to_vec();
                let mut others: Vec<&str> = contexts(snapshot).filter_map(name).collect();
                others.retain(|other| !CATEGORIES.contains(other));
                others.sort_unstable();
                others.dedup();
                names.extend(others);
                let place: BTreeMap<&str, u32> = names.iter().copied().zip(0..).collect();
                let category = |context: &Context| place.get(name(context)?).copied();
                let labels = names.iter().map(|name| name.replace('_', " ")).collect();
                Self::by_ordinal(theme, labels, column(snapshot, history, category, |_| None))
            }
        }
    }

    /// Call sites: colours by their labels.
    fn by_site(theme: &Theme, sites: &CallSites, site_of: &[CallSiteId]) -> Self {
        let labels: Vec<String> = sites
            .sites()
            .iter()
            .map(|site| site.label.clone())
            .collect();
        let hash = |site: usize| (site > 0).then(|| stable_hash(&labels[site]));
        let hashes: Vec<Option<u64>> = (0..labels.len()).map(hash).collect();
        let colours = ColourColumn::by_hash(
            theme,
            site_of
                .iter()
                .map(|site| hashes.get(site.index()).copied().flatten()),
        );
        let rgb = hashes
            .iter()
            .map(|&hash| colour::site_colour(theme, hash))
            .collect();
        Self {
            group_of: site_of.iter().map(|site| site.0).collect(),
            labels,
            rgb,
            colours,
        }
    }

    /// Numbered things; what has no number is the last group.
    fn by_ordinal(theme: &Theme, mut labels: Vec<String>, ordinals: Vec<Option<u32>>) -> Self {
        let unknown = labels.len() as u32;
        let mut rgb: Vec<Rgb> = (0..unknown)
            .map(|ordinal| colour::ordinal_colour(theme, ordinal))
            .collect();
        labels.push("not recorded".to_owned());
        rgb.push(theme.unknown);
        Self {
            group_of: ordinals
                .iter()
                .map(|ordinal| ordinal.unwrap_or(unknown))
                .collect(),
            labels,
            rgb,
            colours: ColourColumn::by_ordinal(theme, ordinals),
        }
    }

    fn by_size(theme: &Theme, bytes: &[u64]) -> Self {
        let group = |size: u64| {
            SIZE_STEPS
                .iter()
                .position(|&step| size >= step)
                .unwrap_or(0) as u32
        };
        let labels = SIZE_STEPS
            .iter()
            .enumerate()
            .map(|(i, &step)| match (i, step) {
                (_, 0) => format!("below {}", display::bytes(SIZE_STEPS[i - 1])),
                (0, step) => format!("{} and more", display::bytes(step)),
                (i, step) => format!(
                    "{} to {}",
                    display::bytes(step),
                    display::bytes(SIZE_STEPS[i - 1])
                ),
            });
        let middles = SIZE_STEPS.map(|step| step.max(1 << 12) * 2);
        let of_middles = ColourColumn::by_size(theme, &middles);
        Self {
            group_of: bytes.iter().map(|&size| group(size)).collect(),
            labels: labels.collect(),
            rgb: (0..SIZE_STEPS.len()).map(|i| of_middles.rgb(i)).collect(),
            colours: ColourColumn::by_size(theme, bytes),
        }
    }

    /// Before recording, then the recording in five parts.
    fn by_birth(theme: &Theme, history: &History, born: &[u32]) -> Self {
        const PARTS: u32 = 5;
        let moments = history.event_count as usize + 1;
        let part_events = history.event_count.div_ceil(PARTS).max(1);
        let group = |moment: u32| match moment {
            0 => 0,
            moment => 1 + ((moment - 1) / part_events).min(PARTS - 1),
        };
        let labels = (0..=PARTS).map(|part| match part {
            0 => "before recording".to_owned(),
            part => {
                let first = (part - 1) * part_events;
                let end = (part * part_events).min(history.event_count);
                let last = u64::from(end.saturating_sub(1));
                format!(
                    "events {} to {}",
                    display::count(u64::from(first)),
                    display::count(last)
                )
            }
        });
        let middles: Vec<u32> = (0..=PARTS)
            .map(|part| (part * part_events).saturating_sub(part_events / 2))
            .collect();
        let of_middles = ColourColumn::by_age(theme, &middles, moments);
        Self {
            group_of: born.iter().map(|&moment| group(moment)).collect(),
            labels: labels.collect(),
            rgb: (0..middles.len()).map(|i| of_middles.rgb(i)).collect(),
            colours: ColourColumn::by_age(theme, born, moments),
        }
    }

    /// Sums `rows` by group: the groups that occur, the largest first.
    #[must_use]
    pub fn totals(&self, bytes: &[u64], rows: impl IntoIterator<Item = u32>) -> Vec<GroupTotal> {
        let group = |group| GroupTotal {
            group,
            bytes: 0,
            count: 0,
        };
        let mut totals: Vec<GroupTotal> = (0..self.labels.len() as u32).map(group).collect();
        for row in rows {
            let place = self.group_of.get(row as usize).copied().unwrap_or(u32::MAX);
            if let (Some(total), Some(&bytes)) =
                (totals.get_mut(place as usize), bytes.get(row as usize))
            {
                total.bytes = total.bytes.saturating_add(bytes);
                total.count += 1;
            }
        }
        totals.retain(|total| total.count > 0);
        totals.sort_by_key(|total| (std::cmp::Reverse(total.bytes), total.group));
        totals
    }
}

fn contexts(snapshot: &Snapshot) -> impl Iterator<Item = &Context> {
    snapshot.contexts.rows().iter()
}

/// Every pool that a file names, ascending; a pool's place is the number of its colour.
#[must_use]
pub fn pools(snapshot: &Snapshot) -> Vec<PoolId> {
    let of_events = contexts(snapshot).filter_map(|context| context.pool);
    let segments = snapshot.segments.rows.iter();
    let of_segments = segments.filter_map(|segment| segment.pool);
    let mut pools: Vec<PoolId> = of_events.chain(of_segments).collect();
    pools.sort_unstable();
    pools.dedup();
    pools
}

/// What a memory pool is called.
#[must_use]
pub fn pool_label(pool: PoolId) -> String {
    pool.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::analysis::frames::FrameClasses;
    use vramscope_synth::{snapshot::Producer, text};

    const MODES: [ColourMode; 6] = [
        ColourMode::CallSite,
        ColourMode::Size,
        ColourMode::Stream,
        ColourMode::Pool,
        ColourMode::Category,
        ColourMode::Age,
    ];

    fn groups(mode: ColourMode) -> (Groups, Vec<u64>) {
        let written = "alloc a 4MiB main.py:10:train\nalloc b 2KiB main.py:20:step\n\
                       alloc c 1MiB main.py:10:train\nfree b";
        let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
        let snapshot = vramscope_core::decode(bytes.as_slice()).unwrap();
        let history = History::of(&snapshot, 0);
        let classes = FrameClasses::of(&snapshot);
        let sites = CallSites::of(&snapshot, &classes, std::slice::from_ref(&history));
        let site_of = sites.of_allocations(&snapshot, &history);
        let theme = Theme::light();
        let groups = Groups::of(mode, &theme, &snapshot, &history, &sites, &site_of);
        (groups, history.allocations.bytes)
    }

    #[test]
    fn every_allocation_has_a_group_and_a_colour_in_every_mode() {
        for mode in MODES {
            let (groups, bytes) = groups(mode);
            assert_eq!(groups.group_of.len(), bytes.len());
            assert_eq!(groups.colours.index.len(), bytes.len());
            assert_eq!(groups.labels.len(), groups.rgb.len());
            assert!(
                groups
                    .group_of
                    .iter()
                    .all(|&group| (group as usize) < groups.labels.len())
            );
            let totals = groups.totals(&bytes, 0..bytes.len() as u32);
            let sum: u64 = totals.iter().map(|total| total.bytes).sum();
            assert_eq!(sum, bytes.iter().sum::<u64>(), "{mode:?}");
            assert!(totals.is_sorted_by_key(|total| std::cmp::Reverse(total.bytes)));
        }
    }

    #[test]
    fn one_place_in_the_code_is_one_group() {
        let (groups, bytes) = groups(ColourMode::CallSite);
        let totals = groups.totals(&bytes, 0..bytes.len() as u32);
        assert_eq!(totals.len(), 2);
        assert_eq!((totals[0].bytes, totals[0].count), (5 << 20, 2));
        assert!(groups.labels[totals[0].group as usize].contains("main.py:10"));
    }

    #[test]
    fn what_only_the_final_state_tells_has_a_stream_and_a_pool() {
        let json = br#"{"segments": [{"device": 0, "address": 4096, "total_size": 512, "stream": 7,
            "segment_pool_id": [0, 3], "blocks": [{"address": 4096, "size": 512, "requested_size": 512,
            "state": "active_allocated"}]}], "device_traces": [[]]}"#;
        let snapshot = vramscope_core::decode(json.as_slice()).unwrap();
        let history = History::of(&snapshot, 0);
        let classes = FrameClasses::of(&snapshot);
        let sites = CallSites::of(&snapshot, &classes, std::slice::from_ref(&history));
        let label = |mode| {
            let site_of = sites.of_allocations(&snapshot, &history);
            let groups = Groups::of(mode, &Theme::light(), &snapshot, &history, &sites, &site_of);
            groups.labels[groups.group_of[0] as usize].clone()
        };
        assert_eq!(label(ColourMode::Stream), "stream 1 (0x7)");
        assert_eq!(label(ColourMode::Pool), "private pool (0, 3)");
    }

    #[test]
    fn sizes_fall_into_their_range() {
        let (groups, _) = groups(ColourMode::Size);
        let label = |row: usize| groups.labels[groups.group_of[row] as usize].as_str();
        assert_eq!(label(0), "1.00 MiB to 64.0 MiB");
        assert_eq!(label(1), "below 64.0 KiB");
    }
}
