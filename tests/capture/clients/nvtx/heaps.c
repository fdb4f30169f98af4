// A program whose allocators tell NVTX's memory extension what they hand out, as RMM's do.
#include "abi.h"

enum { MEMORY = 1, VERSION = 0x0102, VIRTUAL_ADDRESS = 1, SUB_ALLOCATOR = 1, LAYOUT = 2, MIB = 1 << 20 };

typedef struct {
    size_t size;
    const void *address;
} range_t;

typedef struct {
    uint16_t version, size;
    uint32_t reserved, usage, type;
    size_t description_size;
    const void *description;
    uint32_t category, message_type;
    const void *message;
} heap_t;

typedef struct {
    uint16_t version, size;
    uint32_t type;
    void *heap;
    size_t count, element_size;
    const void *elements;
    void **handles;
} regions_t;

typedef struct {
    uint16_t version, size;
    uint32_t type;
    size_t count, element_size;
    const void *elements;
    size_t reserved;
} batch_t;

typedef struct {
    uint32_t reference_type, name_type;
    const void *region;
    const void *name;
    uint32_t category, reserved;
} name_t;

typedef struct {
    size_t id, count;
    intptr_t *slots;
} segment_t;

typedef struct {
    uint16_t version, size, module, compatibility;
    size_t segment_count;
    segment_t *segments;
    void *export_function;
    const void *info;
} module_t;

static intptr_t slots[63];

static void *heap_register(void *at, size_t size, uint32_t usage) {
    range_t range = {size, at};
    heap_t heap = {VERSION, sizeof heap, 0, usage, VIRTUAL_ADDRESS, sizeof range, &range, 0, 0, NULL};
    return ((void *(*)(void *, const heap_t *))slots[0])(NULL, &heap);
}

static void heap_call(int slot, void *heap) { ((void (*)(void *, void *))slots[slot])(NULL, heap); }

static void regions_register(void *heap, const range_t *ranges, size_t count, void **handles) {
    regions_t regions = {VERSION, sizeof regions, VIRTUAL_ADDRESS, heap, count, sizeof *ranges, ranges, handles};
    ((void (*)(void *, const regions_t *))slots[3])(NULL, &regions);
}

static void batch(int slot, uint32_t type, const void *elements, size_t count, size_t element_size) {
    // The batch of names has one word more than the others.
    batch_t batch = {VERSION, slot == 6 ? sizeof batch : offsetof(batch_t, reserved), type, count, element_size, elements, 0};
    ((void (*)(void *, const batch_t *))slots[slot])(NULL, &batch);
}

int main(void) {
    segment_t segment = {1, 63, slots};
    module_t module = {3, sizeof module, MEMORY, VERSION, 1, &segment, NULL, NULL};
    uint64_t first, address;
    void *cuda = driver(&first), *handles[2];
    void *tool = dlopen(getenv("NVTX_INJECTION64_PATH"), RTLD_NOW);
    module_t payloads = {3, sizeof payloads, 2, 0x0103, 1, &segment, NULL, NULL};
    int others = CALL(tool, "InitializeInjectionNvtxExtension", (module_t *), &payloads);
    printf("%d %d\n", others, CALL(tool, "InitializeInjectionNvtxExtension", (module_t *), &module));

    if (CALL(cuda, "cuMemAlloc_v2", (uint64_t *, size_t), &address, 64 * MIB))
        return 1;
    char *at = (char *)address;
    void *heap = heap_register(at, 64 * MIB, SUB_ALLOCATOR);
    // Four regions, of which one grows, one goes by its address and one by its handle.
    range_t ranges[] = {{700000, at}, {MIB, at + MIB}, {MIB, at + 2 * MIB}, {100, at + 4 * MIB}};
    regions_register(heap, ranges, 2, handles);
    regions_register(heap, ranges + 2, 2, NULL);
    range_t grown = {2 * MIB, at + 2 * MIB};
    batch(4, VIRTUAL_ADDRESS, &grown, 1, sizeof grown);
    const void *gone[] = {handles[1], at + 4 * MIB};
    batch(5, 2, &gone[0], 1, sizeof gone[0]);
    batch(5, 1, &gone[1], 1, sizeof gone[1]);
    name_t name = {1, 1, at, "weights", 0, 0};
    batch(6, 0, &name, 1, sizeof name);

    // A heap that is used again from its beginning, and ends with a region in it.
    if (CALL(cuda, "cuMemAlloc_v2", (uint64_t *, size_t), &address, 4 * MIB))
        return 1;
    at = (char *)address;
    void *arena = heap_register(at, 4 * MIB, SUB_ALLOCATOR);
    range_t whole[] = {{MIB, at}, {MIB, at + MIB}};
    regions_register(arena, whole, 2, NULL);
    heap_call(2, arena);
    regions_register(arena, whole, 1, NULL);
    heap_call(1, arena);

    // Descriptions of memory that nobody handed out.
    if (CALL(cuda, "cuMemAlloc_v2", (uint64_t *, size_t), &address, 3 * MIB))
        return 1;
    at = (char *)address;
    range_t field = {100, at};
    regions_register(heap_register(at, 3 * MIB, LAYOUT), &field, 1, handles);
    batch(5, 2, &handles[0], 1, sizeof handles[0]);
    regions_register(NULL, &field, 1, NULL);
    batch(5, 1, &field.address, 1, sizeof field.address);
    return 0;
}
