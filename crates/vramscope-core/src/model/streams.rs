//! Numbers streams, because their handles are addresses, which are meaningless to a reader and change from run to run.
//! Captured programs may have named them.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::capture_of;

/// Longer names are cut, in bytes.
const NAME_BYTES: usize = 100;

/// The streams of a file by number. Number 0 is the default stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Streams {
    handles: Vec<i64>,
    /// The program's names, by number; empty where it gave none.
    given: Vec<String>,
}

impl Streams {
    /// Numbers the distinct handles in order of first appearance, after the default stream. Their names are in
    /// `capture.streams` of a file's top level, by handle.
    pub(super) fn of(handles: impl Iterator<Item = i64>, extras: &Map<String, Value>) -> Self {
        let mut streams = vec![0];
        let mut seen = HashSet::from([0]);
        streams.extend(handles.filter(|stream| seen.insert(*stream)));
        let names = capture_of(extras).and_then(|capture| capture.get("streams"));
        let name_of = |handle: &i64| {
            let name = names.and_then(|names| names.get(format!("{handle:#x}")));
            let name = name.and_then(Value::as_str).unwrap_or_default();
            name[..name.floor_char_boundary(NAME_BYTES)].to_owned()
        };
        Self {
            given: streams.iter().map(name_of).collect(),
            handles: streams,
        }
    }

    /// The handles (`cudaStream_t`) by number.
    #[must_use]
    pub fn handles(&self) -> &[i64] {
        &self.handles
    }

    /// The number of a stream; `None` if the file does not contain it.
    #[must_use]
    pub fn number(&self, handle: i64) -> Option<u32> {
        let number = self.handles.iter().position(|&known| known == handle)?;
        Some(number as u32)
    }

    /// The numbers by handle, for many lookups.
    #[must_use]
    pub fn numbers(&self) -> HashMap<i64, u32> {
        self.handles.iter().copied().zip(0..).collect()
    }

    /// The name of a stream: `default stream`, `stream 2`, `copies (stream 2)`. Streams that the file does not contain count
    /// as the default stream.
    #[must_use]
    pub fn name(&self, handle: i64) -> String {
        self.numbered(self.number(handle).unwrap_or(0))
    }

    /// The same with the handle: `default stream`, `stream 2 (0x7f…)`, `copies (stream 2, 0x7f…)`.
    #[must_use]
    pub fn label(&self, handle: i64) -> String {
        self.labelled(self.number(handle).unwrap_or(0), handle)
    }

    /// The labels of all streams by number.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let numbered = (0..).zip(&self.handles);
        numbered
            .map(|(number, &handle)| self.labelled(number, handle))
            .collect()
    }

    /// The name of the stream with a number: `default stream`, `stream 2`, `copies (stream 2)`.
    #[must_use]
    pub fn numbered(&self, number: u32) -> String {
        match self.given(number) {
            "" => by_number(number),
            given => format!("{given} ({})", by_number(number)),
        }
    }

    fn labelled(&self, number: u32, handle: i64) -> String {
        match (self.given(number), number) {
            (_, 0) => self.numbered(0),
            ("", number) => format!("{} ({handle:#x})", by_number(number)),
            (given, number) => format!("{given} ({}, {handle:#x})", by_number(number)),
        }
    }

    /// The program's name for the stream with a number; empty if it gave none.
    fn given(&self, number: u32) -> &str {
        self.given.get(number as usize).map_or("", String::as_str)
    }
}

fn by_number(number: u32) -> String {
    match number {
        0 => "default stream".to_owned(),
        number => format!("stream {number}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn streams_are_called_by_number() {
        let streams = Streams::of([7, 0, 7, 0x20].into_iter(), &Map::new());
        assert_eq!(streams.handles(), [0, 7, 0x20]);
        assert_eq!((streams.number(0x20), streams.number(5)), (Some(2), None));
        assert_eq!(streams.numbers()[&7], 1);
        assert_eq!(
            [0, 7, 5].map(|handle| streams.name(handle)),
            ["default stream", "stream 1", "default stream"]
        );
        assert_eq!(streams.label(0x20), "stream 2 (0x20)");
        assert_eq!(
            streams.labels(),
            ["default stream", "stream 1 (0x7)", "stream 2 (0x20)"]
        );
    }

    #[test]
    fn names_of_the_program_come_first() {
        let extras = json!({"capture": {"tool": "t", "streams": {"0x20": "copies", "0x0": "all", "0x7": 3}}});
        let streams = Streams::of([7, 0x20].into_iter(), extras.as_object().unwrap());
        assert_eq!(
            streams.labels(),
            [
                "all (default stream)",
                "stream 1 (0x7)",
                "copies (stream 2, 0x20)"
            ]
        );
        assert_eq!(streams.name(0x20), "copies (stream 2)");
    }
}
