//! The driver's functions as a table, for programs that find them in different ways.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

/// A stream, context, pool or other opaque handle.
pub type Handle = *mut c_void;

/// `CUhostFn`
pub type HostFunction = unsafe extern "C" fn(*mut c_void);

/// Calls `$then!` with the functions that the scenes use: name, base name for `cuGetProcAddress`, argument types.
#[macro_export]
macro_rules! with_functions {
    ($then:path) => {
        $then! {
            cuInit "cuInit" (u32);
            cuDevicePrimaryCtxRetain "cuDevicePrimaryCtxRetain" (*mut Handle, i32);
            cuDevicePrimaryCtxRelease_v2 "cuDevicePrimaryCtxRelease" (i32);
            cuDevicePrimaryCtxReset_v2 "cuDevicePrimaryCtxReset" (i32);
            cuCtxCreate_v2 "cuCtxCreate" (*mut Handle, u32, i32);
            cuCtxDestroy_v2 "cuCtxDestroy" (Handle);
            cuCtxDestroy "cuCtxDestroy" (Handle);
            cuDevicePrimaryCtxRelease "cuDevicePrimaryCtxRelease" (i32);
            cuDevicePrimaryCtxReset "cuDevicePrimaryCtxReset" (i32);
            cuIpcOpenMemHandle "cuIpcOpenMemHandle" (*mut u64, IpcHandle, u32);
            cuMemHostRegister "cuMemHostRegister" (*mut c_void, usize, u32);
            cuCtxSetCurrent "cuCtxSetCurrent" (Handle);
            cuCtxSynchronize "cuCtxSynchronize" ();
            cuStreamCreate "cuStreamCreate" (*mut Handle, u32);
            cuStreamDestroy_v2 "cuStreamDestroy" (Handle);
            cuStreamSynchronize "cuStreamSynchronize" (Handle);
            cuStreamBeginCapture_v2 "cuStreamBeginCapture" (Handle, u32);
            cuStreamEndCapture "cuStreamEndCapture" (Handle, *mut Handle);
            cuLaunchHostFunc "cuLaunchHostFunc" (Handle, HostFunction, *mut c_void);
            cuGraphCreate "cuGraphCreate" (*mut Handle, u32);
            cuDeviceGraphMemTrim "cuDeviceGraphMemTrim" (i32);
            cuGraphDestroy "cuGraphDestroy" (Handle);
            cuGraphAddMemAllocNode "cuGraphAddMemAllocNode" (*mut Handle, Handle, *const Handle, usize, *mut [u64; 15]);
            cuGraphAddMemFreeNode "cuGraphAddMemFreeNode" (*mut Handle, Handle, *const Handle, usize, u64);
            cuGraphInstantiateWithFlags "cuGraphInstantiateWithFlags" (*mut Handle, Handle, u64);
            cuGraphExecDestroy "cuGraphExecDestroy" (Handle);
            cuGraphLaunch "cuGraphLaunch" (Handle, Handle);
            cuMemAlloc_v2 "cuMemAlloc" (*mut u64, usize);
            cuMemAllocPitch_v2 "cuMemAllocPitch" (*mut u64, *mut usize, usize, usize, u32);
            cuMemAllocManaged "cuMemAllocManaged" (*mut u64, usize, u32);
            cuMemFree_v2 "cuMemFree" (u64);
            cuMemAllocAsync "cuMemAllocAsync" (*mut u64, usize, Handle);
            cuMemAllocFromPoolAsync "cuMemAllocFromPoolAsync" (*mut u64, usize, Handle, Handle);
            cuMemFreeAsync "cuMemFreeAsync" (u64, Handle);
            cuMemPoolCreate "cuMemPoolCreate" (*mut Handle, *const [u64; 11]);
            cuMemPoolDestroy "cuMemPoolDestroy" (Handle);
            cuMemPoolTrimTo "cuMemPoolTrimTo" (Handle, usize);
            cuMemPoolSetAttribute "cuMemPoolSetAttribute" (Handle, u32, *mut u64);
            cuMemPoolExportPointer "cuMemPoolExportPointer" (*mut [u64; 8], u64);
            cuMemPoolImportPointer "cuMemPoolImportPointer" (*mut u64, Handle, *const [u64; 8]);
            cuDeviceGetDefaultMemPool "cuDeviceGetDefaultMemPool" (*mut Handle, i32);
            cuMemHostAlloc "cuMemHostAlloc" (*mut *mut c_void, usize, u32);
            cuMemAllocHost_v2 "cuMemAllocHost" (*mut *mut c_void, usize);
            cuMemFreeHost "cuMemFreeHost" (*mut c_void);
            cuMemHostRegister_v2 "cuMemHostRegister" (*mut c_void, usize, u32);
            cuMemHostUnregister "cuMemHostUnregister" (*mut c_void);
            cuMemAddressReserve "cuMemAddressReserve" (*mut u64, usize, usize, u64, u64);
            cuMemAddressFree "cuMemAddressFree" (u64, usize);
            cuMemCreate "cuMemCreate" (*mut u64, usize, *const [u64; 4], u64);
            cuMemRelease "cuMemRelease" (u64);
            cuMemMap "cuMemMap" (u64, usize, usize, u64, u64);
            cuMemUnmap "cuMemUnmap" (u64, usize);
            cuMemRetainAllocationHandle "cuMemRetainAllocationHandle" (*mut u64, *mut c_void);
            cuMulticastCreate "cuMulticastCreate" (*mut u64, *const [u64; 4]);
            cuMemSetAccess "cuMemSetAccess" (u64, usize, *const [u32; 3], usize);
            cuMemExportToShareableHandle "cuMemExportToShareableHandle" (*mut c_void, u64, i32, u64);
            cuMemImportFromShareableHandle "cuMemImportFromShareableHandle" (*mut u64, *mut c_void, i32);
            cuIpcGetMemHandle "cuIpcGetMemHandle" (*mut IpcHandle, u64);
            cuIpcOpenMemHandle_v2 "cuIpcOpenMemHandle" (*mut u64, IpcHandle, u32);
            cuIpcCloseMemHandle "cuIpcCloseMemHandle" (u64);
            cuImportExternalMemory "cuImportExternalMemory" (*mut Handle, *const [u64; 13]);
            cuExternalMemoryGetMappedBuffer "cuExternalMemoryGetMappedBuffer" (*mut u64, Handle, *const [u64; 11]);
            cuArrayCreate_v2 "cuArrayCreate" (*mut Handle, *const [u64; 3]);
            cuArrayDestroy "cuArrayDestroy" (Handle);
            cuMemsetD8_v2 "cuMemsetD8" (u64, u8, usize);
            cuMemcpyDtoH_v2 "cuMemcpyDtoH" (*mut c_void, u64, usize);
        }
    };
}

/// `CUipcMemHandle`, passed by value.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct IpcHandle(pub [u64; 8]);

macro_rules! table {
    ($($name:ident $base:literal ($($type:ty),*);)*) => {
        /// A pointer to each function.
        #[derive(Clone, Copy)]
        #[expect(non_snake_case, reason = "the driver's own names")]
        pub struct Cuda {
            $(
                #[doc = $base]
                pub $name: unsafe extern "C" fn($($type),*) -> u32,
            )*
        }

        impl Cuda {
            /// Looks up each function by its name and its base name.
            fn by(find: impl Fn(&str, &str) -> *mut c_void) -> Self {
                Self {
                    $( $name: {
                        let found = find(stringify!($name), $base);
                        assert!(!found.is_null(), "no {}", stringify!($name));
                        // SAFETY: the driver's function of this name has this signature.
                        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($type),*) -> u32>(found) }
                    }, )*
                }
            }
        }
    };
}

with_functions!(table);

impl Cuda {
    /// Finds the functions as cudarc does: `dlopen`, `dlsym`.
    #[must_use]
    pub fn by_dlsym() -> Self {
        let library = library();
        Self::by(|name, _| symbol(library, name))
    }

    /// Finds the functions as the runtime library does: `cuGetProcAddress_v2` for all of them, with names without
    /// suffix. `flags` 2 requests per-thread default streams.
    #[must_use]
    pub fn by_get_proc_address(flags: u64) -> Self {
        type Find =
            unsafe extern "C" fn(*const c_char, *mut *mut c_void, c_int, u64, *mut c_int) -> u32;
        let first = symbol(library(), "cuGetProcAddress_v2");
        assert!(!first.is_null(), "no cuGetProcAddress_v2");
        let by = |find: *mut c_void, name: &str| {
            // SAFETY: both are `cuGetProcAddress_v2`.
            let find: Find = unsafe { std::mem::transmute(find) };
            let name = CString::new(name).expect("no zeros in names");
            // Later contexts are created with other arguments.
            let version = if name.as_c_str() == c"cuCtxCreate" {
                4000
            } else {
                12080
            };
            let (mut found, mut status) = (std::ptr::null_mut(), -1);
            // SAFETY: the out-pointers are valid.
            let result = unsafe {
                find(
                    name.as_ptr(),
                    &raw mut found,
                    version,
                    flags,
                    &raw mut status,
                )
            };
            assert_eq!((result, status), (0, 0), "{name:?}");
            found
        };
        // The runtime library also looks up `cuGetProcAddress` itself.
        let second = by(first, "cuGetProcAddress");
        Self::by(|_, base| by(second, base))
    }
}

pub(crate) fn library() -> *mut c_void {
    // SAFETY: a C string.
    let library =
        unsafe { libc::dlopen(c"libcuda.so.1".as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
    assert!(!library.is_null(), "no libcuda.so.1");
    library
}

/// A driver function that is not in [`Cuda`]. `None` if the driver does not have it either.
///
/// # Safety
///
/// `F` must be the type of this function.
#[must_use]
pub unsafe fn function<F: Copy>(name: &str) -> Option<F> {
    let found = symbol(library(), name);
    // SAFETY: as the caller promises; pointers to functions have this size.
    (!found.is_null()).then(|| unsafe { std::mem::transmute_copy(&found) })
}

pub(crate) fn symbol(library: *mut c_void, name: &str) -> *mut c_void {
    let name = CString::new(name).expect("no zeros in names");
    let name: &CStr = &name;
    // SAFETY: an open library, and a C string.
    unsafe { libc::dlsym(library, name.as_ptr()) }
}
