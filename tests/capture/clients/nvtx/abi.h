// What NVTX's headers and libnvToolsExt.so.1 have in common with tools, written down: tests need no headers.
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Calls a function of a library, all of whose arguments are integers or pointers.
#define CALL(library, name, types, ...) ((int (*) types)dlsym(library, name))(__VA_ARGS__)

typedef struct {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    union {
        uint64_t u64;
        int64_t i64;
        double f64;
    } payload;
    int32_t message_type;
    const void *message;
} attributes_t;

typedef struct {
    size_t size;
    int (*table_of_module)(int module, void ****table, unsigned *length);
} callbacks_t;

typedef const void *(*export_table_t)(uint32_t);

// The slots of a module: number, and the functions that it has.
enum { MODULES = 7, SLOTS = 17 };

// Takes the driver's first device and allocates, so that there is a log. Returns the driver.
static inline void *driver(uint64_t *address) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *context;
    if (!driver || CALL(driver, "cuInit", (unsigned), 0) ||
        CALL(driver, "cuDevicePrimaryCtxRetain", (void **, int), &context, 0) ||
        CALL(driver, "cuCtxSetCurrent", (void *), context) ||
        CALL(driver, "cuMemAlloc_v2", (uint64_t *, size_t), address, 1 << 20))
        exit(1);
    return driver;
}
