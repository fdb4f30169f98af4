//! Errors without an allocator's figures: those of the driver, its libraries and other frameworks.

use memchr::memmem;

use super::Found;
use crate::cursor::Cursor;
use crate::figure::Figure;
use crate::record::{Api, Failure, Form};

/// ComfyUI's message after an error, which may not have been pasted.
pub(crate) const GOT_AN_OOM: &str = "Got an OOM";

/// Errors of drivers and their libraries, without white space, and the interface they belong to.
const ERRORS: [(&str, Api, &str); 23] = [
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
    // ComfyUI, which prints no more of cudaMallocAsync's message.
    ("Allocationondevice", Api::Cuda, "Allocation on device"),
    ("GotanOOM,unloadingallloadedmodels", Api::Cuda, GOT_AN_OOM),
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
    ("HIP_ERROR_OutOfMemory", Api::Hip, "HIP_ERROR_OutOfMemory"),
    (
        "kIOGPUCommandBufferCallbackErrorOutOfMemory",
        Api::Mps,
        "Metal: Insufficient Memory",
    ),
    ("HIPerror:outofmemory", Api::Hip, "HIP error: out of memory"),
    (
        "ROCmerror:outofmemory",
        Api::Hip,
        "ROCm error: out of memory",
    ),
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

/// vLLM's message after an error in its first run.
pub(crate) const WARM_UP: &str = "vLLM: out of memory in the first run with dummy requests";

/// An error of a driver on one line; `after` is the text that follows.
pub(crate) fn find(line: &[u8], after: &[u8]) -> Option<Found> {
    const ADDRESSES: &[u8] = b"[ExpandableSegmentVA]";
    // Pinned memory is the computer's.
    if memmem::find(line, b"bytesonhost:").is_some() {
        return None;
    }
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
    let Some((at, word, api, words)) = found.min_by_key(|&(at, ..)| at) else {
        return find_runtime(line);
    };
    let end = at + word.len();
    let mut failure = Failure::new(api, Form::Driver);
    failure.words = words.to_owned();
    if line[end..].starts_with(b"whenwarmingup") {
        WARM_UP.clone_into(&mut failure.words);
    }
    if let Some(mut cursor) = Cursor::behind(line, "Outofmemoryallocating") {
        failure.requested = cursor.figure();
    }
    add_ggml_place(after, &mut failure);
    Some(Found {
        start: at,
        end,
        failure,
    })
}

/// ggml prints where it was, and the call: `current device: 0, in function alloc at …/ggml-cuda.cu:233`, `hipMalloc(…)`. Its
/// name of the interface is NVIDIA's also where it was built for AMD.
fn add_ggml_place(after: &[u8], failure: &mut Failure) {
    let mut cursor = Cursor::new(after);
    if cursor.eat("currentdevice:").is_none() {
        return;
    }
    failure.device = cursor.number();
    let call = memmem::find(after, b".cu:").map_or(&[][..], |at| &after[at..]);
    let call = &call[..call.len().min(40)];
    if memmem::find(call, b"hip").is_some() {
        failure.api = Api::Hip;
    }
}

/// TensorRT-LLM: `CUDA runtime error in ::cudaMallocAsync(ptr, n, mCudaStream->get()): out of memory`
fn find_runtime(line: &[u8]) -> Option<Found> {
    const HEAD: &str = "CUDAruntimeerrorin";
    let mut cursor = Cursor::behind(line, HEAD)?;
    let start = cursor.at - HEAD.len();
    cursor.seek("):outofmemory", 200)?;
    let mut failure = Failure::new(Api::Cuda, Form::Driver);
    failure.words = "CUDA runtime error: out of memory".to_owned();
    Some(Found::up_to(&cursor, start, failure))
}

/// The words of an error of TensorFlow or XLA that took memory from the driver. They then try again with a tenth less.
pub(crate) const FROM_DEVICE: [&str; 2] = [
    "TensorFlow: the driver had no memory",
    "XLA: the driver had no memory",
];

/// `failed to allocate 2.53G (2715310336 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY`, on AMD's devices `HIP_ERROR_OutOfMemory`
/// or the error's number.
fn find_from_device(line: &[u8]) -> Option<Found> {
    const HEAD: &str = "failedtoallocate";
    let mut cursor = Cursor::behind(line, HEAD)?;
    let start = cursor.at - HEAD.len();
    cursor.seek("(", 16)?;
    let requested = cursor.figure()?;
    cursor.eat(")fromdevice:")?;
    let api = match cursor.eat("CUDA_ERROR_OUT_OF_MEMORY") {
        Some(()) => Api::Cuda,
        None => {
            cursor.any(&[
                "HIP_ERROR_OutOfMemory",
                "hipErrorOutOfMemory",
                "hipError_t(1002)",
            ])?;
            Api::Hip
        }
    };
    let mut failure = Failure::new(api, Form::Other);
    failure.requested = Some(requested);
    let is_tensorflow = memmem::find(&line[..start], b"tensorflow/").is_some();
    failure.words = FROM_DEVICE[usize::from(!is_tensorflow)].to_owned();
    Some(Found::up_to(&cursor, start, failure))
}

/// Adds what TensorFlow printed about the device when it found it: `Total memory: 7.92GiB`, `Free memory: 190.31MiB`, in later
/// versions on one line.
pub(crate) fn add_tensorflow_free(before: &[u8], failure: &mut Failure) {
    for (total, free) in [
        ("Totalmemory:", "Freememory:"),
        ("totalMemory:", "freeMemory:"),
    ] {
        // Of several devices it is not known which one failed.
        let mut places = memmem::find_iter(before, total.as_bytes());
        let (Some(at), None) = (places.next(), places.next()) else {
            continue;
        };
        let mut cursor = Cursor::new(before);
        cursor.at = at + total.len();
        let total = cursor.figure();
        if cursor.eat(free).is_some() {
            failure.free = cursor.figure();
            failure.total = total;
        }
    }
}

/// Errors of other frameworks on one line, with their figures; `after` is the text that follows.
pub(crate) fn find_framework(line: &[u8], after: &[u8]) -> Option<Found> {
    // A terminal may have wrapped the figures of long ones.
    let text = [line, after].concat();
    let wrapped = |found: Option<Found>| {
        let found = found.filter(|found| found.start < line.len())?;
        let end = found.end.min(line.len());
        Some(Found { end, ..found })
    };
    [
        find_absurd(line),
        find_from_device(line),
        wrapped(find_tensor(&text)),
        find_bfc(line),
        wrapped(find_paddle(&text)),
        find_onnx(line, after),
        find_buffer(line, after),
        find_vulkan(line, after),
        find_metal(line),
    ]
    .into_iter()
    .flatten()
    .min_by_key(|found| found.start)
}

/// The message of a request that torch does not even print.
pub(crate) const ABSURD: &str = "Tried to allocate more than 1EB memory";

fn find_absurd(line: &[u8]) -> Option<Found> {
    const HEAD: &str = "Triedtoallocatemorethan1EBmemory";
    let cursor = Cursor::behind(line, HEAD)?;
    let mut failure = Failure::new(Api::Other, Form::Driver);
    failure.words = ABSURD.to_owned();
    Some(Found::up_to(&cursor, cursor.at - HEAD.len(), failure))
}

/// Types of TensorFlow and their bytes. Longer names come before their prefixes.
const TYPES: [(&str, u64); 16] = [
    ("float", 4),
    ("double", 8),
    ("half", 2),
    ("bfloat16", 2),
    ("uint16", 2),
    ("uint32", 4),
    ("uint64", 8),
    ("uint8", 1),
    ("int16", 2),
    ("int32", 4),
    ("int64", 8),
    ("int8", 1),
    ("bool", 1),
    ("complex64", 8),
    ("complex128", 16),
    ("variant", 0),
];

/// TensorFlow: `OOM when allocating tensor with shape[1024,4096] and type float on /job:…/device:GPU:0 by allocator GPU_0_bfc`
fn find_tensor(line: &[u8]) -> Option<Found> {
    const HEAD: &str = "OOMwhenallocatingtensorwithshape[";
    let mut cursor = Cursor::behind(line, HEAD)?;
    let start = cursor.at;
    let mut failure = Failure::new(Api::Other, Form::Other);
    let mut count = Some(1_u64);
    while let Some(side) = cursor.number() {
        count = count.and_then(|count| count.checked_mul(side));
        let _last = cursor.eat(",");
    }
    cursor.eat("]")?;
    let end = cursor.at;
    if cursor.eat("andtype").is_some()
        && let Some((_, bytes)) = TYPES.iter().find(|(name, _)| cursor.eat(name).is_some())
        // Otherwise it is the beginning of another type.
        && cursor.eat("on/").is_some()
    {
        let shape = String::from_utf8_lossy(&line[start..end - 1]).into_owned();
        let bytes = count.and_then(|count| count.checked_mul(*bytes));
        failure.requested = bytes.filter(|&bytes| bytes > 0).map(|bytes| Figure {
            bytes,
            off_bytes: 0,
            text: format!("shape [{shape}]"),
        });
    }
    // On the CPU it is the computer's memory.
    let rest = &cursor.rest()[..cursor.rest().len().min(120)];
    if memmem::find(rest, b"device:CPU").is_some() {
        return None;
    }
    if cursor.seek("device:GPU:", 100).is_some() {
        failure.device = cursor.number();
    }
    failure.words = "TensorFlow: OOM when allocating tensor".to_owned();
    Some(Found::up_to(&cursor, start - HEAD.len(), failure))
}

/// TensorFlow: `Allocator (GPU_0_bfc) ran out of memory trying to allocate 2.53GiB (rounded to 2715310336)`, in its first
/// versions `bfc_allocator.cc:275] Ran out of memory trying to allocate 8.00GiB`. Messages that say they are not a failure do
/// not count.
fn find_bfc(line: &[u8]) -> Option<Found> {
    const HEAD: &str = "anoutofmemorytryingtoallocate";
    let mut cursor = Cursor::behind(line, HEAD)?;
    let start = cursor.at;
    let names = |word: &str| memmem::find(&line[..start], word.as_bytes()).is_some();
    let is_of_gpu = names("Allocator(GPU_") || names("]Ran") && names("bfc_allocator.cc");
    if !is_of_gpu || memmem::find(line, b"notafailure").is_some() {
        return None;
    }
    let mut failure = Failure::new(Api::Other, Form::Other);
    failure.requested = Some(cursor.figure()?);
    failure.words = "TensorFlow: ran out of memory".to_owned();
    Some(Found::up_to(&cursor, start - HEAD.len(), failure))
}

/// Paddle: `Out of memory error on GPU 0. Cannot allocate 512.000000MB memory on GPU 0, 7.9GB memory has been allocated and
/// available memory is only 143.0MB.`
fn find_paddle(line: &[u8]) -> Option<Found> {
    const HEAD: &str = "OutofmemoryerroronGPU";
    let mut cursor = Cursor::behind(line, HEAD)?;
    let start = cursor.at;
    let mut failure = Failure::new(Api::Cuda, Form::Other);
    failure.device = cursor.number();
    cursor.eat(".Cannotallocate")?;
    failure.requested = Some(cursor.figure()?);
    let mut allocated = None;
    if cursor.seek("memoryonGPU", 8).is_some() {
        let _device = (cursor.number(), cursor.eat(","));
        allocated = cursor.figure();
    }
    if cursor.seek("availablememoryisonly", 120).is_some() {
        failure.free = cursor.figure();
    }
    // "Allocated" is all that is not available, whoever holds it: Paddle subtracts the two.
    let both = allocated.as_ref().zip(failure.free.as_ref());
    failure.total = both.map(|(allocated, free)| allocated.and(free));
    failure.words = "Paddle: out of memory".to_owned();
    Some(Found::up_to(&cursor, start - HEAD.len(), failure))
}

/// ONNX Runtime: `Failed to allocate memory for requested buffer of size 37748736`, and of its arena `Available memory of 0 is
/// smaller than requested bytes of 3221225472`.
fn find_onnx(line: &[u8], after: &[u8]) -> Option<Found> {
    let heads = [
        "Failedtoallocatememoryforrequestedbufferofsize",
        "issmallerthanrequestedbytesof",
    ];
    let (mut cursor, head) = heads
        .iter()
        .find_map(|head| Some((Cursor::behind(line, head)?, *head)))?;
    let start = cursor.at;
    // Its arena for the CPU has the same message.
    let names = |word: &[u8]| {
        [line, after]
            .iter()
            .any(|text| memmem::find(text, word).is_some())
    };
    let is_of_device = [&b"CUDA"[..], b"Cuda", b"cuda", b"GPU"]
        .into_iter()
        .any(names);
    let api = match is_of_device {
        true => Api::Cuda,
        false => Api::Other,
    };
    let mut failure = Failure::new(api, Form::Other);
    failure.requested = whole_number(&mut cursor, after);
    failure.words = "ONNX Runtime: no memory for a buffer".to_owned();
    Some(Found::up_to(&cursor, start - head.len(), failure))
}

/// A number of bytes, without a unit after it. If its line or the text ends with it, it may be cut off or continue on the
/// next line: only a word there shows that it is complete, or the last line's end.
pub(super) fn whole_number(cursor: &mut Cursor<'_>, after: &[u8]) -> Option<Figure> {
    let bytes = cursor.number()?;
    let next = cursor.rest().first().or(after.first())?;
    (!next.is_ascii_digit()).then(|| Figure::of_bytes(bytes))
}

/// ggml's names of devices, and their interfaces. AMD's devices may also have the interface's name, and Apple's have no
/// number in older versions.
const GGML_DEVICES: [(&str, Api); 7] = [
    ("CUDA", Api::Cuda),
    ("ROCm", Api::Hip),
    ("SYCL", Api::Xpu),
    ("CANN", Api::Npu),
    ("Metal", Api::Mps),
    ("MTL", Api::Mps),
    ("Vulkan", Api::Other),
];

/// The message for a buffer that Vulkan's driver does not allocate however much is free.
pub(crate) const TOO_LARGE_FOR_VULKAN: &str = "Vulkan: a buffer larger than one allocation may be";

/// llama.cpp: `ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 8753520640`
fn find_buffer(line: &[u8], after: &[u8]) -> Option<Found> {
    const HEAD: &str = "ggml_gallocr_reserve_n";
    let mut cursor = Cursor::behind(line, HEAD)?;
    let start = cursor.at - HEAD.len();
    let mut failure = ggml_failure();
    cursor.seek(":failedtoallocate", 8)?;
    if cursor.eat("CPU").is_some() {
        return None;
    }
    buffer_device(&mut cursor, &mut failure);
    // Pinned memory of the host, for copies to that device.
    if cursor.eat("_Host").is_some() {
        return None;
    }
    cursor.seek("bufferofsize", 24)?;
    failure.requested = whole_number(&mut cursor, after);
    Some(Found::up_to(&cursor, start, failure))
}

/// The message for a buffer of any other device, about which the log has nothing else.
const OF_UNKNOWN_DEVICE: &str = "a buffer of another device could not be allocated";

fn ggml_failure() -> Failure {
    let mut failure = Failure::new(Api::Other, Form::Ggml);
    failure.words = "a buffer could not be allocated".to_owned();
    failure
}

/// Reads `Vulkan0` in `failed to allocate Vulkan0 buffer`.
fn buffer_device(cursor: &mut Cursor<'_>, failure: &mut Failure) {
    let known = GGML_DEVICES.iter();
    let known = known.filter(|(name, _)| cursor.rest().starts_with(name.as_bytes()));
    if let Some(&(name, api)) = known.into_iter().next() {
        let _name = cursor.eat(name);
        failure.api = api;
        failure.device = cursor.number();
    } else {
        OF_UNKNOWN_DEVICE.clone_into(&mut failure.words);
    }
}

/// llama.cpp on Vulkan: `ggml_vulkan: Device memory allocation of size 3959422976 failed.`, and
/// `ggml_vulkan: Requested buffer size exceeds device memory allocation limit`, which means that no memory was requested at
/// all. Later lines name the device.
fn find_vulkan(line: &[u8], after: &[u8]) -> Option<Found> {
    const SIZE: &str = "ggml_vulkan:Devicememoryallocationofsize";
    const LIMIT: &str = "Requestedbuffersizeexceedsdevice";
    let mut failure = ggml_failure();
    let mut behind = Cursor::new(after);
    let tells_device = behind.seek("failedtoallocate", after.len()).is_some();
    if tells_device {
        buffer_device(&mut behind, &mut failure);
    }
    let limit = Cursor::behind(line, LIMIT);
    if limit.is_some() || memmem::find(after, LIMIT.as_bytes()).is_some() {
        failure.words = TOO_LARGE_FOR_VULKAN.to_owned();
    }
    if let Some(mut cursor) = Cursor::behind(line, SIZE) {
        let start = cursor.at - SIZE.len();
        failure.requested = whole_number(&mut cursor, after);
        cursor.eat("failed")?;
        return Some(Found::up_to(&cursor, start, failure));
    }
    let cursor = limit?;
    if tells_device && behind.seek("bufferofsize", 24).is_some() {
        failure.requested = whole_number(&mut behind, &[]);
    }
    Some(Found::up_to(&cursor, cursor.at - LIMIT.len(), failure))
}

/// llama.cpp on Apple's devices: `ggml_metal_buffer_init: error: failed to allocate buffer, size =  5120.00 MiB`; in
/// earlier versions the buffer has a name: `failed to allocate 'data            ' buffer`.
fn find_metal(line: &[u8]) -> Option<Found> {
    const HEAD: &str = "failedtoallocate";
    let mut cursor = Cursor::behind(line, HEAD)?;
    let start = cursor.at - HEAD.len();
    memmem::find(&line[..start], b"metal")?;
    cursor.seek("buffer,size=", 24)?;
    let mut failure = ggml_failure();
    failure.api = Api::Mps;
    failure.requested = cursor.figure();
    Some(Found::up_to(&cursor, start, failure))
}

/// `allocating 9866.00 MiB on device 1: cudaMalloc failed: out of memory`, which llama.cpp also prints for AMD's devices: a
/// later line may show which.
pub(crate) fn find_ggml(line: &[u8], after: &[u8]) -> Option<Found> {
    const END: &str = "cudaMallocfailed:outofmemory";
    let end = memmem::find(line, END.as_bytes())?;
    let start = memmem::rfind(&line[..end], b"allocating")?;
    let mut cursor = Cursor::new(&line[..end + END.len()]);
    cursor.at = start;
    let mut failure = Failure::new(Api::Cuda, Form::Ggml);
    if memmem::find(after, b"failedtoallocateROCm").is_some() {
        failure.api = Api::Hip;
    }
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

/// Adds what llama.cpp printed about a device before loading: `using device CUDA0 (…) - 23871 MiB free`. Names have
/// parentheses of their own, and newer versions append the bus: `(0000:01:00.0)`.
pub(crate) fn add_ggml_free(before: &[u8], failure: &mut Failure) {
    if failure.words == OF_UNKNOWN_DEVICE {
        return;
    }
    let is_own = |api: Api| {
        // The name of the driver's error does not distinguish AMD's from NVIDIA's.
        api == failure.api || (failure.api, api) == (Api::Cuda, Api::Hip)
    };
    let place = |name: &str, number: &str| {
        memmem::rfind(before, format!("usingdevice{name}{number}(").as_bytes())
    };
    let number = failure.device.map(|device| device.to_string());
    let last = GGML_DEVICES.iter().filter(|(_, api)| is_own(*api));
    let last = last.filter_map(|&(name, api)| {
        let at = match &number {
            Some(number) => place(name, number),
            // The only device is that one.
            None if place(name, "1").is_some() => None,
            None => place(name, "").or_else(|| place(name, "0")),
        };
        Some((at?, api))
    });
    let Some((at, api)) = last.max_by_key(|&(at, _)| at) else {
        return;
    };
    failure.api = api;
    let mut cursor = Cursor::new(before);
    cursor.at = at;
    let free = cursor.seek(")-", 240).and_then(|()| cursor.figure());
    failure.free = free.filter(|_| cursor.eat("free").is_some());
}
