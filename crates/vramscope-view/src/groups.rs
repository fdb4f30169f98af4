//! The groups that a colour mode divides the allocations of a snapshot into, with their colours.

mod segments;

use std::ops::RangeInclusive;

use crate::colour::{self, ColourColumn, ColourMode, Leaders, Rgb, stable_hash};
use crate::display;
use crate::theme::Theme;
use vramscope_core::analysis::code::call_sites::{CallSiteId, CallSites};
use vramscope_core::analysis::code::operators::{OperatorId, Operators};
use vramscope_core::analysis::groups::grouping::{GroupBy, GroupColumn, NOT_RECORDED};
use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::roles::Role;
use vramscope_core::analysis::search::filter::{Filter, rows};
use vramscope_core::analysis::time::history::History;
use vramscope_core::sorting::SortFew;

/// Lower bounds of the size groups, in bytes.
const SIZE_STEPS: [u64; 6] = [1 << 30, 256 << 20, 64 << 20, 1 << 20, 64 << 10, 0];

/// The groups of one snapshot, device and colour mode.
#[derive(Clone, Debug, Default)]
pub struct Groups {
    /// Per allocation, the number of its group.
    pub group_of: Vec<u32>,
    /// Per group, its label.
    pub labels: Vec<String>,
    /// Per group, its colour; for size and age, the colour of the middle of its range.
    pub rgb: Vec<Rgb>,
    /// Per allocation, its colour.
    pub colours: ColourColumn,
    by: By,
}

/// How a group turns into a filter.
#[derive(Clone, Debug, Default)]
enum By {
    /// Groups of segments, for which there is no filter.
    #[default]
    Segments,
    CallSite,
    Operator,
    Size,
    Birth(BirthParts),
    /// Per group, its filter.
    Column(Vec<Filter>),
}

/// A recording divided into [`Self::PARTS`] parts of equally many events.
#[derive(Clone, Copy, Debug)]
struct BirthParts {
    part_events: u32,
    event_count: u32,
}

impl BirthParts {
    const PARTS: u32 = 5;

    fn of(history: &History) -> Self {
        Self {
            part_events: history.event_count.div_ceil(Self::PARTS).max(1),
            event_count: history.event_count,
        }
    }

    /// The group of allocations born at a moment. Group 0 is before the recording.
    fn group(self, moment: u32) -> u32 {
        match moment {
            0 => 0,
            moment => 1 + ((moment - 1) / self.part_events).min(Self::PARTS - 1),
        }
    }

    /// The first and the last moment of a group; `None` for group 0, before the recording.
    fn moments(self, group: u32) -> Option<(u32, u32)> {
        let first = group.checked_sub(1)? * self.part_events + 1;
        Some((first, (group * self.part_events).min(self.event_count)))
    }
}

/// The total of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupTotal {
    /// Number of the group.
    pub group: u32,
    /// Total bytes of its counted allocations.
    pub bytes: u64,
    /// Number of its counted allocations.
    pub count: u64,
}

impl Groups {
    /// Groups a device's allocations by `mode`. `leaders` are those of the recording's call sites.
    #[must_use]
    pub fn of(mode: ColourMode, theme: &Theme, leaders: &Leaders, device: Device<'_>) -> Self {
        if let Some(usual) = Self::usual(mode, theme, leaders, device) {
            return usual;
        }
        let history = device.history;
        let column = |by| Self::of_column(theme, GroupColumn::of(device, by, 1), by_order);
        match mode {
            ColourMode::Operator => {
                let operators = device.call_sites().operators();
                let of = device.operator_of();
                let hashes: Vec<u64> = operators
                    .labels()
                    .iter()
                    .map(|label| stable_hash(label))
                    .collect();
                let leaders = Leaders::of(history, of.iter().map(|operator| operator.0), &hashes);
                Self::by_operator(theme, &leaders, operators, of)
            }
            ColourMode::Function => Self::by_name(theme, device, GroupBy::Function),
            ColourMode::File => Self::by_name(theme, device, GroupBy::File),
            ColourMode::Module => Self::by_name(theme, device, GroupBy::Module),
            ColourMode::Package => Self::by_name(theme, device, GroupBy::Package),
            ColourMode::Annotation => Self::by_name(theme, device, GroupBy::Annotation),
            ColourMode::Age => Self::by_birth(theme, history, &history.allocations.born),
            ColourMode::Stream => column(GroupBy::Stream),
            ColourMode::Pool => column(GroupBy::Pool),
            ColourMode::Category => {
                let column = GroupColumn::of(device, GroupBy::Category, 1);
                Self::of_column(theme, column, by_role)
            }
            // The others are usual.
            _ => Self::default(),
        }
    }

    /// The same for the modes that a picture can have before anybody chooses one ([`ColourMode::usual`]); `None` for
    /// the others.
    #[must_use]
    pub fn usual(
        mode: ColourMode,
        theme: &Theme,
        leaders: &Leaders,
        device: Device<'_>,
    ) -> Option<Self> {
        Some(match mode {
            ColourMode::CallSite => {
                Self::by_site(theme, leaders, device.call_sites(), device.site_of())
            }
            ColourMode::Role => Self::of_column(theme, GroupColumn::of_roles(device), by_role),
            ColourMode::Size => Self::by_size(theme, &device.history.allocations.bytes),
            _ => return None,
        })
    }

    /// The filter that finds exactly the allocations of a group; `None` for groups of segments, and for names that no
    /// filter tells exactly.
    #[must_use]
    pub fn filter(&self, group: u32) -> Option<Filter> {
        let place = group as usize;
        match &self.by {
            By::Segments => None,
            By::CallSite => Some(rows::of_call_site(self.labels.get(place)?)),
            By::Operator if group == 0 => Some(rows::without_operator()),
            By::Operator => Some(rows::of_operator(self.labels.get(place)?)),
            By::Size => {
                let from_bytes = *SIZE_STEPS.get(place)?;
                let below = place.checked_sub(1).map(|larger| SIZE_STEPS[larger]);
                Some(rows::of_size(from_bytes, below))
            }
            By::Birth(parts) => Some(match parts.moments(group) {
                None => rows::born_before(),
                Some((first, last)) => rows::born_in(first, last),
            }),
            By::Column(filters) => filters.get(place).cloned(),
        }
    }

    /// Groups from a column of core. Its last group holds allocations without a recorded value.
    fn of_column(theme: &Theme, column: GroupColumn, hue: fn(u32, &str) -> Option<u32>) -> Self {
        Self {
            by: By::Column(column.filters),
            ..Self::by_number(theme, column.labels, column.of, hue)
        }
    }

    /// Groups by a column of names, of which the largest have the distinct colours. There are no filters for them.
    fn by_name(theme: &Theme, device: Device<'_>, by: GroupBy) -> Self {
        let column = GroupColumn::of(device, by, 1);
        let unknown = &device.call_sites().get(CallSiteId::NONE).label;
        let unknown = column.labels.iter().position(|label| label == unknown);
        // Row 0 is for what has no name, so the others come one later.
        let row = |group: u32| match unknown {
            Some(unknown) if unknown == group as usize => 0,
            _ => group + 1,
        };
        let row_of: Vec<u32> = column.of.into_iter().map(row).collect();
        let labels = std::iter::once(NOT_RECORDED.to_owned()).chain(column.labels);
        let labels: Vec<String> = labels.collect();
        let hashes: Vec<u64> = labels.iter().map(|label| stable_hash(label)).collect();
        let leaders = Leaders::of(device.history, row_of.iter().copied(), &hashes);
        let rows = row_of.iter().copied();
        Self::by_label(theme, &leaders, By::Column(Vec::new()), labels, rows)
    }

    /// Groups with a label each, coloured by it. Row 0 is for allocations without one.
    fn by_label(
        theme: &Theme,
        leaders: &Leaders,
        by: By,
        labels: Vec<String>,
        row_of: impl Iterator<Item = u32> + Clone,
    ) -> Self {
        let hash = |row: usize| (row > 0).then(|| stable_hash(&labels[row]));
        let hashes: Vec<Option<u64>> = (0..labels.len()).map(hash).collect();
        let rgb = hashes.iter().map(|&hash| leaders.colour(theme, hash));
        Self {
            rgb: rgb.collect(),
            colours: ColourColumn::by_text(theme, leaders, &hashes, row_of.clone()),
            group_of: row_of.collect(),
            labels,
            by,
        }
    }

    fn by_site(
        theme: &Theme,
        leaders: &Leaders,
        sites: &CallSites,
        site_of: &[CallSiteId],
    ) -> Self {
        let labels = sites.sites().iter().map(|site| site.label.clone());
        let row_of = site_of.iter().map(|site| site.0);
        Self::by_label(theme, leaders, By::CallSite, labels.collect(), row_of)
    }

    fn by_operator(
        theme: &Theme,
        leaders: &Leaders,
        operators: &Operators,
        operator_of: &[OperatorId],
    ) -> Self {
        let mut labels = operators.labels().to_vec();
        labels[OperatorId::NONE.index()] = NOT_RECORDED.to_owned();
        let row_of = operator_of.iter().map(|operator| operator.0);
        Self::by_label(theme, leaders, By::Operator, labels, row_of)
    }

    /// Numbered groups. The last is for rows without a number. `hue` chooses a group's colour by its number and label.
    fn by_number(
        theme: &Theme,
        labels: Vec<String>,
        group_of: Vec<u32>,
        hue: fn(u32, &str) -> Option<u32>,
    ) -> Self {
        let known = labels.split_last().map_or(&[][..], |(_, known)| known);
        let hues = (0..).zip(known).map(|(number, label)| hue(number, label));
        let hues: Vec<Option<u32>> = hues.chain([None]).collect();
        let rgb = hues.iter().map(|hue| hue_colour(theme, *hue));
        let hue_of = |&group: &u32| hues.get(group as usize).copied().flatten();
        Self {
            rgb: rgb.collect(),
            colours: ColourColumn::by_ordinal(theme, group_of.iter().map(hue_of)),
            group_of,
            labels,
            by: By::Segments,
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
            by: By::Size,
        }
    }

    /// Groups by birth: before the recording, then the recording in five parts.
    fn by_birth(theme: &Theme, history: &History, born: &[u32]) -> Self {
        let parts = BirthParts::of(history);
        let moments = history.event_count as usize + 1;
        let groups = 0..=BirthParts::PARTS;
        let labels = groups.clone().map(|group| match parts.moments(group) {
            None => "before recording".to_owned(),
            Some((first, last)) => format!(
                "events {} to {}",
                display::count(u64::from(first)),
                display::count(u64::from(last))
            ),
        });
        let middle = |group: u32| (group * parts.part_events).saturating_sub(parts.part_events / 2);
        let middles: Vec<u32> = groups.map(middle).collect();
        let of_middles = ColourColumn::by_age(theme, &middles, moments);
        Self {
            group_of: born.iter().map(|&moment| parts.group(moment)).collect(),
            labels: labels.collect(),
            rgb: (0..middles.len()).map(|i| of_middles.rgb(i)).collect(),
            colours: ColourColumn::by_age(theme, born, moments),
            by: By::Birth(parts),
        }
    }

    /// The colour of a row's group, as the legend shows it.
    #[must_use]
    pub fn rgb_of(&self, row: usize) -> Rgb {
        let group = self.group_of.get(row).map(|&group| group as usize);
        let rgb = group.and_then(|group| self.rgb.get(group));
        rgb.copied().unwrap_or_default()
    }

    /// Bytes and count of `rows` per group, without empty groups; sorted by bytes, largest first.
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
        totals.sort_few_by_key(|total| (std::cmp::Reverse(total.bytes), total.group));
        totals
    }

    /// The lines of a legend, at most `most`: the totals of `selected` rows, and then, without bytes, groups that none of
    /// these is of but that a picture of these moments shows, those with the largest areas first.
    #[must_use]
    pub fn legend(
        &self,
        lives: Lives<'_>,
        selected: impl IntoIterator<Item = u32>,
        moments: RangeInclusive<u32>,
        most: usize,
    ) -> Vec<GroupTotal> {
        let mut lines = self.totals(lives.bytes, selected);
        let mut areas = vec![0_u128; self.labels.len()];
        for (row, &group) in self.group_of.iter().enumerate() {
            let (born, died) = (lives.born[row], lives.died[row]);
            let shown = died
                .min(moments.end().saturating_add(1))
                .saturating_sub(born.max(*moments.start()));
            if let Some(area) = areas.get_mut(group as usize) {
                *area += u128::from(lives.bytes[row]) * u128::from(shown);
            }
        }
        for line in &lines {
            areas[line.group as usize] = 0;
        }
        let mut others: Vec<u32> = (0..areas.len() as u32).collect();
        others.retain(|&group| areas[group as usize] > 0);
        others.sort_few_by_key(|&group| std::cmp::Reverse(areas[group as usize]));
        others.truncate(OTHERS.min(most));
        lines.truncate(most.saturating_sub(others.len()));
        lines.extend(others.into_iter().map(|group| GroupTotal {
            group,
            bytes: 0,
            count: 0,
        }));
        lines
    }
}

/// The most lines of a legend about what is not selected: about as many as there are distinct colours.
const OTHERS: usize = 10;

/// What a picture draws, by row.
#[derive(Clone, Copy, Debug)]
pub struct Lives<'a> {
    /// The first moment of each.
    pub born: &'a [u32],
    /// The moment after the last.
    pub died: &'a [u32],
    /// Size of each.
    pub bytes: &'a [u64],
}

impl<'a> Lives<'a> {
    /// The allocations of a device.
    #[must_use]
    pub fn of(history: &'a History) -> Self {
        let table = &history.allocations;
        Self {
            born: &table.born,
            died: &table.died,
            bytes: &table.bytes,
        }
    }

    /// The pieces of its segments.
    #[must_use]
    pub fn of_segments(segments: &'a SegmentHistory) -> Self {
        Self {
            born: &segments.born,
            died: &segments.died,
            bytes: &segments.bytes,
        }
    }
}

fn hue_colour(theme: &Theme, hue: Option<u32>) -> Rgb {
    hue.map_or(theme.unknown, |hue| colour::ordinal_colour(theme, hue))
}

fn by_order(number: u32, _: &str) -> Option<u32> {
    Some(number)
}

/// Roles, and categories of the same name, have the roles' colours; other categories have those after them.
fn by_role(number: u32, label: &str) -> Option<u32> {
    match Role::ALL.into_iter().find(|role| role.label() == label) {
        Some(Role::Unknown) => None,
        Some(role) => Some(role.ordinal() as u32),
        None => Some(Role::ALL.len() as u32 + number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vramscope_core::Snapshot;
    use vramscope_core::analysis::recording::Recording;
    use vramscope_core::analysis::search::filter::{Pointed, matches};
    use vramscope_core::ids::AllocationId;
    use vramscope_synth::{snapshot::Producer, text};

    const MODES: [ColourMode; 8] = [
        ColourMode::CallSite,
        ColourMode::Operator,
        ColourMode::Size,
        ColourMode::Stream,
        ColourMode::Pool,
        ColourMode::Category,
        ColourMode::Role,
        ColourMode::Age,
    ];

    fn groups_of(mode: ColourMode, device: Device<'_>) -> Groups {
        let leaders = Leaders::of_sites(device.recording);
        Groups::of(mode, &Theme::light(), &leaders, device)
    }

    fn groups(mode: ColourMode) -> (Groups, Vec<u64>) {
        let written = "alloc a 4MiB main.py:10:train\nalloc b 2KiB main.py:20:step\n\
                       alloc c 1MiB main.py:10:train\nfree b";
        let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
        let groups = groups_of(mode, recording.device(0).unwrap());
        (groups, recording.histories[0].allocations.bytes.clone())
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

    /// A legend of what is live at the peak names the colours of all else that is drawn, too.
    #[test]
    fn a_legend_names_every_colour_that_is_drawn() {
        let written = "alloc a 1MiB main.py:1:early\nfree a\nalloc b 9MiB main.py:2:peak\nfree b\nalloc c 2MiB main.py:3:late\nfree c";
        let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
        let device = recording.device(0).unwrap();
        let (groups, history) = (groups_of(ColourMode::CallSite, device), device.history);
        let lines = |moments, most| {
            let live =
                (0..3).filter(|&row| history.is_live(AllocationId(row), history.peak_moment));
            let lines = groups.legend(Lives::of(history), live, moments, most);
            let name =
                |line: &GroupTotal| (groups.labels[line.group as usize].clone(), line.bytes >> 20);
            lines.iter().map(name).collect::<Vec<_>>()
        };
        let named = |names: &[(&str, u64)]| {
            let owned = names.iter().map(|&(name, mib)| (name.to_owned(), mib));
            owned.collect::<Vec<_>>()
        };
        let (peak, late, early) = (
            ("main.py:2 peak", 9),
            ("main.py:3 late", 0),
            ("main.py:1 early", 0),
        );
        assert_eq!(
            lines(0..=history.event_count, 40),
            named(&[peak, late, early])
        );
        assert_eq!(lines(0..=1, 40), named(&[peak, early]));
        assert_eq!(lines(0..=history.event_count, 2), named(&[late, early]));
        assert_eq!(lines(0..=history.event_count, 0), []);
    }

    #[test]
    fn code_and_ranges_are_groups_by_name() {
        let written = "alloc z 1MiB\nbegin \"step 1\"\nwait 10us\nalloc a 4MiB main.py:10:train\nalloc b 2KiB main.py:20:train\n\
                       alloc c 1MiB data.py:3:load\nwait 10us\nend \"step 1\"\nwait 10us\nalloc d 8";
        let bytes = text::pickle(written, Producer::Python(2, 15)).unwrap();
        let recording = Recording::of(vramscope_core::decode(bytes.as_slice()).unwrap());
        let labels = |mode| {
            let groups = groups_of(mode, recording.device(0).unwrap());
            let label = |group: &u32| groups.labels[*group as usize].clone();
            let labels: Vec<String> = groups.group_of.iter().map(label).collect();
            labels.join(", ")
        };
        let none = NOT_RECORDED;
        let (function, file) = (labels(ColourMode::Function), labels(ColourMode::File));
        assert_eq!(
            function,
            format!("{none}, main.py train, main.py train, data.py load, {none}")
        );
        assert_eq!(file, format!("{none}, main.py, main.py, data.py, {none}"));
        let around = labels(ColourMode::Annotation);
        assert!(
            around.contains(", step 1, step 1, step 1, outside"),
            "{around}"
        );
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
        let recording = Recording::of(vramscope_core::decode(json.as_slice()).unwrap());
        let label = |mode| {
            let groups = groups_of(mode, recording.device(0).unwrap());
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

    /// The filter of a legend's row finds exactly the allocations that the row counts, whatever the
    /// file holds.
    #[test]
    fn the_filter_of_a_group_finds_exactly_its_allocations() {
        let mut searched = 0;
        for snapshot in fixtures() {
            let recording = Recording::of(snapshot);
            for device in recording.devices() {
                for mode in MODES {
                    let groups = groups_of(mode, device);
                    let allocations = &device.history.allocations;
                    let all = 0..allocations.len() as u32;
                    for row in groups.totals(&allocations.bytes, all) {
                        let label = &groups.labels[row.group as usize];
                        let text = groups.filter(row.group).unwrap().to_string();
                        let filter = Filter::parse(&text).unwrap();
                        let found = matches(&filter, device, Pointed::default()).set;
                        let is_wrong =
                            |&id: &usize| found.contains(id) != (groups.group_of[id] == row.group);
                        let wrong = (0..groups.group_of.len()).find(is_wrong);
                        let name = &recording.snapshot.producer.name;
                        assert_eq!(wrong, None, "{name}: {mode:?}, {label}: {text}");
                        searched += 1;
                    }
                }
            }
        }
        assert!(searched > 1_000, "only {searched} rows");
    }

    /// The committed snapshots, and a synthetic one with what they lack.
    fn fixtures() -> impl Iterator<Item = Snapshot> {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures");
        let entries = |folder: &std::path::Path| {
            let entries = std::fs::read_dir(folder).unwrap();
            entries.map(|entry| entry.unwrap().path())
        };
        let folders: Vec<_> = entries(root.as_ref())
            .filter(|path| path.is_dir())
            .collect();
        let files: Vec<_> = folders.iter().flat_map(|folder| entries(folder)).collect();
        let read = |path: std::path::PathBuf| std::fs::read(path).ok();
        let unusual = br#"{"segments": [{"device": 0, "address": 4096, "total_size": 512, "stream": 7, "blocks": [
            {"address": 4096, "size": 512, "requested_size": 512, "state": "active_allocated"}]}],
            "device_traces": [[
            {"action": "alloc", "addr": 8192, "size": 100, "stream": 0, "category": "optimizer_state"},
            {"action": "alloc", "addr": 9216, "size": 100, "stream": 5, "category": "a b", "pool_id": [0, 3]},
            {"action": "alloc", "addr": 10240, "size": 100, "stream": 5, "category": "a_b"},
            {"action": "alloc", "addr": 11264, "size": 100, "stream": 5, "category": "*"},
            {"action": "alloc", "addr": 12288, "size": 100, "stream": 5, "category": "optimizer_states"}]]}"#;
        let bytes = files.into_iter().filter_map(read).chain([unusual.to_vec()]);
        bytes.filter_map(|bytes| vramscope_core::decode(bytes.as_slice()).ok())
    }
}
