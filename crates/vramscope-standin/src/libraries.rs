//! cuBLAS, cuDNN, cuFFT, cuRAND, NCCL, NVRTC, CUPTI and NVML: the functions that return something, and those that
//! refuse.
//!
//! torch takes these libraries' workspaces from its own allocator. The program decides how large they are for cuBLAS,
//! the settings for cuDNN.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::c::{Invented, OK, handle, invent, invented, put};
use crate::memory::copy_letter;
use crate::settings::SETTINGS;

/// Callbacks for tests: addresses of workspaces, and of the buffers of collectives.
static LISTENERS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

unsafe fn tell(listener: usize, address: u64) -> i32 {
    let function = LISTENERS[listener].load(Ordering::Relaxed);
    if function != 0 && address != 0 {
        // only `listen` writes here, and it stores a function of this type.
        let function: extern "C" fn(u64) = std::mem::transmute(function);
        function(address);
    }
    OK
}

fn listen(listener: usize, function: Option<extern "C" fn(u64)>) -> i32 {
    LISTENERS[listener].store(function.map_or(0, |it| it as usize), Ordering::Relaxed);
    OK
}

unsafe fn workspace(address: u64) -> i32 {
    tell(0, address)
}

unsafe fn collective(from: u64, to: u64) -> i32 {
    tell(1, from);
    tell(1, if to == from { 0 } else { to })
}

/// Every rank contributes what this one does, so that programs find their peers equal.
unsafe fn gather(from: u64, to: u64, count: u64, kind: i32, of: u64) -> i32 {
    let bytes = count
        * [1, 1, 4, 4, 8, 8, 2, 4, 8, 2]
            .get(kind as usize)
            .unwrap_or(&1);
    for rank in 0..group(of)[0] as u64 {
        copy_letter(to + rank * bytes, from, bytes as usize);
    }
    collective(from, to)
}

unsafe fn matmul_algorithms(wanted: i32, results: *mut [u8; 96], found: *mut i32) -> i32 {
    // An algorithm of 64 bytes, its workspace's size, a status, how well it fills the device, and reserved space.
    put(
        if wanted > 0 {
            results
        } else {
            std::ptr::null_mut()
        },
        [0; 96],
    );
    put(found, i32::from(wanted > 0))
}

// ---- cuDNN's graphs: descriptors whose attributes are not stored ----

const INT64: i32 = 3;
const HEURISTIC_RESULTS: i32 = 202;
const PLAN_WORKSPACE_BYTES: i32 = 402;
const PACK_WORKSPACE: i32 = 1003;

unsafe fn set_graph_attribute(attribute: i32, values: *const u64) -> i32 {
    match attribute {
        // this attribute's value is one address.
        PACK_WORKSPACE => workspace(*values),
        _ => OK,
    }
}

unsafe fn graph_attribute(
    attribute: i32,
    kind: i32,
    wanted: i64,
    count: *mut i64,
    values: *mut u64,
) -> i32 {
    let is_workspace = attribute == PLAN_WORKSPACE_BYTES;
    let bytes = if is_workspace {
        invent(Invented::CudnnWorkspace);
        SETTINGS.cudnn_workspace_bytes
    } else {
        0
    };
    let is_read = kind == INT64 && wanted > 0;
    put(
        if is_read {
            values
        } else {
            std::ptr::null_mut()
        },
        bytes,
    );
    put(
        count,
        i64::from(is_workspace || attribute == HEURISTIC_RESULTS),
    )
}

// ---- NCCL: a rank whose peers are always ready ----

/// Ranks and own rank of each communicator.
static GROUPS: Mutex<BTreeMap<u64, [i32; 2]>> = Mutex::new(BTreeMap::new());

unsafe fn join(to: *mut u64, ranks: i32, rank: i32) -> i32 {
    invent(Invented::Communicator);
    handle(to);
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    groups.insert(to.read_unaligned(), [ranks, rank]);
    OK
}

fn group(of: u64) -> [i32; 2] {
    let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    groups.get(&of).copied().unwrap_or([1, 0])
}

/// Passed by value, as in NCCL.
#[repr(C)]
struct UniqueId([u8; 128]);

// ---- workspaces of unknown size ----

/// Functions that need no workspace: the arguments before the pointer to its size, and that pointer's type.
macro_rules! no_workspace {
    ($($before:tt $kind:tt => $($name:ident)*;)*) => {$($(
        no_workspace! { @ $before $kind $name }
    )*)*};
    (@ [$($before:tt)*] (u64, u64) $name:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($before: u64,)* device: *mut u64, host: *mut u64) -> i32 {
            invent(Invented::OtherWorkspace);
            put(host, 0);
            put(device, 0)
        }
    };
    (@ [$($before:tt)*] $kind:ident $name:ident) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($before: u64,)* to: *mut $kind) -> i32 {
            invent(Invented::OtherWorkspace);
            put(to, 0)
        }
    };
}

no_workspace! {
    [_ _ _ _ _ _ _ _] u64 => cudnnGetCTCLossWorkspaceSize;
    [_ _ _ _ _] u64 => cudnnGetCTCLossWorkspaceSize_v8;
    [_ _ _] i32 =>
        cusolverDnCgesvd_bufferSize cusolverDnDgesvd_bufferSize cusolverDnSgesvd_bufferSize
        cusolverDnZgesvd_bufferSize;
    [_ _ _ _] i32 =>
        cusolverDnCsytrf_bufferSize cusolverDnDsytrf_bufferSize cusolverDnSsytrf_bufferSize
        cusolverDnZsytrf_bufferSize;
    [_ _ _ _ _] i32 =>
        cusolverDnCgeqrf_bufferSize cusolverDnCgetrf_bufferSize cusolverDnCpotrf_bufferSize
        cusolverDnDgeqrf_bufferSize cusolverDnDgetrf_bufferSize cusolverDnDpotrf_bufferSize
        cusolverDnSgeqrf_bufferSize cusolverDnSgetrf_bufferSize cusolverDnSpotrf_bufferSize
        cusolverDnZgeqrf_bufferSize cusolverDnZgetrf_bufferSize cusolverDnZpotrf_bufferSize;
    [_ _ _ _ _ _ _] i32 =>
        cusolverDnCheevd_bufferSize cusolverDnCheevjBatched_bufferSize cusolverDnCheevj_bufferSize
        cusolverDnCungqr_bufferSize cusolverDnDorgqr_bufferSize cusolverDnDsyevd_bufferSize
        cusolverDnDsyevjBatched_bufferSize cusolverDnDsyevj_bufferSize cusolverDnSorgqr_bufferSize
        cusolverDnSsyevd_bufferSize cusolverDnSsyevjBatched_bufferSize cusolverDnSsyevj_bufferSize
        cusolverDnZheevd_bufferSize cusolverDnZheevjBatched_bufferSize cusolverDnZheevj_bufferSize
        cusolverDnZungqr_bufferSize;
    [_ _ _ _ _ _ _ _ _ _ _] i32 =>
        cusolverDnCgesvdjBatched_bufferSize cusolverDnCunmqr_bufferSize cusolverDnDgesvdjBatched_bufferSize
        cusolverDnDormqr_bufferSize cusolverDnSgesvdjBatched_bufferSize cusolverDnSormqr_bufferSize
        cusolverDnZgesvdjBatched_bufferSize cusolverDnZunmqr_bufferSize;
    [_ _ _ _ _ _ _ _ _ _ _ _] i32 =>
        cusolverDnCgesvdj_bufferSize cusolverDnDgesvdj_bufferSize cusolverDnSgesvdj_bufferSize
        cusolverDnZgesvdj_bufferSize;
    [_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _] i32 =>
        cusolverDnCgesvdaStridedBatched_bufferSize cusolverDnDgesvdaStridedBatched_bufferSize
        cusolverDnSgesvdaStridedBatched_bufferSize cusolverDnZgesvdaStridedBatched_bufferSize;
    // On the device, and on the host.
    [_ _ _ _ _ _ _ _] (u64, u64) =>
        cusolverDnXpotrf_bufferSize;
    [_ _ _ _ _ _ _ _ _ _] (u64, u64) =>
        cusolverDnXgeqrf_bufferSize;
    [_ _ _ _ _ _ _ _ _ _ _] (u64, u64) =>
        cusolverDnXsyevBatched_bufferSize cusolverDnXsyevd_bufferSize cusolverDnXsytrs_bufferSize;
    [_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _] (u64, u64) =>
        cusolverDnXgeev_bufferSize;
    [_ _ _ _ _ _ _ _ _] u64 =>
        cusparseSpMV_bufferSize cusparseSpSV_bufferSize;
    [_ _ _ _ _ _ _ _ _ _] u64 =>
        cusparseSDDMM_bufferSize cusparseSpMM_bufferSize cusparseSpSM_bufferSize;
}

// ---- what is not simulated ----

/// Reports it once for each library, and returns the library's status for it.
#[expect(
    clippy::print_stderr,
    reason = "the program ends for it, and its user must know why"
)]
fn refuse(name: &CStr, said: &AtomicBool, status: i32) -> i32 {
    if !said.swap(true, Ordering::Relaxed) {
        eprintln!(
            "vramscope dry-run: {} is not simulated",
            name.to_string_lossy()
        );
    }
    status
}

/// Functions that refuse: the library's status, and their names.
macro_rules! refused {
    ($($status:expr => $($name:ident)*;)*) => {$($(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> i32 {
            static SAID: AtomicBool = AtomicBool::new(false);
            const NAME: &CStr = match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                Ok(name) => name,
                Err(_) => c"a function",
            };
            refuse(NAME, &SAID, $status)
        }
    )*)*};
}

refused! {
    // cuDNN 8, and 9.
    if SETTINGS.cudnn < 90_000 { 9 } else { 3000 } =>
        cudnnConvolutionBackwardData cudnnConvolutionBackwardFilter cudnnConvolutionBiasActivationForward
        cudnnConvolutionForward cudnnFindConvolutionBackwardDataAlgorithmEx
        cudnnFindConvolutionBackwardFilterAlgorithmEx cudnnFindConvolutionForwardAlgorithmEx
        cudnnGetConvolutionBackwardDataAlgorithm_v7 cudnnGetConvolutionBackwardDataWorkspaceSize
        cudnnGetConvolutionBackwardFilterAlgorithm_v7 cudnnGetConvolutionBackwardFilterWorkspaceSize
        cudnnGetConvolutionForwardAlgorithm_v7 cudnnGetConvolutionForwardWorkspaceSize cudnnGetFilterNdDescriptor
        cudnnGetRNNLinLayerBiasParams cudnnGetRNNLinLayerMatrixParams cudnnGetRNNParamsSize
        cudnnGetRNNTrainingReserveSize cudnnGetRNNWorkspaceSize cudnnGetStream cudnnRNNBackwardData
        cudnnRNNBackwardWeights cudnnRNNForwardInference cudnnRNNForwardTraining cudnnSetRNNDescriptor_v6
        cudnnSetRNNMatrixMathType cudnnSetRNNProjectionLayers;
    10 => cusparseCbsrmm cusparseCbsrmv cusparseCbsrsm2_analysis cusparseCbsrsm2_bufferSize cusparseCbsrsm2_solve
        cusparseCbsrsv2_analysis cusparseCbsrsv2_bufferSize cusparseCbsrsv2_solve cusparseCcsrgeam2
        cusparseCcsrgeam2_bufferSizeExt cusparseCreateBsrsm2Info cusparseCreateBsrsv2Info
        cusparseCreateIdentityPermutation
        cusparseDbsrmm cusparseDbsrmv cusparseDbsrsm2_analysis
        cusparseDbsrsm2_bufferSize cusparseDbsrsm2_solve cusparseDbsrsv2_analysis cusparseDbsrsv2_bufferSize
        cusparseDbsrsv2_solve cusparseDcsrgeam2 cusparseDcsrgeam2_bufferSizeExt
        cusparseLtDenseDescriptorInit cusparseLtMatmul cusparseLtMatmulAlgGetAttribute cusparseLtMatmulAlgSelectionInit
        cusparseLtMatmulAlgSetAttribute cusparseLtMatmulDescSetAttribute cusparseLtMatmulDescriptorInit
        cusparseLtMatmulGetWorkspace cusparseLtMatmulPlanInit cusparseLtMatmulSearch cusparseLtSpMMACompress2
        cusparseLtSpMMACompressedSize2 cusparseLtStructuredDescriptorInit
        cusparseSbsrmm cusparseSbsrmv cusparseSbsrsm2_analysis cusparseSbsrsm2_bufferSize
        cusparseSbsrsm2_solve cusparseSbsrsv2_analysis cusparseSbsrsv2_bufferSize cusparseSbsrsv2_solve
        cusparseScsrgeam2 cusparseScsrgeam2_bufferSizeExt cusparseSpGEMM_compute cusparseSpGEMM_copy
        cusparseSpGEMM_createDescr cusparseSpGEMM_destroyDescr cusparseSpGEMM_workEstimation
        cusparseSpMatGetSize


        cusparseXbsrsm2_zeroPivot cusparseXbsrsv2_zeroPivot
        cusparseXcoo2csr cusparseXcoosortByRow cusparseXcoosort_bufferSizeExt cusparseXcsrgeam2Nnz cusparseXcsrsort
        cusparseXcsrsort_bufferSizeExt cusparseZbsrmm cusparseZbsrmv cusparseZbsrsm2_analysis cusparseZbsrsm2_bufferSize
        cusparseZbsrsm2_solve cusparseZbsrsv2_analysis cusparseZbsrsv2_bufferSize cusparseZbsrsv2_solve
        cusparseZcsrgeam2 cusparseZcsrgeam2_bufferSizeExt;
    // NVSHMEM, and NCCL's functions for memory windows.
    5 => ncclCommGrow ncclCommMemStats ncclCommShrink ncclCommWindowDeregister ncclCommWindowRegister ncclDevCommCreate
        ncclDevCommDestroy ncclGetLsaMultimemDevicePointer ncclGetPeerDevicePointer ncclPutSignal ncclSignal
        ncclWaitSignal ncclWinGetUserPtr nvshmem_barrier_all nvshmem_free nvshmem_info_get_version nvshmem_init
        nvshmem_malloc nvshmem_ptr nvshmem_selected_device_transport nvshmem_team_n_pes nvshmem_team_split_strided
        nvshmemid_hostlib_finalize nvshmemid_hostlib_init_attr nvshmemid_init_status nvshmemx_alltoallmem_on_stream
        nvshmemx_broadcastmem_on_stream nvshmemx_cumodule_init nvshmemx_get_uniqueid nvshmemx_getmem_on_stream
        nvshmemx_mc_ptr nvshmemx_putmem_on_stream nvshmemx_putmem_signal_on_stream nvshmemx_set_attr_uniqueid_args
        nvshmemx_signal_wait_until_on_stream;
    // Sharing memory with other processes, and reading files into it.
    801 => cuFileBufDeregister cuFileBufRegister cuFileHandleDeregister cuFileHandleRegister cuFileRead cuFileWrite
        cudaIpcCloseMemHandle cudaIpcGetEventHandle cudaIpcGetMemHandle cudaIpcOpenEventHandle cudaIpcOpenMemHandle;
}

c! {
    fn standin_invented(to: *mut [u64; 4]) = put(to, invented());
    fn standin_on_workspace(function: Option<extern "C" fn(u64)>) = listen(0, function);
    fn standin_on_collective(function: Option<extern "C" fn(u64)>) = listen(1, function);

    fn cublasCreate_v2(to: *mut u64) = handle(to);
    fn cublasGetMathMode(_library: u64, mode: *mut i32) = put(mode, 0);
    fn cublasGetPointerMode_v2(_library: u64, mode: *mut i32) = put(mode, 0);
    fn cublasSetWorkspace_v2(_library: u64, address: u64) = workspace(address);
    fn cublasLtCreate(to: *mut u64) = handle(to);
    fn cublasLtMatmulDescCreate(to: *mut u64) = handle(to);
    fn cublasLtMatrixLayoutCreate(to: *mut u64) = handle(to);
    fn cublasLtMatmulPreferenceCreate(to: *mut u64) = handle(to);
    fn cublasLtMatmulAlgoGetHeuristic(_library: u64, _problem: u64, _a: u64, _b: u64, _c: u64, _d: u64, _preference: u64, wanted: i32, results: *mut [u8; 96], found: *mut i32) = matmul_algorithms(wanted, results, found);
    fn cublasLtMatmul(_library: u64, _problem: u64, _alpha: u64, _a: u64, _a_layout: u64, _b: u64, _b_layout: u64, _beta: u64, _c: u64, _c_layout: u64, _d: u64, _d_layout: u64, _algorithm: u64, address: u64) = workspace(address);

    fn cudnnCreate(to: *mut u64) = handle(to);
    fn cudnnBackendCreateDescriptor(_kind: i32, to: *mut u64) = handle(to);
    fn cudnnBackendSetAttribute(_descriptor: u64, attribute: i32, _kind: i32, _count: i64, values: *const u64) = set_graph_attribute(attribute, values);
    fn cudnnBackendGetAttribute(_descriptor: u64, attribute: i32, kind: i32, wanted: i64, count: *mut i64, values: *mut u64) = graph_attribute(attribute, kind, wanted, count, values);
    fn cudnnCreateTensorDescriptor(to: *mut u64) = handle(to);
    fn cudnnCreateFilterDescriptor(to: *mut u64) = handle(to);
    fn cudnnCreateConvolutionDescriptor(to: *mut u64) = handle(to);
    fn cudnnCreateActivationDescriptor(to: *mut u64) = handle(to);
    fn cudnnCreateDropoutDescriptor(to: *mut u64) = handle(to);
    fn cudnnCreatePoolingDescriptor(to: *mut u64) = handle(to);
    fn cudnnCreateCTCLossDescriptor(to: *mut u64) = handle(to);
    fn cudnnCreateSpatialTransformerDescriptor(to: *mut u64) = handle(to);
    fn cudnnDropoutGetStatesSize(_library: u64, bytes: *mut u64) = put(bytes, 0);
    fn cudnnGetProperty(part: i32, value: *mut i32) = put(value, [SETTINGS.cudnn / 10_000, SETTINGS.cudnn / 100 % 100, SETTINGS.cudnn % 100][part.clamp(0, 2) as usize] as i32);
    fn cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(_library: u64, _mode: i32, _operations: i32, _x: u64, _z: u64, _y: u64, _scale: u64, _activation: u64, bytes: *mut u64) = put(bytes, 0);
    fn cudnnGetBatchNormalizationTrainingExReserveSpaceSize(_library: u64, _mode: i32, _operations: i32, _activation: u64, _x: u64, bytes: *mut u64) = put(bytes, 0);
    fn cudnnGetBatchNormalizationBackwardExWorkspaceSize(_library: u64, _mode: i32, _operations: i32, _x: u64, _y: u64, _dy: u64, _dz: u64, _dx: u64, _scale: u64, _activation: u64, bytes: *mut u64) = put(bytes, 0);

    fn cufftCreate(to: *mut i32) = put(to, 1);
    fn cufftXtMakePlanMany(_plan: i32, _rank: i32, _n: u64, _in: u64, _in_stride: i64, _in_distance: i64, _in_type: i32, _out: u64, _out_stride: i64, _out_distance: i64, _out_type: i32, _batch: i64, bytes: *mut u64) = { invent(Invented::OtherWorkspace); put(bytes, 0) };
    fn cusolverDnCreate(to: *mut u64) = handle(to);
    fn cusolverDnCreateParams(to: *mut u64) = handle(to);
    fn cusolverDnCreateGesvdjInfo(to: *mut u64) = handle(to);
    fn cusolverDnCreateSyevjInfo(to: *mut u64) = handle(to);
    fn cusparseCreate(to: *mut u64) = handle(to);
    fn cusparseCreateMatDescr(to: *mut u64) = handle(to);
    fn cusparseCreateCoo(to: *mut u64) = handle(to);
    fn cusparseCreateCsr(to: *mut u64) = handle(to);
    fn cusparseCreateDnMat(to: *mut u64) = handle(to);
    fn cusparseCreateDnVec(to: *mut u64) = handle(to);
    fn cusparseSpSM_createDescr(to: *mut u64) = handle(to);
    fn cusparseSpSV_createDescr(to: *mut u64) = handle(to);

    fn ncclGetVersion(version: *mut i32) = put(version, SETTINGS.nccl);
    fn ncclGetUniqueId(to: *mut [u8; 128]) = put(to, [7; 128]);
    fn ncclCommGetUniqueId(_group: u64, to: *mut [u8; 128]) = put(to, [7; 128]);
    fn ncclCommInitRank(to: *mut u64, ranks: i32, _id: UniqueId, rank: i32) = join(to, ranks, rank);
    fn ncclCommInitRankConfig(to: *mut u64, ranks: i32, _id: UniqueId, rank: i32) = join(to, ranks, rank);
    fn ncclCommInitRankScalable(to: *mut u64, ranks: i32, rank: i32) = join(to, ranks, rank);
    fn ncclCommInitAll(to: *mut u64, count: i32) = (0..count).map(|rank| join(to.add(rank as usize), count, rank)).sum();
    fn ncclCommSplit(whole: u64, _colour: i32, _key: i32, to: *mut u64) = join(to, group(whole)[0], group(whole)[1]);
    fn ncclCommCount(of: u64, count: *mut i32) = put(count, group(of)[0]);
    fn ncclCommUserRank(of: u64, rank: *mut i32) = put(rank, group(of)[1]);
    fn ncclCommGetAsyncError(_group: u64, error: *mut i32) = put(error, 0);
    fn ncclCommRegister(_group: u64, _address: u64, _bytes: u64, to: *mut u64) = handle(to);
    fn ncclRedOpCreatePreMulSum(operation: *mut i32) = put(operation, 5);
    fn ncclMemAlloc(to: *mut u64, bytes: u64) = crate::memory::allocate(to, bytes);
    fn ncclMemFree(address: u64) = crate::memory::free(address);
    fn ncclAllReduce(from: u64, to: u64) = collective(from, to);
    fn ncclAllGather(from: u64, to: u64, count: u64, kind: i32, of: u64) = gather(from, to, count, kind, of);
    fn ncclAlltoAll(from: u64, to: u64) = collective(from, to);
    fn ncclReduceScatter(from: u64, to: u64) = collective(from, to);
    fn ncclBroadcast(from: u64, to: u64) = collective(from, to);
    fn ncclReduce(from: u64, to: u64) = collective(from, to);
    fn ncclGather(from: u64, to: u64) = collective(from, to);
    fn ncclBcast(buffer: u64) = collective(buffer, buffer);
    fn ncclSend(from: u64) = collective(from, 0);
    fn ncclRecv(to: u64) = collective(0, to);

    fn nvrtcVersion(major: *mut i32, minor: *mut i32) = { put(major, SETTINGS.cuda / 1000); put(minor, SETTINGS.cuda % 1000 / 10) };
    fn nvrtcCreateProgram(to: *mut u64) = handle(to);
    fn nvrtcGetPTXSize(_program: u64, bytes: *mut u64) = put(bytes, 1);
    fn nvrtcGetPTX(_program: u64, text: *mut u8) = put(text, 0);
    fn nvrtcGetCUBINSize(_program: u64, bytes: *mut u64) = put(bytes, 1);
    fn nvrtcGetCUBIN(_program: u64, text: *mut u8) = put(text, 0);
    fn nvrtcGetProgramLogSize(_program: u64, bytes: *mut u64) = put(bytes, 1);
    fn nvrtcGetProgramLog(_program: u64, text: *mut u8) = put(text, 0);
    fn nvrtcGetLoweredName(_program: u64, _name: u64, lowered: *mut *const c_char) = put(lowered, c"kernel".as_ptr());

    fn cuptiGetVersion(version: *mut u32) = put(version, 18);
    // No records are left.
    fn cuptiActivityGetNextRecord() = 12;
    fn cuptiActivityGetNumDroppedRecords(_context: u64, _stream: u32, count: *mut u64) = put(count, 0);
    fn cuptiSubscribe(to: *mut u64) = handle(to);
    fn cuptiGetResultString(_result: i32, text: *mut *const c_char) = put(text, c"nothing is profiled".as_ptr());
    fn cuptiGetCallbackName(_domain: i32, _callback: u32, text: *mut *const c_char) = put(text, c"".as_ptr());

    fn nvmlDeviceGetCount_v2(count: *mut u32) = put(count, SETTINGS.devices as u32);
    fn nvmlDeviceGetHandleByIndex_v2(_index: u32, device: *mut u64) = put(device, 1);
    fn nvmlDeviceGetHandleByPciBusId_v2(_bus: u64, device: *mut u64) = put(device, 1);
    fn nvmlDeviceGetMemoryInfo(_device: u64, to: *mut [u64; 3]) = put(to, [SETTINGS.total_bytes, crate::memory::free_and_total().0, SETTINGS.total_bytes - crate::memory::free_and_total().0]);
    fn nvmlDeviceGetComputeRunningProcesses(_device: u64, count: *mut u32) = put(count, 0);
    fn nvmlSystemGetCudaDriverVersion_v2(version: *mut i32) = put(version, SETTINGS.cuda);
    // NVML's "not supported": there are no fabric handles and no links.
    fn nvmlDeviceGetGpuFabricInfoV() = 3;
    fn nvmlDeviceGetNvLinkRemoteDeviceType() = 3;
    fn nvmlDeviceGetNvLinkRemotePciInfo_v2() = 3;
}

/// Versions as numbers, and error texts: these return no status.
macro_rules! plain {
    ($(fn $name:ident -> $type:ty = $value:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> $type {
            $value
        }
    )*};
}

const ERROR: *const c_char = c"not simulated by vramscope dry-run".as_ptr();

plain! {
    fn cudnnGetVersion -> u64 = SETTINGS.cudnn;
    fn cudnnGetCudartVersion -> u64 = SETTINGS.cuda as u64;
    fn cublasLtGetVersion -> u64 = SETTINGS.cuda as u64 * 10;
    fn cudaGetErrorString -> *const c_char = ERROR;
    fn cudaGetErrorName -> *const c_char = ERROR;
    fn cudnnGetErrorString -> *const c_char = ERROR;
    fn cusparseGetErrorString -> *const c_char = ERROR;
    fn ncclGetErrorString -> *const c_char = ERROR;
    fn ncclGetLastError -> *const c_char = ERROR;
    fn nvrtcGetErrorString -> *const c_char = ERROR;
}

// ---- a library with its own thread, for tests ----

/// `aoti_torch_empty_strided` of torch's C interface: dimensions, sizes, strides, type, kind and number of the device,
/// tensor.
type EmptyStrided =
    unsafe extern "C" fn(i64, *const i64, *const i64, i32, i32, i32, *mut *mut c_void) -> i32;

/// A float tensor made by a thread without Python, as libraries that decode video do.
#[unsafe(no_mangle)]
unsafe extern "C" fn standin_decoded(
    empty: EmptyStrided,
    dimensions: i64,
    sizes: *const i64,
) -> *mut c_void {
    // the caller passes this many sizes.
    let sizes = std::slice::from_raw_parts(sizes, dimensions as usize);
    let mut strides = vec![1; sizes.len()];
    for index in (1..sizes.len()).rev() {
        strides[index - 1] = strides[index] * sizes[index];
    }
    let made = std::thread::scope(|scope| {
        let make = || {
            let mut tensor = std::ptr::null_mut();
            // torch's own function with the arguments it expects. 6 is float32, and 1 CUDA.
            empty(
                dimensions,
                sizes.as_ptr(),
                strides.as_ptr(),
                6,
                1,
                0,
                &raw mut tensor,
            );
            tensor as usize
        };
        scope.spawn(make).join()
    });
    made.map_or(std::ptr::null_mut(), |tensor| tensor as *mut c_void)
}
