//! What the comparison asks.
//!
//! A worker has one file. The side of another file is asked of that file's worker as a
//! [`Profile`] and handed on to the one that compares: the page
//! passes it from one to the other and looks at none of it.

use std::rc::Rc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vramscope_core::analysis::compare::{Change, SettingChange};
pub use vramscope_core::analysis::curves::{CurveAxis, Curves};
pub use vramscope_core::analysis::frame_groups::{Fold, FrameGrouping};
use vramscope_core::analysis::profile::{Amount, Figures, Profile};
use vramscope_core::analysis::selection::Selection;
use vramscope_core::analysis::turnover::Turnover;
use vramscope_core::model::DeviceIndex;
pub use vramscope_view::change_flame::{ChangeUnit, FlameWidth};
use vramscope_view::colour::Rgb;
use vramscope_view::flame::{FlameScene, NodeKey};

use crate::protocol::ThemeName;

/// A question.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// The moments of a device that have a name. Answered by [`Answer::Moments`].
    Moments {
        /// The device.
        device: DeviceIndex,
    },
    /// The whole recording of a device as a small picture. Answered by [`Answer::Curves`].
    Curves {
        /// The device.
        device: DeviceIndex,
        /// The axis.
        axis: CurveAxis,
        /// How many columns at most.
        columns: u32,
    },
    /// A side of this file, for another worker. Answered by [`Answer::Profile`].
    Profile {
        /// What of this file.
        side: SideSpec,
        /// How frames are named.
        naming: Naming,
    },
    /// Compare two sides, and keep that for the questions below. Answered by [`Answer::Compared`].
    Compare {
        /// The first side.
        before: SideData,
        /// The second side.
        after: SideData,
        /// How frames are named.
        naming: Naming,
    },
    /// Some call sites of a comparison. Answered by [`Answer::Sites`], or by nothing if it is no longer
    /// kept.
    Sites {
        /// Which.
        comparison: ComparisonId,
        /// In which order.
        order: SiteOrder,
        /// Only those that differ.
        changed_only: bool,
        /// The first row.
        first: u32,
        /// How many rows.
        rows: u32,
        /// For their colours.
        theme: ThemeName,
    },
    /// The signed flame graph of a comparison. Answered by [`Answer::Flame`], or by nothing if it is no
    /// longer kept.
    Flame {
        /// Which.
        comparison: ComparisonId,
        /// What widths say.
        width: FlameWidth,
        /// What is counted.
        unit: ChangeUnit,
        /// What fills the picture.
        focus: Option<NodeKey>,
        /// Width of the picture, css px.
        width_px: f64,
        /// For its colours.
        theme: ThemeName,
    },
}

/// How frames are named, and so matched; the same on both sides.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Naming {
    /// What makes two frames one.
    pub grouping: FrameGrouping,
    /// Which are left out of call paths.
    pub fold: Fold,
}

/// One side of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SideSpec {
    /// The device.
    pub device: DeviceIndex,
    /// Which of its allocations.
    pub selection: Selection,
    /// The axis of its curves.
    pub axis: CurveAxis,
    /// How many columns they have at most.
    pub columns: u32,
}

/// A side for the worker that compares.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideData {
    /// Of its own file.
    Here(SideSpec),
    /// Of another file, as that one's worker told it.
    Given(HandedProfile),
}

/// A profile on its way from one worker to another. Two are equal if they are the same one.
#[derive(Clone, Debug)]
pub struct HandedProfile(pub Rc<Profile>);

impl PartialEq for HandedProfile {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Serialize for HandedProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HandedProfile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Profile::deserialize(deserializer).map(|profile| Self(Rc::new(profile)))
    }
}

/// A comparison that the worker keeps. Numbers are never used twice.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ComparisonId(pub u32);

/// What the table is sorted by; equal rows by name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct SiteOrder {
    /// Which column.
    pub by: SiteColumn,
    /// The other way round: least first, names from Z to A.
    pub reversed: bool,
}

/// A column of the table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteColumn {
    /// The largest difference of bytes first, whichever way.
    #[default]
    Difference,
    /// What grew most first, what shrank most last.
    Growth,
    /// The same in allocations.
    CountGrowth,
    /// The most bytes on the first side first.
    Before,
    /// The most bytes on the second side first.
    After,
    /// The most bytes that are new and not freed first.
    New,
    /// By name.
    Name,
}

/// An answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// See [`Question::Moments`].
    Moments(NamedMoments),
    /// See [`Question::Curves`].
    Curves(Curves),
    /// See [`Question::Profile`].
    Profile(HandedProfile),
    /// See [`Question::Compare`].
    Compared(Box<Compared>),
    /// See [`Question::Sites`].
    Sites(SiteRows),
    /// See [`Question::Flame`].
    Flame(SignedFlame),
}

/// Moments that a program or the allocator named.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct NamedMoments {
    /// The device.
    pub device: DeviceIndex,
    /// In order of time.
    pub moments: Vec<NamedMoment>,
    /// How many more there are.
    pub left_out: u32,
}

/// See [`NamedMoments`].
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NamedMoment {
    /// The state after this many events.
    pub moment: u32,
    /// E.g. `end of ProfilerStep#3`.
    pub name: String,
}

/// Two sides and what differs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Compared {
    /// For further questions.
    pub id: ComparisonId,
    /// The first side.
    pub before: SideFacts,
    /// The second side.
    pub after: SideFacts,
    /// What became of single allocations, for two moments of one device.
    pub turnover: Option<Turnover>,
    /// Call sites on either side.
    pub sites: u32,
    /// Those of them that differ.
    pub changed_sites: u32,
    /// Settings that differ, by name.
    pub settings: Vec<SettingChange>,
    /// Settings that either side has.
    pub settings_known: bool,
}

/// One side of a comparison.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SideFacts {
    /// The device.
    pub device: DeviceIndex,
    /// Its figures.
    pub figures: Figures,
    /// What was compared of it.
    pub total: Amount,
    /// Its whole recording.
    pub curves: Curves,
    /// Where on that what is compared lies.
    pub marks: Vec<u64>,
}

/// Rows of the table.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SiteRows {
    /// Of which comparison.
    pub comparison: ComparisonId,
    /// The first row's place.
    pub first: u32,
    /// All rows that there are.
    pub of: u32,
    /// The rows.
    pub rows: Vec<SiteRow>,
    /// The largest difference of bytes of all, for bars.
    pub largest_difference: u64,
}

/// A row of the table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SiteRow {
    /// The call site's name.
    pub label: String,
    /// The colour of its code.
    pub colour: Rgb,
    /// What became of it.
    pub change: Change,
    /// What became of its single allocations, for two moments of one device.
    pub turnover: Option<Turnover>,
    /// How long its bar is, from −1 (the largest difference, shrunk) to 1 (grown).
    pub bar: f64,
}

/// A signed flame graph.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SignedFlame {
    /// Of which comparison.
    pub comparison: ComparisonId,
    /// Its boxes, filled with the colours of differences.
    pub scene: FlameScene,
    /// What each box is and what became of it.
    pub boxes: Vec<SignedBox>,
    /// What became of all.
    pub total: Change,
}

/// A box of a signed flame graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SignedBox {
    /// The frame's name; the caller's, of several that are too narrow.
    pub name: String,
    /// What became of it.
    pub change: Change,
}
