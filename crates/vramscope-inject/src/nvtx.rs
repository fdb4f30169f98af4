//! NVTX: ranges and marks of programs in any language.
//!
//! Programs reach these functions in two ways. NVTX 3 consists of headers only: at a program's first call they load the
//! library named by `NVTX_INJECTION64_PATH` and call [`InitializeInjectionNvtx2`], which fills their slots with
//! functions of this library; `memory` is its extension for parts of allocations. Programs for NVTX 1 and 2 link or
//! load `libnvToolsExt.so.1`. CUDA no longer includes it; this library exports its functions and can take its place.
//! Where the real one is loaded, the exports call it (`next`): its slots may already be filled by another tool.
//!
//! Texts come from the program: null is an empty text, texts longer than [`text::MAX_CHARACTERS`] are truncated, and
//! invalid UTF-8 is replaced. Handles are numbers, not addresses, so invalid ones are harmless.
//!
//! Not recorded, because snapshots have no place for them: resources, synchronisation, and names of events.
#![expect(non_snake_case, reason = "NVTX's own names")]

use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;

use vramscope_record::layout::Named;

use crate::log::{self, Domain, Label};
use crate::ranges::{self, NO_PUSH_POP_TRACKING};

mod memory;
mod next;
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

/// Whether no lock of this module is held. Checked after a fork.
pub(crate) fn is_unlocked() -> bool {
    memory::is_unlocked()
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

/// An event of the default domain with only a text.
fn plain<'a>(name: impl Into<std::borrow::Cow<'a, [u8]>>) -> Label<'a> {
    Label::plain(Domain::DEFAULT, name)
}

fn give_name(named: Named, handle: u64, name: &[u8]) {
    log::give_name(named, handle, Domain::DEFAULT, name);
}

fn name_category(domain: Domain, category: u32, name: &[u8]) {
    log::give_name(Named::Category, category.into(), domain, name);
}

/// Declares NVTX functions, and exports each under its name. Functions that read texts are marked `reads`. If this
/// library fails, they return the value after `else`.
macro_rules! functions {
    ($( $kind:ident fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty, else $otherwise:expr => $work:expr; )*) => {
        $(
            /// See NVTX's documentation.
            ///
            /// # Safety
            /// Pointers must be null or as NVTX requires.
            unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                log::guard(|| functions!(@run $kind $work)).unwrap_or($otherwise)
            }
        )*

        /// The exports.
        mod exported {
            use super::*;
            $(
                /// Calls the real library's function, or else this library's.
                ///
                /// # Safety
                /// As for that function.
                #[unsafe(no_mangle)]
                unsafe extern "C" fn $name($($argument: $type),*) -> $result {
                    static NEXT: next::Next = next::Next::new(concat!(stringify!($name), "\0"));
                    let next = NEXT.find($name as *const c_void);
                    if next.is_null() {
                        // SAFETY: as the caller promises.
                        return unsafe { super::$name($($argument),*) };
                    }
                    // SAFETY: NVTX's function of this name has this type; the arguments are the caller's.
                    unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> $result>(next)($($argument),*)
                    }
                }
            )*
        }
    };
    (@run plain $work:expr) => { $work };
    (@run reads $work:expr) => {
        // SAFETY: as the caller promises.
        unsafe { $work }
    };
}

functions! {
    reads fn nvtxMarkA(name: *const c_char) -> (), else () => ranges::mark(&plain(text::narrow(name)));
    reads fn nvtxMarkW(name: *const WideChar) -> (), else () => ranges::mark(&plain(text::wide(name)));
    reads fn nvtxMarkEx(event: *const Attributes) -> (), else () =>
        ranges::mark(&text::label(Domain::DEFAULT, event));
    reads fn nvtxDomainMarkEx(domain: Handle, event: *const Attributes) -> (), else () =>
        ranges::mark(&text::label(domain_of(domain), event));

    reads fn nvtxRangePushA(name: *const c_char) -> c_int, else NO_PUSH_POP_TRACKING =>
        ranges::push(plain(text::narrow(name)));
    reads fn nvtxRangePushW(name: *const WideChar) -> c_int, else NO_PUSH_POP_TRACKING =>
        ranges::push(plain(text::wide(name)));
    reads fn nvtxRangePushEx(event: *const Attributes) -> c_int, else NO_PUSH_POP_TRACKING =>
        ranges::push(text::label(Domain::DEFAULT, event));
    reads fn nvtxDomainRangePushEx(domain: Handle, event: *const Attributes) -> c_int, else NO_PUSH_POP_TRACKING =>
        ranges::push(text::label(domain_of(domain), event));
    plain fn nvtxRangePop() -> c_int, else NO_PUSH_POP_TRACKING => ranges::pop(Domain::DEFAULT);
    plain fn nvtxDomainRangePop(domain: Handle) -> c_int, else NO_PUSH_POP_TRACKING => ranges::pop(domain_of(domain));

    reads fn nvtxRangeStartA(name: *const c_char) -> u64, else 0 => ranges::start(plain(text::narrow(name)));
    reads fn nvtxRangeStartW(name: *const WideChar) -> u64, else 0 => ranges::start(plain(text::wide(name)));
    reads fn nvtxRangeStartEx(event: *const Attributes) -> u64, else 0 =>
        ranges::start(text::label(Domain::DEFAULT, event));
    reads fn nvtxDomainRangeStartEx(domain: Handle, event: *const Attributes) -> u64, else 0 =>
        ranges::start(text::label(domain_of(domain), event));
    plain fn nvtxRangeEnd(range: u64) -> (), else () => ranges::end(range);
    // The range's number implies its domain.
    plain fn nvtxDomainRangeEnd(_domain: Handle, range: u64) -> (), else () => ranges::end(range);

    reads fn nvtxDomainCreateA(name: *const c_char) -> Handle, else null_mut() =>
        handle_of(Domain::named(&text::narrow(name)).number());
    reads fn nvtxDomainCreateW(name: *const WideChar) -> Handle, else null_mut() =>
        handle_of(Domain::named(&text::wide(name)).number());
    reads fn nvtxDomainRegisterStringA(_domain: Handle, string: *const c_char) -> Handle, else null_mut() =>
        handle_of(log::register(&text::narrow(string)));
    reads fn nvtxDomainRegisterStringW(_domain: Handle, string: *const WideChar) -> Handle, else null_mut() =>
        handle_of(log::register(&text::wide(string)));

    reads fn nvtxNameOsThreadA(thread: u32, name: *const c_char) -> (), else () =>
        log::name_thread(thread, &text::narrow(name));
    reads fn nvtxNameOsThreadW(thread: u32, name: *const WideChar) -> (), else () =>
        log::name_thread(thread, &text::wide(name));
    reads fn nvtxNameCategoryA(category: u32, name: *const c_char) -> (), else () =>
        name_category(Domain::DEFAULT, category, &text::narrow(name));
    reads fn nvtxNameCategoryW(category: u32, name: *const WideChar) -> (), else () =>
        name_category(Domain::DEFAULT, category, &text::wide(name));
    reads fn nvtxDomainNameCategoryA(domain: Handle, category: u32, name: *const c_char) -> (), else () =>
        name_category(domain_of(domain), category, &text::narrow(name));
    reads fn nvtxDomainNameCategoryW(domain: Handle, category: u32, name: *const WideChar) -> (), else () =>
        name_category(domain_of(domain), category, &text::wide(name));

    // The runtime library's devices and streams are the driver's.
    reads fn nvtxNameCuDeviceA(device: u32, name: *const c_char) -> (), else () =>
        give_name(Named::Device, device.into(), &text::narrow(name));
    reads fn nvtxNameCuDeviceW(device: u32, name: *const WideChar) -> (), else () =>
        give_name(Named::Device, device.into(), &text::wide(name));
    reads fn nvtxNameCudaDeviceA(device: u32, name: *const c_char) -> (), else () =>
        give_name(Named::Device, device.into(), &text::narrow(name));
    reads fn nvtxNameCudaDeviceW(device: u32, name: *const WideChar) -> (), else () =>
        give_name(Named::Device, device.into(), &text::wide(name));
    reads fn nvtxNameCuContextA(context: u64, name: *const c_char) -> (), else () =>
        give_name(Named::Context, context, &text::narrow(name));
    reads fn nvtxNameCuContextW(context: u64, name: *const WideChar) -> (), else () =>
        give_name(Named::Context, context, &text::wide(name));
    reads fn nvtxNameCuStreamA(stream: u64, name: *const c_char) -> (), else () =>
        give_name(Named::Stream, stream, &text::narrow(name));
    reads fn nvtxNameCuStreamW(stream: u64, name: *const WideChar) -> (), else () =>
        give_name(Named::Stream, stream, &text::wide(name));
    reads fn nvtxNameCudaStreamA(stream: u64, name: *const c_char) -> (), else () =>
        give_name(Named::Stream, stream, &text::narrow(name));
    reads fn nvtxNameCudaStreamW(stream: u64, name: *const WideChar) -> (), else () =>
        give_name(Named::Stream, stream, &text::wide(name));
}
