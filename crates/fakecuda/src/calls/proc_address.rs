//! `cuGetProcAddress`: looks up functions by name without suffix, version of the interface, and kind of default
//! stream.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::entry::{Answer, result, write_optional, write_out};

/// Flag: prefer the variants with a default stream per thread.
const PER_THREAD: u64 = 2;
/// `CU_GET_PROC_ADDRESS_SUCCESS`, `…_SYMBOL_NOT_FOUND`, `…_VERSION_NOT_SUFFICIENT`.
const FOUND: c_int = 0;
const NOT_FOUND: c_int = 1;
const TOO_OLD: c_int = 2;

/// First version of CUDA in which a name means the function with this suffix, if that is not 3.2.
const SINCE: [(&str, c_int); 34] = [
    ("cuCtxDestroy_v2", 4000),
    ("cuCtxPopCurrent_v2", 4000),
    ("cuCtxPushCurrent_v2", 4000),
    ("cuStreamDestroy_v2", 4000),
    ("cuEventDestroy_v2", 4000),
    ("cuMemHostRegister_v2", 6050),
    ("cuStreamBeginCapture_v2", 10010),
    ("cuDevicePrimaryCtxRelease_v2", 11000),
    ("cuDevicePrimaryCtxReset_v2", 11000),
    ("cuDevicePrimaryCtxSetFlags_v2", 11000),
    ("cuGraphInstantiate_v2", 11000),
    ("cuIpcOpenMemHandle_v2", 11000),
    ("cuStreamGetCaptureInfo_v2", 11030),
    ("cuCtxCreate_v3", 11040),
    ("cuDeviceGetUuid_v2", 11040),
    ("cuGetProcAddress_v2", 12000),
    ("cuMemAdvise_v2", 12020),
    ("cuMemPrefetchAsync_v2", 12020),
    ("cuStreamGetCaptureInfo_v3", 12030),
    ("cuCtxCreate_v4", 12050),
    ("cuEventElapsedTime_v2", 12080),
    ("cuStreamWaitValue32_v2", 11070),
    ("cuStreamWriteValue32_v2", 11070),
    ("cuGraphAddKernelNode_v2", 12000),
    ("cuGraphExecUpdate_v2", 12000),
    ("cuGraphAddNode_v2", 12030),
    ("cuGraphAddNode_v3", 13020),
    ("cuStreamUpdateCaptureDependencies_v2", 12030),
    ("cuStreamGetCtx_v2", 12050),
    ("cuCtxGetDevice_v2", 13000),
    ("cuCtxSynchronize_v2", 13000),
    ("cuLaunchHostFunc_v2", 13000),
    ("cuMemcpy3DBatchAsync_v2", 13000),
    ("cuMemcpyBatchAsync_v2", 13000),
];

driver! {
    fn cuGetProcAddress(name: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64) {
        find(name, function, version, flags, std::ptr::null_mut())
    }

    fn cuGetProcAddress_v2, cuGetProcAddress_v2_ptsz(
        name: *const c_char, function: *mut *mut c_void, version: c_int, flags: u64, status: *mut c_int,
    ) {
        find(name, function, version, flags, status)
    }

    /// Private tables, which the CUDA runtime library requires. It gives up here.
    fn cuGetExportTable(_table: *mut *const c_void, _id: *const [u8; 16]) {
        Err(result::NOT_FOUND)
    }
}

fn find(
    name: *const c_char,
    function: *mut *mut c_void,
    version: c_int,
    flags: u64,
    status: *mut c_int,
) -> Answer {
    if name.is_null() {
        return Err(result::INVALID_VALUE);
    }
    // SAFETY: not null, and a C string by the caller's promise.
    let name = unsafe { CStr::from_ptr(name) }.to_str();
    let name = name.map_err(|_not_ours| result::INVALID_VALUE)?;
    match look_up(name, version, flags & PER_THREAD != 0) {
        Ok(found) => {
            write_optional(status, FOUND);
            write_out(function, found.cast_mut())
        }
        Err(why) => {
            write_optional(status, why);
            write_out(function, std::ptr::null_mut())?;
            Err(result::NOT_FOUND)
        }
    }
}

/// The newest variant of `name` that `version` knows.
fn look_up(name: &str, version: c_int, per_thread: bool) -> Result<*const c_void, c_int> {
    let functions = functions();
    let streams: &[&str] = if per_thread {
        &["_ptsz", "_ptds", ""]
    } else {
        &[""]
    };
    let mut is_known = false;
    for suffix in ["_v4", "_v3", "_v2", ""] {
        let base = format!("{name}{suffix}");
        for stream in streams {
            let Some(&address) = functions.get(format!("{base}{stream}").as_str()) else {
                continue;
            };
            is_known = true;
            if since(&base, suffix) <= version {
                return Ok(address as *const c_void);
            }
        }
    }
    Err(if is_known { TOO_OLD } else { NOT_FOUND })
}

fn since(name: &str, suffix: &str) -> c_int {
    let known = SINCE.iter().find(|(known, _)| *known == name);
    match known {
        Some((_, version)) => *version,
        None if suffix.is_empty() => 2000,
        None => 3020,
    }
}

/// The driver's own list, as `dlsym` may be interposed.
fn functions() -> &'static BTreeMap<&'static str, usize> {
    static FUNCTIONS: OnceLock<BTreeMap<&'static str, usize>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| {
        let functions = super::tables().into_iter();
        functions
            .map(|(name, address)| (name, address as usize))
            .collect()
    })
}
