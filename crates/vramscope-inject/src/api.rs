//! The C interface for programs in any language, also used by `vramscope-api`. Programs find these functions by name
//! (`dlsym(RTLD_DEFAULT, …)`) or by weak references. They do not exist in programs that are not captured. Texts are
//! UTF-8 bytes with their length; null stands for an empty text.
//!
//! ```c
//! uint32_t vramscope_version(void);                     // 1; increases when functions are added
//! int32_t  vramscope_is_recording(void);
//! void     vramscope_start(void);                       // starts recording
//! void     vramscope_stop(void);                        // pauses recording
//! int32_t  vramscope_dump(const char *path, size_t);    // asks for a snapshot; 0 if nothing can write one
//!
//! // Ranges. A domain is one part of the program, 0 the program itself.
//! uint32_t vramscope_domain(const char *name, size_t);
//! int32_t  vramscope_range_push(uint32_t domain, const char *name, size_t);   // its depth, or below 0
//! int32_t  vramscope_range_pop(uint32_t domain);
//! uint64_t vramscope_range_start(uint32_t domain, const char *name, size_t);  // its number, not 0
//! void     vramscope_range_end(uint64_t range);                               // on any thread
//! void     vramscope_mark(uint32_t domain, const char *name, size_t);
//!
//! // Ranges that begin and end when a stream reaches them. 0: the stream is being captured into a graph, or CUDA refused.
//! uint64_t vramscope_stream_range_start(uint32_t domain, const char *name, size_t, CUstream);
//! void     vramscope_stream_range_end(uint64_t range, CUstream);
//!
//! // Parts of an allocation that the program hands out itself, and names of allocations.
//! void     vramscope_suballoc(CUdeviceptr, size_t, CUstream);
//! void     vramscope_subfree(CUdeviceptr, CUstream);
//! void     vramscope_annotate(CUdeviceptr, const char *name, size_t);
//! ```

use std::ffi::{OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt as _;

use vramscope_record::layout::{Kind, header};

use crate::log::{self, Domain, Label};
use crate::parts;
use crate::ranges::{self, NO_PUSH_POP_TRACKING};

/// Version of this interface.
const VERSION: u32 = 1;

/// Maximum length of a text in bytes. Longer texts are truncated.
const MAX_TEXT_BYTES: usize = 1 << 14;

/// The bytes of a text.
///
/// # Safety
/// `text` must be null or readable over `length` bytes.
unsafe fn bytes<'a>(text: *const c_char, length: usize) -> &'a [u8] {
    if text.is_null() {
        return b"";
    }
    // SAFETY: not null, and as the caller promises.
    unsafe { std::slice::from_raw_parts(text.cast(), length.min(MAX_TEXT_BYTES)) }
}

fn domain_of(number: u32) -> Domain {
    Domain::of_number(number as usize)
}

#[unsafe(no_mangle)]
extern "C" fn vramscope_version() -> u32 {
    VERSION
}

/// Whether allocations are recorded. Creates no log: before the first CUDA call, returns whether they will be.
#[unsafe(no_mangle)]
extern "C" fn vramscope_is_recording() -> i32 {
    let is_recording = || match log::exists() {
        true => log::is_recording(),
        false => log::is_enabled() && log::settings().is_some_and(|settings| settings.starts_on),
    };
    log::guard(is_recording).unwrap_or(false).into()
}

#[unsafe(no_mangle)]
extern "C" fn vramscope_start() {
    log::guard(|| {
        log::set_recording(true);
        log::flush_pending(ranges::current_device());
    });
}

#[unsafe(no_mangle)]
extern "C" fn vramscope_stop() {
    log::guard(|| log::set_recording(false));
}

/// # Safety
/// `path` must be null or readable over `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn vramscope_dump(path: *const c_char, length: usize) -> i32 {
    // SAFETY: as the caller promises.
    let path = unsafe { bytes(path, length) };
    let ask = || {
        if path.is_empty() || !log::is_enabled() {
            return false;
        }
        // The snapshot is written by a process that may have another working directory.
        let folder = std::env::current_dir().unwrap_or_default();
        let path = folder.join(OsStr::from_bytes(path));
        let time = log::now_ns().to_le_bytes();
        let is_asked = log::put(Kind::Dump, &[&time, path.as_os_str().as_bytes()]);
        if is_asked {
            log::count(header::DUMP_COUNT);
        }
        is_asked
    };
    log::guard(ask).unwrap_or(false).into()
}

/// # Safety
/// `name` must be null or readable over `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn vramscope_domain(name: *const c_char, length: usize) -> u32 {
    // SAFETY: as the caller promises.
    let name = unsafe { bytes(name, length) };
    log::guard(|| Domain::named(name).number()).unwrap_or(0)
}

/// # Safety
/// `name` must be null or readable over `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn vramscope_range_push(domain: u32, name: *const c_char, length: usize) -> i32 {
    // SAFETY: as the caller promises.
    let name = unsafe { bytes(name, length) };
    log::guard(|| ranges::push(Label::plain(domain_of(domain), name)))
        .unwrap_or(NO_PUSH_POP_TRACKING)
}

#[unsafe(no_mangle)]
extern "C" fn vramscope_range_pop(domain: u32) -> i32 {
    log::guard(|| ranges::pop(domain_of(domain))).unwrap_or(NO_PUSH_POP_TRACKING)
}

/// # Safety
/// `name` must be null or readable over `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn vramscope_range_start(domain: u32, name: *const c_char, length: usize) -> u64 {
    // SAFETY: as the caller promises.
    let name = unsafe { bytes(name, length) };
    log::guard(|| ranges::start(Label::plain(domain_of(domain), name))).unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn vramscope_range_end(range: u64) {
    log::guard(|| ranges::end(range));
}

/// # Safety
/// `name` must be null or readable over `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn vramscope_mark(domain: u32, name: *const c_char, length: usize) {
    // SAFETY: as the caller promises.
    let name = unsafe { bytes(name, length) };
    log::guard(|| ranges::mark(&Label::plain(domain_of(domain), name)));
}

/// # Safety
/// `name` must be null or readable over `length` bytes, `stream` one of CUDA's.
#[unsafe(no_mangle)]
unsafe extern "C" fn vramscope_stream_range_start(
    domain: u32,
    name: *const c_char,
    length: usize,
    stream: *mut c_void,
) -> u64 {
    // SAFETY: as the caller promises.
    let name = unsafe { bytes(name, length) };
    let start = || {
        let label = Label::plain(domain_of(domain), name);
        // SAFETY: as the caller promises.
        unsafe { ranges::start_on_stream(label, stream) }
    };
    log::guard(start).unwrap_or(0)
}

/// # Safety
/// `stream` must be one of CUDA's.
#[unsafe(no_mangle)]
unsafe extern "C" fn vramscope_stream_range_end(range: u64, stream: *mut c_void) {
    // SAFETY: as the caller promises.
    log::guard(|| unsafe { ranges::end_on_stream(range, stream) });
}

#[unsafe(no_mangle)]
extern "C" fn vramscope_suballoc(address: u64, size_bytes: usize, stream: *mut c_void) {
    log::guard(|| parts::alloc(address, size_bytes as u64, stream.addr() as u64));
}

#[unsafe(no_mangle)]
extern "C" fn vramscope_subfree(address: u64, stream: *mut c_void) {
    log::guard(|| parts::free(address, stream.addr() as u64));
}

/// # Safety
/// `name` must be null or readable over `length` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn vramscope_annotate(address: u64, name: *const c_char, length: usize) {
    // SAFETY: as the caller promises.
    let name = unsafe { bytes(name, length) };
    log::guard(|| parts::annotate(address, name));
}
