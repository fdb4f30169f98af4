//! The summaries of ranks.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::mem;

use crate::analysis::compare::flat_settings::FlatSettings;
use crate::analysis::groups::turnover::Amount;
use crate::analysis::report::findings::{FindingKind, Severity};
use crate::analysis::time::history::is_reserved_known;
use crate::model::DeviceIndex;
use crate::sorting::SortFew;

/// Index into [`Fleet::labels`].
pub type SiteId = u32;

/// Index into [`Fleet::settings`].
pub type SettingsId = u32;

/// Ranks, with the tables that they share.
///
/// The order does not depend on how the fleet was made: ranks by place, source and device; labels and settings by text,
/// without duplicates and unused entries.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fleet {
    /// The labels of call sites, sorted. The same code has the same labels in every file.
    pub labels: Vec<String>,
    /// The different settings of the allocator, sorted.
    pub settings: Vec<FlatSettings>,
    /// The ranks.
    pub ranks: Vec<Rank>,
    /// The snapshots that could not be read, sorted by path.
    pub unreadable: Vec<Unreadable>,
}

/// A snapshot that could not be read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Unreadable {
    /// Its file.
    pub source: Source,
    /// The error in one line.
    pub why: String,
}

/// The file of a snapshot.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Source {
    /// Its path, relative to the folder that was read.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last modified, in µs since the Unix epoch; `None` if unknown.
    pub modified_us: Option<i64>,
}

/// The source of a rank's number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum RankFrom {
    /// The file's name.
    Name,
    /// The user's description of file names.
    Given,
    /// The position among all names, for lack of anything better.
    #[default]
    Order,
}

impl RankFrom {
    /// The name in output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Given => "given",
            Self::Order => "order",
        }
    }
}

/// A snapshot's place in its job.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Place {
    /// The job; empty if unknown.
    pub job: String,
    /// The step after which the snapshot was taken.
    pub step: Option<u64>,
    /// The number of the process in the job.
    pub rank: u32,
    /// The number of the process on its host.
    pub local_rank: Option<u32>,
    /// The host; empty if unknown.
    pub host: String,
    /// The source of `rank`.
    pub rank_from: RankFrom,
}

/// The summary of a rank.
///
/// Fields that cost more than the peak's call sites are filled only with [`Detail::All`](super::Detail::All): `retries`,
/// `fragmentation`, `failures`, `growth`, `findings`, and the fields of sites that are not about the peak.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rank {
    /// Its place in the job.
    pub place: Place,
    /// The file of the snapshot.
    pub source: Source,
    /// The device's index in that file.
    pub device: DeviceIndex,
    /// The program that wrote the file.
    pub producer: String,
    /// Number of recorded events.
    pub events: u64,
    /// Number of allocations, including those from before the recording.
    pub allocations: u64,
    /// The most requested bytes that were live at once.
    pub peak_bytes: u64,
    /// The moment at which the peak began.
    pub peak_moment: u32,
    /// Its time, in µs since the Unix epoch; `None` if the file has no times.
    pub peak_time_us: Option<i64>,
    /// Bytes of all segments at the peak; 0 if segments are unknown, see [`reserved_at_peak`](Self::reserved_at_peak).
    pub reserved_at_peak_bytes: u64,
    /// The most bytes of all segments; 0 if unknown, see [`peak_reserved`](Self::peak_reserved).
    pub peak_reserved_bytes: u64,
    /// Requested bytes of allocations live at the end.
    pub end_bytes: u64,
    /// Capacity of the device; `None` if unknown.
    pub device_bytes: Option<u64>,
    /// Number of failed requests.
    pub ooms: u64,
    /// How often cached segments were released to serve a request.
    pub retries: Option<u64>,
    /// Where memory was free at the peak; `None` if segments are unknown or doubtful.
    pub fragmentation: Option<Fragmentation>,
    /// The first request that failed, and the last one if there were several.
    pub failures: Vec<Failure>,
    /// Growth from step to step; `None` if no steps are known.
    pub growth: Option<Growth>,
    /// The allocator's settings.
    pub settings: SettingsId,
    /// Live memory over the recording.
    pub curve: Curve,
    /// Amounts by call site, sorted by [`Site::site`].
    pub sites: Vec<Site>,
    /// Memory live at the peak from call sites that were [dropped](Fleet::keep_sites).
    pub other_sites: Amount,
    /// The findings, most severe first.
    pub findings: Vec<Told>,
    /// Number of damages found in the file.
    pub damage: u64,
}

/// Memory of a call site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Site {
    /// The call site.
    pub site: SiteId,
    /// Memory live at the peak.
    pub peak: Amount,
    /// Bytes live at the end.
    pub end_bytes: u64,
    /// The median of the bytes that each step leaves behind; 0 if half of the steps leave none, or too few steps are known.
    pub left_per_step_bytes: u64,
}

/// The parts of the reserved memory at the peak beyond the requested bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Fragmentation {
    /// Free bytes in all segments.
    pub free_bytes: u64,
    /// Free bytes in pieces between live blocks of the main pool and stream, without the largest piece.
    pub scattered_bytes: u64,
    /// The largest free block.
    pub largest_free_bytes: u64,
    /// Bytes by which live blocks are larger than their requests.
    pub rounding_bytes: u64,
}

/// A request that failed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Failure {
    /// The moment after it.
    pub moment: u32,
    /// Its time, in µs since the Unix epoch; `None` if the file has no times.
    pub time_us: Option<i64>,
    /// The requested size after the allocator's alignment.
    pub requested_bytes: u64,
    /// Free bytes that the device reported; `None` if unknown.
    pub device_free_bytes: Option<u64>,
    /// Requested bytes that were live.
    pub active_bytes: u64,
    /// Bytes of all segments; 0 if segments are unknown, see [`reserved`](Self::reserved).
    pub reserved_bytes: u64,
    /// The call site of the request.
    pub site: SiteId,
    /// The cause in a few words.
    pub why: String,
}

/// How live memory changes from step to step.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Growth {
    /// Number of steps recorded completely.
    pub steps: u64,
    /// The change at the end of each step, not counting the first steps; `None` if there are too few steps.
    pub per_step_bytes: Option<i64>,
}

/// A finding in brief.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Told {
    /// Its kind.
    pub kind: FindingKind,
    /// How important it is.
    pub severity: Severity,
    /// The bytes that it concerns.
    pub bytes: u64,
    /// The finding in one line.
    pub title: String,
}

/// Memory over a recording, in bins of equal width, and by step.
///
/// Bytes are counted in units, so that a value takes 16 bits. The lowest values are rounded down and the highest up, so
/// the exact values lie in between.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Curve {
    /// Bytes per unit.
    pub unit_bytes: u64,
    /// Time of the first event, in µs since the Unix epoch; `None` if the file has no times, and bins count events.
    pub start_us: Option<i64>,
    /// Width of all bins together, in µs or in events.
    pub length: u64,
    /// Per bin: the least live requested bytes.
    pub lowest: Vec<u16>,
    /// Per bin: the most live requested bytes.
    pub highest: Vec<u16>,
    /// Per bin: the most bytes of all segments. Empty if segments are unknown.
    pub reserved: Vec<u16>,
    /// The last steps, at most [`STEPS`](Self::STEPS).
    pub steps: Vec<StepLevels>,
}

impl Curve {
    /// Most bins.
    pub const BINS: usize = 256;
    /// Most steps.
    pub const STEPS: usize = 256;
    /// The highest value of a bin, in units.
    pub const LEVELS: u16 = 4095;

    /// A value of this curve in bytes.
    #[must_use]
    pub fn bytes(&self, level: u16) -> u64 {
        self.unit_bytes.saturating_mul(level.into())
    }
}

/// A step in units of its curve.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct StepLevels {
    /// Its number.
    pub number: u64,
    /// Where it begins on the curve's axis.
    pub from: u64,
    /// The least live requested bytes.
    pub lowest: u16,
    /// The most live requested bytes.
    pub highest: u16,
}

impl Default for Told {
    fn default() -> Self {
        Self {
            kind: FindingKind::NoGrowth,
            severity: Severity::Note,
            bytes: 0,
            title: String::new(),
        }
    }
}

impl Failure {
    /// The reserved bytes; `None` if unknown.
    #[must_use]
    pub fn reserved(&self) -> Option<u64> {
        known_reserved(self.reserved_bytes, self.active_bytes)
    }
}

fn known_reserved(reserved: u64, live: u64) -> Option<u64> {
    is_reserved_known(reserved, live).then_some(reserved)
}

impl Rank {
    /// Identifies a rank, and orders ranks.
    fn key(&self) -> (&Place, &str, DeviceIndex) {
        (&self.place, &self.source.path, self.device)
    }

    /// Whether any request failed on it.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.ooms > 0 || !self.failures.is_empty()
    }

    /// The most reserved bytes; `None` if unknown.
    #[must_use]
    pub fn peak_reserved(&self) -> Option<u64> {
        known_reserved(self.peak_reserved_bytes, self.peak_bytes)
    }

    /// The reserved bytes at the peak; `None` if unknown.
    #[must_use]
    pub fn reserved_at_peak(&self) -> Option<u64> {
        known_reserved(self.reserved_at_peak_bytes, self.peak_bytes)
    }

    /// Reserved minus live requested bytes at the peak; `None` if unknown.
    #[must_use]
    pub fn gap_bytes(&self) -> Option<u64> {
        Some(self.reserved_at_peak()?.saturating_sub(self.peak_bytes))
    }

    /// The position of the peak in its recording, from 0 to 1: by time or, without times, by events. `None` without events.
    #[must_use]
    pub fn peak_share(&self) -> Option<f64> {
        let (at, of) = match (self.peak_time_us, self.curve.start_us) {
            (Some(at), Some(start)) => (at.abs_diff(start), self.curve.length),
            _ => (self.peak_moment.into(), self.events),
        };
        (of > 0).then(|| (at as f64 / of as f64).min(1.0))
    }
}

impl Fleet {
    /// Merges fleets. If several have the same device of the same file at the same place, the one with the newer file is
    /// taken, or else the first.
    #[must_use]
    pub fn of_all(fleets: impl IntoIterator<Item = Self>) -> Self {
        let mut all = Self::default();
        let (mut labels, mut settings) = (Interned::default(), Interned::default());
        for mut fleet in fleets {
            fleet.name_settings();
            let labels = labels.ids(fleet.labels, &mut all.labels);
            let settings = settings.ids(fleet.settings, &mut all.settings);
            all.ranks.extend(fleet.ranks.into_iter().map(|mut rank| {
                rank.rename(&labels, &settings);
                rank
            }));
            all.unreadable.extend(fleet.unreadable);
        }
        all.in_order();
        all
    }

    /// Whether several devices are from the same file, so that their numbers are worth showing.
    #[must_use]
    pub fn has_devices(&self) -> bool {
        let mut pairs = self.ranks.windows(2);
        pairs.any(|pair| pair[0].source.path == pair[1].source.path)
    }

    /// A fleet of the ranks for which `keep` holds.
    #[must_use]
    pub fn only(&self, keep: impl Fn(&Rank) -> bool) -> Self {
        let ranks = self.ranks.iter().filter(|rank| keep(rank));
        let mut chosen = Self {
            labels: self.labels.clone(),
            settings: self.settings.clone(),
            ranks: ranks.cloned().collect(),
            unreadable: self.unreadable.clone(),
        };
        chosen.in_order();
        chosen
    }

    /// The label of a call site; empty if there is none.
    #[must_use]
    pub fn label(&self, site: SiteId) -> &str {
        self.labels.get(site as usize).map_or("", String::as_str)
    }

    /// The settings of a rank; none if it has none.
    #[must_use]
    pub fn settings_of(&self, rank: &Rank) -> &FlatSettings {
        const NONE: &FlatSettings = &FlatSettings::new();
        self.settings.get(rank.settings as usize).unwrap_or(NONE)
    }

    /// Keeps the call sites that hold most on any rank, be it at the peak, at the end or left by the steps: up to `most` per
    /// rank on average. The others are summed up on every rank, so that a remaining site is known for all ranks: one that
    /// does not list it holds nothing there.
    pub fn keep_sites(&mut self, most: usize) {
        let mut sites: Vec<(u64, usize)> = vec![(0, 0); self.labels.len()];
        for row in self.ranks.iter().flat_map(|rank| &rank.sites) {
            if let Some((size, rows)) = sites.get_mut(row.site as usize) {
                *size = row.size().max(*size);
                *rows += 1;
            }
        }
        let mut order: Vec<usize> = (0..sites.len()).collect();
        order.sort_few_by_key(|&site| Reverse(sites[site].0));
        let mut is_kept = vec![false; sites.len()];
        let mut room = most.saturating_mul(self.ranks.len());
        for site in order {
            let Some(rest) = room.checked_sub(sites[site].1) else {
                break;
            };
            (room, is_kept[site]) = (rest, true);
        }
        for rank in &mut self.ranks {
            let sites = mem::take(&mut rank.sites).into_iter();
            let is_kept = |row: &Site| is_kept.get(row.site as usize) == Some(&true);
            let (kept, others): (Vec<Site>, Vec<Site>) = sites.partition(is_kept);
            rank.sites = kept;
            rank.sum_up(&others);
        }
        self.in_order();
    }

    fn name_settings(&mut self) {
        let none = self.settings.len() as SettingsId;
        let ranks = self.ranks.iter_mut();
        let mut without = ranks.filter(|rank| rank.settings >= none).peekable();
        if without.peek().is_some() {
            self.settings.push(FlatSettings::new());
        }
        without.for_each(|rank| rank.settings = none);
    }

    /// Sorts everything, and drops what no rank uses.
    pub(super) fn in_order(&mut self) {
        self.name_settings();
        self.ranks.sort_few_by(|a, b| {
            a.key()
                .cmp(&b.key())
                .then_with(|| newest(a).cmp(&newest(b)))
        });
        self.ranks.dedup_by(|next, kept| next.key() == kept.key());
        self.unreadable.sort_few_by(|a, b| {
            let newest = || b.source.modified_us.cmp(&a.source.modified_us);
            a.source.path.cmp(&b.source.path).then_with(newest)
        });
        (self.unreadable).dedup_by(|next, kept| next.source.path == kept.source.path);
        let used = self.ranks.iter().flat_map(Rank::labels);
        let labels = sorted(&mut self.labels, used);
        let used = self.ranks.iter().map(|rank| rank.settings);
        let settings = sorted(&mut self.settings, used);
        for rank in &mut self.ranks {
            rank.rename(&labels, &settings);
        }
    }
}

fn newest(rank: &Rank) -> Reverse<Option<i64>> {
    Reverse(rank.source.modified_us)
}

impl Rank {
    /// The call sites that the rank refers to.
    fn labels(&self) -> impl Iterator<Item = SiteId> {
        let sites = self.sites.iter().map(|row| row.site);
        sites.chain(self.failures.iter().map(|failure| failure.site))
    }

    /// Replaces the ids of labels and settings by others.
    fn rename(&mut self, labels: &[u32], settings: &[u32]) {
        let new = |ids: &[u32], old: u32| ids.get(old as usize).copied().unwrap_or(0);
        self.settings = new(settings, self.settings);
        for site in &mut self.sites {
            site.site = new(labels, site.site);
        }
        for failure in &mut self.failures {
            failure.site = new(labels, failure.site);
        }
        self.sites.sort_few_by_key(|row| row.site);
    }

    /// Keeps the `most` largest call sites.
    pub(super) fn keep_sites(&mut self, most: usize) {
        if self.sites.len() <= most {
            return;
        }
        self.sites.sort_few_by_key(|row| Reverse(row.size()));
        let others = self.sites.split_off(most);
        self.sum_up(&others);
        self.sites.sort_few_by_key(|row| row.site);
    }

    /// Adds call sites to `other_sites`.
    fn sum_up(&mut self, others: &[Site]) {
        for row in others {
            self.other_sites.add(row.peak);
        }
    }
}

impl Site {
    /// The most bytes that the site holds, at the peak, at the end or left by a step.
    fn size(&self) -> u64 {
        let others = self.end_bytes.max(self.left_per_step_bytes);
        self.peak.bytes.max(others)
    }
}

/// Values that already have ids.
struct Interned<T>(HashMap<T, u32>);

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Clone + Eq + std::hash::Hash> Interned<T> {
    /// The ids of `values` in `all`; new values are added there.
    fn ids(&mut self, values: Vec<T>, all: &mut Vec<T>) -> Vec<u32> {
        let id = |value: T| {
            *self.0.entry(value).or_insert_with_key(|value| {
                all.push(value.clone());
                all.len() as u32 - 1
            })
        };
        values.into_iter().map(id).collect()
    }
}

/// Sorts values and removes those that are not `used`. Returns the new id of each old one.
fn sorted<T: Ord>(values: &mut Vec<T>, used: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut is_used = vec![false; values.len()];
    for id in used {
        if let Some(is_used) = is_used.get_mut(id as usize) {
            *is_used = true;
        }
    }
    let old = mem::take(values).into_iter().enumerate();
    let mut kept: Vec<(usize, T)> = old.filter(|&(row, _)| is_used[row]).collect();
    kept.sort_few_by(|a, b| a.1.cmp(&b.1));
    let mut ids = vec![0; is_used.len()];
    for (row, value) in kept {
        if values.last() != Some(&value) {
            values.push(value);
        }
        ids[row] = values.len() as u32 - 1;
    }
    ids
}
