//! Everything that a log numbers: stacks and their modules, texts, threads, devices.

use std::collections::{BTreeMap, HashMap};

use crate::layout::{self, Named};
use crate::reader::{Addresses, Program};
use crate::symbols::LoadedModule;

const MAX_NOTES: usize = 100;

/// A recorded stack: a range of `addresses`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackRow {
    first: usize,
    frames: usize,
    /// Number of modules known when the stack was recorded.
    modules: usize,
}

/// Name and size of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DeviceName {
    pub(crate) name: String,
    pub(crate) uuid: [u8; 16],
    pub(crate) total_bytes: u64,
}

/// Numbered names of one log.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pub(crate) modules: Vec<LoadedModule>,
    addresses: Vec<u64>,
    stacks: HashMap<u32, StackRow>,
    texts: HashMap<u32, Box<str>>,
    pub(crate) threads: BTreeMap<u32, String>,
    /// The program's names of streams, contexts and devices, by handle.
    pub(crate) given: BTreeMap<(Named, u64), String>,
    /// Names of categories, by domain and number.
    categories: HashMap<(Box<str>, u64), String>,
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

    /// The return addresses of a stack, innermost first, and the number of modules known when it was recorded.
    pub(crate) fn stack(&self, number: u32) -> Option<(&[u64], usize)> {
        let row = self.stacks.get(&number)?;
        let addresses = self.addresses.get(row.first..row.first + row.frames)?;
        Some((addresses, row.modules))
    }

    /// The row of the module that a return address points into, among the first `known` modules. If several overlap, the
    /// newest.
    pub(crate) fn module_of(&self, address: u64, known: usize) -> Option<usize> {
        // Look up the call instruction before it: a call that does not return may be the last instruction of its
        // module.
        let call = address.wrapping_sub(1);
        let modules = self.modules.get(..known).unwrap_or_default();
        modules
            .iter()
            .rposition(|module| (module.start..module.end).contains(&call))
    }

    pub(crate) fn add_text(&mut self, number: u32, text: &[u8]) {
        self.texts.insert(number, lossy(text).into());
    }

    /// A text; empty for number 0 and for unknown numbers.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.texts.get(&number).map_or("", |text| text)
    }

    pub(crate) fn add_thread(&mut self, thread: u32, name: &[u8]) {
        self.threads.insert(thread, lossy(name));
    }

    /// Sets the program's name for an object; an empty name removes it.
    pub(crate) fn add_name(&mut self, of: layout::Name, name: &[u8]) {
        let named = u8::try_from(of.named).ok().and_then(Named::of_number);
        match named {
            None => {}
            Some(Named::Category) => {
                let domain = self.text(of.domain).into();
                self.categories.insert((domain, of.handle), lossy(name));
            }
            Some(named) if name.is_empty() => {
                self.given.remove(&(named, of.handle));
            }
            Some(named) => {
                self.given.insert((named, of.handle), lossy(name));
            }
        }
    }

    /// The name of a category, or its number in digits; `None` for number 0.
    pub(crate) fn category(&self, domain: u32, number: u32) -> Option<String> {
        if number == 0 {
            return None;
        }
        let key = (self.text(domain).into(), u64::from(number));
        let name = self.categories.get(&key).filter(|name| !name.is_empty());
        Some(name.cloned().unwrap_or_else(|| number.to_string()))
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
        if self.notes.len() < MAX_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

fn lossy(text: &[u8]) -> String {
    String::from_utf8_lossy(text).into_owned()
}
