//! Errors without an allocator's figures: the driver's own, those of its libraries, llama.cpp's and TensorFlow's.

use memchr::memmem;

use super::Found;
use crate::cursor::Cursor;
use crate::record::{Api, Failure, Form};

/// Errors of drivers and their libraries, without white space, and whose.
const ERRORS: [(&str, Api, &str); 18] = [
    (
        "CUDAerror:outofmemory",
        Api::Cuda,
        "CUDA error: out of memory",
    ),
    (
        "CUDAdrivererror:outofmemory",
        Api::Cuda,
        "CUDA driver error: out of memory",
    ),
    (
        "cudaruntimeerror(2):outofmemory",
        Api::Cuda,
        "cuda runtime error (2): out of memory",
    ),
    (
        "cudaruntimeerr(2):outofmemory",
        Api::Cuda,
        "cuda runtime error (2): out of memory",
    ),
    (
        "CUDA_ERROR_OUT_OF_MEMORY",
        Api::Cuda,
        "CUDA_ERROR_OUT_OF_MEMORY",
    ),
    (
        "cudaErrorMemoryAllocation",
        Api::Cuda,
        "cudaErrorMemoryAllocation",
    ),
    (
        "cudaMallocfailed:outofmemory",
        Api::Cuda,
        "cudaMalloc failed: out of memory",
    ),
    (
        "CUDAoutofmemoryoccurred",
        Api::Cuda,
        "CUDA out of memory occurred",
    ),
    (
        "Cudafailure2'outofmemory'",
        Api::Cuda,
        "NCCL: Cuda failure 2 'out of memory'",
    ),
    // JAX at run time, and CuPy.
    (
        "Outofmemoryallocating",
        Api::Other,
        "Out of memory allocating",
    ),
    (
        "ErrorOutOfDeviceMemory",
        Api::Other,
        "Vulkan: ErrorOutOfDeviceMemory",
    ),
    (
        "CUBLAS_STATUS_ALLOC_FAILED",
        Api::Cuda,
        "CUBLAS_STATUS_ALLOC_FAILED",
    ),
    (
        "CUDNN_STATUS_ALLOC_FAILED",
        Api::Cuda,
        "CUDNN_STATUS_ALLOC_FAILED",
    ),
    (
        "CUSOLVER_STATUS_ALLOC_FAILED",
        Api::Cuda,
        "CUSOLVER_STATUS_ALLOC_FAILED",
    ),
    ("hipErrorOutOfMemory", Api::Hip, "hipErrorOutOfMemory"),
    ("HIPerror:outofmemory", Api::Hip, "HIP error: out of memory"),
    (
        "HIPBLAS_STATUS_ALLOC_FAILED",
        Api::Hip,
        "HIPBLAS_STATUS_ALLOC_FAILED",
    ),
    (
        "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
        Api::Xpu,
        "UR_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
    ),
];

/// An error of a driver in one line.
pub(crate) fn find(line: &[u8]) -> Option<Found> {
    const ADDRESSES: &[u8] = b"[ExpandableSegmentVA]";
    if let Some(start) = memmem::find(line, ADDRESSES) {
        return Some(Found {
            start,
            end: start + ADDRESSES.len(),
            failure: Failure::new(Api::Other, Form::Addresses),
        });
    }
    let found = ERRORS.iter().filter_map(|&(word, api, words)| {
        let at = memmem::find(line, word.as_bytes())?;
        Some((at, word, api, words))
    });
    let (at, word, api, words) = found.min_by_key(|&(at, ..)| at)?;
    let mut failure = Failure::new(api, Form::Driver);
    failure.words = words.to_owned();
    // TensorFlow: `failed to allocate 2.53G (2715310336 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY`
    if let Some(mut cursor) = Cursor::behind(line, "failedtoallocate") {
        cursor.seek("(", 16);
        failure.requested = cursor.figure();
    }
    if let Some(mut cursor) = Cursor::behind(line, "Outofmemoryallocating") {
        failure.requested = cursor.figure();
    }
    Some(Found {
        start: at,
        end: at + word.len(),
        failure,
    })
}

/// `allocating 9866.00 MiB on device 1: cudaMalloc failed: out of memory`, with what llama.cpp told of the device before.
pub(crate) fn find_ggml(line: &[u8]) -> Option<Found> {
    const END: &str = "cudaMallocfailed:outofmemory";
    let end = memmem::find(line, END.as_bytes())?;
    let start = memmem::rfind(&line[..end], b"allocating")?;
    let mut cursor = Cursor::new(&line[..end + END.len()]);
    cursor.at = start;
    let mut failure = Failure::new(Api::Cuda, Form::Ggml);
    cursor.eat("allocating")?;
    failure.requested = Some(cursor.figure()?);
    cursor.eat("ondevice")?;
    failure.device = Some(cursor.number()?);
    failure.words = "cudaMalloc failed: out of memory".to_owned();
    Some(Found {
        start,
        end: end + END.len(),
        failure,
    })
}

/// What llama.cpp says of a device before it loads: `using device CUDA0 (…) - 23871 MiB free`.
pub(crate) fn ggml_free(before: &[u8], device: u64) -> Option<crate::figure::Figure> {
    let head = format!("usingdeviceCUDA{device}(");
    let at = memmem::rfind(before, head.as_bytes())?;
    let mut cursor = Cursor::new(before);
    cursor.at = at;
    cursor.seek(")", 200)?;
    // Newer versions name the bus as well: `(0000:01:00.0)`.
    if cursor.eat("(").is_some() {
        cursor.seek(")", 32)?;
    }
    cursor.eat("-")?;
    let free = cursor.figure()?;
    cursor.eat("free")?;
    Some(free)
}
