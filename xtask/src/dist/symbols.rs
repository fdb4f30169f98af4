//! Which C library a program or library needs: its dynamic linker refuses to start what asks for a newer one, or for
//! a library that is not everywhere.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use object::elf::{DT_NEEDED, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader as _};
use object::{Endianness, StringTable};

/// The versions of a file's needed symbols, as `GLIBC_2.17`, each once.
fn needed_versions(bytes: &[u8]) -> Result<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let mut versions = Vec::new();
    if let Some((mut needed, link)) = sections.gnu_verneed(endian, bytes)? {
        let strings = sections.section(link)?;
        let (start, size) = strings
            .file_range(endian)
            .context("names are in the file")?;
        let strings = StringTable::new(bytes, start, start + size);
        while let Some((_, mut of_library)) = needed.next()? {
            while let Some(version) = of_library.next()? {
                let name = version.name(endian, strings)?;
                versions.push(String::from_utf8_lossy(name).into_owned());
            }
        }
    }
    versions.sort();
    versions.dedup();
    Ok(versions)
}

/// The names of the libraries that a file needs, as `libc.so.6`.
fn needed_libraries(bytes: &[u8]) -> Result<Vec<String>> {
    let header = FileHeader64::<Endianness>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let dynamic = sections.dynamic_table(endian, bytes)?;
    let mut libraries = Vec::new();
    for entry in dynamic.iter().filter(|entry| entry.tag == DT_NEEDED) {
        let name = dynamic.string(entry)?;
        libraries.push(String::from_utf8_lossy(name).into_owned());
    }
    Ok(libraries)
}

/// Whether a library is there wherever glibc is, since it is a part of it.
fn is_of_glibc(library: &str) -> bool {
    let name = library.split_once(".so").map_or(library, |(name, _)| name);
    let parts = [
        "libc",
        "libdl",
        "libm",
        "libpthread",
        "libresolv",
        "librt",
        "libutil",
    ];
    parts.contains(&name) || name.starts_with("ld-linux-")
}

/// Holds a file to the oldest C library that it shall run with, as `2.17`, and prints what it needs.
pub(super) fn hold(file: &Path, oldest: &str) -> Result<()> {
    let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
    let untold = || format!("cannot tell what {} needs", file.display());
    let versions = needed_versions(&bytes).with_context(untold)?;
    let newest = newest(&versions);
    ensure!(
        newest.is_none_or(|newest| numbers(newest) <= numbers(oldest)),
        "{} needs GLIBC_{}, not {oldest} alone",
        file.display(),
        newest.unwrap_or_default()
    );
    let libraries = needed_libraries(&bytes).with_context(untold)?;
    let other = libraries.iter().find(|library| !is_of_glibc(library));
    ensure!(
        other.is_none(),
        "{} needs {}, which is no part of glibc",
        file.display(),
        other.map_or("nothing", String::as_str)
    );
    println!(
        "{} needs glibc {}",
        file.display(),
        newest.unwrap_or("of any version")
    );
    Ok(())
}

/// The newest C library among the versions of symbols. A private one compares as the newest of all.
fn newest(versions: &[String]) -> Option<&str> {
    let of_library = versions.iter().filter_map(|it| it.strip_prefix("GLIBC_"));
    of_library.max_by_key(|version| numbers(version))
}

/// A version's numbers, so that 2.9 is before 2.17.
fn numbers(version: &str) -> Vec<u32> {
    let parts = version.split('.');
    parts.map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::{is_of_glibc, needed_libraries, needed_versions, newest};

    #[test]
    fn the_newest_version_is_found_by_number() {
        let versions = ["GLIBC_2.9", "GLIBC_2.17", "GCC_3.0"].map(str::to_owned);
        assert_eq!(newest(&versions), Some("2.17"));
        let versions = ["GLIBC_2.17", "GLIBC_PRIVATE"].map(str::to_owned);
        assert_eq!(newest(&versions), Some("PRIVATE"));
        assert_eq!(newest(&[]), None);
    }

    #[test]
    fn other_libraries_are_told_from_those_of_glibc() {
        let parts = ["libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2"];
        assert!(parts.into_iter().all(is_of_glibc));
        let others = ["libgcc_s.so.1", "libz.so.1", "libcuda.so", "libcrypt.so.1"];
        assert!(!others.into_iter().any(is_of_glibc));
    }

    #[cfg(all(target_os = "linux", target_env = "gnu", target_pointer_width = "64"))]
    #[test]
    fn this_program_needs_a_c_library() -> anyhow::Result<()> {
        let bytes = std::fs::read(std::env::current_exe()?)?;
        assert!(newest(&needed_versions(&bytes)?).is_some());
        assert!(needed_libraries(&bytes)?.contains(&"libc.so.6".to_owned()));
        Ok(())
    }
}
