//! Distinct frames, and the frames of each distinct stack.

use super::{Field, Kind, Value, Write, field};
use crate::Snapshot;
use crate::analysis::code::frames::{FrameClass, FrameClasses, Location};
use crate::ids::{FrameId, StackId};

pub(super) const FIELDS: [Field; 9] = [
    field("frame_id", Kind::Number, "its number in the snapshot"),
    field("function", Kind::Text, "the function"),
    field("file", Kind::Text, "the file"),
    field("line", Kind::Number, "the line"),
    field(
        "class",
        Kind::Text,
        "whose code it is: user, library or runtime",
    ),
    field(
        "fx_op",
        Kind::Text,
        "the operation of its node in torch.fx's graph",
    ),
    field("fx_name", Kind::Text, "the name of that node"),
    field("fx_target", Kind::Text, "what that node calls"),
    field(
        "fx_original_trace",
        Kind::Text,
        "the stack from which that node was traced",
    ),
];

/// `depth` 0 is the innermost frame.
pub(super) const STACK_FIELDS: [Field; 3] = [
    field(
        "stack_id",
        Kind::Number,
        "the stack's number in the snapshot",
    ),
    field(
        "depth",
        Kind::Number,
        "the frame's place in the stack: 0 is the innermost",
    ),
    field("frame_id", Kind::Number, "the frame, in `frames`"),
];

pub(super) fn frames<E>(
    snapshot: &Snapshot,
    classes: &FrameClasses,
    write: &mut Write<'_, E>,
) -> Result<(), E> {
    for id in (0..snapshot.frames.len()).map(FrameId::from_index) {
        let frame = snapshot.frames.get(id);
        let location = Location::of(snapshot, frame);
        let fx = frame
            .fx
            .map(|fx| [fx.op, fx.name, fx.target, fx.original_trace]);
        let fx = |place: usize| Value::string(snapshot, fx.map(|texts| texts[place]));
        write(&[
            Value::Number(id.0.into()),
            Value::text(location.function),
            Value::text(location.file),
            Value::number((location.line > 0).then_some(location.line)),
            Value::text(match classes.get(id) {
                FrameClass::Runtime => "runtime",
                FrameClass::Library => "library",
                FrameClass::User => "user",
            }),
            fx(0),
            fx(1),
            fx(2),
            fx(3),
        ])?;
    }
    Ok(())
}

pub(super) fn stacks<E>(snapshot: &Snapshot, write: &mut Write<'_, E>) -> Result<(), E> {
    for id in (0..snapshot.stacks.len()).map(StackId::from_index) {
        for (depth, frame) in (0..).zip(snapshot.stacks.frames(id)) {
            write(&[
                Value::Number(id.0.into()),
                Value::Number(depth),
                Value::Number(frame.0.into()),
            ])?;
        }
    }
    Ok(())
}
