//! Memory pools: when they gave memory back to the device.
//!
//! No call says so. By default a pool is trimmed whenever a stream, event or context is synchronised and more is free in
//! it than its threshold. So pools are asked after synchronisations that follow a free, and a few times more, for what was
//! freed may still have been in use the first time.

use std::ffi::{c_int, c_uint};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};

use vramscope_record::layout::{Call, Event, Kind, Pool, SUCCESS};

use super::{CUresult, capturing, entry, events};
use crate::driver::function;
use crate::log;

/// Synchronisations after a free that are looked at.
const LOOKS: u32 = 8;

/// Synchronisations that are still to be looked at.
static LEFT: AtomicU32 = AtomicU32::new(0);
/// A pool that is known, mostly the only one; 0 if there is none.
static LAST: AtomicU64 = AtomicU64::new(0);
/// Pools that memory was allocated from. Whoever asks a pool holds the lock, so that none is asked that was destroyed.
static POOLS: RwLock<Vec<Known>> = RwLock::new(Vec::new());

struct Known {
    pool: u64,
    device: i16,
    is_default: bool,
    /// What was written down last.
    reserved_bytes: AtomicU64,
    used_bytes: AtomicU64,
}

/// Memory was allocated from a pool, which is written down when it is new.
#[inline]
pub(super) fn seen(pool: u64, device: i16) {
    if LAST.load(Ordering::Relaxed) != pool {
        find(pool, device);
    }
}

#[cold]
fn find(pool: u64, device: i16) {
    let pools = POOLS.read().unwrap_or_else(PoisonError::into_inner);
    let is_known = pools.iter().any(|known| known.pool == pool);
    drop(pools);
    if !is_known {
        let (ask, is_default) = (ask(), default_of(device) == Some(pool));
        let mut pools = POOLS.write().unwrap_or_else(PoisonError::into_inner);
        if pools.iter().all(|known| known.pool != pool) {
            let known = Known {
                pool,
                device,
                is_default,
                reserved_bytes: AtomicU64::new(0),
                used_bytes: AtomicU64::new(0),
            };
            if let Some(ask) = ask {
                known.look(ask, true);
            }
            pools.push(known);
        }
    }
    LAST.store(pool, Ordering::Relaxed);
}

/// Forgets pools that are about to end: those of which `is_ending` says so by number and device.
pub(super) fn forget(is_ending: impl Fn(u64, i16) -> bool) {
    let mut pools = POOLS.write().unwrap_or_else(PoisonError::into_inner);
    pools.retain(|known| !is_ending(known.pool, known.device));
    let left = pools.first().map_or(0, |known| known.pool);
    LAST.store(left, Ordering::Relaxed);
}

/// Something is about to be freed.
#[inline]
pub(super) fn freed() {
    if LEFT.load(Ordering::Relaxed) <= LOOKS && LAST.load(Ordering::Relaxed) != 0 {
        LEFT.store(LOOKS + 1, Ordering::Relaxed);
    }
}

/// The device was waited for.
#[inline]
pub(super) fn synchronised() {
    if LEFT.load(Ordering::Relaxed) != 0 {
        look();
    }
}

/// After `cuMemPoolTrimTo`.
pub(super) fn trimmed(pool: u64, keep: usize) -> impl FnOnce(CUresult) {
    move |result| {
        if result == SUCCESS && log::is_recording() {
            events::made(Event {
                pool,
                size_bytes: keep as u64,
                ..entry::blank(Call::cuMemPoolTrimTo)
            });
            LEFT.store(LOOKS + 1, Ordering::Relaxed);
            look();
        }
    }
}

#[cold]
fn look() {
    let before = LEFT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
        left.checked_sub(1)
    });
    let (Ok(before), Some(ask)) = (before, ask()) else {
        return;
    };
    capturing::relaxed(|| {
        let pools = POOLS.read().unwrap_or_else(PoisonError::into_inner);
        for known in pools.iter() {
            known.look(ask, before > LOOKS);
        }
    });
}

impl Known {
    /// Asks what the pool holds, and writes it down if it must be or is something else than last time.
    fn look(&self, ask: Ask, must_write: bool) {
        /// `CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT`
        const RESERVED: c_uint = 5;
        /// `CU_MEMPOOL_ATTR_USED_MEM_CURRENT`
        const USED: c_uint = 7;
        let (Some(reserved_bytes), Some(used_bytes)) =
            (self.attribute(ask, RESERVED), self.attribute(ask, USED))
        else {
            return;
        };
        let was_reserved = self.reserved_bytes.swap(reserved_bytes, Ordering::Relaxed);
        let was_used = self.used_bytes.swap(used_bytes, Ordering::Relaxed);
        if must_write || was_reserved != reserved_bytes || was_used != used_bytes {
            let record = Pool {
                time_ns: log::now_ns(),
                pool: self.pool,
                reserved_bytes,
                used_bytes,
                device: self.device,
                is_default: self.is_default.into(),
                thread: log::thread(),
            };
            log::put(Kind::Pool, &[&record.to_bytes()]);
        }
    }

    fn attribute(&self, ask: Ask, attribute: c_uint) -> Option<u64> {
        let mut value = 0;
        // SAFETY: a pool that was not destroyed, and a place as wide as these attributes.
        (unsafe { ask(self.pool, attribute, &raw mut value) } == SUCCESS).then_some(value)
    }
}

/// `cuMemPoolGetAttribute`
type Ask = unsafe extern "C" fn(u64, c_uint, *mut u64) -> CUresult;

/// To be looked up before [`POOLS`] is locked: the dynamic linker has a lock of its own, which a thread may hold that
/// runs a library's constructor and waits for ours.
fn ask() -> Option<Ask> {
    function!(cuMemPoolGetAttribute: fn(u64, c_uint, *mut u64) -> CUresult)
}

/// The pool that `cuMemAllocAsync` takes from unless told otherwise.
fn default_of(device: i16) -> Option<u64> {
    let get = function!(cuDeviceGetDefaultMemPool: fn(*mut u64, c_int) -> CUresult)?;
    let mut pool = 0;
    // SAFETY: a place for the answer.
    (unsafe { get(&raw mut pool, device.into()) } == SUCCESS).then_some(pool)
}
