//! The user's choices in the flame graph.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::code::frame_groups::{FoldPatterns, PatternError};
use vramscope_core::analysis::time::selection::{Moments, Selection, Weight};
use vramscope_view::display;
use vramscope_view::flame::NodeKey;

use crate::protocol::DeviceFacts;
use crate::protocol::views::flame::{Fold, FrameGrouping, FunctionOrder};
use crate::state::DeviceView;

/// The allocations of the flame graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlameWhat {
    /// Live at the cursor; without one, at the peak.
    Cursor,
    /// Live at the peak.
    #[default]
    Peak,
    /// Live at the end.
    End,
    /// Allocated in the selected range; without one, in the whole recording.
    Allocated,
    /// Allocated there and live at its end.
    Retained,
}

/// The form of the flame graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlameForm {
    /// Boxes hanging from the root.
    #[default]
    Icicle,
    /// Boxes standing on the root.
    Flame,
    /// A table with rows that open.
    Tree,
    /// A list of functions, with the callers and the callees of one of them.
    Sandwich,
}

/// The choices in the flame graph, kept in the address.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FlameChoices {
    pub what: FlameWhat,
    /// The unit of sums.
    pub weight: Weight,
    pub grouping: FrameGrouping,
    /// The kind of frames that is left out.
    pub fold: Fold,
    /// Patterns of further frames to leave out, as typed.
    pub patterns: String,
    pub form: FlameForm,
    /// Whether trees begin with the frames that allocate, followed by their callers.
    pub inverted: bool,
    /// The node that fills the width; `None` = the root.
    pub focus: Option<NodeKey>,
    /// The label of the sandwich's function; empty = the heaviest one.
    pub function: String,
    pub order: FunctionOrder,
}

/// The moments of the recording that [`FlameWhat`] refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlamePlaces {
    pub cursor: Option<u32>,
    /// The selected range.
    pub range: Option<Moments>,
    pub peak: u32,
    /// The last moment.
    pub end: u32,
}

impl FlamePlaces {
    /// The moments of a device and its view.
    #[must_use]
    pub fn of(facts: &DeviceFacts, view: &DeviceView) -> Self {
        Self {
            cursor: view.cursor_moment(),
            range: view.moments(),
            peak: facts.peak_moment,
            end: facts.events,
        }
    }

    /// The selection of a choice.
    #[must_use]
    pub fn selection(&self, what: FlameWhat) -> Selection {
        let range = self.range.unwrap_or((0, self.end));
        match what {
            FlameWhat::Cursor => Selection::LiveAt(self.cursor.unwrap_or(self.peak)),
            FlameWhat::Peak => Selection::LiveAt(self.peak),
            FlameWhat::End => Selection::LiveAt(self.end),
            FlameWhat::Allocated => Selection::AllocatedIn(range),
            FlameWhat::Retained => Selection::RetainedFrom(range),
        }
    }

    /// The name of a choice, which depends on the cursor and the range.
    #[must_use]
    pub fn word(&self, what: FlameWhat) -> String {
        let at = |moment: u32| display::event(u64::from(moment));
        match (what, self.cursor, self.range) {
            (FlameWhat::Cursor, Some(moment), _) => format!("live at the cursor, {}", at(moment)),
            (FlameWhat::Cursor, None, _) => "live at the cursor (none set: peak)".to_owned(),
            (FlameWhat::Peak, ..) => format!("live at the peak, {}", at(self.peak)),
            (FlameWhat::End, ..) => "live at the end".to_owned(),
            (FlameWhat::Allocated, _, None) => "allocated in the whole recording".to_owned(),
            (FlameWhat::Allocated, _, Some(_)) => "allocated in the range".to_owned(),
            (FlameWhat::Retained, _, None) => "allocated and never freed".to_owned(),
            (FlameWhat::Retained, _, Some(_)) => "retained from the range".to_owned(),
        }
    }
}

impl FlameChoices {
    /// The fault of the patterns, as a sentence; `None` if they can be used.
    #[must_use]
    pub fn pattern_error(&self) -> Option<PatternError> {
        FoldPatterns::parse(&self.patterns).err()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_cursor_and_range_the_choices_still_mean_something() {
        let none = FlamePlaces {
            peak: 7,
            end: 20,
            ..FlamePlaces::default()
        };
        let some = FlamePlaces {
            cursor: Some(3),
            range: Some((4, 9)),
            ..none
        };
        for (what, without, with) in [
            (
                FlameWhat::Cursor,
                Selection::LiveAt(7),
                Selection::LiveAt(3),
            ),
            (FlameWhat::Peak, Selection::LiveAt(7), Selection::LiveAt(7)),
            (FlameWhat::End, Selection::LiveAt(20), Selection::LiveAt(20)),
            (
                FlameWhat::Allocated,
                Selection::AllocatedIn((0, 20)),
                Selection::AllocatedIn((4, 9)),
            ),
            (
                FlameWhat::Retained,
                Selection::RetainedFrom((0, 20)),
                Selection::RetainedFrom((4, 9)),
            ),
        ] {
            assert_eq!(none.selection(what), without);
            assert_eq!(some.selection(what), with);
        }
        assert_eq!(none.word(FlameWhat::Retained), "allocated and never freed");
        assert_eq!(some.word(FlameWhat::Cursor), "live at the cursor, event 3");
    }

    #[test]
    fn patterns_are_judged() {
        let with = |patterns: &str| FlameChoices {
            patterns: patterns.to_owned(),
            ..FlameChoices::default()
        };
        assert_eq!(with("torch/*").pattern_error(), None);
        assert!(with("*").pattern_error().is_some());
    }
}
