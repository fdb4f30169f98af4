//! Streams by number. Their handles are addresses, which tell a reader nothing and change from run to run.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// The streams of a file by number. Number 0 is the default stream.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Streams(Vec<i64>);

impl Streams {
    /// Numbers the distinct handles in order of first appearance, after the default stream's.
    pub(super) fn of(handles: impl Iterator<Item = i64>) -> Self {
        let mut streams = vec![0];
        let mut seen = HashSet::from([0]);
        streams.extend(handles.filter(|stream| seen.insert(*stream)));
        Self(streams)
    }

    /// The handles (`cudaStream_t`) by number.
    #[must_use]
    pub fn handles(&self) -> &[i64] {
        &self.0
    }

    /// The number of a stream; `None` if the file does not have it.
    #[must_use]
    pub fn number(&self, handle: i64) -> Option<u32> {
        let number = self.0.iter().position(|&known| known == handle)?;
        Some(number as u32)
    }

    /// The numbers by handle, to look up many.
    #[must_use]
    pub fn numbers(&self) -> HashMap<i64, u32> {
        self.0.iter().copied().zip(0..).collect()
    }

    /// The name of a stream: `default stream`, `stream 2`. Streams that the file does not have count as the
    /// default stream.
    #[must_use]
    pub fn name(&self, handle: i64) -> String {
        Self::numbered(self.number(handle).unwrap_or(0))
    }

    /// The same with the handle: `default stream`, `stream 2 (0x7f…)`.
    #[must_use]
    pub fn label(&self, handle: i64) -> String {
        labelled(self.number(handle).unwrap_or(0), handle)
    }

    /// The labels of all streams by number.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let numbered = (0..).zip(&self.0);
        numbered
            .map(|(number, &handle)| labelled(number, handle))
            .collect()
    }

    /// The name of the stream with a number: `default stream`, `stream 2`.
    #[must_use]
    pub fn numbered(number: u32) -> String {
        match number {
            0 => "default stream".to_owned(),
            number => format!("stream {number}"),
        }
    }
}

fn labelled(number: u32, handle: i64) -> String {
    match number {
        0 => Streams::numbered(0),
        number => format!("{} ({handle:#x})", Streams::numbered(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_called_by_number() {
        let streams = Streams::of([7, 0, 7, 0x20].into_iter());
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
}
