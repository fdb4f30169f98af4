//! The properties of an allocation, in one table: [`Property::row`] has the names and the meaning of a property, and
//! [`values()`] its values.
//!
//! Columns of tables, groups, colours, keys of the search box, fields of exports and options of the command line are
//! all derived from these two. A new property is a row here and an arm of [`values()`].

mod places;
mod values;

pub use self::places::nested_names;
pub(crate) use self::values::TEXT_LIMIT_BYTES;
pub use self::values::{NOT_RECORDED, Names, Values, names, values};

use serde::{Deserialize, Serialize};

use crate::listed::listed;

listed! {
    /// A property of an allocation.
    #[derive(
        Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
    )]
    #[serde(rename_all = "snake_case")]
    pub enum Property {
        /// The number in stacking order, from 1: allocations from before the recording first, then by birth.
        Order,
        /// Requested bytes.
        Size,
        /// The call site: the line of the user's code that allocated it, or the nearest line to it.
        #[default]
        CallSite,
        /// The call site's function.
        Function,
        /// The call site's file.
        File,
        /// The call site's Python module or C++ namespace.
        Module,
        /// The first component of the module.
        Package,
        /// The operator, see [`operators`](crate::analysis::code::operators).
        Operator,
        /// What the memory is used for, as inferred.
        Role,
        /// First moment at which the allocation is live; 0 for allocations from before the recording.
        Born,
        /// First moment at which a freed allocation is no longer live.
        Died,
        /// The recorded part of the lifetime.
        Lifetime,
        /// Number of steps that began while it was live.
        AgeSteps,
        /// The stream's number.
        Stream,
        /// The memory pool.
        Pool,
        /// The profiler's category.
        Category,
        /// The innermost annotated range around its alloc event.
        Annotation,
        /// The metadata that the program attached.
        Metadata,
        /// The region compiled by `torch.compile`.
        Compile,
        /// Start address.
        Address,
        /// Bytes of the block, if the allocation is live at the end.
        Block,
        /// Bytes of the block minus requested bytes, if the allocation is live at the end.
        Rounding,
    }
}

/// The kind of a property's values, which decides how they are written, sorted, coloured and searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A count.
    Number,
    /// A size in bytes.
    Bytes,
    /// A moment of the recording.
    Moment,
    /// A length of time, in microseconds or, in files without times, in events.
    Length,
    /// A device address.
    Address,
    /// One of any number of names. Sorted alphabetically; the largest groups have the distinct colours.
    Name,
    /// One of a few names that are sorted and coloured in an order of their own.
    Choice,
}

/// The names of a property, and its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Row {
    /// The property.
    pub property: Property,
    /// The kind of its values.
    pub kind: Kind,
    /// Its word in options, links and JSON.
    pub word: &'static str,
    /// An accepted synonym of `word`.
    pub alias: Option<&'static str>,
    /// The heading of its column.
    pub heading: &'static str,
    /// What it means, in one line for the user.
    pub help: &'static str,
    /// How to search for it; `None` if another key does that.
    pub key: Option<SearchKey>,
    /// Where it is shown by default.
    pub shown: Shown,
    /// Its column in tables for other programs; `None` if they have several columns for it.
    pub field: Option<&'static str>,
}

/// A key of the filter language whose values are those of a property.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SearchKey {
    /// Its name, in lower case.
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    /// A term with this key.
    pub example: &'static str,
    /// What can be searched for, where the property's help does not say it all.
    pub help: Option<&'static str>,
}

/// Where a property is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// It is a column of tables where its values differ.
    InTables,
    /// Only for groups and colours: another column of tables already has it.
    InGroups,
}

/// All properties, in the order of columns and lists.
const ROWS: [Row; 22] = [
    Row {
        property: Property::Order,
        kind: Kind::Number,
        word: "order",
        alias: None,
        heading: "#",
        help: "its number in order of birth",
        key: None,
        shown: Shown::InTables,
        field: None,
    },
    Row {
        property: Property::Size,
        kind: Kind::Bytes,
        word: "size",
        alias: Some("bytes"),
        heading: "Size",
        help: "requested bytes: what the program asked for",
        key: told(
            "size",
            &["bytes", "requested"],
            "size>100MiB",
            "requested bytes; also size:1MiB..2MiB",
        ),
        shown: Shown::InTables,
        field: None,
    },
    Row {
        property: Property::CallSite,
        kind: Kind::Name,
        word: "call_site",
        alias: Some("site"),
        heading: "Call site",
        help: "the line of your code that allocated it",
        key: key("site", &["at"], "site:model.py"),
        shown: Shown::InTables,
        field: Some("call_site"),
    },
    Row {
        property: Property::Function,
        kind: Kind::Name,
        word: "function",
        alias: None,
        heading: "Function",
        help: "the call site's function",
        key: None,
        shown: Shown::InGroups,
        field: None,
    },
    Row {
        property: Property::File,
        kind: Kind::Name,
        word: "file",
        alias: None,
        heading: "File",
        help: "the call site's file",
        key: None,
        shown: Shown::InGroups,
        field: None,
    },
    Row {
        property: Property::Module,
        kind: Kind::Name,
        word: "module",
        alias: None,
        heading: "Module",
        help: "the call site's Python module or C++ namespace",
        key: None,
        shown: Shown::InGroups,
        field: None,
    },
    Row {
        property: Property::Package,
        kind: Kind::Name,
        word: "package",
        alias: None,
        heading: "Package",
        help: "the first part of the call site's module",
        key: None,
        shown: Shown::InGroups,
        field: None,
    },
    Row {
        property: Property::Operator,
        kind: Kind::Name,
        word: "operator",
        alias: None,
        heading: "Operator",
        help: "the operator or autograd node that made it",
        key: key("op", &["operator"], "op:softmax"),
        shown: Shown::InTables,
        field: Some("operator"),
    },
    Row {
        property: Property::Role,
        kind: Kind::Choice,
        word: "role",
        alias: None,
        heading: "Role",
        help: "what it is for, inferred: parameter, gradient, activation, ...",
        key: key("role", &["for"], "role:activation"),
        shown: Shown::InTables,
        field: Some("role"),
    },
    Row {
        property: Property::Born,
        kind: Kind::Moment,
        word: "born",
        alias: Some("age"),
        heading: "Allocated",
        help: "when it was made",
        key: told(
            "born",
            &["allocated", "after"],
            "born>peak",
            "when it was made: an event, a time, peak, cursor, or range",
        ),
        shown: Shown::InTables,
        field: None,
    },
    Row {
        property: Property::Died,
        kind: Kind::Moment,
        word: "died",
        alias: None,
        heading: "Freed",
        help: "when its memory became free",
        key: told(
            "died",
            &["gone"],
            "died<2.5s",
            "when it was gone; never, for what is still live",
        ),
        shown: Shown::InTables,
        field: None,
    },
    Row {
        property: Property::Lifetime,
        kind: Kind::Length,
        word: "lifetime",
        alias: None,
        heading: "Lifetime",
        help: "how long it lived, as far as recorded",
        key: told(
            "lifetime",
            &["life", "lived"],
            "lifetime<5ms",
            "how long it lived: ms, s, or ev (events)",
        ),
        shown: Shown::InTables,
        field: None,
    },
    Row {
        property: Property::AgeSteps,
        kind: Kind::Number,
        word: "age_steps",
        alias: None,
        heading: "Steps",
        help: "its age in steps: how many began while it was live",
        key: key("steps", &["age_steps"], "steps>=2"),
        shown: Shown::InTables,
        field: Some("age_steps"),
    },
    Row {
        property: Property::Stream,
        kind: Kind::Choice,
        word: "stream",
        alias: None,
        heading: "Stream",
        help: "its stream, numbered in order of first appearance",
        key: told(
            "stream",
            &[],
            "stream:7",
            "its stream: the number shown, or the handle",
        ),
        shown: Shown::InTables,
        field: None,
    },
    Row {
        property: Property::Pool,
        kind: Kind::Choice,
        word: "pool",
        alias: None,
        heading: "Pool",
        help: "its memory pool",
        key: told(
            "pool",
            &[],
            "pool:private",
            "its memory pool: default, private, or an id such as 0,3",
        ),
        shown: Shown::InTables,
        field: None,
    },
    Row {
        property: Property::Category,
        kind: Kind::Choice,
        word: "category",
        alias: None,
        heading: "Category",
        help: "the profiler's category",
        key: key("category", &["cat"], "category:gradient"),
        shown: Shown::InTables,
        field: Some("category"),
    },
    Row {
        property: Property::Annotation,
        kind: Kind::Name,
        word: "annotation",
        alias: None,
        heading: "Annotation",
        help: "the annotated range it was allocated in",
        key: told(
            "annotation",
            &["during", "within"],
            "annotation:step",
            "allocated within an annotated range of this name",
        ),
        shown: Shown::InGroups,
        field: Some("annotation"),
    },
    Row {
        property: Property::Metadata,
        kind: Kind::Name,
        word: "metadata",
        alias: None,
        heading: "Metadata",
        help: "the text the program attached to it",
        key: key("meta", &["metadata", "note"], "meta:layer3"),
        shown: Shown::InTables,
        field: Some("user_metadata"),
    },
    Row {
        property: Property::Compile,
        kind: Kind::Name,
        word: "compile",
        alias: None,
        heading: "Compiled region",
        help: "the region of torch.compile",
        key: key("compile", &["compiled"], "compile:graph"),
        shown: Shown::InGroups,
        field: Some("compile_context"),
    },
    Row {
        property: Property::Address,
        kind: Kind::Address,
        word: "address",
        alias: None,
        heading: "Address",
        help: "its start address, and how often that was used before",
        key: told(
            "addr",
            &["address"],
            "addr:0x7f5a00000200",
            "the allocation around an address, or beginning with its digits",
        ),
        shown: Shown::InTables,
        field: None,
    },
    Row {
        property: Property::Block,
        kind: Kind::Bytes,
        word: "block",
        alias: None,
        heading: "Block",
        help: "bytes of its block, if it is live at the end",
        key: key("block", &[], "block>1MiB"),
        shown: Shown::InTables,
        field: None,
    },
    Row {
        property: Property::Rounding,
        kind: Kind::Bytes,
        word: "rounding",
        alias: None,
        heading: "Rounding",
        help: "bytes its block has more than were requested, if it is live at the end",
        key: key("rounding", &["slack"], "rounding>1MiB"),
        shown: Shown::InTables,
        field: None,
    },
];

const fn key(
    name: &'static str,
    aliases: &'static [&'static str],
    example: &'static str,
) -> Option<SearchKey> {
    Some(SearchKey {
        name,
        aliases,
        example,
        help: None,
    })
}

const fn told(
    name: &'static str,
    aliases: &'static [&'static str],
    example: &'static str,
    help: &'static str,
) -> Option<SearchKey> {
    Some(SearchKey {
        name,
        aliases,
        example,
        help: Some(help),
    })
}

impl Property {
    /// All properties, in the order of columns and lists.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::ALL.iter().copied()
    }

    /// Its names and meaning.
    #[must_use]
    pub fn row(self) -> &'static Row {
        let row = ROWS.iter().find(|row| row.property == self);
        // A test covers all properties.
        row.unwrap_or(&ROWS[0])
    }

    /// The kind of its values.
    #[must_use]
    pub fn kind(self) -> Kind {
        self.row().kind
    }

    /// The property with this word or alias; `-` is read as `_`.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let word = word.replace('-', "_");
        let row = ROWS
            .iter()
            .find(|row| row.word == word || row.alias == Some(&*word));
        row.map(|row| row.property)
    }

    /// Its name within a sentence, as in the title of a legend.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Role => "role (inferred)".to_owned(),
            _ => self.row().heading.to_lowercase(),
        }
    }

    /// Whether allocations can be grouped by it: its values are names, or few numbers.
    #[must_use]
    pub fn is_grouped(self) -> bool {
        let is_counted = self.kind() == Kind::Number && self != Self::Order;
        is_counted || matches!(self.kind(), Kind::Name | Kind::Choice)
    }

    /// Whether pictures can be coloured by it: groups have colours, and sizes and births have a colour scale.
    #[must_use]
    pub fn is_coloured(self) -> bool {
        self.is_grouped() || matches!(self, Self::Size | Self::Born)
    }

    /// Whether lists sorted by it begin with the largest, which matter most: sizes and lengths.
    #[must_use]
    pub fn is_largest_first(self) -> bool {
        matches!(self.kind(), Kind::Bytes | Kind::Length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_property_has_a_row_of_its_own() {
        let mut words = Vec::new();
        for property in Property::all() {
            let row = property.row();
            assert_eq!(row.property, property);
            assert_eq!(Property::of_word(row.word), Some(property));
            assert_eq!(
                serde_json::to_value(property).unwrap(),
                serde_json::Value::from(row.word)
            );
            if let Some(alias) = row.alias {
                assert_eq!(Property::of_word(alias), Some(property));
                words.push(alias);
            }
            words.push(row.word);
        }
        assert!(ROWS.iter().map(|row| row.property).eq(Property::all()));
        words.sort_unstable();
        let count = words.len();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}
