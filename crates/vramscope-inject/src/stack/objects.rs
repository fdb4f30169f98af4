//! The object files that the dynamic linker has loaded.

use super::maps;
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

/// How often the dynamic linker has loaded and unloaded something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    loaded: u64,
    unloaded: u64,
}

impl Counts {
    pub(super) const NONE: Self = Self {
        loaded: 0,
        unloaded: 0,
    };
}

/// An object file in memory; addresses are those in memory.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Object {
    /// As the dynamic linker or the kernel names it; `[vdso]` for the kernel's own.
    pub(super) path: Vec<u8>,
    /// Empty without one.
    pub(super) build_id: Vec<u8>,
    /// What is added to the file's virtual addresses.
    pub(super) bias: u64,
    /// All of it.
    pub(super) image: Range<u64>,
    /// What of it may be executed.
    pub(super) code: Range<u64>,
    pub(super) unwind: Option<Unwind>,
}

/// Where unwind information is.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Unwind {
    /// `.eh_frame_hdr`.
    pub(super) index: Range<u64>,
    /// `.eh_frame`, and perhaps what stands behind it.
    pub(super) frames: Range<u64>,
}

/// Memory of an object as bytes.
pub(super) fn mapped(range: &Range<u64>) -> &'static [u8] {
    let bytes = range.end.saturating_sub(range.start) as usize;
    // SAFETY: Ranges come from `read`, which takes them from within readable segments of a loaded object. Objects may
    // be unloaded: whoever reads unwind information looks at the counts first (`modules::Section`), and code whose
    // frames are on the stack stays.
    unsafe { std::slice::from_raw_parts(range.start as *const u8, bytes) }
}

/// The dynamic linker's counts now.
pub(super) fn counts() -> Counts {
    unsafe extern "C" fn first(
        info: *mut libc::dl_phdr_info,
        _bytes: usize,
        counts: *mut c_void,
    ) -> c_int {
        // SAFETY: Called by `dl_iterate_phdr` below, with the counts that it was given.
        unsafe {
            *counts.cast() = Counts {
                loaded: (*info).dlpi_adds,
                unloaded: (*info).dlpi_subs,
            };
        }
        1
    }
    let mut counts = Counts::NONE;
    // SAFETY: The callback writes to nothing but `counts`.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut counts).cast()) };
    counts
}

/// What is loaded now.
pub(super) fn read() -> (Counts, Vec<Object>) {
    let mut reading = Reading::with_room(256);
    loop {
        // SAFETY: The callback writes to nothing but `reading`.
        unsafe { libc::dl_iterate_phdr(Some(each), (&raw mut reading).cast()) };
        if !reading.lacks_room {
            break;
        }
        reading = Reading::with_room(reading.objects.capacity() * 2);
    }
    let objects = std::mem::take(&mut reading.objects);
    let objects = objects.into_iter().map(|found| found.into_object(&reading));
    (reading.counts, objects.collect())
}

/// Most objects' paths are shorter, taken together.
const PATH_BYTES: usize = 256;
/// SHA-1 has 20, the longest that linkers make 64.
const LONGEST_BUILD_ID: usize = 64;

/// What the callback fills. It runs under the dynamic linker's lock: allocating there would take the allocator's locks
/// in the opposite order of an allocator that unwinds its callers.
struct Reading {
    counts: Counts,
    objects: Vec<Found>,
    paths: Vec<u8>,
    lacks_room: bool,
}

impl Reading {
    fn with_room(objects: usize) -> Self {
        Self {
            counts: Counts::NONE,
            objects: Vec::with_capacity(objects),
            paths: Vec::with_capacity(objects * PATH_BYTES),
            lacks_room: false,
        }
    }
}

/// An [`Object`] without allocations.
struct Found {
    path: Range<usize>,
    build_id: [u8; LONGEST_BUILD_ID],
    build_id_bytes: usize,
    bias: u64,
    image: Range<u64>,
    code: Range<u64>,
    unwind: Option<Unwind>,
    is_first: bool,
}

impl Found {
    fn into_object(self, reading: &Reading) -> Object {
        let named = &reading.paths[self.path.clone()];
        let path = if named.first() == Some(&b'/') {
            named.to_owned()
        } else if named.starts_with(b"linux-vdso") || (named.is_empty() && !self.is_first) {
            b"[vdso]".to_vec()
        } else {
            // The program itself has no name here, and what was loaded by a relative path is relative to a folder
            // that may have changed since.
            let mapping = maps::at(self.code.start);
            let path = mapping.map(|mapping| mapping.path);
            path.filter(|path| !path.is_empty())
                .unwrap_or_else(|| named.to_owned())
        };
        Object {
            path,
            build_id: self.build_id[..self.build_id_bytes].to_owned(),
            bias: self.bias,
            image: self.image,
            code: self.code,
            unwind: self.unwind,
        }
    }
}

unsafe extern "C" fn each(
    info: *mut libc::dl_phdr_info,
    _bytes: usize,
    reading: *mut c_void,
) -> c_int {
    // SAFETY: Called by `dl_iterate_phdr` with its description of an object and what `read` gave it. The object stays
    // loaded while this runs.
    let (info, reading) = unsafe { (&*info, &mut *reading.cast::<Reading>()) };
    reading.counts = Counts {
        loaded: info.dlpi_adds,
        unloaded: info.dlpi_subs,
    };
    let name = if info.dlpi_name.is_null() {
        c""
    } else {
        // SAFETY: A name is a C string.
        unsafe { CStr::from_ptr(info.dlpi_name) }
    };
    let name = name.to_bytes();
    let is_first = reading.objects.is_empty();
    if reading.objects.len() == reading.objects.capacity()
        || reading.paths.capacity() - reading.paths.len() < name.len()
    {
        reading.lacks_room = true;
        return 1;
    }
    if let Some(mut found) = found(info) {
        let start = reading.paths.len();
        reading.paths.extend_from_slice(name);
        found.path = start..reading.paths.len();
        found.is_first = is_first;
        reading.objects.push(found);
    }
    0
}

/// What program headers say; `None` for an object without code.
fn found(info: &libc::dl_phdr_info) -> Option<Found> {
    if info.dlpi_phdr.is_null() {
        return None;
    }
    // SAFETY: The dynamic linker says where the headers are, and how many.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let segments = Segments {
        bias: info.dlpi_addr,
        headers,
    };
    let image = segments.span(|_| true)?;
    let code = segments.span(|header| header.p_flags & libc::PF_X != 0)?;
    let mut found = Found {
        path: 0..0,
        build_id: [0; LONGEST_BUILD_ID],
        build_id_bytes: 0,
        bias: segments.bias,
        image,
        code,
        unwind: segments.unwind(),
        is_first: false,
    };
    let notes = headers.iter().filter(|h| h.p_type == libc::PT_NOTE);
    for header in notes {
        let Some(bytes) = segments.bytes(header) else {
            continue;
        };
        if let Some(id) = build_id(bytes, header.p_align) {
            found.build_id_bytes = id.len().min(LONGEST_BUILD_ID);
            found.build_id[..found.build_id_bytes].copy_from_slice(&id[..found.build_id_bytes]);
            break;
        }
    }
    Some(found)
}

/// The program headers of an object in memory.
struct Segments<'h> {
    bias: u64,
    headers: &'h [libc::Elf64_Phdr],
}

impl Segments<'_> {
    fn range(&self, header: &libc::Elf64_Phdr) -> Option<Range<u64>> {
        let start = self.bias.wrapping_add(header.p_vaddr);
        Some(start..start.checked_add(header.p_memsz)?)
    }

    fn loaded(&self) -> impl Iterator<Item = &libc::Elf64_Phdr> {
        self.headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
    }

    /// From the first to the last of its segments that are such.
    fn span(&self, is_such: impl Fn(&libc::Elf64_Phdr) -> bool) -> Option<Range<u64>> {
        let mut segments = self.loaded().filter(|header| is_such(header));
        let first = self.range(segments.next()?)?;
        Some(
            segments.fold(first, |span, header| match self.range(header) {
                Some(range) => span.start.min(range.start)..span.end.max(range.end),
                None => span,
            }),
        )
    }

    /// From an address up to the end of the readable segment that holds it.
    fn readable_from(&self, address: u64) -> Option<Range<u64>> {
        self.loaded()
            .filter(|header| header.p_flags & libc::PF_R != 0)
            .filter_map(|header| {
                let start = self.bias.wrapping_add(header.p_vaddr);
                Some(start..start.checked_add(header.p_filesz)?)
            })
            .find(|range| range.contains(&address))
            .map(|range| address..range.end)
    }

    /// What such a header describes, if it is in memory.
    fn bytes(&self, header: &libc::Elf64_Phdr) -> Option<&'static [u8]> {
        let range = self.range(header)?;
        let readable = self.readable_from(range.start)?;
        (range.end <= readable.end).then(|| mapped(&range))
    }

    fn unwind(&self) -> Option<Unwind> {
        let header = self
            .headers
            .iter()
            .find(|header| header.p_type == libc::PT_GNU_EH_FRAME)?;
        let index = self.range(header)?;
        // Version 1; where `.eh_frame` is, as an i32 relative to itself; a sorted table of i32s relative to its start.
        // All linkers write it so.
        let &[1, 0x1B, 0x03, 0x3B, a, b, c, d, ..] = self.bytes(header)? else {
            return None;
        };
        let distance = i64::from(i32::from_le_bytes([a, b, c, d]));
        let frames = self.readable_from((index.start + 4).wrapping_add_signed(distance))?;
        Some(Unwind { index, frames })
    }
}

/// The GNU build id among notes.
fn build_id(mut notes: &[u8], alignment: u64) -> Option<&[u8]> {
    const NT_GNU_BUILD_ID: u32 = 3;
    let alignment = if alignment == 8 { 8 } else { 4 };
    loop {
        let (head, rest) = notes.split_first_chunk::<12>()?;
        let word =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (name_bytes, value_bytes, kind) = (word(0) as usize, word(4) as usize, word(8));
        let value_start = (12 + name_bytes).next_multiple_of(alignment) - 12;
        let value = rest.get(value_start..)?.get(..value_bytes)?;
        if kind == NT_GNU_BUILD_ID && rest.get(..name_bytes) == Some(b"GNU\0") {
            return Some(value);
        }
        let next = (value_start + value_bytes + 12).next_multiple_of(alignment) - 12;
        notes = rest.get(next..)?;
    }
}
