//! NVTX's memory extension: heaps and their regions, with which allocators (RMM's, NVSHMEM's) report what they hand
//! out. Regions of heaps that are sub-allocators are [`parts`] of allocations. Layouts and permissions are ignored, as
//! they are not about memory that is handed out.
//!
//! A region's handle is its address; so is a heap's.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::text;
use super::{Handle, log};
use crate::parts;

/// `NVTX_EXT_MODULEID_MEM`
const MODULE: u16 = 1;
/// `NVTX_EXT_COMPATID_MEM`: the version of everything below.
const VERSION: u16 = 0x0102;
/// `NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR`
const SUB_ALLOCATOR: u32 = 1;
/// `NVTX_MEM_TYPE_VIRTUAL_ADDRESS`: described by a [`Range`].
const VIRTUAL_ADDRESS: u32 = 1;
/// Maximum number of heaps at a time. Regions of further heaps are recorded until they are unregistered one by one.
const MAX_HEAPS: usize = 1 << 16;

/// `nvtxExtModuleInfo_t`.
#[repr(C)]
pub(crate) struct Module {
    nvtx_version: u16,
    size: u16,
    module: u16,
    version: u16,
    segment_count: usize,
    segments: *const Segment,
    /// Two further pointers.
    _rest: [*const c_void; 2],
}

/// `nvtxExtModuleSegment_t`.
#[repr(C)]
struct Segment {
    id: usize,
    slot_count: usize,
    slots: *mut *const c_void,
}

/// `nvtxMemVirtualRangeDesc_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Range {
    bytes: usize,
    address: usize,
}

/// `nvtxMemHeapDesc_t`, up to the fields used here.
#[derive(Clone, Copy)]
#[repr(C)]
struct HeapDescription {
    version: u16,
    size: u16,
    reserved: u32,
    usage: u32,
    kind: u32,
    description_bytes: usize,
    description: *const Range,
}

/// `nvtxMemRegionsRegisterBatch_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Registered {
    version: u16,
    size: u16,
    kind: u32,
    heap: usize,
    count: usize,
    element_bytes: usize,
    elements: *const c_void,
    handles: *mut usize,
}

/// `nvtxMemRegionsResizeBatch_t`, `nvtxMemRegionsUnregisterBatch_t`, and the beginning of `nvtxMemRegionsNameBatch_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Batch {
    version: u16,
    size: u16,
    /// The type of the elements; unused for names.
    kind: u32,
    count: usize,
    element_bytes: usize,
    elements: *const c_void,
}

/// `nvtxMemRegionNameDesc_t`, up to the fields used here.
#[derive(Clone, Copy)]
#[repr(C)]
struct RegionName {
    reference_kind: u32,
    name_kind: u32,
    /// Address or handle, which are the same.
    region: usize,
    name: *const c_void,
}

/// The registered heaps and regions.
struct Heaps {
    /// Size of heaps by address; 0 if a heap is not a sub-allocator.
    sizes: BTreeMap<usize, usize>,
    /// Addresses of the regions that are not recorded.
    left_out: BTreeSet<usize>,
}

static HEAPS: Mutex<Heaps> = Mutex::new(Heaps {
    sizes: BTreeMap::new(),
    left_out: BTreeSet::new(),
});

fn heaps() -> MutexGuard<'static, Heaps> {
    HEAPS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the lock of this module is free.
pub(super) fn is_unlocked() -> bool {
    HEAPS.try_lock().is_ok()
}

/// Attaches to the extension in one module of the program. Returns 1 if it is to call this library from now on, else 0.
///
/// # Safety
/// `module` must be null or what NVTX passes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn InitializeInjectionNvtxExtension(module: *const Module) -> c_int {
    let attach = || {
        // SAFETY: null or readable, as the caller promises.
        let Some(module) = (unsafe { module.as_ref() }) else {
            return false;
        };
        let is_ours = log::is_enabled() && (module.module, module.version) == (MODULE, VERSION);
        if !is_ours || usize::from(module.size) < size_of::<Module>() || module.segment_count == 0 {
            return false;
        }
        // SAFETY: there is at least one segment.
        let segment = unsafe { module.segments.read_unaligned() };
        let functions: [*const c_void; 7] = [
            register_heap as *const c_void,
            unregister_heap as *const c_void,
            reset_heap as *const c_void,
            register_regions as *const c_void,
            resize_regions as *const c_void,
            unregister_regions as *const c_void,
            name_regions as *const c_void,
        ];
        for (slot, function) in functions.into_iter().enumerate().take(segment.slot_count) {
            // SAFETY: within the segment, whose slots are the tool's to fill.
            unsafe { segment.slots.add(slot).write_unaligned(function) };
        }
        true
    };
    c_int::from(log::guard(attach).unwrap_or(false))
}

/// Reads a structure that begins with a version and its size; `None` if it is null, shorter or of another version.
///
/// # Safety
/// `place` must be null or readable for the size in it.
unsafe fn read<T: Copy>(place: *const T) -> Option<T> {
    if place.is_null() {
        return None;
    }
    // SAFETY: not null; all structures begin with these fields.
    let [version, size] = unsafe { place.cast::<[u16; 2]>().read_unaligned() };
    let is_whole = version == VERSION && usize::from(size) >= size_of::<T>();
    // SAFETY: its size says that it is long enough.
    is_whole.then(|| unsafe { place.read_unaligned() })
}

/// The elements of an array, each at this distance from the next.
///
/// # Safety
/// `elements` must be null or readable for `count` of them.
unsafe fn elements<T: Copy>(
    elements: *const c_void,
    count: usize,
    element_bytes: usize,
) -> impl Iterator<Item = T> {
    let is_whole = !elements.is_null() && element_bytes >= size_of::<T>();
    (0..if is_whole { count } else { 0 }).map(move |place| {
        // SAFETY: within the array, whose elements are long enough.
        unsafe {
            elements
                .byte_add(place * element_bytes)
                .cast::<T>()
                .read_unaligned()
        }
    })
}

/// `nvtxMemHeapRegister`: returns the heap's address.
unsafe extern "C" fn register_heap(_domain: Handle, heap: *const HeapDescription) -> usize {
    let register = || {
        // SAFETY: as NVTX requires.
        let heap = unsafe { read(heap) }?;
        let is_range = heap.kind == VIRTUAL_ADDRESS
            && !heap.description.is_null()
            && heap.description_bytes >= size_of::<Range>();
        // SAFETY: not null, and its size says that it is long enough.
        let range = is_range.then(|| unsafe { heap.description.read_unaligned() })?;
        let bytes = if heap.usage == SUB_ALLOCATOR {
            range.bytes
        } else {
            0
        };
        let sizes = &mut heaps().sizes;
        if sizes.len() < MAX_HEAPS || sizes.contains_key(&range.address) {
            sizes.insert(range.address, bytes);
        }
        Some(range.address)
    };
    log::guard(register).flatten().unwrap_or(0)
}

/// `nvtxMemHeapUnregister`: ends the heap and its regions.
extern "C" fn unregister_heap(_domain: Handle, heap: usize) {
    log::guard(|| {
        let bytes = heaps().sizes.remove(&heap);
        free_all(heap, bytes);
    });
}

/// `nvtxMemHeapReset`: ends the heap's regions.
extern "C" fn reset_heap(_domain: Handle, heap: usize) {
    log::guard(|| {
        let bytes = heaps().sizes.get(&heap).copied();
        free_all(heap, bytes);
    });
}

fn free_all(heap: usize, bytes: Option<usize>) {
    if let Some(bytes @ 1..) = bytes {
        parts::free_all(heap as u64, bytes as u64);
    }
}

/// `nvtxMemRegionsRegister`
unsafe extern "C" fn register_regions(_domain: Handle, regions: *const Registered) {
    log::guard(|| {
        // SAFETY: as NVTX requires.
        let Some(regions) = (unsafe { read(regions) }) else {
            return;
        };
        if regions.kind != VIRTUAL_ADDRESS {
            return;
        }
        // Heap 0 is the whole process; its regions were not handed out by anybody.
        let is_handed_out = regions.heap != 0 && heaps().sizes.get(&regions.heap) != Some(&0);
        // SAFETY: as NVTX requires.
        let ranges =
            unsafe { elements::<Range>(regions.elements, regions.count, regions.element_bytes) };
        for (place, range) in ranges.enumerate() {
            if is_handed_out {
                parts::alloc(range.address as u64, range.bytes as u64, 0);
            } else if heaps().left_out.len() < MAX_HEAPS {
                heaps().left_out.insert(range.address);
            }
            if !regions.handles.is_null() {
                // SAFETY: an array of as many handles.
                unsafe { regions.handles.add(place).write_unaligned(range.address) };
            }
        }
    });
}

/// `nvtxMemRegionsResize`
unsafe extern "C" fn resize_regions(_domain: Handle, regions: *const Batch) {
    log::guard(|| {
        // SAFETY: as NVTX requires.
        let Some(regions) = (unsafe { read(regions) }) else {
            return;
        };
        if regions.kind != VIRTUAL_ADDRESS {
            return;
        }
        // SAFETY: as NVTX requires.
        let ranges =
            unsafe { elements::<Range>(regions.elements, regions.count, regions.element_bytes) };
        for range in ranges.filter(|range| !heaps().left_out.contains(&range.address)) {
            parts::free(range.address as u64, 0);
            parts::alloc(range.address as u64, range.bytes as u64, 0);
        }
    });
}

/// `nvtxMemRegionsUnregister`
unsafe extern "C" fn unregister_regions(_domain: Handle, regions: *const Batch) {
    log::guard(|| {
        // SAFETY: as NVTX requires.
        let Some(regions) = (unsafe { read(regions) }) else {
            return;
        };
        // SAFETY: as NVTX requires; addresses and handles are the same.
        let addresses =
            unsafe { elements::<usize>(regions.elements, regions.count, regions.element_bytes) };
        for address in addresses.filter(|address| !heaps().left_out.remove(address)) {
            parts::free(address as u64, 0);
        }
    });
}

/// `nvtxMemRegionsName`
unsafe extern "C" fn name_regions(_domain: Handle, regions: *const Batch) {
    log::guard(|| {
        // SAFETY: as NVTX requires.
        let Some(regions) = (unsafe { read(regions) }) else {
            return;
        };
        // SAFETY: as NVTX requires.
        let names = unsafe {
            elements::<RegionName>(regions.elements, regions.count, regions.element_bytes)
        };
        for region in names {
            // SAFETY: as NVTX requires.
            let name = unsafe { text::message(region.name_kind as i32, region.name) };
            parts::annotate(region.region as u64, &name);
        }
    });
}
