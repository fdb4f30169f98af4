//! What the comparison asks.
//!
//! A worker has one file. The side of another file is asked of that file's worker as a
//! [`Profile`] and handed on to the one that compares: the page
//! passes it from one to the other and looks at none of it.

use std::rc::Rc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
pub use vramscope_core::analysis::code::frame_groups::{Fold, FrameGrouping};
use vramscope_core::analysis::compare::changes::{Change, SettingChange};
use vramscope_core::analysis::compare::side::{Amount, Figures, Profile};
use vramscope_core::analysis::groups::turnover::Turnover;
pub use vramscope_core::analysis::time::curves::{CurveAxis, Curves};
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::model::DeviceIndex;
pub use vramscope_view::change_flame::{ChangeUnit, FlameWidth};
use vramscope_view::colour::Rgb;
use vramscope_view::flame::{FlameScene, NodeKey};
use vramscope_view::plot::views::Sheet;

use crate::protocol::ThemeName;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// The moments of a device that have a name. Answered by [`Answer::Moments`].
    Moments { device: DeviceIndex },
    /// The whole recording of a device as a small picture. Answered by [`Answer::Curves`].
    Curves {
        device: DeviceIndex,
        axis: CurveAxis,
        /// How many columns at most.
        columns: u32,
    },
    /// A side of this file, for another worker. Answered by [`Answer::Profile`].
    Profile { side: SideSpec, naming: Naming },
    /// Compare two sides, and keep that for the questions below. Answered by [`Answer::Compared`].
    Compare {
        before: SideData,
        after: SideData,
        naming: Naming,
    },
    /// Some call sites of a comparison. Answered by [`Answer::Sites`], or by nothing if it is no longer
    /// kept.
    Sites {
        comparison: ComparisonId,
        order: SiteOrder,
        changed_only: bool,
        first: u32,
        rows: u32,
        theme: ThemeName,
    },
    /// The signed flame graph of a comparison. Answered by [`Answer::Flame`], or by nothing if it is no
    /// longer kept.
    Flame {
        comparison: ComparisonId,
        width: FlameWidth,
        unit: ChangeUnit,
        focus: Option<NodeKey>,
        /// Width of the picture, css px.
        width_px: f64,
        theme: ThemeName,
    },
    /// The newest comparison as an SVG file, the same as `vramscope plot` makes. Answered by [`Answer::Picture`].
    Picture {
        /// Names of both sides' files in the titles.
        files: [String; 2],
        selections: [Selection; 2],
        /// Whether both sides are of the same recording.
        is_one_recording: bool,
        width: FlameWidth,
        unit: ChangeUnit,
        focus: Option<NodeKey>,
        sheet: Sheet,
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
    pub device: DeviceIndex,
    pub selection: Selection,
    pub axis: CurveAxis,
    /// How many columns they have at most.
    pub columns: u32,
}

/// A side for the worker that compares.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideData {
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
    CountGrowth,
    /// The most bytes on the first side first.
    Before,
    /// The most bytes on the second side first.
    After,
    /// The most bytes that are new and not freed first.
    New,
    Name,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    Moments(NamedMoments),
    Curves(Curves),
    Profile(HandedProfile),
    Compared(Box<Compared>),
    Sites(SiteRows),
    Flame(SignedFlame),
    /// The SVG file is attached.
    Picture,
}

/// Moments that a program or the allocator named.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct NamedMoments {
    pub device: DeviceIndex,
    /// In order of time.
    pub moments: Vec<NamedMoment>,
    /// How many more there are.
    pub left_out: u32,
}

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
    pub id: ComparisonId,
    pub before: SideFacts,
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
    pub device: DeviceIndex,
    pub figures: Figures,
    /// What was compared of it.
    pub total: Amount,
    pub curves: Curves,
    /// Where on that what is compared lies.
    pub marks: Vec<u64>,
}

/// Rows of the table.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SiteRows {
    pub comparison: ComparisonId,
    pub first: u32,
    /// All rows that there are.
    pub of: u32,
    pub rows: Vec<SiteRow>,
    /// The largest difference of bytes of all, for bars.
    pub largest_difference: u64,
}

/// A row of the table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SiteRow {
    pub label: String,
    /// The filter that finds what has its code on its stack.
    pub search: Option<String>,
    /// The colour of its code.
    pub colour: Rgb,
    pub change: Change,
    /// What became of its single allocations, for two moments of one device.
    pub turnover: Option<Turnover>,
    /// How long its bar is, from −1 (the largest difference, shrunk) to 1 (grown).
    pub bar: f64,
}

/// A signed flame graph.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SignedFlame {
    pub comparison: ComparisonId,
    /// Its boxes, filled with the colours of differences.
    pub scene: FlameScene,
    /// What each box is and what became of it.
    pub boxes: Vec<SignedBox>,
    /// The filter that finds what has the frame in focus on its stack.
    pub search: Option<String>,
    pub total: Change,
}

/// A box of a signed flame graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SignedBox {
    /// The frame's name; the caller's, of several that are too narrow.
    pub name: String,
    pub change: Change,
}
