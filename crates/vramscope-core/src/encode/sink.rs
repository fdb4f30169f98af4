//! The interface between the walk over a snapshot and an encoding.

use std::io;

use serde::Serialize;

use crate::decode::Key;
use crate::ids::{FrameId, StackId, StringId};
use crate::model::LinesId;

/// Receives values in the order of the file. A dict's entries are keys, each followed by a value. [`item`](Self::item)
/// announces each item of a list.
pub(super) trait Sink {
    fn open_dict(&mut self) -> io::Result<()>;

    fn close_dict(&mut self) -> io::Result<()>;

    fn open_list(&mut self) -> io::Result<()>;

    /// Announces the next item of the innermost list.
    fn item(&mut self) -> io::Result<()>;

    fn close_list(&mut self) -> io::Result<()>;

    /// Begins a shared dict (for a frame) or list (for anything else). Returns `false` if it was written before and is now
    /// only referred to; then neither entries nor an end follow.
    fn open_shared(&mut self, what: Shared) -> io::Result<bool>;

    fn key(&mut self, key: Key) -> io::Result<()>;

    /// A key that no torch writes.
    fn other_key(&mut self, key: &str) -> io::Result<()>;

    /// A word of the format.
    fn word(&mut self, word: &'static str) -> io::Result<()>;

    /// A text of the snapshot.
    fn text(&mut self, id: StringId) -> io::Result<()>;

    fn integer(&mut self, value: i64) -> io::Result<()>;

    fn boolean(&mut self, value: bool) -> io::Result<()>;

    fn pair(&mut self, first: i64, second: i64) -> io::Result<()>;

    /// Any small value.
    fn generic(&mut self, value: &impl Serialize) -> io::Result<()>;

    fn finish(self) -> io::Result<()>;
}

/// A value that many records share.
#[derive(Clone, Copy)]
pub(super) enum Shared {
    Frame(FrameId),
    Stack(StackId),
    Lines(LinesId),
}
