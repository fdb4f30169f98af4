//! Oddities of a readable file, counted and with the first few places of each.

use serde::{Deserialize, Serialize};

/// Places kept per kind.
const PLACES_KEPT: usize = 3;

/// Longest place that is read from a file, in bytes. The program's own are paths of up to 64 levels of 64 characters.
const LONGEST_PLACE: usize = 32 << 10;

/// The longest stored name of an unknown action, in characters.
pub(crate) const LONGEST_ACTION: usize = 64;

/// The largest size considered possible: the address space of today's processors and GPUs.
pub(crate) const LARGEST_BYTES: u64 = 1 << 48;

/// A kind of oddity.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
#[non_exhaustive]
pub enum WarningKind {
    /// A key that no torch up to 2.15 writes; its value was not read. (record, key)
    UnknownKey(String),
    /// An action that no torch up to 2.15 writes. The event is kept, but its effect on memory is unknown.
    UnknownAction(String),
    /// A record lacks a key that some tools leave out; 0 or the empty value was used.
    MissingKey(String),
    /// An event without an address or size, a block without a size, or a segment without an address; 0 was used.
    MissingSize,
    /// The blocks of a segment do not add up to its `total_size`.
    BlocksDoNotFillSegment,
    /// A block does not begin where the one before it ends.
    BlocksNotContiguous,
    /// `allocated_size`, `active_size` or `requested_size` is not the sum over the blocks.
    SegmentSumsDiffer,
    /// Segments of a device are not in address order.
    SegmentsUnsorted,
    /// Two segments of a device overlap.
    SegmentsOverlap,
    /// An event is earlier than one before it: the clock was set back, or recordings were joined.
    TimeRunsBackwards,
    /// An event has no time, although others of its trace do.
    TimeMissing,
    /// Text that is not valid UTF-8, or half of a surrogate pair; replacement characters stand for the lost parts.
    InvalidUtf8,
    /// Bytes after the end of the data or of a container. NULs do not count, because many tools pad with them.
    TrailingBytes,
    /// The snapshot is complete, but what follows it in its container is damaged or cut off.
    DamagedEnd,
    /// A container's check sum does not match its content: some of what was read differs from what was written.
    CheckSumWrong,
    /// A size below 0 or beyond 2^48, memory beyond the last address, or an active block smaller than its request. It is
    /// dropped, so no sum contains it.
    ImpossibleSize,
    /// An address, or part of a segment or mapping, is freed again although nothing was allocated there in between.
    FreedTwice,
    /// An address, or part of a segment or mapping, is allocated again although it was not freed in between, in a
    /// trace that has such frees.
    AllocatedTwice,
    /// A free states another size than the allocation that it ends.
    FreedSizeDiffers,
    /// Values that were dropped: settings, metadata or unknown keys that are too many, nested too deeply or not plain data;
    /// settings and pools of another type; and all but the last value of a repeated key of a dict.
    ValuesLeftOut,
    /// Several snapshots in one container; the first was read.
    FurtherFiles,
    /// More is active than reserved, more is reserved than the device has, or more is active than a number can count.
    MoreThanThereIs,
    /// The totals that the events of a profile state begin to differ from their sum: memory was allocated or freed without
    /// an event.
    TotalsDiffer,
}

impl WarningKind {
    /// Whether figures or texts may differ from what was written, or more was written than was read: the file is damaged,
    /// altered or joined. The other kinds are remarks on genuine files and on files of other tools.
    ///
    /// The only text of the file in kinds of damage is the name of an action.
    #[must_use]
    pub fn is_damage(&self) -> bool {
        match self {
            Self::BlocksDoNotFillSegment
            | Self::BlocksNotContiguous
            | Self::SegmentSumsDiffer
            | Self::SegmentsOverlap
            | Self::MissingSize
            | Self::InvalidUtf8
            | Self::DamagedEnd
            | Self::CheckSumWrong
            | Self::ImpossibleSize
            | Self::FreedTwice
            | Self::AllocatedTwice
            | Self::FreedSizeDiffers
            | Self::ValuesLeftOut
            | Self::TrailingBytes
            | Self::FurtherFiles
            | Self::UnknownAction(_)
            | Self::TimeRunsBackwards
            | Self::TimeMissing
            | Self::MoreThanThereIs
            | Self::TotalsDiffer => true,
            Self::UnknownKey(_) | Self::MissingKey(_) | Self::SegmentsUnsorted => false,
        }
    }

    /// The same kind, with the name of an action cut to the limit for names read.
    fn bounded(self) -> Self {
        match &self {
            Self::UnknownAction(name) if name.chars().count() > LONGEST_ACTION => {
                self.without_text()
            }
            _ => self,
        }
    }

    fn without_text(&self) -> Self {
        match self {
            Self::UnknownAction(_) => Self::UnknownAction(String::new()),
            other => other.clone(),
        }
    }
}

/// All oddities of one kind.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Warning {
    /// The kind.
    #[serde(flatten)]
    pub kind: WarningKind,
    /// Number of occurrences.
    pub count: u64,
    /// The first places, e.g. `segments[3].blocks[1]`.
    pub places: Vec<String>,
}

/// The oddities of a file, in order of first occurrence.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Warnings {
    list: Vec<Warning>,
}

impl Warnings {
    /// Most kinds stored. Further remarks are dropped, so that a hostile file cannot make the list as long as itself; there
    /// are few kinds of damage.
    const KINDS_KEPT: usize = 256;

    /// Counts an oddity. `place` is only called for the first few of a kind.
    pub(crate) fn add(&mut self, kind: WarningKind, place: impl FnOnce() -> String) {
        self.add_times(1, kind, place);
    }

    /// Counts `times` oddities at one place. `place` is only called for the first few of a kind.
    pub(crate) fn add_times(
        &mut self,
        times: u64,
        kind: WarningKind,
        place: impl FnOnce() -> String,
    ) {
        let Some(warning) = self.entry(kind) else {
            return;
        };
        warning.count = warning.count.saturating_add(times);
        if warning.places.len() < PLACES_KEPT {
            warning.places.push(place());
        }
    }

    /// The warning of a kind; a new one has the count 0. `None` if the kind is dropped. When there are too many names of
    /// actions, the further ones share one kind.
    fn entry(&mut self, kind: WarningKind) -> Option<&mut Warning> {
        let place = |list: &[Warning], kind: &WarningKind| {
            list.iter().position(|warning| warning.kind == *kind)
        };
        let is_full = self.list.len() >= Self::KINDS_KEPT;
        let (mut index, mut kind) = (place(&self.list, &kind), kind);
        if index.is_none() && is_full {
            if !kind.is_damage() {
                return None;
            }
            kind = kind.without_text();
            index = place(&self.list, &kind);
        }
        let index = index.unwrap_or_else(|| {
            self.list.push(Warning {
                kind,
                count: 0,
                places: Vec::new(),
            });
            self.list.len() - 1
        });
        self.list.get_mut(index)
    }

    /// Adds other warnings about the same file, within the limits of this type. If both have a kind, the higher count is
    /// taken: a file that was written from a damaged one says so, and shows some of the damage again.
    pub(crate) fn merge(&mut self, others: impl IntoIterator<Item = Warning>) {
        for other in others {
            // If the events are present, they name the actions again.
            if other.kind == WarningKind::UnknownAction(String::new()) && self.name_actions() {
                continue;
            }
            let Some(warning) = self.entry(other.kind.bounded()) else {
                continue;
            };
            warning.count = warning.count.max(other.count);
            if warning.places.is_empty() {
                let places = other.places.into_iter();
                let places = places.filter(|place| place.len() <= LONGEST_PLACE);
                warning.places = places.take(PLACES_KEPT).collect();
            }
        }
    }

    /// The damage, for a snapshot that is a part of this one or has other names: without places, which would be wrong
    /// there, and without names.
    pub(crate) fn inherited(&self) -> Self {
        let mut inherited = Self::default();
        for warning in self.damage() {
            inherited.add_all(warning.count, warning.kind.without_text());
        }
        inherited
    }

    fn name_actions(&self) -> bool {
        let mut kinds = self.list.iter().map(|warning| &warning.kind);
        kinds.any(|kind| matches!(kind, WarningKind::UnknownAction(name) if !name.is_empty()))
    }

    fn add_all(&mut self, times: u64, kind: WarningKind) {
        if let Some(warning) = self.entry(kind) {
            warning.count = warning.count.saturating_add(times);
        }
    }

    /// Limits warnings that were read from a file.
    pub(crate) fn bounded(self) -> Self {
        let mut bounded = Self::default();
        bounded.merge(self.list);
        bounded
    }

    /// The warnings that mean damage, see [`WarningKind::is_damage`].
    pub fn damage(&self) -> impl Iterator<Item = &Warning> {
        self.list.iter().filter(|warning| warning.kind.is_damage())
    }

    /// Whether frees may be missing or not understood: then it is unknown what stays live and how much memory grows.
    #[must_use]
    pub fn hide_frees(&self) -> bool {
        self.list.iter().any(|warning| {
            matches!(
                warning.kind,
                WarningKind::UnknownAction(_) | WarningKind::AllocatedTwice
            )
        })
    }

    /// Whether more memory is in use than exists: then the segments do not match the live allocations.
    #[must_use]
    pub fn exceed_memory(&self) -> bool {
        let mut kinds = self.list.iter().map(|warning| &warning.kind);
        kinds.any(|kind| *kind == WarningKind::MoreThanThereIs)
    }

    /// Whether the place of another such oddity would be stored.
    pub(crate) fn wants_place(&self, kind: &WarningKind) -> bool {
        match self.list.iter().find(|warning| warning.kind == *kind) {
            Some(warning) => warning.places.len() < PLACES_KEPT,
            None => self.list.len() < Self::KINDS_KEPT || kind.is_damage(),
        }
    }

    pub(crate) fn into_list(self) -> Vec<Warning> {
        self.list
    }

    /// The warnings, by first occurrence.
    #[must_use]
    pub fn list(&self) -> &[Warning] {
        &self.list
    }

    /// Whether there are no warnings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
