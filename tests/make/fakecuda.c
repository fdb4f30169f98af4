// A CUDA runtime without a GPU: just enough of libcudart to run torch's own caching allocator.
//
// The allocator only asks CUDA for address ranges, streams and events; it never touches the memory. So
// its snapshots can be recorded on any machine: the segments, blocks, traces, stacks and the pickling
// are torch's own. Only the addresses come from here, counted up from a fixed base. Kernels and copies
// do nothing. See fakecuda.sh for how it is built and used.
//
//   FAKECUDA_TOTAL_MB   size of each device's memory (default 1024); larger allocations fail
//   FAKECUDA_DEVICES    number of devices (default 2)
//   FAKECUDA_DOWN       if set, addresses are counted down
//   FAKECUDA_CAPABILITY compute capability without its point (default 90)
//
//   fakecuda_hold(1)    from now on no event completes: frees of other streams' blocks stay pending
//   fakecuda_hold(0)    events complete at once again
//   fakecuda_device_of(address)  whose memory it is

#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICES_MAX 8
#define RANGES_MAX 4096
#define GRANULARITY (2ull << 20)
#define BASE 0x7f2000000000ull
#define DEVICE_SPAN (1ull << 36)
#define SHARED_MEMORY (99 << 10)

static __thread int device_now = 0;
static int holding = 0;
static unsigned long long next_address[DEVICES_MAX];
static unsigned long long used_bytes[DEVICES_MAX];
static struct { unsigned long long address, bytes; int device; } ranges[RANGES_MAX];

// Captures: at most one at a time.
static cudaStream_t capturing = NULL;
static unsigned long long capture_id = 0;

EXPORT void fakecuda_hold(int on) { holding = on; }

EXPORT int fakecuda_device_of(unsigned long long address) { return address < BASE ? -1 : (int)((address - BASE) / (DEVICE_SPAN * 16)); }

static unsigned long long total_bytes(void) {
    const char *text = getenv("FAKECUDA_TOTAL_MB");
    return (text ? strtoull(text, NULL, 10) : 1024ull) << 20;
}

static int device_count(void) {
    const char *text = getenv("FAKECUDA_DEVICES");
    int count = text ? atoi(text) : 2;
    return count < 1 ? 1 : count > DEVICES_MAX ? DEVICES_MAX : count;
}

static int capability(void) {
    const char *text = getenv("FAKECUDA_CAPABILITY");
    return text ? atoi(text) : 90;
}

static unsigned long long reserve_addresses(int device, unsigned long long bytes) {
    unsigned long long whole = (bytes + GRANULARITY - 1) / GRANULARITY * GRANULARITY;
    unsigned long long *next = &next_address[device];
    if (getenv("FAKECUDA_DOWN")) {
        if (*next == 0) *next = BASE + DEVICE_SPAN * 16 * device + DEVICE_SPAN * 8;
        return *next -= whole;
    }
    if (*next == 0) *next = BASE + DEVICE_SPAN * 16 * device;
    unsigned long long address = *next;
    *next += whole;
    return address;
}

// ---- devices ----------------------------------------------------------------------------------

EXPORT cudaError_t cudaGetDeviceCount(int *count) { *count = device_count(); return cudaSuccess; }
EXPORT cudaError_t cudaGetDevice(int *device) { *device = device_now; return cudaSuccess; }
EXPORT cudaError_t cudaSetDevice(int device) { device_now = device; return cudaSuccess; }
EXPORT cudaError_t cudaInitDevice(int device, unsigned flags, unsigned more) { (void)flags; (void)more; device_now = device; return cudaSuccess; }
EXPORT cudaError_t cudaSetDeviceFlags(unsigned flags) { (void)flags; return cudaSuccess; }
EXPORT cudaError_t cudaGetDeviceFlags(unsigned *flags) { *flags = 0; return cudaSuccess; }
EXPORT cudaError_t cudaDriverGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
EXPORT cudaError_t cudaRuntimeGetVersion(int *version) { *version = CUDART_VERSION; return cudaSuccess; }
EXPORT cudaError_t cudaDeviceSynchronize(void) { return cudaSuccess; }
EXPORT cudaError_t cudaGetLastError(void) { return cudaSuccess; }
EXPORT cudaError_t cudaPeekAtLastError(void) { return cudaSuccess; }
EXPORT cudaError_t cudaDeviceCanAccessPeer(int *can, int a, int b) { (void)a; (void)b; *can = 0; return cudaSuccess; }
EXPORT cudaError_t cudaDeviceGetPCIBusId(char *text, int length, int device) { snprintf(text, length, "0000:%02x:00.0", device); return cudaSuccess; }
EXPORT cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) { *least = 0; *greatest = -5; return cudaSuccess; }
EXPORT cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    (void)device;
    *value = attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? SHARED_MEMORY : 1;
    return cudaSuccess;
}

EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device) {
    (void)device;
    memset(properties, 0, sizeof *properties);
    strcpy(properties->name, "Fake GPU");
    properties->totalGlobalMem = total_bytes();
    properties->major = capability() / 10;
    properties->minor = capability() % 10;
    properties->warpSize = 32;
    properties->multiProcessorCount = 1;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->sharedMemPerBlock = 48 << 10;
    properties->sharedMemPerBlockOptin = properties->sharedMemPerMultiprocessor = SHARED_MEMORY;
    properties->regsPerMultiprocessor = 65536;
    for (int i = 0; i < 3; i++) properties->maxThreadsDim[i] = 1024;
    for (int i = 0; i < 3; i++) properties->maxGridSize[i] = i ? 65535 : 2147483647;
    return cudaSuccess;
}

// ---- memory -----------------------------------------------------------------------------------

EXPORT cudaError_t cudaMalloc(void **pointer, size_t bytes) {
    if (used_bytes[device_now] + bytes > total_bytes()) return cudaErrorMemoryAllocation;
    for (int i = 0; i < RANGES_MAX; i++) {
        if (ranges[i].bytes) continue;
        ranges[i].address = reserve_addresses(device_now, bytes);
        ranges[i].bytes = bytes;
        ranges[i].device = device_now;
        used_bytes[device_now] += bytes;
        *pointer = (void *)ranges[i].address;
        return cudaSuccess;
    }
    return cudaErrorMemoryAllocation;
}

EXPORT cudaError_t cudaFree(void *pointer) {
    for (int i = 0; pointer && i < RANGES_MAX; i++) {
        if (!ranges[i].bytes || ranges[i].address != (unsigned long long)pointer) continue;
        used_bytes[ranges[i].device] -= ranges[i].bytes;
        ranges[i].bytes = 0;
    }
    return cudaSuccess;
}

EXPORT cudaError_t cudaMemGetInfo(size_t *free_bytes, size_t *total) {
    *total = total_bytes();
    *free_bytes = *total - used_bytes[device_now];
    return cudaSuccess;
}

EXPORT cudaError_t cudaHostAlloc(void **pointer, size_t bytes, unsigned flags) { (void)flags; *pointer = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096); return cudaSuccess; }
EXPORT cudaError_t cudaFreeHost(void *pointer) { free(pointer); return cudaSuccess; }
EXPORT cudaError_t cudaHostRegister(void *pointer, size_t bytes, unsigned flags) { (void)pointer; (void)bytes; (void)flags; return cudaSuccess; }
EXPORT cudaError_t cudaHostUnregister(void *pointer) { (void)pointer; return cudaSuccess; }
EXPORT cudaError_t cudaHostGetDevicePointer(void **device, void *host, unsigned flags) { (void)flags; *device = host; return cudaSuccess; }
static int on_device(const void *pointer) {
    unsigned long long address = (unsigned long long)pointer;
    return address >= BASE && address < BASE + DEVICE_SPAN * 16 * DEVICES_MAX;
}

// Programs read a few small things back that they wrote themselves (DDP the order of its buckets), so the last small copies
// to each device are kept. What kernels would have computed reads as zeros.
#define LETTERS 64
#define LETTER_BYTES 4096
static struct { const void *address; size_t bytes; char text[LETTER_BYTES]; } letters[LETTERS];
static unsigned letters_written = 0;

static void copy(void *to, const void *from, size_t bytes) {
    if (bytes > LETTER_BYTES || on_device(to) == on_device(from)) return;
    int found = -1;
    const void *address = on_device(to) ? to : from;
    for (int i = 0; i < LETTERS; i++)
        if (letters[i].address == address) found = i;
    if (on_device(from)) {
        memset(to, 0, bytes);
        if (found >= 0 && bytes <= letters[found].bytes) memcpy(to, letters[found].text, bytes);
        return;
    }
    if (found < 0) found = letters_written++ % LETTERS;
    letters[found].address = to;
    letters[found].bytes = bytes;
    memcpy(letters[found].text, from, bytes);
}

EXPORT cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind) { (void)kind; copy(to, from, bytes); return cudaSuccess; }
EXPORT cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream) { (void)kind; (void)stream; copy(to, from, bytes); return cudaSuccess; }
EXPORT cudaError_t cudaMemset(void *to, int value, size_t bytes) { (void)to; (void)value; (void)bytes; return cudaSuccess; }
EXPORT cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream) { (void)to; (void)value; (void)bytes; (void)stream; return cudaSuccess; }

EXPORT cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes, const void *pointer) {
    memset(attributes, 0, sizeof *attributes);
    int device = on_device(pointer) ? fakecuda_device_of((unsigned long long)pointer) : -1;
    attributes->type = device >= 0 ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
    attributes->device = device;
    attributes->devicePointer = (void *)pointer;
    return cudaSuccess;
}

// ---- streams and events -----------------------------------------------------------------------

static cudaError_t new_handle(void **handle) {
    // As the driver's do, handles look like heap addresses; counted, so that fixtures are reproducible.
    static unsigned long long next = 0x5581c0de0000ull;
    *handle = (void *)(next += 0x40);
    return cudaSuccess;
}

EXPORT cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) { (void)flags; (void)priority; return new_handle((void **)stream); }
EXPORT cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) { (void)flags; return new_handle((void **)stream); }
EXPORT cudaError_t cudaStreamDestroy(cudaStream_t stream) { (void)stream; return cudaSuccess; }
EXPORT cudaError_t cudaStreamQuery(cudaStream_t stream) { (void)stream; return cudaSuccess; }
EXPORT cudaError_t cudaStreamSynchronize(cudaStream_t stream) { (void)stream; return cudaSuccess; }
EXPORT cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) { (void)stream; (void)event; (void)flags; return cudaSuccess; }
EXPORT cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) { (void)stream; *priority = 0; return cudaSuccess; }
EXPORT cudaError_t cudaEventCreate(cudaEvent_t *event) { return new_handle((void **)event); }
EXPORT cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) { (void)flags; return new_handle((void **)event); }
EXPORT cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) { (void)event; (void)stream; return cudaSuccess; }
EXPORT cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) { (void)event; (void)stream; (void)flags; return cudaSuccess; }
EXPORT cudaError_t cudaEventQuery(cudaEvent_t event) { (void)event; return holding ? cudaErrorNotReady : cudaSuccess; }
EXPORT cudaError_t cudaEventSynchronize(cudaEvent_t event) { (void)event; return cudaSuccess; }
EXPORT cudaError_t cudaEventDestroy(cudaEvent_t event) { (void)event; return cudaSuccess; }
EXPORT cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end) { (void)start; (void)end; *ms = 0; return cudaSuccess; }

// ---- CUDA graphs ------------------------------------------------------------------------------

EXPORT cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) { (void)mode; capturing = stream; capture_id++; return cudaSuccess; }
EXPORT cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph) { (void)stream; capturing = NULL; return new_handle((void **)graph); }
EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t stream, enum cudaStreamCaptureStatus *status) { *status = capturing && stream == capturing ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone; return cudaSuccess; }
EXPORT cudaError_t cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode) { (void)mode; return cudaSuccess; }
EXPORT cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count) { (void)graph; (void)nodes; *count = 1; return cudaSuccess; }
#if CUDART_VERSION >= 12000
EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) { (void)graph; (void)flags; return new_handle((void **)exec); }
#else
EXPORT cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, cudaGraphNode_t *node, char *log, size_t bytes) { (void)graph; (void)node; (void)log; (void)bytes; return new_handle((void **)exec); }
#endif
EXPORT cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags) { (void)graph; (void)flags; return new_handle((void **)exec); }
EXPORT cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream) { (void)exec; (void)stream; return cudaSuccess; }
EXPORT cudaError_t cudaGraphDestroy(cudaGraph_t graph) { (void)graph; return cudaSuccess; }
EXPORT cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec) { (void)exec; return cudaSuccess; }
EXPORT cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream) { (void)exec; (void)stream; return cudaSuccess; }

#if CUDART_VERSION >= 13000
EXPORT cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **dependencies, const cudaGraphEdgeData **edges, size_t *count) {
    if (graph) *graph = NULL;
    if (dependencies) *dependencies = NULL;
    if (edges) *edges = NULL;
    if (count) *count = 0;
    if (id) *id = capture_id;
    return cudaStreamIsCapturing(stream, status);
}
#else
EXPORT cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, enum cudaStreamCaptureStatus *status, unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **dependencies, size_t *count) {
    if (graph) *graph = NULL;
    if (dependencies) *dependencies = NULL;
    if (count) *count = 0;
    if (id) *id = capture_id;
    return cudaStreamIsCapturing(stream, status);
}
#endif

// ---- kernels: registered and launched without effect ------------------------------------------

EXPORT cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments, size_t shared, cudaStream_t stream) { (void)function; (void)grid; (void)block; (void)arguments; (void)shared; (void)stream; return cudaSuccess; }
#if CUDART_VERSION >= 11080
EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function, void **arguments) { (void)config; (void)function; (void)arguments; return cudaSuccess; }
#endif
EXPORT cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function) { (void)function; memset(attributes, 0, sizeof *attributes); attributes->maxThreadsPerBlock = 1024; attributes->ptxVersion = attributes->binaryVersion = 90; return cudaSuccess; }
EXPORT cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value) { (void)function; (void)attribute; (void)value; return cudaSuccess; }
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int block, size_t shared) { (void)function; (void)block; (void)shared; *blocks = 1; return cudaSuccess; }
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int block, size_t shared, unsigned flags) { (void)function; (void)block; (void)shared; (void)flags; *blocks = 1; return cudaSuccess; }

// ---- the driver calls behind expandable segments ----------------------------------------------

static CUresult ok(void) { return CUDA_SUCCESS; }
static CUresult drv_reserve(CUdeviceptr *address, size_t bytes, size_t align, CUdeviceptr fixed, unsigned long long flags) {
    (void)align; (void)fixed; (void)flags;
    // torch reserves more than the whole device. Only addresses are counted, so a large range costs nothing.
    *address = reserve_addresses(device_now, bytes);
    return CUDA_SUCCESS;
}
static CUresult drv_create(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *properties, unsigned long long flags) {
    (void)flags;
    int device = properties->location.id;
    if (used_bytes[device] + bytes > total_bytes()) return CUDA_ERROR_OUT_OF_MEMORY;
    for (int i = 0; i < RANGES_MAX; i++) {
        if (ranges[i].bytes) continue;
        ranges[i].address = 1 + i; // no address: a handle
        ranges[i].bytes = bytes;
        ranges[i].device = device;
        used_bytes[device] += bytes;
        *handle = 1 + i;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_OUT_OF_MEMORY;
}
static CUresult drv_release(CUmemGenericAllocationHandle handle) {
    if (handle >= 1 && handle <= RANGES_MAX && ranges[handle - 1].bytes) {
        used_bytes[ranges[handle - 1].device] -= ranges[handle - 1].bytes;
        ranges[handle - 1].bytes = 0;
    }
    return CUDA_SUCCESS;
}
static CUresult drv_granularity(size_t *bytes, const CUmemAllocationProp *properties, int option) { (void)properties; (void)option; *bytes = GRANULARITY; return CUDA_SUCCESS; }
static CUresult drv_attribute(int *value, CUdevice_attribute attribute, CUdevice device) { (void)device; *value = attribute == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED; return CUDA_SUCCESS; }
static CUresult drv_context_state(CUdevice device, unsigned *flags, int *active) { (void)device; if (flags) *flags = 0; *active = 1; return CUDA_SUCCESS; }
static CUresult drv_error_string(CUresult error, const char **text) { (void)error; *text = "fake"; return CUDA_SUCCESS; }

static void *driver_function(const char *symbol) {
    static const struct { const char *name; void *function; } known[] = {
        {"cuMemAddressReserve", drv_reserve}, {"cuMemCreate", drv_create}, {"cuMemRelease", drv_release},
        {"cuMemGetAllocationGranularity", drv_granularity}, {"cuDeviceGetAttribute", drv_attribute},
        {"cuDevicePrimaryCtxGetState", drv_context_state}, {"cuGetErrorString", drv_error_string},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(symbol, known[i].name)) return known[i].function;
    return (void *)ok;
}

#if CUDART_VERSION >= 12000
EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function, unsigned version, unsigned long long flags, enum cudaDriverEntryPointQueryResult *status) {
    (void)version; (void)flags;
    *function = driver_function(symbol);
    if (status) *status = cudaDriverEntryPointSuccess;
    return cudaSuccess;
}
#endif
#if CUDART_VERSION >= 12000 && CUDART_VERSION < 13000
EXPORT cudaError_t cudaGetDriverEntryPoint(const char *symbol, void **function, unsigned long long flags, enum cudaDriverEntryPointQueryResult *status) { return cudaGetDriverEntryPointByVersion(symbol, function, 0, flags, status); }
#endif

// torch also looks up a few driver calls in libcuda.so.1: fakecuda.sh links this library under that name.
EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned *flags, int *active) { return drv_context_state(device, flags, active); }
EXPORT CUresult cuGetErrorString(CUresult error, const char **text) { return drv_error_string(error, text); }
EXPORT CUresult cuCtxGetCurrent(CUcontext *context) { *context = (CUcontext)1; return CUDA_SUCCESS; }
EXPORT CUresult cuInit(unsigned flags) { (void)flags; return CUDA_SUCCESS; }
EXPORT CUresult cuDeviceGet(CUdevice *device, int index) { *device = index; return CUDA_SUCCESS; }
EXPORT CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device) { return drv_attribute(value, attribute, device); }
EXPORT CUresult cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t align, CUdeviceptr fixed, unsigned long long flags) { return drv_reserve(address, bytes, align, fixed, flags); }
EXPORT CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) { (void)address; (void)bytes; return CUDA_SUCCESS; }
EXPORT CUresult cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *properties, unsigned long long flags) { return drv_create(handle, bytes, properties, flags); }
EXPORT CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *properties, CUmemAllocationGranularity_flags option) { return drv_granularity(bytes, properties, (int)option); }
EXPORT CUresult cuMemExportToShareableHandle(void *to, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags) { (void)to; (void)handle; (void)type; (void)flags; return CUDA_ERROR_NOT_SUPPORTED; }
EXPORT CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *from, CUmemAllocationHandleType type) { (void)handle; (void)from; (void)type; return CUDA_ERROR_NOT_SUPPORTED; }
EXPORT CUresult cuMemRelease(CUmemGenericAllocationHandle handle) { return drv_release(handle); }
EXPORT CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) { (void)address; (void)bytes; (void)offset; (void)handle; (void)flags; return CUDA_SUCCESS; }
EXPORT CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) { (void)address; (void)bytes; return CUDA_SUCCESS; }
EXPORT CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *access, size_t count) { (void)address; (void)bytes; (void)access; (void)count; return CUDA_SUCCESS; }

// torch asks libnvidia-ml.so.1, linked under that name too, about fabric handles: there are none.
#define NVML_NOT_SUPPORTED 3
EXPORT int nvmlInit_v2(void) { return 0; }
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device) { (void)bus; *device = (void *)1; return 0; }
EXPORT int nvmlDeviceGetGpuFabricInfoV(void *device, void *info) { (void)device; (void)info; return NVML_NOT_SUPPORTED; }
EXPORT int nvmlDeviceGetComputeRunningProcesses(void *device, unsigned *count, void *infos) { (void)device; (void)infos; *count = 0; return 0; }
EXPORT int nvmlDeviceGetNvLinkRemoteDeviceType(void *device, unsigned link, void *type) { (void)device; (void)link; (void)type; return NVML_NOT_SUPPORTED; }
EXPORT int nvmlDeviceGetNvLinkRemotePciInfo_v2(void *device, unsigned link, void *info) { (void)device; (void)link; (void)info; return NVML_NOT_SUPPORTED; }
EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = CUDART_VERSION; return 0; }
