//! The user's choices in each view, as plain data that the address can keep.

mod allocator;
mod compare;
mod flame;
mod fleet;
mod lanes;
mod split;
mod table;
mod what_if;

use super::LiveChoices;
use serde::{Deserialize, Serialize};
use vramscope_protocol::Picture;

use super::selected::OfRange;

pub use allocator::AllocatorChoices;
pub use compare::{
    CompareChoices, ComparePanel, FileChoice, RecordingChoice, SideChoice, SideWhat, Which,
};
pub use flame::{FlameChoices, FlameForm, FlameWhat};
pub use fleet::FleetChoices;
pub use lanes::LanesChoices;
pub use split::{SHARE_PERCENT, SplitChoices};
pub use table::TableChoices;
pub use what_if::{FIELDS, Field, SettingChanges, WhatIfChoices, WhatIfPanel};

/// The choice of what a selected range stands for in all views.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RangeChoices {
    pub of: OfRange,
}

/// The choices in all views.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    pub range: RangeChoices,
    pub lanes: LanesChoices,
    pub split: SplitChoices,
    pub allocator: AllocatorChoices,
    pub flame: FlameChoices,
    pub table: TableChoices,
    pub compare: CompareChoices,
    pub what_if: WhatIfChoices,
    pub live: LiveChoices,
    pub fleet: FleetChoices,
}

/// All choices of one view after a change.
#[derive(Clone, PartialEq, Debug)]
pub enum Chosen {
    Range(RangeChoices),
    Lanes(LanesChoices),
    Split(SplitChoices),
    Allocator(AllocatorChoices),
    Flame(FlameChoices),
    Table(TableChoices),
    Compare(CompareChoices),
    WhatIf(WhatIfChoices),
    Live(LiveChoices),
    Fleet(FleetChoices),
}

impl Choices {
    /// The changed settings of the replay that is drawn over a picture.
    #[must_use]
    pub fn drawn_replay(&self, picture: Picture) -> Option<String> {
        let is_drawn = self.lanes.replayed && picture == Picture::Timeline;
        let settings = is_drawn.then(|| self.what_if.settings.text())?;
        Some(settings).filter(|settings| !settings.is_empty())
    }

    pub(super) fn take(&mut self, chosen: Chosen) {
        match chosen {
            Chosen::Range(choices) => self.range = choices,
            Chosen::Lanes(choices) => self.lanes = choices,
            Chosen::Split(choices) => self.split = choices,
            Chosen::Allocator(choices) => self.allocator = choices,
            Chosen::Flame(choices) => self.flame = choices,
            Chosen::Table(choices) => self.table = choices,
            Chosen::Compare(choices) => self.compare = choices,
            Chosen::WhatIf(choices) => self.what_if = choices,
            Chosen::Live(choices) => self.live = choices,
            Chosen::Fleet(choices) => self.fleet = choices,
        }
    }
}
