//! Names for addresses: functions, files and lines, from the files that ran.
//!
//! ```text
//! address ─> module ─> file by path and build id ([files]) ─> debug information, symbols ([names]) ─┐
//!        └─> generated code: the program's own map for profilers ([perf_map]) ───────────────────────┴─> fold
//! ```
//!
//! **What is folded.** Frames of the Python interpreter say nothing about the program: a run of them is one frame, or
//! none where the Python function that it runs is known. All other frames stay, also those below `main`.
//!
//! Logs and files may come from strangers: nothing here panics, and memory is bounded by the files' sizes.

mod bytes;
mod demangle;
mod files;
mod names;
mod notes;
pub mod perf_map;

use self::files::{Missing, Places};
use self::names::Names;
use self::perf_map::PerfMap;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use vramscope_record::reader::Header;
use vramscope_record::symbols::{CodeAddress, LoadedModule, SourceFrame, Symbols};

/// Files of more modules than these are not read. Large programs have some hundreds.
const MOST_MODULES: usize = 4096;
/// More addresses than these are not remembered: then they are all looked up anew.
const MOST_ADDRESSES: usize = 1 << 20;

/// Names from files.
pub struct FileSymbols {
    places: Places,
    perf_map: Option<PerfMap>,
    modules: Vec<Module>,
    by_file: HashMap<(String, Vec<u8>), usize>,
    addresses: HashMap<u64, Rc<Known>>,
    counts: Counts,
}

/// What notes are made of, beside what modules count.
#[derive(Default)]
struct Counts {
    interpreter: u64,
    python: u64,
    /// Addresses in code that neither a file nor the map knows.
    nowhere: u64,
}

/// A file, and what became of its names.
struct Module {
    path: String,
    build_id: Vec<u8>,
    /// The last part of the path.
    name: String,
    is_interpreter: bool,
    names: Result<Names, Missing>,
    /// Addresses that were looked up in it, and those that got no function.
    addresses: u64,
    nameless: u64,
}

/// An address that was looked up.
struct Known {
    /// Where its module stands; `None` for code that no file holds.
    module: Option<usize>,
    load_bias: u64,
    frames: Vec<SourceFrame>,
    origin: Origin,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Origin {
    Native,
    Interpreter,
    Python,
}

impl FileSymbols {
    /// Names from files where they were when the program ran, or below `debug_folders`: copies of the other machine's
    /// files by their paths, or files by name or build id.
    #[must_use]
    pub fn new(debug_folders: &[PathBuf]) -> Self {
        Self {
            places: Places::new(debug_folders),
            perf_map: None,
            modules: Vec::new(),
            by_file: HashMap::new(),
            addresses: HashMap::new(),
            counts: Counts::default(),
        }
    }

    /// What is asked from now on is about this log, and so are the notes.
    pub fn begin(&mut self, log: &Path, header: &Header) {
        let map = perf_map::of_log(log, header);
        self.perf_map = map.and_then(|map| PerfMap::read(&map));
        self.addresses.clear();
        self.counts = Counts::default();
        for module in &mut self.modules {
            (module.addresses, module.nameless) = (0, 0);
        }
    }

    fn known(&mut self, code: CodeAddress<'_>) -> Rc<Known> {
        if let Some(known) = self.addresses.get(&code.address)
            && self.is_of(known, code.module)
        {
            return Rc::clone(known);
        }
        let known = Rc::new(match code.module {
            Some(module) => self.in_file(code.address, module),
            None => self.generated(code.address),
        });
        if self.addresses.len() >= MOST_ADDRESSES {
            self.addresses.clear();
        }
        self.addresses.insert(code.address, Rc::clone(&known));
        known
    }

    /// Whether what is known is about the code that was there then: addresses are used again.
    fn is_of(&self, known: &Known, loaded: Option<&LoadedModule>) -> bool {
        match (
            known.module.and_then(|index| self.modules.get(index)),
            loaded,
        ) {
            (None, None) => true,
            (Some(module), Some(loaded)) => {
                known.load_bias == loaded.load_bias
                    && module.path == loaded.path
                    && module.build_id == loaded.build_id
            }
            _ => false,
        }
    }

    fn in_file(&mut self, address: u64, loaded: &LoadedModule) -> Known {
        let Some(index) = self.module(loaded) else {
            return self.nameless(address);
        };
        let module = &mut self.modules[index];
        module.addresses += 1;
        // The call is before the address that it returns to.
        let in_file = address.wrapping_sub(1).wrapping_sub(loaded.load_bias);
        let mut frames = module.frames(in_file, &self.places);
        if frames.is_empty() {
            module.nameless += 1;
            frames.push(SourceFrame {
                function: format!("0x{in_file:x}"),
                file: module.name.clone(),
                line: 0,
            });
        }
        // Where every program starts says nothing about the interpreter.
        let is_start = frames
            .last()
            .is_some_and(|frame| frame.function == "_start");
        Known {
            module: Some(index),
            load_bias: loaded.load_bias,
            frames,
            origin: if module.is_interpreter && !is_start {
                Origin::Interpreter
            } else {
                Origin::Native
            },
        }
    }

    fn generated(&mut self, address: u64) -> Known {
        let map = self.perf_map.as_ref();
        let Some(found) = map.and_then(|map| map.function(address.wrapping_sub(1))) else {
            return self.nameless(address);
        };
        Known {
            module: None,
            load_bias: 0,
            frames: vec![found.frame],
            origin: if found.is_python {
                Origin::Python
            } else {
                Origin::Native
            },
        }
    }

    fn nameless(&mut self, address: u64) -> Known {
        self.counts.nowhere += 1;
        Known {
            module: None,
            load_bias: 0,
            frames: vec![SourceFrame::nameless(address)],
            origin: Origin::Native,
        }
    }

    /// Where a module stands among `modules`; `None` if there are too many.
    fn module(&mut self, loaded: &LoadedModule) -> Option<usize> {
        let key = (loaded.path.clone(), loaded.build_id.clone());
        if let Some(&index) = self.by_file.get(&key) {
            return Some(index);
        }
        let index = self.modules.len();
        if index >= MOST_MODULES {
            return None;
        }
        self.modules.push(Module::read(loaded, &self.places));
        self.by_file.insert(key, index);
        Some(index)
    }

    fn fold(&mut self, stack: &[Rc<Known>]) -> Vec<SourceFrame> {
        let mut frames = Vec::with_capacity(stack.len() * 2);
        for (index, known) in stack.iter().enumerate() {
            let caller = stack.get(index + 1).map(|caller| caller.origin);
            match known.origin {
                Origin::Native => frames.extend_from_slice(&known.frames),
                Origin::Python => {
                    self.counts.python += 1;
                    frames.extend_from_slice(&known.frames);
                }
                // Of a run only the outermost counts, and that says nothing beside the function it runs.
                Origin::Interpreter => {
                    self.counts.interpreter += 1;
                    if !matches!(caller, Some(Origin::Interpreter | Origin::Python)) {
                        frames.push(self.interpreter(known));
                    }
                }
            }
        }
        frames
    }

    fn interpreter(&self, known: &Known) -> SourceFrame {
        let module = known.module.and_then(|index| self.modules.get(index));
        SourceFrame {
            function: "Python interpreter".to_owned(),
            file: module.map_or_else(|| "??".to_owned(), |module| module.name.clone()),
            line: 0,
        }
    }
}

impl Symbols for FileSymbols {
    fn frames(&mut self, stack: &[CodeAddress<'_>]) -> Vec<SourceFrame> {
        let known: Vec<_> = stack.iter().map(|&code| self.known(code)).collect();
        self.fold(&known)
    }

    fn notes(&self) -> Vec<String> {
        notes::notes(&self.modules, &self.counts)
    }
}

impl Module {
    fn read(loaded: &LoadedModule, places: &Places) -> Self {
        let path = loaded.path.strip_suffix(" (deleted)");
        let name = path
            .unwrap_or(&loaded.path)
            .rsplit('/')
            .next()
            .unwrap_or("");
        let name = if name.is_empty() { "??" } else { name };
        let read = catch_unwind(|| read(loaded, places));
        let names = read.unwrap_or_else(|_| Err(Missing::damaged()));
        Self {
            path: loaded.path.clone(),
            build_id: loaded.build_id.clone(),
            name: name.to_owned(),
            is_interpreter: is_interpreter(name),
            names,
            addresses: 0,
            nameless: 0,
        }
    }

    /// Frames of a virtual address of the file; none without a name.
    fn frames(&mut self, in_file: u64, places: &Places) -> Vec<SourceFrame> {
        let Ok(names) = &self.names else {
            return Vec::new();
        };
        // gimli and addr2line are not known to panic; strangers' files are not known either.
        let frames = AssertUnwindSafe(|| names.frames(in_file, &self.name, places));
        catch_unwind(frames).unwrap_or_else(|_| {
            self.names = Err(Missing::damaged());
            Vec::new()
        })
    }
}

/// What the files of a module say.
fn read(loaded: &LoadedModule, places: &Places) -> Result<Names, Missing> {
    // What the kernel maps into each process has no file.
    if loaded.path == "[vdso]" {
        return Err(Missing::NotFound);
    }
    let image = places.image(loaded);
    let found = image.as_ref().ok();
    let debug = places.debug_file(loaded, found.map(|(path, bytes)| (path.as_path(), bytes)));
    match (image, debug) {
        (Err(missing), None) => Err(missing),
        (image, debug) => Ok(Names::read(image.ok(), debug)),
    }
}

/// Whether a file is the Python interpreter: `libpython3.12.so.1.0`, `python3`, `python3.13t`.
fn is_interpreter(name: &str) -> bool {
    name.starts_with("libpython")
        || name.strip_prefix("python").is_some_and(|version| {
            let version = version.trim_end_matches(['t', 'd', 'm']);
            version
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
        })
}
