//! Interposes `dlsym`, so that programs that look up driver functions by name get the hooks.
//!
//! The real `dlsym` depends on its return address: `RTLD_NEXT` and `RTLD_DEFAULT` are relative to the caller. So
//! [`dlsym`] asks [`find_wrapper`] for a hook, and otherwise jumps to the next one, which sees the original caller.
//! `dlvsym` is not interposed: it finds the real `dlsym`, and driver functions have no symbol versions.

use std::ffi::{CStr, c_char, c_void};

use crate::dlsym::{self, NEXT, next_dlsym};
use crate::hooks;

/// The function that `dlsym` should return instead of the real result; null to use the next `dlsym`.
///
/// # Safety
/// As for `dlsym`.
unsafe extern "C" fn find_wrapper(library: *mut c_void, name: *const c_char) -> *mut c_void {
    dlsym::find();
    let nothing = std::ptr::null_mut();
    // SAFETY: a C string; the second byte is read only if the first does not end it.
    if name.is_null() || unsafe { *name as u8 != b'c' || *name.add(1) as u8 != b'u' } {
        return nothing;
    }
    // These two search relative to the caller, which only a jump preserves. Both find the exports of
    // `hooks`.
    if library == libc::RTLD_NEXT || library == libc::RTLD_DEFAULT {
        return nothing;
    }
    // SAFETY: a C string.
    let name = unsafe { CStr::from_ptr(name) };
    let Some(hook) = hooks::find(name) else {
        return nothing;
    };
    // Before the caller's own lookup, so that `dlerror` afterwards is about that one.
    hooks::look_up();
    // SAFETY: the caller's own arguments.
    let real = unsafe { next_dlsym(library, name.as_ptr()) };
    if real.is_null() {
        return nothing;
    }
    hooks::interpose(hook, real)
}

/// `dlsym`: returns the hook, or jumps to the next one with the caller's return address.
///
/// # Safety
/// As for `dlsym`.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rdi",
        ".cfi_adjust_cfa_offset 8",
        "push rsi",
        ".cfi_adjust_cfa_offset 8",
        "sub rsp, 8",
        ".cfi_adjust_cfa_offset 8",
        "call {find_wrapper}",
        "add rsp, 8",
        ".cfi_adjust_cfa_offset -8",
        "pop rsi",
        ".cfi_adjust_cfa_offset -8",
        "pop rdi",
        ".cfi_adjust_cfa_offset -8",
        "test rax, rax",
        "jne 2f",
        "mov rax, [rip + {next}]",
        "jmp rax",
        "2: ret",
        ".cfi_endproc",
        find_wrapper = sym find_wrapper,
        next = sym NEXT,
    )
}

/// `dlsym`: returns the hook, or jumps to the next one with the caller's return address.
///
/// # Safety
/// As for `dlsym`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        // A landing pad (`bti c`) for processors that check branch targets; a no-op on others.
        "hint #34",
        "stp x29, x30, [sp, #-32]!",
        ".cfi_adjust_cfa_offset 32",
        ".cfi_offset x29, -32",
        ".cfi_offset x30, -24",
        "stp x0, x1, [sp, #16]",
        "bl {find_wrapper}",
        "mov x9, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        ".cfi_adjust_cfa_offset -32",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "cbz x9, 2f",
        "mov x0, x9",
        "ret",
        "2:",
        "adrp x9, {next}",
        "ldr x9, [x9, :lo12:{next}]",
        // Branch protection allows jumps to the start of a function only through x16 and x17.
        "mov x16, x9",
        "br x16",
        ".cfi_endproc",
        find_wrapper = sym find_wrapper,
        next = sym NEXT,
    )
}
