// B1 to B3: every kind of memory of the runtime library, built by nvcc on the machine with the GPU. Prints each allocation as
// `alloc ADDRESS BYTES`. With the argument `leak`, 64 MiB stay live; with `reset`, cudaDeviceReset ends everything; with
// `kernels`, three kernels run.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <dlfcn.h>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        cudaError_t code = (call);                                                       \
        if (code != cudaSuccess) {                                                       \
            printf("%s: %s\n", #call, cudaGetErrorString(code));                         \
            exit(3);                                                                     \
        }                                                                                \
    } while (0)

static void say(const void *address, size_t bytes) { printf("alloc %llu %zu\n", (unsigned long long)address, bytes); }

__attribute__((noinline)) static void *layer(size_t bytes) {
    void *address = nullptr;
    CHECK(cudaMalloc(&address, bytes));
    say(address, bytes);
    return address;
}

__global__ void fill(float *values) { values[threadIdx.x] = 1; }

static void kernels() {
    float *values = (float *)layer(256 * sizeof(float));
    for (int turn = 0; turn < 3; ++turn)
        fill<<<1, 256>>>(values);
    CHECK(cudaDeviceSynchronize());
    Dl_info place;
    if (dladdr((void *)dlsym, &place))
        printf("dlsym of %s, LD_PRELOAD=%s\n", place.dli_fname, getenv("LD_PRELOAD"));
}

static void graphs(cudaStream_t stream) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    void *address = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMallocAsync(&address, 3 << 20, stream));
    say(address, 3 << 20);
    CHECK(cudaMemsetAsync(address, 1, 3 << 20, stream));
    CHECK(cudaFreeAsync(address, stream));
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
    for (int turn = 0; turn < 3; ++turn)
        CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));

    cudaGraphNode_t node, end;
    cudaMemAllocNodeParams parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.bytesize = 2 << 20;
    parameters.poolProps.allocType = cudaMemAllocationTypePinned;
    parameters.poolProps.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaGraphCreate(&graph, 0));
    CHECK(cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &parameters));
    say(parameters.dptr, 2 << 20);
    CHECK(cudaGraphAddMemFreeNode(&end, graph, &node, 1, parameters.dptr));
}

int main(int count, char **words) {
    const char *mode = count > 1 ? words[1] : "";
    void *small[20];
    for (int turn = 0; turn < 20; ++turn)
        small[turn] = layer(777 * (turn + 1));
    for (int turn = 0; turn < 20; turn += 2)
        CHECK(cudaFree(small[turn]));
    void *large = layer(100 << 20), *address = nullptr;
    size_t pitch = 0;
    CHECK(cudaMallocPitch(&address, &pitch, 1000, 300));
    say(address, pitch * 300);
    CHECK(cudaMallocManaged(&address, 5 << 20));
    say(address, 5 << 20);

    cudaStream_t stream;
    CHECK(cudaStreamCreate(&stream));
    cudaMemPool_t pool;
    cudaMemPoolProps properties;
    memset(&properties, 0, sizeof properties);
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&pool, &properties));
    void *async[8];
    for (int turn = 0; turn < 8; ++turn) {
        size_t bytes = (size_t)(turn + 1) << 20;
        if (turn % 2)
            CHECK(cudaMallocFromPoolAsync(&async[turn], bytes, pool, stream));
        else
            CHECK(cudaMallocAsync(&async[turn], bytes, turn % 4 ? stream : 0));
        say(async[turn], bytes);
    }
    for (int turn = 0; turn < 6; ++turn)
        CHECK(cudaFreeAsync(async[turn], stream));
    CHECK(cudaDeviceSynchronize());

    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, 1024, 1024));
    CHECK(cudaFreeArray(array));
    CHECK(cudaHostAlloc(&address, 1 << 20, 0));
    CHECK(cudaFreeHost(address));
    graphs(stream);
    CHECK(cudaFree(large));
    if (strcmp(mode, "leak") == 0)
        layer(64 << 20);
    if (strcmp(mode, "kernels") == 0)
        kernels();
    if (strcmp(mode, "reset") == 0)
        CHECK(cudaDeviceReset());
    fflush(stdout);
    return 0;
}
