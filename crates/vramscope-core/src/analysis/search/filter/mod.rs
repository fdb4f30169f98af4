//! A query language that selects allocations, for example `frame:attention size>100MiB live@peak !freed`.
//!
//! ```text
//! filter := both  ( "|" both )*            at least one matches
//! both   := one+                           all match
//! one    := ("!" | "-")* ( "(" filter ")" | term )
//! term   := word | "quoted words" | key:value | key<value | live@moment | freed | …
//! ```
//! [`Filter`] is a parsed query, [`matches()`] finds the allocations of a device that it selects, [`totals`] their
//! sums, and [`completions`] what can be typed next. [`keys`] lists all keys, for the parser, the completions and the
//! documentation. Comparisons of text ignore case. `*` matches any text, except in quotes.
//!
//! Evaluation compares each distinct text of the file once, then goes over frames, stacks and contexts, and last over
//! allocations, reading only numbers. Not here: regular expressions, and sorting
//! ([`crate::analysis::report::allocations`]).

mod address;
mod complete;
mod evaluate;
mod filter_text;
pub mod keys;
mod lexer;
mod moments;
mod next;
mod number;
mod parser;
mod pattern;
pub mod rows;
mod term;
mod texts;
mod totals;
mod vocabulary;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use address::AddressMatch;
pub use complete::{Candidate, CandidateKind, Completions, completions};
pub use evaluate::{Matches, Pointed, matches};
pub use filter_text::FilterText;
pub use next::{NextMatch, next_match};
pub(crate) use number::when as parse_when;
pub use number::{
    ExactBytes, bytes as parse_bytes, capacity as parse_capacity, decimal as parse_decimal,
    whole as parse_whole,
};
pub use pattern::{Matcher, Pattern};
pub use term::{
    Expression, LengthField, LengthUnit, Live, PoolMatch, Term, Test, TextField, When, WhenField,
};
pub use totals::{Totals, totals};
pub use vocabulary::{Vocabulary, Word};

/// Maximum length of a filter's text, in bytes.
pub const TEXT_LIMIT_BYTES: usize = 4096;

/// A parsed filter. Its `Display` output parses back to an equal filter.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filter {
    /// The filter as a tree.
    pub expression: Expression,
}

impl Filter {
    /// Parses a filter; an empty text selects all allocations.
    ///
    /// # Errors
    /// If the text is not a valid filter. The error says what is wrong, where, and what to write instead.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        parser::parse(text).map(|expression| Self { expression })
    }

    /// Whether the result depends on the cursor, see [`Pointed::cursor`].
    #[must_use]
    pub fn uses_cursor(&self) -> bool {
        self.expression.any(&|term| match term {
            Term::Live(Live::At(when)) => *when == When::Cursor,
            Term::When(_, test) => test.names(When::Cursor),
            Term::Length(field, ..) => *field == LengthField::Age,
            _ => false,
        })
    }

    /// Whether the result depends on the selected range, see [`Pointed::range`].
    #[must_use]
    pub fn uses_range(&self) -> bool {
        self.expression
            .any(&|term| matches!(term, Term::Range(_) | Term::Live(Live::Range)))
    }

    /// The condition on the memory pool that all matches meet; `None` without such a condition at the top level.
    #[must_use]
    pub fn pool(&self) -> Option<PoolMatch> {
        let pool_of = |part: &Expression| match part {
            Expression::Term(Term::Pool(pool)) => Some(*pool),
            _ => None,
        };
        match &self.expression {
            Expression::And(parts) => parts.iter().find_map(pool_of),
            one => pool_of(one),
        }
    }

    /// The filter with this condition on the memory pool in place of its own, or with none. The rest stays.
    #[must_use]
    pub fn in_pool(self, pool: Option<PoolMatch>) -> Self {
        let mut parts = match self.expression {
            Expression::All => Vec::new(),
            Expression::And(parts) => parts,
            one => vec![one],
        };
        parts.retain(|part| !matches!(part, Expression::Term(Term::Pool(_))));
        let pool = pool.map(|pool| Expression::Term(Term::Pool(pool)));
        parts.splice(0..0, pool);
        let expression = match (parts.pop(), parts.is_empty()) {
            (None, _) => Expression::All,
            (Some(only), true) => only,
            (Some(last), false) => {
                parts.push(last);
                Expression::And(parts)
            }
        };
        Self { expression }
    }

    /// Whether the filter is empty, and so selects all allocations.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expression == Expression::All
    }
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Self, FilterError> {
        Self::parse(text)
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.expression.fmt(f)
    }
}

/// The reason why a text is not a valid filter.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct FilterError {
    /// The bytes of the text that the error refers to, on character boundaries. Empty at the end of the text if
    /// something is missing there.
    pub span: Range<usize>,
    /// What is wrong, and what to write instead: sentences for the user.
    pub message: String,
    /// Whether the text may still be incomplete: a value is missing at its end.
    pub is_unfinished: bool,
}

impl FilterError {
    fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            is_unfinished: false,
        }
    }
}
