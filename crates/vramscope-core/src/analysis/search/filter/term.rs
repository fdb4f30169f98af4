//! A filter as a tree. Its `Display` output parses back to an equal tree.

use std::fmt;

use super::address::AddressMatch;
use super::keys::{self, Flag, KeyKind};
use super::number::{write_bytes, write_us};
use super::pattern::Pattern;
use crate::analysis::properties::{Kind, Property};
use crate::model::PoolId;

/// A node of a filter. The parser limits the depth of the tree.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Expression {
    /// Matches every allocation: the empty filter.
    #[default]
    All,
    /// A single condition.
    Term(Term),
    /// Matches if the inner filter does not.
    Not(Box<Expression>),
    /// Matches if all of these do; at least two.
    And(Vec<Expression>),
    /// Matches if any of these does; at least two.
    Or(Vec<Expression>),
}

/// A single condition on an allocation.
#[derive(Clone, PartialEq, Debug)]
pub enum Term {
    /// A text in this field matches the pattern.
    Text(TextField, Pattern),
    /// Its address meets this condition.
    Address(AddressMatch),
    /// It is on this stream: its number or, if no stream has that number, its handle.
    Stream(i64),
    /// It is in this memory pool.
    Pool(PoolMatch),
    /// This property, a number, passes the test.
    Number(Property, Test<u64>),
    /// This length, in this unit, passes the test.
    Length(LengthField, LengthUnit, Test<u64>),
    /// This moment passes the test.
    When(WhenField, Test<When>),
    /// It was born or died in the selected range or, with `None`, was live at any time in it.
    Range(Option<WhenField>),
    /// It was live at a moment, or at any moment of a set.
    Live(Live),
    /// It has this property.
    Flag(Flag),
}

/// Where a text is searched for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TextField {
    /// In all other fields except the inferred [`Role`](Property::Role). A text that looks like an address also matches
    /// the address.
    Anywhere,
    /// In frames of the stack: function, file, `file:line`, and the FX node that the code was generated from; and in
    /// the stack of the forward pass.
    Frame,
    /// In files of the stack.
    File,
    /// In functions of the stack.
    Function,
    /// In the names of this property. For metadata also in metadata attached by the allocator and in texts of
    /// `annotate` events; for annotations in the names of all ranges around the alloc event.
    Of(Property),
}

/// A condition on the memory pool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolMatch {
    /// The default pool, `(0, 0)`.
    Default,
    /// Any other pool.
    Private,
    /// The pool with this id.
    Id(PoolId),
    /// A pool with this number in its id. 0 is the default pool.
    Number(u64),
}

/// A length of time in an allocation's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LengthField {
    /// From its birth to its death.
    Lifetime,
    /// From its birth to the cursor or, without one, to the end of the recording.
    Age,
    /// From the program's free to its completion.
    Pending,
}

/// The unit of a length of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LengthUnit {
    /// Events.
    Events,
    /// Microseconds.
    Us,
}

/// A moment in an allocation's life.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenField {
    /// The first moment at which it is live.
    Born,
    /// The first moment at which it is no longer live.
    Died,
}

/// A moment that a filter refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// The first moment with the most active memory.
    Peak,
    /// After the last event.
    End,
    /// Before the first event.
    Start,
    /// The moment at the cursor.
    Cursor,
    /// The moment after this many events.
    Event(u64),
    /// A time, in microseconds since the first event.
    Us(u64),
}

/// When an allocation was live.
#[derive(Clone, PartialEq, Debug)]
pub enum Live {
    /// At this moment.
    At(When),
    /// At any failed request.
    Oom,
    /// At any time in the selected range.
    Range,
    /// At any time in an annotated range whose name matches.
    Named(Pattern),
}

/// A comparison with a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test<T> {
    /// `:value`: prints the same as the value, in three digits.
    Shown(T),
    /// `=value`: equal.
    Equal(T),
    /// `<value`.
    Below(T),
    /// `<=value`.
    AtMost(T),
    /// `>value`.
    Above(T),
    /// `>=value`.
    AtLeast(T),
    /// `:a..b`: from the first to the second value, both included.
    Between(T, T),
}

impl Expression {
    /// Whether `holds` is true for any term of the tree.
    pub(super) fn any(&self, holds: &impl Fn(&Term) -> bool) -> bool {
        match self {
            Self::All => false,
            Self::Term(term) => holds(term),
            Self::Not(inner) => inner.any(holds),
            Self::And(parts) | Self::Or(parts) => parts.iter().any(|part| part.any(holds)),
        }
    }
}

impl<T: Copy + PartialEq> Test<T> {
    /// Whether the test compares with this value.
    pub(super) fn names(self, value: T) -> bool {
        match self {
            Self::Shown(own)
            | Self::Equal(own)
            | Self::Below(own)
            | Self::AtMost(own)
            | Self::Above(own)
            | Self::AtLeast(own) => own == value,
            Self::Between(from, to) => from == value || to == value,
        }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => Ok(()),
            Self::Term(term) => term.fmt(f),
            Self::Not(inner) => match **inner {
                Self::Term(_) => write!(f, "!{inner}"),
                _ => write!(f, "!({inner})"),
            },
            Self::And(parts) => join(f, parts, " ", |part| matches!(part, Self::Or(_))),
            Self::Or(parts) => join(f, parts, " | ", |_| false),
        }
    }
}

fn join(
    f: &mut fmt::Formatter<'_>,
    parts: &[Expression],
    between: &str,
    in_brackets: impl Fn(&Expression) -> bool,
) -> fmt::Result {
    for (place, part) in parts.iter().enumerate() {
        if place > 0 {
            f.write_str(between)?;
        }
        if in_brackets(part) {
            write!(f, "({part})")?;
        } else {
            write!(f, "{part}")?;
        }
    }
    Ok(())
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(TextField::Anywhere, pattern) => {
                // A key's name needs quotes, otherwise the lexer joins it with the next word, as in `size >5`.
                let joins = keys::find(&pattern.text).is_some();
                pattern.write(f, "", |plain| !joins && plain == self)
            }
            Self::Text(field, pattern) => {
                let equals = if pattern.is_whole { '=' } else { ':' };
                let before = format!("{}{equals}", name_of(KeyKind::Text(*field)));
                pattern.write(f, &before, |plain| plain == self)
            }
            Self::Address(address) => write!(f, "addr:{address}"),
            Self::Stream(stream) => write!(f, "stream:{stream}"),
            Self::Pool(pool) => write!(f, "pool:{pool}"),
            Self::Number(property, test) => {
                f.write_str(name_of(KeyKind::Number(*property)))?;
                test.write(f, |f, &number| match property.kind() {
                    Kind::Bytes => write_bytes(f, number),
                    _ => write!(f, "{number}"),
                })
            }
            Self::Length(field, unit, test) => {
                f.write_str(name_of(KeyKind::Length(*field)))?;
                test.write(f, |f, &length| match unit {
                    LengthUnit::Events => write!(f, "{length}ev"),
                    LengthUnit::Us => write_us(f, length),
                })
            }
            Self::When(field, test) => {
                f.write_str(name_of(KeyKind::When(*field)))?;
                // Always with a unit, so that the lexer does not take the next word as the unit.
                test.write(f, |f, when| match when {
                    When::Event(number) => write!(f, "{number}ev"),
                    when => when.fmt(f),
                })
            }
            Self::Range(None) => f.write_str("in:range"),
            Self::Range(Some(field)) => write!(f, "{}:range", name_of(KeyKind::When(*field))),
            Self::Live(live) => live.fmt(f),
            Self::Flag(flag) => {
                let word = keys::FLAGS.iter().find(|word| word.flag == *flag);
                f.write_str(word.map_or("", |word| word.name))
            }
        }
    }
}

impl fmt::Display for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(when) => write!(f, "live@{when}"),
            Self::Oom => f.write_str("live@oom"),
            Self::Range => f.write_str("live@range"),
            Self::Named(pattern) => {
                pattern.write(f, "live@", |plain| *plain == Term::Live(self.clone()))
            }
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Peak => f.write_str("peak"),
            Self::End => f.write_str("end"),
            Self::Start => f.write_str("start"),
            Self::Cursor => f.write_str("cursor"),
            Self::Event(number) => write!(f, "{number}"),
            Self::Us(us) => write_us(f, us),
        }
    }
}

impl PoolMatch {
    pub(super) fn of(pool: PoolId) -> Self {
        if pool.is_private() {
            Self::Id(pool)
        } else {
            Self::Default
        }
    }

    /// Whether it matches this pool.
    #[must_use]
    pub fn matches(self, id: PoolId) -> bool {
        match self {
            Self::Default | Self::Number(0) => !id.is_private(),
            Self::Private => id.is_private(),
            Self::Id(meant) => id == meant,
            Self::Number(number) => id.0 == number || id.1 == number,
        }
    }
}

impl fmt::Display for PoolMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Default => f.write_str("default"),
            Self::Private => f.write_str("private"),
            Self::Id(PoolId(a, b)) => write!(f, "{a},{b}"),
            Self::Number(number) => write!(f, "{number}"),
        }
    }
}

impl<T> Test<T> {
    fn write(
        &self,
        f: &mut fmt::Formatter<'_>,
        mut value: impl FnMut(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
    ) -> fmt::Result {
        let (sign, first) = match self {
            Self::Shown(number) => (":", number),
            Self::Equal(number) => ("=", number),
            Self::Below(number) => ("<", number),
            Self::AtMost(number) => ("<=", number),
            Self::Above(number) => (">", number),
            Self::AtLeast(number) => (">=", number),
            Self::Between(from, _) => (":", from),
        };
        f.write_str(sign)?;
        value(f, first)?;
        if let Self::Between(_, to) = self {
            f.write_str("..")?;
            value(f, to)?;
        }
        Ok(())
    }
}

fn name_of(kind: KeyKind) -> &'static str {
    keys::all()
        .find(|key| key.kind == kind)
        .map_or("", |key| key.name)
}
