//! What a filter says, as data; prints as text that reads back as the same.

use std::fmt;

use super::address::AddressMatch;
use super::keys::{self, Flag, KeyKind};
use super::number::{write_bytes, write_us};
use super::pattern::Pattern;
use crate::model::PoolId;

/// A filter's tree. As deep as its text has parentheses, which are bounded.
#[derive(Clone, PartialEq, Debug, Default)]
pub enum Expression {
    /// Everything: the empty filter.
    #[default]
    All,
    /// One condition.
    Term(Term),
    /// What does not match.
    Not(Box<Expression>),
    /// What matches all of at least two.
    And(Vec<Expression>),
    /// What matches any of at least two.
    Or(Vec<Expression>),
}

/// One condition.
#[derive(Clone, PartialEq, Debug)]
pub enum Term {
    /// Text found somewhere.
    Text(Place, Pattern),
    /// An address.
    Address(AddressMatch),
    /// A stream: its number where there is one so numbered, else its handle.
    Stream(i64),
    /// A pool.
    Pool(PoolMatch),
    /// Bytes.
    Bytes(BytesField, Test<u64>),
    /// A length of time in this unit.
    Length(LengthField, LengthUnit, Test<u64>),
    /// A moment.
    When(WhenField, Test<When>),
    /// Born, gone or (`None`) live in the selected range.
    Range(Option<WhenField>),
    /// Live at a moment, or at any of several.
    Live(Live),
    /// What it is.
    Flag(Flag),
}

/// Where text is looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// In all of the following, in the call site's label, and in names of addresses.
    Anywhere,
    /// Any frame of the stack: its function, its file, the node it was generated from, the lines of the
    /// forward pass.
    Frame,
    /// Files of the stack.
    File,
    /// Functions of the stack.
    Function,
    /// The call site's label.
    Site,
    /// The program's texts and the allocator's notes.
    Metadata,
    /// The profiler's category.
    Category,
    /// `torch.compile`'s region.
    Compile,
    /// Names of the ranges in which it was made.
    Annotation,
}

/// Which pools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolMatch {
    /// `(0, 0)`.
    Default,
    /// All others.
    Private,
    /// One.
    Id(PoolId),
    /// One by either of its numbers.
    Number(u64),
}

/// Bytes of what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BytesField {
    /// Requested.
    Size,
    /// Of its block, where known.
    Block,
    /// Of its block beyond what was requested, where known.
    Rounding,
}

/// How long what took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LengthField {
    /// From birth to death.
    Lifetime,
    /// From birth to the cursor, else to the end.
    Age,
    /// From its free to its end.
    Pending,
}

/// What a length counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LengthUnit {
    /// Events.
    Events,
    /// Microseconds.
    Us,
}

/// The moment of what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenField {
    /// Its birth.
    Born,
    /// Its end.
    Died,
}

/// A moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum When {
    /// The first highest.
    Peak,
    /// After the last event.
    End,
    /// Before the first event.
    Start,
    /// Where the cursor is.
    Cursor,
    /// After this many events; the number of the event that leads to it, counted from 1.
    Event(u64),
    /// Microseconds since the start.
    Us(u64),
}

/// When it was live.
#[derive(Clone, PartialEq, Debug)]
pub enum Live {
    /// At a moment.
    At(When),
    /// At any failed allocation.
    Oom,
    /// At any time in the selected range.
    Range,
    /// At any time in an annotated range called so.
    Named(Pattern),
}

/// A comparison with a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test<T> {
    /// Printed the same, in three digits.
    Shown(T),
    /// The same.
    Equal(T),
    /// Less.
    Below(T),
    /// Not more.
    AtMost(T),
    /// More.
    Above(T),
    /// Not less.
    AtLeast(T),
    /// From … to, both included.
    Between(T, T),
}

impl Expression {
    /// Whether `holds` of any of its terms.
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
    /// Whether it compares with this.
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
            Self::Text(Place::Anywhere, pattern) => {
                // What would join with its neighbour, as in `size >5`.
                let joins = keys::find(&pattern.text).is_some();
                pattern.write(f, "", |plain| !joins && plain == self)
            }
            Self::Text(place, pattern) => {
                let equals = if pattern.is_whole { '=' } else { ':' };
                let before = format!("{}{equals}", name_of(KeyKind::Text(*place)));
                pattern.write(f, &before, |plain| plain == self)
            }
            Self::Address(address) => write!(f, "addr:{address}"),
            Self::Stream(stream) => write!(f, "stream:{stream}"),
            Self::Pool(pool) => write!(f, "pool:{pool}"),
            Self::Bytes(field, test) => {
                f.write_str(name_of(KeyKind::Bytes(*field)))?;
                test.write(f, |f, &bytes| write_bytes(f, bytes))
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
                // With a unit, so that a word after it is not taken for one.
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
