//! NVTX: ranges and marks of programs in any language.
//!
//! Programs come here in two ways. NVTX 3 is headers alone: at a program's first call they load the library that
//! `NVTX_INJECTION64_PATH` names, call [`InitializeInjectionNvtx2`], and call what is put into their slots from then on.
//! Programs for NVTX 1 and 2 link `libnvToolsExt.so.1` or open it; CUDA has it no more, and this library
//! exports its functions, so that it can stand in for it. So each function here is both.
//!
//! Texts are what programs pass: null is no text, what is longer than [`text::LONGEST`] is cut, what is no UTF-8 is
//! replaced. Handles are numbers, not addresses, so that wrong ones are harmless.
//!
//! Left out: categories, colours, payloads, resources, and names of devices, contexts, streams and events; the log has no
//! place for them.
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use crate::log;
use crate::ranges::{self, Domain, NO_PUSH_POP_TRACKING};

mod slots;
mod text;
mod unused;

use text::{Attributes, WideChar};

/// What programs hold of a domain or a registered string: its number.
type Handle = *mut c_void;

fn domain_of(handle: Handle) -> Domain {
    Domain::of_number(handle.addr())
}

fn handle_of(number: u32) -> Handle {
    std::ptr::without_provenance_mut(number as usize)
}

/// Attaches to one module's NVTX. Returns whether it is to call from now on.
///
/// # Safety
/// `table_of` must be what NVTX passes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn InitializeInjectionNvtx2(table_of: slots::GetExportTable) -> c_int {
    let attach = || {
        // SAFETY: as the caller promises.
        log::is_wanted() && unsafe { slots::fill(table_of) }
    };
    c_int::from(log::guarded(attach).unwrap_or(false))
}

/// Ends the innermost pushed range of the default domain; returns its level.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvtxRangePop() -> c_int {
    log::guarded(|| ranges::pop(Domain::DEFAULT)).unwrap_or(NO_PUSH_POP_TRACKING)
}

/// Ends the innermost pushed range of a domain; returns its level.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvtxDomainRangePop(domain: Handle) -> c_int {
    log::guarded(|| ranges::pop(domain_of(domain))).unwrap_or(NO_PUSH_POP_TRACKING)
}

/// Ends a range that was started.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvtxRangeEnd(range: u64) {
    log::guarded(|| ranges::end(range));
}

/// The same: a range's number tells its domain.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn nvtxDomainRangeEnd(_domain: Handle, range: u64) {
    log::guarded(|| ranges::end(range));
}

/// Declares those functions of NVTX that take texts. Each returns what stands behind `else` after an error of ours.
macro_rules! exports {
    ($( fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty, else $otherwise:expr => $work:expr; )*) => { $(
        /// As NVTX describes it.
        ///
        /// # Safety
        /// Pointers must be null or what NVTX asks for.
        #[unsafe(no_mangle)]
        pub(crate) unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: as the caller promises.
            log::guarded(|| unsafe { $work }).unwrap_or($otherwise)
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
        handle_of(ranges::register(&text::narrow(string)));
    fn nvtxDomainRegisterStringW(_domain: Handle, string: *const WideChar) -> Handle, else null_mut() =>
        handle_of(ranges::register(&text::wide(string)));

    fn nvtxNameOsThreadA(thread: u32, name: *const c_char) -> (), else () =>
        ranges::name_thread(thread, &text::narrow(name));
    fn nvtxNameOsThreadW(thread: u32, name: *const WideChar) -> (), else () =>
        ranges::name_thread(thread, &text::wide(name));
}
