//! The questions of the comparison.
//!
//! A worker has one file. The side of another file is asked of that file's worker as a [`Profile`], and the page hands
//! it on unread to the worker that compares.

use std::rc::Rc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
pub use vramscope_core::analysis::code::frame_groups::{Fold, FrameGrouping};
use vramscope_core::analysis::compare::changes::{Change, SettingChange};
pub use vramscope_core::analysis::compare::side::Profile;
pub use vramscope_core::analysis::compare::site_order::{SiteColumn, SiteOrder};
use vramscope_core::analysis::groups::turnover::Turnover;
pub use vramscope_core::analysis::report::named_moments::NamedMoments;
pub use vramscope_core::analysis::time::curves::{CurveAxis, Curves};
use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::model::DeviceIndex;
pub use vramscope_view::change_flame::{ChangeUnit, FlameWidth};
use vramscope_view::colour::Rgb;
use vramscope_view::flame::{FlameScene, NodeKey};
use vramscope_view::plot::views::Sheet;

use crate::ThemeName;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// The moments of a device that have a name. Answered by [`Answer::Moments`].
    Moments { device: DeviceIndex },
    /// The whole recording of a device as a small picture. Answered by [`Answer::Curves`].
    Curves {
        device: DeviceIndex,
        axis: CurveAxis,
        /// The most columns that they may have.
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

/// The naming of frames, by which both sides are matched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Naming {
    pub grouping: FrameGrouping,
    /// The frames that are left out of call paths.
    pub fold: Fold,
}

/// One side of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SideSpec {
    pub device: DeviceIndex,
    pub selection: Selection,
    /// The axis of the curves.
    pub axis: CurveAxis,
    /// The most columns of the curves.
    pub columns: u32,
}

/// A side, for the worker that compares.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideData {
    Here(SideSpec),
    /// A side of another file, from that file's worker.
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

/// Two sides and their differences.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Compared {
    pub id: ComparisonId,
    /// How much differs and where, in a sentence that calls the sides A and B.
    pub headline: String,
    /// The first side, without its names, tree, sites and settings.
    pub before: Profile,
    /// The second side, likewise.
    pub after: Profile,
    /// Allocations that came, went and stayed; `None` unless two moments of one device are compared.
    pub turnover: Option<Turnover>,
    /// Number of call sites on either side.
    pub sites: u32,
    /// Number of those that differ.
    pub changed_sites: u32,
    /// Settings that differ, by name.
    pub settings: Vec<SettingChange>,
    /// Whether either side records settings.
    pub settings_known: bool,
}

/// Rows of the table.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SiteRows {
    pub first: u32,
    /// Number of all rows.
    pub of: u32,
    pub rows: Vec<SiteRow>,
}

/// A row of the table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SiteRow {
    pub label: String,
    /// The operators that made its allocations; empty if none is known.
    pub operators: String,
    /// The filter that finds the allocations with its code on their stacks; `None` if it names no code.
    pub search: Option<String>,
    pub colour: Rgb,
    pub change: Change,
    /// Its allocations that came, went and stayed; `None` unless two moments of one device are compared.
    pub turnover: Option<Turnover>,
    /// Length of its bar: 1 is the largest growth or, negative, the largest shrinkage of all rows.
    pub bar: f64,
}

/// A signed flame graph.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct SignedFlame {
    /// Its boxes, in the colours of differences.
    pub scene: FlameScene,
    /// Name and change of each box of the scene.
    pub boxes: Vec<SignedBox>,
    /// The filter that finds the allocations with the focused frame on their stacks; `None` if it names no code.
    pub search: Option<String>,
}

/// A box of a signed flame graph.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct SignedBox {
    /// The frame's name; for several narrow frames, their caller's.
    pub name: String,
    pub change: Change,
}
