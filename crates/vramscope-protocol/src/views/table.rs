//! The questions of the table of allocations.

use serde::{Deserialize, Serialize};
use vramscope_core::analysis::properties::Property;
use vramscope_core::analysis::report::allocations::AllocationRow;
use vramscope_core::analysis::search::filter::Totals;
pub use vramscope_core::analysis::time::selection::Selection;
use vramscope_core::ids::AllocationId;
use vramscope_core::model::DeviceIndex;
use vramscope_view::colour::Rgb;

use super::filter::FilterText;
use crate::ThemeName;

/// The rows of a table and their order.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TableOrder {
    pub device: DeviceIndex,
    /// The filter that its allocations match; `None` = all.
    pub filter: Option<FilterText>,
    /// The allocations to list, of those that match.
    pub selection: Selection,
    pub column: Property,
    /// Whether the largest come first.
    pub is_descending: bool,
}

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Question {
    /// A window of rows. Answered by [`Answer::Rows`].
    Rows {
        order: TableOrder,
        /// The first row of the window.
        first: u32,
        /// Number of rows; at most [`MOST_ROWS`].
        count: u32,
        /// An allocation whose row is asked for.
        locate: Option<AllocationId>,
        /// The moment at which live bytes are counted; the device's peak if there is none.
        moment: Option<u32>,
        /// What the rows' colours stand for, and the theme that they are of.
        colour_by: Property,
        theme: ThemeName,
    },
    /// A piece of the table as CSV. Answered by [`Answer::Csv`] with the bytes of its lines attached.
    Csv {
        order: TableOrder,
        /// The first row of the piece; the piece from row 0 begins with a line of names.
        first: u32,
        /// Number of rows; at most [`MOST_CSV_ROWS`].
        count: u32,
    },
}

impl Question {
    /// The table that is asked about.
    #[must_use]
    pub fn order(&self) -> &TableOrder {
        match self {
            Self::Rows { order, .. } | Self::Csv { order, .. } => order,
        }
    }
}

/// The most rows of one window.
pub const MOST_ROWS: u32 = 500;
/// The most rows of one piece of CSV: some megabytes.
pub const MOST_CSV_ROWS: u32 = 20_000;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub enum Answer {
    Rows(TableWindow),
    Csv {
        /// Number of rows of the whole table.
        all_rows: u32,
    },
}

/// A window of a table, and the sums over the whole table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct TableWindow {
    /// Number of rows of the whole table.
    pub all_rows: u32,
    /// The first row of the window.
    pub first: u32,
    /// With a cell for each of [`Self::columns`].
    pub rows: Vec<AllocationRow>,
    /// Per row, its colour in the legend.
    pub colours: Vec<Rgb>,
    /// The row of the allocation that was asked for; `None` if the table does not hold it.
    pub place: Option<u32>,
    /// Sums over all rows of the table.
    pub totals: Totals,
    /// The columns that tell its allocations apart.
    pub columns: Vec<Property>,
}
