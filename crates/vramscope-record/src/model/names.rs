//! What a log gives numbers to: stacks and the modules they lie in, texts, threads, devices.

use std::collections::{BTreeMap, HashMap};

use crate::layout;
use crate::reader::{Addresses, Program};
use crate::symbols::LoadedModule;

/// Notes kept at most.
const MOST_NOTES: usize = 100;

/// A stack as it was recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackRow {
    first: usize,
    frames: usize,
    /// How many modules were known then.
    modules: usize,
}

/// A device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DeviceName {
    pub(crate) name: String,
    pub(crate) uuid: [u8; 16],
    pub(crate) total_bytes: u64,
}

/// All names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) modules: Vec<LoadedModule>,
    addresses: Vec<u64>,
    stacks: HashMap<u32, StackRow>,
    texts: HashMap<u32, Box<str>>,
    pub(crate) threads: BTreeMap<u32, String>,
    pub(crate) devices: BTreeMap<u8, DeviceName>,
    pub(crate) program: Vec<String>,
    pub(crate) notes: Vec<String>,
}

impl Names {
    pub(crate) fn set_program(&mut self, program: Program<'_>) {
        self.program = program.map(lossy).collect();
    }

    pub(crate) fn add_module(&mut self, module: layout::Module, build_id: &[u8], path: &[u8]) {
        self.modules.push(LoadedModule {
            path: lossy(path),
            build_id: build_id.to_vec(),
            load_bias: module.load_bias,
            start: module.start,
            end: module.end,
        });
    }

    pub(crate) fn add_stack(&mut self, number: u32, addresses: Addresses<'_>) {
        let row = StackRow {
            first: self.addresses.len(),
            frames: addresses.len(),
            modules: self.modules.len(),
        };
        self.addresses.extend(addresses);
        self.stacks.insert(number, row);
    }

    /// The return addresses of a stack, innermost first, and how many modules were known when it was taken.
    pub(crate) fn stack(&self, number: u32) -> Option<(&[u64], usize)> {
        let row = self.stacks.get(&number)?;
        let addresses = self.addresses.get(row.first..row.first + row.frames)?;
        Some((addresses, row.modules))
    }

    /// The module that a return address leads to, among the first `known`: the newest, where they overlap.
    pub(crate) fn module_of(&self, address: u64, known: usize) -> Option<usize> {
        // The call before it: nothing need stand behind a call that does not return.
        let call = address.wrapping_sub(1);
        let modules = self.modules.get(..known).unwrap_or_default();
        modules
            .iter()
            .rposition(|module| (module.start..module.end).contains(&call))
    }

    pub(crate) fn add_text(&mut self, number: u32, text: &[u8]) {
        self.texts.insert(number, lossy(text).into());
    }

    /// A text; empty for 0 and where it is missing.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.texts.get(&number).map_or("", |text| text)
    }

    pub(crate) fn add_thread(&mut self, thread: u32, name: &[u8]) {
        self.threads.insert(thread, lossy(name));
    }

    pub(crate) fn add_device(&mut self, number: u8, device: layout::Device, name: &[u8]) {
        let mut uuid = [0; 16];
        uuid[..8].copy_from_slice(&device.uuid_low.to_le_bytes());
        uuid[8..].copy_from_slice(&device.uuid_high.to_le_bytes());
        let device = DeviceName {
            name: lossy(name),
            uuid,
            total_bytes: device.total_bytes,
        };
        self.devices.insert(number, device);
    }

    pub(crate) fn add_note(&mut self, note: &[u8]) {
        let note = lossy(note);
        if self.notes.len() < MOST_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
