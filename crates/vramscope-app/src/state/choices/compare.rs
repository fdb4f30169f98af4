//! The user's choices in the comparison.

use serde::{Deserialize, Serialize};
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::compare::{ChangeUnit, FlameWidth, Naming, SiteOrder};
use vramscope_view::flame::NodeKey;

/// The choices in the comparison, kept in the address.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct CompareChoices {
    /// The first side.
    pub before: SideChoice,
    /// The second side.
    pub after: SideChoice,
    /// The naming by which places in the code are matched.
    pub naming: Naming,
    /// The panel below the sums.
    pub panel: ComparePanel,
    /// The order of the table.
    pub order: SiteOrder,
    /// Whether call sites without a change are left out of the table.
    pub changed_only: bool,
    /// The meaning of widths in the flame graph.
    pub width: FlameWidth,
    /// The unit of the flame graph: bytes or allocations.
    pub unit: ChangeUnit,
    /// The node that fills the flame graph; `None` = the root.
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
            before: side(SideWhat::SelectedFirst),
            after: side(SideWhat::SelectedLast),
            naming: Naming::default(),
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
    /// The choices with the ends of what is selected in the shown recording.
    #[must_use]
    pub fn of_selection(&self) -> Self {
        let Self { before, after, .. } = Self::default();
        Self {
            before,
            after,
            ..self.clone()
        }
    }

    /// Whether the user has chosen neither side.
    #[must_use]
    pub fn is_of_selection(&self) -> bool {
        *self == self.of_selection()
    }

    /// The choices with each side at an event of its recording.
    #[must_use]
    pub fn at_events(&self, moments: [u32; 2]) -> Self {
        let mut choices = self.clone();
        choices.before.what = SideWhat::Event(moments[0]);
        choices.after.what = SideWhat::Event(moments[1]);
        choices
    }

    /// The choices with both sides swapped.
    #[must_use]
    pub fn swapped(&self) -> Self {
        Self {
            before: self.after.clone(),
            after: self.before.clone(),
            ..self.clone()
        }
    }

    #[must_use]
    pub fn side(&self, which: Which) -> &SideChoice {
        match which {
            Which::Before => &self.before,
            Which::After => &self.after,
        }
    }

    /// The choices with another side.
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

/// A device of an open file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordingChoice {
    pub file: Option<FileChoice>,
    /// The device; `None` = the one that is shown.
    pub device: Option<DeviceIndex>,
}

impl CompareChoices {
    /// The choices with another recording on one side. From now on both sides are named, so that switching tabs does
    /// not change the comparison. `shown` stands for a side without a name.
    #[must_use]
    pub fn with_recording(
        &self,
        which: Which,
        recording: RecordingChoice,
        shown: &RecordingChoice,
    ) -> Self {
        let mut choices = self.clone();
        for side in [&mut choices.before, &mut choices.after] {
            if side.file.is_none() {
                side.file.clone_from(&shown.file);
                side.device = side.device.or(shown.device);
            }
        }
        let what = match choices.side(which).what {
            // The number of an event in one recording means nothing in another.
            SideWhat::Event(_) => SideWhat::Peak,
            what => what,
        };
        let RecordingChoice { file, device } = recording;
        let mut choices = choices.with_side(which, SideChoice { file, device, what });
        let of = |side: &SideChoice| (side.file.clone(), side.device);
        if of(&choices.before) != of(&choices.after) {
            // The start is compared with a later moment of the same recording. Two recordings are compared at their peaks,
            // as what is selected in one says nothing of the other.
            for side in [&mut choices.before, &mut choices.after] {
                if matches!(
                    side.what,
                    SideWhat::Start | SideWhat::SelectedFirst | SideWhat::SelectedLast
                ) {
                    side.what = SideWhat::Peak;
                }
            }
        }
        choices
    }
}

/// A side of the comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    /// The first side, which the second is compared with.
    Before,
    /// The second side.
    After,
}

/// A panel of the comparison.
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

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SideChoice {
    /// The file; `None` = the one that is shown.
    pub file: Option<FileChoice>,
    /// The device; `None` = the one that is shown.
    pub device: Option<DeviceIndex>,
    pub what: SideWhat,
}

/// An open file by its name, which outlasts a reload of the page, unlike the numbers of sessions.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FileChoice {
    pub name: String,
    /// Its number among the open files of this name, from 0.
    #[serde(default)]
    pub nth: u32,
}

/// The allocations of a device that are compared.
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
    /// Live at the begin of the selected range; without one, at the start.
    #[serde(alias = "range_start")]
    SelectedFirst,
    /// Live at the end of the selected range; without one, at the cursor, else at the peak.
    #[serde(alias = "range_end", alias = "cursor")]
    SelectedLast,
    /// Live after this number of events.
    Event(u32),
    /// Allocated in the selected range; without one, in the whole recording.
    Allocated,
    /// Allocated there and live at its end.
    Retained,
}

impl SideWhat {
    /// The choices without a number, in the order of the list.
    pub const NAMED: [Self; 7] = [
        Self::SelectedFirst,
        Self::SelectedLast,
        Self::Start,
        Self::Peak,
        Self::End,
        Self::Allocated,
        Self::Retained,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_recording_names_both_and_compares_the_peaks() {
        let recording = |name: &str, device| RecordingChoice {
            file: Some(FileChoice {
                name: name.to_owned(),
                nth: 0,
            }),
            device,
        };
        let shown = recording("a", Some(1));
        let mut choices = CompareChoices::default();
        choices.after.what = SideWhat::Event(7);
        let found = choices.with_recording(Which::After, recording("b", None), &shown);
        assert_eq!(
            (found.before.file, found.before.device),
            (shown.file.clone(), Some(1))
        );
        assert_eq!(
            (found.before.what, found.after.what),
            (SideWhat::Peak, SideWhat::Peak)
        );
        // The same recording on both sides: the start is worth comparing.
        let same = choices.with_recording(Which::After, shown.clone(), &shown);
        assert_eq!(same.before.what, SideWhat::SelectedFirst);
        assert_eq!(same.swapped().swapped(), same);
    }
}
