// A program that is linked with libnvToolsExt.so.1: ranges with attributes, and names of everything.
#include "abi.h"

int nvtxRangePushA(const char *);
int nvtxRangePushEx(const attributes_t *);
int nvtxRangePop(void);
uint64_t nvtxRangeStartA(const char *);
void nvtxRangeEnd(uint64_t);
void nvtxMarkEx(const attributes_t *);
void nvtxNameCategoryA(uint32_t, const char *);
void nvtxNameCuDeviceA(int, const char *);
void nvtxNameCuContextA(void *, const char *);
void nvtxNameCudaStreamA(void *, const char *);
void *nvtxDomainCreateA(const char *);
void nvtxDomainNameCategoryA(void *, uint32_t, const char *);
void nvtxDomainMarkEx(void *, const attributes_t *);
void nvtxDomainDestroy(void *);

int main(void) {
    uint64_t address, other;
    void *cuda, *stream;
    attributes_t event = {.version = 3, .size = sizeof event, .message_type = 1};

    // Before there is a log.
    nvtxNameCategoryA(7, "io");
    nvtxNameCuDeviceA(0, "trainer");
    int outer = nvtxRangePushA("outer");
    cuda = driver(&address);
    if (CALL(cuda, "cuStreamCreate", (void **, unsigned), &stream, 1))
        return 1;
    nvtxNameCudaStreamA(stream, "copies");
    nvtxNameCuContextA((void *)0x77, "context");
    if (CALL(cuda, "cuMemAllocAsync", (uint64_t *, size_t, void *), &other, 1 << 20, stream))
        return 1;

    event.category = 7;
    event.color_type = 1;
    event.color = 0xff76b900;
    event.payload_type = 2;
    event.payload.i64 = -3;
    event.message = "read";
    int inner = nvtxRangePushEx(&event);
    printf("%d %d ", outer, inner);
    printf("%d ", nvtxRangePop());
    printf("%d\n", nvtxRangePop());

    event.category = 8;
    event.color_type = 0;
    event.payload_type = 3;
    event.payload.f64 = 0.25;
    event.message = "no name of its category";
    nvtxMarkEx(&event);

    void *domain = nvtxDomainCreateA("library");
    event.category = 7;
    event.payload_type = 0;
    event.message = "named later";
    nvtxDomainMarkEx(domain, &event);
    nvtxDomainNameCategoryA(domain, 7, "its own");
    nvtxDomainDestroy(domain);
    nvtxRangeEnd(nvtxRangeStartA("started"));
    return CALL(cuda, "cuMemFreeAsync", (uint64_t, void *), other, stream) ||
           CALL(cuda, "cuMemFree_v2", (uint64_t), address);
}
