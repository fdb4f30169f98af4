//! Texts, frames, stacks and contexts of one snapshot into another: each once, when it is first used.

use std::collections::HashMap;

use crate::Snapshot;
use crate::ids::{ContextId, FrameId, StackId, StringId};
use crate::model::{Context, Frame, FxNode, LinesId};

/// Not taken over yet.
const NONE: u32 = u32::MAX;

/// A snapshot being filled from another.
pub(super) struct Transfer<'s> {
    /// Where everything comes from.
    pub from: &'s Snapshot,
    /// What it becomes.
    pub to: Snapshot,
    strings: Vec<u32>,
    frames: Vec<u32>,
    stacks: Vec<u32>,
    contexts: Vec<u32>,
    lines: HashMap<LinesId, LinesId>,
}

impl<'s> Transfer<'s> {
    pub(super) fn new(from: &'s Snapshot) -> Self {
        Self {
            from,
            to: Snapshot::default(),
            strings: vec![NONE; from.strings.len()],
            frames: vec![NONE; from.frames.len()],
            stacks: vec![NONE; from.stacks.len()],
            contexts: vec![NONE; from.contexts.len()],
            lines: HashMap::new(),
        }
    }

    pub(super) fn string(&mut self, id: StringId) -> StringId {
        match self.strings.get_mut(id.index()) {
            Some(known) => {
                if *known == NONE {
                    *known = self.to.strings.intern(self.from.strings.get(id)).0;
                }
                StringId(*known)
            }
            None => StringId(0),
        }
    }

    fn frame(&mut self, id: FrameId) -> u32 {
        if let Some(&known) = self.frames.get(id.index())
            && known != NONE
        {
            return known;
        }
        let frame = *self.from.frames.get(id);
        let fx = frame.fx.map(|fx| FxNode {
            op: self.string(fx.op),
            name: self.string(fx.name),
            target: self.string(fx.target),
            original_trace: self.string(fx.original_trace),
        });
        let frame = Frame {
            name: self.string(frame.name),
            filename: self.string(frame.filename),
            line: frame.line,
            fx,
        };
        let new = self.to.frames.intern(frame);
        self.frames[id.index()] = new.0;
        new.0
    }

    pub(super) fn stack(&mut self, id: StackId) -> StackId {
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

    pub(super) fn lines(&mut self, id: LinesId) -> LinesId {
        if let Some(&known) = self.lines.get(&id) {
            return known;
        }
        let from = self.from;
        let lines = from.contexts.forward_lines(Some(id));
        let lines: Vec<u32> = lines.map(|line| self.string(line).0).collect();
        let new = self.to.contexts.forward.intern(&lines);
        self.lines.insert(id, new);
        new
    }

    pub(super) fn context(&mut self, id: ContextId) -> ContextId {
        if let Some(&known) = self.contexts.get(id.index())
            && known != NONE
        {
            return ContextId(known);
        }
        let context = *self.from.contexts.get(id);
        let mut text = |id: Option<StringId>| id.map(|id| self.string(id));
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
