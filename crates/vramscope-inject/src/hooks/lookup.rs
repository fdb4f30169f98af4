//! `cuGetProcAddress`: replaces the result by a hook, if it is certain which function the result is.
//!
//! Names have no suffixes here. The variant depends on the requested version and on the kind of default stream. If
//! the result has a symbol, the symbol names the variant. Otherwise the version decides, by [`SINCE`], unless the
//! version is newer than this code knows: a hook with another type than its function would crash the program.

use std::ffi::{CStr, c_char, c_int, c_void};

use vramscope_record::layout::SUCCESS;

use super::{CUresult, Handle, all};
use crate::hook::Hook;

/// Older versions use 32-bit addresses.
const OLDEST: c_int = 3020;
/// From this version on, functions may have types unknown to this code.
const TOO_NEW: c_int = 13001;
/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`
const PER_THREAD: u64 = 2;

/// First version in which the bare name means this function. Only functions that share a bare name with another
/// are listed; the others count from [`OLDEST`] on.
const SINCE: [(&CStr, c_int); 10] = [
    (c"cuStreamBeginCapture", 10000),
    (c"cuStreamBeginCapture_v2", 10010),
    (c"cuGetProcAddress", 11030),
    (c"cuGetProcAddress_v2", 12000),
    (c"cuGetProcAddress_v2_ptsz", 12000),
    (c"cuGraphAddNode", 12020),
    (c"cuCtxSynchronize_v2", 13000),
    (c"cuGraphAddNode_v2", 12030),
    (c"cuStreamBeginCapture_v2_ptsz", 10010),
    (c"cuLaunchHostFunc_v2", 13000),
];

/// Runs after `cuGetProcAddress`.
pub(super) fn after_lookup(
    name: *const c_char,
    place: *mut Handle,
    version: c_int,
    flags: u64,
) -> impl FnOnce(CUresult) {
    move |result| {
        if result != SUCCESS || name.is_null() || place.is_null() {
            return;
        }
        // SAFETY: a C string, as the driver has just read it.
        let name = unsafe { CStr::from_ptr(name) };
        // SAFETY: not null, and the driver has just written there.
        let function = unsafe { place.read_unaligned() };
        if !function.is_null()
            && let Some(hook) = hook_of(name, symbol_at(function), version, flags & PER_THREAD != 0)
        {
            // SAFETY: as above.
            unsafe { place.write_unaligned(hook.interpose(function)) };
        }
    }
}

/// The hook of the function that `name` means, if that is certain.
fn hook_of(
    name: &CStr,
    symbol: Option<&CStr>,
    version: c_int,
    is_per_thread: bool,
) -> Option<&'static Hook> {
    if version < OLDEST {
        return None;
    }
    let variants = || all().filter(|hook| base(hook.name) == name.to_bytes());
    match symbol {
        Some(symbol) => variants().find(|hook| hook.name == symbol),
        None if version >= TOO_NEW => None,
        None => {
            let has_variant = variants().any(is_per_thread_variant);
            variants()
                .filter(|hook| {
                    since(hook) <= version
                        && is_per_thread_variant(hook) == (is_per_thread && has_variant)
                })
                .max_by_key(|hook| since(hook))
        }
    }
}

/// A function's name without the suffixes for version and kind of default stream.
fn base(name: &CStr) -> &[u8] {
    let name = name.to_bytes();
    let name = name.strip_suffix(b"_ptsz").unwrap_or(name);
    name.strip_suffix(b"_v2").unwrap_or(name)
}

fn is_per_thread_variant(hook: &Hook) -> bool {
    hook.name.to_bytes().ends_with(b"_ptsz")
}

fn since(hook: &Hook) -> c_int {
    let known = SINCE.iter().find(|(name, _)| *name == hook.name);
    known.map_or(OLDEST, |(_, since)| *since)
}

/// The symbol that begins exactly at an address.
fn symbol_at(address: *const c_void) -> Option<&'static CStr> {
    // SAFETY: plain data, which `dladdr` fills in.
    let mut info: libc::Dl_info = unsafe { std::mem::zeroed() };
    // SAFETY: `dladdr` only looks the address up; the out-pointer is valid.
    let is_found = unsafe { libc::dladdr(address, &raw mut info) } != 0;
    // SAFETY: a C string in the library of the address, which the caller is about to use.
    (is_found && !info.dli_sname.is_null() && info.dli_saddr.cast_const() == address)
        .then(|| unsafe { CStr::from_ptr(info.dli_sname) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook_name(
        name: &CStr,
        symbol: Option<&CStr>,
        version: c_int,
        is_per_thread: bool,
    ) -> Option<&'static CStr> {
        hook_of(name, symbol, version, is_per_thread).map(|hook| hook.name)
    }

    #[test]
    fn the_symbol_decides() {
        let known = Some(c"cuMemAlloc_v2");
        assert_eq!(hook_name(c"cuMemAlloc", known, 3020, false), known);
        assert_eq!(
            hook_name(c"cuMemAlloc", Some(c"cuMemAlloc"), 3020, false),
            None
        );
        assert_eq!(
            hook_name(c"cuMemAlloc", Some(c"cuMemAlloc_v3"), 13000, false),
            None
        );
        assert_eq!(hook_name(c"cuMemFree", known, 3020, false), None);
        assert_eq!(hook_name(c"cuMemAlloc", known, 2000, false), None);
    }

    #[test]
    fn without_a_symbol_the_version_decides() {
        assert_eq!(
            hook_name(c"cuMemAlloc", None, 3020, true),
            Some(c"cuMemAlloc_v2")
        );
        assert_eq!(
            hook_name(c"cuMemAllocAsync", None, 11020, false),
            Some(c"cuMemAllocAsync")
        );
        assert_eq!(
            hook_name(c"cuMemAllocAsync", None, 11020, true),
            Some(c"cuMemAllocAsync_ptsz")
        );
        assert_eq!(
            hook_name(c"cuGetProcAddress", None, 11030, false),
            Some(c"cuGetProcAddress")
        );
        assert_eq!(
            hook_name(c"cuGetProcAddress", None, 12000, false),
            Some(c"cuGetProcAddress_v2")
        );
        for (version, function) in [
            (12010, None),
            (12020, Some(c"cuGraphAddNode")),
            (12030, Some(c"cuGraphAddNode_v2")),
            (13000, Some(c"cuGraphAddNode_v2")),
            (13010, None),
        ] {
            assert_eq!(hook_name(c"cuGraphAddNode", None, version, false), function);
        }
        assert_eq!(hook_name(c"cuMemAllocAsync", None, 99000, false), None);
        assert_eq!(hook_name(c"cuInit", None, 12000, false), None);
    }
}
