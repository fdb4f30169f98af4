//! The kernel's list of mappings (`/proc/self/maps`).

use std::ops::Range;

/// A mapping of the address space.
pub(super) struct Mapping {
    pub(super) range: Range<u64>,
    pub(super) is_executable: bool,
    /// Path of the mapped file; empty for anonymous memory.
    pub(super) path: Vec<u8>,
}

/// The mapping that contains an address.
pub(super) fn find(address: u64) -> Option<Mapping> {
    let maps = std::fs::read("/proc/self/maps").ok()?;
    maps.split(|&byte| byte == b'\n')
        .filter_map(parse)
        .find(|mapping| mapping.range.contains(&address))
}

/// Parses a line such as `55d0-55d8 r-xp 00000000 08:01 1234   /path`.
fn parse(line: &[u8]) -> Option<Mapping> {
    let mut fields = line.splitn(6, |&byte| byte == b' ');
    let range = std::str::from_utf8(fields.next()?).ok()?;
    let (start, end) = range.split_once('-')?;
    let permissions = fields.next()?;
    let path = fields.nth(3).unwrap_or_default();
    Some(Mapping {
        range: u64::from_str_radix(start, 16).ok()?..u64::from_str_radix(end, 16).ok()?,
        is_executable: permissions.contains(&b'x'),
        path: path.trim_ascii().to_owned(),
    })
}
