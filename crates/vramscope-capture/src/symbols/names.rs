//! The names in one module: functions, inlined ones too, and source lines, from its debug information and symbols.
//!
//! Files may be anybody's. addr2line and gimli are made for that, but for two things, which are looked at before:
//! functions nested so deep that reading them exhausts the stack, and sections that unpack to more than there is memory.
#![expect(
    unsafe_code,
    reason = "debug information refers to files that are kept beside it"
)]

use super::bytes::{FileBytes, Kept, Slice};
use super::demangle::{demangle, is_mangled};
use super::files::Places;
use addr2line::gimli::{self, Dwarf, DwarfPackage};
use addr2line::{Context, LookupResult, SplitDwarfLoad};
use object::{Object as _, SymbolMap, SymbolMapName};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use vramscope_record::symbols::SourceFrame;

/// Functions within functions, and inlined ones within those, are not nested deeper by any compiler.
const DEEPEST: isize = 1000;
/// More inlined functions than these are not shown for one address.
const MOST_INLINED: usize = 256;

/// Names in one module.
pub(super) struct Names {
    // Dropped in this order: what refers to the files goes before them.
    context: Option<Context<Slice>>,
    package: Option<DwarfPackage<Slice>>,
    symbols: Vec<SymbolMap<SymbolMapName<'static>>>,
    kept: Kept,
}

impl Names {
    /// Reads the files of a module.
    pub(super) fn read(
        image: Option<(PathBuf, FileBytes)>,
        debug: Option<(PathBuf, FileBytes)>,
    ) -> Self {
        let mut names = Self {
            context: None,
            package: None,
            symbols: Vec::new(),
            kept: Kept::default(),
        };
        // Debug files have the whole symbol table, the others perhaps only what they export.
        for (path, bytes) in [debug, image].into_iter().flatten() {
            // SAFETY: Objects and slices stay in `names`, which drops `kept` last and lends nothing of them.
            let bytes = unsafe { names.kept.file(bytes) };
            let Ok(object) = object::File::parse(bytes) else {
                continue;
            };
            // Files to be linked have relocations, and nothing is loaded from them.
            if object.kind() == object::ObjectKind::Relocatable {
                continue;
            }
            if names.context.is_none() && object.section_by_name(".debug_info").is_some() {
                names.context = names.context(&object, &path);
                names.package = names.package(&path);
            }
            names.symbols.push(object.symbol_map());
        }
        names
    }

    /// Whether any source lines are known.
    pub(super) fn has_lines(&self) -> bool {
        self.context.is_some()
    }

    fn context(&self, object: &object::File<'static>, path: &Path) -> Option<Context<Slice>> {
        let load = |id: gimli::SectionId| -> Result<_, gimli::Error> {
            Ok(self.kept.section(object, Some(id.name())))
        };
        let mut dwarf = Dwarf::load(load).ok()?;
        // What several debug files have in common, moved out by dwz.
        if let Ok(Some((link, build_id))) = object.gnu_debugaltlink()
            && let Some(common) = self.common(path, link, build_id)
        {
            let load = |id: gimli::SectionId| -> Result<_, gimli::Error> {
                Ok(self.kept.section(&common, Some(id.name())))
            };
            dwarf.load_sup(load).ok()?;
        }
        dwarf.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        // All of it, for which part will be read is decided by parts that may lie.
        are_shallow(&dwarf).then(|| Context::from_dwarf(dwarf).ok())?
    }

    fn common(&self, path: &Path, link: &[u8], build_id: &[u8]) -> Option<object::File<'static>> {
        let link = Path::new(std::str::from_utf8(link).ok()?);
        let bytes = FileBytes::read(&path.parent()?.join(link)).ok()??;
        // SAFETY: As in `read`.
        let bytes = unsafe { self.kept.file(bytes) };
        let object = object::File::parse(bytes).ok()?;
        (object.build_id().ok()? == Some(build_id)).then_some(object)
    }

    /// The package of split debug information beside a file.
    fn package(&self, path: &Path) -> Option<DwarfPackage<Slice>> {
        let mut name = path.as_os_str().to_owned();
        name.push(".dwp");
        let bytes = FileBytes::read(Path::new(&name)).ok()??;
        // SAFETY: As in `read`.
        let bytes = unsafe { self.kept.file(bytes) };
        let object = object::File::parse(bytes).ok()?;
        let load = |id: gimli::SectionId| -> Result<_, gimli::Error> {
            Ok(self.kept.section(&object, id.dwo_name()))
        };
        DwarfPackage::load(load, self.kept.section(&object, None)).ok()
    }

    /// Frames of a virtual address of the file, innermost first; none if it has no name. A file without a name of its
    /// own is called `module`.
    pub(super) fn frames(&self, address: u64, module: &str, places: &Places) -> Vec<SourceFrame> {
        let mut frames = self
            .debug_frames(address, module, places)
            .unwrap_or_default();
        let symbol = self
            .symbols
            .iter()
            .find_map(|symbols| symbols.containing(address));
        if let Some(symbol) = symbol {
            let named = || demangle(symbol.name(), None);
            match frames.last_mut() {
                // Debug information that is lines only has names without what they stand in.
                Some(Named {
                    frame,
                    is_whole: false,
                }) => frame.function = named(),
                Some(_) => {}
                None => frames.push(Named {
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

    fn debug_frames(&self, address: u64, module: &str, places: &Places) -> Option<Vec<Named>> {
        let context = self.context.as_ref()?;
        let mut lookup = context.find_frames(address);
        let mut found = loop {
            match lookup {
                LookupResult::Output(frames) => break frames.ok()?,
                LookupResult::Load { load, continuation } => {
                    use addr2line::LookupContinuation as _;
                    lookup = continuation.resume(self.split(&load, places));
                }
            }
        };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next()
            && frames.len() < MOST_INLINED
        {
            let name = frame.function.as_ref();
            let raw = name.and_then(|name| name.raw_name().ok());
            let Some(raw) = raw else { continue };
            let location = frame.location.as_ref();
            let file = location.and_then(|location| location.file);
            frames.push(Named {
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

    /// Debug information that stands in another file than the one that was linked.
    fn split(&self, load: &SplitDwarfLoad<Slice>, places: &Places) -> Option<Arc<Dwarf<Slice>>> {
        if let Some(package) = &self.package
            && let Ok(Some(dwarf)) = package.find_cu(load.dwo_id, &load.parent)
        {
            return are_shallow(&dwarf).then(|| Arc::new(dwarf));
        }
        let text =
            |slice: Option<Slice>| slice.and_then(|slice| std::str::from_utf8(slice.slice()).ok());
        let path = Path::new(text(load.comp_dir).unwrap_or("")).join(text(load.path)?);
        places.built_at(&path).into_iter().find_map(|path| {
            let bytes = FileBytes::read(&path).ok()??;
            // SAFETY: As in `read`.
            let bytes = unsafe { self.kept.file(bytes) };
            let object = object::File::parse(bytes).ok()?;
            let load_section = |id: gimli::SectionId| -> Result<_, gimli::Error> {
                Ok(self.kept.section(&object, id.dwo_name()))
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

/// A frame, and whether its function is named with all that it stands in.
struct Named {
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

/// Whether nothing in a unit is nested too deep to be read by recursion, as addr2line does. What cannot be read at all
/// ends its reading too.
fn is_shallow(unit: gimli::UnitRef<'_, Slice>) -> gimli::Result<bool> {
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        if entries.next_depth() > DEEPEST {
            return Ok(false);
        }
        if let Some(abbreviation) = entries.read_abbreviation()? {
            entries.skip_attributes(abbreviation.attributes())?;
        }
    }
    Ok(true)
}
