//! Devices: their description, and samples of their free memory.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicU64, Ordering};

use vramscope_record::layout::flags::NOT_OWNED;
use vramscope_record::layout::{Device, Kind, Loss, Memory, NO_DEVICE, SUCCESS};

use super::{CUresult, capturing, pools};
use crate::driver::{current_device, function};
use crate::log;

/// Maximum number of devices that are described. No machine has more.
const MAX_DEVICES: usize = 64;
/// Minimum time between two samples of a device's free memory.
const SAMPLE_NS: u64 = 100_000_000;

/// Time of the last sample by device.
static SAMPLED_NS: [AtomicU64; MAX_DEVICES] = [const { AtomicU64::new(0) }; MAX_DEVICES];

/// Writes the description of a device on its first use.
#[inline]
pub(super) fn describe_once(device: i16) {
    static DESCRIBED: AtomicU64 = AtomicU64::new(0);
    if !(0..MAX_DEVICES as i16).contains(&device) {
        return;
    }
    let bit = 1 << device;
    if DESCRIBED.load(Ordering::Relaxed) & bit == 0
        && DESCRIBED.fetch_or(bit, Ordering::Relaxed) & bit == 0
        && capturing::run_relaxed(|| describe(device)) != Some(true)
    {
        DESCRIBED.fetch_and(!bit, Ordering::Relaxed);
    }
}

/// Returns whether the log had room for the description.
#[cold]
fn describe(ordinal: i16) -> bool {
    let device = c_int::from(ordinal);
    let (mut total_bytes, mut uuid, mut name) = (0_usize, [0_u8; 16], [0_u8; 256]);
    if let Some(get) = function!(cuDeviceTotalMem_v2: fn(*mut usize, c_int) -> CUresult) {
        // SAFETY: the out-pointer is valid.
        unsafe { get(&raw mut total_bytes, device) };
    }
    let get = function!(cuDeviceGetUuid_v2: fn(*mut [u8; 16], c_int) -> CUresult);
    if let Some(get) =
        get.or_else(|| function!(cuDeviceGetUuid: fn(*mut [u8; 16], c_int) -> CUresult))
    {
        // SAFETY: the out-pointer is valid.
        unsafe { get(&raw mut uuid, device) };
    }
    if let Some(get) = function!(cuDeviceGetName: fn(*mut c_char, c_int, c_int) -> CUresult) {
        // SAFETY: the buffer is valid; its last byte stays 0.
        unsafe { get(name.as_mut_ptr().cast(), name.len() as c_int - 1, device) };
    }
    let uuid = u128::from_le_bytes(uuid);
    let record = Device {
        total_bytes: total_bytes as u64,
        uuid_low: uuid as u64,
        uuid_high: (uuid >> 64) as u64,
        ordinal,
        ..Device::default()
    };
    let name = name.split(|&byte| byte == 0).next().unwrap_or_default();
    log::put(Kind::Device, &[&record.to_bytes(), name])
}

/// Samples a device's free memory and its pools, if the last samples are old enough and the device is the calling
/// thread's.
#[inline]
pub(super) fn sample(device: i16, time_ns: u64) {
    let Some(sampled) = usize::try_from(device)
        .ok()
        .and_then(|device| SAMPLED_NS.get(device))
    else {
        return;
    };
    let last = sampled.load(Ordering::Relaxed);
    if time_ns.saturating_sub(last) >= SAMPLE_NS
        && sampled
            .compare_exchange(last, time_ns, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    {
        write_sample(device, time_ns);
    }
}

#[cold]
fn write_sample(device: i16, time_ns: u64) {
    if current_device() != Some(device) {
        return;
    }
    pools::sample_device(device);
    if let Some((free_bytes, total_bytes)) = free_and_total_bytes() {
        let record = Memory {
            time_ns,
            free_bytes,
            total_bytes,
            device,
            reserved: 0,
            thread: log::thread(),
        };
        log::put(Kind::Memory, &[&record.to_bytes()]);
    }
}

/// Free and total bytes of the calling thread's device.
pub(super) fn free_and_total_bytes() -> Option<(u64, u64)> {
    let get = function!(cuMemGetInfo_v2: fn(*mut usize, *mut usize) -> CUresult)?;
    let (mut free, mut total) = (0, 0);
    // SAFETY: the out-pointers are valid.
    let result = capturing::run_relaxed(|| unsafe { get(&raw mut free, &raw mut total) })?;
    if result != SUCCESS {
        log::lost(Loss::FreeMemoryUnknown);
        return None;
    }
    Some((free as u64, total as u64))
}

/// The type and number of the location in `CUmemAllocationProp` and `CUmemPoolProps`.
fn location(properties: *const c_int) -> (c_int, c_int) {
    if properties.is_null() {
        return (0, 0);
    }
    // SAFETY: the driver has just read the same structure; two numbers precede the location.
    unsafe {
        (
            properties.add(2).read_unaligned(),
            properties.add(3).read_unaligned(),
        )
    }
}

/// `CU_MEM_LOCATION_TYPE_DEVICE`
const ON_DEVICE: c_int = 1;

/// The `CUmemAllocationType` in `CUmemPoolProps`; 0 if unknown.
pub(super) fn allocation_type(properties: *const c_int) -> u64 {
    if properties.is_null() {
        return 0;
    }
    // SAFETY: the driver has just read the same structure.
    u64::from(unsafe { properties.read_unaligned() }.unsigned_abs())
}

/// The `CUmemLocationType` in `CUmemPoolProps`; 0 if unknown.
pub(super) fn location_type(properties: *const c_int) -> u64 {
    u64::from(location(properties).0.unsigned_abs())
}

/// The device of memory with these properties.
pub(super) fn device_of_properties(properties: *const c_int) -> i16 {
    match location(properties) {
        (ON_DEVICE, device) => i16::try_from(device).unwrap_or(NO_DEVICE),
        _ => NO_DEVICE,
    }
}

/// [`NOT_OWNED`] for memory that is not on a device.
pub(super) fn flags_of_properties(properties: *const c_int) -> u8 {
    if location(properties).0 == ON_DEVICE {
        0
    } else {
        NOT_OWNED
    }
}
