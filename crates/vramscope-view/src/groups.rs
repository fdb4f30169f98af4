//! The groups into which a property divides the allocations of a snapshot, with their colours.

mod segments;
#[cfg(test)]
mod tests;

use std::ops::RangeInclusive;

pub use self::segments::name_of_segments;

use crate::colour::{self, ColourColumn, Leaders, Rgb, stable_hash};
use crate::display;
use crate::theme::Theme;
use vramscope_core::analysis::memory::segment_history::SegmentHistory;
use vramscope_core::analysis::properties::{Kind, Names, Property, names};
use vramscope_core::analysis::recording::Device;
use vramscope_core::analysis::roles::Role;
use vramscope_core::analysis::search::filter::{Filter, rows};
use vramscope_core::analysis::time::history::History;
use vramscope_core::sorting::SortFew;

/// Lower bounds of the size groups, in bytes.
const SIZE_STEPS: [u64; 6] = [1 << 30, 256 << 20, 64 << 20, 1 << 20, 64 << 10, 0];

/// The groups of one snapshot, device and property.
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

/// How to make the filter of a group.
#[derive(Clone, Debug, Default)]
enum By {
    /// No filters.
    #[default]
    Nothing,
    Size,
    Birth(BirthParts),
    /// The filter of each group.
    Filters(Vec<Filter>),
    /// From the label of the group; the last group, of allocations without a name, has this filter.
    Name(Property, Filter),
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
    /// Groups a device's allocations by a property, with colours. `leaders` are those of the recording's call sites.
    #[must_use]
    pub fn of(by: Property, theme: &Theme, leaders: &Leaders, device: Device<'_>) -> Self {
        let table = &device.history.allocations;
        let names = match by {
            Property::Size => return Self::by_size(theme, &table.bytes),
            Property::Born => return Self::by_birth(theme, device.history, &table.born),
            _ => names(device, by),
        };
        let Some(names) = names else {
            return Self::default();
        };
        // There may be many names, so their filters are made on demand.
        let filters = match (by.kind(), rows::without_name(by, &names)) {
            (Kind::Name, Some(without)) => By::Name(by, without),
            (Kind::Name, None) => By::Nothing,
            _ => By::Filters(rows::of_names(device, by, &names)),
        };
        let groups = match by.kind() {
            Kind::Name if by == Property::CallSite => {
                Self::by_name(theme, leaders, names, table.len())
            }
            Kind::Name => {
                let leaders = Leaders::of_names(device.history, &names);
                Self::by_name(theme, &leaders, names, table.len())
            }
            _ => {
                let hue = match by {
                    Property::Role | Property::Category => by_role,
                    _ => by_order,
                };
                let (labels, group_of) = labelled(&names, table.len());
                Self::by_number(theme, labels, group_of, hue)
            }
        };
        Self {
            by: filters,
            ..groups
        }
    }

    /// The filter that finds exactly the allocations of a group; `None` for groups of segments, and for names that no filter
    /// matches exactly.
    #[must_use]
    pub fn filter(&self, group: u32) -> Option<Filter> {
        let place = group as usize;
        match &self.by {
            By::Nothing => None,
            By::Size => {
                let from_bytes = *SIZE_STEPS.get(place)?;
                let below = place.checked_sub(1).map(|larger| SIZE_STEPS[larger]);
                Some(rows::of_size(from_bytes, below))
            }
            By::Birth(parts) => Some(match parts.moments(group) {
                None => rows::born_before(),
                Some((first, last)) => rows::born_in(first, last),
            }),
            By::Filters(filters) => filters.get(place).cloned(),
            By::Name(_, without) if place + 1 == self.labels.len() => Some(without.clone()),
            By::Name(by, _) => Some(rows::of_name(*by, self.labels.get(place)?)),
        }
    }

    /// One group per name, coloured by name. The last is for rows without a name.
    fn by_name(theme: &Theme, leaders: &Leaders, names: Names<'_>, rows: usize) -> Self {
        let hashes = names.labels.iter().map(|label| Some(stable_hash(label)));
        let hashes: Vec<Option<u64>> = hashes.chain([None]).collect();
        let rgb = hashes.iter().map(|&hash| leaders.colour(theme, hash));
        let (labels, group_of) = labelled(&names, rows);
        Self {
            rgb: rgb.collect(),
            colours: ColourColumn::by_text(theme, leaders, &hashes, group_of.iter().copied()),
            labels,
            group_of,
            by: By::Nothing,
        }
    }

    /// Numbered groups. The last is for rows without a number. `hue` chooses a group's colour from its number and label.
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
            by: By::Nothing,
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

    /// The colour of a row's group in the legend.
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

    /// The lines of a legend, at most `most`: the totals of the `selected` rows, followed by further groups that a picture
    /// of these moments shows, without bytes, largest areas first.
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

/// Most lines for groups that are not selected: about as many as there are distinct colours.
const OTHERS: usize = 10;

/// The rows that a picture draws.
#[derive(Clone, Copy, Debug)]
pub struct Lives<'a> {
    /// First moment of each.
    pub born: &'a [u32],
    /// Moment after the last of each.
    pub died: &'a [u32],
    /// Bytes of each.
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

/// The labels of names, the last one for rows without a name, and the group of each row.
fn labelled(names: &Names<'_>, rows: usize) -> (Vec<String>, Vec<u32>) {
    let labels = names.labels.iter().chain([&names.unknown]);
    let labels = labels.map(|label| label.clone().into_owned());
    let unknown = names.labels.len() as u32;
    let group_of = (0..rows).map(|row| (names.of)(row).min(unknown));
    (labels.collect(), group_of.collect())
}

fn hue_colour(theme: &Theme, hue: Option<u32>) -> Rgb {
    hue.map_or(theme.unknown, |hue| colour::ordinal_colour(theme, hue))
}

fn by_order(number: u32, _: &str) -> Option<u32> {
    Some(number)
}

/// Roles, and categories named like roles, have the roles' colours; other categories have the following ones.
fn by_role(number: u32, label: &str) -> Option<u32> {
    let is_named = |role: &Role| [role.label(), role.word()].contains(&label);
    match Role::ALL.into_iter().find(is_named) {
        Some(Role::Unknown) => None,
        Some(role) => Some(role.ordinal() as u32),
        None => Some(Role::ALL.len() as u32 + number),
    }
}
