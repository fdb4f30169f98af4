//! Names addresses: finds their functions, files and lines in the files that ran.
//!
//! ```text
//! address ─> module ─> file by path and build id ([files]) ─> debug information, symbols ([names]) ─┐
//!        └─> generated code: the program's own map for profilers ([perf_map]) ───────────────────────┴─> fold
//! ```
//!
//! **Folding.** Frames of the Python interpreter say nothing about the program. A run of them becomes one frame, or
//! disappears if the Python function it executes is known. All other frames remain, including those below `main`.
//!
//! Logs and files may be hostile: nothing here panics, and memory is bounded by the sizes of the files.

mod bytes;
mod demangle;
mod files;
mod names;
mod notes;
pub mod perf_map;

use self::files::{Missing, SearchPaths};
use self::names::Names;
use self::perf_map::PerfMap;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use vramscope_record::reader::Header;
use vramscope_record::symbols::{CodeAddress, LoadedModule, SourceFrame, Symbols};

/// Maximum number of modules whose files are read. Large programs have a few hundred.
const MAX_MODULES: usize = 4096;
/// Maximum number of cached addresses; a full cache is emptied.
const MAX_ADDRESSES: usize = 1 << 20;

/// Names addresses from the files of modules and from perf maps.
pub struct FileSymbols {
    search_paths: SearchPaths,
    perf_map: Option<PerfMap>,
    /// Size of the map's file when it was read.
    map_bytes: u64,
    modules: Vec<Module>,
    by_file: HashMap<(String, Vec<u8>), usize>,
    addresses: HashMap<u64, Rc<ResolvedAddress>>,
    counts: Counts,
}

/// Figures for the notes, in addition to those of the modules.
#[derive(Default)]
struct Counts {
    interpreter: u64,
    python: u64,
    /// Addresses of generated code without a name.
    unmapped: u64,
}

struct Module {
    path: String,
    build_id: Vec<u8>,
    /// File name, without folders.
    name: String,
    is_interpreter: bool,
    names: Result<Names, Missing>,
    /// Number of addresses looked up, and of those without a function.
    addresses: u64,
    nameless: u64,
}

/// A resolved address.
struct ResolvedAddress {
    /// Row of the address's module; `None` for code outside all files.
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
    /// Looks for files where they were when the program ran, and in `debug_folders`: copies of the other machine's
    /// files by path, or files by name or build id.
    #[must_use]
    pub fn new(debug_folders: &[PathBuf]) -> Self {
        Self {
            search_paths: SearchPaths::new(debug_folders),
            perf_map: None,
            map_bytes: 0,
            modules: Vec::new(),
            by_file: HashMap::new(),
            addresses: HashMap::new(),
            counts: Counts::default(),
        }
    }

    /// Starts with a new log. Later frames and notes are about it.
    pub fn begin(&mut self, log: &Path, header: &Header) {
        (self.perf_map, self.map_bytes) = (None, 0);
        self.go_on(log, header);
        self.addresses.clear();
        self.counts = Counts::default();
        for module in &mut self.modules {
            (module.addresses, module.nameless) = (0, 0);
        }
    }

    /// Continues the same log after more of it was read. Programs generate code while they run, so their map for
    /// profilers grows.
    pub fn go_on(&mut self, log: &Path, header: &Header) {
        let Some(map) = perf_map::find(log, header) else {
            return;
        };
        let bytes = std::fs::metadata(&map).map_or(0, |map| map.len());
        if std::mem::replace(&mut self.map_bytes, bytes) != bytes {
            self.perf_map = PerfMap::read(&map);
            self.addresses.retain(|_, known| known.module.is_some());
        }
    }

    fn resolve(&mut self, code: CodeAddress<'_>) -> Rc<ResolvedAddress> {
        if let Some(known) = self.addresses.get(&code.address)
            && self.is_current(known, code.module)
        {
            return Rc::clone(known);
        }
        let known = Rc::new(match code.module {
            Some(module) => self.resolve_in_file(code.address, module),
            None => self.resolve_generated(code.address),
        });
        if self.addresses.len() >= MAX_ADDRESSES {
            self.addresses.clear();
        }
        self.addresses.insert(code.address, Rc::clone(&known));
        known
    }

    /// Whether a cached address belongs to this module. Addresses are reused when libraries are unloaded.
    fn is_current(&self, known: &ResolvedAddress, loaded: Option<&LoadedModule>) -> bool {
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

    fn resolve_in_file(&mut self, address: u64, loaded: &LoadedModule) -> ResolvedAddress {
        let Some(index) = self.module_row(loaded) else {
            return self.unresolved(address);
        };
        let module = &mut self.modules[index];
        module.addresses += 1;
        // A return address points behind its call.
        let in_file = address.wrapping_sub(1).wrapping_sub(loaded.load_bias);
        let mut frames = module.frames(in_file, &self.search_paths);
        if frames.is_empty() {
            module.nameless += 1;
            frames.push(SourceFrame {
                function: format!("0x{in_file:x}"),
                file: module.name.clone(),
                line: 0,
            });
        }
        // Every program's entry point; not part of the interpreter.
        let is_start = frames
            .last()
            .is_some_and(|frame| frame.function == "_start");
        ResolvedAddress {
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

    fn resolve_generated(&mut self, address: u64) -> ResolvedAddress {
        let map = self.perf_map.as_ref();
        let Some(found) = map.and_then(|map| map.function(address.wrapping_sub(1))) else {
            return self.unresolved(address);
        };
        ResolvedAddress {
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

    fn unresolved(&mut self, address: u64) -> ResolvedAddress {
        self.counts.unmapped += 1;
        ResolvedAddress {
            module: None,
            load_bias: 0,
            frames: vec![SourceFrame::nameless(address)],
            origin: Origin::Native,
        }
    }

    /// The row of a module, added if new; `None` if there are too many.
    fn module_row(&mut self, loaded: &LoadedModule) -> Option<usize> {
        let key = (loaded.path.clone(), loaded.build_id.clone());
        if let Some(&index) = self.by_file.get(&key) {
            return Some(index);
        }
        let index = self.modules.len();
        if index >= MAX_MODULES {
            return None;
        }
        self.modules.push(Module::read(loaded, &self.search_paths));
        self.by_file.insert(key, index);
        Some(index)
    }

    fn fold(&mut self, stack: &[Rc<ResolvedAddress>]) -> Vec<SourceFrame> {
        let mut frames = Vec::with_capacity(stack.len() * 2);
        for (index, known) in stack.iter().enumerate() {
            let caller = stack.get(index + 1).map(|caller| caller.origin);
            match known.origin {
                Origin::Native => frames.extend_from_slice(&known.frames),
                Origin::Python => {
                    self.counts.python += 1;
                    frames.extend_from_slice(&known.frames);
                }
                // Only the outermost frame of a run remains, and none if its Python function is known.
                Origin::Interpreter => {
                    self.counts.interpreter += 1;
                    if !matches!(caller, Some(Origin::Interpreter | Origin::Python)) {
                        frames.push(self.interpreter_frame(known));
                    }
                }
            }
        }
        frames
    }

    fn interpreter_frame(&self, known: &ResolvedAddress) -> SourceFrame {
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
        let known: Vec<_> = stack.iter().map(|&code| self.resolve(code)).collect();
        self.fold(&known)
    }

    fn notes(&self) -> Vec<String> {
        notes::notes(&self.modules, &self.counts)
    }
}

impl Module {
    fn read(loaded: &LoadedModule, search_paths: &SearchPaths) -> Self {
        let path = loaded.path.strip_suffix(" (deleted)");
        let name = path
            .unwrap_or(&loaded.path)
            .rsplit('/')
            .next()
            .unwrap_or("");
        let name = if name.is_empty() { "??" } else { name };
        let names = catch_unwind(|| read_names(loaded, search_paths));
        let names = names.unwrap_or_else(|_| Err(Missing::damaged()));
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

    /// The frames of a virtual address in the file; empty if none is known.
    fn frames(&mut self, in_file: u64, search_paths: &SearchPaths) -> Vec<SourceFrame> {
        let Ok(names) = &self.names else {
            return Vec::new();
        };
        // gimli and addr2line are not known to panic, but the files are not trusted.
        let frames = AssertUnwindSafe(|| names.frames(in_file, &self.name, search_paths));
        catch_unwind(frames).unwrap_or_else(|_| {
            self.names = Err(Missing::damaged());
            Vec::new()
        })
    }
}

/// Reads the names of a module from its files.
fn read_names(loaded: &LoadedModule, search_paths: &SearchPaths) -> Result<Names, Missing> {
    // The kernel maps this module into every process; it has no file.
    if loaded.path == "[vdso]" {
        return Err(Missing::NotFound);
    }
    let image = search_paths.find_image(loaded);
    let found = image.as_ref().ok();
    let debug =
        search_paths.find_debug_file(loaded, found.map(|(path, bytes)| (path.as_path(), bytes)));
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
