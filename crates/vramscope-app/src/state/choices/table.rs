//! The user's choices in the table of allocations.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::allocations::Column;

/// The choices in the table of allocations, kept in the address.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TableChoices {
    pub column: Column,
    /// Whether the largest come first.
    pub is_descending: bool,
}

impl Default for TableChoices {
    /// The largest allocations come first.
    fn default() -> Self {
        Self {
            column: Column::Size,
            is_descending: true,
        }
    }
}

impl TableChoices {
    /// The choices after a click on a column's head: another column in its natural direction, or the same one reversed.
    #[must_use]
    pub fn sort_by(&self, column: Column) -> Self {
        let is_descending = if column == self.column {
            !self.is_descending
        } else {
            // Sizes and lengths begin with the largest, which matter most. All other columns ascend.
            matches!(
                column,
                Column::Size | Column::Block | Column::Rounding | Column::Lifetime
            )
        };
        Self {
            column,
            is_descending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_click_turns_the_order() {
        let by_site = TableChoices::default().sort_by(Column::Site);
        assert_eq!(
            (by_site.column, by_site.is_descending),
            (Column::Site, false)
        );
        assert!(by_site.sort_by(Column::Site).is_descending);
        assert!(!TableChoices::default().sort_by(Column::Size).is_descending);
    }
}
