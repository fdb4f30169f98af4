//! A tree of Python values, for pickles other than snapshots.
//!
//! Sharing is explicit: [`Value::Shared`] wraps a value that is one object everywhere its number
//! occurs; everything else is a fresh object each time.

use std::io::{self, Write};

use super::{Dialect, Pickler, ShareId};

/// A Python value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    /// A string object of its own.
    Str(String),
    List(Vec<Value>),
    /// A dict in insertion order; keys are not checked for being distinct.
    Dict(Vec<(Value, Value)>),
    Tuple(Vec<Value>),
    /// An object with a number, which is its identity: equal numbers must have equal values.
    Shared(u32, Box<Value>),
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value.into())
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Str(value.to_owned())
    }
}

impl Value {
    /// Wraps this value as the object with number `id`.
    #[must_use]
    pub fn shared(self, id: u32) -> Self {
        Self::Shared(id, Box::new(self))
    }

    /// Pickles this value into a buffer.
    #[must_use]
    pub fn pickle(&self, dialect: Dialect) -> Vec<u8> {
        let mut pickler = Pickler::new(Vec::new(), dialect);
        let written = self
            .write(&mut pickler, None)
            .and_then(|()| pickler.finish());
        // A Vec takes every byte.
        written.unwrap_or_default()
    }

    /// Writes this value to `p`; `share` is the identity a wrapping [`Value::Shared`] gave it.
    ///
    /// # Errors
    /// When the sink refuses bytes.
    pub fn write<W: Write>(&self, p: &mut Pickler<W>, share: Option<ShareId>) -> io::Result<()> {
        match self {
            Self::None => p.none(),
            Self::Bool(value) => p.bool(*value),
            Self::Int(value) => p.int(*value),
            Self::Float(value) => p.float(*value),
            Self::Str(text) => match share {
                Some(id) => p.shared_str(id, text),
                None => p.str(text),
            },
            Self::List(items) => p.list(share, items, |p, item| item.write(p, None)),
            Self::Dict(items) => p.dict(share, items, |p, (key, value)| {
                key.write(p, None)?;
                value.write(p, None)
            }),
            Self::Tuple(items) => p.tuple(share, items, |p, item| item.write(p, None)),
            Self::Shared(id, value) => value.write(p, Some(ShareId::new(0, *id))),
        }
    }
}
