//! What was chosen in the table of allocations.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::report::allocations::Column;

/// What was chosen in the table of allocations; kept in the address.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct TableChoices {
    /// What it is sorted by.
    pub column: Column,
    /// Whether the largest come first.
    pub is_descending: bool,
}

impl Default for TableChoices {
    /// What takes the most comes first.
    fn default() -> Self {
        Self {
            column: Column::Size,
            is_descending: true,
        }
    }
}

impl TableChoices {
    /// After a click on a column's head: another column in its natural direction, the same one turned round.
    #[must_use]
    pub fn sort_by(&self, column: Column) -> Self {
        let is_descending = if column == self.column {
            !self.is_descending
        } else {
            // Of sizes and lengths the large ones are of interest, of all else the beginning.
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
