//! The user's choices in the flame graph.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::code::frame_groups::{FoldPatterns, PatternError};
use vramscope_core::analysis::time::selection::{Selection, Weight};
use vramscope_core::model::DeviceIndex;
use vramscope_protocol::views::filter::FilterText;
use vramscope_protocol::views::flame::{About, Fold, FrameGrouping, FunctionOrder, TreeKind};
use vramscope_view::flame::{NodeKey, Shape};

use crate::state::selected::Places;

/// The allocations of the flame graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlameWhat {
    /// What is selected; see [`Places::selected`].
    #[default]
    #[serde(alias = "cursor")]
    Selected,
    /// Live at the peak.
    Peak,
    /// Live at the end.
    End,
    /// Allocated in the whole recording.
    Allocated,
    /// Allocated in the recording and never freed.
    Retained,
}

impl FlameWhat {
    #[must_use]
    pub fn selection(self, places: &Places) -> Selection {
        match self {
            Self::Selected => places.selected(),
            Self::Peak => Selection::LiveAt(places.peak),
            Self::End => Selection::LiveAt(places.end),
            Self::Allocated => Selection::AllocatedIn((0, places.end)),
            Self::Retained => Selection::RetainedFrom((0, places.end)),
        }
    }

    /// Its name in the list, which says what is selected.
    #[must_use]
    pub fn word(self, places: &Places) -> String {
        let words = places.exact_words(self.selection(places));
        match self {
            Self::Selected => format!("selected: {words}"),
            _ => words,
        }
    }
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

impl FlameForm {
    /// The direction in which boxes grow; `None` for lists.
    #[must_use]
    pub fn shape(self) -> Option<Shape> {
        match self {
            Self::Icicle => Some(Shape::Icicle),
            Self::Flame => Some(Shape::Flame),
            Self::Tree | Self::Sandwich => None,
        }
    }
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
    /// Whether trees begin with the pools, streams and segments of the memory. Then callers follow.
    pub by_place: bool,
    /// The node that fills the width; `None` = the root.
    pub focus: Option<NodeKey>,
    /// The label of the sandwich's function; empty = the heaviest one.
    pub function: String,
    pub order: FunctionOrder,
}

impl FlameChoices {
    /// What trees of these allocations are about.
    #[must_use]
    pub fn about(
        &self,
        device: DeviceIndex,
        filter: Option<FilterText>,
        selection: Selection,
    ) -> About {
        About {
            device,
            selection,
            weight: self.weight,
            grouping: self.grouping,
            fold: self.fold,
            patterns: self.patterns.clone(),
            // A sandwich is about code alone.
            by_place: self.by_place && self.form != FlameForm::Sandwich,
            filter,
        }
    }

    /// The tree of the graph and the table.
    #[must_use]
    pub fn tree(&self) -> TreeKind {
        if self.inverted && !self.by_place {
            TreeKind::BottomUp
        } else {
            TreeKind::TopDown
        }
    }

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
    fn the_graph_follows_what_is_selected() {
        let places = Places {
            cursor: Some(3),
            peak: 7,
            end: 20,
            ..Places::default()
        };
        let of = |what: FlameWhat| what.selection(&places);
        assert_eq!(of(FlameWhat::default()), Selection::LiveAt(3));
        assert_eq!(of(FlameWhat::Peak), Selection::LiveAt(7));
        assert_eq!(of(FlameWhat::Retained), Selection::RetainedFrom((0, 20)));
        assert_eq!(
            FlameWhat::Selected.word(&places),
            "selected: live at event 3"
        );
        // Links of older pages name the cursor.
        let old = serde_json::from_str::<FlameWhat>("\"cursor\"");
        assert_eq!(old.unwrap(), FlameWhat::Selected);
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
