//! The final state as collapsed stacks, the input of flame graph tools: one line per block, or per group of equal
//! blocks, with its bytes. [`official_lines`] prints the lines of torch's `segments`, `memory` and `compare`
//! (docs/FORMAT.md 4.6), [`lines`] a corrected version.
//!
//! Corrections: free blocks have no stack and no stale request, so no line is negative and all lines add up to the
//! reserved bytes. Blocks with equal paths are summed. Devices and private pools are separate. Names cannot break the
//! line format. Placeholders stand for unknown values.

use crate::Snapshot;
use crate::analysis::code::frames::{FrameClass, FrameClasses, Location, is_hidden_by_torch};
use crate::analysis::recording::Recording;
use crate::analysis::report::summary::saturating_sum;
use crate::ids::{FrameId, StackId};
use crate::invisible;
use crate::model::{Block, BlockState, ContainerKind, Segment};
use std::collections::HashMap;

/// How lines are grouped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Level {
    /// By stream and segment.
    Segment,
    /// By stream.
    Stream,
}

/// How lines begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Beginning<'a> {
    /// Text at the beginning of every line.
    pub prefix: &'a str,
    /// The groups whose names follow the prefix.
    pub level: Level,
    /// Whether corrected lines contain the device.
    pub names_device: bool,
}

/// Receives the lines: a path, outermost frame first, and its bytes.
pub type Sink<'a, E> = &'a mut dyn FnMut(&str, i128) -> Result<(), E>;

/// torch's lines, byte for byte: a line for the requested bytes of each block (in torch 1.13 and 2.0 of each tenant),
/// and a line `<gaps>` for the rest of the block, which can be negative.
///
/// # Errors
/// The first error of the sink.
pub fn official_lines<'a, E>(
    snapshot: &Snapshot,
    segments: impl Iterator<Item = &'a Segment>,
    beginning: Beginning<'_>,
    sink: Sink<'_, E>,
) -> Result<(), E> {
    let labels = OfficialLabels::of(snapshot);
    for segment in segments {
        let stream = segment.stream.unwrap_or(0);
        let mut place = format!("{}stream_{stream}", beginning.prefix);
        if beginning.level == Level::Segment {
            let address = official_address(snapshot, segment.address);
            place.push_str(&format!(";seg_{address}"));
        }
        for block in segment.block_ids().map(|id| snapshot.blocks.get(id)) {
            let start = format!("{place};{}", official_state(snapshot, block));
            let mut accounted = 0;
            for (stack, bytes) in official_tenants(snapshot, block) {
                accounted += i128::from(bytes);
                sink(
                    &format!("{start};{}", labels.path(stack)),
                    i128::from(bytes),
                )?;
            }
            match i128::from(block.size) - accounted {
                0 => {}
                gaps => sink(&format!("{start};<gaps>"), gaps)?,
            }
        }
    }
    Ok(())
}

/// An address as torch prints it. torch's C++ writer treats addresses as signed.
#[must_use]
pub fn official_address(snapshot: &Snapshot, address: u64) -> i128 {
    // Among torch's writers, only the C++ one uses pickle protocol 2.
    if snapshot.source.containers.last() == Some(&ContainerKind::Pickle(2)) {
        i128::from(address.cast_signed())
    } else {
        i128::from(address)
    }
}

fn official_state<'s>(snapshot: &'s Snapshot, block: &Block) -> &'s str {
    match block.state {
        BlockState::ActiveAllocated => "active_allocated",
        BlockState::ActivePendingFree => "active_pending_free",
        BlockState::Inactive => "inactive",
        BlockState::Other(word) => snapshot.strings.get(word),
    }
}

/// The stacks of a block in torch's lines, with their bytes. `None` = torch's `<no-context>`.
fn official_tenants(snapshot: &Snapshot, block: &Block) -> Vec<(Option<StackId>, u64)> {
    if block.history.is_none() {
        let bytes = block.requested_size.unwrap_or(block.size);
        return vec![(Some(block.stack), bytes)];
    }
    let tenants = snapshot.blocks.tenants(block).iter();
    let tenants = tenants.map(|tenant| {
        let stack = Some(tenant.stack).filter(|&stack| stack != StackId::ABSENT);
        (stack, tenant.real_size)
    });
    tenants.collect()
}

/// torch's labels of frames. Computes only once which frames torch hides.
struct OfficialLabels<'s> {
    snapshot: &'s Snapshot,
    is_hidden: Vec<bool>,
}

impl<'s> OfficialLabels<'s> {
    fn of(snapshot: &'s Snapshot) -> Self {
        let frames = (0..snapshot.frames.len()).map(FrameId::from_index);
        let is_hidden = frames.map(|id| {
            let frame = snapshot.frames.get(id);
            let text = |id| snapshot.strings.get(id);
            is_hidden_by_torch(text(frame.name), text(frame.filename))
        });
        Self {
            snapshot,
            is_hidden: is_hidden.collect(),
        }
    }

    fn path(&self, stack: Option<StackId>) -> String {
        let Some(stack) = stack else {
            return "<no-context>".to_owned();
        };
        if !stack.has_frames() {
            return "<non-python>".to_owned();
        }
        let frames: Vec<_> = self.snapshot.stacks.frames(stack).collect();
        let shown = frames.into_iter().rev();
        let shown = shown.filter(|id| !self.is_hidden.get(id.index()).copied().unwrap_or(true));
        let labels = shown.map(|id| {
            let frame = self.snapshot.frames.get(id);
            let text = |id| self.snapshot.strings.get(id);
            let file = text(frame.filename).rsplit('/').next().unwrap_or("");
            format!("{file}:{}:{}", frame.line, text(frame.name))
        });
        labels.collect::<Vec<_>>().join(";")
    }
}

/// What the blocks of a line have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// Requested bytes of active blocks, by stack.
    Requested {
        is_pending: bool,
        stack: StackId,
    },
    /// Bytes by which active blocks are larger than their requests.
    Rounding {
        is_pending: bool,
    },
    Free,
    /// Bytes of segments outside of all blocks, in a damaged file.
    Uncovered,
}

/// The corrected lines, in the order of the file.
///
/// # Errors
/// The first error of the sink.
pub fn lines<'a, E>(
    recording: &Recording,
    segments: impl Iterator<Item = &'a Segment>,
    beginning: Beginning<'_>,
    sink: Sink<'_, E>,
) -> Result<(), E> {
    let (snapshot, classes) = (&recording.snapshot, recording.classes());
    let numbers = recording.streams().numbers();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut rows: Vec<(String, Vec<(Kind, u64)>)> = Vec::new();
    let mut known: HashMap<(usize, Kind), usize> = HashMap::new();
    for segment in segments {
        let number = numbers.get(&segment.stream.unwrap_or(0)).copied();
        let place = place(recording, segment, beginning, number.unwrap_or(0));
        let place = *places.entry(place).or_insert_with_key(|place| {
            rows.push((place.clone(), Vec::new()));
            rows.len() - 1
        });
        let mut add = |kind, bytes: u64| {
            let sums = &mut rows[place].1;
            if bytes > 0 {
                let row = *known.entry((place, kind)).or_insert_with(|| {
                    sums.push((kind, 0));
                    sums.len() - 1
                });
                sums[row].1 = sums[row].1.saturating_add(bytes);
            }
        };
        for block in segment.block_ids().map(|id| snapshot.blocks.get(id)) {
            if !block.state.is_active() {
                add(Kind::Free, block.size);
                continue;
            }
            let is_pending = block.state == BlockState::ActivePendingFree;
            let requested = snapshot.blocks.requested_bytes(block).min(block.size);
            let stack = snapshot.blocks.stack(block);
            add(Kind::Requested { is_pending, stack }, requested);
            add(Kind::Rounding { is_pending }, block.size - requested);
        }
        let blocks = segment.block_ids().map(|id| snapshot.blocks.get(id).size);
        let uncovered = segment.total_size.saturating_sub(saturating_sum(blocks));
        add(Kind::Uncovered, uncovered);
    }
    for (place, sums) in rows {
        for (kind, bytes) in sums {
            let path = format!("{place};{}", kind_path(snapshot, classes, kind));
            sink(&path, i128::from(bytes))?;
        }
    }
    Ok(())
}

/// The beginning of a segment's lines.
fn place(
    recording: &Recording,
    segment: &Segment,
    beginning: Beginning<'_>,
    stream: u32,
) -> String {
    let mut place = beginning.prefix.to_owned();
    if beginning.names_device {
        place.push_str(&format!("device_{};", segment.device));
    }
    place.push_str(&format!("stream_{stream}"));
    if let Some(pool) = segment.pool.filter(|pool| pool.is_private()) {
        let label = harmless(&recording.pools().label(pool));
        place.push_str(&format!(";{label}"));
    }
    if beginning.level == Level::Segment {
        place.push_str(&format!(";seg_{:#x}", segment.address));
    }
    place
}

fn kind_path(snapshot: &Snapshot, classes: &FrameClasses, kind: Kind) -> String {
    let state = |is_pending| match is_pending {
        true => "active_pending_free",
        false => "active_allocated",
    };
    match kind {
        Kind::Free => "inactive".to_owned(),
        Kind::Uncovered => "<in no block>".to_owned(),
        Kind::Rounding { is_pending } => format!("{};<gaps>", state(is_pending)),
        Kind::Requested { is_pending, stack } => {
            format!(
                "{};{}",
                state(is_pending),
                stack_path(snapshot, classes, stack)
            )
        }
    }
}

/// The labels of a stack's frames, outermost first, without runtime frames.
fn stack_path(snapshot: &Snapshot, classes: &FrameClasses, stack: StackId) -> String {
    if !stack.has_frames() {
        return "<no stack recorded>".to_owned();
    }
    let frames: Vec<_> = snapshot.stacks.frames(stack).collect();
    let shown = frames.into_iter().rev();
    let shown = shown.filter(|&id| classes.get(id) != FrameClass::Runtime);
    let labels: Vec<_> = shown.map(|id| label(snapshot, id)).collect();
    match labels.is_empty() {
        true => "<runtime>".to_owned(),
        false => labels.join(";"),
    }
}

/// A frame's label such as `train.py:12:forward`.
fn label(snapshot: &Snapshot, id: FrameId) -> String {
    let location = Location::of(snapshot, snapshot.frames.get(id));
    let file = location.file.rsplit(['/', '\\']).next().unwrap_or("");
    let text = match file {
        "" => location.function.to_owned(),
        file => format!("{file}:{}:{}", location.line, location.function),
    };
    harmless(&text)
}

/// A label without characters that would break a line of collapsed stacks, or XML.
fn harmless(text: &str) -> String {
    let mut label: String = invisible::escaped(text)
        .chars()
        .map(|character| match character {
            ';' => ':',
            '\n' | '\r' | '\t' => ' ',
            control if control.is_control() => '\u{fffd}',
            // Not allowed in XML.
            '\u{fffe}' | '\u{ffff}' => '\u{fffd}',
            other => other,
        })
        .collect();
    // flamegraph.pl would read a number at the end as a second weight.
    if let Some((place, _)) = label.rmatch_indices(' ').next()
        && label[place + 1..].parse::<f64>().is_ok()
    {
        label.replace_range(place..=place, "_");
    }
    label
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode;

    const FILE: &str = r#"{"segments": [{"device": 0, "address": 4096, "total_size": 4096, "stream": 7,
        "segment_pool_id": [0, 1], "blocks": [
        {"address": 4096, "size": 1024, "requested_size": 1000, "state": "active_allocated",
         "frames": [{"name": "new; <b>\u0007 12", "filename": "/x/train.py", "line": 3},
                    {"name": "_PyEval_Vector", "filename": "??", "line": 0},
                    {"name": "main", "filename": "/x/train.py", "line": 9}]},
        {"address": 5120, "size": 512, "requested_size": 512, "state": "active_pending_free", "frames": []},
        {"address": 5632, "size": 512, "requested_size": 512, "state": "active_pending_free", "frames": []},
        {"address": 6144, "size": 512, "requested_size": 9999, "state": "inactive", "frames": []},
        {"address": 6656, "size": 1000, "requested_size": 0, "state": "inactive", "frames": []}]}],
        "device_traces": []}"#;

    fn collect(write: impl FnOnce(Sink<'_, ()>) -> Result<(), ()>) -> Vec<String> {
        let mut lines = Vec::new();
        write(&mut |path, bytes| {
            lines.push(format!("{path} {bytes}"));
            Ok(())
        })
        .unwrap();
        lines
    }

    #[test]
    fn mended_lines_add_up_to_what_is_reserved() {
        let snapshot = decode(FILE.as_bytes()).unwrap();
        let recording = Recording::of(snapshot);
        let segments = || recording.snapshot.segments.rows.iter();
        let beginning = Beginning {
            prefix: "x;",
            level: Level::Segment,
            names_device: true,
        };
        let found = collect(|sink| lines(&recording, segments(), beginning, sink));
        let place = "x;device_0;stream_1;private pool (0, 1);seg_0x1000";
        let expected = [
            "active_allocated;train.py:9:main;train.py:3:new: <b>\u{fffd}_12 1000",
            "active_allocated;<gaps> 24",
            "active_pending_free;<no stack recorded> 1024",
            "inactive 1512",
            "<in no block> 536",
        ];
        assert_eq!(found, expected.map(|line| format!("{place};{line}")));
    }

    #[test]
    fn torchs_lines_have_all_its_oddities() {
        let snapshot = decode(FILE.as_bytes()).unwrap();
        let segments = snapshot.segments.rows.iter();
        let beginning = Beginning {
            prefix: "x;",
            level: Level::Stream,
            names_device: true,
        };
        let found = collect(|sink| official_lines(&snapshot, segments, beginning, sink));
        let expected = [
            "active_allocated;train.py:9:main;train.py:3:new; <b>\u{7} 12 1000",
            "active_allocated;<gaps> 24",
            "active_pending_free;<non-python> 512",
            "active_pending_free;<non-python> 512",
            "inactive;<non-python> 9999",
            "inactive;<gaps> -9487",
            "inactive;<non-python> 0",
            "inactive;<gaps> 1000",
        ];
        assert_eq!(found, expected.map(|line| format!("x;stream_7;{line}")));
    }
}
