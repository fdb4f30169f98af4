//! What was chosen in each view: plain data, one file each, so that the address can keep it.

mod allocator;
mod compare;
mod flame;
mod lanes;
mod table;
mod what_if;

use serde::{Deserialize, Serialize};

pub use allocator::AllocatorChoices;
pub use compare::{
    CompareChoices, ComparePanel, FileChoice, RecordingChoice, SideChoice, SideWhat, Which,
};
pub use flame::{FlameChoices, FlameForm, FlamePlaces, FlameWhat};
pub use lanes::LanesChoices;
pub use table::TableChoices;
pub use what_if::{FIELDS, Field, SettingChanges, WhatIfChoices, WhatIfPanel};

/// What was chosen in each view.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Choices {
    /// In the timeline, beside its picture.
    pub lanes: LanesChoices,
    /// In the view of the allocator.
    pub allocator: AllocatorChoices,
    /// In the flame graph.
    pub flame: FlameChoices,
    /// In the table of allocations.
    pub table: TableChoices,
    /// In the comparison.
    pub compare: CompareChoices,
    /// In the what-if view.
    pub what_if: WhatIfChoices,
}

/// All choices of one view, of which one has changed.
#[derive(Clone, PartialEq, Debug)]
pub enum Chosen {
    /// In the timeline, beside its picture.
    Lanes(LanesChoices),
    /// In the view of the allocator.
    Allocator(AllocatorChoices),
    /// In the flame graph.
    Flame(FlameChoices),
    /// In the table of allocations.
    Table(TableChoices),
    /// In the comparison.
    Compare(CompareChoices),
    /// In the what-if view.
    WhatIf(WhatIfChoices),
}

impl Choices {
    pub(super) fn take(&mut self, chosen: Chosen) {
        match chosen {
            Chosen::Lanes(choices) => self.lanes = choices,
            Chosen::Allocator(choices) => self.allocator = choices,
            Chosen::Flame(choices) => self.flame = choices,
            Chosen::Table(choices) => self.table = choices,
            Chosen::Compare(choices) => self.compare = choices,
            Chosen::WhatIf(choices) => self.what_if = choices,
        }
    }
}
