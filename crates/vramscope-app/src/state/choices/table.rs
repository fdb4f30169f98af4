//! The user's choices in the table of allocations.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::time::selection::Selection;

use crate::state::selected::Places;

/// The choices in the table of allocations, kept in the address.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TableChoices {
    pub column: Property,
    /// Whether the largest come first.
    pub is_descending: bool,
    /// Whether only what is selected is listed; `None` = if that is a range. A cursor moves with every match and event
    /// that the user goes to, and a list should not change under the hand.
    pub only_selected: Option<bool>,
}

impl Default for TableChoices {
    /// The largest allocations come first.
    fn default() -> Self {
        Self {
            column: Property::Size,
            is_descending: true,
            only_selected: None,
        }
    }
}

impl TableChoices {
    /// The choices after a click on a column's head: another column in its natural direction, or the same one reversed.
    #[must_use]
    pub fn sort_by(&self, column: Property) -> Self {
        let is_descending = if column == self.column {
            !self.is_descending
        } else {
            column.is_largest_first()
        };
        Self {
            column,
            is_descending,
            ..self.clone()
        }
    }

    /// The allocations to list: what is selected, or all.
    #[must_use]
    pub fn selection(&self, places: &Places) -> Selection {
        let is_limited = self.only_selected.unwrap_or(places.range.is_some());
        let chosen = places.chosen().filter(|_| is_limited);
        chosen.unwrap_or(Selection::All)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_what_is_selected_or_all() {
        let none = Places::default();
        let cursor = Places {
            cursor: Some(3),
            ..none
        };
        let range = Places {
            range: Some((4, 9)),
            ..cursor
        };
        let of = |only_selected, places| {
            let choices = TableChoices {
                only_selected,
                ..TableChoices::default()
            };
            choices.selection(places)
        };
        for only_selected in [None, Some(true), Some(false)] {
            assert_eq!(of(only_selected, &none), Selection::All);
        }
        assert_eq!(of(None, &cursor), Selection::All);
        assert_eq!(of(Some(true), &cursor), Selection::LiveAt(3));
        assert_eq!(of(None, &range), Selection::AllocatedIn((4, 9)));
        assert_eq!(of(Some(false), &range), Selection::All);
    }

    #[test]
    fn a_second_click_turns_the_order() {
        let by_site = TableChoices::default().sort_by(Property::CallSite);
        assert_eq!(
            (by_site.column, by_site.is_descending),
            (Property::CallSite, false)
        );
        assert!(by_site.sort_by(Property::CallSite).is_descending);
        assert!(
            !TableChoices::default()
                .sort_by(Property::Size)
                .is_descending
        );
    }
}
