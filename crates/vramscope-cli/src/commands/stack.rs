//! The stack of an event as a table: user-facing frames, innermost first.

use vramscope_core::analysis::code::call_sites::label;
use vramscope_core::analysis::code::frames::{FoldOptions, FoldedRow, Location, fold};
use vramscope_core::ids::StackId;

use crate::report::{Cell, Column, Part};
use crate::subject::Device;

/// Adds a stack under the head `columns`; at most the given number of frames, 0 for all. Returns whether it has any.
pub(super) fn stack_table(
    part: &mut Part,
    device: &Device<'_>,
    columns: [Column; 1],
    (stack, most): (StackId, usize),
) -> bool {
    let subject = device.subject;
    let frames = subject.snapshot.stacks.frames(stack);
    let folded = fold(frames, subject.classes(), FoldOptions::default());
    let frame = |row: &FoldedRow| match *row {
        FoldedRow::Frame { frame, times, .. } => {
            let frame = subject.snapshot.frames.get(frame);
            let place = label(&Location::of(&subject.snapshot, frame));
            Some(match times {
                1 => place,
                times => format!("{place} ({times} times)"),
            })
        }
        FoldedRow::Runtime { .. } => None,
    };
    let most = if most == 0 { usize::MAX } else { most };
    let rows = folded.iter().filter_map(frame).take(most);
    let rows: Vec<_> = rows.map(|text| vec![Cell::Text(text)]).collect();
    let has_frames = !rows.is_empty();
    part.table("stack", "", &columns, rows);
    has_frames
}
