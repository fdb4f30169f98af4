//! Memory pools: samples of their usage, which show when they release memory to the device.
//!
//! No call reports a release. By default, the driver trims a pool when a stream, event or context is synchronised and
//! the pool has more free bytes than its threshold. So pools are sampled after the first few synchronisations that
//! follow a free. One sample is not enough, as the freed memory may still be in use at the first synchronisation.
//!
//! The memory held by graphs is sampled too, as one more pool of the device. It grows when graphs are launched.

use std::cell::Cell;
use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use vramscope_record::layout::{Call, Event, Kind, Loss, Pool, SUCCESS, pool_flags};

use super::{CUresult, capturing, entry, events};
use crate::driver::function;
use crate::log;

/// Number of synchronisations after a free that sample the pools.
const SAMPLES_AFTER_FREE: u32 = 8;

/// Stands for the memory of a device's graphs among the pools. No pool has this handle.
const GRAPHS: u64 = 1;

/// Number of coming synchronisations after which to sample.
static SAMPLES_LEFT: AtomicU32 = AtomicU32::new(0);
/// The pool used last, usually the only one; 0 if none is known.
static LAST_POOL: AtomicU64 = AtomicU64::new(0);
/// Pools with allocations. The lock is held during queries, so that no pool is queried after its destruction.
static POOLS: RwLock<Vec<KnownPool>> = RwLock::new(Vec::new());

/// Whether any device's graphs have memory.
static HAS_GRAPHS: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The pool that this thread is destroying and its device, in case the driver refuses.
    static DESTROYED: Cell<Option<(u64, i16)>> = const { Cell::new(None) };
}

struct KnownPool {
    pool: u64,
    device: i16,
    is_default: bool,
    /// Values of the last sample.
    reserved_bytes: AtomicU64,
    used_bytes: AtomicU64,
}

/// Registers the pool of an allocation and writes its first sample.
#[inline]
pub(super) fn register(pool: u64, device: i16) {
    if LAST_POOL.load(Ordering::Relaxed) != pool {
        add_if_new(pool, device);
    }
}

#[cold]
fn add_if_new(pool: u64, device: i16) {
    let pools = POOLS.read().unwrap_or_else(PoisonError::into_inner);
    let is_known = pools.iter().any(|known| known.pool == pool);
    drop(pools);
    if !is_known {
        let (driver, is_default) = (Questions::find(), default_of(device) == Some(pool));
        let mut pools = POOLS.write().unwrap_or_else(PoisonError::into_inner);
        if pools.iter().all(|known| known.pool != pool) {
            let known = KnownPool::new(pool, device, is_default);
            known.sample(&driver, true, 0);
            pools.push(known);
        }
    }
    LAST_POOL.store(pool, Ordering::Relaxed);
}

/// Registers the memory of a device's graphs. Writes no sample, since a stream may just be being captured into a graph.
pub(super) fn register_graphs(device: i16) {
    let is_graphs = |known: &KnownPool| known.pool == GRAPHS && known.device == device;
    let pools = POOLS.read().unwrap_or_else(PoisonError::into_inner);
    let is_known = pools.iter().any(is_graphs);
    drop(pools);
    if !is_known {
        let mut pools = POOLS.write().unwrap_or_else(PoisonError::into_inner);
        if !pools.iter().any(is_graphs) {
            pools.push(KnownPool::new(GRAPHS, device, false));
        }
        if LAST_POOL.load(Ordering::Relaxed) == 0 {
            LAST_POOL.store(GRAPHS, Ordering::Relaxed);
        }
        HAS_GRAPHS.store(true, Ordering::Relaxed);
    }
}

/// Forgets pools that are about to end, chosen by handle and device. Returns whether there were any.
pub(super) fn forget(mut is_ending: impl FnMut(u64, i16) -> bool) -> bool {
    let mut pools = POOLS.write().unwrap_or_else(PoisonError::into_inner);
    let before = pools.len();
    pools.retain(|known| known.pool == GRAPHS || !is_ending(known.pool, known.device));
    let left = pools.first().map_or(0, |known| known.pool);
    LAST_POOL.store(left, Ordering::Relaxed);
    pools.len() < before
}

/// Forgets a pool that is about to be destroyed.
pub(super) fn forget_destroyed(pool: u64) {
    let mut destroyed = None;
    forget(|known, device| {
        let is_ending = known == pool;
        if is_ending {
            destroyed = Some((pool, device));
        }
        is_ending
    });
    DESTROYED.set(destroyed);
}

/// Registers a pool again that the driver refused to destroy.
pub(super) fn undo_forget(pool: u64) {
    let destroyed = DESTROYED.take();
    if let Some((pool, device)) = destroyed.filter(|&(destroyed, _)| destroyed == pool) {
        capturing::run_relaxed(|| register(pool, device));
    }
}

/// Schedules samples, as memory is about to be freed.
#[inline]
pub(super) fn schedule_samples() {
    if SAMPLES_LEFT.load(Ordering::Relaxed) <= SAMPLES_AFTER_FREE
        && LAST_POOL.load(Ordering::Relaxed) != 0
    {
        SAMPLES_LEFT.store(SAMPLES_AFTER_FREE + 1, Ordering::Relaxed);
    }
}

/// Samples the pools after a synchronisation, if a free was scheduled.
#[inline]
pub(super) fn sample_after_synchronise() {
    if SAMPLES_LEFT.load(Ordering::Relaxed) != 0 {
        sample_all();
    }
}

/// Runs after `cuMemPoolTrimTo`.
pub(super) fn after_trim(pool: u64, keep: usize) -> impl FnOnce(CUresult) {
    move |result| {
        if result == SUCCESS {
            events::write_creation(Event {
                pool,
                size_bytes: keep as u64,
                ..entry::blank(Call::cuMemPoolTrimTo)
            });
            SAMPLES_LEFT.store(SAMPLES_AFTER_FREE + 1, Ordering::Relaxed);
            sample_all();
        }
    }
}

/// Runs after a graph's launch, which may have allocated memory: the next synchronisation samples it.
pub(super) fn after_launch() -> impl FnOnce(CUresult) {
    |_| {
        if HAS_GRAPHS.load(Ordering::Relaxed) {
            SAMPLES_LEFT.fetch_max(1, Ordering::Relaxed);
        }
    }
}

/// Runs after `cuDeviceGraphMemTrim`.
pub(super) fn after_graph_trim() -> impl FnOnce(CUresult) {
    |_| {
        if HAS_GRAPHS.load(Ordering::Relaxed) && log::is_recording() {
            SAMPLES_LEFT.fetch_max(1, Ordering::Relaxed);
            sample_all();
        }
    }
}

#[cold]
fn sample_all() {
    let before = SAMPLES_LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(1)
    });
    let Ok(before) = before else { return };
    let driver = Questions::find();
    capturing::run_relaxed(|| {
        let pools = POOLS.read().unwrap_or_else(PoisonError::into_inner);
        for known in pools.iter() {
            known.sample(&driver, before > SAMPLES_AFTER_FREE, 0);
        }
    });
}

/// Samples a device's pools, which also grow without any call that reports it.
pub(super) fn sample_device(device: i16) {
    if LAST_POOL.load(Ordering::Relaxed) == 0 {
        return;
    }
    let driver = Questions::find();
    capturing::run_relaxed(|| {
        let pools = POOLS.read().unwrap_or_else(PoisonError::into_inner);
        for known in pools.iter().filter(|known| known.device == device) {
            known.sample(&driver, false, 0);
        }
    });
}

/// Samples the default pool of a device whose primary context has just ended: nothing else shows whether its memory is
/// gone too. The device's other pools may be gone, so they must not be queried.
pub(super) fn sample_after_context_end(device: i16) {
    let (driver, Some(pool)) = (Questions::find(), default_of(device)) else {
        return;
    };
    let known = KnownPool::new(pool, device, true);
    capturing::run_relaxed(|| known.sample(&driver, true, pool_flags::CONTEXT_ENDED));
    // What survived may end with the next context.
    if known.used_bytes.load(Ordering::Relaxed) > 0 {
        let mut pools = POOLS.write().unwrap_or_else(PoisonError::into_inner);
        pools.push(known);
        LAST_POOL.store(pool, Ordering::Relaxed);
    }
}

impl KnownPool {
    fn new(pool: u64, device: i16, is_default: bool) -> Self {
        Self {
            pool,
            device,
            is_default,
            reserved_bytes: AtomicU64::new(0),
            used_bytes: AtomicU64::new(0),
        }
    }

    /// Queries the pool's usage and writes it if `must_write` or if it changed.
    fn sample(&self, driver: &Questions, must_write: bool, flags: u16) {
        let Some((reserved_bytes, used_bytes)) = driver.usage(self) else {
            return log::lost(Loss::PoolUsageUnknown);
        };
        let was_reserved = self.reserved_bytes.swap(reserved_bytes, Ordering::Relaxed);
        let was_used = self.used_bytes.swap(used_bytes, Ordering::Relaxed);
        if must_write || was_reserved != reserved_bytes || was_used != used_bytes {
            let own = match self.pool {
                GRAPHS => pool_flags::GRAPHS,
                _ if self.is_default => pool_flags::DEFAULT,
                _ => 0,
            };
            let record = Pool {
                time_ns: log::now_ns(),
                pool: self.pool,
                reserved_bytes,
                used_bytes,
                device: self.device,
                flags: flags | own,
                thread: log::thread(),
            };
            log::put(Kind::Pool, &[&record.to_bytes()]);
        }
    }
}

/// The driver functions that report how much memory pools and graphs hold and use.
///
/// Must be found before [`POOLS`] is locked. Another thread may hold the dynamic linker's lock while a library's
/// constructor waits for [`POOLS`].
struct Questions {
    /// `cuMemPoolGetAttribute`
    of_pool: Option<unsafe extern "C" fn(u64, c_uint, *mut u64) -> CUresult>,
    /// `cuDeviceGetGraphMemAttribute`
    of_graphs: Option<unsafe extern "C" fn(c_int, c_uint, *mut u64) -> CUresult>,
}

impl Questions {
    fn find() -> Self {
        Self {
            of_pool: function!(cuMemPoolGetAttribute: fn(u64, c_uint, *mut u64) -> CUresult),
            of_graphs: function!(cuDeviceGetGraphMemAttribute: fn(c_int, c_uint, *mut u64) -> CUresult),
        }
    }

    /// Reserved and used bytes of a pool that was not destroyed.
    fn usage(&self, known: &KnownPool) -> Option<(u64, u64)> {
        /// `CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT`, `…_USED_MEM_CURRENT`
        const OF_POOL: [c_uint; 2] = [5, 7];
        /// `CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT`, `…_USED_MEM_CURRENT`
        const OF_GRAPHS: [c_uint; 2] = [2, 0];
        let [mut reserved, mut used] = [0, 0];
        let places = [&raw mut reserved, &raw mut used].into_iter();
        // SAFETY: the pool was not destroyed, and each place has the size of these attributes.
        let is_told = unsafe {
            if known.pool == GRAPHS {
                let (ask, device) = (self.of_graphs?, known.device.into());
                places
                    .zip(OF_GRAPHS)
                    .all(|(place, attribute)| ask(device, attribute, place) == SUCCESS)
            } else {
                let ask = self.of_pool?;
                places
                    .zip(OF_POOL)
                    .all(|(place, attribute)| ask(known.pool, attribute, place) == SUCCESS)
            }
        };
        is_told.then_some((reserved, used))
    }
}

/// The default pool of `cuMemAllocAsync` on a device.
fn default_of(device: i16) -> Option<u64> {
    let get = function!(cuDeviceGetDefaultMemPool: fn(*mut u64, c_int) -> CUresult)?;
    let mut pool = 0;
    // SAFETY: the out-pointer is valid.
    (unsafe { get(&raw mut pool, device.into()) } == SUCCESS).then_some(pool)
}
