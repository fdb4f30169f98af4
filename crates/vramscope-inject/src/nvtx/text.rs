//! Converts the texts and attributes that programs pass to NVTX.

use std::borrow::Cow;
use std::ffi::{c_char, c_void};

use vramscope_record::layout;

use crate::log::{self, Domain, Label};

/// Maximum number of characters read from a text; bytes for narrow texts.
pub(super) const MAX_CHARACTERS: usize = 4096;

/// `wchar_t` on Linux: UTF-32.
pub(crate) type WideChar = u32;

/// `nvtxEventAttributes_t`, version 2.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Attributes {
    version: u16,
    /// Size of the struct in the program's version of NVTX.
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: *const c_void,
}

/// `NVTX_COLOR_ARGB`
const ARGB: i32 = 1;

/// Values of `message_type`.
mod message_type {
    pub(super) const ASCII: i32 = 1;
    pub(super) const UNICODE: i32 = 2;
    pub(super) const REGISTERED: i32 = 3;
}

/// Converts a text of bytes.
///
/// # Safety
/// `text` must be null, or readable up to a zero or for [`MAX_CHARACTERS`] bytes.
pub(super) unsafe fn narrow<'a>(text: *const c_char) -> Cow<'a, [u8]> {
    if text.is_null() {
        return Cow::Borrowed(b"");
    }
    // SAFETY: not null, and as the caller promises.
    let bytes =
        unsafe { std::slice::from_raw_parts(text.cast(), libc::strnlen(text, MAX_CHARACTERS)) };
    match String::from_utf8_lossy(bytes) {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

/// Converts a text of wide characters.
///
/// # Safety
/// `text` must be null, or readable up to a zero or for [`MAX_CHARACTERS`] characters.
pub(super) unsafe fn wide<'a>(text: *const WideChar) -> Cow<'a, [u8]> {
    let mut read = String::new();
    if text.is_null() {
        return Cow::Borrowed(b"");
    }
    for place in 0..MAX_CHARACTERS {
        // SAFETY: not null, and no earlier character was the zero. Reads unaligned, as alignment is not guaranteed.
        match unsafe { text.add(place).read_unaligned() } {
            0 => break,
            code => read.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }
    Cow::Owned(read.into_bytes())
}

/// The content of an event; empty if it is null or of an older version.
///
/// # Safety
/// `event` must be null or readable for its `size`, and its message a text of its type.
pub(super) unsafe fn label<'a>(domain: Domain, event: *const Attributes) -> Label<'a> {
    let nothing = Label::plain(domain, b"".as_slice());
    if event.is_null() {
        return nothing;
    }
    // SAFETY: not null; all versions begin with these fields.
    let size = unsafe { (&raw const (*event).size).read_unaligned() };
    if usize::from(size) < size_of::<Attributes>() {
        return nothing;
    }
    // SAFETY: its size says that it is long enough.
    let event = unsafe { event.read_unaligned() };
    // SAFETY: as the caller promises.
    let name = unsafe { message(event.message_type, event.message) };
    let mut attributes = layout::Attributes {
        category: event.category,
        ..layout::Attributes::default()
    };
    if event.color_type == ARGB {
        attributes.colour = event.color;
    }
    if event.payload_type != 0 {
        attributes.payload_type = event.payload_type as u32;
        attributes.payload = event.payload;
    }
    Label {
        attributes,
        ..Label::plain(domain, name)
    }
}

/// A text of the given type; empty if the type is unknown.
///
/// # Safety
/// `message` must be a text of this type.
pub(super) unsafe fn message<'a>(kind: i32, message: *const c_void) -> Cow<'a, [u8]> {
    match kind {
        // SAFETY: as the caller promises.
        message_type::ASCII => unsafe { narrow(message.cast()) },
        // SAFETY: as the caller promises.
        message_type::UNICODE => unsafe { wide(message.cast()) },
        message_type::REGISTERED => Cow::Borrowed(log::registered(message.addr()).unwrap_or(b"")),
        _ => Cow::Borrowed(b""),
    }
}
