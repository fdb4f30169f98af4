//! Turns numbered stacks into named frames, each distinct stack once.

use std::collections::HashMap;

use vramscope_core::build::Builder;
use vramscope_core::ids::{FrameId, StackId};

use crate::layout::Call;
use crate::model::{Names, Origin};
use crate::symbols::{CodeAddress, Symbols};

/// File name of frames that stand for driver functions.
const DRIVER: &str = "libcuda.so.1";
/// File name of frames that stand for functions of vramscope-api.
const CLIENT: &str = "vramscope-api";

/// A return address and the row of its module.
type Address = (u64, Option<usize>);

pub(super) struct Stacks<'r> {
    names: &'r Names,
    symbols: &'r mut dyn Symbols,
    /// Finished stacks by origin.
    by_origin: HashMap<Origin, StackId>,
    last: Option<(Origin, StackId)>,
    /// Frames by stack number.
    frames_by_number: HashMap<u32, Vec<FrameId>>,
    /// Frames by content: several numbers may stand for the same stack.
    frames_by_content: HashMap<Vec<Address>, Vec<FrameId>>,
    /// The module of an address, valid for a number of known modules.
    modules: HashMap<u64, (usize, Option<usize>)>,
}

impl<'r> Stacks<'r> {
    pub(super) fn new(names: &'r Names, symbols: &'r mut dyn Symbols) -> Self {
        Self {
            names,
            symbols,
            by_origin: HashMap::new(),
            last: None,
            frames_by_number: HashMap::new(),
            frames_by_content: HashMap::new(),
            modules: HashMap::new(),
        }
    }

    /// The symboliser's remarks about frames without a name.
    pub(super) fn notes(&self) -> Vec<String> {
        self.symbols.notes()
    }

    /// The stack of an origin: the driver function, then its callers.
    pub(super) fn stack_of(&mut self, builder: &mut Builder, origin: Origin) -> StackId {
        match self.last {
            Some((last, id)) if last == origin => return id,
            _ => {}
        }
        let id = match self.by_origin.get(&origin) {
            Some(&id) => id,
            None => {
                let id = self.build_stack(builder, origin);
                self.by_origin.insert(origin, id);
                id
            }
        };
        self.last = Some((origin, id));
        id
    }

    fn build_stack(&mut self, builder: &mut Builder, origin: Origin) -> StackId {
        let mut frames = Vec::new();
        if let Some(call) = Call::of_number(origin.call) {
            let file = match call {
                Call::suballoc | Call::subfree | Call::annotate => CLIENT,
                _ => DRIVER,
            };
            frames.push(builder.frame(call.name(), file, 0));
        }
        if origin.stack != 0 {
            frames.extend_from_slice(self.frames(builder, origin.stack));
        }
        builder.stack(&frames)
    }

    fn frames(&mut self, builder: &mut Builder, number: u32) -> &[FrameId] {
        if !self.frames_by_number.contains_key(&number) {
            let frames = self.resolve(builder, number);
            self.frames_by_number.insert(number, frames);
        }
        self.frames_by_number
            .get(&number)
            .map_or(&[], Vec::as_slice)
    }

    fn resolve(&mut self, builder: &mut Builder, number: u32) -> Vec<FrameId> {
        let names = self.names;
        let Some((addresses, known)) = names.stack(number) else {
            return Vec::new();
        };
        let content: Vec<Address> = addresses
            .iter()
            .map(|&address| (address, self.module_of(address, known)))
            .collect();
        if let Some(frames) = self.frames_by_content.get(&content) {
            return frames.clone();
        }
        let module = |row: Option<usize>| row.and_then(|row| names.modules.get(row));
        let stack: Vec<_> = content
            .iter()
            .map(|&(address, row)| CodeAddress {
                address,
                module: module(row),
            })
            .collect();
        let frames = self.symbols.frames(&stack);
        let frames: Vec<_> = frames
            .iter()
            .map(|frame| builder.frame(&frame.function, &frame.file, frame.line))
            .collect();
        self.frames_by_content.insert(content, frames.clone());
        frames
    }

    fn module_of(&mut self, address: u64, known: usize) -> Option<usize> {
        match self.modules.get(&address) {
            Some(&(then, module)) if then == known => module,
            _ => {
                let module = self.names.module_of(address, known);
                self.modules.insert(address, (known, module));
                module
            }
        }
    }
}
