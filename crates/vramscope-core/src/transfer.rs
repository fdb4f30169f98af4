//! Copies texts, frames, stacks and contexts from one snapshot to another, each at its first use. For an anonymous
//! snapshot, texts are replaced along the way.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::Snapshot;
use crate::ids::{ContextId, EventId, FrameId, StackId, StringId};
use crate::model::{Context, Event, Frame, FxNode, LinesId};

/// Marks a row that has not been copied yet.
const NONE: u32 = u32::MAX;

/// The kind of a text other than the name or file of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Role {
    /// A label given by the user or the allocator.
    Label,
    /// The name of a function.
    Function,
    Trace,
}

/// Chooses the texts in the new snapshot.
pub(crate) trait Rename {
    fn text<'t>(&self, role: Role, text: &'t str) -> Cow<'t, str>;

    /// The name and the file of a frame.
    fn frame<'t>(&self, name: &'t str, file: &'t str) -> [Cow<'t, str>; 2];
}

pub(crate) struct AsBefore;

impl Rename for AsBefore {
    fn text<'t>(&self, _role: Role, text: &'t str) -> Cow<'t, str> {
        text.into()
    }

    fn frame<'t>(&self, name: &'t str, file: &'t str) -> [Cow<'t, str>; 2] {
        [name.into(), file.into()]
    }
}

/// A snapshot that is filled from another.
pub(crate) struct Transfer<'s> {
    pub(crate) from: &'s Snapshot,
    pub(crate) to: Snapshot,
    rename: &'s dyn Rename,
    strings: HashMap<(Role, StringId), StringId>,
    frames: Vec<u32>,
    stacks: Vec<u32>,
    contexts: Vec<u32>,
    lines: HashMap<LinesId, LinesId>,
}

impl<'s> Transfer<'s> {
    pub(crate) fn new(from: &'s Snapshot, rename: &'s dyn Rename) -> Self {
        Self {
            from,
            to: Snapshot::default(),
            rename,
            strings: HashMap::new(),
            frames: vec![NONE; from.frames.len()],
            stacks: vec![NONE; from.stacks.len()],
            contexts: vec![NONE; from.contexts.len()],
            lines: HashMap::new(),
        }
    }

    pub(crate) fn string(&mut self, role: Role, id: StringId) -> StringId {
        let (from, to, rename) = (self.from, &mut self.to, self.rename);
        let new = || to.strings.intern(&rename.text(role, from.strings.get(id)));
        *self.strings.entry((role, id)).or_insert_with(new)
    }

    fn frame(&mut self, id: FrameId) -> u32 {
        if let Some(&known) = self.frames.get(id.index())
            && known != NONE
        {
            return known;
        }
        let frame = *self.from.frames.get(id);
        let fx = frame.fx.map(|fx| FxNode {
            op: self.string(Role::Label, fx.op),
            name: self.string(Role::Label, fx.name),
            target: self.string(Role::Function, fx.target),
            original_trace: self.string(Role::Trace, fx.original_trace),
        });
        let from = self.from;
        let text = |id| from.strings.get(id);
        let [name, filename] = self.rename.frame(text(frame.name), text(frame.filename));
        let frame = Frame {
            name: self.to.strings.intern(&name),
            filename: self.to.strings.intern(&filename),
            line: frame.line,
            fx,
        };
        let new = self.to.frames.intern(frame);
        self.frames[id.index()] = new.0;
        new.0
    }

    pub(crate) fn stack(&mut self, id: StackId) -> StackId {
        let Some(&known) = self.stacks.get(id.index()) else {
            return id; // ABSENT
        };
        if known != NONE {
            return StackId(known);
        }
        let from = self.from;
        let frames: Vec<u32> = from.stacks.frames(id).map(|id| self.frame(id)).collect();
        let new = self.to.stacks.intern(&frames);
        self.stacks[id.index()] = new.0;
        new
    }

    /// An event of the source, with its stack and context in the new snapshot.
    pub(crate) fn event(&mut self, row: EventId) -> Event {
        let event = self.from.events.get(row);
        Event {
            context: self.context(event.context),
            stack: self.stack(event.stack),
            ..event
        }
    }

    pub(crate) fn lines(&mut self, id: LinesId) -> LinesId {
        if let Some(&known) = self.lines.get(&id) {
            return known;
        }
        let from = self.from;
        let lines = from.contexts.forward_lines(Some(id));
        let lines: Vec<u32> = lines.map(|line| self.string(Role::Trace, line).0).collect();
        let new = self.to.contexts.forward.intern(&lines);
        self.lines.insert(id, new);
        new
    }

    pub(crate) fn context(&mut self, id: ContextId) -> ContextId {
        if let Some(&known) = self.contexts.get(id.index())
            && known != NONE
        {
            return ContextId(known);
        }
        let context = *self.from.contexts.get(id);
        let mut text = |id: Option<StringId>| id.map(|id| self.string(Role::Label, id));
        let mut new = Context {
            compile_context: text(context.compile_context),
            user_metadata: text(context.user_metadata),
            internal_metadata: text(context.internal_metadata),
            category: text(context.category),
            ..context
        };
        new.forward_lines = context.forward_lines.map(|id| self.lines(id));
        let new = self.to.contexts.intern(new);
        self.contexts[id.index()] = new.0;
        new
    }
}
