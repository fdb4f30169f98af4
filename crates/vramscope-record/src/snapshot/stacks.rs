//! Numbers of stacks into frames with names: each distinct stack once.

use std::collections::HashMap;

use vramscope_core::build::Builder;
use vramscope_core::ids::{FrameId, StackId};

use crate::layout::Call;
use crate::model::{By, Names};
use crate::symbols::{CodeAddress, Symbols};

/// Where the driver's functions are: what stands for the file of their frames.
const DRIVER: &str = "libcuda.so.1";
/// The same of calls that the program made of vramscope-api.
const CLIENT: &str = "vramscope-api";

/// A return address, and the row of the module it lies in.
type Address = (u64, Option<usize>);

pub(super) struct Stacks<'r> {
    names: &'r Names,
    symbols: &'r mut dyn Symbols,
    /// What is known of each call from each stack.
    known: HashMap<By, StackId>,
    last: Option<(By, StackId)>,
    /// Frames of each number of a stack.
    of_number: HashMap<u32, Vec<FrameId>>,
    /// Frames of each distinct stack.
    of_content: HashMap<Vec<Address>, Vec<FrameId>>,
    /// In which module an address lay, when so many were known.
    modules: HashMap<u64, (usize, Option<usize>)>,
}

impl<'r> Stacks<'r> {
    pub(super) fn new(names: &'r Names, symbols: &'r mut dyn Symbols) -> Self {
        Self {
            names,
            symbols,
            known: HashMap::new(),
            last: None,
            of_number: HashMap::new(),
            of_content: HashMap::new(),
            modules: HashMap::new(),
        }
    }

    /// What could not be named in them.
    pub(super) fn notes(&self) -> Vec<String> {
        self.symbols.notes()
    }

    /// The stack of a call: the driver's function, then who called it.
    pub(super) fn of(&mut self, builder: &mut Builder, by: By) -> StackId {
        match self.last {
            Some((last, id)) if last == by => return id,
            _ => {}
        }
        let id = match self.known.get(&by) {
            Some(&id) => id,
            None => {
                let id = self.make(builder, by);
                self.known.insert(by, id);
                id
            }
        };
        self.last = Some((by, id));
        id
    }

    fn make(&mut self, builder: &mut Builder, by: By) -> StackId {
        let mut frames = Vec::new();
        if let Some(call) = Call::of_number(by.call) {
            let file = match call {
                Call::suballoc | Call::subfree | Call::annotate => CLIENT,
                _ => DRIVER,
            };
            frames.push(builder.frame(call.name(), file, 0));
        }
        if by.stack != 0 {
            frames.extend_from_slice(self.frames(builder, by.stack));
        }
        builder.stack(&frames)
    }

    fn frames(&mut self, builder: &mut Builder, number: u32) -> &[FrameId] {
        if !self.of_number.contains_key(&number) {
            let frames = self.named(builder, number);
            self.of_number.insert(number, frames);
        }
        self.of_number.get(&number).map_or(&[], Vec::as_slice)
    }

    fn named(&mut self, builder: &mut Builder, number: u32) -> Vec<FrameId> {
        let names = self.names;
        let Some((addresses, known)) = names.stack(number) else {
            return Vec::new();
        };
        let content: Vec<Address> = addresses
            .iter()
            .map(|&address| (address, self.module_of(address, known)))
            .collect();
        if let Some(frames) = self.of_content.get(&content) {
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
        self.of_content.insert(content, frames.clone());
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
