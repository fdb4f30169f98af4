//! What a recording says about memory: the segments and blocks of now, and the events that led there.

use vramscope_core::model::Action;

use crate::reader::{Damage, Record};

/// What is to be kept, and shown.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RecordingOptions {
    /// How much history.
    pub enabled: Enabled,
    /// The newest so many trace entries of each device are kept; `None` for all.
    pub max_entries: Option<usize>,
    /// Trace entries of these kinds are left out.
    pub skip_actions: Vec<Action>,
    /// Only this device's memory; `None` for all.
    pub device: Option<u32>,
}

/// torch's `enabled`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Enabled {
    /// What is held at the end, and no history.
    State,
    /// All events; frees have the stack of what they free.
    Alloc,
    /// All events, each with its own stack.
    #[default]
    All,
}

/// A recording as far as it was read.
#[derive(Debug, Default)]
pub struct Recording {
    _options: RecordingOptions,
}

impl Recording {
    /// Nothing yet.
    #[must_use]
    pub fn new(options: RecordingOptions) -> Self {
        Self { _options: options }
    }

    /// What a record says.
    pub fn push(&mut self, _record: Record<'_>) {}

    /// What the reader skipped, all in all.
    pub fn add_damage(&mut self, _damage: &[Damage]) {}
}
