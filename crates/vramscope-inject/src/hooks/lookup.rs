//! `cuGetProcAddress`: replaces the result by a hook, if it is certain which function it is.
//!
//! Names have no suffixes here; the variant depends on the requested version and on the kind of default stream. A
//! result is known if it is the driver's own function of a hook's name; two names may share an address. Otherwise its
//! symbol names the variant, as in other libraries. Otherwise [`HOOKED`] decides by version, unless the version is
//! newer than this code: a hook whose type differs from its function's would crash the program. Results that stay
//! unknown are noted and counted, because their calls are not recorded.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::Ordering;

use vramscope_record::layout::{Loss, SUCCESS};

use super::table::HOOKED;
use super::{CUresult, Handle, all, interpose};
use crate::dlsym::{Place, symbol_at};
use crate::hook::Hook;
use crate::log;

/// Older versions use 32-bit addresses.
const OLDEST: c_int = 3020;
/// From this version on, functions may have types unknown to this code.
const TOO_NEW: c_int = 13001;
/// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`
const PER_THREAD: u64 = 2;

/// The arguments of `cuGetProcAddress`.
#[derive(Clone, Copy)]
struct Question<'a> {
    name: &'a CStr,
    version: c_int,
    is_per_thread: bool,
}

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
        let question = Question {
            // SAFETY: a C string, as the driver has just read it.
            name: unsafe { CStr::from_ptr(name) },
            version,
            is_per_thread: flags & PER_THREAD != 0,
        };
        // SAFETY: not null, and the driver has just written there.
        let function = unsafe { place.read_unaligned() };
        let Some(first) = question.variants().next().filter(|_| !function.is_null()) else {
            return;
        };
        let hook = question.hook(|hook| hook.is(function), || symbol_at(function));
        match hook {
            // SAFETY: as above.
            Some(hook) => unsafe { place.write_unaligned(interpose(hook, function)) },
            None => report(first, question, function),
        }
    }
}

/// Reports that calls of a function are not recorded. `first` is any hook of its name.
#[cold]
fn report(first: &Hook, question: Question<'_>, function: *const c_void) {
    log::lost(Loss::UnknownFunction);
    if !first.has_note.swap(true, Ordering::Relaxed) {
        log::note_later(format!(
            "cuGetProcAddress({}, {}) gave {}, which is none of the known functions: calls of it are not recorded.",
            question.name.to_string_lossy(),
            question.version,
            Place::of(function)
        ));
    }
}

impl Question<'_> {
    /// The hooks that the name may mean.
    fn variants(self) -> impl Iterator<Item = &'static Hook> {
        all().filter(move |hook| base(hook.name) == self.name.to_bytes())
    }

    /// The hook of the result, if that is certain. `is` compares the result with a hook's function; `symbol` is its
    /// name.
    fn hook(
        self,
        is: impl Fn(&Hook) -> bool,
        symbol: impl FnOnce() -> Option<&'static CStr>,
    ) -> Option<&'static Hook> {
        let same = self.variants().filter(|hook| is(hook));
        // If two variants are one function, take the one for the requested kind of stream.
        if let Some(hook) = same.max_by_key(|hook| is_per_thread(hook) == self.is_per_thread) {
            return Some(hook);
        }
        match symbol() {
            // A variant, hooked or not.
            Some(symbol) if base(symbol) == self.name.to_bytes() => {
                self.variants().find(|hook| hook.name == symbol)
            }
            _ => self.by_version(),
        }
    }

    fn by_version(self) -> Option<&'static Hook> {
        if !(OLDEST..TOO_NEW).contains(&self.version) {
            return None;
        }
        let has_variant = self.variants().any(is_per_thread);
        self.variants()
            .filter(|hook| {
                since(hook) <= self.version
                    && is_per_thread(hook) == (self.is_per_thread && has_variant)
            })
            .max_by_key(|hook| since(hook))
    }
}

/// A function's name without the suffixes for version and kind of default stream.
fn base(name: &CStr) -> &[u8] {
    let name = name.to_bytes();
    let name = name.strip_suffix(b"_ptsz").unwrap_or(name);
    match name {
        [base @ .., b'_', b'v', b'2'..=b'9'] => base,
        _ => name,
    }
}

fn is_per_thread(hook: &Hook) -> bool {
    hook.name.to_bytes().ends_with(b"_ptsz")
}

fn since(hook: &Hook) -> c_int {
    let mut listed = HOOKED.iter();
    let listed = listed.find(|hooked| hooked.name.as_bytes() == hook.name.to_bytes());
    listed.map_or(c_int::MAX, |hooked| hooked.since)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(name: &CStr, version: c_int, is_per_thread: bool) -> Question<'_> {
        Question {
            name,
            version,
            is_per_thread,
        }
    }

    /// The name of the hook for a result that is not a known function.
    fn hook_name(
        name: &CStr,
        symbol: Option<&'static CStr>,
        version: c_int,
        is_per_thread: bool,
    ) -> Option<&'static CStr> {
        let question = question(name, version, is_per_thread);
        question.hook(|_| false, || symbol).map(|hook| hook.name)
    }

    #[test]
    fn the_address_decides_before_the_name() {
        let is = |names: &'static [&CStr]| move |hook: &Hook| names.contains(&hook.name);
        let misnamed = || Some(c"cuMemAlloc");
        for version in [2000, 3020, 13020, 99000] {
            let question = question(c"cuMemAlloc", version, false);
            let hook = question.hook(is(&[c"cuMemAlloc_v2"]), misnamed);
            assert_eq!(hook.map(|hook| hook.name), Some(c"cuMemAlloc_v2"));
        }
        // One function for both kinds of streams.
        let both = is(&[c"cuMemAllocAsync", c"cuMemAllocAsync_ptsz"]);
        for (is_per_thread, name) in [(false, c"cuMemAllocAsync"), (true, c"cuMemAllocAsync_ptsz")]
        {
            let hook = question(c"cuMemAllocAsync", 11020, is_per_thread).hook(both, misnamed);
            assert_eq!(hook.map(|hook| hook.name), Some(name));
        }
        let other = question(c"cuMemFree", 3020, false);
        assert!(
            other
                .hook(is(&[c"cuMemAlloc_v2"]), misnamed)
                .is_some_and(|hook| hook.name == c"cuMemFree_v2")
        );
    }

    #[test]
    fn the_symbol_decides() {
        let known = Some(c"cuMemAlloc_v2");
        assert_eq!(hook_name(c"cuMemAlloc", known, 3020, false), known);
        assert_eq!(hook_name(c"cuMemAlloc", known, 13020, false), known);
        assert_eq!(
            hook_name(c"cuMemAlloc", Some(c"cuMemAlloc"), 3020, false),
            None
        );
        assert_eq!(
            hook_name(c"cuMemAlloc", Some(c"cuMemAlloc_v3"), 13000, false),
            None
        );
    }

    #[test]
    fn without_a_symbol_the_version_decides() {
        assert_eq!(
            hook_name(c"cuMemAlloc", None, 3020, true),
            Some(c"cuMemAlloc_v2")
        );
        assert_eq!(hook_name(c"cuMemAlloc", None, 2000, true), None);
        // A function of another library.
        assert_eq!(
            hook_name(c"cuMemAlloc", Some(c"their_alloc"), 3020, true),
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
