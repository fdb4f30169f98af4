//! The devices' memory, which consists of addresses only, and data copied to and from it.

use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::c::{OK, put};
use crate::settings::{Addresses, SETTINGS, Values};

/// Maximum number of devices.
pub(crate) const DEVICES_MAX: usize = 8;
/// The driver maps memory in pages of this size.
pub(crate) const PAGE_BYTES: u64 = 2 << 20;
/// The driver hands out addresses in chunks of this size.
const CHUNK_BYTES: u64 = 32 << 20;
/// Status in the runtime and the driver.
pub(crate) const OUT_OF_MEMORY: i32 = 2;
/// Nothing of a Linux process lies here: its program is above, and its mappings are far above.
const BASE: u64 = 0x2000_0000_0000;
const DEVICE_SPAN: u64 = 1 << 42;

/// Programs read back small things that they wrote themselves (DDP: the order of its buckets), so this many of the
/// newest small copies to the devices are stored.
const LETTERS: usize = 256;
const LETTER_BYTES: usize = 4096;
const LETTER_LAUNCHES: u64 = 64;

static LAUNCHES: AtomicU64 = AtomicU64::new(0);

/// Something small that was copied to a device.
struct Letter {
    address: u64,
    text: Vec<u8>,
    /// Kernels launched before the copy.
    launches: u64,
}

thread_local! {
    static DEVICE: Cell<usize> = const { Cell::new(0) };
}

static MEMORY: Mutex<Memory> = Mutex::new(Memory {
    addressed_bytes: [0; DEVICES_MAX],
    chunk_rests: [const { Vec::new() }; DEVICES_MAX],
    used_bytes: [0; DEVICES_MAX],
    ranges: BTreeMap::new(),
    physical: Vec::new(),
    pinned: BTreeMap::new(),
    letters: VecDeque::new(),
    random: 1,
    read_back: [0; 2],
});

struct Memory {
    /// For each device, how many bytes of addresses were handed out.
    addressed_bytes: [u64; DEVICES_MAX],
    /// For each device, its chunks, the newest last: the first unused address, and how many bytes follow.
    chunk_rests: [Vec<(u64, u64)>; DEVICES_MAX],
    used_bytes: [u64; DEVICES_MAX],
    /// Allocations: bytes and device by address.
    ranges: BTreeMap<u64, (u64, usize)>,
    /// Physical memory that the program maps itself: bytes and device. Its handle is the index, counted from 1.
    physical: Vec<(u64, usize)>,
    /// Pinned host memory: bytes by address.
    pinned: BTreeMap<u64, u64>,
    /// Newest first.
    letters: VecDeque<Letter>,
    random: u64,
    /// Copies to the host of data that no copy had written, and their bytes.
    read_back: [u64; 2],
}

impl Memory {
    /// Takes memory of a device; `false` if it has too little.
    fn take(&mut self, device: usize, bytes: u64) -> bool {
        let used = self.used_bytes[device] + SETTINGS.context_bytes;
        let fits = used.saturating_add(bytes) <= SETTINGS.total_bytes;
        self.used_bytes[device] += if fits { bytes } else { 0 };
        fits
    }

    /// Addresses on a device. None is handed out twice: a device has 4 TiB of them.
    ///
    /// The driver takes whole chunks from the top downwards; before taking one, it looks for room in the older ones,
    /// the newest first. Of equal free blocks PyTorch takes the one with the lowest address, so the order matters. This
    /// order was derived from twelve snapshots of a real card and reproduces their reserved memory to the byte;
    /// counting upwards or downwards does not.
    fn addresses(&mut self, device: usize, bytes: u64) -> u64 {
        let bytes = bytes.max(1).next_multiple_of(PAGE_BYTES);
        let whole = bytes.next_multiple_of(CHUNK_BYTES);
        let taken = &mut self.addressed_bytes[device];
        let rests = &mut self.chunk_rests[device];
        let base = BASE + DEVICE_SPAN * device as u64;
        match SETTINGS.addresses {
            Addresses::Up => {
                *taken += bytes;
                base + *taken - bytes
            }
            Addresses::Down => {
                *taken += bytes;
                base + DEVICE_SPAN - *taken
            }
            Addresses::Driver => {
                if let Some((start, left)) = rests.iter_mut().rfind(|(_, left)| *left >= bytes) {
                    let address = *start;
                    (*start, *left) = (address + bytes, *left - bytes);
                    return address;
                }
                *taken += whole;
                let address = base + DEVICE_SPAN - *taken;
                rests.push((address + bytes, whole - bytes));
                address
            }
        }
    }

    /// Fills a copy to the host with invented data.
    fn invent(&mut self, to: &mut [u8]) {
        self.read_back[0] += 1;
        self.read_back[1] += to.len() as u64;
        // Only the length hints at the type: a number of four bytes is usually a float.
        let one: &[u8] = match to.len() {
            2 => &[0x80, 0x3f],
            length if length.is_multiple_of(4) && length != 8 => &[0, 0, 0x80, 0x3f],
            _ => &[1, 0, 0, 0, 0, 0, 0, 0],
        };
        match SETTINGS.values {
            Values::Zeros => to.fill(0),
            Values::Ones => {
                for (byte, value) in to.iter_mut().zip(one.iter().cycle()) {
                    *byte = *value;
                }
            }
            Values::Uniform if to.len().is_multiple_of(4) && to.len() != 8 => {
                for number in to.chunks_exact_mut(4) {
                    let random = (self.next_random() >> 40) as f32 / (1u64 << 24) as f32;
                    number.copy_from_slice(&random.to_le_bytes());
                }
            }
            Values::Uniform => {
                to.fill(0);
                to[0] = (self.next_random() >> 63) as u8;
            }
        }
    }

    /// Stores what was written to a device.
    fn write(&mut self, to: u64, text: Vec<u8>) {
        self.letters.retain(|letter| letter.address != to);
        self.letters.push_front(Letter {
            address: to,
            text,
            launches: LAUNCHES.load(Ordering::Relaxed),
        });
        self.letters.truncate(LETTERS);
    }

    /// The data recently written to these bytes, unless a later kernel may have overwritten it.
    fn letter(&self, from: u64, bytes: usize) -> Option<&[u8]> {
        let now = LAUNCHES.load(Ordering::Relaxed);
        let is_it = |letter: &&Letter| letter.address == from && letter.text.len() == bytes;
        let letter = self.letters.iter().find(is_it)?;
        (now - letter.launches <= LETTER_LAUNCHES).then_some(&letter.text)
    }

    /// Knuth's 64-bit generator, whose high bits are good.
    fn next_random(&mut self) -> u64 {
        let next = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = next.wrapping_add(1_442_695_040_888_963_407);
        self.random
    }
}

fn memory() -> MutexGuard<'static, Memory> {
    MEMORY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread's current device.
pub(crate) fn device_now() -> usize {
    DEVICE.get()
}

/// Counts a kernel launch.
pub(crate) fn launch() -> i32 {
    LAUNCHES.fetch_add(1, Ordering::Relaxed);
    OK
}

/// Sets the thread's current device; `false` if there is no such device.
pub(crate) fn set_device(device: i32) -> bool {
    let found = usize::try_from(device).ok();
    let found = found.filter(|device| *device < SETTINGS.visible_devices());
    DEVICE.set(found.unwrap_or(DEVICE.get()));
    found.is_some()
}

/// The device that an address belongs to; `None` for host memory.
pub(crate) fn device_of(address: u64) -> Option<usize> {
    let device = address.checked_sub(BASE)? / DEVICE_SPAN;
    Some(device as usize).filter(|device| *device < DEVICES_MAX)
}

/// Allocates on the current device.
pub(crate) unsafe fn allocate(to: *mut u64, bytes: u64) -> i32 {
    let (device, mut memory) = (device_now(), memory());
    if !memory.take(device, bytes) {
        return OUT_OF_MEMORY;
    }
    let address = memory.addresses(device, bytes);
    memory.ranges.insert(address, (bytes, device));
    put(to, address)
}

/// Frees memory from `allocate`.
pub(crate) fn free(address: u64) -> i32 {
    let mut memory = memory();
    if let Some((bytes, device)) = memory.ranges.remove(&address) {
        memory.used_bytes[device] -= bytes;
    }
    OK
}

/// Reserves addresses without memory. torch reserves more than the whole device, which costs nothing.
pub(crate) fn reserve(bytes: u64) -> u64 {
    memory().addresses(device_now(), bytes)
}

/// Physical memory without an address.
pub(crate) unsafe fn create(to: *mut u64, bytes: u64, device: i32) -> i32 {
    let (device, mut memory) = (usize::try_from(device).unwrap_or(0), memory());
    if device >= DEVICES_MAX || !memory.take(device, bytes) {
        return OUT_OF_MEMORY;
    }
    memory.physical.push((bytes, device));
    put(to, memory.physical.len() as u64)
}

/// Releases memory from `create`.
pub(crate) fn release(handle: u64) -> i32 {
    let mut memory = memory();
    let place = handle.wrapping_sub(1) as usize;
    if let Some(physical) = memory.physical.get_mut(place) {
        let (bytes, device) = std::mem::take(physical);
        memory.used_bytes[device] -= bytes;
    }
    OK
}

/// Free and total bytes of the current device.
pub(crate) fn free_and_total() -> (u64, u64) {
    let used = memory().used_bytes[device_now()] + SETTINGS.context_bytes;
    (
        SETTINGS.total_bytes.saturating_sub(used),
        SETTINGS.total_bytes,
    )
}

/// Marks host memory as pinned, or no longer pinned.
pub(crate) fn pin(address: u64, bytes: Option<u64>) -> i32 {
    let pinned = &mut memory().pinned;
    match bytes {
        Some(bytes) => pinned.insert(address, bytes),
        None => pinned.remove(&address),
    };
    OK
}

/// Whether an address is in pinned memory.
pub(crate) fn is_pinned(address: u64) -> bool {
    let memory = memory();
    let before = memory.pinned.range(..=address).next_back();
    before.is_some_and(|(start, bytes)| address < start.saturating_add(*bytes))
}

/// Copies within the host, stores small copies to a device, and invents data copied from one.
pub(crate) unsafe fn copy(to: u64, from: u64, bytes: usize) -> i32 {
    if bytes == 0 {
        return OK;
    }
    match (device_of(to), device_of(from)) {
        (None, None) => std::ptr::copy(from as *const u8, to as *mut u8, bytes),
        (Some(_), None) if bytes <= LETTER_BYTES => {
            let text = std::slice::from_raw_parts(from as *const u8, bytes);
            memory().write(to, text.to_vec());
        }
        (Some(_), Some(_)) => copy_letter(to, from, bytes),
        (None, Some(_)) => {
            let to = std::slice::from_raw_parts_mut(to as *mut u8, bytes);
            let mut memory = memory();
            match memory.letter(from, bytes) {
                Some(text) => to.copy_from_slice(text),
                None => memory.invent(to),
            }
        }
        (Some(_), None) => {}
    }
    OK
}

/// Copies the stored data of one place to another, after a copy on the devices or a collective.
pub(crate) fn copy_letter(to: u64, from: u64, bytes: usize) {
    let mut memory = memory();
    if let Some(text) = memory.letter(from, bytes).map(<[u8]>::to_vec) {
        memory.write(to, text);
    }
}

c! {
    // Copies to the host of data that no copy had written, and their bytes.
    fn standin_read_back(to: *mut [u64; 2]) = put(to, memory().read_back);
    // The device that an address belongs to; -1 for host memory.
    fn standin_device_of(address: u64) = device_of(address).map_or(-1, |device| device as i32);
}
