//! The object files loaded by the dynamic linker.

use super::maps;
use std::ffi::{CStr, c_int, c_void};
use std::ops::Range;

/// The dynamic linker's counts of loaded and unloaded objects.
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

/// A loaded object file. Addresses are those in memory.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Object {
    /// Path by the dynamic linker or the kernel; `[vdso]` for the kernel's own object.
    pub(super) path: Vec<u8>,
    /// Empty if it has no build id.
    pub(super) build_id: Vec<u8>,
    /// Added to the file's virtual addresses to get addresses in memory.
    pub(super) bias: u64,
    /// The whole object.
    pub(super) image: Range<u64>,
    /// Its executable part.
    pub(super) code: Range<u64>,
    pub(super) unwind: Option<Unwind>,
}

/// Location of unwind information.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Unwind {
    /// `.eh_frame_hdr`.
    pub(super) index: Range<u64>,
    /// `.eh_frame`, possibly with other sections after it.
    pub(super) frames: Range<u64>,
}

/// Memory of an object as bytes.
pub(super) fn mapped(range: &Range<u64>) -> &'static [u8] {
    let bytes = range.end.saturating_sub(range.start) as usize;
    // SAFETY: ranges come from `read`, which takes them from readable segments of a loaded object. Objects may be
    // unloaded: readers of unwind information check the counts first (`modules::Section`), and code with frames on
    // the stack stays loaded.
    unsafe { std::slice::from_raw_parts(range.start as *const u8, bytes) }
}

/// The dynamic linker's current counters.
pub(super) fn counts() -> Counts {
    unsafe extern "C" fn read_counts(
        info: *mut libc::dl_phdr_info,
        _bytes: usize,
        counts: *mut c_void,
    ) -> c_int {
        // SAFETY: called by `dl_iterate_phdr` below with a pointer to `counts`.
        unsafe {
            *counts.cast() = Counts {
                loaded: (*info).dlpi_adds,
                unloaded: (*info).dlpi_subs,
            };
        }
        1
    }
    let mut counts = Counts::NONE;
    // SAFETY: the callback writes only to `counts`.
    unsafe { libc::dl_iterate_phdr(Some(read_counts), (&raw mut counts).cast()) };
    counts
}

/// Reads the list of loaded objects.
pub(super) fn read() -> (Counts, Vec<Object>) {
    let mut list = ObjectList::with_room(256);
    loop {
        // SAFETY: the callback writes only to `list`.
        unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut list).cast()) };
        if !list.lacks_room {
            break;
        }
        list = ObjectList::with_room(list.objects.capacity() * 2);
    }
    let objects = std::mem::take(&mut list.objects);
    let objects = objects.into_iter().map(|object| object.into_object(&list));
    (list.counts, objects.collect())
}

/// Room for one object's path; the average is shorter.
const PATH_BYTES: usize = 256;
/// Maximum size of a build id. SHA-1 has 20 bytes, the longest made by linkers has 64.
const MAX_BUILD_ID_BYTES: usize = 64;

/// The result of the callback. The callback runs under the dynamic linker's lock and must not allocate: an allocator
/// that unwinds its callers takes these two locks in the opposite order, which could deadlock.
struct ObjectList {
    counts: Counts,
    objects: Vec<RawObject>,
    paths: Vec<u8>,
    lacks_room: bool,
}

impl ObjectList {
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
struct RawObject {
    path: Range<usize>,
    build_id: [u8; MAX_BUILD_ID_BYTES],
    build_id_bytes: usize,
    bias: u64,
    image: Range<u64>,
    code: Range<u64>,
    unwind: Option<Unwind>,
    is_first: bool,
}

impl RawObject {
    fn into_object(self, list: &ObjectList) -> Object {
        let named = &list.paths[self.path.clone()];
        let path = if named.first() == Some(&b'/') {
            named.to_owned()
        } else if named.starts_with(b"linux-vdso") || (named.is_empty() && !self.is_first) {
            b"[vdso]".to_vec()
        } else {
            // The program itself has no name here, and a relative path is relative to a folder that may have changed
            // since.
            let mapping = maps::find(self.code.start);
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

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _bytes: usize,
    list: *mut c_void,
) -> c_int {
    // SAFETY: called by `dl_iterate_phdr` with a description of an object and the pointer from `read`. The object
    // stays loaded meanwhile.
    let (info, list) = unsafe { (&*info, &mut *list.cast::<ObjectList>()) };
    list.counts = Counts {
        loaded: info.dlpi_adds,
        unloaded: info.dlpi_subs,
    };
    let name = if info.dlpi_name.is_null() {
        c""
    } else {
        // SAFETY: a C string.
        unsafe { CStr::from_ptr(info.dlpi_name) }
    };
    let name = name.to_bytes();
    let is_first = list.objects.is_empty();
    if list.objects.len() == list.objects.capacity()
        || list.paths.capacity() - list.paths.len() < name.len()
    {
        list.lacks_room = true;
        return 1;
    }
    if let Some(mut object) = describe(info) {
        let start = list.paths.len();
        list.paths.extend_from_slice(name);
        object.path = start..list.paths.len();
        object.is_first = is_first;
        list.objects.push(object);
    }
    0
}

/// Describes an object by its program headers; `None` for an object without code.
fn describe(info: &libc::dl_phdr_info) -> Option<RawObject> {
    if info.dlpi_phdr.is_null() {
        return None;
    }
    // SAFETY: the dynamic linker gives the address and number of headers.
    let headers =
        unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let segments = Segments {
        bias: info.dlpi_addr,
        headers,
    };
    let image = segments.span(|_| true)?;
    let code = segments.span(|header| header.p_flags & libc::PF_X != 0)?;
    let mut object = RawObject {
        path: 0..0,
        build_id: [0; MAX_BUILD_ID_BYTES],
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
            object.build_id_bytes = id.len().min(MAX_BUILD_ID_BYTES);
            object.build_id[..object.build_id_bytes].copy_from_slice(&id[..object.build_id_bytes]);
            break;
        }
    }
    Some(object)
}

/// The program headers of a loaded object.
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

    /// The span from the first to the last loaded segment that satisfies a condition.
    fn span(&self, condition: impl Fn(&libc::Elf64_Phdr) -> bool) -> Option<Range<u64>> {
        let mut segments = self.loaded().filter(|header| condition(header));
        let first = self.range(segments.next()?)?;
        Some(
            segments.fold(first, |span, header| match self.range(header) {
                Some(range) => span.start.min(range.start)..span.end.max(range.end),
                None => span,
            }),
        )
    }

    /// The range from an address to the end of the readable segment that contains it.
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

    /// The bytes that a header describes, if they are in memory.
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
        // Version 1, then the encodings: `.eh_frame` as an i32 relative to its own place, and a sorted table of
        // i32s relative to the section's start. All linkers write it like this.
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
