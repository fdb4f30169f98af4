//! What was chosen in the comparison.

use serde::{Deserialize, Serialize};
use vramscope_core::model::DeviceIndex;
use vramscope_view::flame::NodeKey;

use crate::protocol::views::compare::{ChangeUnit, FlameWidth, FrameGrouping, SiteOrder};

/// What was chosen in the comparison; kept in the address.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct CompareChoices {
    /// The first side.
    pub before: SideChoice,
    /// The second side.
    pub after: SideChoice,
    /// By what places in the code are matched.
    pub grouping: FrameGrouping,
    /// What is shown of the comparison.
    pub panel: ComparePanel,
    /// The order of the table.
    pub order: SiteOrder,
    /// Whether call sites that are alike are left out of the table.
    pub changed_only: bool,
    /// What the widths of the flame graph say.
    pub width: FlameWidth,
    /// What it counts.
    pub unit: ChangeUnit,
    /// What fills it.
    pub focus: Option<NodeKey>,
    /// Whether the strip of all devices and files is folded away.
    pub strip_folded: bool,
}

impl Default for CompareChoices {
    fn default() -> Self {
        let side = |what| SideChoice {
            what,
            ..SideChoice::default()
        };
        Self {
            before: side(SideWhat::Start),
            after: side(SideWhat::Peak),
            grouping: FrameGrouping::default(),
            panel: ComparePanel::default(),
            order: SiteOrder::default(),
            changed_only: true,
            width: FlameWidth::default(),
            unit: ChangeUnit::default(),
            focus: None,
            strip_folded: false,
        }
    }
}

impl CompareChoices {
    /// The sides the other way round.
    #[must_use]
    pub fn swapped(&self) -> Self {
        Self {
            before: self.after.clone(),
            after: self.before.clone(),
            ..self.clone()
        }
    }

    /// A side.
    #[must_use]
    pub fn side(&self, which: Which) -> &SideChoice {
        match which {
            Which::Before => &self.before,
            Which::After => &self.after,
        }
    }

    /// The same with another side.
    #[must_use]
    pub fn with_side(&self, which: Which, side: SideChoice) -> Self {
        let mut choices = self.clone();
        match which {
            Which::Before => choices.before = side,
            Which::After => choices.after = side,
        }
        choices
    }
}

/// Which side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The first: what is compared with.
    Before,
    /// The second: what is judged.
    After,
}

/// What is shown of a comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ComparePanel {
    /// The table of call sites.
    #[default]
    Sites,
    /// The signed flame graph.
    Flame,
    /// The settings that differ, and all figures.
    Settings,
}

/// One side.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SideChoice {
    /// Which file; `None` = the one that is shown.
    pub file: Option<FileChoice>,
    /// Which of its devices; `None` = the one that is shown.
    pub device: Option<DeviceIndex>,
    /// What of it.
    pub what: SideWhat,
}

/// An open file. Sessions are counted anew whenever the page is loaded; names stay.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FileChoice {
    /// Its name.
    pub name: String,
    /// Which of the open files of this name, from 0.
    #[serde(default)]
    pub nth: u32,
}

/// What of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideWhat {
    /// Live at the start of the recording.
    Start,
    /// Live at the peak.
    #[default]
    Peak,
    /// Live at the end.
    End,
    /// Live at the cursor; at the end, where there is none.
    Cursor,
    /// Live where the selected range begins; at the start, where there is none.
    RangeStart,
    /// Live where the selected range ends; at the end, where there is none.
    RangeEnd,
    /// Live after so many events.
    Event(u32),
    /// Allocated in the selected range; in the whole recording, where there is none.
    Allocated,
    /// The same, if still live at its end.
    Retained,
}

impl SideWhat {
    /// Those that need no number, in the order of the list.
    pub const NAMED: [Self; 8] = [
        Self::Start,
        Self::Cursor,
        Self::Peak,
        Self::End,
        Self::RangeStart,
        Self::RangeEnd,
        Self::Allocated,
        Self::Retained,
    ];
}
