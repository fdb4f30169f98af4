//! Names in one module, from its debug information and symbol tables: functions, inlined functions and source lines.
//!
//! Files may be hostile. addr2line and gimli are built for that, with two exceptions that are checked first: functions
//! nested so deeply that reading them recursively exhausts the stack, and sections that decompress to more than the
//! available memory.
#![expect(
    unsafe_code,
    reason = "debug information refers to files that are arena beside it"
)]

use super::bytes::{FileArena, FileBytes, Slice};
use super::demangle::{demangle, is_mangled};
use super::files::SearchPaths;
use addr2line::gimli::{self, Dwarf, DwarfPackage};
use addr2line::{Context, LookupResult, SplitDwarfLoad};
use object::{Object as _, SymbolMap, SymbolMapName};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vramscope_record::symbols::SourceFrame;

/// Maximum nesting of functions and inlined functions. Compilers stay far below it.
const MAX_DEPTH: isize = 1000;
/// Maximum number of inlined functions at one address.
const MAX_INLINED: usize = 256;

/// Names in one module.
pub(super) struct Names {
    // Declared before `arena`, so dropped first: these fields refer to its bytes.
    context: Option<Context<Slice>>,
    package: Option<DwarfPackage<Slice>>,
    symbols: Vec<SymbolMap<SymbolMapName<'static>>>,
    arena: FileArena,
}

impl Names {
    pub(super) fn read(
        image: Option<(PathBuf, FileBytes)>,
        debug: Option<(PathBuf, FileBytes)>,
    ) -> Self {
        let mut names = Self {
            context: None,
            package: None,
            symbols: Vec::new(),
            arena: FileArena::default(),
        };
        // Debug files have the complete symbol table, images perhaps only their exports.
        for (path, bytes) in [debug, image].into_iter().flatten() {
            // SAFETY: objects and slices stay in `names`, which drops `arena` last and lends none of them.
            let bytes = unsafe { names.arena.add(bytes) };
            let Ok(object) = object::File::parse(bytes) else {
                continue;
            };
            // Relocatable files are never loaded.
            if object.kind() == object::ObjectKind::Relocatable {
                continue;
            }
            if names.context.is_none() && object.section_by_name(".debug_info").is_some() {
                names.context = names.load_context(&object, &path);
                names.package = names.load_package(&path);
            }
            names.symbols.push(object.symbol_map());
        }
        names
    }

    /// Whether source lines are known.
    pub(super) fn has_lines(&self) -> bool {
        self.context.is_some()
    }

    fn load_context(&self, object: &object::File<'static>, path: &Path) -> Option<Context<Slice>> {
        let load = |id: gimli::SectionId| -> Result<_, gimli::Error> {
            Ok(self.arena.section(object, Some(id.name())))
        };
        let mut dwarf = Dwarf::load(load).ok()?;
        // Debug information shared by several files, extracted by dwz.
        if let Ok(Some((link, build_id))) = object.gnu_debugaltlink()
            && let Some(common) = self.load_common(path, link, build_id)
        {
            let load = |id: gimli::SectionId| -> Result<_, gimli::Error> {
                Ok(self.arena.section(&common, Some(id.name())))
            };
            dwarf.load_sup(load).ok()?;
        }
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        // Checks all units: which of them will be read depends on data that may be wrong.
        are_shallow(&dwarf).then(|| Context::from_dwarf(dwarf).ok())?
    }

    fn load_common(
        &self,
        path: &Path,
        link: &[u8],
        build_id: &[u8],
    ) -> Option<object::File<'static>> {
        let link = Path::new(std::str::from_utf8(link).ok()?);
        let bytes = FileBytes::read(&path.parent()?.join(link)).ok()??;
        // SAFETY: as in `read`.
        let bytes = unsafe { self.arena.add(bytes) };
        let object = object::File::parse(bytes).ok()?;
        (object.build_id().ok()? == Some(build_id)).then_some(object)
    }

    /// The package of split debug information beside a file.
    fn load_package(&self, path: &Path) -> Option<DwarfPackage<Slice>> {
        let mut name = path.as_os_str().to_owned();
        name.push(".dwp");
        let bytes = FileBytes::read(Path::new(&name)).ok()??;
        // SAFETY: as in `read`.
        let bytes = unsafe { self.arena.add(bytes) };
        let object = object::File::parse(bytes).ok()?;
        let load = |id: gimli::SectionId| -> Result<_, gimli::Error> {
            Ok(self.arena.section(&object, id.dwo_name()))
        };
        DwarfPackage::load(load, self.arena.section(&object, None)).ok()
    }

    /// The frames of a virtual address in the file, innermost first; empty if none is known. `module` stands in for an
    /// unknown source file.
    pub(super) fn frames(
        &self,
        address: u64,
        module: &str,
        search_paths: &SearchPaths,
    ) -> Vec<SourceFrame> {
        let mut frames = self
            .debug_frames(address, module, search_paths)
            .unwrap_or_default();
        let symbol = self
            .symbols
            .iter()
            .find_map(|symbols| symbols.containing(address));
        if let Some(symbol) = symbol {
            let named = || demangle(symbol.name(), None);
            match frames.last_mut() {
                // Line-only debug information has names without namespaces; the symbol has the full name.
                Some(NamedFrame {
                    frame,
                    is_whole: false,
                }) => frame.function = named(),
                Some(_) => {}
                None => frames.push(NamedFrame {
                    frame: SourceFrame {
                        function: named(),
                        file: module.to_owned(),
                        line: 0,
                    },
                    is_whole: true,
                }),
            }
        }
        frames.into_iter().map(|named| named.frame).collect()
    }

    fn debug_frames(
        &self,
        address: u64,
        module: &str,
        search_paths: &SearchPaths,
    ) -> Option<Vec<NamedFrame>> {
        let context = self.context.as_ref()?;
        let mut lookup = context.find_frames(address);
        let mut found = loop {
            match lookup {
                LookupResult::Output(frames) => break frames.ok()?,
                LookupResult::Load { load, continuation } => {
                    use addr2line::LookupContinuation as _;
                    lookup = continuation.resume(self.load_split(&load, search_paths));
                }
            }
        };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next()
            && frames.len() < MAX_INLINED
        {
            let name = frame.function.as_ref();
            let raw = name.and_then(|name| name.raw_name().ok());
            let Some(raw) = raw else { continue };
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file);
            frames.push(NamedFrame {
                is_whole: is_mangled(&raw),
                frame: SourceFrame {
                    function: demangle(&raw, name.and_then(|name| name.language)),
                    file: file.unwrap_or(module).to_owned(),
                    line: location.and_then(|location| location.line).unwrap_or(0),
                },
            });
        }
        Some(frames)
    }

    /// Loads split debug information from another file.
    fn load_split(
        &self,
        load: &SplitDwarfLoad<Slice>,
        search_paths: &SearchPaths,
    ) -> Option<Arc<Dwarf<Slice>>> {
        if let Some(package) = &self.package
            && let Ok(Some(dwarf)) = package.find_cu(load.dwo_id, &load.parent)
        {
            return are_shallow(&dwarf).then(|| Arc::new(dwarf));
        }
        let text =
            |slice: Option<Slice>| slice.and_then(|slice| std::str::from_utf8(slice.slice()).ok());
        let path = Path::new(text(load.comp_dir).unwrap_or("")).join(text(load.path)?);
        search_paths
            .built_file_candidates(&path)
            .into_iter()
            .find_map(|path| {
                let bytes = FileBytes::read(&path).ok()??;
                // SAFETY: as in `read`.
                let bytes = unsafe { self.arena.add(bytes) };
                let object = object::File::parse(bytes).ok()?;
                let load_section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
                    Ok(self.arena.section(&object, id.dwo_name()))
                };
                let mut dwarf = Dwarf::load(load_section).ok()?;
                let header = dwarf.units().next().ok()??;
                let unit = dwarf.unit(header).ok()?;
                if unit.dwo_id != Some(load.dwo_id) {
                    return None;
                }
                dwarf.make_dwo(&load.parent);
                are_shallow(&dwarf).then(|| Arc::new(dwarf))
            })
    }
}

/// A frame, and whether its function's name includes the namespace.
struct NamedFrame {
    frame: SourceFrame,
    is_whole: bool,
}

fn are_shallow(dwarf: &Dwarf<Slice>) -> bool {
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else {
            continue;
        };
        if !is_shallow(unit.unit_ref(dwarf)).unwrap_or(true) {
            return false;
        }
    }
    true
}

/// Whether a unit is nested shallowly enough for addr2line, which reads it recursively. addr2line also stops at an
/// unreadable unit.
fn is_shallow(unit: gimli::UnitRef<'_, Slice>) -> gimli::Result<bool> {
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        if entries.next_depth() > MAX_DEPTH {
            return Ok(false);
        }
        if let Some(abbreviation) = entries.read_abbreviation()? {
            entries.skip_attributes(abbreviation.attributes())?;
        }
    }
    Ok(true)
}
