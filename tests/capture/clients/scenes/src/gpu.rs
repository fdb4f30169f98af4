//! Convenient access to the driver's functions: checks results and returns addresses.

use std::ptr::null_mut;

use crate::driver::{Cuda, Handle};

/// `CUDA_SUCCESS`.
pub(crate) const OK: u32 = 0;

/// The first device, with its primary context current.
#[derive(Clone, Copy)]
pub(crate) struct Gpu {
    pub(crate) cuda: Cuda,
    pub(crate) context: Handle,
    /// The device's default pool; null if it has none.
    pub(crate) pool: Handle,
}

// SAFETY: handles may be used from any thread.
unsafe impl Send for Gpu {}
// SAFETY: as above; nothing here changes.
unsafe impl Sync for Gpu {}

/// Calls a function of the driver and checks its result.
macro_rules! call {
    ($gpu:expr, $name:ident ($($argument:expr),*) => $wanted:expr) => {{
        // SAFETY: the scenes pass pointers that are valid during the call.
        let result = unsafe { ($gpu.cuda.$name)($($argument),*) };
        let wanted: u32 = $wanted;
        $crate::gpu::expect(
            result == wanted,
            &format!("{} in line {}: {result} instead of {wanted}", stringify!($name), line!()),
        );
    }};
    ($gpu:expr, $name:ident ($($argument:expr),*)) => {
        $crate::gpu::call!($gpu, $name($($argument),*) => $crate::gpu::OK)
    };
}

pub(crate) use call;

/// Checks the stand-in driver's behaviour. A real driver may differ: with `SCENES_GO_ON` set, the difference is printed
/// and the scene continues.
///
/// # Panics
///
/// If it is false.
pub(crate) fn expect(is_so: bool, what: &str) {
    if is_so {
        return;
    }
    assert!(std::env::var_os("SCENES_GO_ON").is_some(), "{what}");
    eprintln!("differs: {what}");
}

impl Gpu {
    pub(crate) fn new(cuda: Cuda) -> Self {
        let mut gpu = Self {
            cuda,
            context: null_mut(),
            pool: null_mut(),
        };
        call!(gpu, cuInit(0));
        call!(gpu, cuDevicePrimaryCtxRetain(&raw mut gpu.context, 0));
        gpu.enter();
        // SAFETY: the out-pointer is valid.
        let result = unsafe { (cuda.cuDeviceGetDefaultMemPool)(&raw mut gpu.pool, 0) };
        assert!(matches!(result, OK | 801), "default pool: {result}");
        gpu
    }

    /// Makes the context current on the calling thread.
    pub(crate) fn enter(&self) {
        call!(self, cuCtxSetCurrent(self.context));
    }

    pub(crate) fn alloc(&self, bytes: usize) -> u64 {
        let mut address = 0;
        call!(self, cuMemAlloc_v2(&raw mut address, bytes));
        address
    }

    pub(crate) fn free(&self, address: u64) {
        call!(self, cuMemFree_v2(address));
    }

    pub(crate) fn alloc_async(&self, bytes: usize, stream: Handle) -> u64 {
        let mut address = 0;
        call!(self, cuMemAllocAsync(&raw mut address, bytes, stream));
        address
    }

    pub(crate) fn alloc_from(&self, pool: Handle, bytes: usize) -> u64 {
        let mut address = 0;
        call!(
            self,
            cuMemAllocFromPoolAsync(&raw mut address, bytes, pool, null_mut())
        );
        address
    }

    pub(crate) fn free_async(&self, address: u64, stream: Handle) {
        call!(self, cuMemFreeAsync(address, stream));
    }

    pub(crate) fn stream(&self) -> Handle {
        let mut stream = null_mut();
        call!(self, cuStreamCreate(&raw mut stream, 0));
        stream
    }

    pub(crate) fn synchronise(&self) {
        call!(self, cuCtxSynchronize());
    }

    /// Creates a pool on a device.
    pub(crate) fn new_pool(&self, device: u64) -> Handle {
        self.new_pool_of(1, 1 | device << 32)
    }

    /// Creates a pool for memory of a type, at a location: its type and, in the upper half, its number.
    pub(crate) fn new_pool_of(&self, kind: u64, location: u64) -> Handle {
        let mut properties = [0_u64; 11];
        properties[0] = kind; // no shareable handles
        properties[1] = location;
        let mut pool = null_mut();
        call!(self, cuMemPoolCreate(&raw mut pool, &raw const properties));
        pool
    }

    /// Creates physical memory on a device.
    pub(crate) fn physical(&self, bytes: usize, device: u64) -> u64 {
        let properties = [1, 1 | device << 32, 0, 0];
        let mut handle = 0;
        call!(
            self,
            cuMemCreate(&raw mut handle, bytes, &raw const properties, 0)
        );
        handle
    }
}
