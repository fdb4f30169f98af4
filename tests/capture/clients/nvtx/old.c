// A stand-in for libnvToolsExt.so.1, the library of NVTX 1 and 2: it counts its calls, and calls the functions that the
// tool named by NVTX_INJECTION64_PATH put into its slots.
#include "abi.h"

static void *slots[MODULES][SLOTS];
static int calls, is_started;

static int table_of_module(int module, void ****table, unsigned *length) {
    static void **tables[MODULES][SLOTS];
    if (module < 1 || module >= MODULES)
        return 0;
    for (int slot = 1; slot < SLOTS; slot++)
        tables[module][slot] = &slots[module][slot];
    *table = tables[module];
    *length = SLOTS;
    return 1;
}

static const void *export_table(uint32_t id) {
    static callbacks_t callbacks = {sizeof callbacks, table_of_module};
    return id == 1 ? &callbacks : NULL;
}

static void *slot(int module, int number) {
    const char *path = getenv("NVTX_INJECTION64_PATH");
    calls++;
    if (!is_started++ && path) {
        void *tool = dlopen(path, RTLD_NOW);
        CALL(tool, "InitializeInjectionNvtx2", (export_table_t), export_table);
    }
    return slots[module][number];
}

__attribute__((destructor)) static void end(void) { fprintf(stderr, "libnvToolsExt: %d calls\n", calls); }

#define FUNCTION(result, name, module, number, types, otherwise, ...)                                                  \
    {                                                                                                                  \
        result(*function) types = slot(module, number);                                                                \
        return function ? function(__VA_ARGS__) : otherwise;                                                           \
    }
#define NAMED(name, module, number, type)                                                                              \
    void name(type of, const char *as) FUNCTION(void, name, module, number, (type, const char *), (void)0, of, as)

int nvtxRangePushA(const char *name) FUNCTION(int, nvtxRangePushA, 1, 9, (const char *), -2, name)
int nvtxRangePushEx(const attributes_t *event) FUNCTION(int, nvtxRangePushEx, 1, 8, (const attributes_t *), -2, event)
int nvtxRangePop(void) FUNCTION(int, nvtxRangePop, 1, 11, (void), -2)
void nvtxMarkEx(const attributes_t *event) FUNCTION(void, nvtxMarkEx, 1, 1, (const attributes_t *), (void)0, event)
uint64_t nvtxRangeStartA(const char *name) FUNCTION(uint64_t, nvtxRangeStartA, 1, 5, (const char *), 0, name)
void nvtxRangeEnd(uint64_t range) FUNCTION(void, nvtxRangeEnd, 1, 7, (uint64_t), (void)0, range)
NAMED(nvtxNameCategoryA, 1, 12, uint32_t)
NAMED(nvtxNameCuDeviceA, 2, 1, int)
NAMED(nvtxNameCuContextA, 2, 3, void *)
NAMED(nvtxNameCudaStreamA, 4, 3, void *)
void *nvtxDomainCreateA(const char *name) FUNCTION(void *, nvtxDomainCreateA, 5, 12, (const char *), NULL, name)
void nvtxDomainNameCategoryA(void *domain, uint32_t category, const char *name)
    FUNCTION(void, nvtxDomainNameCategoryA, 5, 8, (void *, uint32_t, const char *), (void)0, domain, category, name)
void nvtxDomainMarkEx(void *domain, const attributes_t *event)
    FUNCTION(void, nvtxDomainMarkEx, 5, 1, (void *, const attributes_t *), (void)0, domain, event)
void nvtxDomainDestroy(void *domain) FUNCTION(void, nvtxDomainDestroy, 5, 14, (void *), (void)0, domain)
