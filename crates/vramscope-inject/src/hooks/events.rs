//! Writes records of memory events, with what the driver reports about the memory.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::{AtomicUsize, Ordering};

use vramscope_record::layout::{
    Call, Event, Kind, Loss, NO_DEVICE, OUT_OF_MEMORY, SUCCESS, flags, header,
};

use super::{CUresult, REFUSED, capturing, devices, pools};
use crate::driver::{current_device, function};
use crate::{log, stack};

/// Writes an allocation of device memory.
pub(super) fn write_alloc(mut event: Event) {
    if let Some(graph) = capturing::graph_of(&event) {
        event.flags |= flags::CAPTURING;
        event.pool = graph;
        event.device = current_device().unwrap_or(NO_DEVICE);
        pools::register_graphs(event.device);
        write(event, true);
        return;
    }
    capturing::run_relaxed(|| {
        add_pointer_attributes(&mut event);
        devices::describe_once(event.device);
        if event.pool != 0 {
            pools::register(event.pool, event.device);
        }
    });
    let time_ns = write(event, true);
    devices::sample(event.device, time_ns);
}

/// Writes the creation of another object.
pub(super) fn write_creation(mut event: Event) {
    if event.device == NO_DEVICE {
        event.device = current_device().unwrap_or(NO_DEVICE);
    }
    if event.context == 0 {
        event.context = current_context();
    }
    devices::describe_once(event.device);
    let time_ns = write(event, true);
    if event.call == Call::cuGraphAddMemAllocNode as u8 {
        pools::register_graphs(event.device);
    }
    if event.call == Call::cuMemCreate as u8 {
        devices::sample(event.device, time_ns);
    }
}

/// Writes a free. Called before the driver frees.
pub(super) fn write_free(mut event: Event) {
    if event.address == 0 && event.pool == 0 {
        return;
    }
    if event.call == Call::cuMemPoolDestroy as u8 {
        pools::forget_destroyed(event.pool);
    }
    if capturing::graph_of(&event).is_some() {
        event.flags |= flags::CAPTURING;
    }
    pools::schedule_samples();
    write(
        event,
        log::settings().is_some_and(|settings| settings.free_stacks),
    );
}

/// Writes that the driver refused a free.
#[cold]
pub(super) fn write_refusal(mut event: Event, result: CUresult) {
    event.result = result;
    event.flags = flags::FREE_FAILED;
    write(event, false);
    // Other errors may come from earlier work, and the pool may be gone.
    if event.call == Call::cuMemPoolDestroy as u8 && REFUSED.contains(&result) {
        pools::undo_forget(event.pool);
    }
}

/// Writes an allocation that failed for lack of memory.
pub(super) fn write_out_of_memory(mut event: Event) {
    event.result = OUT_OF_MEMORY;
    let current = current_device();
    if event.device == NO_DEVICE {
        event.device = current.unwrap_or(NO_DEVICE);
    }
    let may_query = Some(event.device) == current && capturing::graph_of(&event).is_none();
    if let Some((free, total)) = may_query.then(devices::free_and_total_bytes).flatten() {
        (event.mapping_base, event.mapping_bytes) = (free, total);
    }
    devices::describe_once(event.device);
    write(event, true);
    log::count(header::OUT_OF_MEMORY_COUNT);
}

/// Writes an event with the current time and thread. Returns the time.
pub(super) fn write(mut event: Event, has_stack: bool) -> u64 {
    event.time_ns = log::now_ns();
    event.thread = log::thread();
    let depth = log::settings().map_or(0, |settings| settings.depth);
    if has_stack && depth > 0 {
        event.stack = stack::record(depth);
    }
    log::put(Kind::Event, &[&event.to_bytes()]);
    event.time_ns
}

/// Pointer attributes in the order in which drivers introduced them: `DEVICE_ORDINAL`, `CONTEXT`, `MEMPOOL_HANDLE`,
/// `MAPPING_BASE_ADDR`, `MAPPING_SIZE`.
const ATTRIBUTES: [c_uint; 5] = [9, 1, 17, 19, 18];
/// How many of them to request, until a request succeeds, and what is lost if that is fewer than all.
const ATTEMPTS: [(usize, Loss); 4] = [
    (5, Loss::MappingUnknown),
    (3, Loss::MappingUnknown),
    (2, Loss::PoolUnknown),
    (1, Loss::ContextUnknown),
];

/// How many of the [`ATTRIBUTES`] the driver supports.
fn known_attributes() -> usize {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    let mut known = KNOWN.load(Ordering::Relaxed);
    if known == 0 {
        known = match driver_version() {
            11_070.. => 5,
            11_030.. => 3,
            _ => 2,
        };
        KNOWN.store(known, Ordering::Relaxed);
    }
    known
}

/// The driver's version, such as 11,070 for 11.7; 0 if unknown.
fn driver_version() -> c_int {
    let mut version = 0;
    if let Some(get) = function!(cuDriverGetVersion: fn(*mut c_int) -> CUresult) {
        // SAFETY: the out-pointer is valid.
        unsafe { get(&raw mut version) };
    }
    version
}

/// Adds device, context, pool and mapping of the memory, as far as the driver reports them. Each pointer is queried for
/// everything the driver supports: it may report less about memory of other processes or interfaces.
fn add_pointer_attributes(event: &mut Event) {
    let (mut device, mut context, mut pool) = (-1_i32, 0_u64, 0_u64);
    let (mut mapping_base, mut mapping_bytes) = (0_u64, 0_u64);
    let places: [*mut c_void; 5] = [
        (&raw mut device).cast(),
        (&raw mut context).cast(),
        (&raw mut pool).cast(),
        (&raw mut mapping_base).cast(),
        (&raw mut mapping_bytes).cast(),
    ];
    let known = known_attributes();
    let possible = ATTEMPTS.iter().filter(|(count, _)| *count <= known);
    for &(count, loss) in possible {
        if attributes(&ATTRIBUTES[..count], &places[..count], event.address) == Some(SUCCESS) {
            if count < known {
                log::lost(loss);
            }
            event.device = i16::try_from(device).map_or(NO_DEVICE, |device| device.max(NO_DEVICE));
            event.context = context;
            (event.mapping_base, event.mapping_bytes) = (mapping_base, mapping_bytes);
            if pool != 0 {
                event.pool = pool;
            }
            return;
        }
    }
    log::lost(Loss::DeviceUnknown);
    event.device = current_device().unwrap_or(NO_DEVICE);
}

/// Calls `cuPointerGetAttributes`; `None` if the driver does not have it.
fn attributes(of: &[c_uint], places: &[*mut c_void], address: u64) -> Option<CUresult> {
    let get = function!(cuPointerGetAttributes: fn(c_uint, *const c_uint, *const *mut c_void, u64) -> u32)?;
    // SAFETY: as many places as attributes, each of the attribute's size: `int` for the device, else 8 bytes.
    Some(unsafe { get(of.len() as c_uint, of.as_ptr(), places.as_ptr(), address) })
}

/// Size of the imported allocation at an address; 0 if unknown.
pub(super) fn bytes_at(address: u64) -> u64 {
    /// `CU_POINTER_ATTRIBUTE_RANGE_SIZE`
    const RANGE_SIZE: c_uint = 12;
    let mut bytes = 0_u64;
    if address != 0 {
        capturing::run_relaxed(|| {
            let answer = attributes(&[RANGE_SIZE], &[(&raw mut bytes).cast()], address);
            if answer != Some(SUCCESS) || bytes == 0 {
                log::lost(Loss::SizeUnknown);
            }
        });
    }
    bytes
}

/// The calling thread's context as a number; 0 if it has no context.
pub(super) fn current_context() -> u64 {
    let Some(get) = function!(cuCtxGetCurrent: fn(*mut u64) -> u32) else {
        return 0;
    };
    let mut context = 0;
    // SAFETY: the out-pointer is valid.
    match unsafe { get(&raw mut context) } {
        SUCCESS => context,
        _ => 0,
    }
}
