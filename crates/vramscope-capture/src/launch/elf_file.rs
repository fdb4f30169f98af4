//! What ELF files need and provide: versions of the C library, and exported variables. The dynamic linker refuses to
//! start a program if a preloaded library needs a version that is missing.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, ProgramHeader, SectionTable, Sym};
use object::{Endianness, ReadCache, ReadRef};

/// A version that a program's C library lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Lacking {
    /// The version, such as `GLIBC_2.34`; if several are missing, the newest.
    pub(crate) version: String,
    /// The library that should have it.
    pub(crate) library: PathBuf,
}

/// The newest version in `needed` that the libraries beside a dynamic linker lack; they come from the same build of
/// glibc. `None` if nothing is missing or if there are no such libraries beside it.
pub(super) fn find_lacking(needed: &[(String, String)], linker: &Path) -> Option<Lacking> {
    // On many systems the path is a link into the libraries' folder.
    let folder = fs::canonicalize(linker).ok()?.parent()?.to_owned();
    let lacking = needed.iter().filter(|(library, version)| {
        let defined = File::open(folder.join(library))
            .ok()
            .and_then(|file| defined_versions(&ReadCache::new(file)));
        defined.is_some_and(|defined| !defined.contains(version))
    });
    let (library, version) = lacking.max_by_key(|(_, version)| numbers(version))?;
    Some(Lacking {
        version: version.clone(),
        library: folder.join(library),
    })
}

/// The versions that a file needs: names of libraries and versions. `None` if it is not a 64-bit ELF file.
pub(super) fn needed_versions<'data>(data: impl ReadRef<'data>) -> Option<Vec<(String, String)>> {
    let (endian, sections) = sections(data)?;
    let mut versions = Vec::new();
    let Some((mut libraries, link)) = sections.gnu_verneed(endian, data).ok()? else {
        return Some(versions);
    };
    let strings = sections.strings(endian, data, link).ok()?;
    while let Some((library, mut of_library)) = libraries.next().ok()? {
        let library = text(library.file(endian, strings).ok()?);
        while let Some(version) = of_library.next().ok()? {
            versions.push((library.clone(), text(version.name(endian, strings).ok()?)));
        }
    }
    Some(versions)
}

/// The libraries that a file needs, by name. `None` if it is not a 64-bit ELF file.
#[cfg(test)]
pub(super) fn needed_libraries(bytes: &[u8]) -> Option<Vec<String>> {
    use object::read::elf::Dyn;

    let (endian, sections) = sections(bytes)?;
    let (entries, link) = sections.dynamic(endian, bytes).ok()??;
    let strings = sections.strings(endian, bytes, link).ok()?;
    let needed = entries
        .iter()
        .filter(|it| it.is_string(endian) && it.tag(endian) == elf::DT_NEEDED);
    needed
        .map(|it| Some(text(it.string(endian, strings).ok()?)))
        .collect()
}

/// The versions that a library defines. `None` if it is not a 64-bit ELF file, or has no versions.
fn defined_versions<'data>(data: impl ReadRef<'data>) -> Option<Vec<String>> {
    let (endian, sections) = sections(data)?;
    let (mut definitions, link) = sections.gnu_verdef(endian, data).ok()??;
    let strings = sections.strings(endian, data, link).ok()?;
    let mut versions = Vec::new();
    while let Some((_, mut names)) = definitions.next().ok()? {
        // The first name is the version itself, the others are older ones it builds on.
        let name = names.next().ok()??;
        versions.push(text(name.name(endian, strings).ok()?));
    }
    Some(versions)
}

/// The bytes of an exported variable. `None` if there is none of that name.
pub(super) fn exported_bytes(file: File, name: &str) -> Option<Vec<u8>> {
    let data = &ReadCache::new(file);
    let (endian, sections) = sections(data)?;
    let symbols = sections.symbols(endian, data, elf::SHT_DYNSYM).ok()?;
    let symbol = symbols.iter().find(|symbol| {
        symbols
            .symbol_name(endian, symbol)
            .is_ok_and(|it| it == name.as_bytes())
    })?;
    let (address, size) = (symbol.st_value(endian), symbol.st_size(endian));
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let segments = header.program_headers(endian, data).ok()?;
    let bytes = segments
        .iter()
        .find_map(|segment| segment.data_range(endian, data, address, size).ok()?);
    bytes.map(<[u8]>::to_vec)
}

fn sections<'data, R: ReadRef<'data>>(
    data: R,
) -> Option<(Endianness, SectionTable<'data, FileHeader64<Endianness>, R>)> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    Some((endian, header.sections(endian, data).ok()?))
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

/// A version as numbers, so that 2.9 sorts before 2.17.
pub(super) fn numbers(version: &str) -> Vec<u32> {
    let (_, numbers) = version.split_once('_').unwrap_or_default();
    let parts = numbers.split('.');
    parts.map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_compared_by_number() {
        assert!(numbers("GLIBC_2.9") < numbers("GLIBC_2.17"));
        assert!(numbers("GLIBC_2.17") < numbers("GLIBC_PRIVATE"));
    }

    /// This test program runs, so its linker's libraries have everything it needs.
    #[test]
    fn what_a_running_program_needs_is_there() {
        let program = fs::read("/proc/self/exe").unwrap();
        let needed = needed_versions(program.as_slice()).unwrap();
        assert!(needed.iter().any(|(library, _)| library == "libc.so.6"));
        let linker = Path::new(match std::env::consts::ARCH {
            "aarch64" => "/lib/ld-linux-aarch64.so.1",
            _ => "/lib64/ld-linux-x86-64.so.2",
        });
        assert_eq!(find_lacking(&needed, linker), None);
        let newer = |version: &str| ("libc.so.6".to_owned(), version.to_owned());
        let needed = [needed, vec![newer("GLIBC_2.999"), newer("GLIBC_2.1000")]].concat();
        let lacking = find_lacking(&needed, linker).unwrap();
        assert_eq!(lacking.version, "GLIBC_2.1000");
        assert_eq!(find_lacking(&needed, Path::new("/no/such/ld.so")), None);
    }

    #[test]
    fn variables_are_read_from_the_file() {
        let libc = || {
            let maps = fs::read_to_string("/proc/self/maps").unwrap();
            let line = maps.lines().find(|line| line.ends_with("/libc.so.6"));
            File::open(line.unwrap().split_whitespace().last().unwrap()).unwrap()
        };
        let loopback = [&[0; 15][..], &[1]].concat();
        assert_eq!(exported_bytes(libc(), "in6addr_loopback"), Some(loopback));
        assert_eq!(exported_bytes(libc(), "Py_Version"), None);
    }
}
