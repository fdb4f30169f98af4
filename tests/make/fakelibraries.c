// cuBLAS, cuDNN and NCCL without a GPU: each call succeeds at once and computes nothing.
//
// torch allocates what these libraries ask for (workspaces, staging buffers) from its own allocator, so
// with them real models run over fakecuda.c and their snapshots can be recorded. Only a few calls answer anything:
// a handle, one algorithm for each problem, and how large a workspace it wants. All else stays the
// libraries' own. Built into the same library as fakecuda.c by fakecuda.sh.
//
//   fakecuda_on_workspace(f)   f(address) is called whenever a library is handed a workspace,
//   fakecuda_on_collective(f)  and for both buffers of every collective
//   fakecuda_decoded(empty, n, sizes)  a tensor made by a thread without Python, as libraries that decode video do

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

// What cuDNN asks for; on a GPU it depends on the algorithm.
#define CUDNN_WORKSPACE_BYTES (24ll << 20)

typedef void (*Listener)(unsigned long long);
static Listener on_workspace = NULL, on_collective = NULL;

EXPORT void fakecuda_on_workspace(Listener function) { on_workspace = function; }
EXPORT void fakecuda_on_collective(Listener function) { on_collective = function; }

static void workspace(const void *address) {
    if (address && on_workspace) on_workspace((unsigned long long)address);
}

static int handle(void **to) {
    static unsigned long long next = 0x5581fab00000ull;
    *to = (void *)__atomic_add_fetch(&next, 0x40, __ATOMIC_RELAXED);
    return 0;
}

#define NOTHING(name) EXPORT int name(void) { return 0; }
#define HANDLE(name) EXPORT int name(void **to) { return handle(to); }

// ---- cuBLAS -----------------------------------------------------------------------------------

HANDLE(cublasCreate_v2)
NOTHING(cublasDestroy_v2)
NOTHING(cublasSetStream_v2)
NOTHING(cublasSetMathMode)
EXPORT int cublasGetMathMode(void *library, int *mode) { (void)library; *mode = 0; return 0; }
NOTHING(cublasSetPointerMode_v2)
EXPORT int cublasGetPointerMode_v2(void *library, int *mode) { (void)library; *mode = 0; return 0; }
EXPORT int cublasSetWorkspace_v2(void *library, void *address, size_t bytes) { (void)library; (void)bytes; workspace(address); return 0; }
NOTHING(cublasSgemm_v2)
NOTHING(cublasSgemmEx)
NOTHING(cublasGemmEx)
NOTHING(cublasSgemmStridedBatched)
NOTHING(cublasGemmStridedBatchedEx)
NOTHING(cublasSgemv_v2)
NOTHING(cublasSdot_v2)
NOTHING(cublasDotEx)

HANDLE(cublasLtCreate)
HANDLE(cublasLtMatmulDescCreate)
NOTHING(cublasLtMatmulDescDestroy)
NOTHING(cublasLtMatmulDescSetAttribute)
HANDLE(cublasLtMatrixLayoutCreate)
NOTHING(cublasLtMatrixLayoutDestroy)
NOTHING(cublasLtMatrixLayoutSetAttribute)
HANDLE(cublasLtMatmulPreferenceCreate)
NOTHING(cublasLtMatmulPreferenceDestroy)
NOTHING(cublasLtMatmulPreferenceSetAttribute)
EXPORT int cublasLtMatmulAlgoGetHeuristic(void *library, void *problem, void *a, void *b, void *c, void *d, void *preference, int wanted, void *results, int *found) {
    (void)library; (void)problem; (void)a; (void)b; (void)c; (void)d; (void)preference;
    // An algorithm of 64 bytes, its workspace's size, a status, how well it fills the device, and a reserve.
    memset(results, 0, wanted ? 96 : 0);
    *found = wanted ? 1 : 0;
    return 0;
}
EXPORT int cublasLtMatmul(void *library, void *problem, void *alpha, void *a, void *a_layout, void *b, void *b_layout, void *beta, void *c, void *c_layout, void *d, void *d_layout, void *algorithm, void *address, size_t bytes, void *stream) {
    (void)library; (void)problem; (void)alpha; (void)a; (void)a_layout; (void)b; (void)b_layout; (void)beta; (void)c; (void)c_layout; (void)d; (void)d_layout; (void)algorithm; (void)bytes; (void)stream;
    workspace(address);
    return 0;
}

// ---- cuDNN ------------------------------------------------------------------------------------

enum { INT64 = 3, HEURISTIC_RESULTS = 202, PLAN_WORKSPACE_SIZE = 402, PACK_WORKSPACE = 1003 };

HANDLE(cudnnCreate)
NOTHING(cudnnSetStream)
EXPORT int cudnnBackendCreateDescriptor(int kind, void **to) { (void)kind; return handle(to); }
NOTHING(cudnnBackendDestroyDescriptor)
NOTHING(cudnnBackendFinalize)
NOTHING(cudnnBackendExecute)
EXPORT int cudnnBackendSetAttribute(void *descriptor, int attribute, int type, int64_t count, const void *values) {
    (void)descriptor; (void)type; (void)count;
    if (attribute == PACK_WORKSPACE) workspace(*(void *const *)values);
    return 0;
}
EXPORT int cudnnBackendGetAttribute(void *descriptor, int attribute, int type, int64_t wanted, int64_t *count, void *values) {
    (void)descriptor;
    if (values && type == INT64 && wanted > 0) *(int64_t *)values = attribute == PLAN_WORKSPACE_SIZE ? CUDNN_WORKSPACE_BYTES : 0;
    // The caller has made the descriptors of the results; one counts.
    if (count) *count = attribute == HEURISTIC_RESULTS || attribute == PLAN_WORKSPACE_SIZE;
    return 0;
}
HANDLE(cudnnCreateTensorDescriptor)
NOTHING(cudnnDestroyTensorDescriptor)
NOTHING(cudnnSetTensorNdDescriptor)
HANDLE(cudnnCreateActivationDescriptor)
NOTHING(cudnnDestroyActivationDescriptor)
NOTHING(cudnnSetActivationDescriptor)
EXPORT int cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(void *library, int mode, int operations, void *x, void *z, void *y, void *scale, void *activation, size_t *bytes) {
    (void)library; (void)mode; (void)operations; (void)x; (void)z; (void)y; (void)scale; (void)activation;
    *bytes = 0;
    return 0;
}
EXPORT int cudnnGetBatchNormalizationTrainingExReserveSpaceSize(void *library, int mode, int operations, void *activation, void *x, size_t *bytes) {
    (void)library; (void)mode; (void)operations; (void)activation; (void)x;
    *bytes = 0;
    return 0;
}
EXPORT int cudnnGetBatchNormalizationBackwardExWorkspaceSize(void *library, int mode, int operations, void *x, void *y, void *dy, void *dz, void *dx, void *scale, void *activation, size_t *bytes) {
    (void)library; (void)mode; (void)operations; (void)x; (void)y; (void)dy; (void)dz; (void)dx; (void)scale; (void)activation;
    *bytes = 0;
    return 0;
}
NOTHING(cudnnBatchNormalizationForwardTrainingEx)
NOTHING(cudnnBatchNormalizationForwardInference)
NOTHING(cudnnBatchNormalizationBackwardEx)

// ---- NCCL: a rank whose peers are always ready ------------------------------------------------

static int ranks = 1;

EXPORT int ncclGetUniqueId(void *id) { memset(id, 7, 128); return 0; }
EXPORT int ncclCommInitRankConfig(void **to, int count) { ranks = count; return handle(to); }
EXPORT int ncclCommInitAll(void **to, int count) {
    for (int i = 0; i < count; i++) handle(&to[i]);
    return 0;
}
EXPORT int ncclCommSplit(void *whole, int colour, int key, void **to) { (void)whole; (void)colour; (void)key; return handle(to); }
EXPORT int ncclCommCount(void *group, int *count) { (void)group; *count = ranks; return 0; }
EXPORT int ncclCommUserRank(void *group, int *rank) { (void)group; *rank = 0; return 0; }
EXPORT int ncclCommGetAsyncError(void *group, int *error) { (void)group; *error = 0; return 0; }
NOTHING(ncclCommAbort)
NOTHING(ncclCommDestroy)
NOTHING(ncclCommFinalize)
NOTHING(ncclCommRegister)
NOTHING(ncclCommDeregister)
NOTHING(ncclGroupStart)
NOTHING(ncclGroupEnd)

static int collective(const void *from, const void *to) {
    if (on_collective && from) on_collective((unsigned long long)from);
    if (on_collective && to && to != from) on_collective((unsigned long long)to);
    return 0;
}

#define COLLECTIVE(name) EXPORT int name(const void *from, const void *to) { return collective(from, to); }
COLLECTIVE(ncclAllReduce)
COLLECTIVE(ncclAllGather)
COLLECTIVE(ncclReduceScatter)
COLLECTIVE(ncclBroadcast)
COLLECTIVE(ncclReduce)
EXPORT int ncclBcast(const void *buffer) { return collective(buffer, buffer); }
EXPORT int ncclSend(const void *from) { return collective(from, NULL); }
EXPORT int ncclRecv(const void *to) { return collective(NULL, to); }

// ---- a library with a thread of its own -------------------------------------------------------

// aoti_torch_empty_strided, of torch's C interface.
typedef int (*EmptyStrided)(int64_t dimensions, const int64_t *sizes, const int64_t *strides, int32_t dtype, int32_t device_type, int32_t device, void **tensor);
enum { FLOAT32 = 6, CUDA = 1 };

struct picture { EmptyStrided empty; int64_t dimensions; const int64_t *sizes; void *tensor; };

static void *decode(void *argument) {
    struct picture *picture = argument;
    int64_t strides[8], stride = 1;
    for (int64_t i = picture->dimensions - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= picture->sizes[i];
    }
    picture->empty(picture->dimensions, picture->sizes, strides, FLOAT32, CUDA, 0, &picture->tensor);
    return NULL;
}

EXPORT void *fakecuda_decoded(EmptyStrided empty, int64_t dimensions, const int64_t *sizes) {
    struct picture picture = {empty, dimensions, sizes, NULL};
    pthread_t thread;
    if (pthread_create(&thread, NULL, decode, &picture) == 0) pthread_join(thread, NULL);
    return picture.tensor;
}
