//! All keys and flags of the filter language: names, kinds of value, help texts and examples.

use super::term::{LengthField, TextField, WhenField};
use crate::analysis::properties::{Kind, Property};

/// The kind of value that a key takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyKind {
    /// Text to search for in this field.
    Text(TextField),
    /// An address, see [`AddressMatch`](super::AddressMatch).
    Address,
    /// The number or the handle of a stream.
    Stream,
    /// `default`, `private`, or the id of a memory pool.
    Pool,
    /// A number to compare with this property: a size or a count.
    Number(Property),
    /// A length of time to compare with this field.
    Length(LengthField),
    /// A moment to compare with this field.
    When(WhenField),
    /// For `live@`: a moment, or the name of an annotated range.
    Live,
    /// For `in:`: only `range`, the selected range.
    In,
}

/// A key of the filter language.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// Its name, in lower case. Filters are printed with it.
    pub name: &'static str,
    /// Other names that are accepted.
    pub aliases: &'static [&'static str],
    /// The kind of its value.
    pub kind: KeyKind,
    /// A term with this key.
    pub example: &'static str,
    /// What the key refers to, in one line for the user.
    pub help: &'static str,
}

/// A flag: a term without a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlagWord {
    /// The word, in lower case.
    pub name: &'static str,
    /// The flag.
    pub flag: Flag,
    /// What the flag matches, in one line for the user.
    pub help: &'static str,
}

/// A property that an allocation either has or does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flag {
    /// Freed before the end of the recording.
    Freed,
    /// Live at the end of the recording.
    Live,
    /// Allocated before the recording began.
    Before,
    /// Freed by the program, with the free still pending at the end: another stream may still use it.
    Pending,
    /// Live when a request failed for lack of memory.
    Oom,
}

/// All flags.
pub const FLAGS: [FlagWord; 5] = [
    FlagWord {
        name: "freed",
        flag: Flag::Freed,
        help: "gone before the end of the recording",
    },
    FlagWord {
        name: "live",
        flag: Flag::Live,
        help: "still live at the end; the same as !freed",
    },
    FlagWord {
        name: "before",
        flag: Flag::Before,
        help: "allocated before the recording began",
    },
    FlagWord {
        name: "pending",
        flag: Flag::Pending,
        help: "freed, but at the end another stream may still use it",
    },
    FlagWord {
        name: "oom",
        flag: Flag::Oom,
        help: "live when an allocation failed for want of memory",
    },
];

const fn key(
    name: &'static str,
    aliases: &'static [&'static str],
    kind: KeyKind,
    example: &'static str,
    help: &'static str,
) -> Key {
    Key {
        name,
        aliases,
        kind,
        example,
        help,
    }
}

/// The keys that belong to no property, the most used first.
const KEYS: [Key; 7] = [
    key(
        "frame",
        &["stack"],
        KeyKind::Text(TextField::Frame),
        "frame:attention",
        "a frame of the stack: function, file, or file:line",
    ),
    key(
        "live",
        &[],
        KeyKind::Live,
        "live@peak",
        "live at peak, end, start, cursor, oom, an event, a time, or an annotation",
    ),
    key(
        "fn",
        &["function", "func"],
        KeyKind::Text(TextField::Function),
        "fn=forward",
        "a function on the stack; = asks for the whole name",
    ),
    key(
        "file",
        &["path"],
        KeyKind::Text(TextField::File),
        "file:*/layers/*.py",
        "a file on the stack",
    ),
    key(
        "age",
        &["older"],
        KeyKind::Length(LengthField::Age),
        "age>1000ev",
        "how long before the cursor (else the end) it was made",
    ),
    key(
        "pending",
        &["waited"],
        KeyKind::Length(LengthField::Pending),
        "pending>1ms",
        "how long other streams kept it after its free",
    ),
    key(
        "in",
        &[],
        KeyKind::In,
        "in:range",
        "live at any time in the selected range",
    ),
];

/// Number of [`KEYS`] that come before the keys of properties.
const FIRST: usize = 4;

/// Finds a key by its name or an alias, ignoring case.
#[must_use]
pub fn find(name: &str) -> Option<Key> {
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    all().find(|key| is(key.name) || key.aliases.iter().any(|alias| is(alias)))
}

/// Finds a flag by its word, ignoring case.
#[must_use]
pub fn flag(name: &str) -> Option<FlagWord> {
    FLAGS
        .into_iter()
        .find(|flag| flag.name.eq_ignore_ascii_case(name))
}

/// All keys, the most used first.
pub fn all() -> impl Iterator<Item = Key> {
    let (first, last) = KEYS.split_at(FIRST);
    let properties = Property::all().filter_map(of_property);
    first
        .iter()
        .copied()
        .chain(properties)
        .chain(last.iter().copied())
}

/// The key of a property; `None` if it has no key of its own.
fn of_property(property: Property) -> Option<Key> {
    let row = property.row();
    let own = row.key?;
    let kind = match (property, row.kind) {
        (Property::Stream, _) => KeyKind::Stream,
        (Property::Pool, _) => KeyKind::Pool,
        (_, Kind::Number | Kind::Bytes) => KeyKind::Number(property),
        (Property::Died, _) => KeyKind::When(WhenField::Died),
        (_, Kind::Moment) => KeyKind::When(WhenField::Born),
        (_, Kind::Length) => KeyKind::Length(LengthField::Lifetime),
        (_, Kind::Address) => KeyKind::Address,
        (_, Kind::Name | Kind::Choice) => KeyKind::Text(TextField::Of(property)),
    };
    let help = own.help.unwrap_or(row.help);
    Some(key(own.name, own.aliases, kind, own.example, help))
}

/// The name or alias of a key that is closest to a misspelt `name`; `None` if none is close.
#[must_use]
pub fn similar(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    let names = all().flat_map(|key| std::iter::once(key.name).chain(key.aliases.iter().copied()));
    // Allows two mistakes in a long name and one in a short name. Names of two letters are all close to each other.
    let allowed = match lower.len() {
        0..3 => return None,
        3..6 => 1,
        _ => 2,
    };
    names
        .map(|known| (distance(&lower, known), known))
        .filter(|&(slips, _)| slips <= allowed)
        .min_by_key(|&(slips, _)| slips)
        .map(|(_, known)| known)
}

/// The Damerau-Levenshtein distance (optimal string alignment): the number of letters to insert, delete, change, or
/// swap with their neighbour. `usize::MAX` if the lengths differ by more than 2.
fn distance(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len().abs_diff(b.len()) > 2 {
        return usize::MAX;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                rows[i][j] = i + j;
                continue;
            }
            let change = usize::from(a[i - 1] != b[j - 1]);
            let mut least = (rows[i - 1][j] + 1)
                .min(rows[i][j - 1] + 1)
                .min(rows[i - 1][j - 1] + change);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = least;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::*;

    #[test]
    fn every_example_is_a_filter_and_every_name_is_found() {
        for key in all() {
            assert!(Filter::parse(key.example).is_ok(), "{}", key.example);
            assert_eq!(find(key.name), Some(key));
            for alias in key.aliases {
                assert_eq!(find(&alias.to_uppercase()), Some(key));
            }
        }
        for flag in FLAGS {
            assert!(Filter::parse(flag.name).is_ok());
        }
    }

    #[test]
    fn slips_are_understood() {
        assert_eq!(similar("sise"), Some("size"));
        assert_eq!(similar("catgeory"), Some("category"));
        assert_eq!(similar("liftime"), Some("lifetime"));
        assert_eq!(similar("vector"), None);
        assert_eq!(similar("xy"), None);
    }
}
