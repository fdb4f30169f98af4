//! Which C library a program or library needs: the dynamic linker refuses to start a program that asks for a newer one,
//! or for a library that is not everywhere.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::process::run_for_output;

/// The libraries that exist wherever glibc is, since they are a part of it.
const OF_GLIBC: [&str; 8] = [
    "ld-linux-",
    "libc.so",
    "libdl.so",
    "libm.so",
    "libpthread.so",
    "libresolv.so",
    "librt.so",
    "libutil.so",
];

/// Checks, with readelf (binutils), that a file runs with the oldest C library allowed, such as `2.17`.
pub(super) fn hold(file: &Path, oldest: &str) -> Result<()> {
    let mut readelf = Command::new("readelf");
    readelf.args(["--wide", "--dynamic", "--version-info"]);
    let told = run_for_output(readelf.arg(file).env("LC_ALL", "C"))?;
    let needs = what_is_missing(&told, oldest);
    ensure!(needs.is_empty(), "{} needs {needs:?}", file.display());
    Ok(())
}

/// The libraries that are not part of glibc, and the versions that are too new.
fn what_is_missing<'a>(told: &'a str, oldest: &str) -> Vec<&'a str> {
    let libraries = told.split("Shared library: [").skip(1);
    let libraries = libraries.filter_map(|rest| rest.split(']').next());
    let mut missing: Vec<_> = libraries
        .filter(|library| !OF_GLIBC.iter().any(|own| library.starts_with(own)))
        .collect();
    let versions = told.split_whitespace();
    missing.extend(versions.filter(|word| {
        let version = word.strip_prefix("GLIBC_");
        version.is_some_and(|version| numbers(version) > numbers(oldest))
    }));
    missing
}

/// A version as numbers, so that 2.9 sorts before 2.17, and a private one, which no other library has, after all
/// others.
fn numbers(version: &str) -> Vec<u32> {
    let parts = version.split('.');
    parts.map(|part| part.parse().unwrap_or(u32::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::what_is_missing;

    #[test]
    fn newer_versions_and_other_libraries_are_missing() {
        let told = "\
 0x0000000000000001 (NEEDED)             Shared library: [libgcc_s.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libcrypt.so.1]
 0x0000000000000001 (NEEDED)             Shared library: [libc.so.6]
 0x0000000000000001 (NEEDED)             Shared library: [ld-linux-x86-64.so.2]
  0x0020:   Name: GLIBC_2.9  Flags: none  Version: 4
  0x0030:   Name: GLIBC_2.17  Flags: none  Version: 3
  0x0040:   Name: GLIBC_2.28  Flags: none  Version: 2
  0x0050:   Name: GLIBC_PRIVATE  Flags: none  Version: 5
  0x0060:   Name: GCC_3.0  Flags: none  Version: 6
";
        let others = ["libgcc_s.so.1", "libcrypt.so.1"];
        let wanted = [&others[..], &["GLIBC_2.28", "GLIBC_PRIVATE"]].concat();
        assert_eq!(what_is_missing(told, "2.17"), wanted);
        assert_eq!(what_is_missing(told, "2.28")[2..], ["GLIBC_PRIVATE"]);
    }

    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn readelf_tells_of_this_program_what_it_needs() -> anyhow::Result<()> {
        let program = std::env::current_exe()?;
        let told = super::hold(&program, "1").unwrap_err().to_string();
        assert!(told.contains("GLIBC_2."), "{told}");
        Ok(())
    }
}
