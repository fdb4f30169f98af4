//! A small language that says which allocations are meant: `frame:attention size>100MiB live@peak !freed`.
//!
//! ```text
//! filter := both  ( "|" both )*            either
//! both   := one+                           all of them
//! one    := ("!" | "-")* ( "(" filter ")" | term )
//! term   := word | "quoted words" | key:value | key<value | live@moment | freed | …
//! ```
//! [`keys`] lists all keys, for the parser, the completions and the documentation alike. [`Filter`] is a
//! parsed text, [`matches()`] says which allocations of a device it means, [`totals`] what they come to,
//! [`completions`] what could be written next. Texts are compared without regard to case, `*` stands for
//! anything, quotes take everything as it is.
//!
//! Matching looks at each distinct text once, then at each frame, stack and context, and at each
//! allocation only by number. Left out: regular expressions, and sorting ([`crate::analysis::report::allocations`]).

mod address;
mod complete;
mod evaluate;
pub mod keys;
mod lexer;
mod moments;
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
pub(crate) use number::when as parse_when;
pub use number::{ExactBytes, bytes as parse_bytes};
pub use pattern::{Matcher, Pattern};
pub use term::{
    BytesField, Expression, LengthField, LengthUnit, Live, Place, PoolMatch, Term, Test, When,
    WhenField,
};
pub use totals::{Totals, totals};
pub use vocabulary::{Vocabulary, Word};

/// The longest filter that is read, in bytes.
pub const TEXT_LIMIT_BYTES: usize = 4096;

/// A parsed filter. Prints as a filter that means the same.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Filter {
    /// What it says.
    pub expression: Expression,
}

impl Filter {
    /// Reads a filter; an empty one means everything.
    ///
    /// # Errors
    /// Where the text is no filter: what is wrong, where, and what to write instead.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        parser::parse(text).map(|expression| Self { expression })
    }

    /// Whether what it means depends on where the cursor is.
    #[must_use]
    pub fn uses_cursor(&self) -> bool {
        self.expression.any(&|term| match term {
            Term::Live(Live::At(when)) => *when == When::Cursor,
            Term::When(_, test) => test.names(When::Cursor),
            Term::Length(field, ..) => *field == LengthField::Age,
            _ => false,
        })
    }

    /// Whether what it means depends on which range is selected.
    #[must_use]
    pub fn uses_range(&self) -> bool {
        self.expression
            .any(&|term| matches!(term, Term::Range(_) | Term::Live(Live::Range)))
    }

    /// Whether it means everything.
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

/// Why a text is no filter.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct FilterError {
    /// Which bytes of the text are wrong; empty at its end when something is missing there. On
    /// boundaries of characters.
    pub span: Range<usize>,
    /// What is wrong, and what to write instead.
    pub message: String,
}

impl FilterError {
    fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
        }
    }
}
