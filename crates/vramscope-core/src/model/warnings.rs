//! Oddities of a readable file, counted and with their first few places.

use serde::{Deserialize, Serialize};

/// Places kept per kind.
const PLACES_KEPT: usize = 3;

/// Longest place that is taken from a file, in bytes. Our own are paths of 64 levels at most, each of 64 characters.
const LONGEST_PLACE: usize = 32 << 10;

/// The longest name of an unknown action that is kept, in characters.
pub(crate) const LONGEST_ACTION: usize = 64;

/// The largest size that is taken for possible: the address space of today's processors and GPUs.
pub(crate) const LARGEST_BYTES: u64 = 1 << 48;

/// A kind of oddity.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
#[non_exhaustive]
pub enum WarningKind {
    /// A key that no torch up to 2.15 writes; its value was not read. (record, key)
    UnknownKey(String),
    /// An action that no torch up to 2.15 writes; kept as an opaque event. What it did to memory is not known.
    UnknownAction(String),
    /// A record lacks a key that some tools leave out; 0 or the empty value was taken.
    MissingKey(String),
    /// An event without an address or size, a block without a size, or a segment without an address; 0 was taken.
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
    /// An event has an earlier time than one before it: the clock was set back, or recordings were joined.
    TimeRunsBackwards,
    /// An event has no time, but others of its trace have one.
    TimeMissing,
    /// Text that is not valid UTF-8, or half of a surrogate pair; replacement characters stand for what is lost.
    InvalidUtf8,
    /// Bytes after the end of the data, or of a container; not NULs, with which many pad.
    TrailingBytes,
    /// The snapshot is complete, but what follows it in its container is damaged or cut off.
    DamagedEnd,
    /// A container's check sum is not that of its content: some of what was read is not what was written.
    CheckSumWrong,
    /// A size below 0 or beyond 2^48, memory beyond the last address, or an active block smaller than what was
    /// requested. It is not kept: no sum contains it.
    ImpossibleSize,
    /// An address, or part of a segment or mapping, is freed again although nothing was allocated there in between.
    FreedTwice,
    /// An address, or part of a segment or mapping, is allocated again although it was not freed in between, in a
    /// trace that has such frees.
    AllocatedTwice,
    /// A free states another size than the allocation that it ends.
    FreedSizeDiffers,
    /// Values that are not kept: of settings, metadata or unknown keys, if they are too many, nested too deeply or not
    /// plain data; settings and pools of another shape; and all but the last value of a key that a dict has twice.
    ValuesLeftOut,
    /// Several snapshots in one container; the first was read.
    FurtherFiles,
    /// More is active than reserved, more is reserved than the device has, or more is active than can be counted.
    MoreThanThereIs,
    /// The totals that the events of a profile state begin to differ from their sum: memory was allocated or freed without an
    /// event.
    TotalsDiffer,
}

impl WarningKind {
    /// Whether figures or texts may differ from what was written, or more was written than was read: the file is
    /// damaged, was altered or joined. The other kinds are remarks on genuine files and files of other tools.
    ///
    /// Kinds of damage hold no text of the file but the name of an action.
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

    /// The same with a name of an action that is no longer than those that are read.
    fn bounded(self) -> Self {
        match &self {
            Self::UnknownAction(name) if name.chars().count() > LONGEST_ACTION => {
                self.without_text()
            }
            _ => self,
        }
    }

    /// The same without a text of the file.
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
    /// Most kinds kept. Further remarks are dropped, so that a hostile file cannot make the list as long as itself;
    /// the kinds of damage are few.
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

    /// The warning of a kind; a new one has the count 0. `None` if the kind is dropped. Of too many names of actions the
    /// further ones are one kind.
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

    /// Adds what else is known of the same file, within the limits of this type. Of a kind that both have, the higher
    /// count holds: a file that was written from a damaged one says so itself, and shows some of the damage again.
    pub(crate) fn merge(&mut self, others: impl IntoIterator<Item = Warning>) {
        for other in others {
            // Where the events are, they are named again.
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

    /// The damage, for a snapshot made of a part of this one or with other names: without places, which would be
    /// wrong there, and without names.
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

    /// Counts oddities without a place.
    fn add_all(&mut self, times: u64, kind: WarningKind) {
        if let Some(warning) = self.entry(kind) {
            warning.count = warning.count.saturating_add(times);
        }
    }

    /// The warnings in a file, cut to the limits of this type: they come from outside.
    pub(crate) fn bounded(self) -> Self {
        let mut bounded = Self::default();
        bounded.merge(self.list);
        bounded
    }

    /// Those that mean damage, see [`WarningKind::is_damage`].
    pub fn damage(&self) -> impl Iterator<Item = &Warning> {
        self.list.iter().filter(|warning| warning.kind.is_damage())
    }

    /// Whether frees may be missing or not understood: then what stays live, and how much memory grows, is not known.
    #[must_use]
    pub fn hide_frees(&self) -> bool {
        self.list.iter().any(|warning| {
            matches!(
                warning.kind,
                WarningKind::UnknownAction(_) | WarningKind::AllocatedTwice
            )
        })
    }

    /// Whether more memory is in use than there is: then the segments are not those of what is live.
    #[must_use]
    pub fn exceed_memory(&self) -> bool {
        let mut kinds = self.list.iter().map(|warning| &warning.kind);
        kinds.any(|kind| *kind == WarningKind::MoreThanThereIs)
    }

    /// Whether the place of a further oddity of this kind would be kept.
    pub(crate) fn wants_place(&self, kind: &WarningKind) -> bool {
        match self.list.iter().find(|warning| warning.kind == *kind) {
            Some(warning) => warning.places.len() < PLACES_KEPT,
            None => self.list.len() < Self::KINDS_KEPT || kind.is_damage(),
        }
    }

    /// The warnings as a list.
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
