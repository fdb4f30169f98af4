//! Names and descriptions of errors.

use std::ffi::{CStr, c_char, c_uint};

use crate::entry::{result, write_out};

/// Number, name and description.
const ERRORS: [(u32, &CStr, &CStr); 14] = [
    (0, c"CUDA_SUCCESS", c"no error"),
    (1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (2, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (3, c"CUDA_ERROR_NOT_INITIALIZED", c"initialization error"),
    (101, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (
        201,
        c"CUDA_ERROR_INVALID_CONTEXT",
        c"invalid device context",
    ),
    (
        400,
        c"CUDA_ERROR_INVALID_HANDLE",
        c"invalid resource handle",
    ),
    (500, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (
        709,
        c"CUDA_ERROR_CONTEXT_IS_DESTROYED",
        c"context is destroyed",
    ),
    (
        712,
        c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
        c"part or all of the requested memory range is already mapped",
    ),
    (
        713,
        c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED",
        c"pointer does not correspond to a registered memory region",
    ),
    (801, c"CUDA_ERROR_NOT_SUPPORTED", c"operation not supported"),
    (
        901,
        c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
        c"operation failed due to a previous error during capture",
    ),
    (999, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
];

driver! {
    fn cuGetErrorName(error: c_uint, name: *mut *const c_char) {
        let known = ERRORS.iter().find(|known| known.0 == error);
        write_out(name, known.ok_or(result::INVALID_VALUE)?.1.as_ptr())
    }

    fn cuGetErrorString(error: c_uint, text: *mut *const c_char) {
        let known = ERRORS.iter().find(|known| known.0 == error);
        write_out(text, known.ok_or(result::INVALID_VALUE)?.2.as_ptr())
    }
}
