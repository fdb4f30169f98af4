//! The tables of a dataset of many snapshots, as written by `fleet pack` and queried with SQL.

use super::fleet::{FleetTable, KEYED_STACKS};
use super::{Field, Kind, Table, field};

/// The column that all rows of a folder share (`rank=17`), and that is therefore in no file.
pub const RANK: Field = field("rank", Kind::Number, "the rank whose row it is");

/// The column that identifies the snapshot.
const SNAPSHOT: Field = field(
    "snapshot",
    Kind::Text,
    "the path of its file, from the folder in which the dataset is",
);

/// The column that replaces a stack's number, which means nothing outside of its file.
const STACK_KEY: Field = field(
    "stack_key",
    Kind::Text,
    "a hash over all frames of the stack, equal on every machine: see `stacks`",
);

/// The column that is left out: it repeats the address, and takes as much room as five others.
const LEFT_OUT: (Table, &str) = (Table::Allocations, "name");

/// A table of a dataset.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum DatasetTable {
    /// A table of each snapshot.
    Snapshot(Table),
    /// Stacks by their content.
    Stacks,
    /// A table of the fleet.
    Fleet(FleetTable),
}

/// What a column holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// The path of the snapshot. The rows have no value for it.
    Snapshot,
    /// The value in the rows.
    Value,
    /// The key of the stack whose number is in the rows.
    StackKey,
    /// Nothing: the rows have a value, but the dataset does not.
    LeftOut,
}

impl DatasetTable {
    /// All tables. Frames are not among them, because stacks by content contain them.
    pub const ALL: [Self; 11] = [
        Self::Fleet(FleetTable::Ranks),
        Self::Fleet(FleetTable::Curve),
        Self::Fleet(FleetTable::SitesAtPeak),
        Self::Fleet(FleetTable::Findings),
        Self::Fleet(FleetTable::Failures),
        Self::Snapshot(Table::Events),
        Self::Snapshot(Table::Allocations),
        Self::Stacks,
        Self::Snapshot(Table::Annotations),
        Self::Snapshot(Table::Segments),
        Self::Snapshot(Table::Blocks),
    ];

    /// The name of the table, and of its folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Snapshot(table) => table.name(),
            Self::Stacks => "stacks",
            Self::Fleet(table) => table.name(),
        }
    }

    /// What a row is, in a few words.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Snapshot(table) => table.meaning(),
            Self::Stacks => {
                "a distinct stack of a snapshot; equal stacks have equal keys on all ranks"
            }
            Self::Fleet(table) => table.meaning(),
        }
    }

    /// The columns of its files and the columns left out, in the order of the rows' values.
    #[must_use]
    pub fn columns(self) -> Vec<(Field, Content)> {
        let fields = match self {
            Self::Snapshot(table) => table.fields(),
            Self::Stacks => KEYED_STACKS.to_vec(),
            Self::Fleet(table) => table.fields(),
        };
        let columns = fields.into_iter().map(|field| match (self, field.name) {
            (Self::Snapshot(_), "stack_id") => (STACK_KEY, Content::StackKey),
            (Self::Snapshot(table), name) if (table, name) == LEFT_OUT => (field, Content::LeftOut),
            _ => (field, Content::Value),
        });
        [(SNAPSHOT, Content::Snapshot)]
            .into_iter()
            .chain(columns)
            .collect()
    }
}
