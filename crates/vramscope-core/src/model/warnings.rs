//! Oddities of a readable file, counted and with their first few places.

use serde::{Deserialize, Serialize};

/// Places kept per kind.
const PLACES_KEPT: usize = 3;

/// A kind of oddity.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
#[non_exhaustive]
pub enum WarningKind {
    /// A key that no torch up to 2.15 writes; its value was not read. (record, key)
    UnknownKey(String),
    /// An action that no torch up to 2.15 writes; kept as an opaque event.
    UnknownAction(String),
    /// A record lacks a necessary key; 0 or the empty value was taken.
    MissingKey(String),
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
    /// An event has an earlier time than its predecessor.
    TimeRunsBackwards,
    /// Text that is not valid UTF-8; bad bytes became replacement characters.
    InvalidUtf8,
    /// Bytes after the end of the pickle, other than the NULs that torch's HTML pads with.
    TrailingBytes,
    /// The snapshot is complete, but what follows it in its container is damaged or cut off.
    DamagedEnd,
    /// Several snapshots in one container; the first was read.
    FurtherFiles,
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
    /// Most kinds kept. Further kinds are dropped, so that a hostile file cannot make the list as long as itself.
    const KINDS_KEPT: usize = 256;

    /// Counts an oddity. `place` is only called for the first few of a kind.
    pub(crate) fn add(&mut self, kind: WarningKind, place: impl FnOnce() -> String) {
        let index = match self.list.iter().position(|warning| warning.kind == kind) {
            Some(index) => index,
            None if self.list.len() < Self::KINDS_KEPT => {
                self.list.push(Warning {
                    kind,
                    count: 0,
                    places: Vec::new(),
                });
                self.list.len() - 1
            }
            None => return,
        };
        let warning = &mut self.list[index];
        warning.count = warning.count.saturating_add(1);
        if warning.places.len() < PLACES_KEPT {
            warning.places.push(place());
        }
    }

    /// Cuts warnings to the limits of this type. Those of a packed file come from outside.
    pub(crate) fn bounded(mut self) -> Self {
        self.list.truncate(Self::KINDS_KEPT);
        for warning in &mut self.list {
            warning.places.truncate(PLACES_KEPT);
        }
        self
    }

    /// Whether the place of a further oddity of this kind would be kept.
    pub(crate) fn wants_place(&self, kind: &WarningKind) -> bool {
        match self.list.iter().find(|warning| warning.kind == *kind) {
            Some(warning) => warning.places.len() < PLACES_KEPT,
            None => self.list.len() < Self::KINDS_KEPT,
        }
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
