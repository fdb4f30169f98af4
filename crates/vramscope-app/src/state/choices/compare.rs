//! What was chosen in the comparison.

use serde::{Deserialize, Serialize};
use vramscope_core::model::DeviceIndex;
use vramscope_view::flame::NodeKey;

use crate::protocol::views::compare::{ChangeUnit, FlameWidth, Naming, SiteOrder};

/// What was chosen in the comparison; kept in the address.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct CompareChoices {
    /// The first side.
    pub before: SideChoice,
    /// The second side.
    pub after: SideChoice,
    /// By what places in the code are matched.
    pub naming: Naming,
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
    /// The sides the other way round.
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

/// A device of an open file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordingChoice {
    pub file: Option<FileChoice>,
    /// The device; `None` = the one that is shown.
    pub device: Option<DeviceIndex>,
}

impl CompareChoices {
    /// The same with another recording on one side. From now on both are named, so that switching tabs does
    /// not change what is compared; `shown` is the one that was meant where none was named.
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
            // A number of one recording means nothing in another.
            SideWhat::Event(_) => SideWhat::Peak,
            what => what,
        };
        let RecordingChoice { file, device } = recording;
        let mut choices = choices.with_side(which, SideChoice { file, device, what });
        let of = |side: &SideChoice| (side.file.clone(), side.device);
        if of(&choices.before) != of(&choices.after) {
            // Two recordings are compared at their worst; the start is what one is compared with itself.
            for side in [&mut choices.before, &mut choices.after] {
                if side.what == SideWhat::Start {
                    side.what = SideWhat::Peak;
                }
            }
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

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct SideChoice {
    /// Which file; `None` = the one that is shown.
    pub file: Option<FileChoice>,
    /// Which of its devices; `None` = the one that is shown.
    pub device: Option<DeviceIndex>,
    pub what: SideWhat,
}

/// An open file. Sessions are counted anew whenever the page is loaded; names stay.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct FileChoice {
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
        assert_eq!(same.before.what, SideWhat::Start);
        assert_eq!(same.swapped().swapped(), same);
    }
}
