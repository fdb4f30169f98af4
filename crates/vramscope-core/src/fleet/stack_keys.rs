//! Names of stacks that are the same in all snapshots of a job.
//!
//! A stack's number means nothing outside of its file. Its key is a hash of its frames: function, line, and the part of
//! the path that does not depend on the machine ([`short_path`]). So it is the same on every rank, wherever Python, the
//! packages and the program are installed, and whichever user started it.

use blake3::Hasher;

use crate::Snapshot;
use crate::analysis::code::call_sites::{label, short_path};
use crate::analysis::code::frames::Location;
use crate::ids::{FrameId, StackId};

/// Bytes of a key: enough that no two of a billion stacks are expected to share one.
pub const KEY_BYTES: usize = 16;

/// Most bytes of a stack as text. The innermost frames are kept.
const TEXT_MAX_BYTES: usize = 16 << 10;

/// The keys of a snapshot's stacks.
pub struct StackKeys<'a> {
    snapshot: &'a Snapshot,
    keys: Vec<[u8; KEY_BYTES]>,
    /// Per frame: its label, the same on every machine.
    labels: Vec<String>,
}

impl<'a> StackKeys<'a> {
    /// Computes the keys of all stacks.
    #[must_use]
    pub fn of(snapshot: &'a Snapshot) -> Self {
        let frames = (0..snapshot.frames.len()).map(FrameId::from_index);
        let places = frames.map(|id| Location::of(snapshot, snapshot.frames.get(id)));
        let (hashes, labels): (Vec<_>, Vec<_>) = places
            .map(|place| (frame_key(&place), label(&place)))
            .unzip();
        let mut joined = Vec::new();
        let stacks = (0..snapshot.stacks.len()).map(StackId::from_index);
        let keys = stacks.map(|id| {
            joined.clear();
            for frame in snapshot.stacks.frames(id) {
                joined.extend_from_slice(&hashes[frame.index()]);
            }
            cut(&blake3::hash(&joined))
        });
        Self {
            snapshot,
            keys: keys.collect(),
            labels,
        }
    }

    /// The number of stacks.
    #[must_use]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no stack.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// A stack's key; `None` for an id from another snapshot, and for a stack without frames.
    #[must_use]
    pub fn get(&self, stack: StackId) -> Option<&[u8; KEY_BYTES]> {
        let has_frames = self.snapshot.stacks.frames(stack).len() > 0;
        self.keys.get(stack.index()).filter(|_| has_frames)
    }

    /// The stack as text: a line for each frame, the innermost first, as call sites are written.
    #[must_use]
    pub fn text(&self, stack: StackId) -> String {
        let mut text = String::new();
        for frame in self.snapshot.stacks.frames(stack) {
            let line = &self.labels[frame.index()];
            if text.len() + 1 + line.len() > TEXT_MAX_BYTES {
                break;
            }
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(line);
        }
        text
    }
}

/// A key as 32 hexadecimal digits.
#[must_use]
pub fn hex(key: &[u8; KEY_BYTES]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = key.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

fn frame_key(place: &Location<'_>) -> [u8; KEY_BYTES] {
    let mut hasher = Hasher::new();
    for text in [place.function, &short_path(place.file)] {
        // With its length, because otherwise the border between two texts would not be hashed.
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.update(&place.line.to_le_bytes());
    cut(&hasher.finalize())
}

fn cut(hash: &blake3::Hash) -> [u8; KEY_BYTES] {
    let mut key = [0; KEY_BYTES];
    key.copy_from_slice(&hash.as_bytes()[..KEY_BYTES]);
    key
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::Builder;

    /// The key of a stack of these frames, in a snapshot with other frames before them.
    fn key(others: u32, frames: &[(&str, &str, u32)]) -> String {
        let mut builder = Builder::default();
        for line in 0..others {
            let frame = builder.frame("other", "o.py", line + 1);
            builder.stack(&[frame]);
        }
        let frames: Vec<_> = frames
            .iter()
            .map(|&(name, file, line)| builder.frame(name, file, line))
            .collect();
        let stack = builder.stack(&frames);
        let snapshot = builder.finish();
        hex(StackKeys::of(&snapshot).get(stack).unwrap())
    }

    #[test]
    fn it_is_equal_wherever_things_are_installed() {
        let at = |others: u32, packages: &str, program: &str| {
            let linear = format!("{packages}/torch/nn/modules/linear.py");
            let train = format!("{program}/job/train.py");
            key(others, &[("forward", &linear, 125), ("main", &train, 7)])
        };
        let one = at(0, "/opt/venv/lib/python3.12/site-packages", "/home/alice");
        for (others, packages, program) in [
            (1, "/usr/lib/python3/dist-packages", "/root"),
            (
                5,
                "/home/bob/.conda/envs/x/lib/python3.11/site-packages",
                "/scratch/4711/node7",
            ),
            (0, r"C:\Users\eve\venv\Lib\site-packages", r"D:\work"),
        ] {
            assert_eq!(at(others, packages, program), one, "{packages}");
        }
    }

    #[test]
    fn another_stack_has_another_key() {
        let one = (
            "forward",
            "/v/site-packages/torch/nn/modules/linear.py",
            125,
        );
        let keys = [
            key(0, &[one]),
            key(0, &[one, one]),
            key(0, &[(one.0, one.1, 126)]),
            key(0, &[("backward", one.1, 125)]),
            key(
                0,
                &[(one.0, "/v/site-packages/torch/nn/modules/conv.py", 125)],
            ),
            // The same letters, divided differently.
            key(
                0,
                &[(
                    "forwardt",
                    "/v/site-packages/orch/nn/modules/linear.py",
                    125,
                )],
            ),
            key(0, &[one, ("main", "a/train.py", 1)]),
            key(0, &[("main", "a/train.py", 1), one]),
        ];
        let distinct: std::collections::HashSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
        assert!(keys.iter().all(|key| key.len() == 32));
    }

    #[test]
    fn no_frames_have_no_key() {
        let mut builder = Builder::default();
        let frame = builder.frame("main", "/x/job/train.py", 7);
        let (none, stack) = (builder.stack(&[]), builder.stack(&[frame, frame]));
        let snapshot = builder.finish();
        let keys = StackKeys::of(&snapshot);
        assert_eq!(keys.get(none), None);
        assert_eq!(keys.text(stack), "job/train.py:7 main\njob/train.py:7 main");
    }
}
