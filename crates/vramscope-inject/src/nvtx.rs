//! NVTX: ranges and marks of programs in any language.
//!
//! Programs reach these functions in two ways. NVTX 3 consists of headers only: at a program's first call they load
//! the library named by `NVTX_INJECTION64_PATH` and call [`InitializeInjectionNvtx2`], which fills their slots with
//! functions of this library. Programs for NVTX 1 and 2 link or load `libnvToolsExt.so.1`. CUDA does not include it
//! any more; this library exports its functions and can take its place.
//!
//! Texts come from the program: null is an empty text, texts longer than [`text::MAX_CHARACTERS`] are truncated,
//! invalid UTF-8 is replaced. Handles are numbers, not addresses, so invalid ones are harmless.
//!
//! Not recorded, as the log has no place for them: categories, colours, payloads, resources, and names of devices,
//! contexts, streams and events.
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use crate::log::{self, Domain};
use crate::ranges::{self, NO_PUSH_POP_TRACKING};

mod slots;
mod text;
mod unused;

use text::{Attributes, WideChar};

/// Handle of a domain or a registered string: its number.
type Handle = *mut c_void;

fn domain_of(handle: Handle) -> Domain {
    Domain::of_number(handle.addr())
}

fn handle_of(number: u32) -> Handle {
    std::ptr::without_provenance_mut(number as usize)
}

/// Attaches to one module's NVTX. Returns 1 if NVTX is to call this library from now on, else 0.
///
/// # Safety
/// `table_of` must be the function that NVTX passes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn InitializeInjectionNvtx2(table_of: slots::GetExportTable) -> c_int {
    let attach = || {
        // SAFETY: as the caller promises.
        log::is_enabled() && unsafe { slots::fill(table_of) }
    };
    c_int::from(log::guard(attach).unwrap_or(false))
}

/// Ends the innermost pushed range of the default domain. Returns its depth.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvtxRangePop() -> c_int {
    log::guard(|| ranges::pop(Domain::DEFAULT)).unwrap_or(NO_PUSH_POP_TRACKING)
}

/// Ends the innermost pushed range of a domain. Returns its depth.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvtxDomainRangePop(domain: Handle) -> c_int {
    log::guard(|| ranges::pop(domain_of(domain))).unwrap_or(NO_PUSH_POP_TRACKING)
}

/// Ends a started range.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvtxRangeEnd(range: u64) {
    log::guard(|| ranges::end(range));
}

/// Ends a started range. The domain is ignored: the range's number implies it.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvtxDomainRangeEnd(_domain: Handle, range: u64) {
    log::guard(|| ranges::end(range));
}

/// Declares NVTX functions with texts. Each returns the value after `else` after an error of this library.
macro_rules! exports {
    ($( fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty, else $otherwise:expr => $work:expr; )*) => { $(
        /// See the documentation of NVTX.
        ///
        /// # Safety
        /// Pointers must be null or as NVTX requires.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: as the caller promises.
            log::guard(|| unsafe { $work }).unwrap_or($otherwise)
        }
    )* };
}

exports! {
    fn nvtxMarkA(name: *const c_char) -> (), else () => ranges::mark(Domain::DEFAULT, &text::narrow(name));
    fn nvtxMarkW(name: *const WideChar) -> (), else () => ranges::mark(Domain::DEFAULT, &text::wide(name));
    fn nvtxMarkEx(event: *const Attributes) -> (), else () => ranges::mark(Domain::DEFAULT, &text::message(event));
    fn nvtxDomainMarkEx(domain: Handle, event: *const Attributes) -> (), else () =>
        ranges::mark(domain_of(domain), &text::message(event));

    fn nvtxRangePushA(name: *const c_char) -> c_int, else NO_PUSH_POP_TRACKING =>
        ranges::push(Domain::DEFAULT, &text::narrow(name));
    fn nvtxRangePushW(name: *const WideChar) -> c_int, else NO_PUSH_POP_TRACKING =>
        ranges::push(Domain::DEFAULT, &text::wide(name));
    fn nvtxRangePushEx(event: *const Attributes) -> c_int, else NO_PUSH_POP_TRACKING =>
        ranges::push(Domain::DEFAULT, &text::message(event));
    fn nvtxDomainRangePushEx(domain: Handle, event: *const Attributes) -> c_int, else NO_PUSH_POP_TRACKING =>
        ranges::push(domain_of(domain), &text::message(event));

    fn nvtxRangeStartA(name: *const c_char) -> u64, else 0 => ranges::start(Domain::DEFAULT, &text::narrow(name));
    fn nvtxRangeStartW(name: *const WideChar) -> u64, else 0 => ranges::start(Domain::DEFAULT, &text::wide(name));
    fn nvtxRangeStartEx(event: *const Attributes) -> u64, else 0 =>
        ranges::start(Domain::DEFAULT, &text::message(event));
    fn nvtxDomainRangeStartEx(domain: Handle, event: *const Attributes) -> u64, else 0 =>
        ranges::start(domain_of(domain), &text::message(event));

    fn nvtxDomainCreateA(name: *const c_char) -> Handle, else null_mut() =>
        handle_of(Domain::named(&text::narrow(name)).number());
    fn nvtxDomainCreateW(name: *const WideChar) -> Handle, else null_mut() =>
        handle_of(Domain::named(&text::wide(name)).number());
    fn nvtxDomainRegisterStringA(_domain: Handle, string: *const c_char) -> Handle, else null_mut() =>
        handle_of(log::register(&text::narrow(string)));
    fn nvtxDomainRegisterStringW(_domain: Handle, string: *const WideChar) -> Handle, else null_mut() =>
        handle_of(log::register(&text::wide(string)));

    fn nvtxNameOsThreadA(thread: u32, name: *const c_char) -> (), else () =>
        log::name_thread(thread, &text::narrow(name));
    fn nvtxNameOsThreadW(thread: u32, name: *const WideChar) -> (), else () =>
        log::name_thread(thread, &text::wide(name));
}
